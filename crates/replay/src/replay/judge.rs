//! One named limiter of the policy at work: a store of the engine, and the counts.

use std::sync::Arc;
use std::time::Duration;

use bstr::{BStr, BString};
use hashbrown::HashMap;
use sluicegate::keyed::Occupancy;
use sluicegate::{Clock, Denied, ManualClock};
use sluicegate_policy::{Charge, KeyOutcome, Written};

use super::keys::{Answer, Keys, is_of_store, keys};
use super::lacking::Lacking;
use super::offenders::{Offenders, PenaltyCounts};
use super::shape::Shape;
use super::stamped::Stamped;
use super::tally::Tallies;
use super::{Peaks, Profile, Tally, Timeline, Waits, memory};
use crate::log::Line;
use crate::policy::{Rule, readable};

/// The most keys of which it is kept what they were denied.
const MOST_PROFILES: usize = 4_096;

/// Bytes of a profile at most.
const PROFILE_BYTES: u64 = 4 << 10;

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
    /// The keys that have offended, if the policy has a penalty. Created at the first line too.
    offenders: Option<Offenders>,
    tallies: Tallies,
    /// The requests that it denied to keys, to those that it denied first.
    profiles: HashMap<BString, Profile>,
    /// The same limiter at the times of the log, if it counts in times as short as those of a log.
    stamped: Option<Stamped>,
    peaks: Option<Peaks>,
    timeline: Timeline,
    allowed: u64,
    denied: u64,
    full: u64,
    lacking: Lacking,
    /// Refusals by each part of the limiter, if it has several.
    denied_by: Vec<u64>,
    /// Bytes that a key takes, about.
    key_bytes: u64,
    /// The key of the current line; kept to reuse its memory.
    key: BString,
}

/// The decision on a line.
struct Decided {
    /// Its wait, or the denial.
    decision: Result<u64, Denied>,
    /// True if there was no space for its key.
    is_full: bool,
    /// True if a penalty denied it.
    is_penalized: bool,
    /// True if its permits were lent.
    is_borrowed: bool,
}

impl Decided {
    fn of(decision: Result<u64, Denied>) -> Decided {
        Decided { decision, is_full: false, is_penalized: false, is_borrowed: false }
    }
}

impl Judge {
    /// Starts with no line judged. Keeps the tallies of at most `tally_keys` keys.
    pub(super) fn new(rule: Rule, tally_keys: usize) -> Judge {
        Judge {
            denied_by: vec![0; rule.kind.parts().len()],
            key_bytes: memory::key_bytes(&rule, false),
            rule,
            store: None,
            shape: None,
            known: 0,
            offenders: None,
            tallies: Tallies::new(tally_keys),
            profiles: HashMap::new(),
            stamped: None,
            peaks: None,
            timeline: Timeline::default(),
            allowed: 0,
            denied: 0,
            full: 0,
            lacking: Lacking::default(),
            key: BString::default(),
        }
    }

    /// Lets lines wait instead of refusing them, unless all keys have one limiter in common: there is no line before that.
    pub(super) fn shaped(self, within: Option<Duration>) -> Judge {
        if self.rule.kind.is_common() {
            return self;
        }
        let key_bytes = memory::key_bytes(&self.rule, true);
        Judge { shape: Some(Shape::new(within, is_of_store(&self.rule))), key_bytes, ..self }
    }

    /// Measures the peaks of at most `most` keys too, if each key has a limiter of its own.
    pub(super) fn peaking(self, most: usize) -> Judge {
        let is_common = self.rule.kind.is_common();
        let peaks = (!is_common).then(|| Peaks::new(&self.rule, most));
        Judge { peaks, ..self }
    }

    /// Judges lines at their stamps too, if those are too coarse for the limiter.
    pub(super) fn stamped_too(self, resolution: Duration) -> Judge {
        let is_short = super::stamped::is_short(&self.rule.kind, resolution);
        Judge { stamped: is_short.then(Stamped::default), ..self }
    }

    /// Forgets the counts at stamps, if those turned out to be fine enough for the limiter.
    pub(super) fn forget_stamps_unless_short(&mut self, resolution: Duration) {
        if !super::stamped::is_short(&self.rule.kind, resolution) {
            self.stamped = None;
        }
    }

    /// Judges a line at the time of the first of the clocks, whose second shows its stamp. `nanos` is
    /// the time since the first line, for the timeline.
    pub(super) fn judge(
        &mut self,
        line: &Line<'_>,
        nanos: u64,
        [clock, stamps]: [&Arc<ManualClock>; 2],
    ) {
        if !self.rule.filter.lets_through(line) {
            return;
        }
        let written = self.rule.write_key(line, &mut self.key);
        let charge = self.rule.cost.of(line);
        let permits = charge.permits;
        let is_whole = written == Written::WHOLE && charge == Charge::exactly(permits);
        if !is_whole && !self.has_key(written, charge, nanos) {
            return;
        }
        let Decided { decision, is_full, is_penalized, is_borrowed } =
            self.decide_unless_penalized(line, permits, clock);
        if let Some(stamped) = &mut self.stamped {
            stamped.judge(&self.rule, line, &self.key, permits, stamps);
        }
        if let Some(peaks) = &mut self.peaks
            && self.rule.overrides.of(&self.key).is_none()
        {
            peaks.count(&self.key, permits, clock.now_nanos());
        }
        self.tallies.count(&self.key, decision.ok(), stamps.now_nanos());
        if is_borrowed {
            self.tallies.count_borrowed(&self.key);
        }
        match decision {
            Ok(_) => self.allowed += 1,
            Err(denied) => {
                self.denied += 1;
                let is_known = || self.profiles.contains_key(&self.key);
                if self.profiles.len() < MOST_PROFILES || is_known() {
                    self.profiles.entry_ref(BStr::new(&*self.key)).or_default().add(line);
                }
                // A denial by a penalty or for want of space comes from none of the parts.
                if let (false, Some(by)) =
                    (is_full || is_penalized, self.denied_by.get_mut(denied.which()))
                {
                    *by += 1;
                }
            }
        }
        self.full += u64::from(is_full);
        self.timeline.record(nanos, decision.ok());
    }

