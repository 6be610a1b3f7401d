//! Grants of an estimate, which are settled when it is known what was used.

pub(crate) mod detached;
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
pub(crate) mod owned;

use core::fmt;

#[cfg(feature = "alloc")]
use crate::decision::all_or_none::Revocable;
use crate::decision::grant::Grant;
use crate::decision::pieces::Pieces;
use crate::decision::settled::{Settled, Unpaid};
use crate::first_panic::FirstPanic;

use super::Settle;

/// A grant of as many permits as a caller expects to use, to be settled when it knows.
///
/// [`settle`](Estimate::settle) gives back the unused permits, or takes the overrun. **Dropping an
/// estimate keeps it charged as it is**: a caller that is cancelled, or that fails without telling
/// its use, has paid for all of it.
///
/// Other callers can take returned permits at once, whatever the limiter has granted in the
/// meantime. The limiter's bound holds for the kept permits: a returned one counts for the caller
/// that takes it next, and no longer for the estimate. No more is given back than was taken,
/// however often, in whatever order and by whichever thread.
///
/// # A bucket
///
/// Permits do not keep for ever, as a full bucket loses its earnings. Permits returned to a
/// [`SettleableBucket`](crate::bucket::SettleableBucket) are good for at least **three quarters of
/// the time in which the bucket fills** (the burst over the rate), less the time in which as many
/// are earned; both count from the grant, if the bucket was empty after it. After that they are
/// lost bit by bit, as fast as the bucket earns. If the bucket had permits left, these times are
/// shorter by the time in which it earns as many: of a grant from a bucket that was more than three
/// quarters full, all may be lost at once. If nobody has taken anything since, nothing is lost: it
/// is as if the grant had never been. Returned permits that are taken again keep their age.
///
/// Usage beyond the estimate becomes a debt, of at most the quota's `max_debt`.
///
/// A change of the limiter (`reconfigure`, `reset`, `restore`, `credit`, healing) ends all that:
/// earlier grants are not given back, and earlier returns are lost.
///
/// # A window
///
/// A window of one word takes permits back **until the window ends that was charged**. If it has
/// ended, nothing is given back: the next one has a limit of its own. (A
/// [`SlidingCounter`](crate::SlidingCounter) takes back its count of the window before, too, at its
/// present weight.)
///
/// Usage beyond the estimate counts **in the present window**, also if that is a later one than
/// was charged, so that no use is lost. It may exceed the limit. Then nothing is granted until the
/// window has ended (or enough is given back), and callers in line wait for longer. It is taken as far as
/// the limiter can count (at least to its `max_limit`). A window that is built `with_reservations` takes it
/// of the windows to come instead, within their limits, as far as they can be reserved; and gives nothing
/// back once a later window is reserved.
///
/// After a `reset` or a healing nothing of earlier grants is given back: their counts are gone. A
/// `reconfigure` keeps the counts, and with them all estimates.
///
/// # A window of slots
///
/// A `SlidingWindow` takes permits back as long as the slot that was charged is in the window: for
/// the length of the window at least. They are taken off that slot, so the rest of the window is as it would
/// be if they had never been granted. A `MultiWindow` takes them back in each of its windows that
/// still counts them; nothing is given back, and all is lost, if none does. Healing keeps the counts here,
/// and with them all estimates. All else is as for a window of one word.
///
/// # Several limiters
///
/// An estimate of an `All` is settled with each of its limiters: see there for its answers.
///
/// # Examples
///
/// ```
/// use sluicegate::{ManualClock, quota};
/// use sluicegate::bucket::SettleableBucket;
///
/// let clock = ManualClock::new();
/// let tokens = SettleableBucket::with_clock(quota!(10_000 / minute), &clock);
///
/// let first = tokens.try_acquire_settleable(4_000)?;
/// let second = tokens.try_acquire_settleable(6_000)?;
/// assert!(tokens.try_acquire(1).is_err());
///
/// // The first has used less than expected, the second as much.
/// first.settle(1_500)?;
/// second.settle(6_000)?;
/// assert!(tokens.try_acquire(2_400).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "to drop an estimate is to keep all of it charged"]
pub struct Estimate<'a> {
    limiter: EstimateOrigin<'a>,
    /// The limiter whose line returned permits are for.
    line: Option<&'a dyn Settle>,
    counts: Option<&'a dyn CountsSettlements>,
    grant: Grant,
    hold: Hold,
    permits: u64,
}

/// A limiter that takes back permits of an estimate, and can be charged with more.
pub(crate) trait Settles: Sync {
    /// Gives back `permits` of `hold`. Returns how many others can take; the rest are lost.
    fn give_back(&self, hold: &mut Hold, permits: u64) -> u64;

    /// Takes `permits`, even if there are fewer. Returns how many it took.
    fn take_beyond(&self, hold: &mut Hold, permits: u64) -> u64;
}

