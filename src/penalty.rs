//! Penalties: a caller that offends a number of times within a period is refused for a time.
//!
//! [`PenaltyBox`] is for one caller; for each key, take a `Keyed` of `Penalties`. A [`PenaltyRule`] has the numbers.

// Penalties: a caller that offends a number of times within a period is refused for a time.
//
// | file | |
// |---|---|
// | [`record`] | the word: the offences that count, or the end of a penalty. No atomics |
// | [`rule`] | the rule in ticks, behind a sequence lock, so that it can be changed live |
//
// The state of a caller is one word. [`PenaltyCore`] has what all words of a store share: the rule and
// the clock. It decides, and writes by a CAS.
//
// ```text
// grant      iff no penalty runs at the reading of the clock          1 load, no write
// offence    counted in the window of now, the one before counts too; or, if they reach the
//            number of the rule, the word becomes a penalty, by CAS   1 load, 1 CAS
// ```
//
// Offences are dated in ticks of 16.8 ms, and counted in windows as long as the period, rounded up to
// a tick. The first window begins with an offence; others follow it without a gap, or begin anew
// with an offence. An offence counts in its window and in the next one.
//
// **Theorem.** Let a rule allow `n` offences in a period `p`, and let no call clear the word, lose its
// count to a change of the clock, or change the rule.
//
// 1. *None is missed.* If `n` offences are dated within less than `p`, none of them during a penalty,
//    a penalty begins with the last of them at the latest.
// 2. *None without cause.* A penalty that begins by the rule has `n` offences dated within less than
//    `2 p` and two ticks, all since the last penalty ended.
// 3. *Just one.* However many calls race, one of them begins the penalty, and is told so.
// 4. *It holds.* From then on no call is granted a permit by a reading of the clock before the
//    penalty's end, which is no earlier than the date of its last offence plus its length.
//
// *Proof.* The word changes only by CASes that succeed, and each of them writes what the transition in
// `record` makes of the word that it found. So the offences are counted one after the other, which is
// 3. Let a window begin at tick `s` and be `w` ticks long, `w` no less than the period. An offence of
// that window has a tick less than `s + w`; one that is dated less than a period later has a tick
// less than `s + 2 w`, which is in the same window or in the next, where the first still counts.
// So at the last of the `n` offences all of them count, which is 1. Those that count are all from
// tick `s - w` on, and before `s + w`, which is 2. A penalty's end is rounded up. An offence during a
// penalty changes nothing, and no other transition brings the end forward, so until a reading
// reaches the end, the word stays as it is. A call that comes after the CAS loads that word or a later
// one, which is 4. ∎
//
// If the clocks of threads differ by at most `d`, which is at most a second, 1 holds for offences
// within `p - d` of true time, and 4 until `d` before the end.
//
// # A clock that goes back
//
// A call loads the word before it reads the clock, so no other thread can have written a word from
// a later reading, except by as much as clocks differ. A word that is further ahead shows that the
// clock was set back. Then a running penalty begins anew with the length that its word tells, a
// power of two of ticks: less than twice what it was. Offences move to the present, and count from
// there. Both are counted as healed.
//
// Progress: a grant and a denial are wait-free; an offence is lock-free, but waits for a change of the
// rule in progress, which is a few stores. Memory: a word, and 64 bytes that a store has once.

pub(crate) mod penalty_box;
pub(crate) mod record;
mod rule;

pub use self::penalty_box::PenaltyBox;
pub use crate::config::penalty_rule::PenaltyRule;
pub use crate::decision::offence::Offence;
#[cfg(feature = "alloc")]
pub use crate::decision::standing::Standing;

use core::time::Duration;

use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::{AtomicWord, Backoff};
use crate::time::clock::Clock;
use crate::window_counts::WindowCounts;

use self::record::{PenaltyState, Record};
use self::rule::{RuleInForce, RuleTicks};

/// The rule and the clock, by which words are judged.
pub(crate) struct PenaltyCore<C> {
    rule: RuleInForce,
    clock: C,
    healed: AtomicWord<u64>,
}

