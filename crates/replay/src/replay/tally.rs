//! Counts for each key, in bounded memory.
//!
//! All counts are exact as long as the keys fit. When they do not, the keys with the fewest denials
//! make room (Misra and Gries, *Finding repeated elements*, 1982, with the decrement of Anderson et
//! al., *A High-Performance Algorithm for Identifying Frequent Items in Data Streams*, 2017): the
//! median of the weights is taken from each, and keys without weight are forgotten. A key that comes
//! back has lost at most the sum of those medians, which is at most twice the number of denials
//! divided by the number of keys that fit. Distinct keys are then estimated (`HyperLogLog`).

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::distinct::Distinct;

/// The most bytes of keys, beside the most keys.
const MAX_KEY_BYTES: usize = 64 << 20;

/// The decisions on one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines that were admitted.
    pub allowed: u64,
    /// Lines among them that were admitted with permits which were lent to the key.
    pub borrowed: u64,
    /// Lines that were refused.
    pub denied: u64,
    /// Lines that were admitted after a wait.
    pub delayed: u64,
    /// The longest wait, in nanoseconds.
    pub longest_nanos: u64,
    /// The stamp of the first line that was counted, in nanoseconds since 1970. A late line has that
    /// of the line before it.
    pub first_nanos: u64,
    /// The stamp of the last line that was counted.
    pub last_nanos: u64,
    /// The most lines that were refused or delayed, and are missing from the counts: 0 while all
    /// keys fit.
    pub missed: u64,
}

/// The tallies of the keys that were refused or delayed most often.
#[derive(Debug)]
pub(super) struct Tallies {
    slots: HashTable<Slot>,
    most: usize,
    key_bytes: usize,
    /// The most refusals that a key which is not kept may have had.
    missed: u64,
    is_exact: bool,
    distinct: Distinct,
}

#[derive(Debug)]
struct Slot {
    hash: u64,
    key: Box<[u8]>,
    weight: u64,
    tally: Tally,
}

impl Tallies {
    /// Starts with no key. Keeps at most `most`.
    pub(super) fn new(most: usize) -> Tallies {
        Tallies {
            slots: HashTable::new(),
            most: most.max(2),
            key_bytes: 0,
            missed: 0,
            is_exact: true,
            distinct: Distinct::default(),
        }
    }

    /// Counts an admission after a wait, or a refusal (`None`), of a line of that stamp.
    pub(super) fn count(&mut self, key: &[u8], wait_nanos: Option<u64>, stamp_nanos: u64) {
        let hash = super::distinct::hash(key);
        let slot = match self.slots.entry(hash, |slot| *slot.key == *key, |slot| slot.hash) {
            Entry::Occupied(slot) => slot.into_mut(),
            Entry::Vacant(place) => {
                self.distinct.add(hash);
                self.key_bytes += key.len();
                let (first_nanos, missed) = (stamp_nanos, self.missed);
                let tally = Tally { first_nanos, missed, ..Tally::default() };
                place.insert(Slot { hash, key: key.into(), weight: 0, tally }).into_mut()
            }
        };
        slot.tally.last_nanos = stamp_nanos;
        match wait_nanos {
            None => slot.tally.denied += 1,
            Some(wait_nanos) => {
                slot.tally.allowed += 1;
                slot.tally.delayed += u64::from(wait_nanos > 0);
                slot.tally.longest_nanos = slot.tally.longest_nanos.max(wait_nanos);
            }
        }
        slot.weight += u64::from(wait_nanos != Some(0));
        if self.slots.len() > self.most || self.key_bytes > MAX_KEY_BYTES {
            self.make_room();
        }
    }

    /// Notes that the line of the key which was counted last was admitted with permits that were lent.
    pub(super) fn count_borrowed(&mut self, key: &[u8]) {
        let hash = super::distinct::hash(key);
        if let Some(slot) = self.slots.find_mut(hash, |slot| *slot.key == *key) {
            slot.tally.borrowed += 1;
        }
    }

    /// Forgets at least half of the keys.
    fn make_room(&mut self) {
        self.is_exact = false;
        let mut weights: Vec<u64> = self.slots.iter().map(|slot| slot.weight).collect();
        let middle = weights.len() / 2;
        let (_, &mut median, _) = weights.select_nth_unstable(middle);
        self.missed += median;
        let mut key_bytes = 0;
        self.slots.retain(|slot| {
            slot.weight = slot.weight.saturating_sub(median);
            let is_kept = slot.weight > 0;
            key_bytes += if is_kept { slot.key.len() } else { 0 };
            is_kept
        });
        self.key_bytes = key_bytes;
    }

    /// Returns true if every key is kept.
    pub(super) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Returns the most refusals that a key which is not kept may have had.
    pub(super) fn missed(&self) -> u64 {
        self.missed
    }

    /// Returns the number of distinct keys that were counted; an estimate if not all are kept.
    pub(super) fn keys(&self) -> usize {
        if self.is_exact { self.slots.len() } else { self.distinct.estimate() }
    }

    /// Returns the keys that are kept, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &Tally)> {
        self.slots.iter().map(|slot| (&*slot.key, &slot.tally))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_while_keys_fit() {
        let mut tallies = Tallies::new(100);
        for turn in 0..1000_u64 {
            tallies.count(&(turn % 100).to_be_bytes(), (turn % 3 == 0).then_some(0), turn);
        }
        assert!(tallies.is_exact());
        assert_eq!((tallies.keys(), tallies.missed()), (100, 0));
        assert_eq!(tallies.iter().map(|(_, tally)| tally.denied).sum::<u64>(), 666);
        for (key, tally) in tallies.iter() {
            let key = u64::from_be_bytes(key.try_into().unwrap());
            assert_eq!((tally.first_nanos, tally.last_nanos), (key, 900 + key));
        }
    }

    #[test]
    fn the_most_denied_keys_are_found_among_many() {
        let mut tallies = Tallies::new(1000);
        let mut denials = 0;
        for turn in 0..200_000_u64 {
            tallies.count(&turn.to_be_bytes(), (turn % 2 == 0).then_some(0), turn);
            denials += turn % 2;
            if turn % 10 == 0 {
                tallies.count(b"often", None, turn);
                denials += 1;
            }
        }
        assert!(!tallies.is_exact());
        assert!(tallies.missed() <= 2 * denials / 1000, "{}", tallies.missed());
        let (_, often) = tallies.iter().find(|(key, _)| *key == b"often").unwrap();
        assert!(often.denied <= 20_000 && often.denied + often.missed >= 20_000, "{often:?}");
        assert!(tallies.slots.len() <= 1001);
        let keys = tallies.keys();
        assert!((190_000..210_000).contains(&keys), "{keys}");
    }

    #[test]
    fn long_keys_are_bounded_by_their_bytes() {
        let mut tallies = Tallies::new(1 << 20);
        for turn in 0..3000_u64 {
            let mut key = vec![b'a'; 60_000];
            key.extend_from_slice(&turn.to_be_bytes());
            tallies.count(&key, Some(0), turn);
        }
        assert!(tallies.key_bytes <= MAX_KEY_BYTES && !tallies.is_exact());
    }
}
