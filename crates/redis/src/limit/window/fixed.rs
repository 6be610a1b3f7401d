//! Fixed windows.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::Rate;
use sluicegate::penalty::Standing;

use super::Window;
use crate::error::LimitError;
use crate::limit::reply::Reply;
use crate::limit::{RedisLimit, Terms, packed};
use crate::script;

/// A window that begins at a multiple of its length, or with a grant.
///
/// State: the start of the window, and the permits granted in it. All numbers of its script are below 2^53: the largest is
/// the end of a window of 100 years, less than 2^52 after the time of the clock, which is less until the year 2112.
#[derive(Clone, Copy, Debug)]
pub(in crate::limit) struct FixedWindow {
    window: Window,
    is_aligned: bool,
}

impl FixedWindow {
    pub(in crate::limit) fn aligned(limit: Rate) -> Result<FixedWindow, LimitError> {
        Ok(FixedWindow { window: Window::new(limit)?, is_aligned: true })
    }

    pub(in crate::limit) fn from_first(limit: Rate) -> Result<FixedWindow, LimitError> {
        Ok(FixedWindow { window: Window::new(limit)?, is_aligned: false })
    }
}

impl Terms for FixedWindow {
    fn limit(&self) -> u64 {
        self.window.limit
    }

    fn with_limit(&self, limit: u64) -> Result<RedisLimit, LimitError> {
        Ok(FixedWindow { window: Window { limit, ..self.window }, ..*self }.into())
    }

    fn comes_back_together(&self) -> u64 {
        self.window.limit
    }

    fn standing(&self, reply: &Reply) -> Option<Standing> {
        let &[_, count] = reply.state else { return None };
        let used = u64::try_from(count).ok()?;
        let reset_after = if used == 0 { Duration::ZERO } else { self.retry_after(reply, 1)? };
        Some(Standing::new(self.window.limit, used, reset_after))
    }

    fn retry_after(&self, reply: &Reply, _permits: u64) -> Option<Duration> {
        let &[start, _] = reply.state else { return None };
        Some(reply.wait(start, i128::from(self.window.micros) * 1_000))
    }

    fn charged(&self, reply: &Reply) -> Option<Vec<i64>> {
        let &[start, _] = reply.state else { return None };
        Some(vec![start])
    }
}

impl From<FixedWindow> for RedisLimit {
    fn from(fixed: FixedWindow) -> RedisLimit {
        let Window { limit, micros } = fixed.window;
        let numbers = [limit, micros, u64::from(fixed.is_aligned)];
        let name = if fixed.is_aligned { "fw" } else { "wf" };
        RedisLimit {
            script: &script::FIXED_WINDOW,
            kind: format!("{name}{micros}"),
            numbers: packed(&numbers),
            terms: Arc::new(fixed),
        }
    }
}
