//! Requests that wait for their limits.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use http::request::Parts;
use sluicegate::settle::AllOrNone;

use super::Shared;
use super::claim::Claim;
use super::decision::{Decision, Look, Passed, Refused, claims, refused};
use super::take::{Taken, Turn, Waits};

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
        let (places, others) = in_turn.split_at(places(&in_turn));
        let mut taken = AllOrNone::with_capacity(claims.len());
        let waits = Waits { timer: &self.timer, for_turns: !self.is_shadow };
        self.take_each(&claims, places, &mut taken, waits).await?;
        self.ask_lines(&claims, others, &mut taken, waits).await?;
        self.take_each(&claims, others, &mut taken, waits).await?;
        Ok(self.passed(parts, taken.keep().into_iter()))
    }

    /// Takes what `in_turn` asks for, and waits for one after the other. A claim that has been granted already is passed over.
    async fn take_each<'c, 'l, 'r>(
        &'c self,
        claims: &'c [Claim<'l, 'r>],
        in_turn: &[&'c Claim<'l, 'r>],
        taken: &mut TakenInTurn<'c, 'l, 'r>,
        waits: Waits<'c>,
    ) -> Result<(), Box<Refused>> {
        for claim in in_turn.iter().copied() {
            if taken.grants().iter().any(|(other, _)| other.which == claim.which) {
                continue;
            }
            let mut answer = claim.take_revocable();
            if let Err(reason) = &answer {
                if self.lets_wait(claim, reason) {
                    answer = claim.take_later(waits).await;
                } else {
                    claim.note_unwaited(reason);
                }
            }
            if let Err(reason) = taken.add(answer.map(|permits| (claim, permits))) {
                return Err(Box::new(refused(claims, claim, reason)));
            }
        }
        Ok(())
    }

    /// Stands in each line for a moment, so that one which refuses at once does so before the request has taken what may not come
    /// back: in an overload, requests that are refused would use up the other limits.
    async fn ask_lines<'c, 'l, 'r>(
        &'c self,
        claims: &'c [Claim<'l, 'r>],
        in_turn: &[&'c Claim<'l, 'r>],
        taken: &mut TakenInTurn<'c, 'l, 'r>,
        waits: Waits<'c>,
    ) -> Result<(), Box<Refused>> {
        if in_turn.len() < 2 {
            return Ok(());
        }
        for claim in in_turn.iter().copied().filter(|claim| claim.turn() == Turn::Line) {
            if !claim.peek().is_err_and(|reason| self.lets_wait(claim, &reason)) {
                continue;
            }
            let Some(answer) = at_once(claim.take_later(waits)).await else { continue };
            if let Err(reason) = taken.add(answer.map(|permits| (claim, permits))) {
                return Err(Box::new(refused(claims, claim, reason)));
            }
        }
        Ok(())
    }
}

/// The grants of a request so far, with its claims.
type TakenInTurn<'c, 'l, 'r> = AllOrNone<(&'c Claim<'l, 'r>, Taken<'c>)>;

/// Returns the number of places in flight that a request asks for, which come first.
fn places(in_turn: &[&Claim<'_, '_>]) -> usize {
    in_turn.partition_point(|claim| claim.turn() == Turn::Place)
}

/// Returns the output of a future that is ready when it is first polled, and drops any other.
async fn at_once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}
