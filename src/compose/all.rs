//! Several limiters of any kind, all or nothing.

pub(crate) mod settle;

use alloc::boxed::Box;

use crate::config::error::ConfigError;
use crate::decision::all_or_none::AllOrNone;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;

use crate::limiter::Limiter;
use crate::limiter::leaving::Leaving;

/// Grants a request only if each of several limiters can grant it.
///
/// For limiters of different kinds, or that are shared with others: a bucket for
/// the user and a window for everybody. (For windows over the same traffic, one
/// [`MultiWindow`](crate::window::MultiWindow) is better: it decides in a single step.)
///
/// It first peeks at all of them, without taking anything, and denies if one would.
/// Then it takes from each, from the one with the least left to the one with the
/// most. If another caller took the rest of one in the meantime, the permits taken from
/// the others are given back by the one rule that is exact; see [`Receipt`]. (Limiters that can be
/// settled take them back whatever others have done:
/// [`try_acquire_settleable`](All::try_acquire_settleable), with an amount for all or one for each.)
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{FixedWindow, Limiter, ManualClock, TokenBucket, quota, rate};
/// use sluicegate::compose::All;
///
/// let clock = ManualClock::new();
/// let user = TokenBucket::with_clock(quota!(1 / second, burst 5), &clock);
/// let site = FixedWindow::with_clock(rate!(7 / minute), &clock)?;
/// let both: All<&dyn Limiter> = All::new([&user as &dyn Limiter, &site])?;
///
/// both.try_acquire(5)?;
/// let denied = both.try_acquire(3).unwrap_err();
/// assert_eq!((denied.which(), denied.retry_after()), (1, Some(Duration::from_secs(60))));
/// // Neither has lost anything by it.
/// both.try_acquire(2).unwrap_err();
/// clock.advance(Duration::from_secs(2));
/// both.try_acquire(2)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Accuracy
///
/// The bound of each limiter holds. Permits can be lost: if a request is denied
/// *after* it has taken from some limiters, and others have changed one of these
/// since, its permits stay spent there: at most the permits of the request in each,
/// once for each race that was lost. (A [`SettleableBucket`](crate::bucket::SettleableBucket) takes them
/// back whatever others have done.) A [`SlidingLog`](crate::SlidingLog) and a
/// [`WeightedLog`](crate::window::WeightedLog) cannot take permits back at all. A request
/// denied by the first look loses nothing. Two concurrent requests may both be
/// denied where one could have been granted.
///
/// Each limiter should be in it once. A limiter that is in it twice has to grant twice,
/// which it may never be able to; its denial does not account for that.
///
/// A denial names the limiter that denied, by [`which`](crate::Denied::which): the one
/// with the longest wait. A limiter that can never grant so many precedes one whose
/// leases hold them. So `retry_after` suffices for all of the limiters, if nobody else
/// takes any (and no budget of another day is smaller).
///
/// # Fairness
///
/// None: a caller that asks when there are permits gets them.
///
/// # Memory ordering
///
/// That of its limiters.
#[derive(Debug)]
pub struct All<L> {
    limiters: Box<[L]>,
}

/// Maximum number of limiters.
const MAX: usize = 64;

impl<L: Limiter> All<L> {
    /// Combines `limiters`, which may also be used separately.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Count`] if there are none, or more than 64.
    pub fn new(limiters: impl IntoIterator<Item = L>) -> Result<All<L>, ConfigError> {
        let limiters: Box<[L]> = limiters.into_iter().collect();
        if limiters.is_empty() || limiters.len() > MAX {
            return Err(ConfigError::Count { count: limiters.len() });
        }
        Ok(All { limiters })
    }

