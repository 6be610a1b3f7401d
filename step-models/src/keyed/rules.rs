//! Pure rules: functions of words and a reading of the clock, with no access to anything.
//!
//! A level says when its key's bucket is full again: what a key has at `now` is
//! `now - level`, and at most its capacity.

use super::*;

#[derive(Clone, Copy)]
pub(super) enum Decision {
    Deny,
    /// The key is in this place, and its level counts as `base`.
    Hit {
        place: u8,
        base: i8,
    },
    /// In this place is a marker of the key.
    Join {
        place: u8,
    },
    Miss,
}

impl Scene {
    /// Returns the time since the level. Only levels a little ahead are known to be ahead.
    pub(super) fn age(&self, now: i8, level: i8) -> i8 {
        let Some(modulus) = self.modulus else { return now - level };
        let age = (now - level).rem_euclid(modulus);
        if age < modulus - self.ahead() { age } else { age - modulus }
    }

    pub(super) fn level(&self, level: i8) -> i8 {
        self.modulus.map_or(level, |modulus| level.rem_euclid(modulus))
    }

    pub(super) fn is_live(&self, now: i8, level: i8, longer: i8) -> bool {
        let age = self.age(now, level);
        -self.ahead() <= age && age < self.cap + longer
    }

    /// The most by which a level may be ahead of a reading and still count as a level.
    fn ahead(&self) -> i8 {
        if self.is(Mutant::ForgetsSteps) { self.slack } else { self.ahead.unwrap_or(self.slack) }
    }

    /// The time for which a key's word is kept beyond its life. The word may be below a marker that
    /// was there: by the band that markers have, by the slack that makes it full by every clock,
    /// and by what the reading was late when it was made full.
    pub(super) fn margin(&self) -> i8 {
        let band = if self.is(Mutant::NoBandInMargin) { 0 } else { self.band };
        let slacks = match () {
            () if self.is(Mutant::NoSlackInMargin) => 0,
            () if self.is(Mutant::OneSlackInMargin) => 1,
            () => 2,
        };
        slacks * self.slack + band
    }

    /// Returns whether a key of this level is full by every clock.
    pub(super) fn is_full(&self, now: i8, level: i8) -> bool {
        self.age(now, level) >= self.cap + self.slack
    }

    /// The word of a key that is full by every clock, and no lower than that.
    pub(super) fn full(&self, key: Key, now: i8) -> Word {
        let slack = if self.is(Mutant::ResetsToSpan) { 0 } else { self.slack };
        Word::charged(key.print, self.level(now - self.cap - slack))
    }

    /// Returns the word that gives back a hit of this word that was decided at this reading.
    pub(super) fn as_it_was(&self, key: Key, now: i8, seen: Word) -> Word {
        if self.is_full(now, seen.level()) { self.full(key, now) } else { seen }
    }

    /// Returns the value that a level counts as, and the permits left.
    pub(super) fn base(&self, now: i8, level: i8, cap: i8) -> (i8, i8) {
        let age = self.age(now, level);
        if -self.ahead() <= age && age < cap { (level, age) } else { (now - cap, cap) }
    }

    /// Returns whether the marker over a tombstone has to be above its level.
    fn is_in_band(&self, now: i8, level: i8, longer: i8) -> bool {
        let age = self.age(now, level);
        self.cap - self.band - self.slack <= age && age < self.cap + longer
    }

    /// Returns whether there is no level left for a marker over this tombstone.
    pub(super) fn is_used_up(&self, now: i8, word: Word) -> bool {
        word.is_tombstone()
            && !self.is(Mutant::SameMark)
            && self.is_in_band(now, word.level(), 0)
            && self.age(now, word.level()) - 1 < self.cap - self.band
    }

    /// The level of a marker over this word, if it may go.
    pub(super) fn mark_level(&self, now: i8, word: Word) -> Option<i8> {
        let least = self.level(now - self.cap + 1);
        if word.is_empty() {
            return Some(least);
        }
        if word.is_tombstone() {
            if self.is(Mutant::SameMark) || !self.is_in_band(now, word.level(), 0) {
                return Some(least);
            }
            return (!self.is_used_up(now, word)).then(|| self.level(word.level() + 1));
        }
        let stays = if word.is_marked() {
            self.is_in_band(now, word.level(), self.grace) && !self.is(Mutant::TakesMarks)
        } else {
            self.is_live(now, word.level(), self.margin())
        };
        (!stays).then_some(least)
    }

    /// Decides what a take does that has seen these words at this reading.
    pub(super) fn decide(&self, key: Key, permits: i8, seen: &[Word], now: i8) -> Decision {
        for (place, word) in seen.iter().enumerate() {
            let counts = !self.is(Mutant::ExpiredIsAbsent) || self.is_live(now, word.level(), 0);
            if word.is_charged(key.print) && counts {
                let (base, left) = self.base(now, word.level(), self.cap_of(key));
                if left < permits {
                    return Decision::Deny;
                }
                return Decision::Hit { place: place as u8, base };
            }
        }
        let mut lowest = None;
        for (place, word) in seen.iter().enumerate() {
            if word.is_marker(key.print) && !self.is(Mutant::NoJoin) {
                let slot = self.slot(key, place as u8);
                if lowest.is_none_or(|(other, _)| slot < other) {
                    lowest = Some((slot, place as u8));
                }
            }
        }
        lowest.map_or(Decision::Miss, |(_, place)| Decision::Join { place })
    }

    /// The places in which a marker may be put, and whether the band of one is used up.
    pub(super) fn free(&self, key: Key, seen: &[Word], now: i8) -> (Vec<(u8, i8)>, bool) {
        let mut free: Vec<(u8, i8)> = Vec::new();
        let mut is_used_up = false;
        for (place, &word) in seen.iter().enumerate() {
            let place = place as u8;
            is_used_up |= self.is_used_up(now, word);
            let Some(level) = self.mark_level(now, word) else { continue };
            match self.placing {
                Placing::HomeFirst if !free.is_empty() => {}
                Placing::Lowest if !free.is_empty() => {
                    if self.slot(key, place) < self.slot(key, free[0].0) {
                        free[0] = (place, level);
                    }
                }
                _ => free.push((place, level)),
            }
        }
        (free, is_used_up)
    }

    /// Returns whether a sweep clears this word.
    pub(super) fn is_swept(&self, now: i8, word: Word) -> bool {
        !word.is_empty()
            && (self.is(Mutant::SweepsLive) || !self.is_live(now, word.level(), self.margin()))
    }

    /// The word that a sweep leaves. It is never the empty word: then a marker could be put there
    /// by a reading from before, and be the same as one that its owner still means to charge.
    pub(super) fn swept(&self, now: i8) -> Word {
        if self.is(Mutant::SweepsToNothing) {
            return Word::EMPTY;
        }
        Word::tombstone(self.level(now - self.cap))
    }

    /// The word that is left of a marker that is taken back.
    pub(super) fn buried(&self, mark: Word) -> Word {
        if self.is(Mutant::BuriesNothing) { Word::EMPTY } else { Word::tombstone(mark.level()) }
    }

    /// The word that a marker becomes when it is charged.
    pub(super) fn charged(&self, key: Key, permits: i8, mark: Word, now: i8) -> Word {
        let cap = self.cap_of(key);
        let age = self.age(now, mark.level());
        let is_above = age < cap - permits && age >= self.cap - self.band - self.slack;
        if is_above && !self.is(Mutant::BelowMark) {
            return Word::charged(key.print, mark.level());
        }
        Word::charged(key.print, self.level(now - cap + permits))
    }
}
