//! The sleeps of a timer, in the order of their ends. No thread and no clock here.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::num::NonZeroU64;
use core::task::Waker;

/// Wakers of the tasks that sleep, by the end of each sleep; two that end together, in the order in which
/// they began.
#[derive(Debug)]
pub(super) struct Alarms {
    by_end: BTreeMap<Alarm, Waker>,
    next_id: NonZeroU64,
}

/// A sleep that has begun.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Alarm {
    pub(super) end_nanos: u64,
    pub(super) id: NonZeroU64,
}

impl Alarms {
    /// Returns an empty list, which numbers sleeps from `first_id` on.
    pub(super) const fn from(first_id: NonZeroU64) -> Alarms {
        Alarms { by_end: BTreeMap::new(), next_id: first_id }
    }

    /// Lets a sleep begin. The second value says whether it is the first of all to end.
    pub(super) fn begin(&mut self, end_nanos: u64, waker: Waker) -> (Alarm, bool) {
        let alarm = Alarm { end_nanos, id: self.next_id };
        self.next_id = self.next_id.saturating_add(1);
        let is_first = self.first_end_nanos().is_none_or(|first| end_nanos < first);
        self.by_end.insert(alarm, waker);
        (alarm, is_first)
    }

    /// Lets `waker` be woken by a sleep that has not ended, and returns the one that would have been.
    ///
    /// # Errors
    ///
    /// Returns `waker` if the sleep has ended.
    pub(super) fn renew(&mut self, alarm: Alarm, waker: Waker) -> Result<Waker, Waker> {
        match self.by_end.get_mut(&alarm) {
            Some(kept) => Ok(core::mem::replace(kept, waker)),
            None => Err(waker),
        }
    }

    /// Ends a sleep without a wake-up. Returns its waker if it had not ended.
    pub(super) fn cancel(&mut self, alarm: Alarm) -> Option<Waker> {
        self.by_end.remove(&alarm)
    }

    /// Takes sleeps that have ended by `now_nanos` off the front, into the free capacity of `due`.
    pub(super) fn take_due(&mut self, now_nanos: u64, due: &mut Vec<Waker>) {
        while due.len() < due.capacity()
            && let Some(first) = self.by_end.first_entry()
            && first.key().end_nanos <= now_nanos
        {
            due.push(first.remove());
        }
    }

    /// Returns the end of the sleep that ends first.
    pub(super) fn first_end_nanos(&self) -> Option<u64> {
        self.by_end.first_key_value().map(|(alarm, _)| alarm.end_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(alarms: &mut Alarms, now_nanos: u64, room: usize) -> usize {
        let mut due = Vec::with_capacity(room);
        alarms.take_due(now_nanos, &mut due);
        due.len()
    }

    #[test]
    fn a_sleep_ends_at_its_end_and_not_before() {
        let mut alarms = Alarms::from(NonZeroU64::MIN);
        alarms.begin(10, Waker::noop().clone());
        assert_eq!((due(&mut alarms, 9, 8), alarms.first_end_nanos()), (0, Some(10)));
        assert_eq!((due(&mut alarms, 10, 8), alarms.first_end_nanos()), (1, None));
    }

    #[test]
    fn the_first_to_end_is_told_apart_from_the_others() {
        let mut alarms = Alarms::from(NonZeroU64::MIN);
        assert!(alarms.begin(10, Waker::noop().clone()).1);
        assert!(!alarms.begin(11, Waker::noop().clone()).1);
        assert!(!alarms.begin(10, Waker::noop().clone()).1);
        assert!(alarms.begin(9, Waker::noop().clone()).1);
    }

    #[test]
    fn no_more_are_taken_at_a_time_than_there_is_room_for() {
        let mut alarms = Alarms::from(NonZeroU64::MIN);
        for end_nanos in 0..5 {
            alarms.begin(end_nanos, Waker::noop().clone());
        }
        assert_eq!((due(&mut alarms, 9, 3), due(&mut alarms, 9, 3)), (3, 2));
    }

    #[test]
    fn a_sleep_that_is_cancelled_or_over_keeps_no_waker() {
        let mut alarms = Alarms::from(NonZeroU64::MIN);
        let (cancelled, _) = alarms.begin(10, Waker::noop().clone());
        let (over, _) = alarms.begin(10, Waker::noop().clone());
        assert!(alarms.cancel(cancelled).is_some());
        assert_eq!(due(&mut alarms, 10, 8), 1);
        assert!(alarms.cancel(cancelled).is_none() && alarms.cancel(over).is_none());
        assert!(alarms.renew(over, Waker::noop().clone()).is_err());
    }
}
