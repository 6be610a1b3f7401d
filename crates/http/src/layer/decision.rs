//! The answer of all limits to a request.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::request::Parts;
use http::{Extensions, HeaderMap, Response};
use sluicegate::Denied;
use sluicegate::settle::AllOrNone;
use sluicegate_flow::time_limit::TimeLimiter;

use super::Shared;
use super::after::After;
use super::claim::Claim;
use super::held::KeptForResponse;
use super::limit::Limit;
use super::refusal::{Refusal, RefusalReason};
use super::request_class::{RequestClass, in_classes};
use super::response_end::NoResponse;
use super::take::{Hold, Kept, Taken};
use crate::fields::{PolicyState, write_retry_after};

/// The decision on a request.
pub(super) enum Decision {
    Pass(Passed),
    Refuse(Box<Response<Vec<u8>>>),
}

/// A request that passes.
pub(super) struct Passed {
    /// The work that is left when the response is known: none for most requests.
    pub(super) after: Option<Box<After>>,
    /// False if it was skipped, or only counts.
    pub(super) is_limited: bool,
    /// Extensions of the request that the service gets, if it is told anything.
    pub(super) told: Option<Extensions>,
}

impl Passed {
    /// A request that has taken nothing.
    const FREE: Passed = Passed { after: None, is_limited: false, told: None };
    /// A request for which no work is left.
    const DONE: Passed = Passed { after: None, is_limited: true, told: None };
}

/// The limit that refuses, why, and the states of all.
pub(super) struct Refused {
    /// The index of the limit; `None` for the time limit.
    which: Option<usize>,
    reason: RefusalReason,
    states: Vec<PolicyState<'static>>,
    /// The class of the request, if the limit has classes.
    class: Option<RequestClass>,
    /// The classes that the fields tell, by the index of the limit.
    told: Vec<(usize, RequestClass)>,
}

impl Refused {
    /// Returns a refusal before any limiter was asked.
    fn unasked(which: usize, reason: RefusalReason) -> Refused {
        Refused { which: Some(which), reason, states: Vec::new(), class: None, told: Vec::new() }
    }
}

/// The end of an attempt to decide without waiting.
enum Attempt {
    Pass(Passed),
    Refuse(Box<Refused>),
    /// The request has to wait, and has taken nothing.
    Wait,
}

impl Shared {
    /// Decides a request at once; `None` if it has to [wait](super::waiting::Waiting). If the layer is
    /// [plain](super::plain), its limit may have `refused` the request already.
    pub(super) fn decide(
        self: &Arc<Self>,
        parts: &Parts,
        refused: Option<RefusalReason>,
    ) -> Option<Decision> {
        if self.skips.apply_to(parts) {
            self.counters.skipped();
            return Some(Decision::Pass(Passed::FREE));
        }
        let attempt = match &*self.limits {
            [only] => self.try_one(only, parts, refused),
            several => self.try_all(several, parts),
        };
        let answer = match attempt {
            Attempt::Pass(passed) => Ok(passed),
            Attempt::Refuse(refused) => Err(refused),
            Attempt::Wait => return None,
        };
        Some(self.decision(answer, parts))
    }

    pub(super) fn decision(&self, answer: Result<Passed, Box<Refused>>, parts: &Parts) -> Decision {
        match &answer {
            Ok(_) => self.counters.passed(),
            Err(refused) => self.counters.refused(refused.which, refused.reason, self.is_shadow),
        }
        match answer {
            Ok(passed) if self.is_shadow => Decision::Pass(Passed { is_limited: false, ..passed }),
            Ok(passed) => Decision::Pass(passed),
            Err(refused) => match self.refuse(&refused, parts) {
                Some(response) => Decision::Refuse(Box::new(response)),
                None => Decision::Pass(Passed::FREE),
            },
        }
    }

    /// Returns the response to a request whose service takes longer than its time limit.
    pub(super) fn time_out(
        &self,
        timeout: Duration,
        after: Option<Box<After>>,
        parts: &Parts,
    ) -> Response<Vec<u8>> {
        self.counters.service_timed_out();
        let after = after.map(|after| (after.states, after.classes, after.kept));
        let (states, told, kept) = after.unwrap_or_default();
        let reason = RefusalReason::TimedOut { timeout };
        let refused = Refused { which: None, reason, states, class: None, told };
        // Its places in flight are free from now on, also if the response is slow.
        kept.end(NoResponse::TimedOut);
        self.refuse(&refused, parts).unwrap_or_default()
    }

