//! The limiter that a case concerns, on a clock that the case moves.

use std::time::Duration;

use serde_json::{Value, json};
use sluicegate::{
    Carry, Clock, ConfigError, Denied, Gcra, Grant, LeakyBucket, ManualClock, Quota, Rate, Refill,
    TokenBucket,
};

use crate::vectors::{BucketSpec, CarrySpec, Facts, LimiterSpec, RefillSpec, Step, Verb};

/// A limiter of a case.
pub(crate) enum Subject<'clock> {
    Gcra(Gcra<&'clock ManualClock>),
    Bucket(TokenBucket<&'clock ManualClock>),
    Paced(LeakyBucket<&'clock ManualClock>),
}

/// The same call on whichever limiter it is.
macro_rules! on {
    ($subject:expr, $limiter:ident => $call:expr) => {
        match $subject {
            Subject::Gcra($limiter) => $call,
            Subject::Bucket($limiter) => $call,
            Subject::Paced($limiter) => $call,
        }
    };
}

impl<'clock> Subject<'clock> {
    /// The limiter of `spec`, with its times multiplied by `scale`.
    pub(crate) fn build(
        spec: &LimiterSpec,
        scale: u64,
        clock: &'clock ManualClock,
    ) -> Result<Subject<'clock>, ConfigError> {
        Ok(match spec {
            LimiterSpec::Gcra(spec) => {
                let interval = Duration::from_nanos(spec.interval_nanos * scale);
                Subject::Gcra(Gcra::with_clock(interval, interval * spec.max_burst, clock)?)
            }
            LimiterSpec::Bucket(spec) => {
                Subject::Bucket(TokenBucket::with_clock(quota(spec, scale)?, clock))
            }
            LimiterSpec::Paced(spec) => {
                let period = Duration::from_nanos(spec.period_nanos * scale);
                let rate = Rate::new(spec.permits, period)?;
                Subject::Paced(LeakyBucket::min_interval_with_clock(rate, clock))
            }
        })
    }

    /// Makes the call of `step` and says what came of it.
    ///
    /// # Panics
    ///
    /// If the limiter contradicts itself: see [`checked`](Subject::checked).
    pub(crate) fn run(&self, step: &Step, scale: u64, clock: &ManualClock) -> Facts {
        clock.set_nanos(step.at_nanos * scale);
        let before = on!(self, limiter => limiter.snapshot());
        let decision = match step.verb {
            Verb::Take => on!(self, limiter => limiter.try_acquire(step.n)),
            Verb::TakeUpTo => on!(self, limiter => limiter.try_acquire_up_to(step.n)),
            Verb::Peek => self.peek(step.n),
            Verb::Force => on!(self, limiter => limiter.force(step.n)),
            Verb::Look => self.peek(0),
            Verb::Reset => {
                on!(self, limiter => limiter.reset());
                self.peek(0)
            }
            Verb::Reconfigure => {
                self.reconfigure(step, scale);
                self.peek(0)
            }
        };
        let after = on!(self, limiter => limiter.snapshot());
        if decision.is_err() || matches!(step.verb, Verb::Peek | Verb::Look) {
            assert_eq!(before, after, "a denial or a peek has changed the limiter");
        }
        self.checked(step, decision, clock)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        on!(self, limiter => limiter.peek(permits))
    }

    fn reconfigure(&self, step: &Step, scale: u64) {
        let Subject::Bucket(bucket) = self else { panic!("only buckets are reconfigured") };
        let carry = match step.carry.unwrap() {
            CarrySpec::Keep => Carry::Keep,
            CarrySpec::Scale => Carry::Scale,
            CarrySpec::Reset => Carry::Reset,
        };
        bucket.reconfigure(quota(step.to.as_ref().unwrap(), scale).unwrap(), carry);
    }

    /// The facts of `decision`, after some checks that need no vector: what a
    /// decision says of the limiter is what a look at it says; every wait is the
    /// least that suffices.
    fn checked(&self, step: &Step, decision: Result<Grant, Denied>, clock: &ManualClock) -> Facts {
        let look = self.peek(0).unwrap();
        let remaining = self.whole_tokens();
        let next = match self.peek(remaining.max(0).cast_unsigned() + 1) {
            Err(Denied::Wait(shortfall)) => nanos(shortfall.retry_after()),
            _ => json!("never"),
        };
        let mut facts = vec![
            ("limit", json!(look.limit())),
            ("remaining", json!(remaining)),
            ("reset_after_nanos", nanos(look.reset_after())),
            ("next_after_nanos", next),
            ("allowed", json!(decision.is_ok())),
        ];
        match decision {
            Ok(grant) => {
                assert_eq!(grant.limit(), look.limit());
                if !matches!(step.verb, Verb::Peek) {
                    assert_eq!(grant.remaining(), look.remaining());
                    assert_eq!(grant.reset_after(), look.reset_after());
                }
                facts.push(("granted", json!(grant.permits())));
                facts.push(("ready_after_nanos", nanos(grant.ready_after())));
            }
            Err(denied) => {
                facts.push(("granted", json!(0)));
                facts.push((
                    "retry_after_nanos",
                    denied.retry_after().map_or(json!("never"), nanos),
                ));
            }
        }
        match decision {
            Err(Denied::Wait(shortfall)) => {
                assert_eq!(shortfall.remaining(), look.remaining());
                assert_eq!(shortfall.reset_after(), look.reset_after());
                if matches!(step.verb, Verb::Take | Verb::Peek) {
                    let missing = step.n.cast_signed() - remaining;
                    assert_eq!(shortfall.missing().cast_signed(), missing);
                    self.assert_least_wait(step.n, shortfall.retry_after(), clock);
                }
            }
            // What can be forced is the debt more than what can be taken.
            Err(Denied::TooLarge { limit, .. }) => assert!(limit >= look.limit()),
            _ => {}
        }
        facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect()
    }

    /// The tokens there are, rounded down to whole ones; less than 0 is a debt.
    fn whole_tokens(&self) -> i64 {
        match self.peek(1) {
            Err(Denied::Wait(shortfall)) => 1 - shortfall.missing().cast_signed(),
            _ => self.peek(0).unwrap().remaining().cast_signed(),
        }
    }

    fn assert_least_wait(&self, permits: u64, wait: Duration, clock: &ManualClock) {
        let now_nanos = clock.now_nanos();
        clock.advance(wait);
        assert!(self.peek(permits).is_ok(), "{wait:?} is too short a wait for {permits}");
        clock.set_nanos(clock.now_nanos() - 1);
        assert!(self.peek(permits).is_err(), "{wait:?} is too long a wait for {permits}");
        clock.set_nanos(now_nanos);
    }
}

/// The quota of `spec`, with its period multiplied by `scale`.
fn quota(spec: &BucketSpec, scale: u64) -> Result<Quota, ConfigError> {
    let rate = Rate::new(spec.permits, Duration::from_nanos(spec.period_nanos * scale))?;
    let refill = match spec.refill {
        RefillSpec::Smooth => Refill::Smooth,
        RefillSpec::Interval => Refill::Interval,
    };
    let mut quota = Quota::new(rate).with_burst(spec.burst)?.with_refill(refill);
    if let Some(initial) = spec.initial {
        quota = quota.with_initial(initial)?;
    }
    if let Some(max_debt) = spec.max_debt {
        quota = quota.with_max_debt(max_debt)?;
    }
    Ok(quota)
}

fn nanos(duration: Duration) -> Value {
    json!(u64::try_from(duration.as_nanos()).unwrap())
}
