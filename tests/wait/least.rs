//! The instant for which the first in line sleeps is the least that suffices: it is granted its permits
//! then, and not a nanosecond before. For every limiter and store that callers can wait for, after any
//! calls, departures and settlements.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::bucket::SettleableBucket;
#[cfg(feature = "calendar")]
use sluicegate::calendar::{Budget, Calendar, CalendarWindow, Weekday};
use sluicegate::compose::{All, Counted, Gate, TopUp};
use sluicegate::keyed::{Each, HotKeys, QueuedKeys};
use sluicegate::settle::{Estimate, Settle};
use sluicegate::wait::{AcquireError, Queued, Reserve};
use sluicegate::window::{MultiWindow, WeightedLog, WindowFromFirst};
use sluicegate::*;

use super::support::{Noted, Woken};
use crate::support::cases::cases;

mod kinds;
mod reservations;

use self::kinds::{KINDS, check, quota_of};

/// Permits that each limiter grants at once.
const LIMIT: u64 = 10;

const SECOND: u64 = 1_000_000_000;

type Answer = Result<Grant, AcquireError>;

/// A limiter, or a key of a store.
trait Subject {
    fn stand(&self, permits: u64, timer: Noted) -> Pin<Box<dyn Future<Output = Answer> + '_>>;

    fn try_acquire(&self, permits: u64) -> bool;

    fn reset(&self);

    fn estimate(&self, _permits: u64) -> Option<Estimate<'_>> {
        None
    }

    fn settle(&self, estimate: Estimate<'_>, used: u64) {
        let _ = estimate.settle(used);
    }
}

struct Of<L>(L);

impl<L: Wait> Subject for Of<L> {
    fn stand(&self, permits: u64, timer: Noted) -> Pin<Box<dyn Future<Output = Answer> + '_>> {
        Box::pin(self.0.acquire(permits).timer(timer))
    }

    fn try_acquire(&self, permits: u64) -> bool {
        self.0.try_acquire(permits).is_ok()
    }

    fn reset(&self) {
        self.0.reset();
    }
}

/// A limiter with a line of its own, whose estimates can be settled.
struct Settled<L>(L);

impl<L: Wait + Settle> Subject for Settled<L> {
    fn stand(&self, permits: u64, timer: Noted) -> Pin<Box<dyn Future<Output = Answer> + '_>> {
        Box::pin(self.0.acquire(permits).timer(timer))
    }

    fn try_acquire(&self, permits: u64) -> bool {
        self.0.try_acquire(permits).is_ok()
    }

    fn reset(&self) {
        self.0.reset();
    }

    fn estimate(&self, permits: u64) -> Option<Estimate<'_>> {
        self.0.try_acquire_settleable(permits).ok()
    }
}

/// The same, with a line around it, which is told of what is settled.
struct SettledBehind<'a, L>(Queued<L, &'a ManualClock>);

impl<L: Settle> Subject for SettledBehind<'_, L> {
    fn stand(&self, permits: u64, timer: Noted) -> Pin<Box<dyn Future<Output = Answer> + '_>> {
        Box::pin(self.0.acquire(permits).timer(timer))
    }

    fn try_acquire(&self, permits: u64) -> bool {
        self.0.try_acquire(permits).is_ok()
    }

    fn reset(&self) {
        self.0.reset();
    }

    fn estimate(&self, permits: u64) -> Option<Estimate<'_>> {
        // Not past those in line.
        let is_open = self.0.line().waiters() == 0;
        is_open.then(|| self.0.limiter().try_acquire_settleable(permits).ok()).flatten()
    }

    fn settle(&self, estimate: Estimate<'_>, used: u64) {
        let _ = self.0.update(|_| estimate.settle(used));
    }
}

struct OfKey<'a, S: KeyedLimiter<str>>(QueuedKeys<S, str, &'a ManualClock>);

impl<S: KeyedLimiter<str>> Subject for OfKey<'_, S> {
    fn stand(&self, permits: u64, timer: Noted) -> Pin<Box<dyn Future<Output = Answer> + '_>> {
        Box::pin(self.0.acquire("ada", permits).timer(timer))
    }

    fn try_acquire(&self, permits: u64) -> bool {
        self.0.try_acquire("ada", permits).is_ok()
    }

    fn reset(&self) {
        self.0.reset("ada");
    }
}

