//! The decisions of operations that raise the level: what each takes of a balance. No atomics here.

use super::level::UNIT;
use super::terms::Terms;

/// The decision of an operation, given the terms and the balance.
pub(crate) type Charge = Result<Spend, Refusal>;

pub(crate) enum Spend {
    /// Grants no permits and leaves everything unchanged.
    Nothing,
    /// Spends `cost` quarter-units, which is more than 0, and grants `permits`. If `is_forced`, then
    /// also while others wait in line.
    Some { permits: u64, cost: i64, is_forced: bool },
}

pub(crate) enum Refusal {
    /// Refused until there are `wanted` quarter-units.
    Wait { wanted: i64 },
    /// Refused for ever: more than `limit` permits are never granted.
    TooLarge { limit: u64 },
}

/// Decides on all of `permits` or none.
#[inline(always)]
pub(crate) fn all_of(permits: u64, terms: &Terms, balance: i64) -> Charge {
    if permits == 0 {
        return Ok(Spend::Nothing);
    }
    match terms.cost(permits) {
        Some(cost) if cost <= balance => Ok(Spend::Some { permits, cost, is_forced: false }),
        Some(wanted) if wanted <= terms.capacity as i64 => Err(Refusal::Wait { wanted }),
        _ => Err(Refusal::TooLarge { limit: terms.capacity / terms.token }),
    }
}

/// Decides on all of `permits` or none, so that `reserve` permits at least remain.
#[inline(always)]
pub(crate) fn leaving(permits: u64, reserve: u64, terms: &Terms, balance: i64) -> Charge {
    if permits == 0 {
        return Ok(Spend::Nothing);
    }
    // What both cost has to be there, and more is not spent than the permits cost.
    match all_of(permits.saturating_add(reserve), terms, balance) {
        // Both have a cost, so the product does not overflow.
        Ok(_) => {
            let cost = permits.wrapping_mul(terms.token) as i64;
            Ok(Spend::Some { permits, cost, is_forced: false })
        }
        Err(Refusal::TooLarge { limit }) => {
            Err(Refusal::TooLarge { limit: limit.saturating_sub(reserve) })
        }
        wait => wait,
    }
}

/// Decides on as many of `permits` as the balance covers. With none, the first permit is the one
/// refused.
pub(crate) fn up_to(permits: u64, terms: &Terms, balance: i64) -> Charge {
    all_of(permits.min(terms.permits_in(balance).max(1)), terms, balance)
}

/// Decides on all of `permits`, on credit if need be.
pub(crate) fn into_debt(permits: u64, terms: &Terms, balance: i64) -> Charge {
    let deepest = terms.deepest();
    let most = (terms.capacity as i64).saturating_sub(deepest);
    match terms.cost(permits) {
        Some(0) => Ok(Spend::Nothing),
        Some(cost) if balance.saturating_sub(cost) >= deepest => {
            Ok(Spend::Some { permits, cost, is_forced: true })
        }
        Some(cost) if cost <= most => Err(Refusal::Wait { wanted: deepest.saturating_add(cost) }),
        _ => Err(Refusal::TooLarge { limit: most as u64 / terms.token }),
    }
}

/// Decides on all of `permits`, whatever the debt: for a request that was granted elsewhere already.
#[inline(always)]
pub(crate) fn in_any_case(permits: u64, terms: &Terms, balance: i64) -> Spend {
    let cost = match terms.cost(permits) {
        Some(0) => return Spend::Nothing,
        Some(cost) if cost <= balance => cost,
        cost => into_any_debt(cost, terms, balance),
    };
    Spend::Some { permits, cost, is_forced: true }
}

/// Returns the part of `cost` that is charged: all of it, until the debt is as deep as the deepest and a whole
/// capacity. Then it only grows by a unit at a time, so that the word cannot overflow.
#[cold]
fn into_any_debt(cost: Option<i64>, terms: &Terms, balance: i64) -> i64 {
    let most = balance.saturating_sub(terms.deepest()).saturating_add(terms.capacity as i64);
    cost.map_or(most, |cost| cost.min(most)).max(UNIT as i64)
}

/// Decides on the whole balance, including a fraction of a permit.
pub(crate) fn all_there_is(terms: &Terms, balance: i64) -> Spend {
    match balance {
        ..=0 => Spend::Nothing,
        cost => Spend::Some { permits: terms.permits_in(balance), cost, is_forced: false },
    }
}
