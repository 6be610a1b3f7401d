//! The limiters of the crowds, with their lines.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::compose::Counted;
use sluicegate::keyed::QueuedKeys;
use sluicegate::wait::{AcquireError, Queued};
use sluicegate::window::WeightedLog;
use sluicegate::{
    Denied, Grant, KeyedLimiter, Limiter, Quota, Rate, Sharded, Wait as _, quota, rate,
};
use sluicegate_shuttle_tests::{Alarms, SimulatedTime};

/// Permits of a second, at first.
pub(crate) const LIMIT: u64 = 4;
const RATE: Rate = rate!(4 / second);
const QUOTA: Quota = quota!(4 / second, burst 4);
/// So slow that nobody is woken by the time.
const SLOW_RATE: Rate = rate!(4 / 40 days);
const SLOW_QUOTA: Quota = quota!(4 / 40 days, burst 4);
/// More than a crowd wants.
const MORE: u64 = 200;

pub(crate) type Answer = Result<Grant, AcquireError>;
pub(crate) type Asking<'a> = Pin<Box<dyn Future<Output = Answer> + 'a>>;
type Time = Arc<SimulatedTime>;
type Logged = Counted<WeightedLog<Time>>;

pub(crate) type Log = Queued<Logged, Time>;
pub(crate) type Shards = Queued<Counted<Sharded<Time>>, Time>;
pub(crate) type Keys = QueuedKeys<ThreeLogs, u64, Time>;

/// Numbers of the keys.
static NAMES: [u64; 3] = [0, 1, 2];

/// Lines for one or several keys.
pub(crate) trait Lines: Send + Sync + 'static {
    const KEYS: usize;

    fn new(time: &Time, is_slow: bool) -> Self;

    /// Asks for permits of a key, for so many seconds at most if there is such a number.
    fn ask<'a>(
        &'a self,
        key: usize,
        permits: u64,
        seconds: Option<u64>,
        time: &'a SimulatedTime,
    ) -> Asking<'a>;

    fn try_acquire(&self, key: usize, permits: u64) -> Result<Grant, Denied>;

    fn reset(&self, key: usize);

    /// Lets more permits of a key be granted than anybody wants.
    fn raise(&self, key: usize);

    fn close(&self);

    fn waiters(&self, key: usize) -> usize;

    /// Returns the permits of all keys that the limiters have granted, whoever has got them.
    fn permits(&self) -> u64;

    /// Returns the most that may have been granted of a key until `nanos`, without resets.
    fn most(nanos: u64) -> u64;

    /// Returns whether no line is left.
    fn are_over(&self) -> bool;

    /// Returns whether no gate is closed, as far as one that is not used tells.
    fn are_open(&self) -> bool;
}

fn log(time: &Time, is_slow: bool) -> Logged {
    let rate = if is_slow { SLOW_RATE } else { RATE };
    let log = WeightedLog::with_clock(rate, Arc::clone(time)).unwrap();
    Counted::with_slots(log.with_max_limit(MORE).unwrap(), 1)
}

/// In each second, and at its end.
fn most_of_a_log(nanos: u64) -> u64 {
    LIMIT * (nanos / 1_000_000_000 + 1)
}

/// A limiter that can be raised.
trait Raised: Limiter + Sized {
    fn create(time: &Time, is_slow: bool) -> Counted<Self>;

    fn raise(&self);

    fn most(nanos: u64) -> u64;
}

impl Raised for WeightedLog<Time> {
    fn create(time: &Time, is_slow: bool) -> Counted<Self> {
        log(time, is_slow)
    }

    fn raise(&self) {
        self.reconfigure(MORE).unwrap();
    }

    fn most(nanos: u64) -> u64 {
        most_of_a_log(nanos)
    }
}

impl Raised for Sharded<Time> {
    fn create(time: &Time, is_slow: bool) -> Counted<Self> {
        let quota = if is_slow { SLOW_QUOTA } else { QUOTA };
        let bucket = Sharded::builder(quota).shards(2).clock(Arc::clone(time)).build().unwrap();
        Counted::with_slots(bucket, 1)
    }

    fn raise(&self) {
        self.reconfigure(quota!(200 / second), Carry::Reset);
    }

    fn most(nanos: u64) -> u64 {
        LIMIT + LIMIT * nanos / 1_000_000_000
    }
}

