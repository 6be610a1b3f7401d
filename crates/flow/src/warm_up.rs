//! A rate that is low after idle time and rises to its full height, for caches and pools that are slow while cold.
//!
//! Start with [`WarmUp`].

// A limiter that warms up: after idle time it starts slowly, and reaches its rate little by little.
//
// | | |
// |---|---|
// | [`schedule`] | the instants of requests, and the stored permits |
// | [`curve`] | the cost of permits, by how many are stored |
// | [`acquire`] | the verbs that sleep until it |
// | [`observe`] | the verbs that only look |
// | [`show`] | a limiter as text |
//
// The state is two numbers that do not fit into a word: the instant from which on the next request
// may go, and the stored permits, both as exact fractions. So it is behind a lock.
//
// **Theorem.** In any span (s, t] of a clock that does not go back, at most `last + r(s, t)` permits
// may be used that are not given back, where `last` are those of the last request of the span, and `r`
// is what the rate lets through in it: the fastest at which those requests were granted, if it changed.
//
// *Proof.* A permit never costs less than the stable interval of its rate. So if a request of `n`
// permits goes at the exact instant `a`, the next one goes no earlier than `n` intervals after `a`.
// The told instants are the exact ones, rounded up to the nanosecond: those in (s, t] have exact
// ones in (s, t] too. From the first to the last of these pass the intervals of all requests but
// the last. ∎
//
// **Theorem.** From an instant at which it is cold, a limiter whose rate does not change lets at most
// `last + k(t)` permits be used in the first `t`, where the cost of `k(t)` permits is `t`. In the
// first `warm_up` that is what the rate lets through in `2 * warm_up / (cold factor + 1)`: with a
// cold factor of 3, half of what it lets through later.
//
// *Proof.* The cost of the requests before the last is the time from the first to the last if
// none of it is idle, and less if some is; idle time only adds to what is stored, and so to the
// costs after it. The area of the curve from cold to the threshold is `warm_up`. ∎
//
// Progress: each call takes a lock for a moment. Memory: the same for any number of reservations.

mod acquire;
mod curve;
mod observe;
mod schedule;
mod show;

use std::time::Duration;

use sluicegate::clock::{DefaultClock, Timeline};
use sluicegate::wait::AcquireError;
use sluicegate::{Clock, Rate};

use crate::config_error::ConfigError;
use crate::latest::{LatestReading, ToldInstant};
use crate::scheduled::{Scheduled, Schedules, Taken};
use crate::sleep::Look;
use crate::sync::Lock;
use crate::units::{NANOS_PER_DAY, nanos};

use self::curve::Curve;
use self::schedule::Schedule;

