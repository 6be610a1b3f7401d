//! The marker protocol: it gives a key that is nowhere a slot, and only one.
//!
//! A caller that does not find its key places a *marker*: the key's fingerprint, and no state. It
//! then looks at all other slots of the pair of lines, and charges the marker if it found no other
//! word of the key. Of two markers the one in the lower slot stays; other callers for the key
//! *join* it and charge it for themselves, so none waits for the caller that placed it.
//!
//! # Why a key has one slot
//!
//! **Theorem.** For each fingerprint, at most one word of a pair is charged at any time, expired or
//! not.
//!
//! *Proof.* Two charged words of one fingerprint would come of two markers, at h and at i, charged
//! by P and by Q. Each saw its own marker, had its fence, and then looked at the other's slot. One
//! of the fences is first: let it be P's. Then Q finds at h P's marker, or what came of it. If it
//! is the marker, Q replaces it by a tombstone, and P's charge fails, because no marker comes back
//! ([ticks](super::ticks)); or Q turns to it and charges nothing at i. If it is charged, Q replaces
//! its own by a tombstone. If it is neither, the key at h has since expired and gone. In no case
//! are both charged, and both there. ∎
//!
//! # Why the bound holds
//!
//! **Theorem.** For any interleaving, if clocks differ by no more than the skew and no call is held
//! up for longer than a wrap less the age of what it found: the permits of a key that are admitted
//! in any span (s, t] of the clock cost at most `capacity + A(t) - A(s)` ticks, unless the key is
//! removed. (Grants that are given back are left out. For a key that is used in several tiers, or
//! across a change of quota, see [reconfigure](super::reconfigure).)
//!
//! *Proof.* The levels of a key only rise: a hit adds its cost to the level, or to `now - capacity`
//! if that is more. (Its reading of the clock may be older than the word, if the level is not ahead
//! of it; else it would be below the level by a wrap.) A word of the key that is gone was expired
//! by the margin, by some reading of the clock; a caller that charges the key anew saw it gone, and
//! read the clock after that, so its `now - capacity` is no less than the level that is gone. So
//! with one slot for each key all its charges have one order, in which they stack up from
//! `A(s) - capacity` at the lowest to `A(t)` at the highest: as for a [single
//! bucket](crate::bucket). Keys that share a fingerprint and a pair share the level, so the sum of
//! both is bounded. ∎
//!
//! Progress: lock-free. A marker is only taken away by a caller that saw a lower marker of the key,
//! or saw the key charged; or, after the margin by a sweep, and after the grace by another key's
//! caller, each of which then goes on.

use crate::sync::Ordering::SeqCst;
use crate::sync::fence;
use crate::time::clock::Clock;

use super::home::KeyHome;
use super::in_force::TierTerms;
use super::key_word::{Fingerprint, KeyWord, Kind, LEVEL_BITS};
use super::line::{ChargedSlot, KeyLines, PLACES, SlotIndex, Words, first, places};
use super::lines::{Hit, HitOrMiss, Judgement, LineTable, Miss, TableTime, hit};
use super::ticks::LevelTicks;

/// A line with more free slots is roomy: if a key's home is not, the key goes to its other line if
/// that has more free slots. At a higher bound, more keys are a line further away; at a lower one,
/// lines fill less evenly, and some are full early.
const ROOMY: usize = if PLACES == 8 { 3 } else { 0 };