    /// Returns the response to a refusal, or `None` if it only counts.
    fn refuse(&self, refused: &Refused, parts: &Parts) -> Option<Response<Vec<u8>>> {
        let limit = refused.which.and_then(|which| self.limits.get(which));
        let time_limit = || self.time_limit.as_ref().map(TimeLimiter::name);
        let tells_class = limit.is_some_and(|limit| limit.tells_class);
        let refusal = Refusal {
            reason: refused.reason,
            which: refused.which,
            policy: if refused.which.is_some() {
                limit.and_then(Limit::name)
            } else {
                time_limit()
            },
            is_of_all: limit.is_none_or(Limit::is_of_all),
            is_shadow: self.is_shadow,
            class: refused.class.as_ref().map(RequestClass::as_str),
            tells_class,
        };
        if let Some(observe) = &self.observe {
            observe(&refusal, parts);
        }
        if self.is_shadow {
            return None;
        }
        let mut response = (self.respond)(&refusal, parts);
        let headers = response.headers_mut();
        let states = in_classes(&refused.states, &refused.told);
        match refused.reason {
            // It tells nothing about a quota.
            RefusalReason::Denied(Denied::Full { retry_after }) => {
                write_retry_after(headers, Some(retry_after));
            }
            RefusalReason::Unavailable => {}
            _ => self.writer.write(headers, &states, SystemTime::now()),
        }
        self.edit_fields(headers, &states);
        Some(response)
    }

    /// Lets the program edit the fields of a response.
    pub(super) fn edit_fields(&self, headers: &mut HeaderMap, states: &[PolicyState<'_>]) {
        if let Some(edit) = &self.edit_fields {
            edit(headers, states);
        }
    }

    /// Asks the only limit, unless it has `refused` already.
    fn try_one(
        self: &Arc<Self>,
        limit: &Limit,
        parts: &Parts,
        refused: Option<RefusalReason>,
    ) -> Attempt {
        let claim = match Claim::of(limit, 0, parts) {
            Ok(Some(claim)) => claim,
            Ok(None) => return Attempt::Pass(Passed::DONE),
            Err(reason) => return Attempt::Refuse(Box::new(Refused::unasked(0, reason))),
        };
        match refused.map_or_else(|| claim.take(), Err) {
            Ok(taken) => Attempt::Pass(self.passed(parts, std::iter::once((&claim, taken)))),
            Err(reason) if self.lets_wait(&claim, &reason) => Attempt::Wait,
            Err(reason) => {
                claim.note_unwaited(&reason);
                let (states, class) = (vec![claim.refused(&reason)], claim.class());
                let told = claim.class_for_clients().into_iter().collect();
                Attempt::Refuse(Box::new(Refused { which: Some(0), reason, states, class, told }))
            }
        }
    }

    /// Looks at all limits first, so that one which refuses costs the others nothing.
    fn try_all(self: &Arc<Self>, limits: &[Limit], parts: &Parts) -> Attempt {
        let claims = match claims(limits, parts) {
            Ok(claims) => claims,
            Err(refused) => return Attempt::Refuse(refused),
        };
        match self.look(&claims) {
            Look::Clear => {}
            Look::Wait => return Attempt::Wait,
            Look::Refuse(refused) => return Attempt::Refuse(refused),
        }
        let mut taken = AllOrNone::with_capacity(claims.len());
        for claim in &claims {
            if let Err(reason) = taken.add(claim.take_revocable()) {
                if self.lets_wait(claim, &reason) {
                    return Attempt::Wait;
                }
                claim.note_unwaited(&reason);
                return Attempt::Refuse(Box::new(refused(&claims, claim, reason)));
            }
        }
        Attempt::Pass(self.passed(parts, claims.iter().zip(taken.keep())))
    }

    /// Returns a request that has taken these permits.
    pub(super) fn passed<'c, 'l: 'c, 'r: 'c>(
        self: &Arc<Self>,
        parts: &Parts,
        taken: impl Iterator<Item = (&'c Claim<'l, 'r>, Taken<'c>)>,
    ) -> Passed {
        let tells = self.tells_every_state();
        let mut states = Vec::with_capacity(if tells { taken.size_hint().0 } else { 0 });
        let (mut all_kept, mut classes, mut told) = (Vec::new(), Vec::new(), None);
        for (claim, taken) in taken {
            if tells {
                states.push(claim.told(taken.standing.state()));
                classes.extend(claim.class_for_clients());
            }
            claim.tell(&taken.standing, &mut told);
            all_kept.extend(kept(taken));
            all_kept.extend(claim.on_answer(parts).map(Kept::Answer));
        }
        if states.is_empty() && all_kept.is_empty() {
            return Passed { told, ..Passed::DONE };
        }
        states.sort_by_key(|state| state.which);
        let kept = KeptForResponse::new(all_kept);
        let after = After { shared: Arc::clone(self), states, classes, kept };
        Passed { after: Some(Box::new(after)), is_limited: true, told }
    }

