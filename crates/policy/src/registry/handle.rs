//! Handles of limiters that are not divided by keys.

use std::fmt;
use std::sync::Arc;

use sluicegate::settle::Receipt;
use sluicegate::{Denied, Grant, Limiter};

use super::limiter_of_kind::{LimiterOfKind, if_counts};
use super::shadow::{Pass, ShadowCounts};
use super::slot::{Follower, Slot};
use crate::LimiterPolicy;

/// The key of the only offender of a limiter without keys.
pub(super) const NO_KEY: &[u8] = b"";

/// A named limiter of a [`Registry`](super::Registry).
///
/// It is a [`Limiter`], so an `Arc<dyn Limiter>` can be made of it, or a part of an
/// [`All`](sluicegate::compose::All). It works on after the registry is dropped. After its name is removed
/// from the file it goes on with the last terms.
///
/// **Terms.** The handle applies what the policy says of a call: `cost` ([`try_pass`](LimiterHandle::try_pass)),
/// `shadow` ([`Pass`]), and `wait` ([`acquire`](LimiterHandle::acquire)).
///
/// **Cost.** A decision loads one word twice, before the limiter's own decision and after it. The word is
/// written only when terms change in more than one step, or another limiter takes the place (see
/// [`Registry`](super::Registry)). The decision takes no lock, looks nothing up, and touches no count of
/// references. A handle whose terms have changed so loads the new ones at each call, which takes about
/// 35 ns more, until it is cloned or [refreshed](LimiterHandle::refresh). It keeps its first limiter in memory
/// until then. With `shadow`, each decision counts in a word that all share.
///
/// Cloning touches three counts of references.
///
/// # Examples
///
/// ```
/// use sluicegate::Limiter;
/// use sluicegate_policy::{Policies, Registry};
/// use std::sync::Arc;
///
/// let registry = Registry::new(Policies::from_toml("p.toml", r#"
/// limiters.pages = { policy = "fixed_window", key = "all", limit = 2, interval = "1 day" }
/// "#)?)?;
/// let pages = registry.limiter("pages")?;
/// let shared: Arc<dyn Limiter> = Arc::new(pages.clone());
/// assert_eq!(pages.try_acquire(1)?.remaining(), 1);
/// assert_eq!(shared.try_acquire(1)?.remaining(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LimiterHandle {
    pub(super) name: Arc<str>,
    pub(super) limiter: Follower<LimiterOfKind>,
}

impl LimiterHandle {
    pub(super) fn new(name: &Arc<str>, slot: &Arc<Slot<LimiterOfKind>>) -> Self {
        LimiterHandle { name: Arc::clone(name), limiter: slot.follower() }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the policy in force. The caller applies its filter, and its cost where that depends on the
    /// request. Wait-free; does not allocate.
    #[must_use]
    pub fn policy(&self) -> Arc<LimiterPolicy> {
        self.limiter.place().policy()
    }

    /// Returns the counts of the limiter while its policy has `shadow`. Wait-free; may be out of date.
    #[must_use]
    pub fn shadow_counts(&self) -> ShadowCounts {
        self.limiter.place().shadow.counts()
    }

    /// Takes the limiter in force for the handle's own, so that its calls cost least. Without effect if
    /// it was not replaced.
    pub fn refresh(&mut self) {
        self.limiter.refresh();
    }

    /// Takes all of `permits` or none.
    ///
    /// Does what the limiter does: reads the clock once (an `all` twice), and does not block, unless its
    /// terms are being changed in several steps: then it waits for the new ones. Does not allocate, but
    /// for an `all` within an `all`.
    ///
    /// With `shadow` every call is granted, and [`try_pass_with`](LimiterHandle::try_pass_with) tells
    /// whether it would have been denied.
    ///
    /// # Errors
    ///
    /// [`Denied`], which tells whether to retry, and when.
    #[inline(always)]
    pub fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        let if_counts = |answer| if_counts(answer, || self.limiter.is_still_plain());
        if let Some(own) = self.limiter.plain()
            && let Some(answer) = own.limiter.try_acquire_then(permits, if_counts)
        {
            return answer;
        }
        // Taken apart here: what the call writes to memory would else be where the answer above has to
        // be too, as a whole, used or not.
        self.pass(Some(permits)).map(|pass| pass.grant())
    }

    #[cold]
    #[inline(never)]
    fn try_elsewhere(&self, permits: u64) -> Result<Grant, Denied> {
        self.pass(Some(permits)).map(|pass| pass.grant())
    }

