//! The rule in force: several words behind a sequence lock, so that no call goes by parts of two rules.

use crate::config::penalty_rule::PenaltyRule;
use crate::config::rate::Rate;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicWord, Backoff, fence};

/// Logarithm of the tick in which offences are dated, in nanoseconds.
pub(super) const START_SHIFT: u32 = 24;

const WORDS: usize = 5;

/// A rule in the ticks of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleTicks {
    pub(super) offences: u64,
    /// Length of a window of offences: the period, rounded up.
    pub(super) window: u64,
    /// Time after which penalties are forgotten, rounded up; 0 if they do not become longer.
    pub(super) forgotten_after: u64,
    first_nanos: u64,
    longest_nanos: u64,
}

impl RuleTicks {
    pub(super) fn new(rule: PenaltyRule) -> RuleTicks {
        RuleTicks {
            offences: rule.offences().permits(),
            window: rule.offences().period_nanos().div_ceil(1 << START_SHIFT),
            forgotten_after: rule.forgotten_after_nanos().div_ceil(1 << START_SHIFT),
            first_nanos: rule.penalty_nanos(),
            longest_nanos: rule.longest_nanos(),
        }
    }

    /// Returns whether a repeated penalty is longer.
    pub(super) fn doubles(&self) -> bool {
        self.longest_nanos > self.first_nanos
    }

    /// Returns the length of a penalty after as many others.
    pub(super) fn penalty_nanos(&self, repeats: u64) -> u64 {
        let factor = 1_u64.checked_shl(repeats as u32).unwrap_or(u64::MAX);
        self.first_nanos.saturating_mul(factor).min(self.longest_nanos)
    }
}

/// A rule that can be replaced while calls read it. A lock word counts the writers, and is odd while
/// one is writing.
#[derive(Debug)]
pub(super) struct RuleInForce {
    writers: AtomicWord<u64>,
    words: [AtomicWord<u64>; WORDS],
}

impl RuleInForce {
    pub(super) fn new(rule: PenaltyRule) -> RuleInForce {
        RuleInForce { writers: AtomicWord::new(0), words: to_words(rule).map(AtomicWord::new) }
    }

    pub(super) fn ticks(&self) -> RuleTicks {
        RuleTicks::new(self.get())
    }

    /// Returns the rule. Waits while another call sets it.
    pub(super) fn get(&self) -> PenaltyRule {
        let backoff = Backoff::new();
        loop {
            // ORDERING: Acquire; pairs with the store at the end of `set`, so that the words are those
            // of that writer or of a later one.
            // MODEL: `a_rule_is_never_mixed`.
            let before = self.writers.load(Acquire);
            // ORDERING: Relaxed; between the load above and the fence below.
            // MODEL: `a_rule_is_never_mixed`.
            let words = self.words.each_ref().map(|word| word.load(Relaxed));
            // ORDERING: an Acquire fence, so that the second load of the lock word comes after those of
            // the words. Had one of them been written since the first load, by a Release store, the
            // second would see the CAS before that store.
            // MODEL: `a_rule_is_never_mixed`.
            fence(Acquire);
            // ORDERING: Relaxed; after the fence.
            // MODEL: `a_rule_is_never_mixed`.
            if before.is_multiple_of(2) && self.writers.load(Relaxed) == before {
                return from_words(words);
            }
            backoff.snooze();
        }
    }

    /// Replaces the rule. Waits while another call does so.
    pub(super) fn set(&self, rule: PenaltyRule) {
        let backoff = Backoff::new();
        loop {
            // ORDERING: Relaxed. The load is only a hint, which the CAS checks.
            // MODEL: `a_rule_is_never_mixed`.
            let before = self.writers.load(Relaxed);
            // ORDERING: Acquire, so that the stores below come after those of the last writer; pairs
            // with the last store below. On failure no data is read.
            // MODEL: `a_rule_is_never_mixed`.
            let is_mine = before.is_multiple_of(2)
                && self
                    .writers
                    .compare_exchange(before, before.wrapping_add(1), Acquire, Relaxed)
                    .is_ok();
            if is_mine {
                for (word, value) in self.words.iter().zip(to_words(rule)) {
                    // ORDERING: Release, so that a reader that sees the value sees the CAS above; pairs
                    // with the fence in `get`.
                    // MODEL: `a_rule_is_never_mixed`.
                    word.store(value, Release);
                }
                // ORDERING: Release; pairs with the load in `get`.
                // MODEL: `a_rule_is_never_mixed`.
                self.writers.store(before.wrapping_add(2), Release);
                return;
            }
            backoff.snooze();
        }
    }
}

fn to_words(rule: PenaltyRule) -> [u64; WORDS] {
    let offences = rule.offences();
    let (penalty, longest) = (rule.penalty_nanos(), rule.longest_nanos());
    [offences.permits(), offences.period_nanos(), penalty, longest, rule.forgotten_after_nanos()]
}

/// Decodes a rule from the words of a rule.
fn from_words(words: [u64; WORDS]) -> PenaltyRule {
    let [permits, period_nanos, penalty, longest, forgotten_after] = words;
    PenaltyRule::trusted(Rate::trusted(permits, period_nanos), (penalty, longest), forgotten_after)
}
