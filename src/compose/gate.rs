//! A switch in front of a limiter: limiting, open or closed, changed while it is in use.

#[cfg(feature = "wait")]
mod wait;

#[cfg(feature = "wait")]
use self::wait::SettleHook;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::limiter::Limiter;
use crate::limiter::leaving::Leaving;
use crate::settle::Settle;
use crate::settle::estimate::Estimate;
use crate::settle::estimate::detached::Detached;
use crate::sync::Ordering::{Acquire, Release};
use crate::sync::{AtomicWord, Word};

use super::unlimited::Unlimited;

/// The treatment of requests by a [`Gate`].
///
/// # Examples
///
/// ```
/// use sluicegate::{Limiter, TokenBucket, quota};
/// use sluicegate::compose::{Gate, GateMode};
///
/// let gate = Gate::new(TokenBucket::new(quota!(1 / hour)));
/// gate.set(GateMode::Open);
/// assert!((0..100).all(|_| gate.try_acquire(1).is_ok()));
/// gate.set(GateMode::Closed);
/// assert!(gate.try_acquire(1).is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GateMode {
    /// The limiter decides.
    #[default]
    Limiting,
    /// Every request is granted, and nothing is charged to the limiter.
    Open,
    /// Every request for one permit or more is denied, and nothing is charged to the limiter.
    Closed,
}

impl Word for GateMode {
    #[inline]
    fn from_bits(bits: u64) -> GateMode {
        match bits {
            0 => GateMode::Limiting,
            1 => GateMode::Open,
            _ => GateMode::Closed,
        }
    }

    #[inline]
    fn to_bits(self) -> u64 {
        self as u64
    }
}

/// Wraps a limiter in a switch: it limits, admits everything, or admits nothing.
///
/// The mode can be changed at any time, from any thread. Use it to turn a limiter off while an
/// incident lasts (a kill switch), to stop a caller altogether, or for a limit of zero that is
/// to be opened later: `Gate::with_mode(limiter, GateMode::Closed)`.
///
/// While the gate is [`Open`](GateMode::Open) or [`Closed`](GateMode::Closed), the limiter is
/// not asked and **nothing is charged to it**, so it keeps earning. When the gate limits again,
/// the limiter is usually full, whatever was admitted in the meantime.
///
/// | mode | grants | `limit` and `remaining` of a grant | denies |
/// |---|---|---|---|
/// | `Limiting` | as by the limiter | as by the limiter | as by the limiter |
/// | `Open` | everything | [`u64::MAX`] | nothing |
/// | `Closed` | requests for 0 permits | 0 | all others: [`Denied::TooLarge`], with a limit of 0 |
///
/// A denial by a closed gate has no [`retry_after`](Denied::retry_after), because time alone
/// does not open it.
///
/// A gate is called through the trait [`Limiter`], and its calls block and allocate as the
/// limiter's do. An open or a closed gate is lock-free, does not allocate, and reads no clock. The
/// gate itself costs each call one load of a word that only changes of the mode write. If the
/// limiter can be settled, so can the gate: see [`Settle`](crate::settle::Settle).
///
/// # Examples
///
/// ```
/// use sluicegate::{Limiter, TokenBucket, quota};
/// use sluicegate::compose::{Gate, GateMode};
///
/// let gate = Gate::new(TokenBucket::new(quota!(5 / second)));
/// assert!(gate.try_acquire(6).is_err());
///
/// gate.set(GateMode::Open);
/// assert_eq!(gate.try_acquire(1_000_000)?.remaining(), u64::MAX);
///
/// gate.set(GateMode::Closed);
/// let denied = gate.try_acquire(1).unwrap_err();
/// assert_eq!((denied.limit(), denied.retry_after()), (Some(0), None));
///
/// gate.set(GateMode::Limiting);
/// assert_eq!(gate.try_acquire(5)?.limit(), 5);
/// # Ok::<(), sluicegate::Denied>(())
/// ```
///
/// # Accuracy
///
/// The bound of the limiter holds for grants while the gate limits. A call that begins after
/// [`set`](Gate::set) has returned is decided by the new mode or a later one; a call that is in
/// progress may still be decided by the old one.
///
/// Callers can wait for a gate if they can for its limiter. A gate that is opened grants all in
/// line their permits, and one that is closed refuses them: all have their answers when `set`
/// returns.
///
/// A `Keyed` store keeps a key whose gate's mode was changed: such a gate is not
/// [idle](Limiter::is_idle).
///
/// # Fairness
///
/// As for the limiter.
///
/// # Memory ordering
///
/// As the limiter orders it, while the gate limits. Besides, everything that a thread did before it
/// set a mode happens before everything that callers do that find this mode. So a limiter that is
/// reconfigured before its gate is set to limit is never found with its old quota. Grants of an
/// open gate do not synchronize with each other.
#[doc(alias = "kill switch")]
#[doc(alias = "valve")]
#[derive(Debug)]
pub struct Gate<L> {
    mode: AtomicWord<GateMode>,
    /// The mode of a new gate, for `is_idle`.
    first: GateMode,
    limiter: L,
    #[cfg(feature = "wait")]
    hook: SettleHook<L>,
}

impl<L> Gate<L> {
    /// Wraps `limiter` in a gate that limits.
    #[must_use]
    pub fn new(limiter: L) -> Gate<L> {
        Gate::with_mode(limiter, GateMode::Limiting)
    }

