//! Callers that sleep until the instant of their permits, while the clock is set back. What is checked:
//!
//! * each sleeps for as long as it was told, and no longer, whoever finds the clock set back, and when;
//! * those whose instants were told before the clock was set back go in order, an interval apart.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::keyed::Buckets;
use sluicegate::shaper::Shaper;
use sluicegate::wait::{Reserve, Scheduled, Timer};
use sluicegate::warm_up::WarmUp;
use sluicegate::{Keyed, ManualClock, TokenBucket, quota, rate};

use crate::support::cases::cases;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// A clock that may be set, and the time that passes whatever it reads.
struct World {
    clock: ManualClock,
    passed: Cell<Duration>,
}

impl World {
    fn new() -> World {
        World { clock: ManualClock::at(1 << 60), passed: Cell::default() }
    }

    fn advance(&self, time: Duration) {
        self.passed.set(self.passed.get() + time);
        self.clock.advance(time);
    }
}

/// Sleeps by the time that passes.
impl<'a> Timer for &'a World {
    type Sleep = Sleep<'a>;

    fn sleep(&self, duration: Duration) -> Sleep<'a> {
        Sleep { world: self, end: self.passed.get() + duration }
    }
}

struct Sleep<'a> {
    world: &'a World,
    end: Duration,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.world.passed.get() >= self.end { Poll::Ready(()) } else { Poll::Pending }
    }
}

