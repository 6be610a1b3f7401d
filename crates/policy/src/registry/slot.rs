//! The slot of a named limiter, and the handles' part of it.
//!
//! A handle has a copy of the limiter and the terms in force, and their generation. While that is in
//! force, the handle uses its own copy: nothing is looked up, no count of references is touched, and the
//! word is written by nobody. Afterwards it loads the limiter in force, which costs about 35 ns more,
//! until it is cloned or [refreshed](super::LimiterHandle::refresh).

use std::sync::Arc;
use std::time::Duration;

use sluicegate::penalty::Standing;
use sluicegate::settle::Receipt;
use sluicegate::wait::LineLimits;
use sluicegate::{Denied, Grant};

use super::before_wait::BeforeWait;
use super::offenders::Offenders;
use super::place::{InForce, Place};
use super::shadow::{self, Pass};
use super::terms::Terms;
use crate::LimiterPolicy;

/// Limiters that callers can stand in line for, by a line that stays when another takes the place.
pub(super) trait HasLine: Clone {
    type Line;

    /// Returns true if callers are told no more than the limiter's own answer.
    fn is_plain(&self) -> bool;

    /// Returns true if calls of the limiter itself could overtake anybody.
    fn has_waiters(line: &Self::Line) -> bool;

    fn set_limits(line: &Self::Line, limits: LineLimits);

    /// Lets those in line look again.
    fn poke(line: &Self::Line);

    /// Returns the limit of the key, which is empty for a limiter without keys.
    fn limit(&self, key: &[u8]) -> u64;
}

/// The limiter in force under a name, and the line before it.
pub(super) struct Slot<L: HasLine> {
    pub(super) place: Arc<Place<L>>,
    pub(super) line: L::Line,
}

/// A handle's copy of the limiter in force, and the slot where others may follow it.
pub(super) struct Follower<L: HasLine> {
    own: InForce<L>,
    /// The generation, unless the limiter is in `shadow`, its keys can offend, its answers are counted, or tell the source of
    /// permits: then one that never is.
    plain: u64,
    place: Arc<Place<L>>,
    slot: Arc<Slot<L>>,
}

/// The answer to a call.
struct Asked {
    terms: Terms,
    permits: u64,
    answer: Result<Grant, Denied>,
    /// The offenders, if a denial comes from the limiter and not from a penalty.
    noting: Option<Offenders>,
    /// True if a penalty has denied the call.
    is_penalized: bool,
}

/// Returns the denial of a request during a penalty: nothing of the limit can be taken before its end, also
/// by a request that is above the limit.
fn penalized(limit: u64, permits: u64, left: Duration) -> Denied {
    let standing = Standing::new(limit, limit, left);
    standing.denial(permits.min(limit), left)
}

impl<L: HasLine> Slot<L> {
    /// Creates the slot, with the line that `line` makes.
    pub(super) fn new(
        limiter: L,
        offenders: Option<Offenders>,
        policy: Arc<LimiterPolicy>,
        line: impl FnOnce(&Arc<Place<L>>) -> L::Line,
    ) -> Slot<L> {
        let place = Arc::new(Place::new(limiter, offenders, policy));
        let slot = Slot { line: line(&place), place };
        slot.keep_line();
        slot
    }

    /// Lets those in line, and those to come, wait as long as the policy says, and look again.
    ///
    /// They keep their places. Nobody waits for a limiter that was removed, or is in `shadow`, or refuses
    /// at once.
    pub(super) fn keep_line(&self) {
        let policy = self.place.policy();
        let may_wait = Terms::of(&policy).waits && !self.place.is_removed();
        let longest = policy.wait.filter(|_| may_wait).unwrap_or(Duration::ZERO);
        L::set_limits(&self.line, LineLimits::new().max_wait(longest));
        L::poke(&self.line);
    }

    /// Returns a handle's part of the slot, with the limiter in force.
    pub(super) fn follower(self: &Arc<Self>) -> Follower<L> {
        let own = InForce::clone(&self.place.in_force());
        // Generations that are in force are even.
        let is_plain = own.limiter.is_plain()
            && !own.terms.is_shadow
            && own.offenders.is_none()
            && self.place.answers.get().is_none();
        let plain = if is_plain { own.generation } else { u64::MAX };
        Follower { own, plain, place: Arc::clone(&self.place), slot: Arc::clone(self) }
    }
}

impl<L: HasLine> Follower<L> {
    /// Returns the handle's own limiter and terms, if these are in force and a decision by them is all
    /// that there is to do: nobody stands in line, and denials are denials. The decision counts if
    /// [`is_still_plain`](Follower::is_still_plain) afterwards.
    #[inline(always)]
    pub(super) fn plain(&self) -> Option<&InForce<L>> {
        let is_plain = self.place.generation.get() == self.plain;
        (is_plain && !self.has_waiters(self.own.terms)).then_some(&self.own)
    }

