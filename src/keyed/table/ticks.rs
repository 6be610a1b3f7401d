//! Levels and ages, modulo 2^39 ticks, and what the age of a word allows. No atomics here.
//!
//! A tick is the unit of a level. `now` is the number of ticks that have passed since the origin of
//! the table's time, and a word of `level` is `now - level` ticks old. A key's word is *expired*
//! once it is as old as the slowest tier takes to fill, its *span*: the key is idle, like one that
//! was never seen. The other amounts make up for clocks that disagree, and for callers that are
//! held up:
//!
//! | amount | ticks | makes up for |
//! |---|---|---|
//! | `ahead` | a second, or the skew if that is more | steps back of the clock: a level that is ahead of it by no more is a live one |
//! | `slack` | the skew of clocks | the precision of the table's time |
//! | `band` | 15, less than a permit | markers that are taken back in one tick have levels of their own |
//! | `margin` | two slacks and a band | a slot goes to another key only when it is expired by every time of the table |
//! | `grace` | a millisecond | a marker is taken over only after its caller has had time to go on |
//!
//! # How far a clock may step back
//!
//! `ahead` is at most 2^31 ticks, the most that there are in a second, and the other amounts
//! together are at most 2^30. So of the 2^39 levels the 2^31 that are ahead of `now`, and those of
//! a fill and the margin behind it, are told apart, whatever the quota: **a step back of up to a
//! second grants nothing anew**, in any table. A level that seems to be further ahead (by less than
//! half a wrap) was left by a clock that has gone back further, or belongs to a key that was
//! neither used nor swept for half a wrap: it counts as expired, and a caller that takes it counts
//! that.
//!
//! A hit needs no more than that. Every other comparison of levels goes by the *table's time*,
//! which is that of the clock, but steps back by no more than a slack
//! ([`LineTable::time`](super::lines::LineTable::time)). It is the `now` of what follows.
//!
//! # Why no marker comes back
//!
//! The *floor* of a slot is the highest level of any marker that was there, by any time of the
//! table so far: at most `now - span + band + slack`. (1) The level of a tombstone, and of a
//! marker, is the floor at least: a tombstone over a marker keeps its level, and a sweep leaves a
//! tombstone of `now - span` where the word was older than that by the margin. (A sweep does not
//! leave an empty word: a marker over an empty word knows nothing of the floor, so a slot is empty
//! only until it is first taken.) A key's state may be lower, by the margin at most: a charge keeps
//! the marker's level or raises it, and a hit adds, but a key that is reset goes back to
//! `now - span - slack`. (2) A new marker is above the floor: over a state that is expired by the
//! margin, or an abandoned marker, it is `now - span + 1`; over a tombstone that is not so old it
//! is one above its level, within the band. A marker is placed by a CAS of the whole word, so (2)
//! holds at that instant even if `now` was read long before. (All modulo the wrap:
//! [`KeyTable`](super::KeyTable) says what that asks of its callers.)

use crate::bits::Field;

use super::key_word::{Kind, LEVEL_BITS};

/// The ticks by which a reading may differ from `latest`: an eighth of a wrap, so that a level
/// written by any such reading is not ahead of another such reading by half a wrap.
pub(super) const NEAR: i64 = LevelTicks::<LEVEL_BITS>::WRAP / 8;

/// The amounts of a table whose levels have `BITS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LevelTicks<const BITS: u32 = LEVEL_BITS> {
    pub(super) span: i64,
    pub(super) ahead: i64,
    pub(super) slack: i64,
    pub(super) margin: i64,
    pub(super) grace: i64,
    pub(super) band: i64,
}

impl<const BITS: u32> LevelTicks<BITS> {
    /// Number of ticks after which levels wrap around.
    pub(super) const WRAP: i64 = 1 << BITS;

    const LEVEL: Field = Field::low(BITS);

    /// Returns the age of a level; it is negative if the level is ahead of `now`, by no more than a
    /// clock may step back.
    #[inline]
    pub(super) fn age(&self, now: u64, level: u64) -> i64 {
        let shifted = now.wrapping_sub(level).wrapping_add(self.ahead as u64);
        Self::LEVEL.wrap(shifted) as i64 - self.ahead
    }

    /// Returns whether a level of this age was left by a clock that has gone back by more than
    /// that. (Or it is older than half a wrap.)
    #[inline]
    pub(super) fn is_lost(age: i64) -> bool {
        age > Self::WRAP / 2
    }

