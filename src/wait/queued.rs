//! Any limiter, with a line of callers that wait.

pub(crate) mod estimates;
mod kept_estimates;
mod leaving;
pub(crate) mod tenant;

use core::fmt;
use core::hash::Hash;
use std::sync::OnceLock;

use crossbeam_utils::CachePadded;

use crate::config::error::ConfigError;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::settle::estimate::Estimate;
use crate::settle::estimate::detached::Detached;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;
use crate::wait::charged::Charged;
use crate::wait::outside::{self, HasOutsideLine, OutsideLine};
use crate::wait::turn::TakesTurns;

use crate::limiter::Limiter;
use crate::settle::Settle;
use crate::wait::line_handle::Line;
use crate::wait::line_weights::LineWeights;
use crate::wait::traits::Wait;

use self::kept_estimates::KeptEstimates;
use self::tenant::Tenant;

/// Wraps a limiter so that callers can wait for it, in one fair line.
///
/// For limiters that do not implement [`Wait`] themselves: [`SlidingLog`](crate::SlidingLog),
/// [`WeightedLog`](crate::window::WeightedLog), a compact [`SlidingWindow`](crate::SlidingWindow),
/// [`Sharded`](crate::Sharded), [`All`](crate::compose::All), an `Arc<dyn Limiter>`, or one of your own. (A
/// [`Gate`](crate::compose::Gate) and a [`Counted`](crate::compose::Counted) implement it if their limiters do.)
///
/// All callers have to go through the `Queued`. The limiter itself knows nothing of the line: a
/// call of it by [`limiter`](Queued::limiter), or by another reference, may take permits before the
/// waiting callers, so that they may wait for ever, and does not tell them of permits that it
/// brings back. Make changes by [`update`](Queued::update), which tells them.
///
/// As long as nobody waits, a call costs one load of a word that nobody writes, on a cache line of
/// its own, besides the limiter's own cost.
///
/// The limiter is asked under the line's lock, for any number of permits up to `u64::MAX`. It must
/// not call the `Queued` back. A limiter that has a line of its own wakes its callers under that
/// lock too: their wakers must not touch the `Queued`. One that panics denies nobody else: the next
/// caller asks again. A [`Counted`](crate::compose::Counted) inside counts each time that the line
/// asks, and a change of a `Gate` inside is an [`update`](Queued::update), so put both outside.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{Wait, rate};
/// use sluicegate::wait::{AcquireError, Queued};
/// use sluicegate::window::WeightedLog;
///
/// let log = Queued::new(WeightedLog::new(rate!(5 / 10 ms))?);
/// log.acquire_blocking(5)?;
/// // Blocks for ten milliseconds, until the first five no longer count.
/// log.acquire_blocking(2)?;
/// // Blocks for no time at all: the permits would come too late.
/// let refused = log.acquire(4).timeout(Duration::from_micros(100)).wait_blocking().unwrap_err();
/// assert!(matches!(refused, AcquireError::TimedOut { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Several limiters, of which all have to grant:
///
/// ```
/// use sluicegate::{Limiter, Sharded, Wait, quota, rate};
/// use sluicegate::compose::All;
/// use sluicegate::wait::Queued;
/// use sluicegate::window::WeightedLog;
///
/// let smooth = Sharded::new(quota!(1_000 / second));
/// let exact = WeightedLog::new(rate!(100 / second))?;
/// let both: All<&dyn Limiter> = All::new([&smooth as &dyn Limiter, &exact])?;
/// let both = Queued::new(both);
/// both.acquire_blocking(10)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Accuracy
///
/// The limiter grants every permit, so its bound holds. When the turn of the first in line has come, that
/// caller, or any other call, asks the limiter for it. If nobody does so in time, nothing is made up for: a
/// log counts the permits from when they were granted.
///
/// When a caller is due:
///
/// * The first in line is due after the wait that the limiter's denial told.
/// * For a caller behind it, the turn is known exactly if the limiter tells exact waits, and if the
///   caller and all ahead of it together want no more than the limit.
/// * Otherwise its turn is estimated, as if the limiter granted its whole limit once in each period: the
///   longest time until full that it has told anybody in line. Once a caller in line has been granted
///   permits, the estimate is exact for a log, for a fixed window, and for callers that each want one
///   permit from a bucket. Before that it may be too early: then a caller wakes once for nothing.
/// * For other limiters the estimate may be too early or too late. It may be far off for an
///   [`All`](crate::compose::All) in which one limiter has the smallest limit and another the longest time.
/// * A caller whose turn comes earlier than estimated is woken when it is the first.
///
/// A caller with a deadline:
///
/// * It is refused at once if its turn is known exactly, and comes too late. An estimate refuses nobody. So
///   a caller with more than the limit's permits ahead of it stands in line until its turn is known, or
///   until its deadline has passed.
/// * After the deadline it is refused by the next call that serves the line. Nothing is charged,
///   and callers behind it do not wait for it.
/// * If its turn was to come by its deadline, it is granted its permits even if it is served later.
/// * If nobody knows how long it would have to wait, its error says `Duration::MAX`.
///
/// If the limiter denies without a wait ([`Denied::Leased`]), the first in line asks again every 10 ms.
/// A request that it denies as too large is refused, even if it is only too large for now (a closed
/// [`Gate`](crate::compose::Gate)).
///
/// A caller that is dropped after its grant, before it was polled again, has spent its permits: the
/// limiter does not take them back. If the limiter can be settled, and anybody has waited for an
/// [estimate](crate::wait::SettleInLine::acquire_settleable), they are given back as an estimate would be.
///
/// # Fairness
///
/// First come, first served, whatever the sizes, among the callers of the `Queued`. No call that
/// happens after a caller has come to stand in line is granted permits before it.
///
/// # Memory ordering
///
/// As the limiter orders it. Besides, an [`update`](Queued::update) happens before the grants of
/// callers that were in line when it returned.
pub struct Queued<L, C = DefaultClock> {
    line: CachePadded<OutsideLine>,
    limiter: L,
    clock: C,
    /// Estimates behind grants in line, once anybody has waited for one.
    kept: OnceLock<KeptEstimates<L>>,
}

