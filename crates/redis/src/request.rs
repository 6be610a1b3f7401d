//! Requests to a limiter, from the key and the permits to the script's arguments, and its answers back.

use sluicegate::{Denied, Grant};

use crate::error::{KeyError, StoreError, TryAcquireError};
use crate::key_space::KeySpace;
use crate::limit::RedisLimit;
use crate::script::Script;

/// The operations of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Takes all permits or none.
    Take,
    /// Takes at least one.
    UpTo,
    /// Takes nothing.
    Peek,
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Verb::Take => "take",
            Verb::UpTo => "up_to",
            Verb::Peek => "peek",
        }
    }
}

/// A limit, and the names of its keys.
#[derive(Clone, Debug)]
pub(crate) struct KeyedLimit {
    pub(crate) limit: RedisLimit,
    pub(crate) keys: KeySpace,
}

/// A request, ready to be sent.
pub(crate) struct Request<'a> {
    limit: &'a RedisLimit,
    key: String,
    verb: Verb,
    /// Permits, at most the limit.
    permits: u64,
    permits_text: String,
    /// The time that a test sets, or empty.
    time: String,
}

impl KeyedLimit {
    /// Prepares a request.
    ///
    /// # Errors
    ///
    /// [`Denied::TooLarge`] for permits that no server would grant, and [`KeyError`].
    pub(crate) fn request(
        &self,
        key: &str,
        verb: Verb,
        permits: u64,
    ) -> Result<Request<'_>, TryAcquireError> {
        let limit = self.limit.limit();
        let key = self.name(key)?;
        let (verb, permits) = match verb {
            // Nothing is taken, so nothing need be written.
            Verb::Take | Verb::UpTo if permits == 0 => (Verb::Peek, 0),
            Verb::UpTo => (verb, permits.min(limit)),
            Verb::Take | Verb::Peek if permits > limit => {
                return Err(Denied::TooLarge { limit, which: 0 }.into());
            }
            Verb::Take | Verb::Peek => (verb, permits),
        };
        let permits_text = permits.to_string();
        Ok(Request { limit: &self.limit, key, verb, permits, permits_text, time: String::new() })
    }

    /// Returns the name of `key` on the server.
    pub(crate) fn name(&self, key: &str) -> Result<String, KeyError> {
        self.keys.name(self.limit.kind(), key)
    }
}

impl Request<'_> {
    /// Has the script count from `micros` instead of the server's time.
    #[cfg(test)]
    pub(crate) fn at(self, micros: u64) -> Self {
        Request { time: micros.to_string(), ..self }
    }

    pub(crate) fn script(&self) -> &'static Script {
        self.limit.script()
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn arguments(&self) -> Vec<&str> {
        let of_all = [self.verb.name(), &self.permits_text, &self.time];
        of_all.into_iter().chain(self.limit.arguments().iter().map(String::as_str)).collect()
    }

    /// Reads the answer.
    pub(crate) fn answer(&self, reply: Vec<i64>) -> Result<Grant, TryAcquireError> {
        let needed = if self.verb == Verb::UpTo { 1 } else { self.permits };
        match self.limit.read(&reply, needed) {
            Some(answer) => Ok(answer?),
            None => Err(StoreError::Reply { script: self.limit.script().name(), reply }.into()),
        }
    }
}