    /// Returns the age of a level, `None` if it is ahead of `now`, however long ago `now` was read.
    /// Takes the shorter of the two distances modulo the wrap, so a level that is older than half a
    /// wrap seems to be ahead.
    #[inline]
    pub(super) fn age_behind(now: u64, level: u64) -> Option<i64> {
        let age = Self::LEVEL.ahead(now, level);
        (age >= 0).then_some(age)
    }

    /// Returns the level of a key that has `balance` left to spend.
    #[inline]
    pub(super) fn level(now: u64, balance: i64) -> u64 {
        Self::LEVEL.wrap(now.wrapping_sub(balance as u64))
    }

    /// Returns whether a key has been expired for so long that another key may take its slot.
    #[inline]
    pub(super) fn is_free(&self, now: u64, level: u64) -> bool {
        self.age(now, level) >= self.span + self.margin
    }

    /// Returns the level of a marker that may replace a word: another key's, or the same key's if
    /// that has expired or was abandoned. `None` if no marker may.
    #[inline]
    pub(super) fn marker_over(&self, now: u64, kind: Kind, level: u64) -> Option<u64> {
        let age = self.age(now, level);
        let is_in_band = age >= self.span - self.band - self.slack;
        match kind {
            Kind::Charged if !self.is_free(now, level) => None,
            Kind::Marker if is_in_band && age < self.span + self.grace => None,
            // The band is used up until the clock moves.
            Kind::Tombstone if is_in_band && age <= self.span - self.band => None,
            Kind::Tombstone if is_in_band && age < self.span => Some(Self::level(now, age - 1)),
            _ => Some(self.marker_over_nothing(now)),
        }
    }

    /// Returns the level of a marker in a slot that was never taken.
    #[inline]
    pub(super) fn marker_over_nothing(&self, now: u64) -> u64 {
        Self::level(now, self.span - 1)
    }

    /// Returns the level of a key that was idle and is charged `cost` over a marker of `level`.
    pub(super) fn first(&self, now: u64, level: u64, (capacity, cost): (i64, i64)) -> u64 {
        let age = self.age(now, level);
        // Never below the marker. (The marker is above only if it was placed by a clock that is
        // ahead.)
        let is_above = age < capacity - cost && age >= self.span - self.band - self.slack;
        if is_above { level } else { Self::level(now, capacity - cost) }
    }

    /// Returns the level of a key that is idle by every clock, and no lower than that needs: after
    /// the next marker nothing in the slot is as low.
    #[inline]
    pub(super) fn full(&self, now: u64) -> u64 {
        Self::level(now, self.span + self.slack)
    }

    /// Returns whether the key is idle by every clock.
    #[inline]
    pub(super) fn is_full(&self, now: u64, level: u64) -> bool {
        self.age(now, level) >= self.span + self.slack
    }

