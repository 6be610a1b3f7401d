//! One named limiter of the policy at work: a store of the engine, and the counts.

use std::sync::Arc;
use std::time::Duration;

use bstr::{BString, ByteSlice};
use hashbrown::HashMap;
use indicatif::{HumanBytes, HumanCount};
use sluicegate::{Clock, Denied, ManualClock, Occupancy};

use super::keys::{Answer, Keys, keys};
use super::shape::Shape;
use super::{Timeline, Waits};
use crate::log::Line;
use crate::policy::Rule;

/// Separator of the fields of a key. No field contains it, since no line does.
const SEPARATOR: &[u8] = b"\n";

/// The most bytes that the logs of one limiter's keys may take: a replay that needs more fails
/// instead of filling the machine's memory.
const MAX_LOG_BYTES: u64 = 4 << 30;

/// A rule, and the counts of its decisions so far.
#[derive(Debug)]
pub struct Judge {
    rule: Rule,
    /// Created at the first line, which sets the clock.
    store: Option<Box<dyn Keys>>,
    /// The lines of the keys, if they wait instead of being refused. There is no store then.
    shape: Option<Shape>,
    /// The most keys that an exact store knew at a time.
    known: usize,
    keys: HashMap<BString, Tally>,
    timeline: Timeline,
    allowed: u64,
    denied: u64,
    full: u64,
    /// Refusals by each part of the limiter, if it has several.
    denied_by: Vec<u64>,
    /// Bytes that the logs of a key take.
    log_bytes: u64,
    /// The key of the current line; kept to reuse its memory.
    key: BString,
}

/// The decisions on one key so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines that were admitted.
    pub allowed: u64,
    /// Lines that were refused.
    pub denied: u64,
    /// Lines that were admitted after a wait.
    pub delayed: u64,
    /// The longest wait, in nanoseconds.
    pub longest_nanos: u64,
}

impl Judge {
    pub(super) fn new(rule: Rule) -> Judge {
        Judge {
            denied_by: vec![0; rule.kind.parts().len()],
            log_bytes: rule.kind.log_bytes(),
            rule,
            store: None,
            shape: None,
            known: 0,
            keys: HashMap::new(),
            timeline: Timeline::default(),
            allowed: 0,
            denied: 0,
            full: 0,
            key: BString::default(),
        }
    }

    /// Lets lines wait instead of refusing them.
    pub(super) fn shaping(rule: Rule, within: Option<Duration>) -> Judge {
        Judge { shape: Some(Shape::new(within)), ..Judge::new(rule) }
    }

    /// Judges a line. `nanos` is the time since the first line, for the timeline.
    pub(super) fn judge(&mut self, line: &Line<'_>, nanos: u64, clock: &Arc<ManualClock>) {
        if !self.rule.filter.lets_through(line) {
            return;
        }
        self.key.clear();
        for (place, field) in self.rule.key.iter().enumerate() {
            if place > 0 {
                self.key.extend_from_slice(SEPARATOR);
            }
            self.key.extend_from_slice(line.field(*field));
        }
        let (decision, is_full) = self.decide(self.rule.cost.of(line), clock);

        let tally = self.keys.entry_ref(&self.key).or_default();
        match decision {
            Ok(wait_nanos) => {
                tally.allowed += 1;
                tally.delayed += u64::from(wait_nanos > 0);
                tally.longest_nanos = tally.longest_nanos.max(wait_nanos);
                self.allowed += 1;
            }
            Err(denied) => {
                tally.denied += 1;
                self.denied += 1;
                // A denial for want of space comes from none of the parts.
                if let (false, Some(by)) = (is_full, self.denied_by.get_mut(denied.which())) {
                    *by += 1;
                }
            }
        }
        self.full += u64::from(is_full);
        self.timeline.record(nanos, decision.is_ok());
    }