    /// Counts what a line lacks. Returns false if it has no key, so that the policy has decided.
    #[cold]
    fn has_key(&mut self, written: Written, charge: Charge, nanos: u64) -> bool {
        self.lacking.count(written, charge);
        let is_admitted = match written.outcome {
            KeyOutcome::Limited => return true,
            KeyOutcome::Admitted => true,
            KeyOutcome::Denied => false,
        };
        let stamped = self.stamped.as_mut().map(|own| (&mut own.allowed, &mut own.denied));
        for (allowed, denied) in stamped.into_iter().chain([(&mut self.allowed, &mut self.denied)])
        {
            *if is_admitted { allowed } else { denied } += 1;
        }
        self.timeline.record(nanos, is_admitted.then_some(0));
        false
    }

    /// Asks for permits for the present key, unless its penalty runs, and notes offences.
    fn decide_unless_penalized(
        &mut self,
        line: &Line<'_>,
        permits: u64,
        clock: &Arc<ManualClock>,
    ) -> Decided {
        if let Some(penalty) = &self.rule.penalty {
            let offenders = self.offenders.get_or_insert_with(|| Offenders::new(penalty, clock));
            if let Some(denied) = offenders.denial(&self.key, permits) {
                return Decided { is_penalized: true, ..Decided::of(Err(denied)) };
            }
        }
        let decided = self.decide(permits, clock);
        if let Some(offenders) = &mut self.offenders {
            offenders.note(&self.key, line, &decided.decision);
        }
        decided
    }

    /// Asks for permits for the present key.
    fn decide(&mut self, permits: u64, clock: &Arc<ManualClock>) -> Decided {
        if let Some(shape) = &mut self.shape {
            let wait =
                shape.arrive(self.rule.kind_of(&self.key), &self.key, permits, clock.now_nanos());
            self.known = shape.keys();
            return Decided::of(wait);
        }
        let store = self.store.get_or_insert_with(|| keys(&self.rule, clock));
        let Answer { decision, is_full, is_borrowed } = store.try_acquire(&self.key, permits);
        if store.table().is_none() {
            self.known = self.known.max(store.known());
        }
        Decided { is_full, is_borrowed, ..Decided::of(decision.map(|_| 0)) }
    }

    /// Returns the requests that it denied, by key, to the first few thousand keys.
    pub fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.profiles.values()
    }

    /// Returns the requests that it denied to a key, by the key for people.
    #[must_use]
    pub fn profiles_by_name(&self) -> HashMap<String, &Profile> {
        self.profiles.iter().map(|(key, profile)| (readable(key), profile)).collect()
    }

    /// Returns about the bytes that its keys take at present.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        // Of a table the keys are not counted.
        let keys = self.known as u64;
        let copies = 1 + u64::from(self.stamped.is_some());
        keys.saturating_mul(self.key_bytes)
            .saturating_add(memory::fixed_bytes(&self.rule))
            .saturating_add(self.offenders.as_ref().map_or(0, Offenders::bytes))
            .saturating_mul(copies)
            .saturating_add(self.peaks.as_ref().map_or(0, Peaks::bytes))
            .saturating_add(PROFILE_BYTES * self.profiles.len() as u64)
    }

    /// Returns about the bytes that each key takes.
    pub(super) fn key_bytes(&self) -> u64 {
        self.key_bytes
    }

    /// Returns the lines that it would have admitted and refused if all lines had come at the
    /// beginning of their second; `None` if that makes little difference to it.
    #[must_use]
    pub fn as_stamped(&self) -> Option<(u64, u64)> {
        self.stamped.as_ref().map(|stamped| (stamped.allowed, stamped.denied))
    }

    /// Returns true if the counts of all its keys are kept, and exact.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.tallies.is_exact()
    }

    /// Returns the most refusals that a key may have had that is not kept.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.tallies.missed()
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

    /// Returns the counts of the penalty; `None` if the policy has none.
    #[must_use]
    pub fn penalty(&self) -> Option<PenaltyCounts> {
        self.rule.penalty.as_ref()?;
        Some(self.offenders.as_ref().map(Offenders::counts).unwrap_or_default())
    }

    /// Returns the lines that lacked a value.
    #[must_use]
    pub fn lacking(&self) -> &Lacking {
        &self.lacking
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

    /// Returns the peaks of its keys, without those that have numbers of their own; `None` if they
    /// were not measured.
    #[must_use]
    pub fn peaks(&self) -> Option<&Peaks> {
        self.peaks.as_ref()
    }

    /// Returns its admissions and refusals over time, by the times at which lines arrived.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Returns the number of distinct keys that it saw; an estimate unless
    /// [`is_exact`](Judge::is_exact).
    #[must_use]
    pub fn keys(&self) -> usize {
        self.tallies.keys()
    }

    /// Returns the keys that are kept with their tallies, in no order. The fields of a key are
    /// separated by a space; bytes that are not UTF-8 are replaced.
    pub fn tallies(&self) -> impl Iterator<Item = (String, &Tally)> {
        self.tallies.iter().map(|(key, tally)| (readable(key), tally))
    }
}
