//! The answer for a key for which a keyed store has no space.

use core::time::Duration;

use crate::bucket::BucketCore;
use crate::bucket::terms::Terms;
use crate::config::quota::Quota;
use crate::decision::denied::Denied;
use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;

/// The answer of a keyed store to a key for which it has no space.
///
/// A key that is not full is never evicted to make space: it would come back with a fresh
/// burst, and anyone who floods the store with keys could bring that about.
///
/// With the feature `serde`, it is `"deny"`, `"admit"`, or a table of `share` and a quota, such as
/// `{ "share": "1_000 / second" }`.
///
/// # Examples
///
/// ```
/// use sluicegate::{KeyTable, quota};
/// use sluicegate::keyed::WhenFull;
///
/// // Keys without space share 1,000 a second; without this, they are refused.
/// let table = KeyTable::<str>::builder(quota!(10 / second))
///     .when_full(WhenFull::Share(quota!(1_000 / second)))
///     .keys(10_000)?;
/// assert!(table.try_acquire("ada", 1).is_ok());
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum WhenFull {
    /// Refuses the key: [`Denied::Full`]. No key is admitted beyond its limit.
    #[default]
    Deny,
    /// Admits the key, and keeps no count of it. Fails open.
    Admit,
    /// Asks one bucket of this quota, which all such keys share, and which starts full. (A key
    /// that has taken some of it has its own burst besides, once there is space.) A request for
    /// more than its burst is [`Denied::Full`]. A rate becomes a quota by `into()`.
    Share(Quota),
}

/// A request for permits.
#[derive(Clone, Copy)]
pub(crate) enum Request {
    /// So many permits or none, and a reserve that has to remain.
    All { permits: u64, reserve: u64 },
    /// Up to this many permits, as many as are available.
    UpTo(u64),
}

impl Request {
    pub(crate) fn permits(self) -> u64 {
        match self {
            Request::All { permits, .. } | Request::UpTo(permits) => permits,
        }
    }
}

/// A [`WhenFull`] that is set up, with the shared bucket.
pub(crate) enum Overflow<C> {
    Deny,
    Admit,
    Share(alloc::boxed::Box<BucketCore<C>>),
}

impl<C: Clock> Overflow<C> {
    pub(crate) fn new(policy: WhenFull, clock: C) -> Overflow<C> {
        match policy {
            WhenFull::Deny => Overflow::Deny,
            WhenFull::Admit => Overflow::Admit,
            WhenFull::Share(quota) => {
                let bucket = BucketCore::new(Terms::of_quota(quota), clock);
                Overflow::Share(alloc::boxed::Box::new(bucket))
            }
        }
    }

    /// Returns the answer to a key for which there is no space, and may be some after
    /// `retry_after`. `fresh` is the forecast after a grant of `permits` to a new key. A shared bucket has
    /// to keep `reserve` permits.
    #[cold]
    #[inline(never)]
    pub(crate) fn answer(
        &self,
        permits: u64,
        reserve: u64,
        fresh: Forecast,
        retry_after: Duration,
    ) -> Result<Grant, Denied> {
        match self {
            Overflow::Deny => Err(Denied::Full { retry_after }),
            Overflow::Admit => Ok(Grant { permits, forecast: fresh }),
            // A request for more than the bucket can hold may still be granted, once there is
            // space.
            Overflow::Share(bucket) => {
                bucket.try_acquire_leaving(permits, reserve).map_err(|denied| match denied {
                    Denied::TooLarge { .. } => Denied::Full { retry_after },
                    denied => denied,
                })
            }
        }
    }

    /// Returns the same for a request for as many permits as are available.
    pub(crate) fn answer_up_to(
        &self,
        permits: u64,
        fresh: Forecast,
        retry_after: Duration,
    ) -> Result<Grant, Denied> {
        match self {
            Overflow::Share(bucket) => bucket.try_acquire_up_to(permits),
            Overflow::Deny | Overflow::Admit => self.answer(permits, 0, fresh, retry_after),
        }
    }
}
