//! A registry that follows a file.
#![cfg(feature = "watch")]

use std::fs;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use sluicegate_policy::{Event, LoadError, Registry, ReloadError};

/// Much more than it takes.
const LONG: Duration = Duration::from_secs(60);

fn text(limit: u64) -> String {
    format!(
        "limiters: {{ a: {{ policy: sliding_log, key: all, limit: {limit}, interval: 1 day }} }}"
    )
}

/// Writes another file, and renames it over the one at `path`, as editors do.
fn rename_over(path: &Path, text: &str) {
    let other = path.with_extension("swp");
    fs::write(&other, text).unwrap();
    fs::rename(other, path).unwrap();
}

fn followed(registry: &Registry) -> Receiver<Event> {
    let (sender, events) = mpsc::channel();
    registry.on_event(move |event| drop(sender.send(event.clone())));
    events
}

fn next(events: &Receiver<Event>) -> Event {
    events.recv_timeout(LONG).expect("an event of the file")
}

/// Waits for the change, after a file was written: it is empty for a moment, and may be read then.
fn next_change(events: &Receiver<Event>) {
    loop {
        match next(events) {
            Event::Changed { .. } => return,
            Event::Refused { .. } => {}
            event => panic!("{event}"),
        }
    }
}

#[test]
fn a_file_that_is_written_replaced_broken_or_deleted_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    fs::write(&path, text(10)).unwrap();
    let registry = Registry::open(&path).unwrap();
    let limiter = registry.limiter("a").unwrap();
    for _ in 0..3 {
        limiter.try_acquire(1).unwrap();
    }
    let events = followed(&registry);
    let left = || limiter.peek(0).unwrap().remaining();

    // A change before the watch begins.
    fs::write(&path, text(9)).unwrap();
    let watch = registry.watch(&path).unwrap();
    assert!(matches!(next(&events), Event::Changed { .. }));
    assert_eq!((left(), watch.path()), (6, &*path));

    fs::write(&path, text(8)).unwrap();
    next_change(&events);
    assert_eq!(left(), 5);

    rename_over(&path, &text(7));
    assert!(matches!(next(&events), Event::Changed { .. }));
    assert_eq!(left(), 4);

    // Every second change is a mistake, and leaves the terms as they are.
    rename_over(&path, "limiters: { a: { policy: sliding_lag } }");
    let Event::Refused { error } = next(&events) else { panic!("a bad file is refused") };
    assert!(matches!(&*error, ReloadError::Load(LoadError::Policy(_))), "{error}");
    assert_eq!(left(), 4);

    fs::write(&path, text(6)).unwrap();
    next_change(&events);
    assert_eq!(left(), 3);

    fs::remove_file(&path).unwrap();
    let Event::Refused { error } = next(&events) else { panic!("there is no file") };
    assert!(matches!(&*error, ReloadError::Load(LoadError::Io { .. })), "{error}");
    assert_eq!(left(), 3);

    fs::write(&path, text(5)).unwrap();
    next_change(&events);
    assert_eq!(left(), 2);

    // Dropped, it reads no more; and nothing else was an event.
    drop(watch);
    fs::write(&path, text(4)).unwrap();
    assert_eq!(events.try_iter().count(), 0);
    assert_eq!(left(), 2);
}

#[test]
fn a_folder_that_does_not_exist_cannot_be_watched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    fs::write(&path, text(10)).unwrap();
    let registry = Registry::open(&path).unwrap();
    assert!(registry.watch(folder.path().join("none/limits.yaml")).is_err());
}