    /// Takes all of `permits` from each limiter, or nothing from any.
    ///
    /// Lock-free if the limiters are; does not allocate, unless one of them is an `All`
    /// itself; reads each clock twice.
    ///
    /// # Errors
    ///
    /// The error of the limiter that denies; [`Denied::which`](crate::Denied::which) says
    /// which one.
    pub fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        let scarcity = self.look(|limiter, _| limiter.peek(permits))?;
        self.take(
            &|limiter| limiter.try_acquire_revocable(permits),
            scarcity.order(),
            scarcity.grant,
        )
    }

    /// Takes as many of `permits` as all limiters have, at least one.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](All::try_acquire), if not even one is available.
    pub fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        let mut wanted = permits;
        let mut refused = None;
        loop {
            let there = match self.look(|limiter, _| limiter.peek(permits.min(1))) {
                // The permits that would remain after one, and that one.
                Ok(scarcity) => scarcity.grant.remaining().saturating_add(permits.min(1)),
                Err(denied) => return Err(denied),
            };
            wanted = wanted.min(there);
            if refused == Some(wanted) {
                // At least as many as were denied: a limiter is here twice, or others
                // take and give back. The loop must end in either case.
                wanted = wanted.div_ceil(2);
            }
            match self.try_acquire(wanted) {
                // If leases hold all of it, one permit may be available at the next look.
                Err(Denied::TooLarge { limit, .. } | Denied::Leased { limit, .. })
                    if limit.max(1) < wanted =>
                {
                    wanted = limit.max(1);
                }
                // Another caller took some in the meantime: fewer may be left.
                Err(_) if wanted > 1 => refused = Some(wanted),
                answer => return answer,
            }
        }
    }

    /// Returns the answer that [`try_acquire`](All::try_acquire) would give now. Takes nothing.
    ///
    /// The grant is that of the limiter with the least left; among equals, that of the first.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](All::try_acquire).
    pub fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.look(|limiter, _| limiter.peek(permits)).map(|scarcity| scarcity.grant)
    }

    /// Takes permits as [`try_acquire`](All::try_acquire) does, and returns a [`Receipt`] for all
    /// of the limiters. Allocates.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](All::try_acquire).
    pub fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        let scarcity = self.look(|limiter, _| limiter.peek(permits))?;
        self.take_revocable(&scarcity, |limiter| limiter.try_acquire_revocable(permits))
    }

    /// Takes permits by `take` from each limiter, and keeps the receipts.
    fn take_revocable<'a>(
        &'a self,
        scarcity: &Scarcity,
        take: impl Fn(&'a L) -> Result<Receipt<'a>, Denied>,
    ) -> Result<Receipt<'a>, Denied> {
        let mut receipts = AllOrNone::with_capacity(self.limiters.len());
        for which in scarcity.order() {
            let taken = take(&self.limiters[usize::from(which)]);
            receipts.add(taken).map_err(|denied| denied.by(which.into()))?;
        }
        let grant = receipts.grants().iter().map(Receipt::grant).min_by_key(Grant::remaining);
        Ok(Receipt::each(grant.unwrap_or(scarcity.grant), receipts.keep()))
    }

    /// Resets each limiter, one after the other.
    pub fn reset(&self) {
        for limiter in &self.limiters {
            limiter.reset();
        }
    }

    /// Returns the limiters, in the order of [`Denied::which`](crate::Denied::which).
    #[must_use]
    pub fn limiters(&self) -> &[L] {
        &self.limiters
    }

    /// Returns the grants that the limiters would make by `peek`, or the denial with the longest
    /// wait.
    fn look(&self, peek: impl Fn(&L, usize) -> Result<Grant, Denied>) -> Result<Scarcity, Denied> {
        let mut looks = self
            .limiters
            .iter()
            .zip(0..)
            .map(|(limiter, which)| (peek(limiter, usize::from(which)), which));
        // There is at least one limiter.
        let mut answer = Err(Denied::TooLarge { limit: 0, which: 0 });
        if let Some((look, which)) = looks.next() {
            answer = look
                .map(|grant| Scarcity::of(grant, which))
                .map_err(|denied| denied.by(which.into()));
        }
        looks.fold(answer, |answer, (look, which)| match (answer, look) {
            (Ok(scarcity), Ok(grant)) => Ok(scarcity.and(grant, which)),
            (Ok(_), Err(denied)) => Err(denied.by(which.into())),
            (Err(denied), Ok(_)) => Err(denied),
            (Err(denied), Err(other)) => Err(worse(denied, other.by(which.into()))),
        })
    }

    /// Takes permits by `take` from the limiters of `order`. It recurses, and each call keeps one
    /// receipt on the stack: an [`AllOrNone`] would allocate.
    fn take<'a>(
        &'a self,
        take: &impl Fn(&'a L) -> Result<Receipt<'a>, Denied>,
        mut order: impl ExactSizeIterator<Item = u8> + Clone,
        scarcest: Grant,
    ) -> Result<Grant, Denied> {
        let is_first = order.len() == self.limiters.len();
        let Some(which) = order.next() else { return Ok(scarcest) };
        let receipt =
            take(&self.limiters[usize::from(which)]).map_err(|denied| denied.by(which.into()))?;
        let grant = receipt.grant();
        let scarcest =
            if is_first || grant.remaining() < scarcest.remaining() { grant } else { scarcest };
        self.take(take, order, scarcest).inspect_err(|_| {
            receipt.give_back();
        })
    }
}

