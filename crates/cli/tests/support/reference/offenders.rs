//! Penalties by their definition: every offence since the last penalty is kept, and put to its window anew
//! for each question.

use sluicegate::penalty::PenaltyRule;
use sluicegate_cli::report::PenaltySummary;
use sluicegate_policy::Penalty;
use sluicegate_replay::log::Line;

use super::{nanos, requests};

/// Nanoseconds of the ticks in which offences are dated.
const OFFENCE_TICK: i128 = 1 << 24;

/// Nanoseconds of the ticks in which the end of a penalty is dated.
const END_TICK: i128 = 1 << 11;

/// One key that may have offended.
#[derive(Default)]
pub(super) struct Offender {
    /// Ticks of the offences since the last penalty.
    offences: Vec<i128>,
    /// The end of the last penalty.
    until: i128,
    /// Penalties that make the next one longer.
    repeats: u32,
}

/// Returns true if a line is an offence: one that was refused, with whether that counts, or else one whose
/// answer is of a kind that the policy names.
pub(super) fn is_offence(penalty: &Penalty, line: &Line<'_>, refused: Option<bool>) -> bool {
    match refused {
        Some(counts) => counts && penalty.of_refusals,
        None => penalty.of_answers.iter().any(|filter| requests::is_in(filter, line)),
    }
}

/// A window of offences, and the number of those in it and in the one before.
struct Window {
    start: i128,
    current: u64,
    previous: u64,
}

impl Offender {
    pub(super) fn is_penalized(&self, now: i128) -> bool {
        now < self.until
    }

    pub(super) fn offend(&mut self, rule: PenaltyRule, now: i128, counts: &mut PenaltySummary) {
        if self.is_penalized(now) {
            return;
        }
        counts.offences += 1;
        let tick = now / OFFENCE_TICK;
        let length = ticks(nanos(rule.offences().period()));
        if let Some(after) = rule.forgotten_after() {
            let after = ticks(nanos(after));
            let is_forgotten = match self.window(length) {
                None => now >= self.until + after * OFFENCE_TICK,
                Some(window) => tick >= window.start + length + after,
            };
            if is_forgotten {
                self.repeats = 0;
            }
        }
        self.offences.push(tick);
        let Some(window) = self.window(length) else { return };
        if window.current + window.previous < rule.offences().permits() {
            return;
        }
        let penalty = nanos(rule.penalty()).saturating_mul(1 << self.repeats);
        let penalty = penalty.min(nanos(rule.longest()));
        self.until = (now + penalty + END_TICK - 1) / END_TICK * END_TICK;
        self.repeats = if rule.longest() > rule.penalty() { (self.repeats + 1).min(31) } else { 0 };
        self.offences.clear();
        counts.penalties += 1;
    }

    /// Returns the window of the last offence. It begins where the one before it ends, or with an offence,
    /// if there was none for a whole window.
    fn window(&self, length: i128) -> Option<Window> {
        let mut offences = self.offences.iter();
        let mut window = Window { start: *offences.next()?, current: 1, previous: 0 };
        for tick in offences {
            if *tick >= window.start + 2 * length {
                window = Window { start: *tick, current: 0, previous: 0 };
            } else if *tick >= window.start + length {
                let start = window.start + length;
                window = Window { start, current: 0, previous: window.current };
            }
            window.current += 1;
        }
        Some(window)
    }
}

fn ticks(nanos: i128) -> i128 {
    (nanos + OFFENCE_TICK - 1) / OFFENCE_TICK
}
