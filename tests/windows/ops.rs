//! Calls of a limiter of windows as data, and how they are replayed beside its
//! mirror.

use std::time::Duration;

use sluicegate::settle::Receipt;
use sluicegate::window::History;
use sluicegate::*;

use super::bounds::Admissions;
use super::reference::{Mirror, Said, Undo};
use super::setup::{Setup, Subject};

/// The longest time that a clock goes on at once, and in all.
pub(crate) const LIFE_NANOS: u64 = 1 << 59;

/// Number of permits to ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Amount {
    Exactly(u64),
    /// All permits that are there, and so many more.
    There(i8),
    /// All permits that there can be, and so many more.
    Limit(i8),
}

/// A move of the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Nanos(u64),
    /// So many 64ths of the first window.
    Parts(u16),
    /// To the next multiple of a part of the first window, and so many nanoseconds
    /// more.
    Boundary(u8, i8),
    /// To the instant when a request is granted, and so many nanoseconds more.
    Ready(Amount, i8),
    Back(u64),
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Take(Amount),
    UpTo(Amount),
    Peek(Amount),
    /// Keeps the receipt.
    Revocable(Amount),
    /// Gives back what one of the receipts is for.
    GiveBack(usize),
    Reset,
    Reconfigure(usize, u64),
    /// Goes on with another limiter, to which the history was restored.
    Replace {
        away_nanos: u64,
    },
    /// The same with a history from elsewhere.
    ReplaceBy(Vec<(u64, u64)>),
    Move(Step),
}

/// A limiter's mirror and its clock.
pub(crate) struct Stand<'a> {
    setup: &'a Setup,
    clock: &'a ManualClock,
    pub(crate) mirror: Mirror,
    end_nanos: u64,
    /// The longest time that the clock goes on or back at once.
    step_nanos: u64,
    pub(crate) admissions: Admissions,
}

/// A receipt, what it was for, and the admission's number.
type Held<'a> = (Receipt<'a>, Undo, Option<usize>);

/// Puts a limiter of `setup` through `ops`, from `start_nanos` on: every answer must
/// be the mirror's.
pub(crate) fn replay<'a>(
    setup: &'a Setup,
    clock: &'a ManualClock,
    ops: &[Op],
    show: impl FnMut(&Stand<'a>, &Op, u64, Said),
) -> Stand<'a> {
    // Numbers of short windows come back after so many.
    let shortest = setup.limits.iter().map(|limit| limit.1).min().unwrap_or(1);
    replay_for(LIFE_NANOS, shortest.saturating_mul(1 << 32), setup, clock, ops, show)
}

/// The same for a life of `life_nanos`, in which the clock moves by no more than
/// `step_nanos` at once.
pub(crate) fn replay_for<'a>(
    life_nanos: u64,
    step_nanos: u64,
    setup: &'a Setup,
    clock: &'a ManualClock,
    ops: &[Op],
    mut show: impl FnMut(&Stand<'a>, &Op, u64, Said),
) -> Stand<'a> {
    let now = clock.now_nanos();
    let mut stand = Stand {
        setup,
        clock,
        mirror: setup.mirror(now),
        end_nanos: now + life_nanos,
        step_nanos,
        admissions: Admissions::default(),
    };
    let mut subject = setup.subject(clock);
    for ops in ops.split_inclusive(|op| matches!(op, Op::Replace { .. } | Op::ReplaceBy(_))) {
        let mut held = Vec::new();
        let mut replaced = None;
        for op in ops {
            match op {
                Op::Replace { away_nanos } => {
                    let history = stand.snapshot(&subject);
                    let before = stand.mirror.clone();
                    replaced = Some(stand.replace(&history, *away_nanos));
                    stand.assert_no_more_than(&before, *away_nanos);
                }
                Op::ReplaceBy(spent) => {
                    // More than the limit is as good as the limit.
                    let mut room = setup.limits.iter().map(|limit| limit.0).min().unwrap_or(0);
                    let history = History::new(spent.iter().map(|&(age, permits)| {
                        let permits = permits.min(room);
                        room -= permits;
                        (Duration::from_nanos(age), permits)
                    }));
                    replaced = Some(stand.replace(&history, 0));
                    stand.admissions.clear();
                }
                op => {
                    if let Some((asked, said)) = stand.apply(&subject, &mut held, op) {
                        show(&stand, op, asked, said);
                    }
                }
            }
        }
        drop(held);
        subject = replaced.unwrap_or(subject);
        assert_eq!(subject.healed(), stand.mirror.healed());
    }
    stand
}