    #[inline(always)]
    pub(super) fn is_still_plain(&self) -> bool {
        self.place.generation.is_still(self.plain)
    }

    /// Does the same for a call that cannot be passed on to another limiter, also if answers are counted.
    /// It counts if [`is_still_own`](Follower::is_still_own) afterwards.
    pub(super) fn own(&self) -> Option<&InForce<L>> {
        let is_plain = self.is_own() && !self.own.terms.is_shadow;
        (is_plain && !self.has_waiters(self.own.terms)).then_some(&self.own)
    }

    pub(super) fn is_still_own(&self) -> bool {
        self.place.generation.is_still(self.own.generation)
    }

    /// Returns true if a call of the limiter itself could overtake anybody.
    #[inline(always)]
    pub(super) fn has_waiters(&self, terms: Terms) -> bool {
        terms.waits && L::has_waiters(&self.slot.line)
    }

    /// Decides by the terms in force.
    pub(super) fn decide<T>(&self, mut call: impl FnMut(&InForce<L>) -> T) -> T {
        if self.is_own() {
            let answer = call(&self.own);
            if self.place.generation.is_still(self.own.generation) {
                return answer;
            }
        }
        self.place.decide(call)
    }

    /// Decides by the terms in force, on as many permits as the caller names, or else as a call costs.
    /// `ask` asks the limiter for the `key`, and `ask_line` the line if anybody stands there. The key of a
    /// limiter without keys is empty.
    #[inline(never)]
    pub(super) fn pass(
        &self,
        key: &[u8],
        permits: Option<u64>,
        mut ask: impl FnMut(&L, u64) -> Result<Grant, Denied>,
        ask_line: impl FnMut(&L::Line, u64) -> Result<Grant, Denied>,
    ) -> Result<Pass, Denied> {
        let ask = |limiter: &L, permits, _: Terms| ask(limiter, permits);
        self.told(self.ask(key, permits, ask, ask_line), key)
    }

    /// Does the same as [`pass`](Follower::pass) for a caller that waits if it is denied: then it neither counts nor
    /// notes the denial.
    #[inline(never)]
    pub(super) fn pass_or_wait(
        &self,
        key: &[u8],
        permits: u64,
        mut ask: impl FnMut(&L, u64) -> Result<Grant, Denied>,
        ask_line: impl FnMut(&L::Line, u64) -> Result<Grant, Denied>,
    ) -> Result<Pass, BeforeWait> {
        let ask = |limiter: &L, permits, _| ask(limiter, permits);
        let asked = self.ask(key, Some(permits), ask, ask_line);
        match &asked.answer {
            Err(denied) if !asked.is_penalized && asked.terms.may_wait(denied) => {
                Err(BeforeWait::Later(*denied))
            }
            _ => self.told(asked, key).map_err(BeforeWait::Refused),
        }
    }