    /// Returns true if responses to requests that pass tell the states of limits, which take some time to
    /// work out.
    pub(super) fn tells_every_state(&self) -> bool {
        self.is_on_every_response && !self.is_shadow
    }

    /// Looks at all limits, and takes nothing.
    pub(super) fn look(&self, claims: &[Claim<'_, '_>]) -> Look {
        let mut waits = false;
        for claim in claims {
            match claim.peek() {
                Ok(_) => waits |= claim.asks_elsewhere(),
                Err(reason) if self.lets_wait(claim, &reason) => waits = true,
                Err(reason) => {
                    claim.note_refused_look(&reason);
                    return Look::Refuse(Box::new(refused(claims, claim, reason)));
                }
            }
        }
        if waits { Look::Wait } else { Look::Clear }
    }

    /// Returns true if a request that is refused so is to wait, for its turn or for a decision from elsewhere.
    /// In a shadow nobody waits for a turn.
    pub(super) fn lets_wait(&self, claim: &Claim<'_, '_>, reason: &RefusalReason) -> bool {
        claim.asks_elsewhere() || (!self.is_shadow && claim.may_wait(reason))
    }
}

/// The result of a look at all limits.
pub(super) enum Look {
    Clear,
    /// One refuses, and lets requests wait; or one has to be asked elsewhere.
    Wait,
    /// One refuses for good.
    Refuse(Box<Refused>),
}

/// Returns the claims of a request to all limits that it has to pass.
pub(super) fn claims<'l, 'r>(
    limits: &'l [Limit],
    parts: &'r Parts,
) -> Result<Vec<Claim<'l, 'r>>, Box<Refused>> {
    let mut claims = Vec::with_capacity(limits.len());
    for (which, limit) in limits.iter().enumerate() {
        match Claim::of(limit, which, parts) {
            Ok(Some(claim)) => claims.push(claim),
            Ok(None) => {}
            Err(reason) => return Err(Box::new(Refused::unasked(which, reason))),
        }
    }
    Ok(claims)
}

/// Returns what is kept of permits until the response is known. A receipt is for nothing any more.
fn kept(taken: Taken<'_>) -> Option<Kept> {
    match taken.hold {
        Hold::Spent | Hold::Receipt(_) => None,
        Hold::Kept(kept) => Some(kept),
    }
}

/// Returns the refusal of `claim` for `reason`, or that of another limit which has to be waited for longer;
/// and the states of all. Limits that count refusals as offences are told.
pub(super) fn refused(
    claims: &[Claim<'_, '_>],
    claim: &Claim<'_, '_>,
    reason: RefusalReason,
) -> Refused {
    let (mut which, mut longest) = (claim.which, reason);
    let mut is_offence = false;
    let mut states = Vec::with_capacity(claims.len());
    for other in claims {
        let own = if other.which == claim.which { Some(reason) } else { other.peek().err() };
        match own {
            Some(own) => {
                states.push(other.refused(&own));
                // A limit that all share is used up by others, too.
                is_offence |= own.is_offence() && !other.limit.is_of_all();
                if wait(&own) > wait(&longest) {
                    (which, longest) = (other.which, own);
                }
            }
            None => states.extend(other.standing()),
        }
    }
    if is_offence {
        claims.iter().for_each(Claim::note_refusal);
    }
    let class = claims.iter().find(|claim| claim.which == which).and_then(Claim::class);
    let told = claims.iter().filter_map(Claim::class_for_clients).collect();
    Refused { which: Some(which), reason: longest, states, class, told }
}

/// Returns the order of refusals: one that never ends is the longest.
fn wait(reason: &RefusalReason) -> (bool, Option<Duration>) {
    (reason.is_for_good(), reason.retry_after())
}
