//! Permits beyond what a limiter earns: bought, granted once, or carried over.
//!
//! ```text
//! take n    ask the limiter; if it denies
//!           by CAS: balance -> balance - n, if that is not below 0
//! add n     by CAS: balance -> balance + n, at most 2^64 - 1
//! ```
//!
//! **Theorem.** In any span, all that is granted is at most what the limiter admits in it, plus the
//! balance at its beginning, plus what is added in it.
//!
//! *Proof.* A grant is the limiter's, or its CAS takes its permits off the balance, all of them. The
//! balance is never below 0, and only an addition, or a receipt of permits that were taken from it,
//! raises it. ∎

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::decision::denied::Denied;
use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::decision::undo::{Debit, Undo};
use crate::sync::AtomicWord;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use crate::window_counts::WindowCounts;

use crate::limiter::Limiter;
use crate::limiter::leaving::Leaving;

/// Wraps a limiter and keeps a balance of permits beside it, which pays where the limiter denies.
///
/// For permits that a quota does not earn: a package that a customer has bought, a bonus, the rest
/// of last month. They do not expire, and there may be more of them than the limiter's burst. No
/// method of a limiter itself fills it above its burst: then its bound would not hold.
///
/// Each request is paid for as a whole, by the limiter if it can, otherwise by the balance.
///
/// | request | paid by the limiter | paid by the balance | else |
/// |---|---|---|---|
/// | `try_acquire(n)` | if it grants `n` | if it has `n` | denied as by the limiter |
/// | `try_acquire_up_to(n)` | if it grants any | if it has any: all it has, at most `n` | the same |
///
/// So a request for more than the burst is [`TooLarge`](Denied::TooLarge) only as long as the balance is
/// smaller. [`retry_after`](Denied::retry_after) is the limiter's: nobody knows when permits are
/// added. In a grant of the balance, [`limit`](Grant::limit) is the balance before it, and
/// [`remaining`](Grant::remaining) the one after it.
///
/// A `TopUp` is called through the trait [`Limiter`], and its calls block and allocate as the
/// limiter's do. The balance itself is lock-free, does not allocate, and reads no clock: it costs a
/// grant of the limiter nothing, and a denial one load of a word that only grants of the balance and
/// additions write.
///
/// # Examples
///
/// ```
/// use sluicegate::{Limiter, TokenBucket, quota};
/// use sluicegate::compose::TopUp;
///
/// let requests = TopUp::new(TokenBucket::new(quota!(10 / hour)));
/// requests.try_acquire(10)?;
/// assert!(requests.try_acquire(1).is_err());
///
/// // The customer buys a package.
/// requests.add(1_000);
/// assert_eq!(requests.try_acquire(400)?.remaining(), 600);
/// assert_eq!(requests.balance(), 600);
/// # Ok::<(), sluicegate::Denied>(())
/// ```
///
/// # Accuracy
///
/// Exact: in any span, all that is granted is at most the limiter's bound, the balance at its
/// beginning, and the permits added in it. Of calls at one moment, one may be paid by the balance
/// though the other's permits, given back a moment later, would have sufficed. A denial asks the
/// limiter and then the balance: if permits come to the one and go from the other in between, a
/// caller can be denied though one of the two had enough at each moment.
///
/// [`reset`](Limiter::reset) makes the limiter full and leaves the balance. A `Keyed` store keeps a key
/// whose balance is another than at first: it is not [idle](Limiter::is_idle).
///
/// # Fairness
///
/// As for the limiter. Of two requests that the limiter denies, the smaller one may be paid.
///
/// Callers that wait in a `Queued` around it learn of an addition that is made by its `update`.
///
/// # Memory ordering
///
/// As for the limiter, for its grants. Everything that a thread did before it added permits, or
/// took them from the balance, happens before everything that a thread does that is granted permits
/// of the balance later, or finds that balance by a look at it.
#[doc(alias = "bonus")]
#[doc(alias = "prepaid")]
#[doc(alias = "force_add_tokens")]
pub struct TopUp<L> {
    limiter: L,
    balance: CachePadded<AtomicWord<u64>>,
    /// The balance of a new one, for `is_idle`.
    first: u64,
}