impl<C: Clock> LineTable<C> {
    /// Charges a key that was nowhere a moment ago.
    #[inline(never)]
    pub(super) fn ask_new(
        &self,
        (place, moment): (KeyHome, TableTime),
        tier: &TierTerms,
        charge: &impl Fn(i64) -> Judgement,
    ) -> HitOrMiss<'_> {
        let pair = self.pair(place);
        let (_, now) = self.time_of(moment);
        // The key is not searched for again: if it has come since, `choose` or the rescan finds it.
        let marked = match self.mark_empty(&pair, place.fingerprint, now) {
            Some(marked) => Some(marked),
            None => self.mark(&pair, place.fingerprint)?,
        };
        marked
            .and_then(|marker| self.charge_marker(&pair, place.fingerprint, marker, (tier, charge)))
            .unwrap_or_else(|| self.ask_both(place, tier, charge))
    }

    /// Places a marker of the key in its home, if that is roomy counting only slots that were never
    /// taken.
    ///
    /// Any time of the table will do, however old: the marker is compared with no level, and as the
    /// slot was never taken, there is no earlier marker that this one may be below.
    #[inline(always)]
    fn mark_empty(
        &self,
        pair: &KeyLines<'_>,
        fingerprint: Fingerprint,
        now: u64,
    ) -> Option<(SlotIndex, KeyWord)> {
        let home = pair.home();
        let at = pair.first_empty(home, ROOMY)?;
        let marker = KeyWord::marker(fingerprint, self.ticks.marker_over_nothing(now));
        pair.replace(SlotIndex(home, at), KeyWord::default(), marker)
            .then_some((SlotIndex(home, at), marker))
    }

    /// Makes one attempt to charge a key, wherever it is; `None` if another call went on instead.
    pub(super) fn attempt<'a>(
        &self,
        pair: &KeyLines<'a>,
        fingerprint: Fingerprint,
        tier: &TierTerms,
        charge: &impl Fn(i64) -> Judgement,
    ) -> Option<HitOrMiss<'a>> {
        let marker = match found(pair, fingerprint) {
            // Expired or not, it is the key's slot until another key takes it.
            Some((at, state)) if state.is_charged(fingerprint) => {
                // By the clock itself, not the table's time: a reading that is behind a level does
                // not lower it.
                let (moment, _) = self.time();
                let age = self.ticks.age(moment.now, state.level());
                let found = (pair.word(at), state, fingerprint);
                let answer = hit(found, (age, moment), tier, charge)?;
                if LevelTicks::<LEVEL_BITS>::is_lost(age) && answer.is_ok() {
                    self.count_healed();
                }
                return Some(answer);
            }
            Some(joined) => joined,
            None => match self.mark(pair, fingerprint) {
                Ok(marker) => marker?,
                Err(full) => return Some(Err(full)),
            },
        };
        self.charge_marker(pair, fingerprint, marker, (tier, charge))
    }

    /// Places a marker of the key; `None` if another call took the slot first, or the key itself is
    /// there.
    fn mark(
        &self,
        pair: &KeyLines<'_>,
        fingerprint: Fingerprint,
    ) -> Result<Option<(SlotIndex, KeyWord)>, Miss> {
        let Some((at, seen, marker)) = self.choose(pair, fingerprint)? else { return Ok(None) };
        if !pair.replace(at, seen, marker) {
            return Ok(None);
        }
        // The level of an expired key is below the marker's.
        let is_below = LevelTicks::<LEVEL_BITS>::age_behind(marker.level(), seen.level()).is_some();
        if seen.kind() == Kind::Charged && !is_below {
            self.count_healed();
        }
        Ok(Some((at, marker)))
    }

    /// Charges a marker of the key, if that is its only word.
    #[inline(always)]
    fn charge_marker<'a>(
        &self,
        pair: &KeyLines<'a>,
        fingerprint: Fingerprint,
        (at, marker): (SlotIndex, KeyWord),
        (tier, charge): (&TierTerms, &impl Fn(i64) -> Judgement),
    ) -> Option<HitOrMiss<'a>> {
        if !is_alone(pair, fingerprint, at, marker) {
            return None;
        }
        // Read after the rescan: the key may have had a state since this call began, and have lost
        // it again, and its next level must be above that one.
        let (moment, now) = self.time();
        let elapsed_nanos = moment.elapsed_nanos;
        let cost = match charge(tier.capacity) {
            Ok(cost) => cost,
            Err(wanted) => {
                let balance = tier.capacity;
                return Some(Err(Miss::Short { wanted, balance, elapsed_nanos }));
            }
        };
        let level = self.ticks.first(now, marker.level(), (tier.capacity, cost));
        let after = KeyWord::charged(fingerprint, level);
        if !pair.replace(at, marker, after) {
            return None;
        }
        self.sweep_on_the_way(fingerprint);
        Some(Ok(Hit {
            cost,
            balance: self.ticks.age(moment.now, level).min(tier.capacity),
            elapsed_nanos,
            charged: ChargedSlot {
                word: pair.word(at),
                before: KeyWord::charged(fingerprint, self.ticks.full(now)),
                after,
            },
        }))
    }

    /// Chooses a slot for a marker of the key: returns the slot, the word seen there, and the
    /// marker. `None` if there is no free slot, but the key has one: it was searched for before
    /// these words were loaded.
    fn choose(
        &self,
        pair: &KeyLines<'_>,
        fingerprint: Fingerprint,
    ) -> Result<Option<(SlotIndex, KeyWord, KeyWord)>, Miss> {
        let words = [pair.words(0), pair.words(1)];
        let (moment, now) = self.time();
        let mut number = pair.home();
        let mut free = self.free(now, &words[number]);
        if !is_roomy(free.all) && pair.lines().len() > 1 {
            let there = self.free(now, &words[1 - number]);
            if there.all.count_ones() > free.all.count_ones() {
                (number, free) = (1 - number, there);
            }
        }
        // A vacant slot first, as an expired key may come back to its own.
        let at = first(free.vacant).or_else(|| first(free.all));
        let chosen = at.and_then(|at| {
            let seen = words[number][at];
            let level = self.ticks.marker_over(now, seen.kind(), seen.level())?;
            Some((SlotIndex(number, at), seen, KeyWord::marker(fingerprint, level)))
        });
        if chosen.is_some() || words.as_flattened().iter().any(|word| word.is_of(fingerprint)) {
            return Ok(chosen);
        }
        self.count_full();
        let wait = |word: &KeyWord| self.ticks.until_free(now, word.kind(), word.level());
        let waits = pair.lines().flat_map(|number| words[number].iter().map(wait));
        // Counted from the reading, not from the table's time.
        let behind = now.wrapping_sub(moment.now) as i64;
        Err(Miss::Full { ticks: waits.min().unwrap_or(0) + behind })
    }

    /// Returns the slots of a line that a marker may take.
    fn free(&self, now: u64, words: &Words) -> FreeSlot {
        // Each slot is tested: the words were not loaded at one instant, so the empty ones need not
        // be the last.
        let empty = places(words, |word| word == KeyWord::default());
        if is_roomy(empty) {
            return FreeSlot { vacant: empty, all: empty };
        }
        if !words.iter().fold(false, |any, word| any | word.is_marked()) {
            // The common case: there are only empty words, and keys.
            let expired = places(words, |word| self.ticks.is_free(now, word.level()));
            return FreeSlot { vacant: empty, all: empty | expired };
        }
        let is_free = |word: KeyWord| self.ticks.marker_over(now, word.kind(), word.level());
        let all = places(words, |word| is_free(word).is_some());
        FreeSlot { vacant: all & places(words, KeyWord::is_vacant), all }
    }
}

