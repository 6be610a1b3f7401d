//! Questions that are answered together.

use std::collections::HashMap;

use serde::Serialize;
use sluicegate::Receipt;
use utoipa::ToSchema;

use super::answer::{Answer, Decision};
use super::ask::Ask;

/// The answer to several checks of which all are to be granted, or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AllOrNone<'l> {
    /// Granted if every check is.
    pub decision: Decision,
    /// Index of the check that denies, counted from 0: if several do, one that never grants, or else the
    /// one with the longest wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub which: Option<usize>,
    /// The answers in the order of the checks. If the decision is `denied`, those that are `granted` would
    /// be by themselves, and nothing was taken for them: see the service's page for the exception.
    pub answers: Vec<Answer<'l>>,
}

impl<'l> AllOrNone<'l> {
    /// Takes the permits of all, or of none.
    ///
    /// All are looked at first, so that one which denies costs the others nothing; several for the same key of a
    /// limiter are looked at for their sum. If another caller is faster at one of them after that, the permits
    /// of those before it are given back as far as their limiters can, and stay spent otherwise. No limit is
    /// ever exceeded.
    pub(crate) fn take(asks: &[Ask<'l>]) -> AllOrNone<'l> {
        let answers = look(asks);
        if answers.iter().any(|answer| !answer.is_granted()) {
            return AllOrNone::denied(answers);
        }
        let mut taken: Vec<(Receipt<'_>, Answer<'l>)> = Vec::with_capacity(asks.len());
        for (place, ask) in asks.iter().enumerate() {
            match ask.take_revocable() {
                Ok(receipt) => {
                    let answer = ask.granted(&receipt.grant());
                    taken.push((receipt, answer));
                }
                Err(denied) => {
                    // The last first: a receipt gives back only what nothing has followed. What it cannot
                    // take back stays spent.
                    for (receipt, _) in taken.into_iter().rev() {
                        _ = receipt.give_back();
                    }
                    let denial = ask.denied(&denied);
                    let answer = |(other, ask): (usize, &Ask<'l>)| {
                        if other == place { denial.clone() } else { ask.peek() }
                    };
                    return AllOrNone::denied(asks.iter().enumerate().map(answer).collect());
                }
            }
        }
        // Receipts that are dropped keep what was taken.
        let answers = taken.into_iter().map(|(_, answer)| answer).collect();
        AllOrNone { decision: Decision::Granted, which: None, answers }
    }

    fn denied(answers: Vec<Answer<'l>>) -> AllOrNone<'l> {
        let denials = answers.iter().enumerate().filter(|(_, answer)| !answer.is_granted());
        let longest = denials.max_by_key(|(_, answer)| {
            let wait = answer.retry_after.map(|wait| wait.0);
            (wait.is_none(), wait)
        });
        let which = longest.map(|(which, _)| which);
        AllOrNone { decision: Decision::Denied, which, answers }
    }
}

/// Looks at all, each with those before it that are for the same key of the same limiter.
fn look<'l>(asks: &[Ask<'l>]) -> Vec<Answer<'l>> {
    let mut sums = HashMap::with_capacity(asks.len());
    let mut answers = Vec::with_capacity(asks.len());
    for ask in asks {
        let sum: &mut u64 = sums.entry(ask.limiter_and_key()).or_default();
        *sum = sum.saturating_add(ask.permits());
        answers.push(ask.peek_for(*sum));
    }
    answers
}