    /// Wraps `limiter` in a gate that starts in `mode`.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::Limiter;
    /// use sluicegate::compose::{Gate, GateMode, Unlimited};
    ///
    /// // Nothing may pass until somebody opens it, and then everything.
    /// let gate = Gate::with_mode(Unlimited, GateMode::Closed);
    /// assert!(gate.try_acquire(1).is_err());
    /// gate.set(GateMode::Open);
    /// assert!(gate.try_acquire(1).is_ok());
    /// ```
    #[must_use]
    pub fn with_mode(limiter: L, mode: GateMode) -> Gate<L> {
        Gate {
            mode: AtomicWord::new(mode),
            first: mode,
            limiter,
            #[cfg(feature = "wait")]
            hook: SettleHook::new(),
        }
    }
}

impl<L> Gate<L> {
    /// Sets the mode, for all calls that begin from now on, and for callers that wait. Wait-free; does
    /// not allocate; reads no clock.
    ///
    /// With the feature `wait`, it takes a lock for a moment. If anybody has ever stood in line for
    /// the gate, it also serves the line, as `reset` would, which reads the limiter's clock.
    pub fn set(&self, mode: GateMode) {
        // ORDERING: Release, so that a caller that finds this mode also finds what was changed
        // before it, such as the quota of the limiter. Pairs with the load in `mode`.
        // MODEL: `a_gate_that_limits_again_is_found_with_the_quota_of_before`.
        self.mode.store(mode, Release);
        #[cfg(feature = "wait")]
        self.hook.settle(self);
    }

    /// Returns the mode in force.
    #[inline]
    #[must_use]
    pub fn mode(&self) -> GateMode {
        // ORDERING: Acquire; pairs with the store in `set`. It precedes the limiter's loads.
        // MODEL: `a_gate_that_limits_again_is_found_with_the_quota_of_before`.
        self.mode.load(Acquire)
    }

    /// Returns the answer of the gate itself, unless it is limiting.
    #[inline]
    fn by_mode(&self, permits: u64) -> Option<Result<Grant, Denied>> {
        match self.mode() {
            GateMode::Limiting => None,
            GateMode::Open => Some(Ok(Unlimited::grant(permits))),
            GateMode::Closed if permits == 0 => Some(Ok(Grant::unused(0, 0))),
            GateMode::Closed => Some(Err(Denied::TooLarge { limit: 0, which: 0 })),
        }
    }

    /// Returns the wrapped limiter, for its other methods. They take no notice of the mode.
    #[must_use]
    pub fn limiter(&self) -> &L {
        &self.limiter
    }

    /// Unwraps the limiter.
    #[must_use]
    pub fn into_limiter(self) -> L {
        self.limiter
    }
}

impl<L: Limiter> Limiter for Gate<L> {
    #[inline]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        match self.by_mode(permits) {
            None => self.limiter.try_acquire(permits),
            Some(answer) => answer,
        }
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        match self.by_mode(permits) {
            None => self.limiter.try_acquire_up_to(permits),
            Some(answer) => answer,
        }
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        match self.by_mode(permits) {
            None => self.limiter.peek(permits),
            Some(answer) => answer,
        }
    }

    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        match self.by_mode(permits) {
            None => self.limiter.peek_ahead(permits),
            Some(answer) => answer,
        }
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        match self.by_mode(permits) {
            None => self.limiter.try_acquire_revocable(permits),
            Some(answer) => answer.map(Receipt::free),
        }
    }

    /// Makes the limiter full again, in any mode. The mode stays.
    fn reset(&self) {
        self.limiter.reset();
    }

    // A gate that was set by hand would not come back as it is if a store dropped it.
    fn is_idle(&self) -> bool {
        self.mode() == self.first && self.limiter.is_idle()
    }

    fn healed(&self) -> u64 {
        self.limiter.healed()
    }
}

/// An open gate grants whatever would remain, and a closed one nothing.
impl<L: Leaving> Leaving for Gate<L> {
    fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        match self.by_mode(permits) {
            None => self.limiter.try_acquire_leaving(permits, reserve),
            Some(answer) => answer,
        }
    }

    fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        match self.by_mode(permits) {
            None => self.limiter.peek_leaving(permits, reserve),
            Some(answer) => answer,
        }
    }

    fn try_acquire_leaving_revocable(
        &self,
        permits: u64,
        reserve: u64,
    ) -> Result<Receipt<'_>, Denied> {
        match self.by_mode(permits) {
            None => self.limiter.try_acquire_leaving_revocable(permits, reserve),
            Some(answer) => answer.map(Receipt::free),
        }
    }
}

/// An [`Estimate`] is settled as it was taken, whatever the mode is then: with the limiter if that
/// granted it, and otherwise with nobody.
impl<L: Settle> Settle for Gate<L> {
    fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
        match self.by_mode(permits) {
            None => self.limiter.try_acquire_settleable(permits),
            Some(answer) => answer.map(Estimate::free),
        }
    }

    fn let_line_look_again(&self) {
        self.limiter.let_line_look_again();
    }

    fn take_up(&self, slot: &mut Option<Detached>) -> Option<Estimate<'_>> {
        // First without a charge: such an estimate may be the limiter's, too.
        Detached::attach_free(slot).or_else(|| self.limiter.take_up(slot))
    }
}
