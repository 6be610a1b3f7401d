//! A limiter of any kind, shared, without a pointer to a table of methods.
//!
//! A decision is a `match`, so that a bucket's first attempt can be inlined into the caller, as if it
//! had called the bucket itself.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::bucket::Snapshot;
use sluicegate::calendar::{Budget, CalendarWindow};
use sluicegate::compose::All;
use sluicegate::settle::Receipt;
use sluicegate::window::{Compact, History, MultiWindow, WeightedLog, WindowFromFirst};
use sluicegate::{
    Denied, FixedWindow, Gcra, Grant, LeakyBucket, Limiter, SlidingCounter, SlidingLog,
    SlidingWindow, TokenBucket,
};

use crate::SharedClock;

/// A limiter of one of the kinds of a policy. A clone is the same limiter.
#[derive(Debug)]
pub(crate) enum LimiterOfKind {
    TokenBucket(Arc<TokenBucket<SharedClock>>),
    Gcra(Arc<Gcra<SharedClock>>),
    LeakyBucket(Arc<LeakyBucket<SharedClock>>),
    FixedWindow(Arc<FixedWindow<SharedClock>>),
    WindowFromFirst(Arc<WindowFromFirst<SharedClock>>),
    SlidingWindow(Arc<SlidingWindow<SharedClock>>),
    /// That of a key.
    CompactWindow(Arc<SlidingWindow<SharedClock, Compact>>),
    SlidingCounter(Arc<SlidingCounter<SharedClock>>),
    SlidingLog(Arc<SlidingLog<SharedClock>>),
    WeightedLog(Arc<WeightedLog<SharedClock>>),
    MultiWindow(Arc<MultiWindow<SharedClock>>),
    CalendarWindow(Arc<CalendarWindow<SharedClock>>),
    Budget(Arc<Budget<SharedClock>>),
    All(Arc<All<LimiterOfKind>>),
}

/// Evaluates `$body` with `$limiter`, whatever its kind.
macro_rules! each_kind {
    ($of:expr, $limiter:ident => $body:expr) => {
        match $of {
            LimiterOfKind::TokenBucket($limiter) => $body,
            LimiterOfKind::Gcra($limiter) => $body,
            LimiterOfKind::LeakyBucket($limiter) => $body,
            LimiterOfKind::FixedWindow($limiter) => $body,
            LimiterOfKind::WindowFromFirst($limiter) => $body,
            LimiterOfKind::SlidingWindow($limiter) => $body,
            LimiterOfKind::CompactWindow($limiter) => $body,
            LimiterOfKind::SlidingCounter($limiter) => $body,
            LimiterOfKind::SlidingLog($limiter) => $body,
            LimiterOfKind::WeightedLog($limiter) => $body,
            LimiterOfKind::MultiWindow($limiter) => $body,
            LimiterOfKind::CalendarWindow($limiter) => $body,
            LimiterOfKind::Budget($limiter) => $body,
            LimiterOfKind::All($limiter) => $body,
        }
    };
}

impl Clone for LimiterOfKind {
    fn clone(&self) -> Self {
        match self {
            LimiterOfKind::TokenBucket(limiter) => LimiterOfKind::TokenBucket(Arc::clone(limiter)),
            LimiterOfKind::Gcra(limiter) => LimiterOfKind::Gcra(Arc::clone(limiter)),
            LimiterOfKind::LeakyBucket(limiter) => LimiterOfKind::LeakyBucket(Arc::clone(limiter)),
            LimiterOfKind::FixedWindow(limiter) => LimiterOfKind::FixedWindow(Arc::clone(limiter)),
            LimiterOfKind::WindowFromFirst(limiter) => {
                LimiterOfKind::WindowFromFirst(Arc::clone(limiter))
            }
            LimiterOfKind::SlidingWindow(limiter) => {
                LimiterOfKind::SlidingWindow(Arc::clone(limiter))
            }
            LimiterOfKind::CompactWindow(limiter) => {
                LimiterOfKind::CompactWindow(Arc::clone(limiter))
            }
            LimiterOfKind::SlidingCounter(limiter) => {
                LimiterOfKind::SlidingCounter(Arc::clone(limiter))
            }
            LimiterOfKind::SlidingLog(limiter) => LimiterOfKind::SlidingLog(Arc::clone(limiter)),
            LimiterOfKind::WeightedLog(limiter) => LimiterOfKind::WeightedLog(Arc::clone(limiter)),
            LimiterOfKind::MultiWindow(limiter) => LimiterOfKind::MultiWindow(Arc::clone(limiter)),
            LimiterOfKind::CalendarWindow(limiter) => {
                LimiterOfKind::CalendarWindow(Arc::clone(limiter))
            }
            LimiterOfKind::Budget(limiter) => LimiterOfKind::Budget(Arc::clone(limiter)),
            LimiterOfKind::All(limiter) => LimiterOfKind::All(Arc::clone(limiter)),
        }
    }
}

