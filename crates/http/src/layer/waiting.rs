//! Requests that wait for their limits.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::request::Parts;

use super::Shared;
use super::claim::Claim;
use super::decision::{Decision, Look, Passed, Refused, claims, refused};
use super::take::{Taken, Waits};

/// A request that waits for the decision on it, and the service that is ready for it. Dropping it gives
/// everything back.
pub(super) struct Waiting<S, B> {
    decision: Pin<Box<dyn Future<Output = (Parts, Decision)> + Send>>,
    pub(super) shared: Arc<Shared>,
    pub(super) service: S,
    pub(super) body: B,
}

impl<S, B> Waiting<S, B> {
    pub(super) fn new(shared: &Arc<Shared>, parts: Parts, service: S, body: B) -> Waiting<S, B> {
        let shared = Arc::clone(shared);
        let decision = Box::pin(Arc::clone(&shared).decide_in_turn(parts));
        Waiting { decision, shared, service, body }
    }

    /// Polls the decision, which is made once, with the head of the request.
    pub(super) fn poll_decision(&mut self, context: &mut Context<'_>) -> Poll<(Parts, Decision)> {
        self.decision.as_mut().poll(context)
    }
}

impl Shared {
    async fn decide_in_turn(self: Arc<Self>, parts: Parts) -> (Parts, Decision) {
        let answer = self.take_in_turn(&parts).await;
        let decision = self.decision(answer, &parts);
        (parts, decision)
    }

    /// Takes from one limit after the other in the order of their turns, and waits for one at a time.
    async fn take_in_turn(self: &Arc<Self>, parts: &Parts) -> Result<Passed, Box<Refused>> {
        let claims = claims(&self.limits, parts)?;
        if let Look::Refuse(refused) = self.look(&claims) {
            return Err(refused);
        }
        let mut in_turn: Vec<&Claim<'_, '_>> = claims.iter().collect();
        in_turn.sort_by_key(|claim| claim.turn());
        let mut taken = InHand { taken: Vec::with_capacity(claims.len()) };
        let waits = Waits { timer: &self.timer, for_turns: !self.is_shadow };
        for claim in in_turn {
            let mut answer = claim.take_revocable();
            if let Err(reason) = &answer {
                if self.lets_wait(claim, reason) {
                    answer = claim.take_later(waits).await;
                } else {
                    claim.note_unwaited(reason);
                }
            }
            match answer {
                Ok(permits) => taken.taken.push((claim, permits)),
                Err(reason) => {
                    drop(taken);
                    return Err(Box::new(refused(&claims, claim, reason)));
                }
            }
        }
        Ok(self.passed(parts, taken.into_taken().into_iter()))
    }
}

/// Permits that are given back unless all are there.
struct InHand<'c, 'l, 'r> {
    taken: Vec<(&'c Claim<'l, 'r>, Taken<'c>)>,
}

impl<'c, 'l, 'r> InHand<'c, 'l, 'r> {
    fn into_taken(mut self) -> Vec<(&'c Claim<'l, 'r>, Taken<'c>)> {
        std::mem::take(&mut self.taken)
    }
}

impl Drop for InHand<'_, '_, '_> {
    fn drop(&mut self) {
        // The last first: a receipt gives back only what nothing has followed.
        for (_, taken) in self.taken.drain(..).rev() {
            taken.give_back();
        }
    }
}
