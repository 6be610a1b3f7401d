//! The lines, and the calls that find their key in them.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crossbeam_utils::CachePadded;

use crate::bucket::accrual::linear::Linear;
use crate::contention::Pauses;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::time::clock::Clock;

use super::home::KeyHome;
use super::in_force::TierTerms;
use super::key_word::{Fingerprint, KeyWord, LEVEL_BITS};
use super::line::{ChargedSlot, KeyLines, Line, load, replace};
use super::pages;
use super::ticks::{LevelTicks, NEAR};
use super::tier::TierList;

/// An operation's judgement of a key's balance: the cost to charge, which is more than nothing, or
/// else the balance that would be enough.
pub(super) type Judgement = Result<i64, i64>;

/// The slots for keys, and the time that their levels count.
pub(super) struct LineTable<C> {
    lines: Box<[Line]>,
    pub(super) ticks: LevelTicks,
    accrual: Linear,
    /// The reading from which time is counted: long before the table was made, so that time still
    /// counts up if the clock goes back to before that. (Modulo 2^64, so the clock may never read
    /// it.)
    origin_nanos: u64,
    clock: C,
    /// The latest time by which a call decided something, or one at most a slack earlier.
    latest: CachePadded<AtomicWord<u64>>,
    counts: CachePadded<TableCounts>,
}

/// The words that calls write besides the lines: few, and seldom.
pub(super) struct TableCounts {
    /// Number of lines swept by new keys.
    pub(super) swept: AtomicWord<u64>,
    /// Number of calls that found no slot.
    full: AtomicWord<u64>,
    /// Number of states found that no call can have left.
    healed: AtomicWord<u64>,
}

/// A reading of the clock, and the ticks until then.
#[derive(Clone, Copy)]
pub(super) struct TableTime {
    pub(super) reading_nanos: u64,
    pub(super) elapsed_nanos: u64,
    pub(super) now: u64,
}

/// The outcome for a key that was charged.
pub(super) struct Hit<'a> {
    pub(super) cost: i64,
    /// The balance after the charge.
    pub(super) balance: i64,
    pub(super) elapsed_nanos: u64,
    pub(super) charged: ChargedSlot<'a>,
}

/// The outcome for a key that was not charged.
pub(super) enum Miss {
    /// The key has less than was wanted.
    Short { wanted: i64, balance: i64, elapsed_nanos: u64 },
    /// There is no slot for the key until `ticks` have passed.
    Full { ticks: i64 },
}

pub(super) type HitOrMiss<'a> = Result<Hit<'a>, Miss>;

impl<C: Clock> LineTable<C> {
    /// Creates a table of `lines` empty lines, one at least; `None` if there is not enough memory.
    pub(super) fn new(
        tiers: &TierList,
        ticks: LevelTicks,
        lines: usize,
        clock: C,
    ) -> Option<LineTable<C>> {
        let mut all = Vec::new();
        all.try_reserve_exact(lines).ok()?;
        pages::enlarge(all.spare_capacity_mut());
        all.extend((0..lines).map(|_| Line::new()));
        let (accrual, before_nanos) = (tiers.accrual(), tiers.before_nanos());
        Some(LineTable {
            lines: all.into_boxed_slice(),
            ticks,
            accrual,
            origin_nanos: clock.now_nanos().wrapping_sub(before_nanos),
            clock,
            latest: CachePadded::new(AtomicWord::new(accrual.units(before_nanos))),
            counts: CachePadded::new(TableCounts {
                swept: AtomicWord::new(0),
                full: AtomicWord::new(0),
                healed: AtomicWord::new(0),
            }),
        })
    }

    #[inline]
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub(super) fn clock(&self) -> &C {
        &self.clock
    }

    pub(super) fn counts(&self) -> &TableCounts {
        &self.counts
    }

    /// Returns the lines that the key with `hash` may be in.
    #[inline]
    pub(super) fn place(&self, hash: u64) -> KeyHome {
        KeyHome::of_hash(hash, self.lines.len())
    }

