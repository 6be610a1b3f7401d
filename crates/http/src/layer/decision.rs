//! The answer of all limits to a request.

use std::time::{Duration, SystemTime};

use http::Response;
use http::request::Parts;
use sluicegate::Denied;

use super::Shared;
use super::claim::{Claim, Taken};
use super::limit::Limit;
use super::refusal::{Refusal, RefusalReason};
use super::settled::Charge;
use crate::fields::{PolicyState, write_retry_after};

/// The decision on a request.
pub(super) enum Decision {
    Pass(Passed),
    Refuse(Response<Vec<u8>>),
}

/// A request that passes.
pub(super) struct Passed {
    /// The states for the fields of the response.
    pub(super) states: States,
    /// The charges that are settled when the response is known, with the indices of their limits.
    pub(super) charges: Vec<(usize, Charge)>,
}

impl Passed {
    /// A request that has taken nothing.
    const FREE: Passed = Passed { states: States::None, charges: Vec::new() };
}

/// The states of the limits after a decision. There is no allocation for a single one.
pub(super) enum States {
    None,
    One(PolicyState<'static>),
    Several(Vec<PolicyState<'static>>),
}

impl States {
    pub(super) fn as_slice(&self) -> &[PolicyState<'static>] {
        match self {
            States::None => &[],
            States::One(state) => std::slice::from_ref(state),
            States::Several(states) => states,
        }
    }
}

/// The limit that refuses, why, and the states of all.
struct Refused {
    which: usize,
    reason: RefusalReason,
    states: States,
}

impl Refused {
    fn denied(which: usize, denied: Denied, states: States) -> Box<Refused> {
        Box::new(Refused { which, reason: RefusalReason::Denied(denied), states })
    }

    /// Returns a refusal before any limiter was asked.
    fn unasked(which: usize, reason: RefusalReason) -> Box<Refused> {
        Box::new(Refused { which, reason, states: States::None })
    }
}

impl Shared {
    pub(super) fn decide(&self, parts: &Parts) -> Decision {
        if self.skips.iter().any(|skip| skip(parts)) {
            return Decision::Pass(Passed::FREE);
        }
        let answer = match &*self.limits {
            [only] => take_from_one(only, parts),
            several => take_from_all(several, parts),
        };
        match answer {
            Ok(passed) if self.is_shadow => {
                Decision::Pass(Passed { states: States::None, ..passed })
            }
            Ok(passed) => Decision::Pass(passed),
            Err(refused) => self.refuse(&refused, parts),
        }
    }

    fn refuse(&self, refused: &Refused, parts: &Parts) -> Decision {
        let refusal = Refusal {
            reason: refused.reason,
            which: refused.which,
            policy: self.limits.get(refused.which).and_then(Limit::name),
            is_shadow: self.is_shadow,
        };
        if let Some(observe) = &self.observe {
            observe(&refusal, parts);
        }
        if self.is_shadow {
            return Decision::Pass(Passed::FREE);
        }
        let mut response = (self.respond)(&refusal, parts);
        let headers = response.headers_mut();
        match refused.reason {
            // It tells nothing about a quota.
            RefusalReason::Denied(Denied::Full { retry_after }) => {
                write_retry_after(headers, Some(retry_after));
            }
            _ => self.writer.write(headers, refused.states.as_slice(), SystemTime::now()),
        }
        Decision::Refuse(response)
    }
}

fn take_from_one(limit: &Limit, parts: &Parts) -> Result<Passed, Box<Refused>> {
    let claim = limit.claim(parts).map_err(|reason| Refused::unasked(0, reason))?;
    let Some(claim) = claim else { return Ok(Passed::FREE) };
    match claim.take() {
        Ok(taken) => {
            let states = States::One(limit.granted(0, &taken.grant()));
            let charges = taken.into_charge().map(|charge| (0, charge)).into_iter().collect();
            Ok(Passed { states, charges })
        }
        Err(denied) => Err(Refused::denied(0, denied, States::One(limit.denied(0, &denied)))),
    }
}

/// A claim to one of several limits.
struct Asked<'l, 'r> {
    which: usize,
    limit: &'l Limit,
    claim: Claim<'l, 'r>,
}

/// Looks at all limits first, so that one which refuses costs the others nothing.
fn take_from_all(limits: &[Limit], parts: &Parts) -> Result<Passed, Box<Refused>> {
    let mut asked = Vec::with_capacity(limits.len());
    for (which, limit) in limits.iter().enumerate() {
        match limit.claim(parts) {
            Ok(Some(claim)) => asked.push(Asked { which, limit, claim }),
            Ok(None) => {}
            Err(reason) => return Err(Refused::unasked(which, reason)),
        }
    }
    if asked.iter().any(|asked| asked.claim.peek().is_err()) {
        let (longest, states) = look_at_all(&asked, None);
        // Unless all would grant it by now.
        if let Some((which, denied)) = longest {
            return Err(Refused::denied(which, denied, states));
        }
    }
    let mut taken: Vec<Taken<'_>> = Vec::with_capacity(asked.len());
    for each in &asked {
        match each.claim.take_revocable() {
            Ok(permits) => taken.push(permits),
            Err(denied) => {
                taken.into_iter().for_each(Taken::give_back);
                let known = (each.which, denied);
                let (longest, states) = look_at_all(&asked, Some(known));
                let (which, denied) = longest.unwrap_or(known);
                return Err(Refused::denied(which, denied, states));
            }
        }
    }
    let granted = asked.iter().zip(&taken);
    let states = granted.map(|(each, taken)| each.limit.granted(each.which, &taken.grant()));
    let states = States::Several(states.collect());
    let charges = asked.iter().zip(taken);
    let charges = charges.filter_map(|(each, taken)| Some((each.which, taken.into_charge()?)));
    Ok(Passed { states, charges: charges.collect() })
}

/// Returns the limit that has to be waited for longest, if any refuses, and the states of all. `known` is
/// a denial that one has given.
fn look_at_all(
    asked: &[Asked<'_, '_>],
    known: Option<(usize, Denied)>,
) -> (Option<(usize, Denied)>, States) {
    let mut longest = known;
    let mut states = Vec::with_capacity(asked.len());
    for each in asked {
        let denied = match known {
            Some((which, denied)) if which == each.which => Some(denied),
            _ => each.claim.peek().err(),
        };
        if let Some(denied) = denied {
            states.push(each.limit.denied(each.which, &denied));
            if longest.is_none_or(|(_, other)| wait(&denied) > wait(&other)) {
                longest = Some((each.which, denied));
            }
        } else if let Ok(grant) = each.claim.look() {
            states.push(each.limit.granted(each.which, &grant));
        }
    }
    (longest, States::Several(states))
}

/// Returns the order of refusals: one that never ends is the longest.
fn wait(denied: &Denied) -> (bool, Option<Duration>) {
    let wait = denied.retry_after();
    (wait.is_none(), wait)
}
