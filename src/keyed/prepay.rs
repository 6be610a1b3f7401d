//! The stores that prepay permits for hot keys, the number of permits at a time, and the time for
//! which they are good. No atomics here.

use crate::decision::denied::Denied;
use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;

/// A store whose hot keys can have seats: a [`KeyTable`](crate::KeyTable) or a tier of it, a
/// `Keyed` of `Buckets`, or a `&`, `Box` or `Arc` of one. It cannot be implemented elsewhere.
pub trait KeyStore<K: ?Sized>: Prepay<K> {}

impl<K: ?Sized, S: Prepay<K> + ?Sized> KeyStore<K> for S {}

/// A store of token buckets, one for each key.
pub trait Prepay<K: ?Sized> {
    type Clock: Clock;

    fn clock(&self) -> &Self::Clock;

    fn hash(&self, key: &K) -> u64;

    /// Takes all of `permits` for the key with `hash`, or none. Does not report to the observer.
    fn acquire(&self, hash: u64, key: &K, permits: u64) -> Result<Grant, Denied>;

    /// Takes as many of `permits` as are available. Does not report to the observer.
    fn acquire_up_to(&self, hash: u64, key: &K, permits: u64) -> Result<Grant, Denied>;

    /// Returns the answer that `acquire` would give. Takes nothing.
    fn look(&self, key: &K, permits: u64) -> Result<Grant, Denied>;

    /// Makes the key full.
    fn fill(&self, key: &K);

    /// Removes the key, and returns whether there was anything to forget.
    fn forget(&self, key: &K) -> bool;

    /// Takes some permits for the key in advance, if it is known, and if it has as many to spare.
    fn draw(&self, hash: u64, key: &K, want: PrepayRequest) -> Option<Prepaid>;

    /// Reports a decision to the store's observer.
    fn notify(&self, key: &K, permits: u64, answer: Result<&Grant, &Denied>);
}