    /// Asks for permits for the present key. Returns its wait or the denial, and whether there was
    /// no space for the key.
    fn decide(&mut self, permits: u64, clock: &Arc<ManualClock>) -> (Result<u64, Denied>, bool) {
        if let Some(shape) = &mut self.shape {
            let wait =
                shape.arrive(self.rule.kind_of(&self.key), &self.key, permits, clock.now_nanos());
            self.known = shape.keys();
            return (wait, false);
        }
        let store = self.store.get_or_insert_with(|| keys(&self.rule, clock));
        let Answer { decision, is_full } = store.try_acquire(&self.key, permits);
        if store.table().is_none() {
            self.known = self.known.max(store.known());
        }
        (decision.map(|_| 0), is_full)
    }

    /// Returns a message if its logs take more memory than they may.
    pub(super) fn too_large(&self) -> Option<String> {
        let Judge { rule, known, log_bytes, .. } = self;
        let bytes = (*known as u64).saturating_mul(*log_bytes);
        (bytes > MAX_LOG_BYTES).then(|| {
            format!(
                "limiter \"{}\" takes more than {}: {} for each of {} keys; lower its limit or \
                 capacity, or take a sliding_window",
                rule.name,
                HumanBytes(MAX_LOG_BYTES),
                HumanBytes(*log_bytes),
                HumanCount(*known as u64),
            )
        })
    }

    /// Returns the rule that it judges by.
    #[must_use]
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// Returns the number of lines that it admitted.
    #[must_use]
    pub fn allowed(&self) -> u64 {
        self.allowed
    }

    /// Returns the number of lines that it refused.
    #[must_use]
    pub fn denied(&self) -> u64 {
        self.denied
    }

    /// Returns the number of lines that each part of the limiter refused, in the order of
    /// [`Kind::parts`](crate::policy::Kind::parts). A line that several parts refused
    /// counts for the part with the longest wait.
    #[must_use]
    pub fn denied_by(&self) -> &[u64] {
        &self.denied_by
    }

    /// Returns the number of lines for whose key the store had no space, so that the policy's
    /// `when_full` decided.
    #[must_use]
    pub fn full(&self) -> u64 {
        self.full
    }

    /// Returns the most keys that an exact store knew at a time; 0 for a table.
    #[must_use]
    pub fn known(&self) -> usize {
        self.known
    }

    /// Returns the bytes and the occupancy of a table; `None` for an exact store.
    #[must_use]
    pub fn table(&self) -> Option<(usize, Occupancy)> {
        let table = self.store.as_ref()?.table()?;
        Some((table.memory_bytes(), table.occupancy()))
    }

    /// Returns how long its lines waited; `None` if it refused them instead.
    #[must_use]
    pub fn waits(&self) -> Option<&Waits> {
        self.shape.as_ref().map(Shape::waits)
    }

    /// Returns its admissions and refusals over time, by the times at which lines arrived.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Returns the number of distinct keys that it saw.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.keys.len()
    }

    /// Returns every key with its tally, in no order. The fields of a key are separated by a
    /// space; bytes that are not UTF-8 are replaced.
    pub fn tallies(&self) -> impl Iterator<Item = (String, &Tally)> {
        self.keys
            .iter()
            .map(|(key, tally)| (key.replace(SEPARATOR, " ").to_str_lossy().into_owned(), tally))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    #[test]
    fn logs_that_take_more_memory_than_they_may_are_said_to() {
        let policy = "[[limiter]]\nname = \"a\"\nkey = \"client\"\npolicy = \"sliding_log\"\n\
                      limit = 10_000_000\ninterval = \"1 day\"";
        let mut policy = Policy::parse("test.toml", policy).unwrap();
        let mut judge = Judge::new(policy.rules.remove(0));
        judge.known = 32;
        assert_eq!(judge.too_large(), None);
        judge.known = 33;
        assert_eq!(
            judge.too_large().unwrap(),
            "limiter \"a\" takes more than 4.00 GiB: 128.00 MiB for each of 33 keys; lower its \
             limit or capacity, or take a sliding_window"
        );
    }
}