    /// Returns the number of ticks after which a marker may replace the word, if it does not
    /// change.
    pub(super) fn until_free(&self, now: u64, kind: Kind, level: u64) -> i64 {
        let at = match kind {
            Kind::Charged => self.span + self.margin,
            Kind::Marker => self.span + self.grace,
            Kind::Empty | Kind::Tombstone => self.span - self.band + 1,
        };
        (at - self.age(now, level)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BITS: u32 = 8;
    const WRAP: i64 = 1 << BITS;
    const KINDS: [Kind; 4] = [Kind::Empty, Kind::Charged, Kind::Marker, Kind::Tombstone];

    /// Calls `check` for tables of few bits whose amounts go together, each with all readings of
    /// the clock.
    fn each(mut check: impl FnMut(LevelTicks<BITS>, i64, &dyn Fn(i64) -> u64)) {
        for span in [2, 5, 16] {
            for skew in [1, 3] {
                for band in [1, span - 1] {
                    let grace = span / 2;
                    let margin = 2 * skew + band;
                    for ahead in [skew, 40] {
                        let ticks = LevelTicks { span, ahead, slack: skew, margin, grace, band };
                        for now in 0..WRAP {
                            check(ticks, now, &|age| (now - age).rem_euclid(WRAP) as u64);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn an_age_is_that_of_the_level_whatever_the_clock_reads() {
        each(|ticks, now, level| {
            for age in -ticks.ahead..WRAP - ticks.ahead {
                assert_eq!(ticks.age(now as u64, level(age)), age);
                assert_eq!(LevelTicks::<BITS>::level(now as u64, age), level(age));
                // Behind, ahead by what a clock may step back, or ahead by more.
                let is_behind = LevelTicks::<BITS>::age_behind(now as u64, level(age)).is_some();
                let is_lost = LevelTicks::<BITS>::is_lost(age);
                assert_eq!(is_lost, !is_behind && age >= 0 && age != WRAP / 2, "{age}");
            }
        });
    }

    #[test]
    fn a_marker_is_above_whatever_it_replaces_and_below_whatever_is_charged() {
        each(|ticks, now, level| {
            // The levels that can be in a slot: a tombstone's level is that of some marker.
            for age in -ticks.ahead..WRAP / 2 {
                for kind in KINDS {
                    let is_marker = matches!(kind, Kind::Marker | Kind::Tombstone);
                    if is_marker && age < ticks.span - ticks.band - ticks.slack {
                        continue;
                    }
                    let Some(marker) = ticks.marker_over(now as u64, kind, level(age)) else {
                        assert!(ticks.until_free(now as u64, kind, level(age)) > 0);
                        continue;
                    };
                    let marker_age = ticks.age(now as u64, marker);
                    assert!(kind == Kind::Empty || marker_age < age, "{ticks:?} {kind:?} {age}");
                    assert!((ticks.span - ticks.band..ticks.span).contains(&marker_age));
                    let first = ticks.first(now as u64, marker, (ticks.span, 1));
                    assert!(ticks.age(now as u64, first) <= marker_age);
                    assert!(ticks.age(now as u64, first) < ticks.span);
                }
            }
        });
    }

    #[test]
    fn the_age_of_a_level_is_behind_up_to_half_a_wrap() {
        each(|_, now, level| {
            for age in -WRAP / 2..WRAP / 2 {
                let behind = LevelTicks::<BITS>::age_behind(now as u64, level(age));
                assert_eq!(behind, (age >= 0).then_some(age));
            }
        });
    }

    #[test]
    fn a_place_is_free_when_it_was_said_to_be() {
        each(|ticks, now, level| {
            for age in -ticks.ahead..ticks.span + ticks.margin + ticks.grace {
                for kind in [Kind::Charged, Kind::Marker, Kind::Tombstone] {
                    let (then, found) = (now as u64, level(age));
                    if ticks.marker_over(then, kind, found).is_none() {
                        let wait = ticks.until_free(then, kind, found) as u64;
                        assert_eq!(ticks.marker_over(then + wait - 1, kind, found), None);
                        assert_ne!(ticks.marker_over(then + wait, kind, found), None);
                    }
                }
            }
        });
    }

    #[test]
    fn a_marker_over_a_key_that_was_made_full_is_above_all_that_were_there() {
        each(|ticks, now, level| {
            // Reset now, by a clock that may be behind the one that markers were placed by.
            let highest = ticks.span - ticks.band - ticks.slack;
            let full = ticks.full(now as u64);
            assert!(ticks.is_full(now as u64, full));
            for later in 0..WRAP / 2 {
                let then = now + later;
                let marker = ticks.marker_over(then as u64, Kind::Charged, full);
                if let Some(marker) = marker {
                    let floor = level(highest);
                    assert!(ticks.age(then as u64, marker) < ticks.age(then as u64, floor));
                }
            }
        });
    }

    #[test]
    fn a_first_charge_leaves_the_marker_only_where_it_is_in_the_band_and_above_what_is_left() {
        each(|ticks, now, level| {
            let band = ticks.span - ticks.band - ticks.slack;
            for age in -ticks.ahead..WRAP / 2 {
                for cost in 1..=ticks.span {
                    let left = ticks.span - cost;
                    let first = ticks.first(now as u64, level(age), (ticks.span, cost));
                    let is_kept = (band..left).contains(&age);
                    assert_eq!(first, level(if is_kept { age } else { left }), "{ticks:?} {age}");
                }
            }
        });
    }

    #[test]
    fn a_key_is_full_by_every_clock_a_slack_after_its_span_and_no_sooner() {
        each(|ticks, now, level| {
            for age in -ticks.ahead..WRAP - ticks.ahead {
                let is_full = ticks.is_full(now as u64, level(age));
                assert_eq!(is_full, age >= ticks.span + ticks.slack, "{ticks:?} {age}");
            }
        });
    }
}
