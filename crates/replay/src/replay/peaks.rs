//! The peak of each key: the highest level that its requests would have reached if none had been
//! refused, in the limiter's own span.
//!
//! A limiter admits all requests of a key whose peak is at most its limit, so the peaks tell which
//! keys a limit cuts off, and which a higher one still would. They do not depend on the limit.
//!
//! Peaks are exact as long as the keys fit. When they do not, half of the keys are forgotten, chosen by
//! their hashes, and no more such keys are taken: those that are kept are a sample of all, and each
//! of them has been followed from its first request.

mod level;
mod part;
mod trail;

use bstr::{BStr, BString};
use hashbrown::HashMap;

use self::level::Level;
pub use self::part::Part;
use super::distinct;
use crate::policy::{Rule, readable};

/// The most bytes of keys and their levels, beside the most keys.
const MAX_BYTES: usize = 64 << 20;

/// Bytes of an entry without its key and its levels, in a table that may be half empty.
const ENTRY_BYTES: usize = 96;

/// The peaks of the keys of one limiter.
#[derive(Debug)]
pub struct Peaks {
    parts: Vec<Part>,
    keys: HashMap<BString, Box<[Level]>>,
    most: usize,
    bytes: usize,
    /// One key in two to this power is kept.
    halvings: u32,
}

/// The peak of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Permits, rounded up; but no more than the limit if that was enough.
    pub permits: u64,
    /// True if that was more than the limit.
    pub is_over: bool,
}

impl Peaks {
    /// Starts with no key. Keeps at most `most`.
    pub(super) fn new(rule: &Rule, most: usize) -> Peaks {
        let parts = Part::of(&rule.kind);
        Peaks { parts, keys: HashMap::new(), most: most.max(2), bytes: 0, halvings: 0 }
    }

    /// Counts a request that arrives at `now_nanos`, which is no earlier than the one before it.
    pub(super) fn count(&mut self, key: &[u8], permits: u64, now_nanos: u64) {
        if !is_kept(key, self.halvings) {
            return;
        }
        let (parts, bytes) = (&mut self.parts, &mut self.bytes);
        let levels = self.keys.entry_ref(BStr::new(key)).or_insert_with(|| {
            *bytes += ENTRY_BYTES + key.len() + size_of::<Level>() * parts.len();
            vec![Level::default(); parts.len()].into()
        });
        for (part, level) in parts.iter_mut().zip(levels) {
            let before = level.trail_bytes();
            part.raise(level, permits, now_nanos);
            *bytes = *bytes + level.trail_bytes() - before;
        }
        while self.keys.len() > self.most || (self.bytes > MAX_BYTES && self.keys.len() > 1) {
            self.halve();
        }
    }

    fn halve(&mut self) {
        self.halvings += 1;
        let halvings = self.halvings;
        self.bytes = 0;
        self.keys.retain(|key, levels| {
            let kept = is_kept(key, halvings);
            if kept {
                let levels: usize = levels.iter().map(Level::bytes).sum();
                self.bytes += ENTRY_BYTES + key.len() + levels;
            }
            kept
        });
    }

    /// Returns about the bytes that it takes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Returns the parts of the limiter that have a limit each: one, or those of several windows or
    /// limiters.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the number of keys for each of which one is kept: 1 if all are.
    #[must_use]
    pub fn sampled(&self) -> u64 {
        1 << self.halvings
    }

    /// Returns the peaks of all keys that are kept in one of the parts, in no order.
    pub fn of_part(&self, part: usize) -> impl Iterator<Item = Peak> {
        self.keys.values().filter_map(move |levels| Some(self.parts[part].peak(levels.get(part)?)))
    }

    /// Returns the keys that are kept, as they are shown, each with its peak in every part; in no
    /// order.
    pub fn of_keys(&self) -> impl Iterator<Item = (String, Vec<Peak>)> {
        self.keys.iter().map(|(key, levels)| {
            let peaks = self.parts.iter().zip(levels).map(|(part, level)| part.peak(level));
            (readable(key), peaks.collect())
        })
    }

    /// Returns true if a part has a key with so many requests that they were counted in steps.
    #[must_use]
    pub fn is_stepped(&self, part: usize) -> bool {
        self.keys.values().any(|levels| levels.get(part).is_some_and(Level::is_stepped))
    }
}

/// Returns true if a key is one of those that are kept.
fn is_kept(key: &[u8], halvings: u32) -> bool {
    halvings == 0 || distinct::hash(key).trailing_zeros() >= halvings
}

#[cfg(test)]
mod tests;
