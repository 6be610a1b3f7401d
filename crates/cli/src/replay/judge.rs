//! One named limiter of the policy at work: a limiter of the engine per key.

use std::fmt;
use std::sync::Arc;

use bstr::{BString, ByteSlice};
use hashbrown::HashMap;
use sluicegate::{Limiter, ManualClock};

use super::Timeline;
use crate::log::Line;
use crate::policy::Rule;

/// Between the fields of a key. No field has one, since no line has.
const SEPARATOR: &[u8] = b"\n";

/// A rule, and what it said so far.
#[derive(Debug)]
pub struct Judge {
    rule: Rule,
    keys: HashMap<BString, Tally>,
    timeline: Timeline,
    allowed: u64,
    denied: u64,
    /// By each part of the limiter, if it has several.
    denied_by: Vec<u64>,
    /// The key of the line at hand; kept for its memory.
    key: BString,
}

/// One key's limiter, and what it said so far.
pub struct Tally {
    limiter: Box<dyn Limiter>,
    /// Lines that it admitted.
    pub allowed: u64,
    /// Lines that it refused.
    pub denied: u64,
}

impl Judge {
    pub(super) fn new(rule: Rule) -> Judge {
        Judge {
            denied_by: vec![0; rule.kind.parts().len()],
            rule,
            keys: HashMap::new(),
            timeline: Timeline::default(),
            allowed: 0,
            denied: 0,
            key: BString::default(),
        }
    }

    /// `nanos` is the time since the first line, for the record.
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
        let tally = self.keys.entry_ref(&self.key).or_insert_with(|| Tally {
            limiter: self
                .rule
                .kind
                .limiter(Arc::clone(clock))
                .expect("the policy built one with these numbers"),
            allowed: 0,
            denied: 0,
        });
        let decision = tally.limiter.try_acquire(self.rule.cost.of(line));
        match decision {
            Ok(_) => {
                tally.allowed += 1;
                self.allowed += 1;
            }
            Err(denied) => {
                tally.denied += 1;
                self.denied += 1;
                if let Some(by) = self.denied_by.get_mut(denied.which()) {
                    *by += 1;
                }
            }
        }
        self.timeline.record(nanos, decision.is_ok());
    }

    /// What it goes by.
    #[must_use]
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// Lines that it admitted.
    #[must_use]
    pub fn allowed(&self) -> u64 {
        self.allowed
    }

    /// Lines that it refused.
    #[must_use]
    pub fn denied(&self) -> u64 {
        self.denied
    }

    /// Lines that each part of the limiter refused, in the order of
    /// [`Kind::parts`](crate::policy::Kind::parts). If several parts refused a line,
    /// it counts for the one that it would have had to wait for longest.
    #[must_use]
    pub fn denied_by(&self) -> &[u64] {
        &self.denied_by
    }

    /// When it admitted and refused.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Distinct keys that it saw.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.keys.len()
    }

    /// Every key with its tally, in no order. The fields of a key are apart by a
    /// space; bytes that are not UTF-8 are replaced.
    pub fn tallies(&self) -> impl Iterator<Item = (String, &Tally)> {
        self.keys
            .iter()
            .map(|(key, tally)| (key.replace(SEPARATOR, " ").to_str_lossy().into_owned(), tally))
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { allowed, denied, .. } = self;
        f.debug_struct("Tally")
            .field("allowed", allowed)
            .field("denied", denied)
            .finish_non_exhaustive()
    }
}