/// Slots that may be taken, as bits.
#[derive(Clone, Copy)]
struct FreeSlot {
    /// Slots that no key would come back to.
    vacant: u32,
    all: u32,
}

/// Returns whether a line with these free slots is roomy.
#[inline]
fn is_roomy(free: u32) -> bool {
    // Clears the lowest bit `ROOMY` times: quicker than a count.
    (0..ROOMY).fold(free, |free, _| free & free.wrapping_sub(1)) != 0
}

/// Finds the key's state, or else its lowest marker.
fn found(pair: &KeyLines<'_>, fingerprint: Fingerprint) -> Option<(SlotIndex, KeyWord)> {
    let words = [pair.words(0), pair.words(1)];
    let all = pair.places().map(|at| (at, words[at.0][at.1]));
    all.clone()
        .find(|(_, word)| word.is_charged(fingerprint))
        .or_else(|| all.clone().find(|(_, word)| word.is_marker(fingerprint)))
}

/// Looks at all other slots, and replaces the markers of the key above this one by tombstones.
/// Returns whether this one then was the key's only word; if not, the caller turns to another one.
#[inline(always)]
fn is_alone(pair: &KeyLines<'_>, fingerprint: Fingerprint, at: SlotIndex, marker: KeyWord) -> bool {
    // ORDERING: SeqCst, between the load or the CAS that showed the marker at `at` and the loads of
    // all other slots. If two callers have two markers of one key, the one whose fence is second
    // sees the other's marker, or what came of it. Without a fence both could miss the other's
    // marker, each with its own write not yet visible.
    // MODEL: `a_new_key_has_one_place`.
    fence(SeqCst);
    pair.is_nowhere_but(at, fingerprint)
        || pair
            .places()
            .filter(|&other| other != at)
            .all(|other| is_outdone(pair, fingerprint, (at, marker), other))
}

/// Returns whether the marker can be charged in spite of the word at `other`.
#[cold]
fn is_outdone(
    pair: &KeyLines<'_>,
    fingerprint: Fingerprint,
    (at, marker): (SlotIndex, KeyWord),
    other: SlotIndex,
) -> bool {
    loop {
        let found = pair.load(other);
        if found.is_charged(fingerprint) {
            // The result does not matter: this marker blocks no other call, and if it stays,
            // another key takes its slot in time.
            pair.replace(at, marker, KeyWord::tombstone(marker.level()));
            return false;
        }
        if !found.is_marker(fingerprint) {
            return true;
        }
        if other < at {
            return false;
        }
        // If the CAS fails, the marker may have been charged: look again.
        if pair.replace(other, found, KeyWord::tombstone(found.level())) {
            return true;
        }
    }
}