impl<L> TopUp<L> {
    /// Wraps `limiter`, with a balance of 0.
    #[must_use]
    pub fn new(limiter: L) -> TopUp<L> {
        TopUp::with_balance(limiter, 0)
    }

    /// Wraps `limiter`, with so many permits beside it.
    #[must_use]
    pub fn with_balance(limiter: L, permits: u64) -> TopUp<L> {
        TopUp { limiter, balance: CachePadded::new(AtomicWord::new(permits)), first: permits }
    }

    /// Adds permits to the balance, and returns the balance that results: at most [`u64::MAX`], beyond
    /// which nothing is added. Lock-free; does not allocate; reads no clock.
    pub fn add(&self, permits: u64) -> u64 {
        self.replace(|balance| Some(balance.saturating_add(permits))).unwrap_or(u64::MAX)
    }

    /// Takes permits off the balance, whoever may wait for them, and returns how many there were, at
    /// most `permits`: for a package that is cancelled. Lock-free; does not allocate; reads no clock.
    pub fn withdraw(&self, permits: u64) -> u64 {
        let mut taken = 0;
        self.replace(|balance| {
            taken = permits.min(balance);
            (taken > 0).then(|| balance - taken)
        });
        taken
    }

    /// Returns the permits of the balance. Wait-free; does not allocate; reads no clock.
    #[must_use]
    pub fn balance(&self) -> u64 {
        // ORDERING: Acquire, so that a caller that sees permits added sees what was done before. Pairs
        // with the CAS in `replace`.
        // MODEL: `what_was_done_before_permits_were_added_is_seen_after_a_look_at_them`.
        self.balance.load(Acquire)
    }

    /// Returns the wrapped limiter. Its own calls do not touch the balance.
    #[must_use]
    pub fn limiter(&self) -> &L {
        &self.limiter
    }

    /// Unwraps the limiter, and forgets the balance.
    #[must_use]
    pub fn into_limiter(self) -> L {
        self.limiter
    }

    /// Replaces the balance by `next` of it, and returns the new one; `None` if `next` leaves it.
    #[inline]
    fn replace(&self, mut next: impl FnMut(u64) -> Option<u64>) -> Option<u64> {
        let mut seen = self.balance();
        loop {
            let after = next(seen)?;
            // ORDERING: AcqRel. Release, so that what was done before an addition or a grant happens
            // before what later grants of the balance do, which acquire by the same CAS. Relaxed on
            // failure: only the next expected value.
            // MODEL: `permits_that_are_added_are_granted_once`,
            // `what_was_done_before_permits_were_added_is_seen_after_they_are_granted`.
            match self.balance.compare_exchange_weak(seen, after, AcqRel, Relaxed) {
                Ok(_) => return Some(after),
                Err(now) => seen = now,
            }
        }
    }

    /// Takes all of `permits` from the balance, for a caller that the limiter has denied them, or nothing if fewer
    /// than `reserve` would remain.
    fn pay(&self, permits: u64, reserve: u64, denied: Denied) -> Result<Grant, Denied> {
        match self.replace(|balance| left_of(balance, permits, reserve)) {
            Some(left) => Ok(paid(permits, left)),
            None => Err(self.denied(reserve, denied)),
        }
    }

    /// Returns the answer of `pay`, and takes nothing.
    fn look(&self, permits: u64, reserve: u64, denied: Denied) -> Result<Grant, Denied> {
        match left_of(self.balance(), permits, reserve) {
            Some(left) => Ok(paid(permits, left)),
            None => Err(self.denied(reserve, denied)),
        }
    }

