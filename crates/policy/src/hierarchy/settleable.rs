//! Limiters that can be settled, by kind.

use std::time::Duration;

use sluicegate::bucket::SettleableBucket;
use sluicegate::calendar::{Budget, CalendarWindow, Weekday};
use sluicegate::compose::All;
use sluicegate::settle::Settle;
use sluicegate::window::{Compact, History, MultiWindow, WindowFromFirst};
use sluicegate::{FixedWindow, Limiter, SlidingCounter, SlidingWindow};

use crate::kind::{Unbuildable, match_parts};
use crate::{Kind, SharedClock};

/// A limiter of any kind that can be settled.
pub type BoxedSettle = Box<dyn SettleAndCarry>;

/// A limiter that can be settled, and tells what another one has to go on with.
pub trait SettleAndCarry: Settle + Send + Sync {
    /// Returns the permits that it counts, and when they were granted: for a bucket those that are missing, as if they
    /// had been granted now; for an `All` those of the part that counts most.
    #[doc(hidden)]
    fn counted(&self) -> History;

    /// Returns the parts of an `All`; other limiters have none.
    #[doc(hidden)]
    fn parts(&self) -> &[BoxedSettle] {
        &[]
    }
}

macro_rules! windows {
    ($($Window:ty),*) => {$(
        impl SettleAndCarry for $Window {
            fn counted(&self) -> History {
                self.snapshot()
            }
        }
    )*};
}

windows!(
    FixedWindow<SharedClock>,
    WindowFromFirst<SharedClock>,
    SlidingWindow<SharedClock, Compact>,
    SlidingCounter<SharedClock>,
    MultiWindow<SharedClock>,
    CalendarWindow<SharedClock>,
    Budget<SharedClock>
);

impl SettleAndCarry for SettleableBucket<SharedClock> {
    fn counted(&self) -> History {
        let used = |limit: u64, remaining| limit.saturating_sub(remaining);
        let used = Limiter::peek(self, 0).map_or(0, |state| used(state.limit(), state.remaining()));
        History::new([(Duration::ZERO, used)])
    }
}

impl SettleAndCarry for All<BoxedSettle> {
    fn counted(&self) -> History {
        let parts = self.limiters().iter().map(|part| part.counted());
        parts.max_by_key(History::permits).unwrap_or_default()
    }

    fn parts(&self) -> &[BoxedSettle] {
        self.limiters()
    }
}

/// A limiter that another is to go on with, the kind that it is of, and what is to be carried over.
#[derive(Clone)]
pub(super) struct Before<'a> {
    kind: &'a Kind,
    limiter: &'a dyn SettleAndCarry,
    counted: History,
}

impl<'a> Before<'a> {
    /// Describes a limiter, and all that is `counted` by it and those before it.
    pub(super) fn new(
        kind: &'a Kind,
        limiter: &'a dyn SettleAndCarry,
        counted: History,
    ) -> Before<'a> {
        Before { kind, limiter, counted }
    }

    /// Returns the limiter that each part of a new `All` goes on with: a part of an old one, or else the whole.
    fn parts(&self, parts: &[Kind]) -> Vec<Before<'a>> {
        let kinds = if let Kind::All(kinds) = self.kind { &kinds[..] } else { &[] };
        let old = kinds.iter().zip(self.limiter.parts().iter().map(|part| &**part));
        let matched = match_parts(parts, old).into_iter();
        let before = matched.map(|part| match part {
            Some((kind, limiter)) => Before::new(kind, limiter, limiter.counted()),
            None => self.clone(),
        });
        before.collect()
    }
}

impl Kind {
    /// Returns true if what was not used can be given back to such a limiter: to a token bucket, to
    /// windows other than logs, to budgets, and to an `All` of these.
    #[must_use]
    pub fn is_settleable(&self) -> bool {
        match self {
            Kind::TokenBucket { .. }
            | Kind::FixedWindow(_)
            | Kind::WindowFromFirst(_)
            | Kind::SlidingWindow { .. }
            | Kind::SlidingCounter(_)
            | Kind::MultiWindow { .. }
            | Kind::CalendarWindow { .. }
            | Kind::Budget { .. } => true,
            Kind::All(parts) => parts.iter().all(Kind::is_settleable),
            _ => false,
        }
    }

    /// Creates a limiter that can be settled, which is full or goes on with what the one `before` counts; or returns
    /// `None` if there is none of this kind.
    pub(super) fn settleable(
        &self,
        clock: SharedClock,
        before: Option<&Before<'_>>,
    ) -> Result<Option<BoxedSettle>, Unbuildable> {
        /// Boxes a window, and restores the history.
        macro_rules! window {
            ($window:expr) => {{
                let mut window = $window;
                if let Some(before) = before {
                    window.restore(&before.counted, Duration::ZERO);
                }
                Box::new(window)
            }};
        }
        Ok(Some(match self {
            Kind::TokenBucket { quota, initial } => {
                let bucket = SettleableBucket::with_clock(*quota, clock).starting_with(*initial)?;
                if let Some(before) = before {
                    // Fewer, if the old limiter had a larger limit: then this one is empty, which is right.
                    let _ = bucket.try_acquire_up_to(before.counted.permits());
                }
                Box::new(bucket)
            }
            Kind::FixedWindow(limit) => window!(FixedWindow::with_clock(*limit, clock)?),
            Kind::WindowFromFirst(limit) => window!(WindowFromFirst::with_clock(*limit, clock)?),
            Kind::SlidingWindow { limit, slots } => {
                window!(SlidingWindow::compact(*limit, *slots, clock)?)
            }
            Kind::SlidingCounter(limit) => window!(SlidingCounter::with_clock(*limit, clock)?),
            Kind::MultiWindow { limits, slots } => {
                window!(MultiWindow::with_slots(limits.iter().copied(), *slots, clock)?)
            }
            Kind::CalendarWindow { limit, calendar } => {
                window!(CalendarWindow::with_clock(*limit, calendar.clone(), clock)?)
            }
            Kind::Budget { amounts, zone } => {
                let budget = Budget::with_clock(amounts[0], zone, clock)?;
                let mut days = Weekday::ALL.into_iter().zip(amounts);
                window!(days.try_fold(budget, |budget, (day, amount)| budget.on(day, *amount))?)
            }
            Kind::All(parts) => {
                let before = before.map(|before| before.parts(parts));
                let parts = parts.iter().enumerate().map(|(which, part)| {
                    let before = before.as_ref().map(|before| &before[which]);
                    part.settleable(clock.clone(), before).transpose()
                });
                let Some(parts) = parts.collect::<Option<Result<Vec<_>, _>>>() else {
                    return Ok(None);
                };
                Box::new(All::new(parts?)?)
            }
            _ => return Ok(None),
        }))
    }
}