impl<C: Clock> PenaltyCore<C> {
    pub(crate) fn new(rule: PenaltyRule, clock: C) -> PenaltyCore<C> {
        PenaltyCore { rule: RuleInForce::new(rule), clock, healed: AtomicWord::new(0) }
    }

    pub(crate) fn clock(&self) -> &C {
        &self.clock
    }

    pub(crate) fn rule(&self) -> PenaltyRule {
        self.rule.get()
    }

    pub(crate) fn change_rule(&self, rule: PenaltyRule) {
        self.rule.set(rule);
    }

    pub(crate) fn healed(&self) -> u64 {
        // ORDERING: Relaxed. A count; no decision depends on it.
        // MODEL: none.
        self.healed.load(Relaxed)
    }

    fn count_healed(&self) {
        // ORDERING: Relaxed, as in `healed`.
        // MODEL: none.
        self.healed.fetch_add(1, Relaxed);
    }

    /// Grants `permits` unless a penalty runs. A request for 0 permits is always granted.
    #[inline]
    pub(crate) fn check(&self, word: &AtomicWord<Record>, permits: u64) -> Result<Grant, Denied> {
        // ORDERING: Acquire, so that a caller that is refused sees what the offender did, and so that
        // the clock is read after the load. Pairs with the CASes below. With an earlier reading a
        // penalty could seem to be from ahead of the clock; `healed_left` would look again.
        // MODEL: `no_grant_comes_after_the_last_offence`.
        let seen = word.load(Acquire);
        if !seen.is_penalty() {
            return Ok(Grant::unused(permits, u64::MAX));
        }
        match seen.standing(self.clock.now_nanos()) {
            PenaltyState::Free => Ok(Grant::unused(permits, u64::MAX)),
            PenaltyState::Penalized { left_nanos } => penalized(permits, left_nanos),
            PenaltyState::SetBack => match self.healed_left(word) {
                0 => Ok(Grant::unused(permits, u64::MAX)),
                left_nanos => penalized(permits, left_nanos),
            },
        }
    }

    /// Returns the time that is left of the penalty of a word of which the clock was set back; 0 if
    /// no penalty runs by now.
    #[cold]
    #[inline(never)]
    fn healed_left(&self, word: &AtomicWord<Record>) -> u64 {
        // ORDERING: Acquire, so that the clock is read after the load: no penalty is then further ahead
        // of the reading than it is long. Pairs with the CASes below.
        // MODEL: `a_penalty_is_not_taken_for_one_of_another_time`.
        let mut seen = word.load(Acquire);
        loop {
            let now_nanos = self.clock.now_nanos();
            match seen.standing(now_nanos) {
                PenaltyState::Free => return 0,
                PenaltyState::Penalized { left_nanos } => return left_nanos,
                PenaltyState::SetBack => {
                    let next = seen.healed(now_nanos);
                    // ORDERING: AcqRel, Acquire on failure, as in `change`.
                    // MODEL: `a_clock_that_was_set_back_is_noticed_once`.
                    match word.compare_exchange(seen, next, AcqRel, Acquire) {
                        Ok(_) => {
                            self.count_healed();
                            seen = next;
                        }
                        Err(found) => seen = found,
                    }
                }
            }
        }
    }

    /// Counts `offences`, and begins a penalty if they are enough.
    pub(crate) fn offend(&self, word: &AtomicWord<Record>, offences: u64) -> Offence {
        self.change(word, |seen, rule, now_nanos| seen.offended(offences, rule, now_nanos))
    }

    /// Begins a penalty of `length`, unless one runs that ends later.
    pub(crate) fn penalize_for(&self, word: &AtomicWord<Record>, length: Duration) -> Offence {
        let length_nanos = PenaltyRule::within_range(length);
        self.change(word, |seen, rule, now_nanos| seen.penalized(length_nanos, rule, now_nanos))
    }