/// A limiter that warms up: after idle time it grants permits slowly at first, and reaches its rate
/// little by little.
///
/// Protects services that need ramp-up: a cache that has to be filled, a pool of connections, code
/// that is compiled while it runs. It is the `SmoothWarmingUp` of Guava's `RateLimiter`.
///
/// A limiter **stores** permits while it is idle, and the more it has stored, the colder it is. A
/// permit costs an interval: `period / permits` of the rate if it is warm, and `cold factor` times that
/// (3, unless [`with_cold_factor`](WarmUp::with_cold_factor) says otherwise) if it is cold. Under
/// load it takes `warm_up` to get from cold to warm; without load it is cold again after `warm_up`. A
/// new limiter is cold.
///
/// **The next one pays.** A request of any size goes as soon as the requests before it are paid
/// for, and the next one waits for its cost. So the first request after idle time goes at once.
///
/// No line of callers is kept. A request is told its instant when it comes, and its caller sleeps
/// until then by itself, as a thread or as a task; or does something else.
///
/// | verb | does |
/// |---|---|
/// | [`try_acquire`](WarmUp::try_acquire) | takes permits that may be used now, or none |
/// | [`acquire`](WarmUp::acquire) | takes permits, and lets a task sleep until they may be used |
/// | [`acquire_blocking`](WarmUp::acquire_blocking) | takes permits, and blocks the thread until then |
/// | [`reserve`](WarmUp::reserve), [`reserve_within`](WarmUp::reserve_within) | takes permits, and tells from when on they may be used |
///
/// # Accuracy
///
/// Instants are computed as exact fractions of a nanosecond, and rounded up when they are told. From one
/// idle time, or change of the rate, to the next, errors do not accumulate: an instant is never earlier
/// than the exact one, and less than a nanosecond later. A request that comes at the nanosecond that it
/// was told counts as one at the exact instant, so the rate is not missed by rounding.
///
/// Each idle time is rounded up to the nanosecond, which makes the limiter colder by so much, and
/// so is the debt at a change of the rate. The curve magnifies that: with a cold factor of `c` a
/// nanosecond of idle time may cost later requests `(c - 1)(c + 5) / (2 (c + 1))`: two nanoseconds
/// for 3, and 501 for 1,000.
///
/// In any span of a clock that does not go back, at most rate × t and the last request of the span
/// may be used. Grants at an earlier, faster rate count at that one.
///
/// A clock that goes back by more than a second starts the limiter anew, cold, and with nothing owed;
/// that is counted in [`healed`](WarmUp::healed). The instants of callers that sleep move back with the
/// clock, so that they sleep for as long as they were told, one after the other as before; newcomers
/// may go before them. If the clock goes back by less, the limiter takes it to stand still until it is where it was: permits
/// that may be used now can be, and a caller that has to wait sleeps for so much longer. A jump forward
/// is idle time.
///
/// # Fairness
///
/// Requests go in the order in which they took the lock, whatever they ask for. A small one never
/// overtakes a large one, unless the clock goes back by more than a second.
///
/// # Memory ordering
///
/// The lock's: a call sees all calls before it.
///
/// # Examples
///
/// A pool of connections that is cold at first. Permits cost 1.5 s when it is cold, and half a second
/// once it is warm:
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, rate};
/// use sluicegate_flow::warm_up::WarmUp;
///
/// let clock = ManualClock::new();
/// let pool = WarmUp::with_clock(rate!(2 / second), Duration::from_secs(4), &clock)?;
/// let mut waits = Vec::new();
/// for _ in 0..6 {
///     let turn = pool.reserve(1)?;
///     waits.push(turn.ready_after().as_millis());
///     clock.advance(turn.ready_after());
/// }
/// assert_eq!(waits, [0, 1_375, 1_125, 875, 625, 500]);
///
/// // Half a second is owed, and then nobody comes for four.
/// clock.advance(Duration::from_millis(4_500));
/// assert_eq!(pool.stored(), 8);
/// assert!(pool.try_acquire(1).is_ok());
/// assert_eq!(pool.ready_after(), Duration::from_millis(1_375));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "SmoothWarmingUp")]
#[doc(alias = "slow start")]
pub struct WarmUp<C = DefaultClock> {
    state: Lock<State>,
    clock: C,
}

/// Permits of a [`WarmUp`] that are the caller's, to be used from an instant on.
pub type WarmUpReservation<'a, C> = Scheduled<'a, WarmUp<C>>;

struct State {
    schedule: Schedule,
    latest: LatestReading,
}

const MAX_WARM_UP_NANOS: u64 = NANOS_PER_DAY;
const MAX_COLD_FACTOR: u32 = 1_000;

impl WarmUp {
    /// The most permits of one request: 2^32.
    pub const MAX_PERMITS: u64 = Schedule::MAX;

    /// The longest time to warm up: a day of 24 hours.
    pub const MAX_WARM_UP: Duration = Duration::from_nanos(MAX_WARM_UP_NANOS);

    /// The largest cold factor.
    pub const MAX_COLD_FACTOR: u32 = MAX_COLD_FACTOR;

    /// The cold factor if none is given.
    pub const DEFAULT_COLD_FACTOR: u32 = 3;

