//! The ring of entries, its head, and its time.

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use crate::bits::Field;
use crate::contention::{Contender, Contention};
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::{AtomicWord, fence};
use crate::time::clock::Clock;

/// Parity of the lap that an entry belongs to: 0 or 1.
pub(super) const LAP: Field = Field::low(1);

/// A ring of entries, with a clock for them.
pub(crate) struct EntryRing<C> {
    ends: CachePadded<Ends>,
    entries: Box<[AtomicWord<u64>]>,
    /// Number of the first entry that was not reset.
    start: AtomicWord<u64>,
    /// Nanoseconds by which the log's time is ahead of the clock's.
    shift: AtomicWord<u64>,
    healed: AtomicWord<u64>,
    clock: C,
}

/// The words that every admission advances.
#[derive(Debug)]
struct Ends {
    /// Number of entries so far, plus one lap. May be one behind.
    head: AtomicWord<u64>,
    /// Number of an entry that has left the window, where the search for the newest starts.
    gone: AtomicWord<u64>,
    contention: Contention,
}

/// The place at the head.
#[derive(Clone, Copy)]
pub(super) struct Head {
    /// Number of the entry that goes there.
    pub(super) number: u64,
    /// Content of the place: an entry of the previous lap.
    pub(super) seen: u64,
}

impl<C: Clock> EntryRing<C> {
    /// Creates a ring with room for at least `capacity` entries. `first` turns the current
    /// time into the date of the (empty) lap before them.
    pub(super) fn new(capacity: u64, first: impl FnOnce(u64) -> u64, clock: C) -> EntryRing<C> {
        let places = capacity.next_power_of_two();
        // Before the first lap: nothing there counts, but time continues from there.
        let first = first(clock.now_nanos());
        EntryRing {
            ends: CachePadded::new(Ends {
                head: AtomicWord::new(places),
                gone: AtomicWord::new(0),
                contention: Contention::new(),
            }),
            entries: (0..places).map(|_| AtomicWord::new(first)).collect(),
            start: AtomicWord::new(places),
            shift: AtomicWord::new(0),
            healed: AtomicWord::new(0),
            clock,
        }
    }

    pub(crate) fn clock(&self) -> &C {
        &self.clock
    }

    pub(super) fn into_clock(self) -> C {
        self.clock
    }

    pub(crate) fn healed(&self) -> u64 {
        // ORDERING: Relaxed. A statistic; nothing is decided by it.
        // MODEL: `a_log_too_far_ahead_goes_on_from_there`.
        self.healed.load(Relaxed)
    }