    /// Returns both lines of a key.
    pub(super) fn pair(&self, place: KeyHome) -> KeyLines<'_> {
        KeyLines::of(&self.lines, place.home, place.other(self.lines.len()))
    }

    /// Prefetches the other line of a key.
    #[inline]
    pub(super) fn fetch_other(&self, place: KeyHome) {
        self.lines[place.other(self.lines.len())].fetch();
    }

    /// Reads the clock. [`acquire`](LineTable::acquire) and batches call it before they load the
    /// words whose levels they compare with it, all other callers after.
    #[inline]
    pub(super) fn moment(&self) -> TableTime {
        let reading_nanos = self.clock.now_nanos();
        // Time is counted modulo its range.
        let elapsed_nanos = reading_nanos.wrapping_sub(self.origin_nanos) & Linear::MAX_ELAPSED;
        let now = self.accrual.units_within(elapsed_nanos);
        TableTime { reading_nanos, elapsed_nanos, now }
    }

    /// Reads the clock, after the words that are to be judged by it; and the table's time. That is
    /// the time of the reading, but at most a slack earlier than the time of any call whose words
    /// were found.
    ///
    /// If the clock has gone back by more than it may, the table's time goes back with it, and that
    /// is counted.
    #[inline]
    pub(super) fn time(&self) -> (TableTime, u64) {
        self.time_of(self.moment())
    }

    /// The same as [`time`](LineTable::time), for a reading that may be old.
    #[inline]
    pub(super) fn time_of(&self, moment: TableTime) -> (TableTime, u64) {
        // ORDERING: Relaxed. A caller that found a word that was written by some time sees `latest`
        // as it was then, or a later value: `catch_up` comes before that CAS, and this load after
        // the Acquire load of the word.
        // MODEL: `a_step_back_brings_no_key_back_fuller`.
        let latest = self.latest.load(Relaxed);
        match moment.now.wrapping_sub(latest) as i64 {
            since if since < -self.ticks.ahead || since > self.ticks.slack => self.catch_up(moment),
            since if since < 0 => (moment, latest),
            _ => (moment, moment.now),
        }
    }

    /// Sets `latest` to the reading, if `latest` is behind it by more than a slack, or ahead of it
    /// by more than a clock may step back.
    #[cold]
    fn catch_up(&self, mut moment: TableTime) -> (TableTime, u64) {
        // ORDERING: Acquire, here and below: if `latest` is ahead, the clock is read once more, and
        // that reading must come after the one by which `latest` was set.
        // MODEL: `a_clock_that_others_are_ahead_of_has_not_gone_back`.
        let mut latest = self.latest.load(Acquire);
        let mut has_read = false;
        loop {
            let since = moment.now.wrapping_sub(latest) as i64;
            let has_gone_back = since < -self.ticks.ahead;
            if has_gone_back && !has_read {
                (moment, has_read) = (self.moment(), true);
                continue;
            }
            if !has_gone_back && since <= self.ticks.slack {
                return (moment, if since < 0 { latest } else { moment.now });
            }
            // ORDERING: Release; pairs with the Acquire loads here. (The CAS on the next word
            // orders this write before that word.)
            // MODEL: `a_clock_that_others_are_ahead_of_has_not_gone_back`.
            match self.latest.compare_exchange(latest, moment.now, Release, Acquire) {
                Ok(_) => {
                    if has_gone_back {
                        self.count_healed();
                    }
                    return (moment, moment.now);
                }
                Err(found) => (latest, has_read) = (found, false),
            }
        }
    }

    /// Returns whether a reading can be compared with any level that was found: none is ahead of it
    /// by half a wrap, which would make it seem to be behind.
    ///
    /// The clock may have jumped forward since the reading. A call that writes a level by a reading
    /// first makes sure that `latest` is near that reading.
    #[inline(always)]
    fn is_near(&self, now: u64) -> bool {
        // ORDERING: Relaxed, after the load of the word, as in `time_of`.
        // MODEL: `a_reading_from_before_a_jump_forward_is_made_again`.
        let latest = self.latest.load(Relaxed);
        now.wrapping_sub(latest).wrapping_add(NEAR as u64) <= 2 * NEAR as u64
    }

    /// Charges the key at `place` the cost that `charge` returns.
    ///
    /// Reads the clock first, while the hash is still being computed: a reading is as good as a
    /// later one if no level is ahead of it, and an early one leaves less time between the load and
    /// the CAS, in which another thread's CAS could come. (A level that is ahead could be taken for
    /// one that is a wrap older, so then the clock is read again. The same happens if the clock has
    /// since jumped so far that a level that is ahead could seem to be behind.)
    #[inline(always)]
    pub(super) fn acquire(
        &self,
        place: KeyHome,
        tier: &TierTerms,
        charge: impl Fn(i64) -> Judgement,
    ) -> HitOrMiss<'_> {
        let home = &self.lines[place.home];
        // The loads would come too late: they follow the clock read. A processor that waits for one
        // call's line often looks ahead as far as here in the next call, and seldom as far as the
        // loads.
        home.fetch();
        let moment = self.moment();
        let found = home.find_any(place.fingerprint);
        self.ask_at(found, (place, moment), tier, &charge)
    }

    /// The same as [`acquire`](LineTable::acquire), given a reading of the clock, and the word of
    /// the key that was found in its home, if there was one.
    #[inline(always)]
    pub(super) fn ask_at<'a>(
        &'a self,
        found: Option<&'a AtomicWord<KeyWord>>,
        (place, moment): (KeyHome, TableTime),
        tier: &TierTerms,
        charge: &impl Fn(i64) -> Judgement,
    ) -> HitOrMiss<'a> {
        let Some(word) = found.or_else(|| self.find_elsewhere(place)) else {
            return self.ask_new((place, moment), tier, charge);
        };
        let mut seen = load(word);
        let mut pauses = Pauses::new();
        while seen.is_charged(place.fingerprint)
            && let Some(age) = LevelTicks::<LEVEL_BITS>::age_behind(moment.now, seen.level())
            && self.is_near(moment.now)
        {
            if let Some(answer) = hit((word, seen, place.fingerprint), (age, moment), tier, charge)
            {
                return answer;
            }
            pauses.lost_race();
            seen = load(word);
        }
        self.ask_both(place, tier, charge)
    }

    /// Charges a key whose word other threads write too, whatever state it is in.
    #[inline(never)]
    pub(super) fn ask_both(
        &self,
        place: KeyHome,
        tier: &TierTerms,
        charge: &impl Fn(i64) -> Judgement,
    ) -> HitOrMiss<'_> {
        let pair = self.pair(place);
        let mut pauses = Pauses::new();
        loop {
            if let Some(answer) = self.attempt(&pair, place.fingerprint, tier, charge) {
                return answer;
            }
            // Another call made progress: back off so that it can finish.
            pauses.lost_race();
        }
    }

    /// Returns the balance of the key at `place`: the whole capacity, if it is nowhere.
    pub(super) fn look(&self, place: KeyHome, tier: &TierTerms) -> (i64, TableTime) {
        let found = self.find(place);
        let moment = self.moment();
        let balance = found.map_or(tier.capacity, |(.., seen)| {
            self.ticks.age(moment.now, seen.level()).min(tier.capacity)
        });
        (balance, moment)
    }

    /// Finds the key's state, in one line or the other.
    pub(super) fn find(&self, place: KeyHome) -> Option<(&AtomicWord<KeyWord>, KeyWord)> {
        let state = |line: usize| {
            let word = self.lines[line].find(place.fingerprint)?;
            let seen = load(word);
            seen.is_charged(place.fingerprint).then_some((word, seen))
        };
        state(place.home).or_else(|| state(place.other(self.lines.len())))
    }

    /// Finds a word of the key in its other line.
    #[inline(never)]
    fn find_elsewhere(&self, place: KeyHome) -> Option<&AtomicWord<KeyWord>> {
        self.lines[place.other(self.lines.len())].find_any(place.fingerprint)
    }

    /// Counts a call that found no slot.
    pub(super) fn count_full(&self) {
        // ORDERING: Relaxed. A statistic that no decision depends on.
        // MODEL: none; no decision depends on it.
        self.counts.full.fetch_add(1, Relaxed);
    }

    /// Counts a state that no call can have left.
    pub(super) fn count_healed(&self) {
        // ORDERING: Relaxed, as in `count_full`.
        // MODEL: none; no decision depends on it.
        self.counts.healed.fetch_add(1, Relaxed);
    }

    /// Returns how often such a state was found.
    pub(super) fn healed(&self) -> u64 {
        // ORDERING: Relaxed, as in `count_full`.
        // MODEL: none; no decision depends on it.
        self.counts.healed.load(Relaxed)
    }

    /// Returns how often there was no slot for a key.
    pub(super) fn full(&self) -> u64 {
        // ORDERING: Relaxed, as above.
        // MODEL: none; no decision depends on it.
        self.counts.full.load(Relaxed)
    }
}

