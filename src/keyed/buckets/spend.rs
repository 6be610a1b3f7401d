//! The loop that spends from the level of one key, under terms that stay.

use crate::one_word::{Charge, Level, Refused, Spend, Terms};
use crate::sync::{
    AtomicWord, Backoff,
    Ordering::{AcqRel, Relaxed},
};
use crate::{Denied, Grant};

use crate::keyed::per_key::Answer;

/// Spends what `charge` says from `word`, if `SPEND`.
#[inline(always)]
pub(super) fn spend<const SPEND: bool>(
    terms: &Terms,
    word: &AtomicWord<Level>,
    now_nanos: u64,
    charge: impl Fn(&Terms, i64) -> Charge,
) -> Answer {
    let accrued = match terms.accrued_simply(now_nanos) {
        Some(accrued) => accrued,
        None => terms.accrued(now_nanos),
    };
    let backoff = Backoff::new();
    // ORDERING: Relaxed. The terms do not depend on the level, and the CAS fails on one
    // that is old. A denial from it is one of a moment ago: the call had begun by then,
    // for the lock of the shard showed it all that happened before.
    // MODEL: `a_known_key_has_one_burst`.
    let mut seen = word.load(Relaxed);
    loop {
        let balance = seen.balance(accrued, terms.capacity);
        let charged = charge(terms, balance);
        let (permits, cost) = match charged {
            Ok(Spend::Some { permits, cost }) => (permits, cost),
            Ok(Spend::Nothing) | Err(_) => (0, 0),
        };
        if SPEND && cost > 0 {
            let next = seen.spend(cost, accrued, terms.capacity);
            // ORDERING: AcqRel, so that what one admitted caller did before it asked is
            // visible to the next one. The bound needs neither: the word's CASes have one
            // order under any ordering. Relaxed on failure, as the load above.
            // MODEL: `a_known_key_has_one_burst`.
            match word.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => {}
                Err(found) => {
                    seen = found;
                    backoff.spin();
                    continue;
                }
            }
        }
        let outlook = terms.outlook(balance - cost, now_nanos);
        return match charged {
            Ok(Spend::Some { .. }) => Answer::Said(Ok(Grant { permits, outlook })),
            Ok(Spend::Nothing) => {
                or_impossible(terms, balance, now_nanos, Ok(Grant { permits, outlook }))
            }
            Err(refusal) => {
                let denied = Denied::from(Refused { refusal, outlook });
                or_impossible(terms, balance, now_nanos, Err(denied))
            }
        };
    }
}

/// Only a debt can be too deep, and only with one is there nothing to grant.
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
