//! A tenant, by which callers wait for a limiter whose line is divided.

use core::fmt;
use core::hash::Hash;
use core::marker::PhantomData;
use core::ptr;

use slab::Slab;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::limiter::Limiter;
use crate::settle::Settle;
use crate::settle::estimate::Estimate;
use crate::settle::estimate::detached::Detached;
use crate::sync::Lock;
use crate::time::clock::Clock;
use crate::wait::charged::Charged;
use crate::wait::lane::{Lane, LinePriority, fingerprint};
use crate::wait::line_handle::Line;
use crate::wait::outside::{HasOutsideLine, OutsideLine};
use crate::wait::traits::Wait;
use crate::wait::turn::TakesTurns;

use super::Queued;
use super::estimates::SettleInLine;

/// A tenant of a [`Queued`] whose line is divided by [weights](crate::wait::LineWeights): callers wait by it for the tenant's
/// part of the permits.
///
/// Made by [`Queued::tenant`], with a reference to the limiter, or by [`Tenant::new`] with an `Arc` of it, or a way `Q` to
/// it of your own. It is a hash and that pointer, so make one for each call, or keep it. (The hash depends on the type of the
/// name: `1_u32` and `1_u64` are two tenants.) It is a [`Limiter`] with [`Wait`], so all calls that wait work with it:
/// time-outs, jitter, timers, [`Caller`](crate::wait::Caller), wrappers; and if the limiter can be settled,
/// [estimates](SettleInLine).
///
/// If the line is not divided, callers stand in it as those of the `Queued` itself do.
///
/// # Guarantees
///
/// With `w` for a tenant's weight, and `m` for the largest of its requests, as long as no permits come back and no
/// weights change:
///
/// * **Division.** While two tenants both have callers in line, the permits that they are granted, each divided by its
///   weight, differ by at most `m / w` of the one and `m / w` of the other, whatever sizes they ask for.
/// * **Nobody starves.** Before a caller that stands behind `a` permits of its tenant is granted its own, each other tenant
///   is granted at most `w' (a + m) / w + m'`, whenever it comes and however often, with `w'` and `m'` of that tenant. The
///   number of others that count is bounded by the [places](crate::wait::LineWeights::new), with one for all strangers.
/// * **First come, first served** among the callers of one tenant that have one [priority](LinePriority).
/// * **A priority is a weight** within the tenant, by the same rule: both bounds hold for the priorities of a tenant, with what
///   it is granted. No tenant gets more by calling everything important.
/// * **Nobody is charged for nothing.** Who leaves, is refused, times out or is closed out has had no turn. Permits are
///   counted when they are granted.
/// * **Nobody overtakes the first in line**, and no other call takes permits while anybody waits: as in any line.
///
/// Only permits that are granted in line count: while nobody waits, there is enough for everybody, and all that was counted is
/// forgotten. A tenant that leaves while others wait is remembered as long as it is ahead of them.
///
/// No clock is part of this, so clocks that differ or jump change nothing but when permits are there.
///
/// # Waiting times
///
/// The first in line is due when the limiter says. For the others the turn is an estimate by the weights of those in line; a
/// caller whose turn comes earlier is woken. A caller with a deadline is refused in advance only if even the permits that
/// stand ahead of it in its own lane come too late, and otherwise at its deadline.
///
/// # Cost
///
/// An arrival, a grant and a departure take a logarithm of the number of tenants in line more than in a line that is not
/// divided, and a caller about 90 bytes more. A departure from the middle of a lane takes a step for each caller behind it.
///
/// # Examples
///
/// ```
/// use sluicegate::wait::{LinePriority, LineWeights, Queued};
/// use sluicegate::{TokenBucket, Wait, quota};
///
/// let weights = LineWeights::new(100).weight("acme", 5);
/// let line = Queued::new(TokenBucket::new(quota!(1_000 / second))).with_weights(weights)?;
///
/// line.tenant("acme").acquire_blocking(1)?;
/// let ada = line.tenant("ada");
/// ada.with_priority(LinePriority::High).acquire_blocking(1)?;
/// // In a task: `ada.acquire(1).await?`.
/// assert_eq!(ada.waiters(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// In a task that is spawned:
///
/// ```
/// use std::sync::Arc;
/// use std::thread;
/// use sluicegate::wait::{LineWeights, Queued, Tenant};
/// use sluicegate::{TokenBucket, Wait, quota};
///
/// let line = Queued::new(TokenBucket::new(quota!(1_000 / second)));
/// let line = Arc::new(line.with_weights(LineWeights::new(100))?);
/// let ada = Tenant::new(Arc::clone(&line), "ada");
/// thread::spawn(move || ada.acquire_blocking(3)).join().unwrap()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tenant<Q, L, C> {
    queued: Q,
    lane: Lane,
    of: PhantomData<fn() -> (L, C)>,
}

