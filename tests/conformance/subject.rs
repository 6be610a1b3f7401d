//! The limiter that a case concerns, on a clock that the case moves.

use std::time::Duration;

use serde_json::{Value, json};
use sluicegate::bucket::Carry;
use sluicegate::compose::{All, TopUp};
use sluicegate::window::WindowFromFirst;
use sluicegate::{
    Clock, ConfigError, Denied, FixedWindow, Gcra, Grant, LeakyBucket, Limiter, ManualClock, Quota,
    Rate, Refill, SlidingCounter, TokenBucket,
};

use super::acquire::{acquire, reserve};
use super::vector_file::Facts;
use super::vectors::{BucketSpec, CarrySpec, LimiterSpec, RateSpec, RefillSpec, Step, Verb};

/// A limiter of a case.
pub(crate) enum Subject<'clock> {
    Gcra(Gcra<&'clock ManualClock>),
    Bucket(TokenBucket<&'clock ManualClock>),
    Paced(LeakyBucket<&'clock ManualClock>),
    Fixed(FixedWindow<&'clock ManualClock>),
    FromFirst(WindowFromFirst<&'clock ManualClock>),
    Counter(SlidingCounter<&'clock ManualClock>),
    Buckets(All<TokenBucket<&'clock ManualClock>>),
    Windows(All<WindowFromFirst<&'clock ManualClock>>),
    TopUp(Box<TopUp<TokenBucket<&'clock ManualClock>>>),
}

impl<'clock> Subject<'clock> {
    /// The limiter of `spec`, with its times multiplied by `scale`.
    pub(crate) fn build(
        spec: &LimiterSpec,
        scale: u64,
        clock: &'clock ManualClock,
    ) -> Result<Subject<'clock>, ConfigError> {
        let bucket = |spec: &BucketSpec| {
            let bucket = TokenBucket::with_clock(quota(spec, scale)?, clock);
            match spec.initial {
                Some(tokens) => bucket.starting_with(tokens),
                None => Ok(bucket),
            }
        };
        let window = |spec| WindowFromFirst::with_clock(rate(spec, scale)?, clock);
        Ok(match spec {
            LimiterSpec::Gcra(spec) => {
                let interval = Duration::from_nanos(spec.interval_nanos * scale);
                Subject::Gcra(Gcra::with_clock(interval, interval * spec.max_burst, clock)?)
            }
            LimiterSpec::Bucket(spec) => Subject::Bucket(bucket(spec)?),
            LimiterSpec::Paced(spec) => {
                Subject::Paced(LeakyBucket::min_interval_with_clock(rate(spec, scale)?, clock))
            }
            LimiterSpec::FixedWindow(spec) => {
                let ahead = Duration::from_nanos(spec.ahead_nanos.unwrap_or(0) * scale);
                let window = FixedWindow::with_clock(rate(spec, scale)?, clock)?;
                Subject::Fixed(window.with_reservations(ahead))
            }
            LimiterSpec::WindowFromFirst(spec) => Subject::FromFirst(window(spec)?),
            LimiterSpec::SlidingCounter(spec) => {
                Subject::Counter(SlidingCounter::with_clock(rate(spec, scale)?, clock)?)
            }
            LimiterSpec::AllBuckets(specs) => {
                let buckets: Result<Vec<_>, ConfigError> = specs.iter().map(bucket).collect();
                Subject::Buckets(All::new(buckets?)?)
            }
            LimiterSpec::AllWindows(specs) => {
                let windows: Result<Vec<_>, _> = specs.iter().map(window).collect();
                Subject::Windows(All::new(windows?)?)
            }
            LimiterSpec::TopUp(spec) => Subject::TopUp(Box::new(TopUp::new(bucket(spec)?))),
        })
    }

    fn limiter(&self) -> &dyn Limiter {
        match self {
            Subject::Gcra(limiter) => limiter,
            Subject::Bucket(limiter) => limiter,
            Subject::Paced(limiter) => limiter,
            Subject::Fixed(limiter) => limiter,
            Subject::FromFirst(limiter) => limiter,
            Subject::Counter(limiter) => limiter,
            Subject::Buckets(limiter) => limiter,
            Subject::Windows(limiter) => limiter,
            Subject::TopUp(limiter) => &**limiter,
        }
    }

    /// The limiter without the balance beside it.
    fn earning(&self) -> &dyn Limiter {
        match self {
            Subject::TopUp(top_up) => top_up.limiter(),
            _ => self.limiter(),
        }
    }

    /// All that the limiter remembers, to be compared.
    fn state(&self) -> String {
        match self {
            Subject::Gcra(limiter) => format!("{:?}", limiter.snapshot()),
            Subject::Bucket(limiter) => format!("{:?}", limiter.snapshot()),
            Subject::Paced(limiter) => format!("{:?}", limiter.snapshot()),
            Subject::Fixed(limiter) => format!("{:?}", limiter.snapshot()),
            Subject::FromFirst(limiter) => format!("{:?}", limiter.snapshot()),
            Subject::Counter(limiter) => format!("{:?}", limiter.snapshot()),
            Subject::Buckets(all) => {
                let snapshots = all.limiters().iter().map(TokenBucket::snapshot);
                format!("{:?}", snapshots.collect::<Vec<_>>())
            }
            Subject::Windows(all) => {
                let snapshots = all.limiters().iter().map(WindowFromFirst::snapshot);
                format!("{:?}", snapshots.collect::<Vec<_>>())
            }
            Subject::TopUp(top_up) => {
                format!("{:?} {}", top_up.limiter().snapshot(), top_up.balance())
            }
        }
    }

    /// Returns whether it is several limiters. A denial then tells of the one that has to be waited
    /// for, and a grant of the one with the least left.
    fn is_several(&self) -> bool {
        matches!(self, Subject::Buckets(_) | Subject::Windows(_))
    }

    /// Makes the call of `step` and says what came of it.
    ///
    /// # Panics
    ///
    /// If the limiter contradicts itself: see [`checked`](Subject::checked).
    pub(crate) fn run(&self, step: &Step, scale: u64, clock: &ManualClock) -> Facts {
        clock.set_nanos(step.at_nanos * scale);
        let before = self.state();
        let decision = match step.verb {
            Verb::Acquire => match self {
                Subject::Bucket(bucket) => {
                    let force = |permits| _ = bucket.force(permits).expect("a deep enough debt");
                    return acquire(bucket, force, || self.state(), step, scale, clock);
                }
                Subject::Fixed(window) => {
                    return acquire(window, |_| {}, || self.state(), step, scale, clock);
                }
                Subject::FromFirst(window) => {
                    return acquire(window, |_| {}, || self.state(), step, scale, clock);
                }
                _ => panic!("no case waits for the others"),
            },
            Verb::Reserve => {
                let Subject::Fixed(window) = self else { panic!("the others are waited for") };
                return reserve(window, step, scale, clock);
            }
            Verb::SetLimit => {
                let Subject::Fixed(window) = self else { panic!("the others are reconfigured") };
                window.reconfigure(step.n).unwrap();
                return Facts::new();
            }
            Verb::Take => self.limiter().try_acquire(step.n),
            Verb::TakeUpTo => self.limiter().try_acquire_up_to(step.n),
            Verb::Peek => self.peek(step.n),
            Verb::Force => self.force(step.n),
            Verb::Credit => {
                self.credit(step.n);
                self.peek(0)
            }
            Verb::Add => {
                let Subject::TopUp(top_up) = self else { panic!("the others have no balance") };
                assert_eq!(top_up.add(step.n), top_up.balance());
                self.peek(0)
            }
            Verb::Look => self.peek(0),
            Verb::Reset => {
                self.limiter().reset();
                self.peek(0)
            }
            Verb::Reconfigure => {
                self.reconfigure(step, scale);
                self.peek(0)
            }
        };
        let after = self.state();
        if decision.is_err() || matches!(step.verb, Verb::Peek | Verb::Look) {
            assert_eq!(before, after, "a denial or a peek has changed the limiter");
        }
        self.checked(step, decision, clock)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter().peek(permits)
    }

    fn force(&self, permits: u64) -> Result<Grant, Denied> {
        match self {
            Subject::Gcra(limiter) => limiter.force(permits),
            Subject::Bucket(limiter) => limiter.force(permits),
            Subject::Paced(limiter) => limiter.force(permits),
            Subject::TopUp(top_up) => top_up.limiter().force(permits),
            _ => panic!("only what earns can go into debt"),
        }
    }

    fn credit(&self, permits: u64) {
        match self {
            Subject::Bucket(bucket) => bucket.credit(permits),
            Subject::Buckets(all) => all.limiters().iter().for_each(|one| one.credit(permits)),
            _ => panic!("no case credits the others"),
        }
    }

    fn reconfigure(&self, step: &Step, scale: u64) {
        let bucket = match self {
            Subject::Bucket(bucket) => bucket,
            Subject::TopUp(top_up) => top_up.limiter(),
            _ => panic!("only buckets are reconfigured"),
        };
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
        let next = match self.earning().peek(remaining.max(0).cast_unsigned() + 1) {
            Err(Denied::Wait(shortfall)) => nanos(shortfall.retry_after()),
            _ => json!("never"),
        };
        let mut facts = vec![
            ("limit", json!(look.limit())),
            ("remaining", json!(remaining + self.balance_beside().cast_signed())),
            ("at_once", json!(self.at_once(remaining))),
            ("reset_after_nanos", nanos(look.reset_after())),
            ("next_after_nanos", next),
            ("allowed", json!(decision.is_ok())),
        ];
        match decision {
            Ok(grant) => {
                if matches!(self, Subject::TopUp(_)) && grant.limit() != look.limit() {
                    assert_eq!(grant.remaining(), self.balance_beside(), "paid by the balance");
                } else {
                    assert_eq!(grant.limit(), look.limit());
                    if !matches!(step.verb, Verb::Peek) {
                        assert_eq!(grant.remaining(), look.remaining());
                        assert_eq!(grant.reset_after(), look.reset_after());
                    }
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
            Err(Denied::Wait(shortfall)) if self.is_several() => {
                self.assert_least_wait(step.n.max(1), shortfall.retry_after(), clock);
            }
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

    /// The tokens there are, rounded down to whole ones, without a balance beside them; less than 0 is
    /// a debt.
    fn whole_tokens(&self) -> i64 {
        match self.earning().peek(1) {
            Err(_) if self.is_several() => 0,
            Err(Denied::Wait(shortfall)) => 1 - shortfall.missing().cast_signed(),
            _ => self.peek(0).unwrap().remaining().cast_signed(),
        }
    }

    /// The permits that are kept beside the limiter.
    fn balance_beside(&self) -> u64 {
        if let Subject::TopUp(top_up) = self { top_up.balance() } else { 0 }
    }

    /// The largest request that is granted, of a limiter that has so many permits `remaining`.
    ///
    /// # Panics
    ///
    /// If it is denied, or a larger one granted.
    fn at_once(&self, remaining: i64) -> u64 {
        let most = self.balance_beside().max(remaining.max(0).cast_unsigned());
        assert!(self.peek(most).is_ok(), "{most} are there, and denied");
        assert!(self.peek(most + 1).is_err(), "{most} are there, and one more is granted");
        most
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

/// The rate of `spec`, with its period multiplied by `scale`.
fn rate(spec: &RateSpec, scale: u64) -> Result<Rate, ConfigError> {
    Rate::new(spec.permits, Duration::from_nanos(spec.period_nanos * scale))
}

/// The quota of `spec`, with its period multiplied by `scale`.
fn quota(spec: &BucketSpec, scale: u64) -> Result<Quota, ConfigError> {
    let rate = Rate::new(spec.permits, Duration::from_nanos(spec.period_nanos * scale))?;
    let refill = match spec.refill {
        RefillSpec::Smooth => Refill::Smooth,
        RefillSpec::Interval => Refill::Interval,
    };
    let mut quota = Quota::new(rate).with_burst(spec.burst)?.with_refill(refill);
    if let Some(max_debt) = spec.max_debt {
        quota = quota.with_max_debt(max_debt)?;
    }
    Ok(quota)
}

fn nanos(duration: Duration) -> Value {
    json!(u64::try_from(duration.as_nanos()).unwrap())
}