type Sleeping<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// A limiter that tells instants; about one permit a minute.
enum Subject<'a> {
    Bucket(TokenBucket<&'a ManualClock>),
    Keys(Keyed<u64, Buckets<&'a ManualClock>>),
    Shaper(Shaper<&'a ManualClock>),
    WarmUp(WarmUp<&'a ManualClock>),
}

impl<'a> Subject<'a> {
    fn all(world: &'a World) -> [Subject<'a>; 4] {
        let clock = &world.clock;
        let quota = quota!(1 / minute, burst 5, max_debt 30);
        [
            Subject::Bucket(TokenBucket::with_clock(quota, clock)),
            Subject::Keys(Keyed::with(Buckets::with_clock(quota, clock))),
            Subject::Shaper(Shaper::with_clock(rate!(1 / minute), 30, clock)),
            Subject::WarmUp(WarmUp::with_clock(rate!(1 / minute), 5 * MINUTE, clock).unwrap()),
        ]
    }

    /// Takes permits, and sleeps. Returns the wait that was told.
    fn take<'b>(&'b self, permits: u64, world: &'b World) -> Option<(Duration, Sleeping<'b>)> {
        const HALF: Duration = Duration::from_secs(1_800);
        Some(match self {
            Subject::Bucket(bucket) => {
                let taken = bucket.reserve_within(permits, HALF).ok()?;
                (taken.ready_after(), Box::pin(taken.wait(world)))
            }
            Subject::Keys(keys) => {
                let taken = keys.reserve_within(&7, permits, HALF).ok()?;
                (taken.ready_after(), Box::pin(taken.wait(world)))
            }
            Subject::Shaper(shaper) => {
                let taken = shaper.shape_within(permits, HALF).ok()?;
                (taken.ready_after(), Box::pin(taken.wait(world)))
            }
            Subject::WarmUp(pool) => {
                let taken = pool.reserve_within(permits, HALF).ok()?;
                (taken.ready_after(), Box::pin(taken.wait(world)))
            }
        })
    }

    /// A look, which finds the clock set back.
    fn look(&self) {
        match self {
            Subject::Bucket(bucket) => drop(bucket.try_acquire(1)),
            Subject::Keys(keys) => drop(keys.try_acquire(&7, 1)),
            Subject::Shaper(shaper) => _ = shaper.queued(),
            Subject::WarmUp(pool) => _ = pool.ready_after(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Take(u64),
    Look,
    Seconds(u64),
    /// By more than anybody sleeps.
    SetBack(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        3 => (1..4_u64).prop_map(Op::Take),
        1 => Just(Op::Look),
        4 => (0..120_u64).prop_map(Op::Seconds),
        2 => (1..9_u64).prop_map(Op::SetBack),
    ];
    prop::collection::vec(op, 1..40)
}

/// Those that sleep, with the time at which each is to go.
#[derive(Default)]
struct Sleepers<'a>(Vec<(Duration, Sleeping<'a>)>);

impl Sleepers<'_> {
    /// Lets time pass, and stops whenever somebody is to go.
    fn pass(&mut self, time: Duration, world: &World) -> Result<(), TestCaseError> {
        let end = world.passed.get() + time;
        while let Some(next) =
            self.0.iter().map(|(goes, _)| *goes).min().filter(|goes| *goes <= end)
        {
            world.advance(next.saturating_sub(world.passed.get()));
            self.poll(world)?;
        }
        world.advance(end.saturating_sub(world.passed.get()));
        self.poll(world)
    }

    fn poll(&mut self, world: &World) -> Result<(), TestCaseError> {
        let now = world.passed.get();
        let mut wrong = Vec::new();
        self.0.retain_mut(|(goes, sleeping)| {
            let has_gone =
                sleeping.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
            if has_gone != (*goes <= now) {
                wrong.push((*goes, now));
            }
            !has_gone
        });
        prop_assert!(wrong.is_empty(), "told to go at, and now: {:?}", wrong);
        Ok(())
    }
}

fn everybody_goes_when_told(which: usize, ops: &[Op]) -> Result<(), TestCaseError> {
    let world = World::new();
    let subject = &Subject::all(&world)[which];
    let mut sleepers = Sleepers::default();
    for op in ops {
        match *op {
            Op::Take(permits) => {
                if let Some((wait, sleeping)) = subject.take(permits, &world) {
                    sleepers.0.push((world.passed.get() + wait, sleeping));
                    sleepers.poll(&world)?;
                }
            }
            Op::Look => subject.look(),
            Op::Seconds(seconds) => sleepers.pass(Duration::from_secs(seconds), &world)?,
            Op::SetBack(hours) => world.clock.rewind(2 * HOUR * hours as u32),
        }
    }
    sleepers.pass(HOUR, &world)
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn nobody_sleeps_for_longer_than_it_was_told_if_the_clock_is_set_back(
        which in 0..4_usize,
        ops in ops(),
    ) {
        everybody_goes_when_told(which, &ops)?;
    }
}

#[test]
fn a_wait_that_was_told_is_not_told_again_if_the_clock_is_set_back() {
    let clock = ManualClock::at(1_000_000_000_000);
    let shaper = Shaper::with_clock(rate!(1 / minute), 10, &clock);
    let warm = WarmUp::with_clock(rate!(1 / minute), Duration::ZERO, &clock).unwrap();
    warm.try_acquire(1).unwrap();
    let (departure, reservation) = (shaper.shape(1).unwrap(), warm.reserve(1).unwrap());
    assert_eq!((departure.wait_left(), reservation.wait_left()), (MINUTE, MINUTE));
    // At once after this look, and nobody else looks.
    clock.rewind(10 * MINUTE);
    clock.advance(MINUTE);
    let left = (departure.wait_left(), reservation.wait_left());
    assert_eq!(left, (Duration::ZERO, Duration::ZERO));
}

#[test]
fn those_behind_the_one_that_finds_the_clock_set_back_go_an_interval_apart() {
    let clock = ManualClock::at(1_000_000_000_000);
    let shaper = Shaper::with_clock(rate!(1 / minute), 10, &clock);
    let told = [(); 3].map(|()| shaper.shape(1).unwrap());
    clock.rewind(10 * MINUTE);
    clock.advance(MINUTE);
    let left = || told.each_ref().map(Scheduled::wait_left);
    assert_eq!(left(), [Duration::ZERO, MINUTE, 2 * MINUTE]);
    clock.advance(MINUTE);
    assert_eq!(left(), [Duration::ZERO, Duration::ZERO, MINUTE]);
}
