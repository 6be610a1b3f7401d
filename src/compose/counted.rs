//! Any limiter, with counts of its answers.

pub(crate) mod answers;
#[cfg(feature = "wait")]
mod wait;
#[cfg(feature = "wait")]
pub(crate) mod waits;

use core::fmt;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::limiter::Limiter;
use crate::limiter::leaving::Leaving;
use crate::settle::Settle;
use crate::settle::estimate::detached::Detached;
use crate::settle::estimate::{CountsSettlements, Estimate};

use self::answers::{AnswerCounters, Counts, DenialCounts, SettledCounts};
#[cfg(feature = "wait")]
use self::waits::WaitCounts;

/// Wraps a limiter and counts what it grants and denies.
///
/// Each thread counts on a cache line of its own, so that counting adds no line that all callers
/// write: one addition to an answer for one permit, two to any other. A [`Sharded`](crate::Sharded)
/// inside scales as it does alone.
///
/// A call of it takes 17 instructions more than one of its limiter if it is granted, and 23 if it is denied
/// (counted by callgrind for a call of one permit that is inlined; 2 to 6 more for others).
///
/// A limiter is called through the trait [`Limiter`]. Calls of `try_acquire`, `try_acquire_up_to` and
/// `try_acquire_revocable` are counted, with or without a reserve, and so is `try_acquire_settleable` if the limiter has it
/// ([`Settle`](crate::settle::Settle)). `peek`, `is_idle`, `reset` and `healed` are not, nor are calls
/// of the wrapped limiter by [`limiter`](Counted::limiter) or by other references to it. Permits
/// that a receipt gives back stay counted, and an estimate stays counted as it was granted: what its
/// settlement moves is counted apart ([`settled`](Counted::settled)).
///
/// Around a store of keys, it is one ([`KeyedLimiter`](crate::KeyedLimiter)), with the counts of all
/// its keys together. So are [`AnswerCounters`] as the observer of a store, which also count calls of
/// verbs that the trait does not have.
///
/// Inside an `Each` of a `Keyed` each key has counts of its own: use
/// [`with_slots`](Counted::with_slots) there, as a slot takes as much memory as a small limiter. They
/// are forgotten when the key is evicted.
///
/// Callers can wait for it if they can for the limiter: one that has waited is counted once, when it is
/// told its answer, and a refusal (of a deadline, of a full or closed line) as a denial. One that is dropped
/// before that is not counted. A reservation is counted when it is made. The time that callers have stood in
/// line is counted too ([`waits`](Counted::waits)), which takes two more readings of the clock for each that
/// does, and 448 bytes.
///
/// # Examples
///
/// ```
/// use sluicegate::{Limiter, TokenBucket, quota};
/// use sluicegate::compose::Counted;
///
/// let limiter = Counted::new(TokenBucket::new(quota!(10 / hour)));
/// assert_eq!(limiter.try_acquire_up_to(15)?.permits(), 10);
/// assert!(limiter.try_acquire(1).is_err());
/// let counts = limiter.counts();
/// assert_eq!((counts.granted, counts.denied, counts.permits), (1, 1, 10));
/// # Ok::<(), sluicegate::Denied>(())
/// ```
///
/// # Accuracy
///
/// Every call is counted, once its limiter has answered. See [`counts`](Counted::counts).
///
/// # Fairness
///
/// As for the limiter.
///
/// # Memory ordering
///
/// As for the limiter. Besides, what a caller did before a call that is in the counts happens before
/// what their reader does afterwards.
pub struct Counted<L> {
    limiter: L,
    answers: AnswerCounters,
}

impl<L> Counted<L> {
    /// Wraps `limiter`, with a slot of counts for each thread that the machine runs at once: a pair of
    /// cache lines each. Allocates; reads no clock.
    #[must_use]
    pub fn new(limiter: L) -> Counted<L> {
        Counted::with_slots(limiter, 0)
    }

    /// Wraps `limiter`, with so many `slots` of counts, rounded up to a power of two, at most 256; 0
    /// stands for one for each thread that the machine runs at once. Threads beyond them share as many others.
    #[must_use]
    pub fn with_slots(limiter: L, slots: usize) -> Counted<L> {
        Counted { limiter, answers: AnswerCounters::with_slots(slots) }
    }

