//! The limiters that a server can keep, those that the scripts of `sluicegate-redis` take; and those that have leases.

use std::time::Duration;

use sluicegate::{Quota, Rate, Refill};

use super::Kind;
use crate::Lease;

/// Most slots of a window.
const MOST_SLOTS: u32 = 1_000;

/// The largest limit of a log.
const MOST_IN_LOG: u64 = 1 << 20;

/// The longest time, in microseconds, and the most steps of a time twice as large: numbers of a script are exact below 2^53.
const MOST: u128 = 1 << 52;

const WHOLE_WINDOW: &str =
    "expected a window of whole microseconds, in which servers tell the time";
const WHOLE_INTERVAL: &str =
    "expected an interval of whole microseconds, in which servers tell the time";
const SHORT_WINDOW: &str = "expected a window of at most 71 years";
const SHORT_FILL: &str = "expected a bucket that is full again within 142 years";

impl Kind {
    /// Returns the reason why no server can keep a limiter of this kind, or `None` if one can.
    #[must_use]
    pub fn not_on_redis(&self) -> Option<&'static str> {
        match self {
            Kind::TokenBucket { quota, initial } if *initial < quota.burst() => {
                Some("expected a bucket that starts full")
            }
            Kind::TokenBucket { quota, .. }
            | Kind::LeakyMeter(quota)
            | Kind::Priorities { quota, .. } => not_a_bucket(quota),
            Kind::LeakyMinInterval(rate) => not_a_rate(*rate),
            Kind::Gcra { interval, tolerance } => {
                let unit = gcd(gcd(interval.as_nanos(), tolerance.as_nanos()), 1_000);
                let steps = (interval.as_nanos() + tolerance.as_nanos()) / unit;
                (steps > MOST / 2).then_some(
                    "expected interval and tolerance of at most 71 years together, or 26 days if they are not \
                     whole microseconds",
                )
            }
            Kind::SlidingWindow { slots, .. } if *slots > MOST_SLOTS => {
                Some("expected at most 1000 slots")
            }
            Kind::SlidingLog(limit) | Kind::WeightedLog { limit, .. }
                if limit.permits() > MOST_IN_LOG =>
            {
                Some("expected a limit of at most 1048576, as a log on a server remembers no more")
            }
            Kind::FixedWindow(limit)
            | Kind::WindowFromFirst(limit)
            | Kind::SlidingCounter(limit)
            | Kind::SlidingLog(limit)
            | Kind::WeightedLog { limit, .. }
            | Kind::SlidingWindow { limit, .. }
                if !is_whole(limit.period()) =>
            {
                Some(WHOLE_WINDOW)
            }
            Kind::SlidingCounter(limit) => {
                (limit.period().as_micros() > MOST / 2).then_some(SHORT_WINDOW)
            }
            Kind::SlidingWindow { limit, slots } => {
                let window = limit.period().as_micros();
                let slot = window.div_ceil(u128::from(*slots).max(1)).max(1);
                ((window.div_ceil(slot) + 1) * slot > MOST)
                    .then_some("expected a window and a slot of at most 142 years together")
            }
            Kind::FixedWindow(_)
            | Kind::WindowFromFirst(_)
            | Kind::SlidingLog(_)
            | Kind::WeightedLog { .. } => None,
            Kind::Shares { quota, groups } => {
                let of_groups = groups.iter().map(|group| group.share);
                let rates = of_groups.flat_map(|share| [Some(share.assured()), share.ceiling()]);
                let mut rates = std::iter::once(*quota).chain(rates.flatten()).map(Quota::rate);
                rates.find_map(not_a_rate)
            }
            _ => Some(
                "expected one of token_bucket, gcra, leaky_bucket, fixed_window, sliding_window, \
                 sliding_counter, sliding_log, weighted_log, shares, priorities",
            ),
        }
    }
}

impl Kind {
    /// Returns the most permits that come back together: those of a window, or of an interval.
    fn comes_back_together(&self) -> u64 {
        match self {
            Kind::TokenBucket { quota, .. } | Kind::LeakyMeter(quota) => match quota.refill() {
                Refill::Smooth => 1,
                Refill::Interval => quota.rate().permits().min(quota.burst()),
            },
            Kind::LeakyMinInterval(_) | Kind::Gcra { .. } => 1,
            _ => self.most_at_once(),
        }
    }

    /// Returns the reason why leases would cut a limiter of this kind for ever, or `None` if they do not: of a window they
    /// would keep their part back each time.
    #[must_use]
    pub fn cut_by(&self, lease: &Lease) -> Option<String> {
        if let Kind::Shares { .. } = self {
            let cause = "a lease would keep permits of one tenant from all others: expected no leases beside shares";
            return Some(cause.to_owned());
        }
        if let Kind::Priorities { .. } = self {
            let cause = "a lease would keep permits of all classes, and no class would leave its reserve: expected no leases \
                         beside priorities";
            return Some(cause.to_owned());
        }
        let (limit, together) = (self.most_at_once(), self.comes_back_together());
        let shared = limit.saturating_sub(lease.keeps_back(limit));
        (shared < together).then(|| {
            let cause = format!(
                "leases keep {} permits back, so no more than {shared} of {together} would ever be granted",
                limit - shared
            );
            match self {
                Kind::TokenBucket { .. } | Kind::LeakyMeter(_) => format!(
                    "{cause} in an interval: expected a limit of at least {} and a smaller `share`, a smooth bucket, \
                     or no leases",
                    together.saturating_add(limit - shared)
                ),
                _ => format!(
                    "{cause} in a window: expected a smooth token_bucket or gcra, of which they cut only the \
                     burst; or no leases"
                ),
            }
        })
    }
}

fn not_a_bucket(quota: &Quota) -> Option<&'static str> {
    let rate = quota.rate();
    if quota.refill() == Refill::Smooth {
        return not_a_rate(rate);
    }
    if !is_whole(rate.period()) {
        return Some(WHOLE_INTERVAL);
    }
    let missing = u128::from(quota.burst()) + u128::from(quota.max_debt());
    let intervals = missing.div_ceil(u128::from(rate.permits()).max(1)) + 1;
    (intervals * rate.period().as_micros() > MOST).then_some(SHORT_FILL)
}

fn not_a_rate(rate: Rate) -> Option<&'static str> {
    let (gain, period) = (u128::from(rate.permits()) * 1_000, rate.period().as_nanos());
    (period / gcd(gain, period).max(1) > MOST / 2)
        .then_some("expected a rate whose period has at most 2^51 steps in lowest terms: take a rounder period")
}

fn is_whole(time: Duration) -> bool {
    time.subsec_nanos().is_multiple_of(1_000)
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
