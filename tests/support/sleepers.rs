//! Callers that sleep until the instant of their permits, while the clock is set back, with any limiter that tells instants.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::ManualClock;
use sluicegate::wait::Timer;

const HOUR: Duration = Duration::from_secs(3_600);

/// A limiter that tells instants; about one permit a minute.
pub(crate) trait TellsInstants {
    /// Takes permits, and sleeps. Returns the wait that was told, or `None` if that is above half an hour.
    fn take<'a>(&'a self, permits: u64, world: &'a World) -> Option<(Duration, Sleeping<'a>)>;

    /// Looks at the clock, and so finds it set back.
    fn look(&self);
}

/// The longest wait that a limiter may tell.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(1_800);

/// A clock that may be set, and the time that passes whatever it reads.
pub(crate) struct World {
    pub(crate) clock: ManualClock,
    passed: Cell<Duration>,
}

impl World {
    pub(crate) fn new() -> World {
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

pub(crate) struct Sleep<'a> {
    world: &'a World,
    end: Duration,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.world.passed.get() >= self.end { Poll::Ready(()) } else { Poll::Pending }
    }
}

pub(crate) type Sleeping<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Take(u64),
    Look,
    Seconds(u64),
    /// By more than anybody sleeps.
    SetBack(u64),
}

pub(crate) fn ops() -> impl Strategy<Value = Vec<Op>> {
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

/// Checks that nobody sleeps for longer than it was told, nor less, whoever finds the clock of `world` set back, and when.
pub(crate) fn everybody_goes_when_told(
    world: &World,
    subject: &dyn TellsInstants,
    ops: &[Op],
) -> Result<(), TestCaseError> {
    let mut sleepers = Sleepers::default();
    for op in ops {
        match *op {
            Op::Take(permits) => {
                if let Some((wait, sleeping)) = subject.take(permits, world) {
                    sleepers.0.push((world.passed.get() + wait, sleeping));
                    sleepers.poll(world)?;
                }
            }
            Op::Look => subject.look(),
            Op::Seconds(seconds) => sleepers.pass(Duration::from_secs(seconds), world)?,
            Op::SetBack(hours) => world.clock.rewind(2 * HOUR * hours as u32),
        }
    }
    sleepers.pass(HOUR, world)
}