/// Forwards every method to the store behind a pointer.
macro_rules! through {
    ($(#[$attribute:meta])* $Pointer:ty) => {
        $(#[$attribute])*
        impl<K: ?Sized, S: Prepay<K> + ?Sized> Prepay<K> for $Pointer {
            type Clock = S::Clock;

            #[inline(always)]
            fn clock(&self) -> &S::Clock {
                (**self).clock()
            }

            #[inline(always)]
            fn hash(&self, key: &K) -> u64 {
                (**self).hash(key)
            }

            #[inline(always)]
            fn acquire(&self, hash: u64, key: &K, permits: u64) -> Result<Grant, Denied> {
                (**self).acquire(hash, key, permits)
            }

            fn acquire_up_to(&self, hash: u64, key: &K, permits: u64) -> Result<Grant, Denied> {
                (**self).acquire_up_to(hash, key, permits)
            }

            fn look(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
                (**self).look(key, permits)
            }

            fn fill(&self, key: &K) {
                (**self).fill(key);
            }

            fn forget(&self, key: &K) -> bool {
                (**self).forget(key)
            }

            fn draw(&self, hash: u64, key: &K, want: PrepayRequest) -> Option<Prepaid> {
                (**self).draw(hash, key, want)
            }

            #[inline(always)]
            fn notify(&self, key: &K, permits: u64, answer: Result<&Grant, &Denied>) {
                (**self).notify(key, permits, answer);
            }
        }
    };
}

through!(&S);
through!(alloc::boxed::Box<S>);
through!(#[cfg(target_has_atomic = "ptr")] alloc::sync::Arc<S>);

/// The most permits that are prepaid at once for later calls. The cost of a prepayment, shared
/// among so many, is a small part of a nanosecond.
pub(super) const MAX_DRAW: u64 = 1_024;

/// The first prepayment; each later one is twice the permits that were used of the last.
const FIRST_DRAW: u64 = if cfg!(sluicegate_loom) { 2 } else { 16 };

/// The least that is worth a prepayment.
const MIN_DRAW: u64 = if cfg!(sluicegate_loom) { 1 } else { 4 };

/// Divisor: all places together prepay at most this part of a key's permits, each time that all of
/// them prepay once.
const SHARE: u64 = 4;

/// Divisor: this part of the burst is passed over where a bucket is full, and the prepaid permits
/// are good for as long as it takes to earn it.
const PASSED_OVER: i64 = 8;

/// A request for a prepayment.
#[derive(Clone, Copy, Debug)]
pub struct PrepayRequest {
    /// Permits that are needed now.
    pub(super) least: u64,
    /// Permits that are wanted besides.
    pub(super) more: u64,
    pub(super) places: u64,
}

impl PrepayRequest {
    /// Returns how many permits are worth prepaying besides, if `drawn` were prepaid the last time,
    /// and `left` of those were not used.
    pub(super) fn after(drawn: u64, left: u64) -> u64 {
        (2 * drawn.saturating_sub(left)).clamp(FIRST_DRAW, MAX_DRAW)
    }

    /// Returns the number of permits to prepay from a `balance`, and their cost together with the
    /// ticks passed over. The cost is even if the amounts are.
    pub(crate) fn charge(self, balance: i64, capacity: i64, token: i64) -> Option<(u64, i64)> {
        let start = balance.min(capacity - capacity / (2 * PASSED_OVER) * 2);
        let held = u64::try_from(start).ok()? / token as u64;
        let permits = self.least.saturating_add(self.more).min(held / (SHARE * self.places));
        let is_enough = permits >= self.least.saturating_add(MIN_DRAW);
        is_enough.then(|| (permits, balance - start + permits as i64 * token))
    }
}

/// Prepaid permits.
#[derive(Clone, Copy, Debug)]
pub struct Prepaid {
    pub(crate) grant: Grant,
    /// The reading of the clock by which they were prepaid.
    pub(crate) at_nanos: u64,
}

impl Prepaid {
    /// Returns the time for which the permits are good: until the bucket would be full again
    /// without the prepayment, or a little less.
    pub(super) fn lasts_nanos(&self) -> u64 {
        let Grant { permits, forecast } = self.grant;
        match forecast.with_more(permits as i64) {
            // At most half of all times, so that a time before the prepayment is not taken for one
            // after.
            Forecast::Bucket(accrued) => {
                accrued.certain_wait(accrued.capacity as i64).min(i64::MAX as u64)
            }
            Forecast::Window(_) | Forecast::Known(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::refill::Refill;
    use crate::decision::forecast::bucket::BucketForecast;

    fn want(least: u64, more: u64, places: u64) -> PrepayRequest {
        PrepayRequest { least, more, places }
    }

    #[test]
    fn a_draw_is_a_share_of_what_is_there_and_none_where_that_is_little() {
        let all = |balance: i64| want(1, 1_024, 2).charge(balance * 10, 1_000 * 10, 10);
        // An eighth is passed over, and an eighth of the rest is prepaid.
        assert_eq!(all(1_000), Some((109, 1_250 + 1_090)));
        assert_eq!(all(800), Some((100, 1_000)));
        assert_eq!(all(40), Some((5, 50)));
        assert_eq!(all(39), None);
        assert_eq!(all(-5), None);
        assert_eq!(want(100, 16, 2).charge(8_000, 10_000, 10), None);
        assert_eq!(want(u64::MAX, u64::MAX, 2).charge(8_000, 10_000, 10), None);
    }

    #[test]
    fn who_uses_all_draws_twice_as_much_and_who_uses_little_draws_little() {
        assert_eq!(PrepayRequest::after(0, 0), 16);
        assert_eq!(PrepayRequest::after(16, 0), 32);
        assert_eq!(PrepayRequest::after(1_000, 0), 1_024);
        assert_eq!(PrepayRequest::after(1_000, 970), 60);
    }

    /// Returns the ticks from the first of a prepayment to the last reading at which it is good:
    /// the bound in [`hot`](crate::keyed::hot) rests on it.
    fn span(accrued: BucketForecast, want: PrepayRequest) -> Option<i128> {
        let BucketForecast { balance, capacity, token, gain, period_nanos, time_nanos, .. } =
            accrued;
        let (permits, cost) = want.charge(balance, capacity as i64, token as i64)?;
        assert!(cost <= balance);
        let forecast = Forecast::Bucket(BucketForecast { balance: balance - cost, ..accrued });
        let lasts_nanos = Prepaid { grant: Grant { permits, forecast }, at_nanos: 0 }.lasts_nanos();
        let earned = |nanos: u64| match accrued.refill {
            Refill::Smooth => u128::from(nanos) * u128::from(gain) / u128::from(period_nanos),
            Refill::Interval => u128::from(nanos / period_nanos) * u128::from(gain),
        };
        let first =
            earned(time_nanos) as i128 - i128::from(balance - cost + (permits * token) as i64);
        let last = earned(time_nanos.saturating_add(lasts_nanos.checked_sub(1)?)) as i128;
        Some(last - first)
    }

    /// The wait's multiplications are not exact, and must not make it too long.
    #[test]
    fn a_certain_wait_is_no_longer_than_what_is_missing_takes_and_hardly_shorter() {
        let mut bits = 1_u64;
        let mut next = |most: u32| {
            bits = bits.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let size = 1 + (bits >> 32) as u32 % most;
            (bits ^ bits >> 29) >> (u64::BITS - size) | 1
        };
        for _ in 0..100_000 {
            let (missing, gain, period_nanos) = (next(62), next(40), next(61));
            let accrued = BucketForecast {
                balance: 0,
                capacity: missing,
                token: 2,
                gain,
                period_nanos,
                time_nanos: 0,
                refill: Refill::Smooth,
                is_early: false,
                apart_nanos: 0,
            };
            let wait = accrued.certain_wait(missing as i64);
            // One of the missing units may have been earned already, all but a part.
            let longest = u128::from(missing - 1) * u128::from(period_nanos) / u128::from(gain);
            assert!(u128::from(wait) <= longest, "{accrued:?}: {wait} of {longest}");
            let shortest = longest - longest / (1 << 48);
            let is_long = wait == u64::MAX || u128::from(wait) + 1 >= shortest;
            assert!(is_long, "{accrued:?}: {wait} of {longest}");
        }
    }

    #[test]
    fn a_draw_is_good_for_no_longer_than_its_ticks_fit_into_the_burst() {
        let mut good = 0;
        for (gain, period_nanos) in [(1, 1), (3, 7), (5, 2), (2, 1_000_000_007), (1 << 40, 9)] {
            for (burst, token) in [(40, 1), (64, 3), (100, 2), (1_000_000, 1 << 30)] {
                for (refill, places) in [(Refill::Smooth, 1), (Refill::Interval, 2)] {
                    for (time, part) in
                        (0..20).flat_map(|time| (0..=40).map(move |part| (time, part)))
                    {
                        let capacity = burst * token;
                        let accrued = BucketForecast {
                            balance: (capacity / 40 * part) as i64,
                            capacity,
                            token,
                            gain,
                            period_nanos,
                            time_nanos: period_nanos / 3 * time,
                            refill,
                            is_early: false,
                            apart_nanos: 0,
                        };
                        if let Some(span) = span(accrued, want(1, 16, places)) {
                            assert!(span <= i128::from(capacity), "{accrued:?} {span}");
                            good += 1;
                        }
                    }
                }
            }
        }
        assert!(good > 10_000, "{good}");
    }
}
