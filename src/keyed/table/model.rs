//! Access to a table for the models only.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};

use crate::time::clock::Clock;

use super::KeyTable;
use super::home::KeyHome;
use super::key_word::{KeyWord, Kind};
use super::line::{Line, SlotIndex};

impl<K: Hash + ?Sized, S: BuildHasher, C: Clock> KeyTable<K, S, C> {
    /// Returns the home of a key with `hash` in a table of `lines` lines, its other line, and its
    /// fingerprint.
    #[must_use]
    pub fn place_of(hash: u64, lines: usize) -> (usize, usize, u32) {
        let place = KeyHome::of_hash(hash, lines);
        (place.home, place.other(lines), place.fingerprint.get())
    }

    /// Returns the fingerprints of all charged words, expired or not.
    #[must_use]
    pub fn charged(&self) -> Vec<u32> {
        let words = self.table.lines().iter().flat_map(Line::words);
        words.filter(|word| word.kind() == Kind::Charged).map(KeyWord::fingerprint).collect()
    }

    /// Places a marker of a new key in an empty line, like a call that is held up once it has seen
    /// that no other word of the key is there. Returns the marker's level, if the slot was empty.
    #[must_use]
    pub fn mark(&self, key: &K) -> Option<u64> {
        let place = self.place(key);
        let pair = self.table.pair(place);
        let at = SlotIndex(pair.home(), 0);
        let (_, now) = self.table.time();
        let level = self.table.ticks.marker_over(now, Kind::Empty, 0)?;
        let marker = KeyWord::marker(place.fingerprint, level);
        pair.replace(at, KeyWord::default(), marker).then_some(marker.level())
    }

    /// Does the rest of that call, for one permit, given the level of its marker. Returns whether
    /// the marker was still there.
    #[must_use]
    pub fn charge_marker(&self, key: &K, level: u64) -> bool {
        let place = self.place(key);
        let pair = self.table.pair(place);
        let at = SlotIndex(pair.home(), 0);
        let (_, now) = self.table.time();
        let marker = KeyWord::marker(place.fingerprint, level);
        let first = self.first.terms();
        let level = self.table.ticks.first(now, level, (first.capacity, first.cost));
        pair.replace(at, marker, KeyWord::charged(place.fingerprint, level))
    }
}
