//! A limiter as it stood at one decision, and the waits until it has permits again.
//!
//! | module | forecast | waits |
//! |---|---|---|
//! | [`bucket`] | for a limiter that earns permits | `retry_after` and the others, rounded up to the nanosecond |
//! | [`window_counts`](crate::window_counts) | for a counter of windows | those after which the counts have left |
//! | [`known`] | for a limiter that had to search | looked up when the request was decided |

pub(crate) mod bucket;
pub(crate) mod known;

use core::time::Duration;

use crate::time::units;
use crate::window_counts::WindowCounts;

use self::bucket::BucketForecast;
use self::known::KnownForecast;

/// The state of a limiter at a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forecast {
    Bucket(BucketForecast),
    Window(WindowCounts),
    Known(KnownForecast),
}

impl Forecast {
    /// Returns the whole permits that can be taken.
    pub(crate) fn remaining(&self) -> u64 {
        match self {
            Forecast::Bucket(accrued) => {
                u64::try_from(accrued.balance).unwrap_or(0) / accrued.token
            }
            Forecast::Window(counted) => counted.limit.saturating_sub(counted.used()),
            Forecast::Known(window) => window.limit.saturating_sub(window.used),
        }
    }

    /// Returns the whole permits, negative for a debt: a fraction of a permit is rounded down. For a
    /// window, the permits that its limit leaves, negative if the limit was lowered below what
    /// counts.
    pub(crate) fn balance(&self) -> i64 {
        let left = |limit: u64, used: u64| {
            let left = i128::from(limit) - i128::from(used);
            i64::try_from(left).unwrap_or(if left < 0 { i64::MIN } else { i64::MAX })
        };
        match self {
            Forecast::Bucket(accrued) => accrued.balance.div_euclid(accrued.token as i64),
            Forecast::Window(counted) => left(counted.limit, counted.used()),
            Forecast::Known(window) => left(window.limit, window.used),
        }
    }

    /// Returns the wait until one permit more than [`remaining`](Forecast::remaining) is
    /// available, or `None` if there can be no more, or if the wait was not looked up.
    pub(crate) fn next_permit_after(&self) -> Option<Duration> {
        let next = self.remaining().saturating_add(1);
        if next > self.limit() {
            return None;
        }
        match self {
            // The next permit fits the capacity, so the product does not overflow.
            Forecast::Bucket(accrued) => Some(accrued.wait_for((next * accrued.token) as i64)),
            Forecast::Window(counted) => Some(Duration::from_nanos(counted.wait_nanos(next))),
            Forecast::Known(_) => None,
        }
    }

    /// Returns the largest number of permits that can be granted at once.
    pub(crate) fn limit(&self) -> u64 {
        match self {
            Forecast::Bucket(accrued) => accrued.capacity / accrued.token,
            Forecast::Window(counted) => counted.limit,
            Forecast::Known(window) => window.limit,
        }
    }

    /// Returns the wait until the limiter is full.
    pub(crate) fn reset_after(&self) -> Duration {
        match self {
            Forecast::Bucket(accrued) => accrued.wait_for(accrued.capacity as i64),
            Forecast::Window(counted) => Duration::from_nanos(counted.wait_nanos(counted.limit)),
            Forecast::Known(window) => Duration::from_nanos(window.reset_nanos),
        }
    }

    /// Returns the time that it takes to earn the whole capacity; 0 for a window.
    pub(crate) fn fill_nanos(&self) -> u64 {
        let Forecast::Bucket(accrued) = self else { return 0 };
        let empty = Forecast::Bucket(BucketForecast { balance: 0, apart_nanos: 0, ..*accrued });
        units::nanos(empty.reset_after())
    }

    /// Returns the wait until a debt is repaid; zero for a window, which has none.
    pub(crate) fn ready_after(&self) -> Duration {
        match self {
            Forecast::Bucket(accrued) => accrued.wait_for(0),
            Forecast::Window(_) | Forecast::Known(_) => Duration::ZERO,
        }
    }

    /// Returns the wait until `wanted` is available: a balance, or a number of permits.
    pub(crate) fn retry_after(&self, wanted: i64) -> Duration {
        match self {
            Forecast::Bucket(accrued) => accrued.wait_for(wanted),
            Forecast::Window(counted) => Duration::from_nanos(counted.wait_nanos(wanted as u64)),
            Forecast::Known(window) => Duration::from_nanos(window.retry_nanos),
        }
    }

    /// Returns a wait before which no requests for `permits` in all can be granted one after the other, if no other
    /// permits are taken; `None` if the forecast does not tell it. They may be more than the limit.
    #[cfg(feature = "wait")]
    pub(crate) fn wait_in_parts(&self, permits: u64) -> Option<Duration> {
        match self {
            Forecast::Bucket(accrued) => {
                Some(accrued.wait_for(self.wanted_for(permits.min(u64::MAX >> 1))))
            }
            Forecast::Window(counted) => {
                counted.wait_nanos_in_parts(permits).map(Duration::from_nanos)
            }
            Forecast::Known(_) => None,
        }
    }

