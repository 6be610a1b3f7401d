//! Limits that requests wait for.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::keyed::{QueuedKeys, WaitingForKey};
use sluicegate::wait::AcquireError;
use sluicegate::{Clock, Denied, Grant, KeyedLimiter, Wait};

use super::refusal::RefusalReason;
use super::take::{All, Later, StoreKey, Take, Taken, Turn, Waits, ask_after_look, looked};
use crate::fields::PolicyState;

/// A limiter that requests wait for, in its fair line, up to a time.
///
/// Takes any limiter with [`Wait`], such as a [`Queued`](sluicegate::wait::Queued), and for keys a [`QueuedKeys`] around
/// the store.
///
/// * A request that is granted its permits at once does not wait, and nothing is allocated for it.
/// * One whose permits would come too late is refused at once if the limiter knows that, and otherwise
///   when its time is over. So is one that the line has no place for. `Retry-After` tells the wait that
///   would have sufficed.
/// * Its body is not read while it waits, and its place in line is that of the first poll of the response.
/// * A client that goes away while its request waits gives up the place in line, and nothing has been taken.
///   If the permits had been granted in the very moment before, they are given back as far as the limiter can:
///   see [`Waiting`](sluicegate::wait::Waiting) and [`WaitingForKey`]. To give them back exactly, use a
///   [`Settled`](super::Settled).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{TokenBucket, Wait, quota};
/// use sluicegate::wait::LineLimits;
/// use sluicegate_http::layer::{Limit, WaitUpTo};
///
/// let bucket = TokenBucket::new(quota!(100 / second, burst 10));
/// bucket.line().set_limits(LineLimits::new().max_waiters(1_000));
/// let limit = Limit::of_all(WaitUpTo::new(bucket, Duration::from_secs(2)));
/// ```
///
/// A line for each client:
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{KeyTable, quota};
/// use sluicegate::keyed::QueuedKeys;
/// use sluicegate_http::layer::{Limit, WaitUpTo};
///
/// let clients = KeyTable::with_keys(quota!(10 / second, burst 5), 100_000)?;
/// let limit = Limit::per_client(WaitUpTo::new(QueuedKeys::new(clients), Duration::from_secs(2)));
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WaitUpTo<L> {
    pub(super) limiter: L,
    pub(super) longest: Duration,
}

impl<L> WaitUpTo<L> {
    /// Lets requests wait for `limiter`, each for no longer than `longest`.
    #[must_use]
    pub fn new(limiter: L, longest: Duration) -> WaitUpTo<L> {
        WaitUpTo { limiter, longest }
    }

    fn answer<'l>(answer: Result<Grant, AcquireError>) -> Result<Taken<'l>, RefusalReason> {
        answer.map(|grant| Taken::spent(&grant)).map_err(RefusalReason::Line)
    }
}

/// Returns true if a request that was denied so can be granted later.
pub(super) fn comes_later(refused: &RefusalReason) -> bool {
    matches!(refused, RefusalReason::Denied(denied) if !matches!(denied, Denied::TooLarge { .. }))
}

impl<L: Wait + 'static> Take<All> for WaitUpTo<L> {
    fn try_take(&self, key: &All, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        self.limiter.try_take(key, permits)
    }

    fn is_spent_at_once(&self) -> bool {
        true
    }

    fn try_take_revocable(&self, key: &All, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        self.limiter.try_take_revocable(key, permits)
    }

    fn look(&self, _: &All, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        looked(self.limiter.peek(permits))
    }

    fn note_refused_look(&self, key: &All, permits: u64, _: &RefusalReason) {
        ask_after_look(self, key, permits);
    }

    fn turn(&self) -> Turn {
        Turn::Line
    }

    fn may_wait(&self, refused: &RefusalReason) -> bool {
        comes_later(refused)
    }

    fn take_later<'a>(&'a self, _: &'a All, permits: u64, waits: Waits<'a>) -> Later<'a> {
        let waiting = self.limiter.acquire(permits).timeout(self.longest);
        let waiting = waiting.timer(waits.timer.clone());
        Box::pin(async { Self::answer(waiting.await) })
    }
}

/// Stores whose keys can be waited for: [`QueuedKeys`], and an `Arc` of one.
pub trait WaitByKey<Q: ToOwned<Owned: Sync> + Sync + ?Sized>: KeyedLimiter<Q> {
    /// Returns a future that takes all of `permits` for the key once they are there.
    fn acquire<'a>(&'a self, key: &'a Q, permits: u64) -> WaitingForKey<'a, Q>;
}

impl<S, Q, C> WaitByKey<Q> for QueuedKeys<S, Q, C>
where
    S: KeyedLimiter<Q>,
    Q: ToOwned<Owned: Hash + Eq + Send + Sync> + Hash + Eq + Sync + ?Sized,
    C: Clock + Send + Sync,
    Self: KeyedLimiter<Q>,
{
    fn acquire<'a>(&'a self, key: &'a Q, permits: u64) -> WaitingForKey<'a, Q> {
        QueuedKeys::acquire(self, key, permits)
    }
}

impl<Q: ToOwned<Owned: Sync> + Sync + ?Sized, S: WaitByKey<Q> + ?Sized> WaitByKey<Q> for Arc<S> {
    fn acquire<'a>(&'a self, key: &'a Q, permits: u64) -> WaitingForKey<'a, Q> {
        (**self).acquire(key, permits)
    }
}

impl<Q: StoreKey + ?Sized, S: WaitByKey<Q> + 'static> Take<Q> for WaitUpTo<S> {
    fn try_take(&self, key: &Q, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        let answer = self.limiter.try_acquire(key, permits);
        answer.map(|grant| Taken::spent(&grant)).map_err(RefusalReason::Denied)
    }

    fn is_spent_at_once(&self) -> bool {
        true
    }

    fn try_take_revocable(&self, key: &Q, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        let answer = self.limiter.try_acquire_revocable(key, permits);
        answer.map(Taken::revocable).map_err(RefusalReason::Denied)
    }

    fn look(&self, key: &Q, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        looked(self.limiter.peek(key, permits))
    }

    fn note_refused_look(&self, key: &Q, permits: u64, _: &RefusalReason) {
        ask_after_look(self, key, permits);
    }

    fn turn(&self) -> Turn {
        Turn::Line
    }

    fn may_wait(&self, refused: &RefusalReason) -> bool {
        comes_later(refused)
    }

    fn take_later<'a>(&'a self, key: &'a Q, permits: u64, waits: Waits<'a>) -> Later<'a> {
        let waiting = self.limiter.acquire(key, permits).timeout(self.longest);
        let waiting = waiting.timer(waits.timer.clone());
        Box::pin(async { Self::answer(waiting.await) })
    }
}