impl LimiterOfKind {
    /// Returns the limiter, to be taken for one of a type.
    pub(super) fn to_any(&self) -> Arc<dyn Any + Send + Sync> {
        each_kind!(self, limiter => Arc::clone(limiter) as Arc<dyn Any + Send + Sync>)
    }

    /// Returns the permits that a window still counts, and when they were granted; `None` for
    /// limiters that are not windows.
    pub(super) fn history(&self) -> Option<History> {
        match self {
            LimiterOfKind::FixedWindow(window) => Some(window.snapshot()),
            LimiterOfKind::WindowFromFirst(window) => Some(window.snapshot()),
            LimiterOfKind::SlidingWindow(window) => Some(window.snapshot()),
            LimiterOfKind::CompactWindow(window) => Some(window.snapshot()),
            LimiterOfKind::SlidingCounter(window) => Some(window.snapshot()),
            LimiterOfKind::SlidingLog(window) => Some(window.snapshot()),
            LimiterOfKind::WeightedLog(window) => Some(window.snapshot()),
            LimiterOfKind::MultiWindow(window) => Some(window.snapshot()),
            LimiterOfKind::CalendarWindow(window) => Some(window.snapshot()),
            LimiterOfKind::Budget(window) => Some(window.snapshot()),
            LimiterOfKind::TokenBucket(_)
            | LimiterOfKind::Gcra(_)
            | LimiterOfKind::LeakyBucket(_)
            | LimiterOfKind::All(_) => None,
        }
    }

    /// Returns the balance of a bucket; `None` for limiters that are none.
    pub(super) fn balance(&self) -> Option<Snapshot> {
        match self {
            LimiterOfKind::TokenBucket(bucket) => Some(bucket.snapshot()),
            LimiterOfKind::Gcra(cells) => Some(cells.snapshot()),
            LimiterOfKind::LeakyBucket(bucket) => Some(bucket.snapshot()),
            _ => None,
        }
    }

    /// Gives a bucket the balance of another, at most to full, and returns true; or returns false if it
    /// is no bucket.
    pub(super) fn set_balance(&self, balance: &Snapshot) -> bool {
        match self {
            LimiterOfKind::TokenBucket(bucket) => bucket.restore(balance, Duration::ZERO),
            LimiterOfKind::Gcra(cells) => cells.restore(balance, Duration::ZERO),
            LimiterOfKind::LeakyBucket(bucket) => bucket.restore(balance, Duration::ZERO),
            _ => return false,
        }
        true
    }

    /// Returns the permits that the limiter counts, and when they were granted: for a bucket those that
    /// are missing, as if they had been granted now; for an `All` those of the part that counts most.
    pub(super) fn counted(&self) -> History {
        if let LimiterOfKind::All(all) = self {
            let parts = all.limiters().iter().map(LimiterOfKind::counted);
            return parts.max_by_key(History::permits).unwrap_or_default();
        }
        self.history().unwrap_or_else(|| {
            let used =
                self.peek(0).map_or(0, |grant| grant.limit().saturating_sub(grant.remaining()));
            History::new([(Duration::ZERO, used)])
        })
    }

    /// Takes `permits`, or as many of them as there are.
    pub(super) fn charge(&self, permits: u64) {
        // Fewer, if the old limiter had a larger limit: then this one is empty, which is right.
        let _ = self.try_acquire_up_to(permits);
    }

