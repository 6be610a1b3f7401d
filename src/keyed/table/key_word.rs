//! The word of one key, and what may become of it. No atomics here.
//!
//! ```text
//!  bit 63               40   39   38                                     0
//!     +-------------------+--------+--------------------------------------+
//!     | FINGERPRINT (24)  | MARKED |            LEVEL (39 bits)           |
//!     +-------------------+--------+--------------------------------------+
//! ```
//!
//! | fingerprint | marked | the word is | and its level is |
//! |-------|--------|-------------|------------------|
//! | 0     | 0      | empty: the slot was never taken | 0 |
//! | f     | 0      | *charged*: the state of the key with this fingerprint | the ticks that the key has spent |
//! | f     | 1      | a *marker*: a slot that is being taken for the key | below what the key will be charged |
//! | 0     | 1      | a *tombstone*: a marker was taken back here, or a key swept away | that of any marker before, or more |
//!
//! | from      | charge, hit        | taken back, swept     | marker of another key       |
//! |-----------|--------------------|-----------------------|-----------------------------|
//! | charged   | level + cost       | tombstone, if expired | if expired: a new level     |
//! | marker    | charged, from full | tombstone             | if abandoned: a new level   |
//! | tombstone |                    | tombstone, if expired | level + 1, or a new level   |
//! | empty     |                    |                       | a new level                 |
//!
//! (And a removal makes a charged word idle; a receipt puts back the state before its grant.)
//!
//! The levels of the markers of a slot only rise, so **no marker comes back**: a caller that took a
//! slot, or saw it taken, and finds the marker still there knows that nothing happened to the slot
//! in between.

use core::fmt;

use crate::bits::Field;
use crate::sync::Word;

/// Number of bits of a level.
pub(super) const LEVEL_BITS: u32 = 39;

/// Ticks spent, modulo 2^39.
const LEVEL: Field = Field::low(LEVEL_BITS);

/// Set in markers and tombstones.
const MARKED: Field = LEVEL.then(1);

/// The key's fingerprint: 24 bits of its hash, never 0.
const FINGERPRINT: Field = MARKED.then(24);

const _: () = assert!(FINGERPRINT.end() == u64::BITS, "the fields fill the word");

/// The part of a key's hash that its word stores: from 1 to 2^24 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint(u32);

impl Fingerprint {
    /// Returns the fingerprint in the lowest bits of a hash.
    #[inline]
    pub(super) fn of_hash(hash: u64) -> Fingerprint {
        // 0 stands for no key, so keys that would have it share fingerprint 1.
        Fingerprint((hash & FINGERPRINT.max()).max(1) as u32)
    }

    #[inline]
    pub(super) fn get(self) -> u32 {
        self.0
    }
}

/// The word of one slot. The default is an empty one.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct KeyWord(u64);

/// The kinds of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Empty,
    Charged,
    Marker,
    Tombstone,
}

impl KeyWord {
    #[inline]
    pub(super) fn charged(fingerprint: Fingerprint, level: u64) -> KeyWord {
        KeyWord(FINGERPRINT.put(u64::from(fingerprint.0)) | LEVEL.wrap(level))
    }

    #[inline]
    pub(super) fn marker(fingerprint: Fingerprint, level: u64) -> KeyWord {
        KeyWord(FINGERPRINT.put(u64::from(fingerprint.0)) | MARKED.put(1) | LEVEL.wrap(level))
    }

    #[inline]
    pub(super) fn tombstone(level: u64) -> KeyWord {
        KeyWord(MARKED.put(1) | LEVEL.wrap(level))
    }

    #[inline]
    pub(super) fn level(self) -> u64 {
        LEVEL.get(self.0)
    }

    /// Returns the same word with another level.
    #[inline]
    pub(super) fn with_level(self, level: u64) -> KeyWord {
        KeyWord(self.0 & !LEVEL.put(LEVEL.max()) | LEVEL.wrap(level))
    }

