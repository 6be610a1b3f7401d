//! Calls of a limiter as data: what properties, fuzzing and replays share.

#![allow(dead_code, reason = "every test binary uses its own part of the support")]

mod setup;

use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::*;

use super::reference::{Held, Mirror, Said, nanos};

use self::setup::each;
pub(crate) use self::setup::{Setup, Shape, Subject};

/// A hundred years.
pub(crate) const LIFE_NANOS: u64 = 36_525 * 86_400 * 1_000_000_000;

/// Number of permits to ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Amount {
    Exactly(u64),
    /// All permits that are there, and so many more.
    There(i8),
    /// All permits that there can be, and so many more.
    Limit(i8),
    /// All permits that can be forced from full, and so many more.
    Deepest(i8),
}

/// A move of the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Nanos(u64),
    /// So many 256ths of a period.
    Parts(u16),
    /// To the instant when a request is granted, and so many nanoseconds more.
    Ready(Amount, i8),
    Back(u64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    TryAcquire(Amount),
    UpTo(Amount),
    Peek(Amount),
    Force(Amount),
    Drain,
    Credit(Amount),
    Reset,
    /// Asks for a permit `times` times, `nanos` apart.
    Poll {
        times: u8,
        nanos: u64,
    },
    /// To another setup of the same shape.
    Reconfigure(Setup, Carry),
    /// To the same rate with another burst, or tolerance, and another debt.
    Resize {
        room: u64,
        max_debt: u64,
        carry: Carry,
    },
    Snapshot,
    /// Restores the last snapshot.
    Restore {
        away_nanos: u64,
    },
    /// Restores a snapshot of any content that bytes may have.
    RestoreAny(Held, Duration),
    Move(Step),
}

/// A limiter and its mirror, side by side on one clock.
pub(crate) struct Pair<'a> {
    setup: Setup,
    clock: &'a ManualClock,
    subject: Subject<'a>,
    mirror: Mirror,
    saved: Held,
    end_nanos: u64,
    /// The last request, and its answer.
    last: Option<(Op, u64, Said)>,
}

/// Makes a limiter of `setup` at `start_nanos` and puts it through `ops`; every
/// answer must be the mirror's.
pub(crate) fn replay(setup: Setup, start_nanos: u64, ops: &[Op]) {
    let clock = ManualClock::at(start_nanos);
    let mut pair = Pair::new(setup, &clock);
    for &op in ops {
        pair.apply(op);
    }
}

impl<'a> Pair<'a> {
    pub(crate) fn new(setup: Setup, clock: &'a ManualClock) -> Pair<'a> {
        let subject = Subject::new(setup, clock);
        let mut mirror = Mirror::new(setup.plan(), setup.initial(), clock.now_nanos());
        let saved = mirror.snapshot(clock.now_nanos());
        let end_nanos = clock.now_nanos().saturating_add(LIFE_NANOS);
        Pair { setup, clock, subject, mirror, saved, end_nanos, last: None }
    }

    pub(crate) fn mirror(&self) -> &Mirror {
        &self.mirror
    }

    /// Applies `ops` and shows every answer: the operation, the permits that were
    /// asked for, and what was said.
    pub(crate) fn each_answer(&mut self, ops: &[Op], mut show: impl FnMut(Op, u64, Said)) {
        for &op in ops {
            let single = match op {
                Op::Poll { nanos, times } => {
                    vec![
                        [Op::Move(Step::Nanos(nanos)), Op::TryAcquire(Amount::Exactly(1))];
                        times.into()
                    ]
                    .concat()
                }
                op => vec![op],
            };
            for op in single {
                self.last = None;
                self.apply(op);
                // A step that looked ahead has moved on since.
                if let Some((answered, asked, said)) = self.last
                    && !matches!(op, Op::Move(_))
                {
                    show(answered, asked, said);
                }
            }
        }
    }

    /// A look that the mirror has no part in.
    pub(crate) fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        each!(&self.subject, limiter => limiter.peek(permits))
    }