    /// Returns the forecast with `permits` more permits, or fewer if negative. (Only a limiter that
    /// earns can have some of its permits elsewhere.)
    pub(crate) fn with_more(self, permits: i64) -> Forecast {
        let Forecast::Bucket(accrued) = self else { return self };
        let more = permits.saturating_mul(accrued.token as i64);
        let balance = accrued.balance.saturating_add(more).min(accrued.capacity as i64);
        Forecast::Bucket(BucketForecast { balance, ..accrued })
    }

    /// Returns the forecast of what is above `kept` permits.
    #[inline]
    pub(crate) fn above(self, kept: u64) -> Forecast {
        match self {
            Forecast::Bucket(accrued) => {
                let kept = kept.saturating_mul(accrued.token);
                Forecast::Bucket(BucketForecast {
                    balance: accrued.balance.saturating_sub_unsigned(kept),
                    capacity: accrued.capacity.saturating_sub(kept),
                    ..accrued
                })
            }
            Forecast::Window(counted) => {
                let limit = counted.limit.saturating_sub(kept);
                Forecast::Window(WindowCounts { limit, ..counted })
            }
            Forecast::Known(window) => {
                let limit = window.limit.saturating_sub(kept);
                Forecast::Known(KnownForecast { limit, ..window })
            }
        }
    }

    /// Returns the forecast with `less` fewer permits, and a limit that is no more than `limit`. (Only of a limiter that
    /// earns.)
    #[cfg(feature = "keyed")]
    pub(crate) fn lowered(self, less: u64, limit: u64) -> Forecast {
        let Forecast::Bucket(accrued) = self else { return self };
        Forecast::Bucket(BucketForecast {
            balance: accrued.balance.saturating_sub_unsigned(less.saturating_mul(accrued.token)),
            capacity: accrued.capacity.min(limit.saturating_mul(accrued.token)),
            ..accrued
        })
    }

    /// Returns the forecast of requests that both limiters have to grant: of the one that has less, with the lower of
    /// both limits. (Only of limiters that earn.) Divides only if these are of two limiters.
    #[cfg(feature = "keyed")]
    pub(crate) fn tighter(self, other: Forecast) -> Forecast {
        let (Forecast::Bucket(one), Forecast::Bucket(two)) = (self, other) else { return self };
        let has_more = |one: &BucketForecast, two: &BucketForecast| {
            i128::from(one.balance) * i128::from(two.token)
                > i128::from(two.balance) * i128::from(one.token)
        };
        let is_larger = |one: &BucketForecast, two: &BucketForecast| {
            u128::from(one.capacity) * u128::from(two.token)
                > u128::from(two.capacity) * u128::from(one.token)
        };
        let (less, more) = if has_more(&one, &two) { (two, one) } else { (one, two) };
        let less = Forecast::Bucket(less);
        match less {
            Forecast::Bucket(own) if is_larger(&own, &more) => {
                less.lowered(0, Forecast::Bucket(more).limit())
            }
            _ => less,
        }
    }

    /// Returns the forecast with a debt replaced by 0: it does not reduce the permits elsewhere.
    pub(crate) fn paid_off(self) -> Forecast {
        match self {
            Forecast::Bucket(accrued) => {
                Forecast::Bucket(BucketForecast { balance: accrued.balance.max(0), ..accrued })
            }
            other => other,
        }
    }

    /// Returns the amount that is needed to grant `permits`, in the units of the forecast.
    pub(crate) fn wanted_for(&self, permits: u64) -> i64 {
        match self {
            Forecast::Bucket(accrued) => (permits as i64).saturating_mul(accrued.token as i64),
            Forecast::Window(_) | Forecast::Known(_) => permits as i64,
        }
    }

    /// Returns the number of permits that are missing to `wanted`, rounded up.
    pub(crate) fn missing(&self, wanted: i64) -> u64 {
        match self {
            Forecast::Bucket(accrued) => accrued.missing_to(wanted).div_ceil(accrued.token),
            Forecast::Window(counted) => beyond(counted.limit, counted.used(), wanted as u64),
            Forecast::Known(window) => beyond(window.limit, window.used, wanted as u64),
        }
    }
}

