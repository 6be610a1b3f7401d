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
fn a_file_is_followed_while_another_in_its_folder_changes_all_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    fs::write(&path, text(10)).unwrap();
    let registry = Registry::open(&path).unwrap();
    let events = followed(&registry);
    let _watch = registry.watch(&path).unwrap();
    fs::write(&path, text(9)).unwrap();
    // A log, in which somebody writes without a pause.
    let heard = (0..20_000).find_map(|line| {
        fs::write(folder.path().join("access.log"), format!("{line}")).unwrap();
        match events.recv_timeout(Duration::from_millis(1)) {
            Ok(event @ Event::Changed { .. }) => Some(event),
            _ => None,
        }
    });
    assert!(heard.is_some(), "the change is never seen");
}

#[test]
fn a_file_in_a_folder_that_takes_the_place_of_another_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let [current, next_one, old] = ["current", "next", "old"].map(|name| folder.path().join(name));
    for (folder, limit) in [(&current, 10), (&next_one, 9)] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("limits.yaml"), text(limit)).unwrap();
    }
    let path = current.join("limits.yaml");
    let registry = Registry::open(&path).unwrap();
    let events = followed(&registry);
    let _watch = registry.watch(&path).unwrap();
    fs::rename(&current, &old).unwrap();
    fs::rename(&next_one, &current).unwrap();
    next_change(&events);
    // And what changes in the folder that is there now.
    fs::write(&path, text(8)).unwrap();
    next_change(&events);
    assert_eq!(registry.limiter("a").unwrap().peek(0).unwrap().limit(), 8);
}

#[test]
fn a_folder_that_does_not_exist_cannot_be_watched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    fs::write(&path, text(10)).unwrap();
    let registry = Registry::open(&path).unwrap();
    assert!(registry.watch(folder.path().join("none/limits.yaml")).is_err());
}