impl<Q, L: Limiter, C: Clock> Tenant<Q, L, C>
where
    Q: AsRef<Queued<L, C>>,
{
    /// Returns a tenant of `queued`, as [`Queued::tenant`] does: also with an `Arc`, which keeps the limiter alive.
    #[must_use]
    pub fn new<T: Hash + ?Sized>(queued: Q, tenant: &T) -> Tenant<Q, L, C> {
        let tenant = Some(fingerprint(tenant));
        let lane = Lane { tenant, priority: LinePriority::default() };
        Tenant { queued, lane, of: PhantomData }
    }

    /// Returns the tenant with a priority for those that wait by it. By default, that is [`LinePriority::Normal`].
    #[must_use]
    pub fn with_priority(self, priority: LinePriority) -> Tenant<Q, L, C> {
        Tenant { lane: Lane { priority, ..self.lane }, ..self }
    }

    /// Returns the limiter with its line.
    #[must_use]
    pub fn queued(&self) -> &Queued<L, C> {
        self.queued.as_ref()
    }

    /// Returns the number of the tenant's callers in line, of any priority; of all callers, if the line is not divided.
    /// Takes the line's lock.
    #[must_use]
    pub fn waiters(&self) -> usize {
        self.queued.as_ref().outside().line_lock().waiters_of(self.lane)
    }
}

impl<Q, L: Limiter, C: Clock> HasOutsideLine for Tenant<Q, L, C>
where
    Q: AsRef<Queued<L, C>>,
{
    fn outside(&self) -> &OutsideLine {
        self.queued.as_ref().outside()
    }

    fn line_clock(&self) -> &dyn Clock {
        self.queued.as_ref().line_clock()
    }

    fn ask(&self, permits: u64) -> Result<Grant, Denied> {
        self.queued.as_ref().ask(permits)
    }

    fn look(&self, permits: u64) -> Result<Grant, Denied> {
        self.queued.as_ref().look(permits)
    }

    fn look_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.queued.as_ref().look_ahead(permits)
    }

    fn ask_at_the_gate(&self, permits: u64) -> Result<Grant, Denied> {
        self.queued.as_ref().ask_at_the_gate(permits)
    }

    fn ask_in_line(&self, permits: u64) -> Result<(Grant, Charged), Denied> {
        self.queued.as_ref().ask_in_line(permits)
    }

    fn take_back(&self, charged: Charged) -> bool {
        self.queued.as_ref().take_back(charged)
    }

    fn forget(&self, charged: Charged) {
        self.queued.as_ref().forget(charged);
    }

    fn lane_in_line(&self) -> Lane {
        self.lane
    }

    /// The address of the line, which stays where it is as long as a caller borrows the tenant.
    fn mark_of_line(&self) -> usize {
        ptr::from_ref(self.outside()).addr()
    }
}

/// Each call is that of the [`Queued`]: denied while anybody waits.
impl<Q, L: Limiter, C: Clock + Send + Sync> Limiter for Tenant<Q, L, C>
where
    Q: AsRef<Queued<L, C>> + Send + Sync,
{
    #[inline]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.queued.as_ref().try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.queued.as_ref().try_acquire_up_to(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.queued.as_ref().peek(permits)
    }

    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.queued.as_ref().peek_ahead(permits)
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.queued.as_ref().try_acquire_revocable(permits)
    }

    fn reset(&self) {
        self.queued.as_ref().reset();
    }

    fn is_idle(&self) -> bool {
        self.queued.as_ref().is_idle()
    }

    fn healed(&self) -> u64 {
        self.queued.as_ref().healed()
    }
}

impl<Q, L: Limiter, C: Clock + Send + Sync> Wait for Tenant<Q, L, C>
where
    Q: AsRef<Queued<L, C>> + Send + Sync,
{
    fn line(&self) -> Line<'_> {
        Line::of(self)
    }
}

/// Estimates are those of the [`Queued`]; who waits for one by [`SettleInLine`] waits as the tenant.
impl<Q, L: Settle, C: Clock + Send + Sync> Settle for Tenant<Q, L, C>
where
    Q: AsRef<Queued<L, C>> + Send + Sync,
{
    fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
        self.queued.as_ref().try_acquire_settleable(permits)
    }

    fn let_line_look_again(&self) {
        self.queued.as_ref().let_line_look_again();
    }

    fn take_up(&self, slot: &mut Option<Detached>) -> Option<Estimate<'_>> {
        self.queued.as_ref().take_up(slot)
    }
}

#[expect(private_interfaces, reason = "as in the trait")]
impl<Q, L: Settle, C: Clock + Send + Sync> SettleInLine for Tenant<Q, L, C>
where
    Q: AsRef<Queued<L, C>> + Send + Sync,
{
    fn in_line(&self) -> &(dyn TakesTurns + Sync) {
        self
    }

    fn kept(&self) -> &Lock<Slab<Detached>> {
        self.queued.as_ref().kept()
    }
}

impl<Q: Clone, L, C> Clone for Tenant<Q, L, C> {
    fn clone(&self) -> Tenant<Q, L, C> {
        Tenant { queued: self.queued.clone(), lane: self.lane, of: PhantomData }
    }
}

impl<Q: Copy, L, C> Copy for Tenant<Q, L, C> {}

impl<Q, L, C> fmt::Debug for Tenant<Q, L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenant").field("priority", &self.lane.priority).finish_non_exhaustive()
    }
}