    /// Counts and notes a receipt, or the denial of a call before a wait, as [`pass_or_wait`](Follower::pass_or_wait)
    /// does. No penalty refuses the call.
    pub(super) fn counted_receipt<'l>(
        &self,
        own: &InForce<L>,
        key: &[u8],
        permits: u64,
        receipt: Result<Receipt<'l>, Denied>,
    ) -> Result<Receipt<'l>, BeforeWait> {
        if let Err(denied) = &receipt
            && own.terms.may_wait(denied)
        {
            return Err(BeforeWait::Later(*denied));
        }
        self.count_receipt(own, key, permits, &receipt);
        receipt.map_err(BeforeWait::Refused)
    }

    /// Counts a receipt or a denial by the handle's own limiter, and notes a denial if that is an offence.
    pub(super) fn count_receipt(
        &self,
        own: &InForce<L>,
        key: &[u8],
        permits: u64,
        receipt: &Result<Receipt<'_>, Denied>,
    ) {
        if own.note(key, receipt.as_ref().err()) {
            return self.place.count_penalized(own.terms, permits);
        }
        let grant = receipt.as_ref().map(Receipt::grant);
        self.place.count(own.terms, permits, grant.as_ref().map_err(|denied| *denied));
    }

    /// Returns the answer that [`pass`](Follower::pass) would give; takes and counts nothing if `ask` and
    /// `ask_line` take nothing.
    pub(super) fn look(
        &self,
        key: &[u8],
        permits: u64,
        mut ask: impl FnMut(&L, u64) -> Result<Grant, Denied>,
        ask_line: impl FnMut(&L::Line, u64) -> Result<Grant, Denied>,
    ) -> Result<Pass, Denied> {
        let ask = |limiter: &L, permits, _| ask(limiter, permits);
        let Asked { terms, permits, answer, .. } = self.ask(key, Some(permits), ask, ask_line);
        shadow::shown(terms, permits, answer)
    }

    /// Counts a denial that [`look`](Follower::look) has told as if the call had been made, and notes it if that is an
    /// offence.
    pub(super) fn note_look(&self, key: &[u8], permits: u64, denied: &Denied) {
        let (terms, mut is_penalized, offenders) = self.decide(|in_force| {
            let is_penalized = in_force.penalty_left(key, permits).is_some();
            (in_force.terms, is_penalized, in_force.offenders.clone())
        });
        if let Some(offenders) = offenders.filter(|_| !is_penalized) {
            is_penalized = offenders.note(key, denied);
        }
        if is_penalized {
            self.place.count_penalized(terms, permits);
        } else {
            self.place.count(terms, permits, Err(denied));
        }
    }

    /// Does the same as [`pass`](Follower::pass) for as many of `permits` as there are. With `shadow` a caller
    /// that would be granted fewer is granted all, and counts as one that would be denied: `ask_all` then
    /// asks for all of them first.
    #[inline(never)]
    pub(super) fn pass_up_to(
        &self,
        key: &[u8],
        permits: u64,
        ask_all: impl Fn(&L, u64) -> Result<Grant, Denied>,
        ask: impl Fn(&L, u64) -> Result<Grant, Denied>,
        ask_line: impl FnMut(&L::Line, u64) -> Result<Grant, Denied>,
    ) -> Result<Pass, Denied> {
        let ask = |limiter: &L, permits, terms: Terms| {
            if !terms.is_shadow {
                return ask(limiter, permits);
            }
            // What there is, is taken all the same.
            ask_all(limiter, permits).inspect_err(|_| _ = ask(limiter, permits))
        };
        self.told(self.ask(key, Some(permits), ask, ask_line), key)
    }

    /// Returns what the caller is told. Counts it, and notes a denial by the limiter if that is an offence.
    fn told(&self, asked: Asked, key: &[u8]) -> Result<Pass, Denied> {
        let Asked { terms, permits, answer, noting, mut is_penalized } = asked;
        if let (Some(offenders), Err(denied)) = (noting, &answer) {
            is_penalized |= offenders.note(key, denied);
        }
        if is_penalized {
            self.place.count_penalized(terms, permits);
        } else {
            self.place.count(terms, permits, answer.as_ref());
        }
        self.place.shadow.judge(terms, permits, answer)
    }

    fn ask(
        &self,
        key: &[u8],
        permits: Option<u64>,
        mut ask: impl FnMut(&L, u64, Terms) -> Result<Grant, Denied>,
        mut ask_line: impl FnMut(&L::Line, u64) -> Result<Grant, Denied>,
    ) -> Asked {
        loop {
            let (generation, asked) = self.decide(|in_force| {
                let (terms, offenders) = (in_force.terms, &in_force.offenders);
                let permits = permits.unwrap_or(terms.cost);
                let asked = |answer, noting, is_penalized| Asked {
                    terms,
                    permits,
                    answer,
                    noting,
                    is_penalized,
                };
                let answer = match in_force.penalty_left(key, permits) {
                    Some(left) => {
                        let limit = in_force.limiter.limit(key);
                        Ok(asked(Err(penalized(limit, permits, left)), None, true))
                    }
                    None if !self.has_waiters(terms) => {
                        let answer = ask(&in_force.limiter, permits, terms);
                        let is_denied = answer.is_err();
                        Ok(asked(answer, offenders.clone().filter(|_| is_denied), false))
                    }
                    None => Err((terms, permits, offenders.clone())),
                };
                (in_force.generation, answer)
            });
            let (terms, permits, noting) = match asked {
                Ok(asked) => return asked,
                Err(to_line) => to_line,
            };
            let answer = ask_line(&self.slot.line, permits);
            // The line has asked the limiter in force: by now it may be one that goes with other terms.
            if self.place.generation.is_still(generation) {
                return Asked { terms, permits, answer, noting, is_penalized: false };
            }
        }
    }

    /// Returns the terms in force.
    pub(super) fn terms(&self) -> Terms {
        self.decide(|in_force| in_force.terms)
    }

    /// Returns the offenders by the terms in force, if the policy has a penalty.
    pub(super) fn offenders(&self) -> Option<Offenders> {
        self.decide(|in_force| in_force.offenders.clone())
    }

    fn is_own(&self) -> bool {
        self.place.generation.get() == self.own.generation
    }

    /// Takes the limiter in force for its own.
    pub(super) fn refresh(&mut self) {
        if !self.is_own() {
            *self = self.slot.follower();
        }
    }

    pub(super) fn place(&self) -> &Place<L> {
        &self.place
    }

    pub(super) fn line(&self) -> &L::Line {
        &self.slot.line
    }
}

/// A clone has the limiter in force for its own.
impl<L: HasLine> Clone for Follower<L> {
    fn clone(&self) -> Follower<L> {
        if !self.is_own() {
            return self.slot.follower();
        }
        Follower {
            own: self.own.clone(),
            plain: self.plain,
            place: Arc::clone(&self.place),
            slot: Arc::clone(&self.slot),
        }
    }
}
