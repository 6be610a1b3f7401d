//! Estimates of several limiters: an amount for all of them, or one for each.

use alloc::vec::Vec;

use crate::decision::all_or_none::AllOrNone;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::settle::Settle;
use crate::settle::estimate::detached::Detached;
use crate::settle::estimate::{Estimate, Hold, Settles};
use crate::settle::estimates::Estimates;

use super::All;

impl<L: Settle> All<L> {
    /// Takes all of `permits` from each limiter, or nothing from any, for a caller that knows
    /// afterwards how much it has used: see [`Estimate`].
    ///
    /// It is settled with one number. Each limiter gives back, or is charged with more, as it does
    /// alone. The answer is that of the limiter that could do least: as many permits were
    /// [given back](crate::settle::Settled::given_back) or [taken beyond](crate::settle::Settled::taken_beyond) as by each of them, and
    /// the others count as lost or [unpaid](crate::settle::Unpaid), whichever limiter it was. To be told of each, or for
    /// other amounts, there is [`try_acquire_settleable_each`](All::try_acquire_settleable_each).
    ///
    /// Denies as [`try_acquire`](All::try_acquire) does, by a first look at all of them. If
    /// another caller took the rest of one in the meantime, the permits that were taken from the others
    /// are given back by settlement. Allocates.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](All::try_acquire).
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{FixedWindow, ManualClock, quota, rate};
    /// use sluicegate::bucket::SettleableBucket;
    /// use sluicegate::compose::All;
    /// use sluicegate::settle::Settle;
    ///
    /// let clock = ManualClock::new();
    /// let minute = SettleableBucket::with_clock(quota!(10_000 / minute), &clock);
    /// let day = FixedWindow::with_clock(rate!(100_000 / day), &clock)?;
    /// let tokens: All<&dyn Settle> = All::new([&minute as &dyn Settle, &day])?;
    ///
    /// let estimate = tokens.try_acquire_settleable(8_000)?;
    /// tokens.try_acquire(2_000)?;
    /// assert_eq!(estimate.settle(3_000)?.given_back(), 5_000);
    /// assert_eq!((minute.peek(0)?.remaining(), day.peek(0)?.remaining()), (5_000, 95_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "reserve", alias = "precharge")]
    pub fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
        let parts = self.take_estimates(|_| permits)?;
        let grant = parts.iter().map(Estimate::grant).min_by_key(Grant::remaining);
        let grant = grant.unwrap_or(Grant::unused(permits, u64::MAX));
        let parts = parts.into_iter().map(|part| Some(part.detach())).collect();
        Ok(Estimate::of_each(grant, self, Hold::Each(parts), permits))
    }

    /// Takes an amount of its own from each limiter, or nothing from any; to be settled with an
    /// amount for each of them.
    ///
    /// `permits` is called once for each limiter, with its index in [`limiters`](All::limiters). It is 0
    /// for a limiter that the request does not concern: that is always granted. All else is as for
    /// [`try_acquire_settleable`](All::try_acquire_settleable).
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](All::try_acquire), for the amount of each limiter:
    /// [`Denied::which`] says which one denies.
    ///
    /// # Examples
    ///
    /// A model whose prompts, answers, and both together are limited:
    ///
    /// ```
    /// use sluicegate::{ManualClock, quota};
    /// use sluicegate::bucket::SettleableBucket;
    /// use sluicegate::compose::All;
    ///
    /// let clock = ManualClock::new();
    /// let quotas = [quota!(8_000 / minute), quota!(4_000 / minute), quota!(10_000 / minute)];
    /// let limits = All::new(quotas.map(|quota| SettleableBucket::with_clock(quota, &clock)))?;
    /// let tokens = |input: u64, output: u64| [input, output, input + output];
    ///
    /// let estimate = tokens(2_000, 1_500);
    /// let call = limits.try_acquire_settleable_each(|which| estimate[which])?;
    /// // The answer is brief.
    /// let used = tokens(2_000, 300);
    /// for settled in call.settle_each(|which| used[which]) {
    ///     settled?;
    /// }
    /// let left: Vec<u64> =
    ///     limits.limiters().iter().map(|limit| limit.peek(0).unwrap().remaining()).collect();
    /// assert_eq!(left, [6_000, 3_700, 7_700]);
    ///
    /// // Too long an answer: nothing is taken for the prompt.
    /// let estimate = tokens(1_000, 3_800);
    /// let denied = limits.try_acquire_settleable_each(|which| estimate[which]).unwrap_err();
    /// assert_eq!((denied.which(), limits.limiters()[0].peek(0)?.remaining()), (1, 6_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_acquire_settleable_each(
        &self,
        permits: impl FnMut(usize) -> u64,
    ) -> Result<Estimates<'_>, Denied> {
        self.take_estimates(permits).map(Estimates::of)
    }

    /// Takes the estimates, in the order of the limiters.
    fn take_estimates(
        &self,
        permits: impl FnMut(usize) -> u64,
    ) -> Result<Vec<Estimate<'_>>, Denied> {
        let amounts: Vec<u64> = (0..self.limiters.len()).map(permits).collect();
        let scarcity = self.look(|limiter, which| limiter.peek(amounts[which]))?;
        let mut taken = AllOrNone::with_capacity(amounts.len());
        for which in scarcity.order().map(usize::from) {
            let estimate = self.limiters[which].try_acquire_settleable(amounts[which]);
            taken.add(estimate.map(|estimate| (which, estimate))).map_err(|d| d.by(which))?;
        }
        let mut taken = taken.keep();
        taken.sort_unstable_by_key(|&(which, _)| which);
        Ok(taken.into_iter().map(|(_, estimate)| estimate).collect())
    }
}

impl<L: Settle> Settles for All<L> {
    fn give_back(&self, hold: &mut Hold, permits: u64) -> u64 {
        let Hold::Each(parts) = hold else { return 0 };
        let given_back = self.limiters.iter().zip(parts).map(|(limiter, part)| {
            let Some(mut estimate) = limiter.take_up(part) else {
                *part = part.take().map(|detached| detached.less(permits));
                return 0;
            };
            let given_back = estimate.give_back(permits);
            *part = Some(estimate.detach());
            given_back
        });
        given_back.fold(permits, u64::min)
    }

    fn take_beyond(&self, hold: &mut Hold, permits: u64) -> u64 {
        let Hold::Each(parts) = hold else { return 0 };
        let taken = self.limiters.iter().zip(parts).map(|(limiter, part)| {
            let estimate = limiter.take_up(part).or_else(|| limiter.try_acquire_settleable(0).ok());
            let Some(estimate) = estimate else { return 0 };
            let actual = estimate.permits().saturating_add(permits);
            let answer = estimate.settle(actual);
            answer.unwrap_or_else(|unpaid| unpaid.settled()).taken_beyond()
        });
        taken.fold(permits, u64::min)
    }
}

impl<L: Settle> Settle for All<L> {
    fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
        All::try_acquire_settleable(self, permits)
    }

    fn let_line_look_again(&self) {
        self.limiters.iter().for_each(Settle::let_line_look_again);
    }

    fn take_up(&self, slot: &mut Option<Detached>) -> Option<Estimate<'_>> {
        Detached::attach(slot, self)
    }
}
