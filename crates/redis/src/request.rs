//! Requests to a limiter, from the key and the permits to the script's arguments, and its answers back.

use sluicegate::{Denied, Grant};

use crate::error::{KeyError, StoreError, TryAcquireError};
use crate::key_space::KeySpace;
use crate::limit::RedisLimit;
use crate::limit::reply::Reply;
use crate::script::Script;

/// The ways to ask for permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Takes all permits or none.
    Take,
    /// Takes at least one.
    UpTo,
    /// Takes nothing.
    Peek,
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
    name: String,
    /// The verb of the script.
    verb: &'static str,
    /// Permits, at most the limit.
    permits: u64,
    /// Permits without which the request is denied.
    needed: u64,
    permits_text: String,
    /// The time that a test sets, or empty.
    time: String,
    /// The description of a grant that is given back.
    charged: Vec<String>,
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
        let name = self.name(key)?;
        let (verb, permits, needed) = match verb {
            // Nothing is taken, so nothing need be written.
            Verb::Take | Verb::UpTo if permits == 0 => ("peek", 0, 0),
            Verb::UpTo => ("up_to", permits.min(limit), 1),
            Verb::Take | Verb::Peek if permits > limit => {
                return Err(Denied::TooLarge { limit, which: 0 }.into());
            }
            Verb::Take => ("take", permits, permits),
            Verb::Peek => ("peek", permits, permits),
        };
        Ok(Request { needed, ..Request::new(&self.limit, name, verb, permits) })
    }

    /// Prepares to give permits back, of a grant to the key of that name that `charged` describes.
    pub(crate) fn give_back(&self, name: &str, permits: u64, charged: &[i64]) -> Request<'_> {
        let charged = charged.iter().map(ToString::to_string).collect();
        Request { charged, ..Request::new(&self.limit, name.to_owned(), "give_back", permits) }
    }

    /// Returns the name of `key` on the server.
    pub(crate) fn name(&self, key: &str) -> Result<String, KeyError> {
        self.keys.name(self.limit.kind(), key)
    }
}

impl<'a> Request<'a> {
    fn new(limit: &'a RedisLimit, name: String, verb: &'static str, permits: u64) -> Request<'a> {
        Request {
            limit,
            name,
            verb,
            permits,
            needed: permits,
            permits_text: permits.to_string(),
            time: String::new(),
            charged: Vec::new(),
        }
    }

    /// Has the script count from `micros` instead of the server's time.
    #[cfg(test)]
    pub(crate) fn at(self, micros: u64) -> Self {
        Request { time: micros.to_string(), ..self }
    }

    pub(crate) fn script(&self) -> &'static Script {
        self.limit.script()
    }

    /// Returns the name of the key on the server.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn arguments(&self) -> Vec<&str> {
        let of_all = [self.verb, &self.permits_text, &self.time];
        let own = self.limit.arguments().iter().chain(&self.charged);
        of_all.into_iter().chain(own.map(String::as_str)).collect()
    }

    /// Reads the answer.
    pub(crate) fn answer(&self, reply: &[i64]) -> Result<Grant, TryAcquireError> {
        let answer = self.limit.read(reply, self.needed);
        Ok(answer.ok_or_else(|| self.not_an_answer(reply))??)
    }

    /// Reads the description of the grant of an answer; nothing if it cannot be given back.
    pub(crate) fn charged(&self, reply: &[i64]) -> Option<Vec<i64>> {
        self.limit.terms().charged(&Reply::new(reply)?)
    }

    /// Reads the number of permits that were given back.
    pub(crate) fn given_back(&self, reply: &[i64]) -> Result<u64, StoreError> {
        let given = reply.first().and_then(|&given| u64::try_from(given).ok());
        given.filter(|&given| given <= self.permits).ok_or_else(|| self.not_an_answer(reply))
    }

    fn not_an_answer(&self, reply: &[i64]) -> StoreError {
        StoreError::Reply { script: self.limit.script().name(), reply: reply.to_vec() }
    }
}
