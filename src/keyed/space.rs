//! What becomes of a key for which a keyed store has no room.

use core::time::Duration;

use crate::bucket::BucketCore;
use crate::bucket::terms::Terms;
use crate::config::quota::Quota;
use crate::decision::denied::Denied;
use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;

/// What a keyed store does with a key for which it has no room.
///
/// A key that is not full is never dropped to make room: it would come back with a fresh
/// burst, and whoever floods the store with keys could bring that about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenFull {
    /// Refuse it: [`Denied::Full`]. Nobody is admitted beyond a limit.
    #[default]
    Deny,
    /// Admit it, and keep no count of it. Fails open.
    Admit,
    /// Ask one bucket of this quota, which all such keys share. (A key that has had some of it
    /// has its own burst besides, once there is room.) More than its burst is
    /// [`Denied::Full`].
    Share(Quota),
}

/// What was asked for.
#[cfg(feature = "keyed")]
#[derive(Clone, Copy)]
pub(crate) enum Request {
    /// So many permits or none.
    All(u64),
    /// As many as there are, of so many.
    UpTo(u64),
}

#[cfg(feature = "keyed")]
impl Request {
    pub(crate) fn permits(self) -> u64 {
        match self {
            Request::All(permits) | Request::UpTo(permits) => permits,
        }
    }
}

/// What [`WhenFull`] says, ready for use.
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
                let bucket = BucketCore::new(Terms::of_quota(quota), quota.initial(), clock);
                Overflow::Share(alloc::boxed::Box::new(bucket))
            }
        }
    }

    /// The answer to a key that finds no room, and might after so long. `fresh` is how it
    /// would stand after `permits` were granted to it as to a new one.
    #[cold]
    #[inline(never)]
    pub(crate) fn answer(
        &self,
        permits: u64,
        fresh: Forecast,
        retry_after: Duration,
    ) -> Result<Grant, Denied> {
        match self {
            Overflow::Deny => Err(Denied::Full { retry_after }),
            Overflow::Admit => Ok(Grant { permits, forecast: fresh }),
            // More than the bucket ever has may still be granted, once there is room.
            Overflow::Share(bucket) => bucket.try_acquire(permits).map_err(|denied| match denied {
                Denied::TooLarge { .. } => Denied::Full { retry_after },
                denied => denied,
            }),
        }
    }

    /// The same, to one that asks for as many as there are.
    pub(crate) fn answer_up_to(
        &self,
        permits: u64,
        fresh: Forecast,
        retry_after: Duration,
    ) -> Result<Grant, Denied> {
        match self {
            Overflow::Share(bucket) => bucket.try_acquire_up_to(permits),
            Overflow::Deny | Overflow::Admit => self.answer(permits, fresh, retry_after),
        }
    }
}