/// Counts of permits that settlements have moved.
pub(crate) trait CountsSettlements: Sync {
    /// Counts permits that came back: `given_back` and `lost`.
    fn count_given_back(&self, given_back: u64, lost: u64);

    /// Counts permits that were used beyond an estimate: `taken` and `unpaid`.
    fn count_beyond(&self, taken: u64, unpaid: u64);
}

/// Lets a line look again when it is dropped.
struct TellsLine<'a>(Option<&'a dyn Settle>);

impl Drop for TellsLine<'_> {
    fn drop(&mut self) {
        let Some(line) = self.0 else { return };
        let mut panic = FirstPanic::default();
        panic.call(|| line.let_line_look_again());
        panic.go_on();
    }
}

/// The part of a limiter's state that an estimate was charged to.
#[derive(Debug)]
pub(crate) enum Hold {
    /// None: an open gate was asked, which charges nobody.
    Free,
    /// It is not known: nothing is given back.
    Lost,
    /// Units of a bucket, and how many a permit is.
    Units { pieces: Pieces, token: u64 },
    /// The count of a window.
    Count {
        number: u64,
        /// Changes of the counter before the grant; `None` if one was in progress.
        changes: Option<u64>,
        /// Reading of the clock before the grant.
        since_nanos: u64,
    },
    /// The slots of a ring.
    #[cfg(feature = "alloc")]
    Slot {
        tick: u64,
        /// Changes of the ring before the grant; `None` if one was in progress.
        changes: Option<u64>,
        /// Present tick at the grant, not reduced to the bits of a word.
        since_tick: u64,
    },
    /// The holds of several limiters. `None` after a panic.
    #[cfg(feature = "alloc")]
    Each(alloc::boxed::Box<[Option<detached::Detached>]>),
}

/// The limiter that was charged.
enum EstimateOrigin<'a> {
    Borrowed(&'a dyn Settles),
    /// It is kept alive.
    #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
    Owned(owned::Owner),
}

impl EstimateOrigin<'_> {
    #[cfg_attr(
        not(all(feature = "alloc", target_has_atomic = "ptr")),
        expect(unused_variables, reason = "only one that is kept alive is asked by the grant")
    )]
    fn give_back(&self, hold: &mut Hold, grant: Grant, permits: u64) -> u64 {
        match self {
            EstimateOrigin::Borrowed(limiter) => limiter.give_back(hold, permits),
            #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
            EstimateOrigin::Owned(owner) => owner.give_back(hold, grant, permits),
        }
    }

    #[cfg_attr(
        not(all(feature = "alloc", target_has_atomic = "ptr")),
        expect(unused_variables, reason = "only one that is kept alive is asked by the grant")
    )]
    fn take_beyond(&self, hold: &mut Hold, grant: Grant, permits: u64) -> u64 {
        match self {
            EstimateOrigin::Borrowed(limiter) => limiter.take_beyond(hold, permits),
            #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
            EstimateOrigin::Owned(owner) => owner.take_beyond(hold, grant, permits),
        }
    }
}

/// Charges nobody.
struct Free;

impl Settles for Free {
    fn give_back(&self, _: &mut Hold, permits: u64) -> u64 {
        permits
    }

    fn take_beyond(&self, _: &mut Hold, permits: u64) -> u64 {
        permits
    }
}

/// Takes nothing back, as it does not know the charge.
struct Unknown;

impl Settles for Unknown {
    fn give_back(&self, _: &mut Hold, _: u64) -> u64 {
        0
    }

    fn take_beyond(&self, _: &mut Hold, _: u64) -> u64 {
        0
    }
}