    /// Creates a limiter that takes `warm_up` from cold to `rate`, on a clock of its own. It is cold.
    /// With a `warm_up` of zero it is always warm.
    ///
    /// # Errors
    ///
    /// [`ConfigError::WarmUp`] for more than [`MAX_WARM_UP`](WarmUp::MAX_WARM_UP).
    pub fn new(rate: Rate, warm_up: Duration) -> Result<WarmUp, ConfigError> {
        WarmUp::with_clock(rate, warm_up, DefaultClock::default())
    }
}

impl<C: Clock> WarmUp<C> {
    /// Creates one as [`new`](WarmUp::new) does, on `clock`, which is read once.
    ///
    /// # Errors
    ///
    /// As for [`new`](WarmUp::new).
    pub fn with_clock(rate: Rate, warm_up: Duration, clock: C) -> Result<WarmUp<C>, ConfigError> {
        let warm_up_nanos = nanos(warm_up);
        if warm_up_nanos > MAX_WARM_UP_NANOS {
            return Err(ConfigError::WarmUp { warm_up });
        }
        let curve = Curve::new(rate, warm_up_nanos, WarmUp::DEFAULT_COLD_FACTOR);
        let now_nanos = clock.now_nanos();
        let schedule = Schedule::new(curve, now_nanos);
        let latest = LatestReading::new(now_nanos);
        Ok(WarmUp { state: Lock::new(State { schedule, latest }), clock })
    }