    /// Takes all of `permits` or none, and returns the answer if it `counts` afterwards.
    ///
    /// The kinds that are called most are inlined into the caller whatever their size: what it does
    /// not ask of the answer is then never computed. For that, each looks whether it counts by itself:
    /// where several ways come together, the whole answer would have to be there.
    #[inline(always)]
    pub(super) fn try_acquire_if(
        &self,
        permits: u64,
        counts: impl Fn() -> bool,
    ) -> Option<Result<Grant, Denied>> {
        match self {
            LimiterOfKind::TokenBucket(bucket) => {
                if_counts(TokenBucket::try_acquire(bucket, permits), counts)
            }
            LimiterOfKind::Gcra(cells) => if_counts(Gcra::try_acquire(cells, permits), counts),
            LimiterOfKind::LeakyBucket(bucket) => {
                if_counts(LeakyBucket::try_acquire(bucket, permits), counts)
            }
            LimiterOfKind::FixedWindow(window) => {
                if_counts(FixedWindow::try_acquire(window, permits), counts)
            }
            LimiterOfKind::WindowFromFirst(window) => {
                if_counts(WindowFromFirst::try_acquire(window, permits), counts)
            }
            LimiterOfKind::SlidingWindow(window) => {
                if_counts(SlidingWindow::try_acquire(window, permits), counts)
            }
            LimiterOfKind::SlidingCounter(window) => {
                if_counts(SlidingCounter::try_acquire(window, permits), counts)
            }
            _ => if_counts(self.try_acquire_elsewhere(permits), counts),
        }
    }

    /// Takes all of `permits` or none, for a caller that needs the whole answer: then it is cheapest to
    /// look once, where all kinds come together, whether it counts.
    #[inline(always)]
    pub(super) fn try_acquire_whole(&self, permits: u64) -> Result<Grant, Denied> {
        match self {
            LimiterOfKind::TokenBucket(bucket) => TokenBucket::try_acquire(bucket, permits),
            LimiterOfKind::Gcra(cells) => Gcra::try_acquire(cells, permits),
            LimiterOfKind::LeakyBucket(bucket) => LeakyBucket::try_acquire(bucket, permits),
            LimiterOfKind::FixedWindow(window) => FixedWindow::try_acquire(window, permits),
            LimiterOfKind::WindowFromFirst(window) => WindowFromFirst::try_acquire(window, permits),
            LimiterOfKind::SlidingWindow(window) => SlidingWindow::try_acquire(window, permits),
            LimiterOfKind::SlidingCounter(window) => SlidingCounter::try_acquire(window, permits),
            _ => self.try_acquire_elsewhere(permits),
        }
    }

    /// Takes all of `permits` or none, of any kind.
    #[inline(never)]
    fn try_acquire_elsewhere(&self, permits: u64) -> Result<Grant, Denied> {
        each_kind!(self, limiter => limiter.try_acquire(permits))
    }
}

impl Limiter for LimiterOfKind {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        each_kind!(self, limiter => limiter.try_acquire(permits))
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        each_kind!(self, limiter => limiter.try_acquire_up_to(permits))
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        each_kind!(self, limiter => limiter.peek(permits))
    }

    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        each_kind!(self, limiter => Limiter::peek_ahead(&**limiter, permits))
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        each_kind!(self, limiter => limiter.try_acquire_revocable(permits))
    }

    fn reset(&self) {
        each_kind!(self, limiter => limiter.reset());
    }

    fn is_idle(&self) -> bool {
        each_kind!(self, limiter => Limiter::is_idle(&**limiter))
    }

    fn healed(&self) -> u64 {
        each_kind!(self, limiter => Limiter::healed(&**limiter))
    }
}

/// Returns an answer if it counts. Both kinds of answers by themselves, so that neither has to be there as
/// a whole for that.
#[inline(always)]
pub(super) fn if_counts(
    answer: Result<Grant, Denied>,
    counts: impl Fn() -> bool,
) -> Option<Result<Grant, Denied>> {
    match answer {
        Ok(grant) if counts() => Some(Ok(grant)),
        Err(denied) if counts() => Some(Err(denied)),
        _ => None,
    }
}