impl<L: Limiter> Queued<L> {
    /// Wraps `limiter`, with a line on a clock of its own. The limiter's clock must advance as that
    /// one does.
    #[must_use]
    pub fn new(limiter: L) -> Queued<L> {
        Queued::with_clock(limiter, DefaultClock::default())
    }
}

impl<L: Limiter, C: Clock> Queued<L, C> {
    /// Wraps `limiter`, with a line on `clock`, which should be the limiter's. It is read only while
    /// callers wait.
    #[must_use]
    pub fn with_clock(limiter: L, clock: C) -> Queued<L, C> {
        Queued { line: CachePadded::new(OutsideLine::new()), limiter, clock, kept: OnceLock::new() }
    }

    /// Runs `change` on the limiter, and then lets the line look again, as callers may be due
    /// earlier, later or never.
    ///
    /// For a change of the limit, a [`Receipt`] that is given back, a lease that is dropped:
    /// anything that brings permits otherwise than by time. Locks the line for a moment; its
    /// callers ask the limiter. If `change` panics, the first in line is woken, and looks again.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{Limiter, rate};
    /// use sluicegate::wait::Queued;
    /// use sluicegate::window::WeightedLog;
    ///
    /// let log = Queued::new(WeightedLog::new(rate!(5 / minute))?.with_max_limit(10)?);
    /// assert!(log.try_acquire(6).is_err());
    /// log.update(|log| log.reconfigure(10))?;
    /// assert!(log.try_acquire(6).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update<R>(&self, change: impl FnOnce(&L) -> R) -> R {
        let wakes = WakesIfItPanics(self);
        let result = change(&self.limiter);
        core::mem::forget(wakes);
        self.line.poke(self);
        result
    }

    /// Divides the line among tenants by `weights`: see [`set_weights`](Queued::set_weights).
    ///
    /// # Errors
    ///
    /// [`ConfigError::LineWeight`] if a weight is 0.
    pub fn with_weights(self, weights: LineWeights) -> Result<Queued<L, C>, ConfigError> {
        self.set_weights(weights)?;
        Ok(self)
    }

    /// Divides the line among tenants by `weights`, or changes the weights of one that is divided. Callers then wait by
    /// [`tenant`](Queued::tenant); those that name no tenant are strangers, with one place for all.
    ///
    /// Live: nobody loses a place in line. Callers that stand in a line which was not divided are strangers in it. What
    /// tenants were granted before the change counts by the weights that were in force. Locks the line for a moment, takes a step
    /// for each caller or tenant in it, asks the limiter, allocates. There is no way back to a line that is not divided, but
    /// [`LineWeights::new(0)`](LineWeights::new) makes all strangers, who are served in the order of their arrival.
    ///
    /// # Errors
    ///
    /// [`ConfigError::LineWeight`] if a weight is 0. Nothing is changed then.
    pub fn set_weights(&self, weights: LineWeights) -> Result<(), ConfigError> {
        weights.check()?;
        self.line.line_lock().divide(weights);
        // Another one may be the first, and its timer late.
        self.line.poke(self);
        Ok(())
    }

    /// Returns a tenant by which to wait for its part of the permits, if the line has [weights](Queued::set_weights).
    ///
    /// A tenant is any value with a hash, and is known by 64 bits of it. (Should two tenants have the same, which for a
    /// million tenants at a time has a probability of 1 to 37 million, they share their turns.) Hashes, and does nothing else: a
    /// tenant need not be kept.
    #[must_use]
    pub fn tenant<T: Hash + ?Sized>(&self, tenant: &T) -> Tenant<&Queued<L, C>, L, C> {
        Tenant::new(self, tenant)
    }

    /// Returns whether callers stand in line, so that a call of the limiter itself would overtake them.
    /// Loads one word; does not lock the line.
    #[must_use]
    #[inline]
    pub fn has_waiters(&self) -> bool {
        self.line.is_gated()
    }

    /// Returns the wrapped limiter. Calls of it do not wait for the line, and tell it nothing.
    #[must_use]
    pub fn limiter(&self) -> &L {
        &self.limiter
    }

    /// Returns the wrapped limiter.
    #[must_use]
    pub fn into_inner(self) -> L {
        self.limiter
    }

    /// Returns the limiter for a request for `permits`, unless others wait in line.
    #[inline]
    fn unless_gated(&self, permits: u64) -> Result<&L, Denied> {
        if permits > 0 && self.line.is_gated() {
            outside::serve_at_the_gate(self, permits)?;
        }
        Ok(&self.limiter)
    }
}