#[derive(Clone, Debug)]
enum Op {
    Stand(u64),
    /// One of the callers gives up.
    Leave(usize),
    Try(u64),
    Estimate(u64),
    Settle(usize, u64),
    Reset,
    /// In thousandths of the time that the limiter counts.
    Advance(u64, u64),
    /// Moves the clock to just before the turn of the first in line, and then to it.
    ToTurn,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        6 => (1..=LIMIT).prop_map(Op::Stand),
        2 => (0..8_usize).prop_map(Op::Leave),
        3 => (1..=LIMIT).prop_map(Op::Try),
        3 => (1..=LIMIT).prop_map(Op::Estimate),
        3 => (0..8_usize, 0..=LIMIT + 4).prop_map(|(which, used)| Op::Settle(which, used)),
        1 => Just(Op::Reset),
        4 => (0..1_300_u64, 0..1_000_u64).prop_map(|(part, more)| Op::Advance(part, more)),
        6 => Just(Op::ToTurn),
    ];
    vec(op, 1..60)
}

/// A caller that stands in line.
struct Standing<'a> {
    future: Pin<Box<dyn Future<Output = Answer> + 'a>>,
    timer: Noted,
}

impl<'a> Standing<'a> {
    fn new(subject: &'a dyn Subject, permits: u64) -> Standing<'a> {
        let timer = Noted::default();
        Standing { future: subject.stand(permits, timer.clone()), timer }
    }

    fn is_granted(&mut self) -> bool {
        let waker = Waker::from(Arc::new(Woken::default()));
        let polled = self.future.as_mut().poll(&mut Context::from_waker(&waker));
        polled.map(Result::unwrap).is_ready()
    }

    fn sleeps(&self) -> u64 {
        u64::try_from(self.timer.longest().as_nanos()).unwrap()
    }
}

/// Runs `ops` on a limiter that counts for `span` nanoseconds. It may tell instants that are later by up to
/// `late` nanoseconds.
fn run(subject: &dyn Subject, clock: &ManualClock, span: u64, late: u64, ops: Vec<Op>) {
    let mut line: Vec<Standing<'_>> = Vec::new();
    let mut open: Vec<Estimate<'_>> = Vec::new();
    for op in ops {
        match op {
            Op::Stand(permits) => {
                let mut caller = Standing::new(subject, permits);
                if !caller.is_granted() {
                    line.push(caller);
                }
            }
            Op::Leave(which) if which < line.len() => drop(line.remove(which)),
            Op::Try(permits) => _ = subject.try_acquire(permits),
            Op::Estimate(permits) => open.extend(subject.estimate(permits)),
            Op::Settle(which, used) if which < open.len() => {
                subject.settle(open.remove(which), used);
            }
            Op::Reset => {
                // A log dates the permits after a reset later than those before.
                clock.advance_nanos(1);
                subject.reset();
            }
            Op::Advance(part, more) => clock.advance_nanos(span / 1_000 * part + more),
            Op::Leave(_) | Op::Settle(..) => {}
            Op::ToTurn => {
                line.retain_mut(|caller| !caller.is_granted());
                let Some(first) = line.first_mut() else { continue };
                let wait = first.sleeps();
                assert!(wait > 0);
                if wait > late + 1 {
                    clock.advance_nanos(wait - late - 1);
                    assert!(!first.is_granted(), "{} ns early", late + 1);
                    clock.advance_nanos(late);
                    // Later than its instant, which is as it is told, or it sleeps on until then.
                    assert!(late > 0 || first.sleeps() == 1);
                    clock.advance_nanos(1);
                } else {
                    clock.advance_nanos(wait);
                }
                assert!(first.is_granted(), "it is its turn");
                line.remove(0);
            }
        }
    }
}

fn spans() -> impl Strategy<Value = u64> {
    prop_oneof![10..3_000_u64, Just(SECOND), Just(7_000_000_001), Just(3_600 * SECOND)]
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn the_first_in_line_sleeps_until_the_least_instant_that_suffices(
        kind in prop::sample::select(KINDS), span in spans(), ops in ops(),
    ) {
        check(kind, span, ops);
    }
}

/// A table counts in ticks, and what it tells may be a tick late; what a seat has saved up, it
/// takes off.
mod ticks {
    use super::*;

    proptest! {
        #![proptest_config(cases(300))]

        #[test]
        fn the_first_in_line_for_a_key_of_a_table_is_late_by_a_tick_at_most(
            is_hot: bool,
            span in prop::sample::select(vec![SECOND, 7_000_000_001, 3_600 * SECOND]),
            ops in ops(),
        ) {
            let clock = &ManualClock::at(90 * 86_400 * SECOND);
            let table = KeyTable::<str>::builder(quota_of(span)).clock(clock).keys(100).unwrap();
            // About a 2^18th of the time that it takes to fill.
            let tick = span >> 17;
            if is_hot {
                let hot = HotKeys::with_places(table, 2).unwrap();
                run(&OfKey(QueuedKeys::with_clock(hot, clock)), clock, span, tick, ops);
            } else {
                run(&OfKey(QueuedKeys::with_clock(table, clock)), clock, span, tick, ops);
            }
        }
    }
}
