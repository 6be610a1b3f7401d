//! Requests that wait for their limits.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::request::Parts;
use sluicegate::settle::AllOrNone;

use super::Shared;
use super::claim::Claim;
use super::decision::{Decision, Look, Passed, Refused, claims, refused};
use super::take::Waits;

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
        let mut taken = AllOrNone::with_capacity(claims.len());
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
            if let Err(reason) = taken.add(answer.map(|permits| (claim, permits))) {
                return Err(Box::new(refused(&claims, claim, reason)));
            }
        }
        Ok(self.passed(parts, taken.keep().into_iter()))
    }
}