    pub(crate) fn apply(&mut self, op: Op) {
        let now = self.clock.now_nanos();
        match op {
            Op::TryAcquire(amount) => {
                let permits = self.permits(amount);
                let said = each!(&self.subject, limiter => limiter.try_acquire(permits));
                self.check(op, permits, said.into(), |mirror| mirror.try_acquire(now, permits));
            }
            Op::UpTo(amount) => {
                let permits = self.permits(amount);
                let said = each!(&self.subject, limiter => limiter.try_acquire_up_to(permits));
                self.check(op, permits, said.into(), |mirror| {
                    mirror.try_acquire_up_to(now, permits)
                });
            }
            Op::Peek(amount) => {
                let permits = self.permits(amount);
                let said = each!(&self.subject, limiter => limiter.peek(permits));
                self.check(op, permits, said.into(), |mirror| mirror.peek(now, permits));
                self.assert_least(permits, said.into());
            }
            Op::Force(amount) => {
                let permits = self.permits(amount);
                let said = each!(&self.subject, limiter => limiter.force(permits));
                self.check(op, permits, said.into(), |mirror| mirror.force(now, permits));
            }
            Op::Drain => {
                let said = each!(&self.subject, limiter => limiter.drain());
                self.check(op, u64::MAX, said.into(), |mirror| mirror.drain(now));
            }
            Op::Credit(amount) => {
                let permits = self.permits(amount);
                each!(&self.subject, limiter => limiter.credit(permits));
                self.mirror.credit(now, permits);
            }
            Op::Reset => {
                each!(&self.subject, limiter => limiter.reset());
                self.mirror.reset(now);
            }
            Op::Poll { times, nanos } => {
                for _ in 0..times {
                    self.go(u128::from(nanos));
                    self.apply(Op::TryAcquire(Amount::Exactly(1)));
                }
            }
            Op::Reconfigure(setup, carry) => self.reconfigure(setup, carry),
            Op::Resize { room, max_debt, carry } => {
                self.reconfigure(Setup { room, max_debt, ..self.setup }, carry);
            }
            Op::Snapshot => {
                self.saved = each!(&self.subject, limiter => limiter.snapshot()).into();
                assert_eq!(self.saved, self.mirror.snapshot(now));
            }
            Op::Restore { away_nanos } => {
                self.restore(self.saved, Duration::from_nanos(away_nanos));
            }
            Op::RestoreAny(held, away) => self.restore(held, away),
            Op::Move(Step::Nanos(nanos)) => self.go(nanos.into()),
            Op::Move(Step::Parts(parts)) => {
                self.go(u128::from(self.mirror.plan().period_nanos) * u128::from(parts) / 256);
            }
            Op::Move(Step::Ready(amount, more)) => {
                let permits = self.permits(amount);
                let peeked = each!(&self.subject, limiter => limiter.peek(permits));
                self.check(Op::Peek(amount), permits, peeked.into(), |mirror| {
                    mirror.peek(now, permits)
                });
                if let Some(wait) = peeked.err().and_then(|denied| denied.retry_after()) {
                    self.go(wait.as_nanos().saturating_add_signed(more.into()));
                }
            }
            Op::Move(Step::Back(nanos)) => {
                let start_nanos = *self.mirror.reach_nanos().start();
                let until = now.saturating_sub(nanos).max(start_nanos).min(now);
                self.clock.set_nanos(until);
            }
        }
        assert_eq!(each!(&self.subject, limiter => limiter.healed()), self.mirror.healed());
    }

    fn check(&mut self, op: Op, permits: u64, said: Said, mirror: impl Fn(&mut Mirror) -> Said) {
        let before = self.mirror.clone();
        let expected = mirror(&mut self.mirror);
        assert_eq!(said, expected, "{op:?} at {} of {before:?}", self.clock.now_nanos());
        self.last = Some((op, permits, said));
    }

    fn reconfigure(&mut self, setup: Setup, carry: Carry) {
        let now_nanos = self.clock.now_nanos();
        self.setup = Setup { shape: self.setup.shape, ..setup };
        self.subject.reconfigure(self.setup, carry);
        self.mirror.reconfigure(now_nanos, self.setup.plan(), carry);
        self.subject.assert_enforces(self.setup, &mut self.mirror, now_nanos);
    }

    fn restore(&mut self, held: Held, away: Duration) {
        let held = Held { token: held.token.max(1), ..held };
        each!(&self.subject, limiter => limiter.restore(&held.into(), away));
        self.mirror.restore(self.clock.now_nanos(), held, away);
    }

    fn permits(&self, amount: Amount) -> u64 {
        let mirror = &self.mirror;
        match amount {
            Amount::Exactly(permits) => permits,
            Amount::There(more) => {
                mirror.remaining(self.clock.now_nanos()).saturating_add_signed(more.into())
            }
            Amount::Limit(more) => mirror.limit().saturating_add_signed(more.into()),
            Amount::Deepest(more) => {
                (mirror.limit() + mirror.plan().max_debt).saturating_add_signed(more.into())
            }
        }
    }

    /// Moves the clock on, but not past a hundred years, nor out of the word's
    /// reach: at the highest rate, that is 34 years without an admission.
    fn go(&self, nanos: u128) {
        let now_nanos = self.clock.now_nanos();
        let end_nanos = self.end_nanos.min(*self.mirror.reach_nanos().end());
        let until = u128::from(now_nanos).saturating_add(nanos).min(end_nanos.into());
        self.clock.set_nanos((until as u64).max(now_nanos));
    }

    /// Nothing has been taken by a peek: what it promised must come true when it
    /// said, and not a nanosecond before.
    fn assert_least(&self, permits: u64, said: Said) {
        let now_nanos = self.clock.now_nanos();
        let (Said::Wait { reset_after, .. } | Said::Granted { reset_after, .. }) = said else {
            return;
        };
        let end_nanos = self.end_nanos.min(*self.mirror.reach_nanos().end());
        let at = |wait: Duration| {
            let time = now_nanos.checked_add(nanos(wait)).filter(|time| *time <= end_nanos)?;
            self.clock.set_nanos(time);
            let granted = each!(&self.subject, limiter => limiter.peek(permits)).is_ok();
            let empty = each!(&self.subject, limiter => limiter.peek(0)).unwrap().reset_after();
            self.clock.set_nanos(now_nanos);
            Some((granted, empty == Duration::ZERO))
        };
        let before = |wait: Duration| {
            at(wait.checked_sub(Duration::from_nanos(1)).expect("a wait of some time"))
        };
        if let Said::Wait { retry_after, .. } = said {
            assert!(at(retry_after).is_none_or(|(granted, _)| granted), "{said:?}");
            assert!(before(retry_after).is_none_or(|(granted, _)| !granted), "{said:?}");
            assert!(at(reset_after).is_none_or(|(_, full)| full), "{said:?}");
            assert!(before(reset_after).is_none_or(|(_, full)| !full), "{said:?}");
        }
    }
}