    /// Takes the permits of the policy's `cost`, or none, and tells whether the call would have been
    /// denied if it were not for `shadow`. Otherwise the same as
    /// [`try_acquire`](LimiterHandle::try_acquire).
    ///
    /// The cost is 1 if the policy has none, and if it depends on the request (`bytes`, rules): then name
    /// the permits.
    ///
    /// # Errors
    ///
    /// [`Denied`]; never with `shadow`.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_policy::{Policies, Registry};
    ///
    /// let registry = Registry::new(Policies::from_toml("p.toml", r#"
    /// limiters.a = { policy = "fixed_window", key = "all", limit = 9, interval = "1 day", cost = 5 }
    /// "#)?)?;
    /// let handle = registry.limiter("a")?;
    /// assert_eq!(handle.try_pass()?.grant().remaining(), 4);
    /// assert!(handle.try_pass().is_err());
    /// assert!(handle.try_pass_with(4).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn try_pass(&self) -> Result<Pass, Denied> {
        let if_counts = |answer| if_counts(answer, || self.limiter.is_still_plain());
        if let Some(own) = self.limiter.plain()
            && let Some(answer) = own.limiter.try_acquire_then(own.terms.cost, if_counts)
        {
            return answer.map(Pass::granted);
        }
        self.pass(None)
    }

    /// Does the same as [`try_pass`](LimiterHandle::try_pass) for so many permits.
    ///
    /// # Errors
    ///
    /// The same as for [`try_pass`](LimiterHandle::try_pass).
    #[inline]
    pub fn try_pass_with(&self, permits: u64) -> Result<Pass, Denied> {
        self.pass(Some(permits))
    }

    /// Takes as many of `permits` as are available, at least one. Otherwise the same as
    /// [`try_acquire`](LimiterHandle::try_acquire). With `shadow` it takes as many, and grants all: one that
    /// would be granted fewer counts as denied.
    ///
    /// # Errors
    ///
    /// [`Denied`] if not even one permit is available.
    pub fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        let pass = self.limiter.pass_up_to(
            NO_KEY,
            permits,
            Limiter::try_acquire,
            Limiter::try_acquire_up_to,
            // Not of the line with counts: the answer is counted here.
            |line, permits| line.limiter().try_acquire_up_to(permits),
        )?;
        Ok(pass.grant())
    }

    /// Returns the answer that [`try_acquire`](LimiterHandle::try_acquire) would give. Takes nothing.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](LimiterHandle::try_acquire).
    pub fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.peek_pass(permits).map(|pass| pass.grant())
    }

    /// Returns the answer that [`try_pass_with`](LimiterHandle::try_pass_with) would give: it tells whether the
    /// call would be denied, if it were not for `shadow`. Takes and counts nothing.
    ///
    /// # Errors
    ///
    /// The same as for [`try_pass`](LimiterHandle::try_pass).
    pub fn peek_pass(&self, permits: u64) -> Result<Pass, Denied> {
        self.limiter.look(NO_KEY, permits, Limiter::peek, Limiter::peek)
    }

    /// Counts a denial that a look at the limiter has told, as if the permits had been asked for: in the statistics, and as an
    /// offence if the policy says so of refusals. For callers that ask several limiters and look at all of them first.
    pub fn note_denial(&self, permits: u64, denied: &Denied) {
        self.limiter.note_look(NO_KEY, permits, denied);
    }
}

impl Limiter for LimiterHandle {
    #[inline]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        if let Some(own) = self.limiter.plain() {
            let answer = own.limiter.try_acquire_then(permits, |answer| answer);
            if self.limiter.is_still_plain() {
                return answer;
            }
        }
        self.try_elsewhere(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        LimiterHandle::try_acquire_up_to(self, permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        LimiterHandle::peek(self, permits)
    }

    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        let pass = self.limiter.look(NO_KEY, permits, Limiter::peek_ahead, Limiter::peek_ahead)?;
        Ok(pass.grant())
    }

    /// Receipts cannot give anything back once the limiter was replaced, until the handle is refreshed;
    /// nor with `shadow`, or while callers wait.
    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        if let Some(own) = self.limiter.own()
            && own.penalty_left(NO_KEY, permits).is_none()
        {
            let receipt = own.limiter.try_acquire_revocable(permits);
            if self.limiter.is_still_own() {
                self.limiter.count_receipt(own, NO_KEY, permits, &receipt);
                return receipt;
            }
        }
        // What is loaded for this call cannot outlive it.
        self.try_acquire(permits).map(Receipt::spent)
    }

    /// Makes the limiter full again, ends a penalty, and grants those in line what they wait for.
    fn reset(&self) {
        self.pardon();
        self.limiter.line().reset();
    }

    fn is_idle(&self) -> bool {
        self.limiter.line().is_idle()
    }

    fn healed(&self) -> u64 {
        self.limiter.line().healed()
    }
}

/// A clone has the limiter in force for its own, as if it was [refreshed](LimiterHandle::refresh).
impl Clone for LimiterHandle {
    fn clone(&self) -> Self {
        LimiterHandle { name: Arc::clone(&self.name), limiter: self.limiter.clone() }
    }
}

/// Shows the name and the terms.
impl fmt::Debug for LimiterHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.policy().kind.to_string();
        f.debug_struct("LimiterHandle").field("name", &self.name).field("kind", &kind).finish()
    }
}