    /// Returns whether this is the state of the key with `fingerprint`, expired or not.
    #[inline]
    pub(super) fn is_charged(self, fingerprint: Fingerprint) -> bool {
        self.0 >> MARKED.start() == u64::from(fingerprint.0) << 1
    }

    /// Returns whether this is a marker of the key with `fingerprint`.
    #[inline]
    pub(super) fn is_marker(self, fingerprint: Fingerprint) -> bool {
        self.0 >> MARKED.start() == u64::from(fingerprint.0) << 1 | 1
    }

    /// Returns whether this is a marker or a tombstone.
    #[inline]
    pub(super) fn is_marked(self) -> bool {
        MARKED.get(self.0) != 0
    }

    /// Returns whether this is empty or a tombstone.
    #[inline]
    pub(super) fn is_vacant(self) -> bool {
        FINGERPRINT.get(self.0) == 0
    }

    /// Returns whether this is the state or a marker of the key with `fingerprint`.
    #[inline]
    pub(super) fn is_of(self, fingerprint: Fingerprint) -> bool {
        self.0 >> FINGERPRINT.start() == u64::from(fingerprint.0)
    }

    #[inline]
    pub(super) fn fingerprint(self) -> u32 {
        FINGERPRINT.get(self.0) as u32
    }

    #[inline]
    pub(super) fn kind(self) -> Kind {
        match (FINGERPRINT.get(self.0), MARKED.get(self.0)) {
            (0, 0) => Kind::Empty,
            (0, _) => Kind::Tombstone,
            (_, 0) => Kind::Charged,
            _ => Kind::Marker,
        }
    }
}

impl Word for KeyWord {
    #[inline]
    fn from_bits(bits: u64) -> KeyWord {
        KeyWord(bits)
    }

    #[inline]
    fn to_bits(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for KeyWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Kind::Empty => write!(f, "empty"),
            Kind::Charged => write!(f, "{:06x} at {}", self.fingerprint(), self.level()),
            Kind::Marker => write!(f, "marker of {:06x} at {}", self.fingerprint(), self.level()),
            Kind::Tombstone => write!(f, "tombstone at {}", self.level()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_kinds_are_told_apart_and_keep_their_parts() {
        let (fingerprint, most) = (Fingerprint::of_hash(u64::MAX), LEVEL.max());
        let other = Fingerprint::of_hash(7);
        let words = [
            (KeyWord::default(), Kind::Empty, 0, 0),
            (KeyWord::charged(fingerprint, most), Kind::Charged, 0xff_ffff, most),
            (KeyWord::charged(other, 0), Kind::Charged, 7, 0),
            (KeyWord::marker(fingerprint, 0), Kind::Marker, 0xff_ffff, 0),
            (KeyWord::marker(other, most), Kind::Marker, 7, most),
            (KeyWord::tombstone(0), Kind::Tombstone, 0, 0),
            (KeyWord::tombstone(most), Kind::Tombstone, 0, most),
        ];
        for (word, kind, fingerprint, level) in words {
            assert_eq!((word.kind(), word.fingerprint(), word.level()), (kind, fingerprint, level));
            for key in [Fingerprint::of_hash(u64::MAX), other] {
                let is_of_key = word.fingerprint() == key.get();
                assert_eq!(word.is_charged(key), is_of_key && kind == Kind::Charged);
                assert_eq!(word.is_marker(key), is_of_key && kind == Kind::Marker);
            }
            assert_eq!(KeyWord::from_bits(word.to_bits()), word);
        }
    }

    #[test]
    fn levels_wrap_and_no_print_is_that_of_an_empty_word() {
        assert_eq!(KeyWord::charged(Fingerprint::of_hash(1), LEVEL.max() + 3).level(), 2);
        assert_eq!(Fingerprint::of_hash(0), Fingerprint::of_hash(1));
        assert_eq!(Fingerprint::of_hash(FINGERPRINT.max() + 1), Fingerprint::of_hash(1));
    }
}