impl<L: Raised + 'static> Lines for Queued<Counted<L>, Time> {
    const KEYS: usize = 1;

    fn new(time: &Time, is_slow: bool) -> Self {
        Queued::with_clock(L::create(time, is_slow), Arc::clone(time))
    }

    fn ask<'a>(
        &'a self,
        _: usize,
        permits: u64,
        seconds: Option<u64>,
        time: &'a SimulatedTime,
    ) -> Asking<'a> {
        let asking = self.acquire(permits).timer(Alarms(time));
        match seconds {
            Some(seconds) => Box::pin(asking.timeout(Duration::from_secs(seconds))),
            None => Box::pin(asking),
        }
    }

    fn try_acquire(&self, _: usize, permits: u64) -> Result<Grant, Denied> {
        Limiter::try_acquire(self, permits)
    }

    fn reset(&self, _: usize) {
        Limiter::reset(self);
    }

    fn raise(&self, _: usize) {
        self.update(|counted| counted.limiter().raise());
    }

    fn close(&self) {
        self.line().close();
    }

    fn waiters(&self, _: usize) -> usize {
        self.line().waiters()
    }

    fn permits(&self) -> u64 {
        self.limiter().counts().permits
    }

    fn most(nanos: u64) -> u64 {
        L::most(nanos)
    }

    fn are_over(&self) -> bool {
        self.line().waiters() == 0
    }

    fn are_open(&self) -> bool {
        // A line that is closed is never idle, and calls pass it by.
        if self.line().is_closed() {
            return Limiter::try_acquire(self, 1).is_ok();
        }
        // A bucket in shards may keep some of its capacity in them for ever.
        self.is_idle() || !self.limiter().is_idle()
    }
}

impl Lines for Keys {
    const KEYS: usize = 3;

    fn new(time: &Time, is_slow: bool) -> Self {
        let logs = ThreeLogs([(); 3].map(|()| log(time, is_slow)));
        QueuedKeys::with_clock(logs, Arc::clone(time))
    }

    fn ask<'a>(
        &'a self,
        key: usize,
        permits: u64,
        seconds: Option<u64>,
        time: &'a SimulatedTime,
    ) -> Asking<'a> {
        let asking = self.acquire(&NAMES[key], permits).timer(Alarms(time));
        match seconds {
            Some(seconds) => Box::pin(asking.timeout(Duration::from_secs(seconds))),
            None => Box::pin(asking),
        }
    }

    fn try_acquire(&self, key: usize, permits: u64) -> Result<Grant, Denied> {
        KeyedLimiter::try_acquire(self, &NAMES[key], permits)
    }

    fn reset(&self, key: usize) {
        KeyedLimiter::reset(self, &NAMES[key]);
    }

    fn raise(&self, key: usize) {
        self.update_key(&NAMES[key], |logs| logs.0[key].limiter().raise());
    }

    fn close(&self) {
        self.close_lines();
    }

    fn waiters(&self, key: usize) -> usize {
        QueuedKeys::waiters(self, &NAMES[key])
    }

    fn permits(&self) -> u64 {
        self.store().0.iter().map(|log| log.counts().permits).sum()
    }

    fn most(nanos: u64) -> u64 {
        most_of_a_log(nanos)
    }

    fn are_over(&self) -> bool {
        self.lines() == 0
    }

    fn are_open(&self) -> bool {
        self.store().0.iter().all(Limiter::is_idle)
    }
}

/// A store of three keys.
pub(crate) struct ThreeLogs([Logged; 3]);

impl ThreeLogs {
    fn of(&self, key: u64) -> &Logged {
        &self.0[key as usize]
    }
}

impl KeyedLimiter<u64> for ThreeLogs {
    fn try_acquire(&self, key: &u64, permits: u64) -> Result<Grant, Denied> {
        self.of(*key).try_acquire(permits)
    }

    fn try_acquire_up_to(&self, key: &u64, permits: u64) -> Result<Grant, Denied> {
        self.of(*key).try_acquire_up_to(permits)
    }

    fn try_acquire_batch_with(
        &self,
        keys: &mut dyn Iterator<Item = &u64>,
        permits: u64,
        answer: &mut dyn FnMut(usize, Result<Grant, Denied>),
    ) {
        keys.enumerate().for_each(|(index, key)| answer(index, self.try_acquire(key, permits)));
    }

    fn peek(&self, key: &u64, permits: u64) -> Result<Grant, Denied> {
        self.of(*key).peek(permits)
    }

    fn reset(&self, key: &u64) {
        self.of(*key).reset();
    }

    fn remove(&self, _: &u64) -> bool {
        false
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn sweep(&self) -> usize {
        0
    }

    fn memory_bytes(&self) -> usize {
        0
    }

    fn healed(&self) -> u64 {
        0
    }
}
