//! The penalty of a limiter at work: the keys that have offended, and the counts.

use std::sync::Arc;

use sluicegate::keyed::{Penalties, WhenFull};
use sluicegate::penalty::Offence;
use sluicegate::{Denied, ManualClock};
use sluicegate_policy::Penalty;

use crate::log::Line;
use crate::policy::{Exact, exact};

/// Bytes that an offender takes, with its key and its part of the hash table.
const OFFENDER_BYTES: u64 = 88;

/// The counts of a penalty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PenaltyCounts {
    /// Lines that were offences and were noted.
    pub offences: u64,
    /// Penalties that began.
    pub penalties: u64,
    /// Lines that were refused because a penalty ran.
    pub denied: u64,
    /// Offences that were not noted, because there was no space for another key.
    pub not_noted: u64,
}

/// The keys that have offended against one limiter.
#[derive(Debug)]
pub(super) struct Offenders {
    penalty: Penalty,
    store: Exact<Penalties<Arc<ManualClock>>>,
    counts: PenaltyCounts,
}

impl Offenders {
    pub(super) fn new(penalty: &Penalty, clock: &Arc<ManualClock>) -> Offenders {
        let penalties = Penalties::with_clock(penalty.rule, Arc::clone(clock));
        let store = exact(penalties, Some(penalty.max_keys), WhenFull::Deny);
        let store = store.expect("the policy has room for at least one key");
        Offenders { penalty: penalty.clone(), store, counts: PenaltyCounts::default() }
    }

    /// Returns the denial of a line, if the penalty of its key runs, and counts it.
    pub(super) fn denial(&mut self, key: &[u8], permits: u64) -> Option<Denied> {
        let denied = self.store.try_acquire(key, permits).err()?;
        self.counts.denied += 1;
        Some(denied)
    }

    /// Counts an offence, if a line is one to which the limiter has given this answer.
    pub(super) fn note<T>(&mut self, key: &[u8], line: &Line<'_>, answer: &Result<T, Denied>) {
        let is_offence = match answer {
            Ok(_) => self.penalty.is_offence(line),
            Err(Denied::Full { .. }) => false,
            Err(_) => self.penalty.of_refusals,
        };
        if !is_offence {
            return;
        }
        match self.store.offend(key, 1) {
            // A line of 0 permits passes during a penalty.
            Ok(Offence::Ignored { .. }) => {}
            Ok(offence) => {
                self.counts.offences += 1;
                self.counts.penalties += u64::from(offence.is_penalized());
            }
            Err(_) => self.counts.not_noted += 1,
        }
    }

    pub(super) fn counts(&self) -> PenaltyCounts {
        self.counts
    }

    /// Returns about the bytes that the keys take.
    pub(super) fn bytes(&self) -> u64 {
        (self.store.len() as u64).saturating_mul(OFFENDER_BYTES)
    }
}