/// Wakes the first in line when it is dropped. (Not more: a limiter that panics once more would abort
/// the process.)
struct WakesIfItPanics<'a, L: Limiter, C: Clock>(&'a Queued<L, C>);

impl<L: Limiter, C: Clock> Drop for WakesIfItPanics<'_, L, C> {
    fn drop(&mut self) {
        self.0.wake_first();
    }
}

impl<L: Limiter, C: Clock> HasOutsideLine for Queued<L, C> {
    fn outside(&self) -> &OutsideLine {
        &self.line
    }

    fn line_clock(&self) -> &dyn Clock {
        &self.clock
    }

    fn ask(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.try_acquire(permits)
    }

    fn look(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.peek(permits)
    }

    fn look_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.peek_ahead(permits)
    }

    fn ask_at_the_gate(&self, permits: u64) -> Result<Grant, Denied> {
        self.unless_gated(permits)?.try_acquire(permits)
    }

    fn ask_in_line(&self, permits: u64) -> Result<(Grant, Charged), Denied> {
        match self.kept.get() {
            Some(kept) => kept.take(&self.limiter, permits),
            None => Ok((self.ask(permits)?, Charged::NOTHING)),
        }
    }

    fn take_back(&self, charged: Charged) -> bool {
        self.kept.get().is_some_and(|kept| kept.give_back(&self.limiter, charged))
    }

    fn forget(&self, charged: Charged) {
        _ = self.kept.get().and_then(|kept| kept.remove(charged));
    }
}

/// Each call is the limiter's, as long as nobody stands in line. A call that finds somebody there
/// serves the line, if its lock is free, and is denied if anybody is left; its `retry_after` is
/// then an estimate of the end of the last turn.
///
/// So does [`peek`](Limiter::peek). Requests for 0 permits are the limiter's in any case.
impl<L: Limiter, C: Clock + Send + Sync> Limiter for Queued<L, C> {
    #[inline]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.ask_at_the_gate(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        // Denied as one permit would be.
        self.unless_gated(permits.min(1))?.try_acquire_up_to(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.unless_gated(permits)?.peek(permits)
    }

    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.unless_gated(permits)?.peek_ahead(permits)
    }

    /// Does as the limiter does. A receipt that is given back while others wait is to be given back in
    /// an [`update`](Queued::update), or they do not learn of it before they look again.
    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.unless_gated(permits)?.try_acquire_revocable(permits)
    }

    /// Makes the limiter full again, and serves the line.
    fn reset(&self) {
        self.update(Limiter::reset);
    }

    fn is_idle(&self) -> bool {
        self.line.line_lock().is_unused() && self.limiter.is_idle()
    }

    fn healed(&self) -> u64 {
        self.limiter.healed()
    }
}

/// An estimate that gives permits back lets the line look again.
impl<L: Settle, C: Clock + Send + Sync> Settle for Queued<L, C> {
    fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
        let limiter = self.unless_gated(permits)?;
        limiter.try_acquire_settleable(permits).map(|estimate| estimate.behind(self))
    }

    fn let_line_look_again(&self) {
        self.update(Settle::let_line_look_again);
    }

    fn take_up(&self, slot: &mut Option<Detached>) -> Option<Estimate<'_>> {
        self.limiter.take_up(slot).map(|estimate| estimate.behind(self))
    }
}

impl<L: Limiter, C: Clock + Send + Sync> Wait for Queued<L, C> {
    fn line(&self) -> Line<'_> {
        Line::of(self)
    }
}

impl<L, C> AsRef<Queued<L, C>> for Queued<L, C> {
    fn as_ref(&self) -> &Queued<L, C> {
        self
    }
}

impl<L: fmt::Debug, C> fmt::Debug for Queued<L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queued")
            .field("limiter", &self.limiter)
            .field("waiting", &self.line.line_lock().permits())
            .finish()
    }
}