/// The limiters, ordered by the permits left in them.
struct Scarcity {
    /// Permits left and the index of their limiter, least first.
    left: [(u64, u8); MAX],
    count: usize,
    /// Grant of the scarcest limiter.
    grant: Grant,
}

impl Scarcity {
    fn of(grant: Grant, which: u8) -> Scarcity {
        Scarcity { left: [(grant.remaining(), which); MAX], count: 1, grant }
    }

    fn and(mut self, grant: Grant, which: u8) -> Scarcity {
        let left = grant.remaining();
        let place = self.left[..self.count].partition_point(|&(less, _)| less <= left);
        self.left[place..=self.count].rotate_right(1);
        self.left[place] = (left, which);
        self.count += 1;
        if place == 0 {
            self.grant = grant;
        }
        self
    }

    /// Returns the limiters, scarcest first.
    fn order(&self) -> impl ExactSizeIterator<Item = u8> + Clone + '_ {
        self.left[..self.count].iter().map(|&(_, which)| which)
    }
}

/// Returns the denial with the longer wait; one that no wait can lift counts as longest. Of two
/// such, one that nothing can lift precedes one that something else can (a lease that ends); of
/// two of a kind, the one with the lower limit.
fn worse(one: Denied, other: Denied) -> Denied {
    match (one.retry_after(), other.retry_after()) {
        (None, None) => {
            // Permits held by leases come back.
            let ends = |denied: &Denied| match denied {
                Denied::TooLarge { limit, .. } => (false, *limit),
                Denied::Leased { limit, .. } => (true, *limit),
                Denied::Wait(shortfall) => (true, shortfall.limit()),
                Denied::Full { .. } => (true, u64::MAX),
            };
            core::cmp::min_by_key(one, other, ends)
        }
        (None, Some(_)) => one,
        (Some(_), None) => other,
        (Some(wait), Some(longer)) => {
            if longer > wait {
                other
            } else {
                one
            }
        }
    }
}

impl<L: Limiter> Limiter for All<L> {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        All::try_acquire(self, permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        All::try_acquire_up_to(self, permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        All::peek(self, permits)
    }

    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.look(|limiter, _| limiter.peek_ahead(permits)).map(|scarcity| scarcity.grant)
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        All::try_acquire_revocable(self, permits)
    }

    fn reset(&self) {
        All::reset(self);
    }

    // Asks every limiter: a peek describes only the one with the least left, and another may be
    // further from idle.
    fn is_idle(&self) -> bool {
        self.limiters.iter().all(Limiter::is_idle)
    }

    fn healed(&self) -> u64 {
        self.limiters.iter().map(Limiter::healed).fold(0, u64::saturating_add)
    }
}

/// Each of the limiters leaves the reserve.
impl<L: Leaving> Leaving for All<L> {
    fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        let scarcity = self.look(|limiter, _| limiter.peek_leaving(permits, reserve))?;
        self.take(
            &|limiter| limiter.try_acquire_leaving_revocable(permits, reserve),
            scarcity.order(),
            scarcity.grant,
        )
    }

    fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        let scarcity = self.look(|limiter, _| limiter.peek_leaving(permits, reserve))?;
        Ok(scarcity.grant)
    }

    fn try_acquire_leaving_revocable(
        &self,
        permits: u64,
        reserve: u64,
    ) -> Result<Receipt<'_>, Denied> {
        let scarcity = self.look(|limiter, _| limiter.peek_leaving(permits, reserve))?;
        self.take_revocable(&scarcity, |limiter| {
            limiter.try_acquire_leaving_revocable(permits, reserve)
        })
    }
}