    #[inline]
    pub(super) fn contender(&self) -> Contender<'_> {
        Contender::new(Some(&self.ends.contention))
    }

    /// Returns the number of entries that fit.
    pub(super) fn places(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Returns the current time of the log.
    #[inline]
    pub(super) fn now_nanos(&self) -> u64 {
        // ORDERING: Acquire, so that the clock is read after the shift. An old shift acts
        // like a clock that is behind, but an old reading with a new shift would be a time
        // in the future. Pairs with the CAS in `heal`.
        // MODEL: `a_log_adds_its_shift_to_no_earlier_reading`.
        let shift = self.shift.load(Acquire);
        self.clock.now_nanos().wrapping_add(shift)
    }

    /// Returns the head, after helping it forward if it is behind.
    #[inline]
    pub(super) fn head(&self) -> Head {
        loop {
            // ORDERING: Acquire, so that the entries before the head are visible. Pairs with
            // the CAS in `advance`.
            // MODEL: `a_log_admits_no_more_than_its_limit`.
            let number = self.ends.head.load(Acquire);
            // ORDERING: Acquire. If the place has been written, this makes visible the
            // entry that precedes the next one. Pairs with the CAS in
            // `append`.
            // MODEL: `a_log_admits_no_more_than_its_limit`,
            // `no_entry_comes_back_after_two_resets`.
            let seen = self.place(number).load(Acquire);
            if LAP.get(seen) == self.lap(number) {
                self.advance(number);
                continue;
            }
            // The parity distinguishes a lap from the next, but not from the one after that. So
            // the head is read again: an entry of a later lap is written after the head has
            // moved on.
            // ORDERING: Relaxed. It follows the load of the place, an Acquire: reading an
            // entry of a later lap makes the head of that time visible.
            // MODEL: `a_log_admits_no_more_than_its_limit`.
            if self.ends.head.load(Relaxed) == number {
                return Head { number, seen };
            }
        }
    }

    /// Returns the entry of `number`, one of the last lap.
    ///
    /// Valid only if the head is unchanged afterwards.
    #[inline]
    pub(super) fn entry(&self, number: u64) -> u64 {
        // ORDERING: Relaxed. The value cannot be too old: the head was loaded with Acquire.
        // If it is too new, from the next lap, the place at the head was written
        // before it, and a CAS there fails. (That CAS is a Release, and a thread that writes
        // on from there has acquired it, so this load comes before that entry's store.) A
        // caller that does no CAS checks the place again, after a fence.
        // MODEL: `a_log_admits_no_more_than_its_limit`,
        // `a_denial_is_of_a_moment_at_which_the_log_was_full`.
        self.place(number).load(Relaxed)
    }

    /// Writes `entry` at `head`; false if another thread has written there.
    #[inline]
    pub(super) fn append(&self, head: Head, entry: u64) -> bool {
        let entry = entry & !LAP.max() | self.lap(head.number);
        // ORDERING: AcqRel on success. Release for the arguments in `head` and
        // `entry`; both, so that what an admitted caller did before its request is
        // visible to the next one. Relaxed on failure: the caller starts again.
        // MODEL: `a_log_admits_no_more_than_its_limit`,
        // `what_was_done_before_a_grant_is_seen_after_the_next_of_a_log`.
        let written = self.place(head.number).compare_exchange(head.seen, entry, AcqRel, Relaxed);
        if written.is_ok() {
            self.advance(head.number);
        }
        written.is_ok()
    }

    /// Returns whether the place at `head` still holds the value that was read, so that
    /// the entries read are those before it.
    #[inline]
    pub(super) fn still(&self, head: Head) -> bool {
        // ORDERING: an Acquire fence, so that this load comes after the loads of
        // entries. Pairs with the Release of the CAS in `append`: a caller that read an entry
        // of the next lap also sees the one at the head.
        // MODEL: `a_denial_is_of_a_moment_at_which_the_log_was_full`,
        // `a_count_does_not_mix_two_laps`.
        fence(Acquire);
        // ORDERING: Relaxed. It is only compared.
        // MODEL: `a_denial_is_of_a_moment_at_which_the_log_was_full`.
        self.place(head.number).load(Relaxed) == head.seen
    }

    /// Returns the number of the first entry that was not reset.
    #[inline]
    pub(super) fn start(&self) -> u64 {
        // ORDERING: Relaxed. A caller that does not see a reset is ordered before it.
        // MODEL: `a_reset_log_forgets_what_was_before`.
        self.start.load(Relaxed)
    }

    /// Forgets all entries.
    pub(super) fn reset(&self) {
        let number = self.head().number;
        // ORDERING: Relaxed. It is a CAS because the start must not go back if a later
        // reset came first.
        // MODEL: `a_reset_log_forgets_what_was_before`.
        let mut seen = self.start.load(Relaxed);
        while seen < number {
            // ORDERING: see above.
            // MODEL: `a_reset_log_forgets_what_was_before`.
            match self.start.compare_exchange_weak(seen, number, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(found) => seen = found,
            }
        }
    }

    /// Replaces all entries by `entries`.
    pub(super) fn rewrite(&mut self, before: u64, entries: impl Iterator<Item = u64>) {
        let first = self.places();
        // ORDERING: Relaxed, here and below. `&mut self`: sharing the log afterwards
        // synchronizes.
        // MODEL: none; there is no other thread.
        let store = |word: &AtomicWord<u64>, value| word.store(value, Relaxed);
        for place in &self.entries {
            store(place, before & !LAP.max());
        }
        let mut number = first;
        for entry in entries {
            store(self.place(number), entry & !LAP.max() | self.lap(number));
            number += 1;
        }
        store(&self.start, first);
        store(&self.ends.head, number);
        store(&self.ends.gone, 0);
    }

    /// Makes time continue from the last entry if the clock was set back, and returns the
    /// current time. `excess` says by how much an entry is too far ahead of a time.
    #[cold]
    #[inline(never)]
    pub(super) fn heal(&self, excess: impl Fn(u64, u64) -> u64) -> u64 {
        // ORDERING: Relaxed. The fence below orders the clock reading after it: with an earlier
        // reading, an entry that came in between would look like a fault. An entry from
        // before the shift is not ahead of the shifted clock.
        // MODEL: `a_log_adds_its_shift_to_no_earlier_reading`.
        let shift = self.shift.load(Relaxed);
        let last = self.entry(self.head().number - 1);
        // ORDERING: an Acquire fence, so that the clock is read after the entry was written. The
        // head may be stale and the entry at its place from a later lap; then nothing else orders
        // the two. It also orders the shift, see above. Pairs with the CAS below and with the one
        // in `append`.
        // MODEL: `an_entry_that_came_in_between_is_no_fault`,
        // `a_log_adds_its_shift_to_no_earlier_reading`.
        fence(Acquire);
        let ahead = excess(last, self.clock.now_nanos().wrapping_add(shift));
        // ORDERING: Release, so that a thread that sees the new shift sees the entry that it was
        // made for, and reads the clock as it was set back. Not Acquire: the previous shift
        // has been acquired above. Relaxed on failure: another thread did it.
        // MODEL: `a_log_adds_its_shift_to_no_earlier_reading`.
        if ahead > 0
            && self
                .shift
                .compare_exchange(shift, shift.wrapping_add(ahead), Release, Relaxed)
                .is_ok()
        {
            // ORDERING: Relaxed, as in `healed`.
            // MODEL: `a_log_too_far_ahead_goes_on_from_there`.
            self.healed.fetch_add(1, Relaxed);
        }
        self.now_nanos()
    }

    /// Finds the newest entry before `end` that `is_gone`, given that no entry is gone that
    /// follows one that is not. Returns `first`, which is before `end`, if there is no other.
    ///
    /// The search starts where the last admission ended, so it takes as many steps as the
    /// logarithm of the entries that have left since.
    #[inline]
    pub(super) fn newest_gone(&self, first: u64, end: u64, is_gone: impl Fn(u64) -> bool) -> u64 {
        // ORDERING: Relaxed. A hint: any number is correct.
        // MODEL: `a_log_admits_no_more_than_its_limit`.
        let hint = self.ends.gone.load(Relaxed);
        let (mut gone, mut counts) = (first, end);
        if gone < hint && hint < counts {
            if is_gone(hint) {
                gone = hint;
                let mut step = 1;
                while step < counts - gone && is_gone(gone + step) {
                    gone += step;
                    step *= 2;
                }
                counts = counts.min(gone + step);
            } else {
                counts = hint;
            }
        }
        while counts - gone > 1 {
            let middle = gone.midpoint(counts);
            if is_gone(middle) { gone = middle } else { counts = middle }
        }
        gone
    }

    /// Stores the start of the next search. Only callers that have written anyway do this.
    #[inline]
    pub(super) fn remember(&self, gone: u64) {
        // ORDERING: Relaxed, as in `newest_gone`.
        // MODEL: `a_log_admits_no_more_than_its_limit`.
        if self.ends.gone.load(Relaxed) != gone {
            // ORDERING: see above.
            // MODEL: `a_log_admits_no_more_than_its_limit`.
            self.ends.gone.store(gone, Relaxed);
        }
    }

    fn place(&self, number: u64) -> &AtomicWord<u64> {
        &self.entries[number as usize & (self.entries.len() - 1)]
    }

    /// Returns the parity of the lap of the entry of `number`.
    fn lap(&self, number: u64) -> u64 {
        (number >> self.entries.len().trailing_zeros()) & LAP.max()
    }

    fn advance(&self, number: u64) {
        // ORDERING: Release, so that a thread that sees the new head sees the entry before
        // it. On failure another thread did it.
        // MODEL: `a_log_admits_no_more_than_its_limit`.
        let _ = self.ends.head.compare_exchange(number, number + 1, Release, Relaxed);
    }
}

impl<C> core::fmt::Debug for EntryRing<C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("EntryRing")
            .field("ends", &self.ends)
            .field("start", &self.start)
            .field("places", &self.entries.len())
            .field("healed", &self.healed)
            .finish_non_exhaustive()
    }
}