    /// Writes the word that `next` makes of the present one, if that is another, and returns what it
    /// returns.
    fn change(
        &self,
        word: &AtomicWord<Record>,
        next: impl Fn(Record, &RuleTicks, u64) -> (Record, Offence),
    ) -> Offence {
        let backoff = Backoff::new();
        loop {
            // ORDERING: Acquire, as in `healed_left`. The rule is read after it: a call that sees an offence
            // that was counted after a change of the rule goes by that rule, or a later one.
            // MODEL: `a_penalty_is_not_taken_for_one_of_another_time`, `a_rule_is_never_mixed`.
            let seen = word.load(Acquire);
            let rule = self.rule.ticks();
            let now_nanos = self.clock.now_nanos();
            let is_set_back = seen.is_set_back(now_nanos);
            let present = if is_set_back { seen.healed(now_nanos) } else { seen };
            let (written, outcome) = next(present, &rule, now_nanos);
            if written == seen {
                return outcome;
            }
            // ORDERING: Release, so that a caller that loads the word reads the clock, and the rule, no
            // earlier than this call did; pairs with the loads of the word. Acquire, so that the
            // same holds for a caller that loads what this leaves. On failure Relaxed: the word is
            // loaded again.
            // MODEL: `every_offence_counts_and_one_begins_the_penalty`,
            // `a_penalty_is_not_taken_for_one_of_another_time`.
            if word.compare_exchange(seen, written, AcqRel, Relaxed).is_ok() {
                if is_set_back {
                    self.count_healed();
                }
                return outcome;
            }
            backoff.snooze();
        }
    }

    /// Forgets offences and penalties. Returns whether a penalty was running.
    pub(crate) fn clear(&self, word: &AtomicWord<Record>) -> bool {
        // ORDERING: Acquire, as in `check`.
        // MODEL: `whoever_clears_a_penalty_is_told_so`.
        let mut seen = word.load(Acquire);
        loop {
            let was_running = seen.is_penalty()
                && !matches!(seen.standing(self.clock.now_nanos()), PenaltyState::Free);
            if seen == Record::CLEAN {
                return was_running;
            }
            // ORDERING: AcqRel, as in `change`; Acquire on failure, because the clock is read again.
            // MODEL: `whoever_clears_a_penalty_is_told_so`.
            match word.compare_exchange(seen, Record::CLEAN, AcqRel, Acquire) {
                Ok(_) => return was_running,
                Err(found) => seen = found,
            }
        }
    }

    /// Returns the time until nothing is remembered of the caller: no penalty runs, no offence counts,
    /// and the next penalty is the first. 0 if that is so now.
    pub(crate) fn idle_after(&self, word: &AtomicWord<Record>) -> Duration {
        // ORDERING: Acquire, so that the rule is no older than the offences that the word counts.
        // MODEL: `a_key_that_offends_while_it_is_evicted_loses_no_penalty`, for keys; the lock of a
        // shard puts these in order.
        let seen = word.load(Acquire);
        if seen == Record::CLEAN {
            return Duration::ZERO;
        }
        let rule = self.rule.ticks();
        Duration::from_nanos(seen.idle_after(&rule, self.clock.now_nanos()))
    }

    /// Returns what is remembered of the caller, for `Debug`.
    pub(crate) fn shown(&self, word: &AtomicWord<Record>) -> (u64, Duration) {
        // ORDERING: Acquire, as in `check`.
        // MODEL: none; the values are only displayed.
        let seen = word.load(Acquire);
        let (rule, now_nanos) = (self.rule.ticks(), self.clock.now_nanos());
        let left_nanos = match seen.standing(now_nanos) {
            PenaltyState::Penalized { left_nanos } => left_nanos,
            PenaltyState::Free | PenaltyState::SetBack => 0,
        };
        (seen.counted(&rule, now_nanos), Duration::from_nanos(left_nanos))
    }
}

/// Returns the answer to a request for `permits` while a penalty runs.
fn penalized(permits: u64, left_nanos: u64) -> Result<Grant, Denied> {
    let forecast = Forecast::Window(WindowCounts {
        limit: u64::MAX,
        current: u64::MAX,
        previous: 0,
        left_nanos,
        length_nanos: left_nanos,
        slides: false,
    });
    match permits {
        0 => Ok(Grant { permits, forecast }),
        _ => Err(Denied::Wait(Shortfall { wanted: permits as i64, forecast, which: 0 })),
    }
}
