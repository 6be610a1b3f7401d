//! Requests to a limiter, from the key and the permits to the script's arguments, and its answers back.

use std::time::Duration;

use sluicegate::{Denied, Grant};

use crate::decision::Verb;
use crate::error::{KeyError, StoreError, TryAcquireError};
use crate::key_space::KeySpace;
use crate::limit::RedisLimit;
use crate::limit::reply::Reply;
use crate::script::Script;

/// Most permits that one request charges beyond what there is.
const MAX_CHARGE: u64 = 1 << 47;

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
    /// The longest wait for permits that are reserved.
    longest: Duration,
    permits_text: String,
    /// The time that a test sets, or empty.
    time: String,
    /// The arguments of a verb behind those of the limit.
    more: Vec<String>,
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

    /// Prepares to take all permits or none, or only to look if it is for a [`Verb::Peek`], such that `reserve` permits remain.
    ///
    /// # Errors
    ///
    /// The same as for [`request`](KeyedLimit::request) of both together; the limit of a [`Denied::TooLarge`] is without the
    /// reserve.
    pub(crate) fn leaving(
        &self,
        key: &str,
        verb: Verb,
        permits: u64,
        reserve: u64,
    ) -> Result<Request<'_>, TryAcquireError> {
        let limit = self.limit.limit();
        if permits == 0 || reserve == 0 {
            return self.request(key, verb, permits);
        }
        let name = self.name(key)?;
        let needed = permits.saturating_add(reserve);
        if needed > limit {
            return Err(Denied::TooLarge { limit: limit.saturating_sub(reserve), which: 0 }.into());
        }
        let verb = if verb == Verb::Peek { "look" } else { "leave" };
        let more = vec![reserve.to_string()];
        Ok(Request { needed, more, ..Request::new(&self.limit, name, verb, permits) })
    }

    /// Prepares to take permits for an instant that is at most `longest` away, in whole microseconds.
    ///
    /// # Errors
    ///
    /// The same as for [`request`](KeyedLimit::request).
    pub(crate) fn reserve(
        &self,
        key: &str,
        permits: u64,
        longest: Duration,
    ) -> Result<Request<'_>, TryAcquireError> {
        let request = self.request(key, Verb::Take, permits)?;
        if permits == 0 {
            return Ok(request);
        }
        let micros = longest.as_micros().min(1 << 52) as u64;
        let longest = Duration::from_micros(micros);
        Ok(Request { verb: "reserve", longest, more: vec![micros.to_string()], ..request })
    }

    /// Prepares to take permits of the key of that name, whether or not there are any.
    pub(crate) fn charge(&self, name: &str, permits: u64) -> Request<'_> {
        let permits = permits.min(MAX_CHARGE);
        Request::new(&self.limit, name.to_owned(), "charge", permits)
    }

    /// Prepares to take at least `least` and at most `permits` permits of the key of that name.
    pub(crate) fn lease(&self, name: &str, least: u64, permits: u64) -> Request<'_> {
        let more = vec![least.to_string()];
        Request { more, ..Request::new(&self.limit, name.to_owned(), "lease", permits) }
    }

    /// Prepares to give permits back, of a grant to the key of that name that `charged` describes.
    pub(crate) fn give_back(&self, name: &str, permits: u64, charged: &[i64]) -> Request<'_> {
        let more = charged.iter().map(ToString::to_string).collect();
        Request { more, ..Request::new(&self.limit, name.to_owned(), "give_back", permits) }
    }

    /// Returns whether keys have the same names for `other`.
    pub(crate) fn shares_keys(&self, other: &KeyedLimit) -> bool {
        self.limit.kind() == other.limit.kind() && self.keys.shares_names(&other.keys)
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
            longest: Duration::ZERO,
            permits_text: permits.to_string(),
            time: String::new(),
            more: Vec::new(),
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

    pub(crate) fn permits(&self) -> &str {
        &self.permits_text
    }

    /// Returns the time that a test has set, or nothing.
    pub(crate) fn time(&self) -> &str {
        &self.time
    }

    /// Returns the numbers of the limit, packed.
    pub(crate) fn numbers(&self) -> &[u8] {
        self.limit.numbers()
    }

    /// Returns the arguments of the script. The last ones are left out if they are what the script takes anyway.
    pub(crate) fn arguments(&self) -> Vec<&[u8]> {
        let words = [(self.verb, "take"), (&self.permits_text, "1"), (&self.time, "")];
        let told = match words.iter().rposition(|(word, usual)| word != usual) {
            _ if !self.more.is_empty() => words.len(),
            Some(last) => last + 1,
            None => 0,
        };
        let of_all = words.iter().take(told).map(|(word, _)| word.as_bytes());
        let of_verb = self.more.iter().map(String::as_bytes);
        [self.numbers()].into_iter().chain(of_all).chain(of_verb).collect()
    }

    /// Reads the answer.
    pub(crate) fn answer(&self, reply: &[i64]) -> Result<Result<Grant, Denied>, StoreError> {
        let answer = self.limit.read(reply, self.needed, self.longest);
        answer.ok_or_else(|| self.not_an_answer(reply))
    }

    /// Reads the wait until the permits of a grant may be used.
    pub(crate) fn ready_after(&self, reply: &[i64]) -> Result<Duration, StoreError> {
        let wait = Reply::new(reply).and_then(|reply| self.limit.ready_after(&reply));
        wait.ok_or_else(|| self.not_an_answer(reply))
    }

    /// Reads the description of the grant of an answer; nothing if it cannot be given back.
    pub(crate) fn charged(&self, reply: &[i64]) -> Option<Vec<i64>> {
        self.limit.terms().charged(&Reply::new(reply)?)
    }

    /// Reads the number of permits that were given back, or charged.
    pub(crate) fn moved(&self, reply: &[i64]) -> Result<u64, StoreError> {
        let moved = reply.first().and_then(|&moved| u64::try_from(moved).ok());
        moved.filter(|&moved| moved <= self.permits).ok_or_else(|| self.not_an_answer(reply))
    }

    fn not_an_answer(&self, reply: &[i64]) -> StoreError {
        StoreError::Reply { script: self.limit.script().name(), reply: reply.to_vec() }
    }
}
