//! The ring of entries, its head, and its time.

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use crate::bits::Field;
use crate::contention::{Contender, Contention};
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::{AtomicWord, fence};
use crate::time::clock::Clock;

/// Which lap an entry is of: 0 or 1.
pub(super) const LAP: Field = Field::low(1);

/// A ring of entries, and a clock for them.
pub(crate) struct EntryRing<C> {
    ends: CachePadded<Ends>,
    entries: Box<[AtomicWord<u64>]>,
    /// Entries before this one count no more.
    start: AtomicWord<u64>,
    /// By how many nanoseconds the log's time is ahead of the clock's.
    shift: AtomicWord<u64>,
    healed: AtomicWord<u64>,
    clock: C,
}

/// What every admission moves on.
#[derive(Debug)]
struct Ends {
    /// How many entries there have been, and a lap. May be one behind.
    head: AtomicWord<u64>,
    /// An entry that has left the window, where to begin looking for the newest.
    gone: AtomicWord<u64>,
    contention: Contention,
}

/// The place at the head.
#[derive(Clone, Copy)]
pub(super) struct Head {
    /// The number of the entry that comes there.
    pub(super) number: u64,
    /// What is there: an entry of the lap before.
    pub(super) seen: u64,
}

impl<C: Clock> EntryRing<C> {
    /// Room for `capacity` entries at least; what was before them is dated as `first`
    /// dates the time at hand.
    pub(super) fn new(capacity: u64, first: impl FnOnce(u64) -> u64, clock: C) -> EntryRing<C> {
        let places = capacity.next_power_of_two();
        // Before the first lap, where nothing counts, but from where time goes on.
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

    /// How many entries there is room for.
    pub(super) fn places(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The time at hand.
    #[inline]
    pub(super) fn now_nanos(&self) -> u64 {
        // ORDERING: Acquire, so that the clock is read after the shift: an old shift is
        // a clock that is behind, but an old reading with a new shift would be a time
        // to come. Pairs with the CAS in `heal`.
        // MODEL: `a_log_adds_its_shift_to_no_earlier_reading`.
        let shift = self.shift.load(Acquire);
        self.clock.now_nanos().wrapping_add(shift)
    }

    /// The head, helped to where it belongs.
    #[inline]
    pub(super) fn head(&self) -> Head {
        loop {
            // ORDERING: Acquire: the entries before the head are there. Pairs with
            // the CAS in `advance`.
            // MODEL: `a_log_admits_no_more_than_its_limit`.
            let number = self.ends.head.load(Acquire);
            // ORDERING: Acquire. If the place has been written, this is what makes
            // the entry visible that is before the next one. Pairs with the CAS in
            // `append`.
            // MODEL: `a_log_admits_no_more_than_its_limit`,
            // `no_entry_comes_back_after_two_resets`.
            let seen = self.place(number).load(Acquire);
            if LAP.get(seen) == self.lap(number) {
                self.advance(number);
                continue;
            }
            // The parity tells one lap from the next, not from the one after. So the
            // head is looked at again: an entry of a later lap comes after it has
            // moved on.
            // ORDERING: Relaxed. It comes after the load of the place, an Acquire: an
            // entry of a later lap brings the head of that time with it.
            // MODEL: `a_log_admits_no_more_than_its_limit`.
            if self.ends.head.load(Relaxed) == number {
                return Head { number, seen };
            }
        }
    }

    /// The entry of `number`, one of the last lap.
    ///
    /// To be believed only if the head is then found to be still the same.
    #[inline]
    pub(super) fn entry(&self, number: u64) -> u64 {
        // ORDERING: Relaxed. Too old it cannot be: the head was loaded with Acquire.
        // Too new, from the next lap: then the place at the head has been written
        // before, and a CAS on it fails (it is a Release, and whoever writes on from
        // there has acquired it, so this load comes before that entry's store). Who
        // does no CAS looks at the place again, after a fence.
        // MODEL: `a_log_admits_no_more_than_its_limit`,
        // `a_denial_is_of_a_moment_at_which_the_log_was_full`.
        self.place(number).load(Relaxed)
    }

    /// Writes `entry` at `head`, unless somebody else has written there.
    #[inline]
    pub(super) fn append(&self, head: Head, entry: u64) -> bool {
        let entry = entry & !LAP.max() | self.lap(head.number);
        // ORDERING: AcqRel on success. Release for the arguments in `head` and
        // `entry`; both, so that what one admitted caller did before it asked is
        // visible to the next one. Relaxed on failure: the caller begins anew.
        // MODEL: `a_log_admits_no_more_than_its_limit`,
        // `what_was_done_before_a_grant_is_seen_after_the_next_of_a_log`.
        let written = self.place(head.number).compare_exchange(head.seen, entry, AcqRel, Relaxed);
        if written.is_ok() {
            self.advance(head.number);
        }
        written.is_ok()
    }

    /// Whether the place at `head` is still as it was seen, so that the entries that
    /// were read are those before it.
    #[inline]
    pub(super) fn still(&self, head: Head) -> bool {
        // ORDERING: an Acquire fence, so that this look comes after the loads of
        // entries. Pairs with the Release of the CAS in `append`: had an entry of the
        // next lap been seen, so would be the one at the head.
        // MODEL: `a_denial_is_of_a_moment_at_which_the_log_was_full`,
        // `a_denial_does_not_mix_two_laps`.
        fence(Acquire);
        // ORDERING: Relaxed. Only compared.
        // MODEL: `a_denial_is_of_a_moment_at_which_the_log_was_full`.
        self.place(head.number).load(Relaxed) == head.seen
    }

    /// The first entry that counts.
    #[inline]
    pub(super) fn start(&self) -> u64 {
        // ORDERING: Relaxed. A caller that does not see a reset came before it.
        // MODEL: `a_reset_log_forgets_what_was_before`.
        self.start.load(Relaxed)
    }

    /// Forgets all entries.
    pub(super) fn reset(&self) {
        let number = self.head().number;
        // ORDERING: Relaxed; a CAS, because the start must not go back if another
        // reset was later.
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

    /// Writes `entries` in place of all others.
    pub(super) fn rewrite(&mut self, before: u64, entries: impl Iterator<Item = u64>) {
        let first = self.places();
        // ORDERING: Relaxed, here and below. `&mut self`: whoever shares the log next
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

    /// Lets time go on from the last entry, if the clock was set back: `excess` says
    /// by how much an entry is too far ahead of a time. The time at hand.
    #[cold]
    #[inline(never)]
    pub(super) fn heal(&self, excess: impl Fn(u64, u64) -> u64) -> u64 {
        // ORDERING: Relaxed. The clock is read after it, by the fence below: with an earlier
        // reading, an entry that came in between would look like a fault. An entry from
        // before the shift is not ahead of what that makes of the clock.
        // MODEL: `a_log_adds_its_shift_to_no_earlier_reading`.
        let shift = self.shift.load(Relaxed);
        let last = self.entry(self.head().number - 1);
        // ORDERING: an Acquire fence, because the head may be an old one and the entry
        // at its place one of a later lap: then nothing else brings the time of that. And
        // for the shift, see above. Pairs with the CAS below and with the one in `append`.
        // MODEL: `an_entry_that_came_in_between_is_no_fault`,
        // `a_log_adds_its_shift_to_no_earlier_reading`.
        fence(Acquire);
        let ahead = excess(last, self.clock.now_nanos().wrapping_add(shift));
        // ORDERING: Release, so that whoever sees the new shift sees the entry that it was
        // made for, and reads the clock as it was set back. Not Acquire: what the shift was
        // before has been acquired above. Relaxed on failure: somebody else did it.
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

    /// The newest entry before `end` that `is_gone`, which no entry is that comes
    /// after one that is not; `first`, which is before `end`, if there is no other.
    ///
    /// Begins where the last admission found it, so it takes as many steps as the
    /// logarithm of the entries that have left since.
    #[inline]
    pub(super) fn newest_gone(&self, first: u64, end: u64, is_gone: impl Fn(u64) -> bool) -> u64 {
        // ORDERING: Relaxed. A hint: any number will do.
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

    /// Remembers where to begin the next time. Only by who has written anyway.
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

    /// The parity of the lap of the entry of `number`.
    fn lap(&self, number: u64) -> u64 {
        (number >> self.entries.len().trailing_zeros()) & LAP.max()
    }

    fn advance(&self, number: u64) {
        // ORDERING: Release, so that who sees the new head sees the entry before it.
        // On failure somebody else did it.
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