/// Charges the key whose state was `seen` in `word`, at the given age. Returns `None` if the word
/// has changed since.
#[inline(always)]
pub(super) fn hit<'a>(
    (word, seen, fingerprint): (&'a AtomicWord<KeyWord>, KeyWord, Fingerprint),
    (age, TableTime { elapsed_nanos, now, .. }): (i64, TableTime),
    tier: &TierTerms,
    charge: &impl Fn(i64) -> Judgement,
) -> Option<HitOrMiss<'a>> {
    let balance = age.min(tier.capacity);
    let cost = match charge(balance) {
        Ok(cost) => cost,
        Err(wanted) => return Some(Err(Miss::Short { wanted, balance, elapsed_nanos })),
    };
    let balance = balance - cost;
    let after = KeyWord::charged(fingerprint, LevelTicks::<LEVEL_BITS>::level(now, balance));
    if !replace(word, seen, after) {
        return None;
    }
    let charged = ChargedSlot { word, before: seen, after };
    Some(Ok(Hit { cost, balance, elapsed_nanos, charged }))
}

impl<C> LineTable<C> {
    /// Returns the number of slots.
    pub(super) fn slots(&self) -> usize {
        self.lines.len() * super::line::PLACES
    }
}

impl<C> fmt::Debug for LineTable<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineTable")
            .field("lines", &self.lines.len())
            .field("ticks", &self.ticks)
            .finish_non_exhaustive()
    }
}
