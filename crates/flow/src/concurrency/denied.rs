//! Answers of a concurrency limit that deny permits.

use std::fmt;

use super::word::Tally;

/// The answer of a concurrency limit to a request that was refused.
///
/// It is not a [`Denied`](sluicegate::Denied), because no clock says when permits in flight end: there
/// is no wait to name. A denial is an answer, not a fault: it is `Copy` and owns nothing.
///
/// # Examples
///
/// ```
/// use sluicegate_flow::concurrency::ConcurrencyLimit;
///
/// let limit = ConcurrencyLimit::new(3);
/// let _two = limit.try_acquire(2)?;
///
/// let busy = limit.try_acquire(2).unwrap_err();
/// assert_eq!((busy.limit(), busy.in_flight(), busy.available()), (3, 2, 1));
/// assert!(!busy.is_too_large());
///
/// let never = limit.try_acquire(4).unwrap_err();
/// assert!(never.is_too_large());
/// # Ok::<(), sluicegate_flow::concurrency::ConcurrencyDenied>(())
/// ```
#[doc(alias = "BulkheadFullException")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyDenied {
    pub(super) permits: u64,
    /// The word by which the request was denied.
    pub(super) tally: Tally,
}

impl ConcurrencyDenied {
    /// Returns the number of permits that were asked for.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Returns the limit by which the request was denied.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.tally.limit()
    }

    /// Returns the number of permits that were in flight. More than the limit, if that was lowered
    /// since they were granted.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.tally.in_flight()
    }

    /// Returns the number of permits that were left: too few for the request, unless [others
    /// wait](ConcurrencyDenied::others_wait) for them.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.limit().saturating_sub(self.in_flight())
    }

    /// Returns true if callers waited in line when the request was denied. What is left, and what
    /// comes back, is theirs: a caller that asks again and again does not overtake them. It can
    /// wait in line itself.
    #[must_use]
    pub fn others_wait(&self) -> bool {
        self.tally.is_gated()
    }

    /// Returns true if the request was for more permits than the limit: it is denied, whatever
    /// ends, until the limit is raised. Otherwise it is worth asking again when permits in flight
    /// have ended.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.permits > self.limit()
    }
}

impl fmt::Display for ConcurrencyDenied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (limit, in_flight) = (self.limit(), self.in_flight());
        if self.is_too_large() {
            write!(f, "requested {}, more than the limit of {limit} in flight", self.permits)
        } else if self.others_wait() {
            write!(f, "{in_flight} of {limit} permits are in flight, and others wait for the next")
        } else {
            write!(
                f,
                "{in_flight} of {limit} permits are in flight: try again when some have ended"
            )
        }
    }
}

impl std::error::Error for ConcurrencyDenied {}
