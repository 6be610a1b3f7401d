//! The keys of one request, and its admission by all levels.

use std::fmt;
use std::sync::Arc;

use sluicegate::Grant;
use sluicegate::keyed::KeyEstimate;
use sluicegate::settle::{AllOrNone, Settled, Unpaid};

use super::BoxedSettle;
use super::levels::{Levels, Store};
use super::refused::Refused;

/// A request with its key at each level, which can be asked for more than once.
///
/// [`Hierarchy::request`](crate::Hierarchy::request) returns it.
pub struct Request<'h, const A: usize> {
    levels: &'h Arc<Levels>,
    keys: Box<[String]>,
}

impl<'h, const A: usize> Request<'h, A> {
    pub(super) fn new(levels: &'h Arc<Levels>, keys: Box<[String]>) -> Request<'h, A> {
        Request { levels, keys }
    }

    /// Returns the key at each level, in their order.
    #[must_use]
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.keys.iter().map(String::as_str)
    }
}

impl<const A: usize> Request<'_, A> {
    /// Returns what each level would grant, in their order; [`Grant::remaining`] is what it would have
    /// left after that. Takes nothing, and makes no key known. (A level that counts requests is asked
    /// for 1, whatever the amounts are.)
    ///
    /// Locks a part of each level's store shared, one after the other. Reads the clock once for
    /// each level. Allocates.
    ///
    /// # Errors
    ///
    /// [`Refused`], as by [`try_acquire`](Request::try_acquire).
    pub fn peek(&self, amounts: [u64; A]) -> Result<Vec<Grant>, Refused> {
        self.levels.peek(&self.keys, &amounts)
    }

    /// Takes the amounts from all levels, or nothing from any: as much as the request is expected to
    /// use, to be [settled](Admitted::settle) when it is known what it used.
    ///
    /// Never waits for permits. Locks a part of each level's store, one after the other and never two
    /// at a time. Reads the clock twice for each level. Allocates.
    ///
    /// # Errors
    ///
    /// [`Refused`] names the level that has to be waited for longest, if several refuse: one that would
    /// refuse for ever before all others. Nothing was taken then, or all of it was given back: see
    /// [`Hierarchy`](crate::Hierarchy#guarantees) for what may be lost.
    #[doc(alias = "reserve")]
    pub fn try_acquire(&self, estimate: [u64; A]) -> Result<Admitted<'_, A>, Refused> {
        let parts = self.levels.try_acquire(&self.keys, &estimate)?;
        Ok(Admitted { levels: Held::Borrowed(self.levels), parts })
    }
}

impl<const A: usize> fmt::Debug for Request<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.levels.names().zip(&self.keys)).finish()
    }
}

/// A request that all levels have admitted, charged with what it is expected to use.
///
/// **Dropping it keeps all levels charged as they are**: a request that fails without a word about
/// what it used has paid for its estimate.
///
/// It borrows the request. [`into_owned`](Admitted::into_owned) makes it keep all that it needs.
#[must_use = "to drop it is to keep all levels charged with the estimate"]
pub struct Admitted<'r, const A: usize> {
    levels: Held<'r>,
    parts: Vec<KeyEstimate<'r, str, BoxedSettle>>,
}

/// The levels that have admitted a request.
enum Held<'r> {
    Borrowed(&'r Arc<Levels>),
    Owned(Arc<Levels>),
}

impl Held<'_> {
    fn levels(&self) -> &Arc<Levels> {
        match self {
            Held::Borrowed(levels) => levels,
            Held::Owned(levels) => levels,
        }
    }
}

impl<const A: usize> Admitted<'_, A> {
    /// Returns the same admission, which keeps the levels alive and has its own copy of the keys: for an
    /// answer that is streamed on after the request is gone. Allocates for each level.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sluicegate::ManualClock;
    /// use sluicegate_policy::{Admitted, Hierarchy, Policies};
    ///
    /// let policies = Policies::from_toml("policy.toml", r#"
    /// [[hierarchy]]
    /// name = "user"
    /// key = "user"
    /// counts = "output"
    /// policy = "fixed_window"
    /// limit = 1_000
    /// interval = "1 minute"
    /// "#)?;
    /// let clock = Arc::new(ManualClock::new());
    /// let tokens = Hierarchy::new(policies.hierarchy(), ["user"], ["output"], clock)?;
    /// let call: Admitted<'static, 1> = tokens.request(["ada"]).try_acquire([800])?.into_owned();
    /// let streamed = std::thread::spawn(move || call.settle([300]));
    /// assert_eq!(streamed.join().unwrap()[0].as_ref().unwrap().given_back(), 500);
    /// assert_eq!(tokens.request(["ada"]).peek([0])?[0].remaining(), 700);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_owned(self) -> Admitted<'static, A> {
        let levels = Arc::clone(self.levels.levels());
        let parts = self.parts.into_iter().zip(levels.stores());
        let parts = parts.map(|(part, store)| kept(part, store)).collect();
        Admitted { levels: Held::Owned(levels), parts }
    }

    /// Returns the grant of each level, in their order.
    #[must_use]
    pub fn grants(&self) -> impl ExactSizeIterator<Item = Grant> {
        self.parts.iter().map(KeyEstimate::grant)
    }

    /// Settles all levels with what was used in fact, and returns their answers, in their order: each
    /// level gives back the rest of its estimate, or takes what is lacking. One that counts
    /// requests keeps its 1.
    ///
    /// No level's answer keeps another from being settled. A key that was forgotten meanwhile, because
    /// it was idle, gives back nothing; usage beyond the estimate is charged to it all the same: see
    /// [`KeyEstimate`]. Usage beyond an estimate may take a bucket into debt, at most its `max_debt`,
    /// and a window over its limit; then nothing is granted until that is earned, or the window has ended.
    ///
    /// Locks a part of each level's store, one after the other. Allocates.
    #[must_use = "it says what could not be charged"]
    pub fn settle(self, used: [u64; A]) -> Vec<Result<Settled, Unpaid>> {
        let levels = self.levels.levels();
        let parts = self.parts.into_iter().enumerate();
        parts.map(|(which, estimate)| estimate.settle(levels.permits(which, &used))).collect()
    }

    /// Gives back all that was taken, also to levels that count requests: for a request that was not made
    /// after all.
    ///
    /// As much comes back as of an estimate that is settled with 0. Locks a part of each level's store
    /// shared, one after the other. Does not allocate.
    pub fn cancel(self) {
        AllOrNone::from(self.parts).give_back();
    }
}

impl<const A: usize> fmt::Debug for Admitted<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.levels.levels().names().zip(&self.parts)).finish()
    }
}

/// Returns the estimate of a level, which keeps the level's store.
fn kept(
    part: KeyEstimate<'_, str, BoxedSettle>,
    store: &Arc<Store>,
) -> KeyEstimate<'static, str, BoxedSettle> {
    part.into_owned(store).expect("the estimate was taken from this store")
}
