//! Questions that are answered together.

use serde::Serialize;
use sluicegate::settle;
use utoipa::ToSchema;

use super::answer::{Answer, Decision};
use super::ask::Ask;
use super::look::look_at_all;
use super::side_by_side::side_by_side;

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
    /// All are [looked at](look_at_all) first, so that one which denies costs the others nothing; a single one is not. A
    /// denial by that look counts as one by the limiter: in its statistics, and as an offence. If another caller is
    /// faster at one of them after that, the permits of those before it are given back as far as their limiters can,
    /// and stay spent otherwise; limiters on a server, those with `shadow`, and those that all keys have in common
    /// are asked last, and give nothing back. A caller that goes away while one on a server is asked gives the others
    /// back, too. The look does not tell that a group of tenants has no place for another
    /// one, which then can only borrow. No limit is ever exceeded.
    pub(crate) async fn take(asks: &[Ask<'l>]) -> AllOrNone<'l> {
        if let [only] = asks {
            let answer = only.take().await;
            if !answer.is_granted() {
                return AllOrNone::denied(vec![answer]);
            }
            return AllOrNone { decision: Decision::Granted, which: None, answers: vec![answer] };
        }
        let looks = look_at_all(asks.iter()).await;
        if looks.iter().any(|(answer, _)| !answer.is_granted()) {
            let noted = asks.iter().zip(looks).map(|(ask, (answer, refused))| {
                if let Some(refused) = refused {
                    return ask.note_refusal(answer, &refused);
                }
                ask.note_missing_key();
                answer
            });
            return AllOrNone::denied(noted.collect());
        }
        let mut taken = settle::AllOrNone::with_capacity(asks.len());
        let mut answers: Vec<Option<Answer<'l>>> = vec![None; asks.len()];
        for (place, ask) in asks.iter().enumerate() {
            // Those that give nothing back are asked after all that can.
            let Some(answer) = ask.take_revocable() else { continue };
            match taken.add(answer) {
                Ok(receipt) => answers[place] = Some(ask.granted(&receipt.grant())),
                Err(denied) => {
                    return AllOrNone::denied_at(asks, place, ask.denied(&denied)).await;
                }
            }
        }
        for (place, ask) in asks.iter().enumerate() {
            if answers[place].is_none() {
                let answer = ask.take().await;
                if !answer.is_granted() {
                    taken.give_back();
                    return AllOrNone::denied_at(asks, place, answer).await;
                }
                answers[place] = Some(answer);
            }
        }
        taken.keep();
        let answers = answers.into_iter().flatten().collect();
        AllOrNone { decision: Decision::Granted, which: None, answers }
    }

    /// Returns the answers after one was denied that had been granted by a look.
    async fn denied_at(asks: &[Ask<'l>], place: usize, denial: Answer<'l>) -> AllOrNone<'l> {
        let mut answers = side_by_side(asks.iter().map(Ask::peek)).await;
        answers[place] = denial;
        AllOrNone::denied(answers)
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
