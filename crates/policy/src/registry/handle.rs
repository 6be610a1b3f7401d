//! Handles of limiters that are not divided by keys.

use std::fmt;
use std::sync::Arc;

use sluicegate::{DefaultClock, Denied, Grant, Limiter, Receipt, UnixClock};

use super::clocks::SharedClock;
use super::limiter_of_kind::LimiterOfKind;
use super::slot::{Follower, Slot};
use crate::LimiterPolicy;

/// A named limiter of a [`Registry`](super::Registry).
///
/// It is a [`Limiter`], so an `Arc<dyn Limiter>` can be made of it, or a part of an
/// [`All`](sluicegate::All). It works on after the registry is dropped. After its name is removed
/// from the file it goes on with the last terms.
///
/// **Cost.** A decision loads one word that is written only when another limiter takes the place (see
/// [`Registry::reload`](super::Registry::reload)); then it is that of the limiter itself. It takes no
/// lock, looks nothing up, and touches no count of references. A handle whose limiter was replaced
/// loads the new one at each call, which takes about 25 ns, until it is cloned or
/// [refreshed](LimiterHandle::refresh). It keeps its first limiter in memory until then.
///
/// Cloning touches two counts of references.
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
pub struct LimiterHandle<C: SharedClock = DefaultClock, U: SharedClock = UnixClock> {
    name: Arc<str>,
    limiter: Follower<LimiterOfKind<C, U>>,
}

impl<C: SharedClock, U: SharedClock> LimiterHandle<C, U> {
    pub(super) fn new(name: &Arc<str>, slot: &Arc<Slot<LimiterOfKind<C, U>>>) -> Self {
        LimiterHandle { name: Arc::clone(name), limiter: slot.follower() }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the policy in force, with the fields that the caller applies: the cost, the filter, the
    /// longest wait, and whether it only counts. Wait-free; does not allocate.
    #[must_use]
    pub fn policy(&self) -> Arc<LimiterPolicy> {
        self.limiter.policy()
    }

    /// Takes the limiter in force for the handle's own, so that its calls cost least. Without effect if
    /// it was not replaced.
    pub fn refresh(&mut self) {
        self.limiter.refresh();
    }

    /// Takes all of `permits` or none.
    ///
    /// Does what the limiter does: never blocks, and reads the clock once (an `all` twice). Does not
    /// allocate, but for an `all` within an `all`.
    ///
    /// # Errors
    ///
    /// [`Denied`], which tells whether to retry, and when.
    #[inline(always)]
    pub fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        match self.limiter.own() {
            Some(own) => own.try_acquire_inlined(permits),
            None => self.limiter.with_other(|other| other.try_acquire(permits)),
        }
    }

    /// Takes as many of `permits` as are available, at least one. Otherwise the same as
    /// [`try_acquire`](LimiterHandle::try_acquire).
    ///
    /// # Errors
    ///
    /// [`Denied`] if not even one permit is available.
    pub fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.with(|limiter| limiter.try_acquire_up_to(permits))
    }

    /// Returns the answer that [`try_acquire`](LimiterHandle::try_acquire) would give. Takes nothing.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](LimiterHandle::try_acquire).
    pub fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.with(|limiter| limiter.peek(permits))
    }
}

impl<C: SharedClock, U: SharedClock> Limiter for LimiterHandle<C, U> {
    #[inline]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        LimiterHandle::try_acquire(self, permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        LimiterHandle::try_acquire_up_to(self, permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        LimiterHandle::peek(self, permits)
    }

    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.with(|limiter| limiter.peek_ahead(permits))
    }

    /// Receipts cannot give anything back once the limiter was replaced, until the handle is
    /// refreshed.
    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        match self.limiter.own() {
            Some(own) => own.try_acquire_revocable(permits),
            // What is loaded for this call cannot outlive it.
            None => self.try_acquire(permits).map(Receipt::spent),
        }
    }

    fn reset(&self) {
        self.limiter.with(Limiter::reset);
    }

    fn is_idle(&self) -> bool {
        self.limiter.with(Limiter::is_idle)
    }

    fn healed(&self) -> u64 {
        self.limiter.with(Limiter::healed)
    }
}

/// A clone has the limiter in force for its own, as if it was [refreshed](LimiterHandle::refresh).
impl<C: SharedClock, U: SharedClock> Clone for LimiterHandle<C, U> {
    fn clone(&self) -> Self {
        LimiterHandle { name: Arc::clone(&self.name), limiter: self.limiter.clone() }
    }
}

/// Shows the name and the terms.
impl<C: SharedClock, U: SharedClock> fmt::Debug for LimiterHandle<C, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.policy().kind.to_string();
        f.debug_struct("LimiterHandle").field("name", &self.name).field("kind", &kind).finish()
    }
}