/// Returns the part of `used` and `wanted` together that is beyond `limit`.
fn beyond(limit: u64, used: u64, wanted: u64) -> u64 {
    let beyond = (u128::from(used) + u128::from(wanted)).saturating_sub(u128::from(limit));
    u64::try_from(beyond).unwrap_or(u64::MAX)
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::config::refill::Refill;

    const SOME: BucketForecast = BucketForecast {
        balance: 3,
        capacity: 10,
        token: 1,
        gain: 2,
        period_nanos: 100,
        time_nanos: 0,
        refill: Refill::Smooth,
        is_early: false,
        apart_nanos: 0,
    };

    #[test]
    fn to_fill_takes_as_long_for_a_clock_that_is_behind_the_origin() {
        for refill in [Refill::Smooth, Refill::Interval] {
            let accrued = BucketForecast { refill, ..SOME };
            assert_eq!(Forecast::Bucket(accrued).fill_nanos(), 500);
            let early = BucketForecast { is_early: true, apart_nanos: 77, ..accrued };
            assert_eq!(Forecast::Bucket(early).fill_nanos(), 500);
            let waits = [early, accrued].map(|accrued| Forecast::Bucket(accrued).reset_after());
            assert_eq!(waits[0], waits[1] + Duration::from_nanos(77));
        }
    }

    #[cfg(feature = "wait")]
    #[test]
    fn more_permits_than_the_limit_come_in_parts_as_fast_as_they_are_earned() {
        // Two units in 100 ns, and ten at once.
        let wait =
            |permits| Forecast::Bucket(SOME).wait_in_parts(permits).map(|wait| wait.as_nanos());
        assert_eq!([0, 3, 10, 11, 103].map(wait), [0, 0, 350, 400, 5_000].map(Some));
        assert!(wait(u64::MAX) > wait(1 << 62));
        let known = KnownForecast { limit: 5, used: 3, reset_nanos: 9, retry_nanos: 0 };
        assert_eq!(Forecast::Known(known).wait_in_parts(6), None);
    }

    #[test]
    fn the_next_permit_is_the_first_whole_one_above_what_remains_and_none_above_full() {
        let at =
            |balance| Forecast::Bucket(BucketForecast { balance, token: 4, capacity: 10, ..SOME });
        let next = |balance| at(balance).next_permit_after().map(|wait| wait.as_nanos());
        // Two units in 100 ns.
        assert_eq!([-6, -1, 0, 3].map(next), [Some(500), Some(250), Some(200), Some(50)]);
        assert_eq!([4, 7].map(next), [Some(200), Some(50)]);
        assert_eq!([8, 10].map(next), [None, None]);
        let known = KnownForecast { limit: 5, used: 3, reset_nanos: 9, retry_nanos: 0 };
        assert_eq!(Forecast::Known(known).next_permit_after(), None);
    }

    #[test]
    fn a_balance_is_rounded_down_so_that_a_debt_counts_in_full() {
        let at = |balance| Forecast::Bucket(BucketForecast { balance, token: 4, ..SOME }).balance();
        assert_eq!([-9, -8, -1, 0, 3, 4, 10].map(at), [-3, -2, -1, 0, 0, 1, 2]);
        assert_eq!(at(i64::MIN), i64::MIN / 4);
        let known = |limit, used| {
            Forecast::Known(KnownForecast { limit, used, reset_nanos: 0, retry_nanos: 0 }).balance()
        };
        assert_eq!((known(5, 3), known(5, 9)), (2, -4));
        assert_eq!((known(u64::MAX, 0), known(0, u64::MAX)), (i64::MAX, i64::MIN));
    }

    #[test]
    fn what_is_missing_to_a_limit_is_never_more_than_can_be_counted() {
        let missing = |limit, used, wanted: u64| {
            let known = KnownForecast { limit, used, reset_nanos: 0, retry_nanos: 0 };
            Forecast::Known(known).missing(wanted as i64)
        };
        assert_eq!([missing(5, 3, 2), missing(5, 3, 4), missing(5, 9, 1)], [0, 2, 5]);
        assert_eq!(missing(u64::MAX, u64::MAX, 7), 7);
        assert_eq!(missing(0, u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn what_is_paid_off_owes_nothing_and_has_no_more_than_before() {
        for (balance, after) in [(i64::MIN, 0), (-1, 0), (0, 0), (1, 1), (3, 3)] {
            let forecast = Forecast::Bucket(BucketForecast { balance, ..SOME });
            let expected = Forecast::Bucket(BucketForecast { balance: after, ..SOME });
            assert_eq!(forecast.paid_off(), expected);
        }
    }

    #[test]
    fn what_is_wanted_is_in_units_where_units_are_earned() {
        let forecast = Forecast::Bucket(BucketForecast { token: 7, ..SOME });
        assert_eq!([0, 1, 3].map(|permits| forecast.wanted_for(permits)), [0, 7, 21]);
        assert_eq!(forecast.wanted_for(1 << 62), i64::MAX);
    }

    #[test]
    fn an_outlook_holds_from_now_on_or_from_the_origin_if_that_is_to_come() {
        let late = BucketForecast { apart_nanos: 77, ..SOME };
        assert_eq!([0, 50, u64::MAX].map(|now| late.holds_from(now)), [0, 50, u64::MAX]);
        let early = BucketForecast { is_early: true, ..late };
        assert_eq!([0, 50, u64::MAX].map(|now| early.holds_from(now)), [77, 127, u64::MAX]);
    }
}
