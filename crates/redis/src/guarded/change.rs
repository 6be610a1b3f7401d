//! Changes of a guarded server, for logs.

use std::error::Error;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::error::StoreError;

/// The time between two tellings of requests that a server refuses.
const BETWEEN: Duration = Duration::from_secs(60);

/// A change of a [`Guarded`](super::Guarded) server, for people. `Display` is a sentence without the server's name.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerChange<'a> {
    /// Requests fail, so that the server is left alone, and asked by few requests after a pause.
    Failed(&'a StoreError),
    /// The server answers again. With each answer more requests are sent, and soon all.
    Answers,
    /// The server answers requests of some limiters by an error, such as for want of a right. Told once a minute at most.
    Refuses(&'a StoreError),
    /// The server gives no answer yet, and is asked again.
    #[cfg(feature = "policy")]
    Silent(&'a StoreError),
    /// The server is not one for the limiters that are to be on it.
    #[cfg(feature = "policy")]
    Unfit(&'a str),
}

impl fmt::Display for ServerChange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerChange::Failed(error) => write!(f, "is left alone: {}", Causes(error)),
            ServerChange::Answers => f.write_str("answers again"),
            ServerChange::Refuses(error) => write!(f, "refuses requests: {}", Causes(error)),
            #[cfg(feature = "policy")]
            ServerChange::Silent(error) => write!(f, "gives no answer yet: {}", Causes(error)),
            #[cfg(feature = "policy")]
            ServerChange::Unfit(why) => f.write_str(why),
        }
    }
}

/// An error with its causes, in one line.
pub(crate) struct Causes<'a>(pub(crate) &'a StoreError);

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = self.0.to_string();
        f.write_str(&said)?;
        let mut source = self.0.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Some errors say what their cause does.
            if !said.ends_with(&text) {
                write!(f, ": {text}")?;
                said = text;
            }
            source = cause.source();
        }
        Ok(())
    }
}

type Observe = Box<dyn Fn(&ServerChange<'_>) + Send + Sync>;

/// The function that is told of changes, if there is one.
#[derive(Default)]
pub(super) struct Observer {
    observe: OnceLock<Observe>,
    /// Time at which a refusal was told last.
    told: Mutex<Option<Instant>>,
}

impl Observer {
    pub(super) fn set(&self, observe: impl Fn(&ServerChange<'_>) + Send + Sync + 'static) {
        // The first one stays.
        let _ = self.observe.set(Box::new(observe));
    }

    pub(super) fn tell(&self, change: &ServerChange<'_>) {
        if let Some(observe) = self.observe.get() {
            observe(change);
        }
    }

    /// Tells a refusal, unless one was told shortly before.
    pub(super) fn tell_refusal(&self, error: &StoreError, now: Instant) {
        let is_due = {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            let is_due = told.is_none_or(|told| now.duration_since(told) >= BETWEEN);
            if is_due {
                *told = Some(now);
            }
            is_due
        };
        if is_due {
            self.tell(&ServerChange::Refuses(error));
        }
    }
}

/// Shows whether there is one.
impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.observe.get().is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn refusals_are_told_once_a_minute() {
        let (observer, told) = (Observer::default(), Arc::new(Mutex::new(Vec::new())));
        let into = Arc::clone(&told);
        observer.set(move |change| into.lock().unwrap().push(change.to_string()));
        let error = StoreError::Server { code: "NOPERM".to_owned(), message: "no".to_owned() };
        let begin = Instant::now();
        for seconds in [0, 1, 59, 60, 61, 119, 120] {
            observer.tell_refusal(&error, begin + Duration::from_secs(seconds));
        }
        let line = "refuses requests: the server answered with the error NOPERM: no";
        assert_eq!(*told.lock().unwrap(), [line; 3]);
    }
}
