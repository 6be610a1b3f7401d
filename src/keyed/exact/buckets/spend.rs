//! The loop that spends from the level of one key, under terms that cannot change meanwhile.

use crate::bucket::charge::{Charge, Spend};
use crate::bucket::level::Level;
use crate::bucket::spend::NotSpent;
use crate::bucket::terms::Terms;
use crate::contention::Pauses;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::exact::per_key::Answer;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{AcqRel, Relaxed};

/// Spends the cost that `charge` returns from `word` if `SPEND`; otherwise only evaluates it.
#[inline(always)]
pub(super) fn spend<const SPEND: bool>(
    terms: &Terms,
    word: &AtomicWord<Level>,
    now_nanos: u64,
    charge: impl Fn(&Terms, i64) -> Charge,
) -> Answer {
    spend_by::<SPEND>(terms, word, now_nanos, charge, |seen, next| {
        // ORDERING: AcqRel, so that what one admitted caller did before its call is visible
        // to the next one. The bound does not need it: the word's CASes have one order under
        // any ordering. Relaxed on failure, as for the load of `spend_by`.
        // MODEL: `a_known_key_has_one_burst`,
        // `what_was_done_before_a_grant_is_seen_after_the_next_of_a_key`.
        word.compare_exchange_weak(seen, next, AcqRel, Relaxed).is_ok()
    })
}

/// Spends from a word that no other thread has access to: its shard's lock is held
/// exclusively.
#[inline(always)]
pub(super) fn spend_alone(
    terms: &Terms,
    word: &AtomicWord<Level>,
    now_nanos: u64,
    charge: impl Fn(&Terms, i64) -> Charge,
) -> Answer {
    spend_by::<true>(terms, word, now_nanos, charge, |_, next| {
        // ORDERING: Relaxed, and no CAS. The lock orders the store, and shows the next caller
        // what this one did before its call.
        // MODEL: `a_new_key_has_one_burst`.
        word.store(next, Relaxed);
        true
    })
}

/// Spends the cost that `charge` returns from `word`, writing by `replace`, if `SPEND`;
/// otherwise only evaluates it.
#[inline(always)]
pub(super) fn spend_by<const SPEND: bool>(
    terms: &Terms,
    word: &AtomicWord<Level>,
    now_nanos: u64,
    charge: impl Fn(&Terms, i64) -> Charge,
    replace: impl Fn(Level, Level) -> bool,
) -> Answer {
    let accrued = match terms.accrued_simply(now_nanos) {
        Some(accrued) => accrued,
        None => terms.accrued(now_nanos),
    };
    let mut pauses = Pauses::new();
    // ORDERING: Relaxed. The terms do not depend on the level, and the CAS fails on a stale
    // one. A denial decided on a stale level was right a moment ago, when this call had
    // already begun: the lock of the shard showed it all that happened before the call.
    // MODEL: `a_known_key_has_one_burst`.
    let mut seen = word.load(Relaxed);
    loop {
        let balance = seen.balance(accrued, terms.capacity);
        let charged = charge(terms, balance);
        let (permits, cost) = match charged {
            Ok(Spend::Some { permits, cost, .. }) => (permits, cost),
            Ok(Spend::Nothing) | Err(_) => (0, 0),
        };
        if SPEND && cost > 0 {
            let next = seen.spend(cost, accrued, terms.capacity);
            if !replace(seen, next) {
                pauses.lost_race();
                // ORDERING: Relaxed, as before.
                // MODEL: `a_known_key_has_one_burst`.
                seen = word.load(Relaxed);
                continue;
            }
        }
        let forecast = terms.forecast(balance - cost, now_nanos);
        return match charged {
            Ok(Spend::Some { .. }) => Answer::Said(Ok(Grant { permits, forecast })),
            Ok(Spend::Nothing) => {
                or_impossible(terms, balance, now_nanos, Ok(Grant { permits, forecast }))
            }
            Err(refusal) => {
                let denied = Denied::from(NotSpent { refusal, forecast });
                or_impossible(terms, balance, now_nanos, Err(denied))
            }
        };
    }
}

/// Marks an answer from an impossible balance. Only a debt can be too deep, and only with a
/// debt is there nothing to grant.
#[inline]
fn or_impossible(
    terms: &Terms,
    balance: i64,
    now_nanos: u64,
    answer: Result<Grant, Denied>,
) -> Answer {
    let is_behind = now_nanos < terms.origin_nanos;
    if (balance < 0 || is_behind) && terms.is_impossible(balance, now_nanos) {
        Answer::Impossible(answer)
    } else {
        Answer::Said(answer)
    }
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests {
    use core::cell::Cell;

    use super::*;
    use crate::bucket::charge::all_of;
    use crate::quota;

    /// Another caller is granted seven permits between this caller's decision and its CAS.
    #[test]
    fn who_lost_a_race_is_granted_of_what_is_left_and_no_more() {
        let terms = Terms::of_quota(quota!(10 / second));
        let accrued = terms.accrued(0);
        let full = Level::leaving(terms.capacity as i64, accrued);
        let (word, has_raced) = (AtomicWord::new(full), Cell::new(false));
        let charge = |terms: &Terms, balance| {
            if !has_raced.replace(true) {
                let seven = 7 * terms.token as i64;
                // ORDERING: Relaxed. One thread, in place of two.
                // MODEL: none; there is no other thread.
                word.store(full.spend(seven, accrued, terms.capacity), Relaxed);
            }
            all_of(5, terms, balance)
        };
        let answer = spend::<true>(&terms, &word, 0, charge);
        assert!(matches!(answer, Answer::Said(Err(Denied::Wait(_)))), "{answer:?}");
    }
}