impl<'a> Estimate<'a> {
    /// Returns an estimate of which nothing is given back.
    pub(crate) fn spent(grant: Grant) -> Estimate<'a> {
        Estimate::new(grant, &Unknown, Hold::Lost)
    }

    /// Returns an estimate that nobody was charged with, nor will be.
    pub(crate) fn free(grant: Grant) -> Estimate<'a> {
        Estimate::new(grant, &Free, Hold::Free)
    }

    pub(crate) fn new(grant: Grant, limiter: &'a dyn Settles, hold: Hold) -> Estimate<'a> {
        let limiter = EstimateOrigin::Borrowed(limiter);
        Estimate { limiter, line: None, counts: None, grant, hold, permits: grant.permits() }
    }

    /// Returns the estimate of several limiters, each of which has granted so many `permits`.
    pub(crate) fn of_each(
        grant: Grant,
        limiter: &'a dyn Settles,
        hold: Hold,
        permits: u64,
    ) -> Estimate<'a> {
        Estimate { permits, ..Estimate::new(grant, limiter, hold) }
    }

    /// Makes the line of `queued` know of permits that come back.
    pub(crate) fn behind(self, queued: &'a dyn Settle) -> Estimate<'a> {
        Estimate { line: Some(queued), ..self }
    }

    /// Makes `counts` count the settlement, unless another one does already.
    pub(crate) fn counted_by(self, counts: &'a dyn CountsSettlements) -> Estimate<'a> {
        Estimate { counts: self.counts.or(Some(counts)), ..self }
    }

    /// Returns the grant. A bucket's counts returned permits as remaining only if it took some of
    /// them; `peek` always does.
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.grant
    }

    /// Returns the permits that are charged: the grant, less the returned permits.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Settles the estimate at the true use: gives back the rest, or takes the overrun. Tells how
    /// many permits that were.
    ///
    /// `settle(0)` gives back all. Does not allocate, and does not block, except that it takes the
    /// lock of the line for a moment if callers wait for the window. A bucket reads no clock to
    /// give back; to take an overrun it does so once, and once more to go into debt. A window reads
    /// the clock once. (A limiter that is healed thereby reads it again.)
    ///
    /// # Errors
    ///
    /// [`Unpaid`] if more was used than the limiter can be charged with. The estimate is settled
    /// nevertheless: the limiter took all it could, and the error tells the rest.
    ///
    /// * A bucket's debt is at most the quota's `max_debt`, which is the burst if the quota does
    ///   not say otherwise. If it is 0, the bucket gives all it holds, and no more.
    /// * A window counts as far as its word can: at least to its `max_limit`. A calendar window and a
    ///   budget of days count to 2^47 - 1, a calendar window of minutes or hours to 2^32 - 1.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{ManualClock, quota};
    /// use sluicegate::bucket::SettleableBucket;
    ///
    /// let clock = ManualClock::new();
    /// let tokens = SettleableBucket::with_clock(quota!(100 / second, max_debt 50), &clock);
    ///
    /// // 30 more than estimated: callers wait until the bucket has earned them.
    /// tokens.try_acquire_settleable(100)?.settle(130)?;
    /// let denied = tokens.try_acquire(1).unwrap_err();
    /// assert_eq!(denied.retry_after(), Some(Duration::from_millis(310)));
    ///
    /// let unpaid = tokens.try_acquire_settleable(0)?.settle(1_000).unwrap_err();
    /// assert_eq!(unpaid.permits(), 980);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn settle(mut self, actual: u64) -> Result<Settled, Unpaid> {
        let Some(more) = actual.checked_sub(self.permits) else {
            let rest = self.permits - actual;
            let given_back = self.give_back(rest);
            return Ok(Settled { given_back, lost: rest - given_back, taken_beyond: 0 });
        };
        let taken_beyond = if more > 0 { self.take_beyond(more) } else { 0 };
        let settled = Settled { taken_beyond, ..Settled::default() };
        match more - taken_beyond {
            0 => Ok(settled),
            permits => Err(Unpaid { permits, settled }),
        }
    }

    /// Takes `permits` beyond the charge. Returns how many it took.
    fn take_beyond(&mut self, permits: u64) -> u64 {
        let taken = self.limiter.take_beyond(&mut self.hold, self.grant, permits);
        if let Some(counts) = self.counts {
            counts.count_beyond(taken, permits.saturating_sub(taken));
        }
        taken
    }

    /// Gives back `permits` of the charge, or all if there are fewer. The estimate keeps the
    /// others, and can be settled later. Returns how many were taken off the limiter's charge; the
    /// rest are lost. (Others can take them, unless a window is over its limit, or a bucket in
    /// debt.)
    ///
    /// Gives back as [`settle`](Estimate::settle) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{ManualClock, quota};
    /// use sluicegate::bucket::SettleableBucket;
    ///
    /// let tokens = SettleableBucket::with_clock(quota!(10 / second), ManualClock::new());
    /// let mut estimate = tokens.try_acquire_settleable(8)?;
    /// assert_eq!(estimate.give_back(5), 5);
    /// assert_eq!((estimate.permits(), tokens.peek(0)?.remaining()), (3, 7));
    /// // No more than there are.
    /// assert_eq!(estimate.give_back(5), 3);
    /// assert_eq!((estimate.permits(), tokens.peek(0)?.remaining()), (0, 10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "refund")]
    pub fn give_back(&mut self, permits: u64) -> u64 {
        let permits = permits.min(self.permits);
        // Cut off first, so that they are given back once, also if the clock panics.
        self.permits -= permits;
        // Also if all of them are lost: a part of a permit may be there, which makes the wait in line
        // shorter. Dropped last, and if a waker panics when all is given back.
        let _tells = TellsLine(self.line.filter(|_| permits > 0));
        let given_back = self.limiter.give_back(&mut self.hold, self.grant, permits);
        if let Some(counts) = self.counts {
            counts.count_given_back(given_back, permits.saturating_sub(given_back));
        }
        given_back
    }
}

#[cfg(feature = "alloc")]
impl Revocable for Estimate<'_> {
    fn revoke(mut self) -> bool {
        let charged = self.permits;
        self.give_back(charged) == charged
    }
}

impl fmt::Debug for Estimate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Estimate");
        shown.field("permits", &self.permits).field("grant", &self.grant).finish_non_exhaustive()
    }
}
