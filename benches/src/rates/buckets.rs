//! Limiters on clocks that are moved by hand.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use governor::clock::FakeRelativeClock;
use governor::state::{InMemoryState, NotKeyed};
use sluicegate::{ManualClock, Quota, Rate, TokenBucket};

use super::Nominal;

/// A limiter on a clock of its own that is moved by hand.
pub trait Bucket: Sized {
    /// The largest burst at `rate`, or `None` if there is no such rate.
    #[must_use]
    fn burst(rate: Nominal) -> Option<u64>;

    /// Creates a limiter with that burst.
    #[must_use]
    fn new(rate: Nominal) -> Option<Self>;

    /// Moves the clock.
    fn advance(&mut self, by: Duration);

    /// Takes `permits`, or none. Returns true if it took them.
    fn take(&mut self, permits: u64) -> bool;

    /// Takes all permits there are, and returns their number.
    fn take_all(&mut self) -> u64 {
        (0..=32).rev().map(|bit| 1 << bit).filter(|&permits| self.take(permits)).sum()
    }
}

/// The token bucket of this project.
#[derive(Debug)]
pub struct Ours(TokenBucket<ManualClock>);

impl Bucket for Ours {
    fn burst(_: Nominal) -> Option<u64> {
        Some(Quota::MAX_BURST)
    }

    fn new(rate: Nominal) -> Option<Ours> {
        let quota = Quota::new(Rate::new(rate.permits, rate.period).ok()?);
        let quota = quota.with_burst(Ours::burst(rate)?).ok()?;
        Some(Ours(TokenBucket::with_clock(quota, ManualClock::new())))
    }

    fn advance(&mut self, by: Duration) {
        self.0.clock().advance(by);
    }

    fn take(&mut self, permits: u64) -> bool {
        self.0.try_acquire(permits).is_ok()
    }

    fn take_all(&mut self) -> u64 {
        // Not `drain`, which would also take the fraction of a permit.
        self.0.try_acquire_up_to(u64::MAX).map_or(0, |grant| grant.permits())
    }
}

/// governor, set to the interval in whole nanoseconds as its own constructors
/// do.
#[derive(Debug)]
pub struct Governor {
    limiter: governor::RateLimiter<
        NotKeyed,
        InMemoryState,
        FakeRelativeClock,
        governor::middleware::NoOpMiddleware<governor::nanos::Nanos>,
    >,
    clock: FakeRelativeClock,
    burst: u64,
}

impl Bucket for Governor {
    fn burst(rate: Nominal) -> Option<u64> {
        // Interval times burst must fit its 64 bits, with room for a century.
        let interval_nanos = (rate.period.as_nanos() as u64 / rate.permits).max(1);
        Some(u64::from(u32::MAX).min((1 << 62) / interval_nanos))
    }

    fn new(rate: Nominal) -> Option<Governor> {
        let permits = NonZeroU32::new(u32::try_from(rate.permits).ok()?)?;
        let quota = if rate.period == Duration::from_secs(1) {
            governor::Quota::per_second(permits)
        } else {
            governor::Quota::with_period(rate.period / permits.get())?
        };
        let burst = Governor::burst(rate)?;
        let quota = quota.allow_burst(NonZeroU32::new(u32::try_from(burst).ok()?)?);
        let clock = FakeRelativeClock::default();
        let limiter = governor::RateLimiter::direct_with_clock(quota, clock.clone());
        Some(Governor { limiter, clock, burst })
    }

    fn advance(&mut self, by: Duration) {
        self.clock.advance(by);
    }

    fn take(&mut self, permits: u64) -> bool {
        // Beyond the burst its arithmetic may wrap.
        if permits > self.burst {
            return false;
        }
        let permits = NonZeroU32::new(permits as u32);
        permits.is_some_and(|permits| matches!(self.limiter.check_n(permits), Ok(Ok(()))))
    }
}

/// A clock for the peers that have a trait for it.
#[derive(Clone, Debug, Default)]
struct Hand(Arc<AtomicU64>);

impl Hand {
    fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_nanos() as u64, Relaxed);
    }
}

impl ratelimit::Clock for Hand {
    fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.0.load(Relaxed))
    }
}

impl ratelock::Clock for Hand {
    fn now_ns(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// ratelimit, starting full.
#[derive(Debug)]
pub struct Ratelimit {
    limiter: ratelimit::Ratelimiter<Hand>,
    clock: Hand,
}

impl Bucket for Ratelimit {
    fn burst(_: Nominal) -> Option<u64> {
        Some(1 << 32)
    }

    fn new(rate: Nominal) -> Option<Ratelimit> {
        let clock = Hand::default();
        let builder = ratelimit::Builder::with_clock(rate.permits, clock.clone());
        let burst = Ratelimit::burst(rate)?;
        let builder = builder.period(rate.period).max_tokens(burst).initial_available(burst);
        Some(Ratelimit { limiter: builder.build().ok()?, clock })
    }

    fn advance(&mut self, by: Duration) {
        self.clock.advance(by);
    }

    fn take(&mut self, permits: u64) -> bool {
        self.limiter.try_wait_n(permits).is_ok()
    }
}

/// ratelock, which supports only whole permits per second.
pub struct Ratelock {
    limiter: ratelock::RateLimiter<Hand>,
    clock: Hand,
}

impl fmt::Debug for Ratelock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ratelock").field("clock", &self.clock).finish_non_exhaustive()
    }
}

impl Bucket for Ratelock {
    fn burst(rate: Nominal) -> Option<u64> {
        (rate.period == Duration::from_secs(1)).then_some(1 << 32)
    }

    fn new(rate: Nominal) -> Option<Ratelock> {
        let clock = Hand::default();
        let burst = Ratelock::burst(rate)?;
        let limiter = ratelock::RateLimiter::with_clock(burst, rate.permits, clock.clone());
        Some(Ratelock { limiter, clock })
    }

    fn advance(&mut self, by: Duration) {
        self.clock.advance(by);
    }

    fn take(&mut self, permits: u64) -> bool {
        self.limiter.allow_n(permits)
    }
}

/// Returns the spacing of quota's permits, by the rule in its source: the interval rounded
/// up to whole nanoseconds. Its clock cannot be moved by hand.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "its rates are floating-point")]
pub fn quota_spacing_nanos(rate: Nominal) -> f64 {
    let per_nano = rate.permits as f64 / rate.period.as_nanos() as f64;
    (1.0 / per_nano).max(1.0).ceil()
}
