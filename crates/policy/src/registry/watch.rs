//! New terms whenever a file changes.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::Registry;
use super::event::Event;
use crate::PolicyFile;

/// The time without changes after which the file is read. An editor writes in several steps.
const QUIET: Duration = Duration::from_millis(50);

/// The time after which the file is read although its folder still changes: other files there may change all the time.
const LONGEST: Duration = Duration::from_secs(1);

/// The time after which the file is looked at although nothing was heard: its folder may have been replaced by another.
const UNHEARD: Duration = Duration::from_secs(2);

/// A file whose changes a registry follows, until this is dropped.
#[must_use = "the file is watched until this is dropped"]
pub struct Watch {
    path: PathBuf,
    messages: Sender<Message>,
    thread: Option<JoinHandle<()>>,
    /// Stops when it is dropped.
    _watcher: RecommendedWatcher,
}

enum Message {
    /// The folder has changed.
    Changed,
    Failed(notify::Error),
    Stop,
}

impl Registry {
    /// Reloads the file at `path` whenever it changes, from a thread of its own, until the returned
    /// [`Watch`] is dropped.
    ///
    /// Reads the file at once, in case that it has changed since it was opened, and then 50 ms after the
    /// last of several changes that follow each other, at most a second after the first. A file that was replaced by
    /// another, as editors and deployments do, is read like one that was written. All its folder is watched for that. Every
    /// two seconds without a change the file is looked at nevertheless, since a folder that has been replaced, and a file in
    /// another folder to which `path` is a link, change unheard.
    ///
    /// Changes, and files that are refused, are events: see [`on_event`](Registry::on_event). A file
    /// that cannot be read or has mistakes leaves the terms as they are. Dropping the `Watch` waits for
    /// a reload in progress; do not drop it in an observer.
    ///
    /// # Errors
    ///
    /// [`notify::Error`] if the folder cannot be watched, or [`notify::ErrorKind::Io`] if no thread can
    /// be created.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use sluicegate_policy::Registry;
    ///
    /// let registry = Registry::open("limits.toml")?;
    /// registry.on_event(|event| eprintln!("{event}"));
    /// let _watch = registry.watch("limits.toml")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn watch(&self, file: impl Into<PolicyFile>) -> notify::Result<Watch> {
        let file = file.into();
        let path = file.path().to_owned();
        let (messages, receiver) = mpsc::channel();
        let sender = messages.clone();
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                let message = match event {
                    Ok(event) if !is_change(event.kind) => return,
                    Ok(_) => Message::Changed,
                    Err(error) => Message::Failed(error),
                };
                // The thread is gone if the watch is being dropped.
                let _ = sender.send(message);
            })?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        watcher.watch(folder.unwrap_or(Path::new(".")), RecursiveMode::NonRecursive)?;
        // Read by the thread, after the watch has begun: no change is missed in between.
        let _ = messages.send(Message::Changed);
        let mut follower = FileFollower { registry: self.clone(), file, last: None };
        let thread = thread::Builder::new()
            .name("sluicegate-watch".to_owned())
            .spawn(move || follower.run(&receiver))
            .map_err(notify::Error::io)?;
        Ok(Watch { path, messages, thread: Some(thread), _watcher: watcher })
    }
}

impl Watch {
    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.messages.send(Message::Stop);
        if let Some(thread) = self.thread.take() {
            // An observer that panicked has ended it already.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The bytes of the file, or the kind of the error.
type Outcome = Result<Vec<u8>, io::ErrorKind>;

/// Returns the outcome of reading the file.
fn outcome(read: &io::Result<Vec<u8>>) -> Outcome {
    match read {
        Ok(bytes) => Ok(bytes.clone()),
        Err(error) => Err(error.kind()),
    }
}

/// The work of the thread of a watch.
struct FileFollower {
    registry: Registry,
    file: PolicyFile,
    /// The outcome of the last reading.
    last: Option<Outcome>,
}

impl FileFollower {
    fn run(&mut self, messages: &Receiver<Message>) {
        loop {
            let mut message = match messages.recv_timeout(UNHEARD) {
                Err(RecvTimeoutError::Timeout) if self.has_changed() => Ok(Message::Changed),
                Err(RecvTimeoutError::Timeout) => continue,
                heard => heard,
            };
            let first = Instant::now();
            loop {
                match message {
                    Ok(Message::Changed) => {}
                    Ok(Message::Failed(error)) => {
                        self.registry.tell(&Event::NotWatched { error: error.into() });
                    }
                    Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => break,
                }
                if first.elapsed() >= LONGEST {
                    break;
                }
                message = messages.recv_timeout(QUIET);
            }
            // The folder may have other files, which change too.
            if self.has_changed() {
                self.read();
            }
        }
    }

    /// Returns true if the file differs from the last time that it was read.
    fn has_changed(&self) -> bool {
        self.last.as_ref() != Some(&outcome(&self.file.bytes_again()))
    }

    /// Reads the file, and reloads it. Observers are told of the outcome.
    fn read(&mut self) {
        let FileFollower { registry, file, last } = self;
        let _ = registry.reload_from(|| {
            let read = file.bytes_again();
            *last = Some(outcome(&read));
            let bytes = read.map_err(|error| file.unreadable(error))?;
            Ok(file.check(&bytes)?)
        });
    }
}

/// Returns true unless the file was only read, as this thread does.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}