impl<'a> Stand<'a> {
    pub(crate) fn now(&self) -> u64 {
        self.clock.now_nanos()
    }

    /// Applies an operation, and returns the request and the answer if it is a call that has one.
    fn apply<'s>(
        &mut self,
        subject: &'s Subject<&'a ManualClock>,
        held: &mut Vec<Held<'s>>,
        op: &Op,
    ) -> Option<(u64, Said)> {
        let now = self.now();
        let limiter = subject.limiter();
        let before = self.mirror.clone();
        let (asked, said, expected) = match *op {
            Op::Take(amount) => {
                let permits = self.permits(amount);
                let said = limiter.try_acquire(permits).into();
                (permits, said, self.mirror.try_acquire(now, permits))
            }
            Op::UpTo(amount) => {
                let permits = self.permits(amount);
                let said = limiter.try_acquire_up_to(permits).into();
                (permits, said, self.mirror.try_acquire_up_to(now, permits))
            }
            Op::Peek(amount) => {
                let permits = self.permits(amount);
                let said = Said::from(limiter.peek(permits));
                let expected = self.mirror.peek(now, permits);
                assert_eq!(said, expected, "{op:?} at {now} of {before:?}");
                self.assert_least(subject, permits, said);
                for which in 0..self.mirror.limits.len() {
                    self.mirror.heal(now);
                    assert_eq!(subject.count(which), self.mirror.used(which, now));
                }
                (permits, said, expected)
            }
            Op::Revocable(amount) => {
                let permits = self.permits(amount);
                let answer = limiter.try_acquire_revocable(permits);
                let said = Said::from(answer.as_ref().map(Receipt::grant).map_err(|d| *d));
                let (expected, undo) = self.mirror.try_acquire_revocable(now, permits);
                if let Ok(receipt) = answer {
                    let number = (permits > 0).then(|| self.admissions.count());
                    held.push((receipt, undo, number));
                }
                (permits, said, expected)
            }
            Op::GiveBack(index) => {
                let (receipt, undo, number) = match held.len() {
                    0 => return None,
                    count => held.swap_remove(count - 1 - index % count),
                };
                let gave = self.mirror.give_back(undo);
                assert_eq!(receipt.give_back(), gave, "{op:?} of {before:?}");
                if let (true, Some(number)) = (gave, number) {
                    self.admissions.take_back(number);
                }
                return None;
            }
            Op::Reset => {
                limiter.reset();
                self.mirror.reset(now);
                self.admissions.clear();
                return None;
            }
            Op::Reconfigure(which, limit) => {
                self.reconfigure(subject, which % self.mirror.limits.len(), limit);
                return None;
            }
            Op::Move(step) => {
                self.go(subject, step);
                return None;
            }
            Op::Replace { .. } | Op::ReplaceBy(_) => unreachable!("the caller does it"),
        };
        assert_eq!(said, expected, "{op:?} of {asked} at {now} of {before:?}");
        if !matches!(op, Op::Peek(_)) && said.permits() > 0 {
            self.admissions.add(said.permits());
        }
        assert_eq!(subject.healed(), self.mirror.healed());
        Some((asked, said))
    }

    fn reconfigure(&mut self, subject: &Subject<&ManualClock>, which: usize, limit: u64) {
        match subject.reconfigure(which, limit) {
            Ok(()) => self.mirror.limits[which] = limit,
            Err(error) => {
                assert!(
                    matches!(error, ConfigError::Limit { .. } | ConfigError::NewLimit { .. }),
                    "{error}"
                );
                assert!(limit == 0 || limit > self.setup.limits[which].0, "{error}");
            }
        }
        let limits = subject.windows().into_iter().map(|(limit, _)| limit);
        assert!(limits.eq(self.mirror.limits.iter().copied()));
        self.admissions.clear();
    }

    fn snapshot(&mut self, subject: &Subject<&ManualClock>) -> History {
        let history = subject.snapshot();
        let now = self.now();
        self.mirror.heal(now);
        if let Some(spent) = self.mirror.spent(now) {
            // A log is exact.
            let saved = history.iter().map(|(age, permits)| (age.as_nanos() as u64, permits));
            assert!(saved.eq(spent), "{history:?} of {:?}", self.mirror);
        }
        history
    }

    /// A limiter to which the history was restored.
    fn replace(&mut self, history: &History, away_nanos: u64) -> Subject<&'a ManualClock> {
        let now = self.now();
        let mut subject = self.setup.subject(self.clock);
        for (which, &limit) in self.mirror.limits.iter().enumerate() {
            subject.reconfigure(which, limit).expect("a limit that was allowed before");
        }
        subject.restore(history, Duration::from_nanos(away_nanos));
        let mut mirror = self.setup.mirror(now);
        mirror.limits.clone_from(&self.mirror.limits);
        let age = |age: Duration| age.as_nanos() as u64 + away_nanos;
        let spent: Vec<_> = history.iter().map(|(at, permits)| (age(at), permits)).collect();
        mirror.restore(now, &spent);
        self.mirror = mirror;
        subject
    }

    /// A limiter that was restored from what `before` counted must not grant more
    /// than that would have.
    fn assert_no_more_than(&mut self, before: &Mirror, away_nanos: u64) {
        if away_nanos > 0 {
            self.admissions.clear();
        } else if before.is_current(self.now()) && before.healed() == 0 {
            // Else the slots would begin at other times.
            for part in 0..=128 {
                let later = self.now() + self.setup.window_nanos() / 64 * part;
                for which in 0..before.limits.len() {
                    let (was, is) = (before.used(which, later), self.mirror.used(which, later));
                    // To a clock that is behind, more may seem to count.
                    let was = was.min(before.limits[which]);
                    assert!(was <= is, "{was} > {is} at {later} of {:?}", self.mirror);
                }
            }
        }
    }

    fn permits(&self, amount: Amount) -> u64 {
        let limit = *self.mirror.limits.iter().min().expect("a limit");
        match amount {
            Amount::Exactly(permits) => permits,
            Amount::There(more) => {
                let Said::Granted { remaining, .. } = self.mirror.clone().peek(self.now(), 0)
                else {
                    unreachable!("nothing is always granted");
                };
                remaining.saturating_add_signed(more.into())
            }
            Amount::Limit(more) => limit.saturating_add_signed(more.into()),
        }
    }

    fn go(&mut self, subject: &Subject<&ManualClock>, step: Step) {
        let (now, window, most) = (self.now(), self.setup.window_nanos(), self.step_nanos);
        let until = match step {
            Step::Nanos(nanos) => now.saturating_add(nanos.min(most)),
            Step::Parts(parts) => now.saturating_add((window / 64 * u64::from(parts)).min(most)),
            Step::Boundary(parts, more) => {
                let part = window.div_ceil(parts.max(1).into());
                (now / part + 1).saturating_mul(part).saturating_add_signed(more.into()).max(now)
            }
            Step::Ready(amount, more) => {
                let permits = self.permits(amount);
                let said = Said::from(subject.limiter().peek(permits));
                assert_eq!(said, self.mirror.peek(now, permits));
                let Said::Wait { retry_nanos, .. } = said else { return };
                now.saturating_add(retry_nanos as u64).saturating_add_signed(more.into())
            }
            Step::Back(nanos) => {
                self.clock.set_nanos(now.saturating_sub(nanos.min(most)));
                return;
            }
        };
        let until = until.min(self.end_nanos).max(now);
        self.clock.set_nanos(until);
        self.admissions.pass(until - now);
    }

    /// Asserts that what a denial promises comes true when it said, and not a nanosecond before. A
    /// peek takes nothing, so it can be asked ahead of time.
    fn assert_least(&self, subject: &Subject<&ManualClock>, permits: u64, said: Said) {
        let now = self.now();
        let at = |wait: u128, permits: u64| {
            self.clock.set_nanos(now + wait as u64);
            let said = Said::from(subject.limiter().peek(permits));
            self.clock.set_nanos(now);
            said
        };
        if let Said::Wait { retry_nanos, .. } = said {
            assert_eq!(at(retry_nanos, permits).permits(), permits, "{said:?}");
            assert_eq!(at(retry_nanos - 1, permits).permits(), 0, "{said:?}");
        }
        let (Said::Wait { reset_nanos, .. } | Said::Granted { reset_nanos, permits: 0, .. }) = said
        else {
            return;
        };
        let is_empty = |wait| {
            self.clock.set_nanos(now + wait as u64);
            let counted = (0..self.mirror.limits.len()).map(|which| subject.count(which)).max();
            self.clock.set_nanos(now);
            counted == Some(0)
        };
        assert!(is_empty(reset_nanos), "{said:?}");
        assert!(reset_nanos == 0 || !is_empty(reset_nanos - 1), "{said:?}");
    }
}
