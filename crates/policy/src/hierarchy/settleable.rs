//! Limiters that can be settled, by kind.

use sluicegate::{
    All, Budget, CalendarWindow, Clock, FixedWindow, MultiWindow, Settle, SettleableBucket,
    SlidingCounter, SlidingWindow, Weekday, WindowFromFirst,
};

use crate::Kind;
use crate::kind::Unbuildable;

/// A limiter of any kind that can be settled.
pub type BoxedSettle = Box<dyn Settle + Send + Sync>;

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
            Kind::Gcra { .. }
            | Kind::LeakyMeter(_)
            | Kind::LeakyMinInterval(_)
            | Kind::SlidingLog(_)
            | Kind::WeightedLog { .. } => false,
            Kind::All(parts) => parts.iter().all(Kind::is_settleable),
        }
    }

    /// Creates a limiter that can be settled, or returns `None` if there is none of this kind.
    pub(super) fn settleable<C>(&self, clock: C) -> Result<Option<BoxedSettle>, Unbuildable>
    where
        C: Clock + Clone + Send + Sync + 'static,
    {
        Ok(Some(match self {
            Kind::TokenBucket { quota, initial } => {
                Box::new(SettleableBucket::with_clock(*quota, clock).starting_with(*initial)?)
            }
            Kind::FixedWindow(limit) => Box::new(FixedWindow::with_clock(*limit, clock)?),
            Kind::WindowFromFirst(limit) => Box::new(WindowFromFirst::with_clock(*limit, clock)?),
            Kind::SlidingWindow { limit, slots } => {
                Box::new(SlidingWindow::compact(*limit, *slots, clock)?)
            }
            Kind::SlidingCounter(limit) => Box::new(SlidingCounter::with_clock(*limit, clock)?),
            Kind::MultiWindow { limits, slots } => {
                Box::new(MultiWindow::with_clock(limits.iter().copied(), *slots, clock)?)
            }
            Kind::CalendarWindow { limit, calendar } => {
                Box::new(CalendarWindow::with_clock(*limit, calendar.clone(), clock)?)
            }
            Kind::Budget { amounts, zone } => {
                let budget = Budget::with_clock(amounts[0], zone, clock)?;
                let mut days = Weekday::ALL.into_iter().zip(amounts);
                Box::new(days.try_fold(budget, |budget, (day, amount)| budget.on(day, *amount))?)
            }
            Kind::All(parts) => {
                let parts = parts.iter().map(|part| part.settleable(clock.clone()).transpose());
                let Some(parts) = parts.collect::<Option<Result<Vec<_>, _>>>() else {
                    return Ok(None);
                };
                Box::new(All::new(parts?)?)
            }
            _ => return Ok(None),
        }))
    }
}
