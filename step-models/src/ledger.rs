//! A record of what was granted and still counts: the truth that the protocols are held against. No
//! thread of a model can see it.

use std::hash::{Hash, Hasher};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Grant {
    pub(crate) time: i8,
    pub(crate) permits: u8,
    /// Its place in the log, if the limiter keeps one.
    pub(crate) index: u8,
}

/// By what time the grants of a log are judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Judge {
    /// Their dates.
    Dates,
    /// An instant between call and return: the date, unless that is ahead.
    Instants,
}

/// The grants, in order of time, so that the order in which they were made does
/// not make two states of one.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Ledger(Vec<Grant>);

impl Ledger {
    pub(crate) fn add(&mut self, grant: Grant) {
        let place = self.0.partition_point(|other| *other < grant);
        self.0.insert(place, grant);
    }

    /// Takes a grant out. Returns false if there is none.
    pub(crate) fn remove(&mut self, grant: Grant) -> bool {
        let place = self.0.iter().position(|other| *other == grant);
        place.map(|place| self.0.remove(place)).is_some()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn keep_from_index(&mut self, first: u8) {
        self.0.retain(|grant| grant.index >= first);
    }

    /// Permits later than `after` and no later than `until`.
    pub(crate) fn between(&self, after: i8, until: i8) -> u8 {
        let inside = |grant: &&Grant| after < grant.time && grant.time <= until;
        self.0.iter().filter(inside).map(|grant| grant.permits).sum()
    }

    /// The most permits in any window of `span` instants.
    pub(crate) fn most_in(&self, span: i8) -> u8 {
        self.0.iter().map(|last| self.between(last.time - span, last.time)).max().unwrap_or(0)
    }

    /// Returns whether there was an instant from `from` to `to` at which `permits` more would have
    /// been more than `limit` in the `span` up to it.
    pub(crate) fn was_full(&self, from: i8, to: i8, span: i8, permits: u8, limit: u8) -> bool {
        (from..=to).any(|time| self.between(time - span, time) + permits > limit)
    }

    /// The same for a log of so many entries, whose time is no earlier than its last
    /// entry's.
    pub(crate) fn log_was_full(
        &self,
        (from, to): (i8, i8),
        span: i8,
        permits: u8,
        limit: u8,
        capacity: usize,
    ) -> bool {
        let Some(last) = self.0.last().map(|grant| grant.time) else { return permits > limit };
        let (from, to) = (from.max(last), to.max(last));
        // What is left of the window when it first can be judged.
        let entries = self.0.iter().filter(|grant| grant.time > from - span).count();
        entries >= capacity || self.was_full(from, to, span, permits, limit)
    }

    /// The most permits by which the grants exceed a bucket that holds `cap` and
    /// earns one an instant.
    pub(crate) fn excess(&self, cap: i8) -> i8 {
        let mut worst = 0;
        for (place, first) in self.0.iter().enumerate() {
            let mut spent = 0;
            for grant in &self.0[place..] {
                spent += grant.permits as i8;
                worst = worst.max(spent - (cap + grant.time - first.time));
            }
        }
        worst
    }
}

impl Hash for Ledger {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for grant in &self.0 {
            let word = [grant.time as u8, grant.permits, grant.index, 1];
            hasher.write_u64(u64::from(u32::from_le_bytes(word)));
        }
    }
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("granted")?;
        self.0.iter().try_for_each(|grant| write!(f, " {}@{}", grant.permits, grant.time))
    }
}
