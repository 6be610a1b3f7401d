//! Limiters of a kind, which start full or with what another limiter has used.
//!
//! | old | new | carried |
//! |---|---|---|
//! | bucket | bucket | the balance, up to the new burst |
//! | any | window | the grants that the old one counts, and when they were made; those that a bucket misses as if they were made now |
//! | any | bucket | as many permits as the old one counts, as if they were used now |
//! | any | `all` | to each part: from an equal part, the same limiter; from one of the same algorithm, or else from the whole, as above |

use std::sync::Arc;
use std::time::Duration;

use sluicegate::calendar::{Budget, CalendarWindow, Weekday};
use sluicegate::compose::All;
use sluicegate::window::{History, MultiWindow, WeightedLog, WindowFromFirst};
use sluicegate::{
    FixedWindow, Gcra, LeakyBucket, SlidingCounter, SlidingLog, SlidingWindow, TokenBucket,
};

use super::clocks::Clocks;
use super::limiter_of_kind::LimiterOfKind;
use crate::kind::match_parts;
use crate::{Kind, Unbuildable};

/// The factor by which the limit of a window from the first request can be raised in place. Its
/// resolution is coarser by the same factor: 2 us for a limit of 100.
const FROM_FIRST_ROOM: u64 = 16;

/// A limiter, the kind that it is of, and what is to be carried over to another.
pub(super) struct Before<'a> {
    kind: &'a Kind,
    limiter: &'a LimiterOfKind,
    counted: History,
}

impl<'a> Before<'a> {
    /// Describes a limiter that has counted nothing but what it still knows.
    pub(super) fn new(kind: &'a Kind, limiter: &'a LimiterOfKind) -> Self {
        Before { kind, limiter, counted: limiter.counted() }
    }

    /// Describes a limiter that has taken the place of others, with all that is `counted`.
    pub(super) fn with(self, counted: History) -> Self {
        Before { counted, ..self }
    }
}

impl Clocks {
    /// Creates a limiter of `kind`, without the padding of a hot word if it is that of a `key`.
    pub(super) fn limiter(
        &self,
        kind: &Kind,
        is_of_key: bool,
        from: Option<&Before<'_>>,
    ) -> Result<LimiterOfKind, Unbuildable> {
        if let Kind::All(parts) = kind {
            return self.all(parts, is_of_key, from);
        }
        let clock = self.elapsed.clone();
        /// Creates a window, and restores the history.
        macro_rules! window {
            ($Kind:ident, $window:expr) => {{
                let mut window = $window;
                if let Some(before) = from {
                    window.restore(&before.counted, Duration::ZERO);
                    return Ok(LimiterOfKind::$Kind(Arc::new(window)));
                }
                LimiterOfKind::$Kind(Arc::new(window))
            }};
        }
        let limiter = match kind {
            Kind::TokenBucket { quota, initial } => {
                let bucket = TokenBucket::with_clock(*quota, clock);
                // One that takes over what was used has begun before.
                let initial = if from.is_some() { quota.burst() } else { *initial };
                LimiterOfKind::TokenBucket(Arc::new(bucket.starting_with(initial)?))
            }
            Kind::Gcra { interval, tolerance } => {
                LimiterOfKind::Gcra(Arc::new(Gcra::with_clock(*interval, *tolerance, clock)?))
            }
            Kind::LeakyMeter(quota) => {
                LimiterOfKind::LeakyBucket(Arc::new(LeakyBucket::meter_with_clock(*quota, clock)))
            }
            Kind::LeakyMinInterval(rate) => {
                let bucket = LeakyBucket::min_interval_with_clock(*rate, clock);
                LimiterOfKind::LeakyBucket(Arc::new(bucket))
            }
            Kind::FixedWindow(limit) => {
                // Its windows begin where the file says: they follow each other from 1970 on.
                window!(FixedWindow, FixedWindow::with_clock(*limit, self.unix.clone())?)
            }
            Kind::WindowFromFirst(limit) => {
                // Room for a larger limit, so that it can be raised in place.
                let most = limit.permits().saturating_mul(FROM_FIRST_ROOM);
                let roomy = WindowFromFirst::with_clock(*limit, clock.clone())?;
                window!(
                    WindowFromFirst,
                    match roomy.with_max_limit(most) {
                        Ok(roomy) => roomy,
                        Err(_) => WindowFromFirst::with_clock(*limit, clock)?,
                    }
                )
            }
            Kind::SlidingWindow { limit, slots } if is_of_key => {
                window!(CompactWindow, SlidingWindow::compact(*limit, *slots, clock)?)
            }
            Kind::SlidingWindow { limit, slots } => {
                window!(SlidingWindow, SlidingWindow::with_clock(*limit, *slots, clock)?)
            }
            Kind::SlidingCounter(limit) => {
                window!(SlidingCounter, SlidingCounter::with_clock(*limit, clock)?)
            }
            Kind::SlidingLog(limit) => {
                window!(SlidingLog, SlidingLog::with_clock(*limit, clock)?)
            }
            Kind::WeightedLog { limit, capacity } => {
                window!(WeightedLog, WeightedLog::with_capacity(*limit, *capacity, clock)?)
            }
            Kind::MultiWindow { limits, slots } => {
                let limits = limits.iter().copied();
                window!(MultiWindow, MultiWindow::with_clock(limits, *slots, clock)?)
            }
            Kind::CalendarWindow { limit, calendar } => {
                let clock = self.unix.clone();
                let calendar = calendar.clone();
                window!(CalendarWindow, CalendarWindow::with_clock(*limit, calendar, clock)?)
            }
            Kind::Budget { amounts, zone } => {
                let budget = Budget::with_clock(amounts[0], zone, self.unix.clone())?;
                let mut days = Weekday::ALL.into_iter().zip(amounts);
                let budget = days.try_fold(budget, |budget, (day, amount)| budget.on(day, *amount));
                window!(Budget, budget?)
            }
            // Treated above.
            Kind::All(parts) => return self.all(parts, is_of_key, from),
        };
        if let Some(Before { limiter: old, counted, .. }) = from
            && !old.balance().is_some_and(|balance| limiter.set_balance(&balance))
        {
            limiter.charge(counted.permits());
        }
        Ok(limiter)
    }

    fn all(
        &self,
        parts: &[Kind],
        is_of_key: bool,
        from: Option<&Before<'_>>,
    ) -> Result<LimiterOfKind, Unbuildable> {
        let (kinds, limiters) = match from {
            Some(Before { kind: Kind::All(kinds), limiter: LimiterOfKind::All(all), .. }) => {
                (&kinds[..], all.limiters())
            }
            _ => (&[][..], &[][..]),
        };
        let matched = match_parts(parts, kinds.iter().zip(limiters));
        let limiters: Result<Vec<_>, Unbuildable> = parts
            .iter()
            .zip(matched)
            .map(|(part, old)| match old {
                Some((kind, limiter)) if kind == part => Ok(limiter.clone()),
                old => {
                    let alike = old.map(|(kind, limiter)| Before::new(kind, limiter));
                    self.limiter(part, is_of_key, alike.as_ref().or(from))
                }
            })
            .collect();
        Ok(LimiterOfKind::All(Arc::new(All::new(limiters?)?)))
    }
}
