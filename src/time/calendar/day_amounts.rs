//! An amount for each day of the week.

use crate::sync::AtomicWord;
use crate::sync::Ordering::Relaxed;

use super::weekday::Weekday;

/// The amount that may be spent on each day of the week; may be changed while in use.
#[derive(Debug)]
pub(crate) struct Schedule {
    amounts: [AtomicWord<u64>; 7],
}

impl Schedule {
    pub(crate) fn same(amount: u64) -> Schedule {
        Schedule { amounts: core::array::from_fn(|_| AtomicWord::new(amount)) }
    }

    #[inline]
    pub(crate) fn on(&self, weekday: Weekday) -> u64 {
        // ORDERING: Relaxed. A decision reads the one amount that it uses once; if the amount
        // changes meanwhile, the decision came before the change.
        // MODEL: `a_lowered_limit_holds_for_whoever_comes_after`.
        self.amounts[weekday as usize].load(Relaxed)
    }

    pub(crate) fn set(&self, weekday: Weekday, amount: u64) {
        // ORDERING: Relaxed. It publishes nothing but the amount.
        // MODEL: `a_lowered_limit_holds_for_whoever_comes_after`.
        self.amounts[weekday as usize].store(amount, Relaxed);
    }

    pub(crate) fn least(&self) -> u64 {
        Weekday::ALL.map(|weekday| self.on(weekday)).into_iter().fold(u64::MAX, u64::min)
    }

    pub(crate) fn most(&self) -> u64 {
        Weekday::ALL.map(|weekday| self.on(weekday)).into_iter().fold(0, u64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_and_the_most_are_among_all_seven_days() {
        for weekday in Weekday::ALL {
            let schedule = Schedule::same(5);
            assert_eq!((schedule.least(), schedule.most()), (5, 5));
            schedule.set(weekday, 3);
            assert_eq!((schedule.least(), schedule.most()), (3, 5));
            schedule.set(weekday, 9);
            assert_eq!((schedule.least(), schedule.most()), (5, 9));
        }
    }
}