    /// Sets the cold factor: a permit costs `cold_factor` times as much while the limiter is cold as
    /// when it is warm. With a factor of 1 there is no difference. The limiter is as new afterwards: cold,
    /// and with nothing owed. Reads the clock.
    ///
    /// # Errors
    ///
    /// [`ConfigError::ColdFactor`] unless it is from 1 to
    /// [`MAX_COLD_FACTOR`](WarmUp::MAX_COLD_FACTOR).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{ManualClock, rate};
    /// use sluicegate_flow::warm_up::WarmUp;
    ///
    /// let cache = WarmUp::with_clock(rate!(5 / second), Duration::from_secs(4), ManualClock::new())?
    ///     .with_cold_factor(10)?;
    /// assert!(cache.try_acquire(1).is_ok());
    /// assert_eq!(cache.ready_after(), Duration::from_micros(1_752_500));
    ///
    /// let error = cache.with_cold_factor(0).unwrap_err();
    /// assert_eq!(error.to_string(), "cold_factor is 0: must be from 1 to 1000");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_cold_factor(self, cold_factor: u32) -> Result<WarmUp<C>, ConfigError> {
        if cold_factor == 0 || cold_factor > MAX_COLD_FACTOR {
            return Err(ConfigError::ColdFactor { cold_factor });
        }
        self.advanced(|state| {
            let Curve { rate, warm_up_nanos, .. } = *state.schedule.curve();
            let curve = Curve::new(rate, warm_up_nanos, cold_factor);
            state.schedule = Schedule::new(curve, state.latest.nanos());
        });
        Ok(self)
    }

    /// Takes `permits` that may be used now, if nothing is owed for earlier ones. Never sleeps.
    ///
    /// Takes a lock for a moment; does not allocate; reads the clock once. Asking for 0 permits is
    /// always granted and changes nothing. A single request may owe for a long time: bound `permits` if
    /// users choose it.
    ///
    /// # Errors
    ///
    /// * [`AcquireError::TimedOut`] with the least wait that suffices, if no other request comes.
    /// * [`AcquireError::TooLarge`] for more than [`MAX_PERMITS`](WarmUp::MAX_PERMITS).
    pub fn try_acquire(&self, permits: u64) -> Result<(), AcquireError> {
        self.reserve_within(permits, Duration::ZERO).map(drop)
    }

    /// Takes `permits`, and tells from when on they may be used.
    ///
    /// Takes a lock for a moment; does not allocate; reads the clock once.
    ///
    /// # Errors
    ///
    /// * [`AcquireError::TooLarge`] for more than [`MAX_PERMITS`](WarmUp::MAX_PERMITS).
    /// * [`AcquireError::TimedOut`] beyond the end of the clock's range.
    pub fn reserve(&self, permits: u64) -> Result<WarmUpReservation<'_, C>, AcquireError> {
        self.reserve_within(permits, Duration::MAX)
    }

    /// Takes permits as [`reserve`](WarmUp::reserve) does, if they may be used within `longest`.
    ///
    /// # Errors
    ///
    /// [`AcquireError::TimedOut`] if not, with the wait that there would have been; nothing is
    /// taken. And the errors of [`reserve`](WarmUp::reserve).
    pub fn reserve_within(
        &self,
        permits: u64,
        longest: Duration,
    ) -> Result<WarmUpReservation<'_, C>, AcquireError> {
        self.advanced(|state| {
            let now_nanos = state.latest.nanos();
            if permits == 0 {
                let now = state.latest.told(now_nanos);
                return Ok(Scheduled::new(self, 0, None, now, Duration::ZERO));
            }
            if permits > Schedule::MAX {
                return Err(AcquireError::TooLarge { limit: Schedule::MAX });
            }
            let free_nanos = state.schedule.free_nanos().max(now_nanos.into());
            let wait = state.schedule.wait(state.latest.nanos());
            let at_nanos = u64::try_from(free_nanos).ok().filter(|_| wait <= longest);
            let at_nanos = at_nanos.ok_or(AcquireError::TimedOut { retry_after: wait })?;
            state.schedule = state.schedule.at(now_nanos);
            let taken = state.schedule.take(permits);
            let at = state.latest.told(at_nanos);
            Ok(Scheduled::new(self, permits, Some(taken), at, wait))
        })
    }

    /// Changes the rate, for requests that come from now on. Requests that were told an instant
    /// keep it, and a debt stays owed. The limiter stays as cold as it is: the stored share of the
    /// permits stays, and it takes as long as before to warm up. An equal rate, in whatever
    /// numbers, changes nothing.
    ///
    /// Takes a lock for a moment, and reads the clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{ManualClock, rate};
    /// use sluicegate_flow::warm_up::WarmUp;
    ///
    /// let pool = WarmUp::with_clock(rate!(2 / second), Duration::from_secs(4), ManualClock::new())?;
    /// let turns = [pool.reserve(1)?, pool.reserve(1)?];
    /// assert_eq!(turns[1].ready_after(), Duration::from_millis(1_375));
    ///
    /// // What was taken before is paid for at the old rate: 1.375 s and 1.125 s.
    /// pool.set_rate(rate!(4 / second));
    /// assert_eq!(pool.ready_after(), Duration::from_millis(2_500));
    /// assert_eq!(pool.stored(), 12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_rate(&self, rate: Rate) {
        self.advanced(|state| {
            let curve = *state.schedule.curve();
            let next = Curve::new(rate, curve.warm_up_nanos, curve.cold_factor);
            if next.is_same(&curve) {
                return state.schedule.set_same_curve(next);
            }
            state.schedule = state.schedule.at(state.latest.nanos());
            state.schedule.set_curve(next);
        });
    }

    fn curve(&self) -> Curve {
        *self.state.lock().schedule.curve()
    }

    /// Calls `act` with the state as of now. Nothing is changed if the clock panics.
    fn advanced<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        self.advanced_by(None, act)
    }

    /// Waits for a caller that may have slept until `slept`.
    fn advanced_by<R>(&self, slept: Option<ToldInstant>, act: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state.lock();
        let now_nanos = self.clock.now_nanos();
        if state.latest.note(now_nanos, slept) {
            state.schedule.restart(now_nanos);
        }
        act(&mut state)
    }
}

impl<C: Clock> Schedules for WarmUp<C> {
    fn timeline(&self) -> Timeline {
        self.clock.timeline()
    }

    fn look(&self, at: ToldInstant, has_slept: bool) -> Look {
        self.advanced_by(has_slept.then_some(at), |state| Look::at(&state.latest, at))
    }

    fn take_back(&self, taken: Taken) -> bool {
        self.state.lock().schedule.take_back(taken)
    }
}
