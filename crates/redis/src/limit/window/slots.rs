//! Sliding windows of slots.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::Rate;
use sluicegate::penalty::Standing;

use super::{Window, retry_after, standing};
use crate::error::LimitError;
use crate::limit::reply::Reply;
use crate::limit::{MOST, RedisLimit, Terms, packed};
use crate::script;

/// Most slots of a window. A script takes the names of all of them for arguments of one command.
const MAX_SLOTS: u32 = 1_000;

/// A window of slots, of which as many count as the window can touch.
///
/// State: the permits that count, the time until none does, the wait of a denial, and the present slot. All numbers of its
/// script are below 2^53: counts of at most 2^47, and times at most 2^52 ahead of the clock, which is less until the year 2112.
#[derive(Clone, Copy, Debug)]
pub(in crate::limit) struct SlidingWindow {
    window: Window,
    slot_micros: u64,
}

impl SlidingWindow {
    pub(in crate::limit) fn new(limit: Rate, slots: u32) -> Result<SlidingWindow, LimitError> {
        if slots == 0 || slots > MAX_SLOTS {
            return Err(LimitError::Slots { slots, most: MAX_SLOTS });
        }
        let window = Window::new(limit)?;
        let sliding =
            SlidingWindow { window, slot_micros: window.micros.div_ceil(u64::from(slots)) };
        // A slot leaves when as many have begun after it as count.
        if sliding.slots() * sliding.slot_micros > MOST {
            let slots = u64::from(slots);
            return Err(LimitError::TooLong {
                what: "window",
                value: limit.period(),
                most: Duration::from_micros(MOST / (slots + 1) * slots),
            });
        }
        Ok(sliding)
    }

    /// Returns the number of slots that count, including the present one.
    fn slots(&self) -> u64 {
        self.window.micros.div_ceil(self.slot_micros) + 1
    }
}

impl Terms for SlidingWindow {
    fn limit(&self) -> u64 {
        self.window.limit
    }

    fn with_limit(&self, limit: u64) -> Result<RedisLimit, LimitError> {
        Ok(SlidingWindow { window: Window { limit, ..self.window }, ..*self }.into())
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

    fn charged(&self, reply: &Reply) -> Option<Vec<i64>> {
        let &[_, _, _, slot] = reply.state else { return None };
        Some(vec![slot])
    }
}

impl From<SlidingWindow> for RedisLimit {
    fn from(sliding: SlidingWindow) -> RedisLimit {
        let (limit, slot_micros, slots) =
            (sliding.window.limit, sliding.slot_micros, sliding.slots());
        let numbers = [limit, slot_micros, slots];
        RedisLimit {
            script: &script::SLIDING_WINDOW,
            kind: format!("sw{slot_micros}x{slots}"),
            numbers: packed(&numbers),
            terms: Arc::new(sliding),
        }
    }
}