    /// Returns the sums of all slots, modulo 2^64.
    ///
    /// Wait-free; does not allocate; reads no clock; writes nothing.
    ///
    /// While other threads call the limiter, the three are not those of one instant. Each is at least
    /// the number of calls that had returned before this one began, and at most the number of those
    /// that were answered before it returns. None ever falls.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.answers.counts()
    }

    /// Returns the denials by kind, and the permits that they asked for: [`counts`](Counted::counts) in
    /// detail.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{Limiter, TokenBucket, quota};
    /// use sluicegate::compose::Counted;
    ///
    /// let limiter = Counted::new(TokenBucket::new(quota!(10 / hour)));
    /// limiter.try_acquire(8)?;
    /// assert!(limiter.try_acquire(5).is_err());
    /// assert!(limiter.try_acquire(11).is_err());
    /// let denials = limiter.denials();
    /// assert_eq!((denials.rate, denials.too_large, denials.permits), (1, 1, 16));
    /// # Ok::<(), sluicegate::Denied>(())
    /// ```
    #[must_use]
    pub fn denials(&self) -> DenialCounts {
        self.answers.denials()
    }

    /// Returns the permits that settlements of estimates have moved: see [`Settle`](crate::settle::Settle).
    ///
    /// If there is another `Counted` inside, that one counts them.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::quota;
    /// use sluicegate::bucket::SettleableBucket;
    /// use sluicegate::compose::Counted;
    /// use sluicegate::settle::Settle;
    ///
    /// let tokens = Counted::new(SettleableBucket::new(quota!(10_000 / hour)));
    /// tokens.try_acquire_settleable(4_000)?.settle(1_500)?;
    /// assert_eq!((tokens.settled().given_back, tokens.settled().taken_beyond), (2_500, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn settled(&self) -> SettledCounts {
        self.answers.settled()
    }

    /// Returns the waits of the callers that stood in line, whatever they were told, by the limiter's
    /// clock. A caller that was answered at once, or that was dropped in line, is not among them.
    ///
    /// Wait-free; does not allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{TokenBucket, Wait, quota};
    /// use sluicegate::compose::Counted;
    ///
    /// let bucket = Counted::new(TokenBucket::new(quota!(1_000 / second, burst 1)));
    /// for _ in 0..3 {
    ///     bucket.acquire_blocking(1)?;
    /// }
    /// // The first found a permit, and the others have waited, unless they came late enough.
    /// assert!(bucket.waits().callers() <= 2);
    /// # Ok::<(), sluicegate::wait::AcquireError>(())
    /// ```
    #[cfg(feature = "wait")]
    #[must_use]
    pub fn waits(&self) -> WaitCounts {
        self.answers.waits()
    }

    /// Returns the counters of its answers.
    #[must_use]
    pub fn answers(&self) -> &AnswerCounters {
        &self.answers
    }

    /// Returns the wrapped limiter. Calls of it are not counted.
    #[must_use]
    pub fn limiter(&self) -> &L {
        &self.limiter
    }

    /// Returns the wrapped limiter, and forgets the counts.
    #[must_use]
    pub fn into_inner(self) -> L {
        self.limiter
    }
}

impl<L: Limiter> Limiter for Counted<L> {
    #[inline(always)]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        // Each kind of answer by itself, so that neither has to be there as a whole.
        match self.limiter.try_acquire(permits) {
            Ok(grant) => {
                self.answers.count_grant(permits);
                Ok(grant)
            }
            Err(denied) => {
                self.answers.count_denial(permits, &denied);
                Err(denied)
            }
        }
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        let answer = self.limiter.try_acquire_up_to(permits);
        self.answers.count(permits, answer.as_ref());
        answer
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.peek(permits)
    }

    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.peek_ahead(permits)
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        let answer = self.limiter.try_acquire_revocable(permits);
        self.answers.count_whole(permits, answer.as_ref().err());
        answer
    }

    fn reset(&self) {
        self.limiter.reset();
    }

    fn is_idle(&self) -> bool {
        self.limiter.is_idle()
    }

    fn healed(&self) -> u64 {
        self.limiter.healed()
    }
}

impl<L: Leaving> Leaving for Counted<L> {
    fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        let answer = self.limiter.try_acquire_leaving(permits, reserve);
        self.answers.count(permits, answer.as_ref());
        answer
    }

    fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.limiter.peek_leaving(permits, reserve)
    }

    fn try_acquire_leaving_revocable(
        &self,
        permits: u64,
        reserve: u64,
    ) -> Result<Receipt<'_>, Denied> {
        let answer = self.limiter.try_acquire_leaving_revocable(permits, reserve);
        self.answers.count_whole(permits, answer.as_ref().err());
        answer
    }
}

/// An estimate counts as a grant of all its permits. What its settlement moves is counted apart.
impl<L: Settle> Settle for Counted<L> {
    fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
        let answer = self.limiter.try_acquire_settleable(permits);
        self.answers.count_whole(permits, answer.as_ref().err());
        answer.map(|estimate| estimate.counted_by(self))
    }

    fn let_line_look_again(&self) {
        self.limiter.let_line_look_again();
    }

    fn take_up(&self, slot: &mut Option<Detached>) -> Option<Estimate<'_>> {
        Some(self.limiter.take_up(slot)?.counted_by(self))
    }
}

impl<L: Settle> CountsSettlements for Counted<L> {
    fn count_given_back(&self, given_back: u64, lost: u64) {
        self.answers.count_given_back(given_back, lost);
    }

    fn count_beyond(&self, taken: u64, unpaid: u64) {
        self.answers.count_beyond(taken, unpaid);
    }
}

impl<L: fmt::Debug> fmt::Debug for Counted<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { granted, denied, permits } = self.counts();
        f.debug_struct("Counted")
            .field("limiter", &self.limiter)
            .field("granted", &granted)
            .field("denied", &denied)
            .field("permits", &permits)
            .finish()
    }
}
