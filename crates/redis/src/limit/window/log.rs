//! Sliding logs.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::Rate;
use sluicegate::penalty::Standing;

use super::{Window, retry_after, standing};
use crate::error::LimitError;
use crate::limit::reply::Reply;
use crate::limit::{RedisLimit, Terms, packed};
use crate::script;

/// The largest limit of a log, which is the most grants that it remembers: 100 MiB of them.
const MAX_LIMIT: u64 = 1 << 20;

/// A log of grants.
///
/// State: the permits that count, the time until none does, and the wait of a denial. Its script counts
/// all permits since the log was empty. What settlements charge beyond their estimates is below 2^52 of them, and the others
/// are below that for 142 years of a million a second.
#[derive(Clone, Copy, Debug)]
pub(in crate::limit) struct SlidingLog {
    window: Window,
}

impl SlidingLog {
    pub(in crate::limit) fn new(limit: Rate) -> Result<SlidingLog, LimitError> {
        let window = Window::new(limit)?;
        if window.limit > MAX_LIMIT {
            return Err(LimitError::Log { limit: window.limit, most: MAX_LIMIT });
        }
        Ok(SlidingLog { window })
    }
}

impl Terms for SlidingLog {
    fn limit(&self) -> u64 {
        self.window.limit
    }

    fn with_limit(&self, limit: u64) -> Result<RedisLimit, LimitError> {
        Ok(SlidingLog { window: Window { limit, ..self.window } }.into())
    }

    fn comes_back_together(&self) -> u64 {
        self.window.limit
    }

    fn standing(&self, reply: &Reply) -> Option<Standing> {
        standing(self.window.limit, reply)
    }

    fn retry_after(&self, reply: &Reply, _permits: u64) -> Option<Duration> {
        retry_after(reply)
    }
}

impl From<SlidingLog> for RedisLimit {
    fn from(log: SlidingLog) -> RedisLimit {
        let numbers = [log.window.limit, log.window.micros];
        RedisLimit {
            script: &script::SLIDING_LOG,
            kind: "log".to_owned(),
            numbers: packed(&numbers),
            terms: Arc::new(log),
        }
    }
}