    /// Returns the limiter's denial. An amount that the balance could pay is not too large.
    fn denied(&self, reserve: u64, denied: Denied) -> Denied {
        match denied {
            Denied::TooLarge { limit, which } => {
                Denied::TooLarge { limit: limit.max(self.balance().saturating_sub(reserve)), which }
            }
            denied => denied,
        }
    }

    /// Takes permits from the balance, at most so many, at least one.
    fn pay_up_to(&self, permits: u64) -> Option<Grant> {
        let mut taken = 0;
        let left = self.replace(|balance| {
            taken = permits.min(balance);
            (taken > 0).then(|| balance - taken)
        })?;
        Some(paid(taken, left))
    }
}

/// Returns what `permits` leave of a balance, or `None` if that is less than `reserve`.
fn left_of(balance: u64, permits: u64, reserve: u64) -> Option<u64> {
    balance.checked_sub(permits).filter(|left| *left >= reserve)
}

/// Returns a grant by a balance of which so many are `left`.
fn paid(permits: u64, left: u64) -> Grant {
    let balance = WindowCounts {
        limit: left.saturating_add(permits),
        current: permits,
        previous: 0,
        left_nanos: 0,
        length_nanos: 1,
        slides: false,
    };
    Grant { permits, forecast: Forecast::Window(balance) }
}

impl<L: Limiter> Limiter for TopUp<L> {
    #[inline]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.try_acquire(permits).or_else(|denied| self.pay(permits, 0, denied))
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter
            .try_acquire_up_to(permits)
            .or_else(|denied| self.pay_up_to(permits).ok_or(denied))
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.peek(permits).or_else(|denied| self.look(permits, 0, denied))
    }

    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        // At best the balance pays for its whole self, and the limiter for the rest.
        let balance = self.balance();
        match permits.checked_sub(balance) {
            None | Some(0) => self.peek(permits),
            Some(rest) => self.limiter.peek_ahead(rest),
        }
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        let receipt = self.limiter.try_acquire_revocable(permits);
        receipt.or_else(|denied| Ok(self.receipt(self.pay(permits, 0, denied)?)))
    }

    /// Makes the limiter full again. The balance stays.
    fn reset(&self) {
        self.limiter.reset();
    }

    // Permits that were bought would be gone if a store dropped it.
    fn is_idle(&self) -> bool {
        self.balance() == self.first && self.limiter.is_idle()
    }

    fn healed(&self) -> u64 {
        self.limiter.healed()
    }
}

/// The limiter and the balance leave the reserve each by itself: one of them pays if it keeps as much.
impl<L: Leaving> Leaving for TopUp<L> {
    fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        let answer = self.limiter.try_acquire_leaving(permits, reserve);
        answer.or_else(|denied| self.pay(permits, reserve, denied))
    }

    fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        let answer = self.limiter.peek_leaving(permits, reserve);
        answer.or_else(|denied| self.look(permits, reserve, denied))
    }

    fn try_acquire_leaving_revocable(
        &self,
        permits: u64,
        reserve: u64,
    ) -> Result<Receipt<'_>, Denied> {
        let receipt = self.limiter.try_acquire_leaving_revocable(permits, reserve);
        receipt.or_else(|denied| Ok(self.receipt(self.pay(permits, reserve, denied)?)))
    }
}

impl<L: Limiter> TopUp<L> {
    /// Returns the receipt of a grant that the balance has paid.
    fn receipt(&self, grant: Grant) -> Receipt<'_> {
        Receipt::new(grant, self, Debit::Permits(grant.permits()))
    }
}

impl<L: Limiter> Undo for TopUp<L> {
    fn undo(&self, debit: Debit<'_>) -> bool {
        let Debit::Permits(permits) = debit else { return false };
        self.add(permits);
        true
    }
}

impl<L: fmt::Debug> fmt::Debug for TopUp<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopUp")
            .field("limiter", &self.limiter)
            .field("balance", &self.balance())
            .finish()
    }
}
