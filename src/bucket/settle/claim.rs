//! The loop that takes from the word and the lots.

use crate::bucket::BucketCore;
use crate::bucket::charge::{Charge, Refusal, Spend};
use crate::bucket::level::Level;
use crate::bucket::reserved::ReservedCapacity;
use crate::bucket::spend::NotSpent;
use crate::bucket::terms::Terms;
use crate::contention::Contender;
use crate::decision::grant::Grant;
use crate::decision::pieces::{Piece, Pieces};
use crate::sync::Ordering::{AcqRel, Relaxed};
use crate::sync::Word;
use crate::time::clock::Clock;

use super::given_back::GivenBack;
use super::lots::Lots;
use super::{SettleCore, Taken};

/// The word and the lots, as they were found.
struct Found {
    seen: Level,
    accrued: u64,
    capacity: u64,
    balance: i64,
    lots: Lots,
}

impl<C: Clock> SettleCore<C> {
    /// Spends what `charge` decides of the balance and the lots together, if `SPEND`.
    pub(super) fn spend_with_lots<const SPEND: bool>(
        &self,
        mut now_nanos: u64,
        charge: impl Fn(&Terms, i64) -> Charge,
    ) -> Result<Taken, NotSpent> {
        let bucket = &self.bucket;
        let mut contender = Contender::new(Some(&bucket.line.contention));
        let mut may_heal = true;
        let mut seen = bucket.look_again();
        loop {
            // Nobody waits in line for such a bucket, so the gate is open.
            let terms = bucket.slots.named_by(seen);
            let (accrued, capacity) = (terms.accrued(now_nanos), terms.capacity);
            let balance = seen.balance(accrued, capacity);
            let lots = bucket.line.reserved.look(seen, accrued, capacity);
            let all = balance.saturating_add_unsigned(lots.units());
            let charged = charge(&terms, all);
            let (permits, cost) = match charged {
                Ok(Spend::Some { permits, cost, .. }) => (permits, cost),
                Ok(Spend::Nothing) | Err(_) => (0, 0),
            };
            let token = terms.token;
            let forecast = terms.forecast(all - cost, now_nanos);
            let grant = Grant { permits, forecast };
            if SPEND && cost > 0 {
                if contender.has_stepped_back() {
                    seen = bucket.look_again();
                    continue;
                }
                let found = Found { seen, accrued, capacity, balance, lots };
                if let Some(pieces) = found.take(bucket, cost) {
                    return Ok(Taken { grant, pieces, token });
                }
                contender.lost_race();
                seen = bucket.look_again();
                continue;
            }
            if let Err(moved) = bucket.still(seen) {
                seen = moved;
                continue;
            }
            if may_heal && terms.is_impossible(balance, now_nanos) && bucket.heal() {
                may_heal = false;
                bucket.poke();
                now_nanos = bucket.clock.now_nanos();
                seen = bucket.look_again();
                continue;
            }
            return match charged {
                Ok(_) => Ok(Taken { grant, pieces: Pieces::default(), token }),
                Err(Refusal::Wait { wanted }) => {
                    // So much that what it lacks is what has to be earned.
                    let lacking = lots.lacking(wanted as u64) as i64;
                    let refusal = Refusal::Wait { wanted: all.saturating_add(lacking) };
                    Err(NotSpent { refusal, forecast })
                }
                Err(refusal) => Err(NotSpent { refusal, forecast }),
            };
        }
    }
}

impl Found {
    /// Takes `cost` as it was found: first from the word, and what it lacks from the lots. Returns
    /// `None` if anything has changed; then it has taken nothing.
    fn take<C: Clock>(&self, bucket: &BucketCore<C, GivenBack>, cost: i64) -> Option<Pieces> {
        let given_back = &bucket.line.reserved;
        let of_word = cost.min(self.balance);
        let mut lacking = (cost - of_word) as u64;
        let mut pieces = Pieces::default();
        let mut is_whole = true;
        for ((index, word, alive), piece) in self.lots.alive().zip(&mut pieces.of_lots) {
            let units = alive.min(lacking);
            if units == 0 {
                break;
            }
            let Some(claimed) = given_back.claim(index, word, units) else {
                is_whole = false;
                break;
            };
            *piece = claimed;
            lacking -= units;
        }
        // The word comes after the lots: what was claimed is then known to be born, and the terms
        // are known to be in force.
        if is_whole && lacking == 0 {
            if of_word == 0 {
                if bucket.still(self.seen).is_ok() {
                    return Some(pieces);
                }
            } else {
                let next = self.seen.spend(of_word, self.accrued, self.capacity);
                // ORDERING: AcqRel, as in `attempt`. Relaxed on failure: the word is loaded again.
                // MODEL: `what_is_given_back_is_taken_once`,
                // `a_unit_is_not_taken_before_it_was_earned`.
                if bucket.line.word.compare_exchange(self.seen, next, AcqRel, Relaxed).is_ok() {
                    pieces.of_word = Piece { top: next.to_bits(), units: of_word as u64 };
                    return Some(pieces);
                }
            }
        }
        for piece in pieces.of_lots {
            given_back.put(piece);
        }
        None
    }
}
