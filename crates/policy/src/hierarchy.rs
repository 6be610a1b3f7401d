//! Budgets at several levels, such as organisation, team and user: a request passes all or none.
//!
//! | file | |
//! |---|---|
//! | `level` | a level as data, and the checks of it |
//! | `levels` | all levels at work: keys, looks, and permits of all or none |
//! | `live` | the levels of a file by the names in it, whose terms change live |
//! | `patterns` | the numbers of a key, by patterns |
//! | `request` | the keys of one request, and its admission |
//! | `settleable` | limiters that can be settled, by kind |

mod level;
mod levels;
#[cfg(feature = "registry")]
pub(crate) mod live;
mod patterns;
mod refused;
mod request;
mod settleable;

use std::fmt;
use std::sync::Arc;

use sluicegate::Clock;

pub(crate) use self::patterns::pattern_error;

pub use self::level::{HierarchyError, LevelOverride, LevelPolicy};
pub use self::refused::Refused;
pub use self::request::{Admitted, Request};
pub use self::settleable::BoxedSettle;

use self::levels::Levels;
use crate::SharedClock;

/// Budgets at several levels, each with a limiter for every key: one request passes all levels,
/// or takes nothing from any.
///
/// `K` is the number of key fields that a request has, and `A` the number of its amounts.
/// [`new`](Hierarchy::new) names them once; requests then give their values in that order.
///
/// # Guarantees
///
/// * The bound of each key of each level holds, as the limiter's docs state it, in every
///   interleaving of threads. Usage beyond an estimate comes on top: see [`Admitted::settle`].
/// * A request is admitted by all levels, or refused by one of them, which [`Refused`] names. A
///   level that denies as all are first looked at costs the others nothing.
/// * If another thread takes the rest of a level between that look and the taking, what was taken
///   from other levels is given back at once, by settlement. A window gets back all of it, unless it
///   ends in that moment. So does a bucket, but for fractions of a permit, unless it was more than
///   three quarters full: then it may lose what is given back, as [`Estimate`](sluicegate::settle::Estimate)
///   says. Until then, other requests may be refused for what this one holds.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use sluicegate::ManualClock;
/// use sluicegate_policy::{Hierarchy, Policies};
///
/// let policies = Policies::from_toml("policy.toml", r#"
/// [[hierarchy]]
/// name = "org"
/// key = "org"
/// counts = ["input", "output"]
/// policy = "fixed_window"
/// limit = 10_000
/// interval = "1 minute"
///
/// [[hierarchy]]
/// name = "user"
/// key = ["org", "user"]
/// counts = "output"
/// policy = "fixed_window"
/// limit = 1_000
/// interval = "1 minute"
/// overrides = { "acme/*" = { limit = 5_000 } }
/// "#)?;
/// let clock = Arc::new(ManualClock::new());
/// let tokens = Hierarchy::new(policies.hierarchy(), ["org", "user"], ["input", "output"], clock)?;
///
/// let ada = tokens.request(["acme", "ada"]);
/// let call = ada.try_acquire([2_000, 4_000])?;
/// // Too long an answer for this user. Nothing was taken from the organisation.
/// let refused = ada.try_acquire([1_000, 1_500]).unwrap_err();
/// assert_eq!(refused.level(), "user");
///
/// // The answer was brief: both levels get the rest back.
/// for settled in call.settle([2_000, 300]) {
///     assert_eq!(settled?.given_back(), 3_700);
/// }
/// assert_eq!(ada.peek([0, 0])?[1].remaining(), 4_700);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Hierarchy<const K: usize, const A: usize> {
    levels: Arc<Levels>,
}

impl<const K: usize, const A: usize> Hierarchy<K, A> {
    /// Creates the limiters of these levels, which read the time from `clock`, in nanoseconds since
    /// the Unix epoch.
    ///
    /// `fields` are the names of the parts of a request that keys are made of, and `amounts` those of
    /// its numbers. The order of the levels decides nothing; reports are clearest from the widest to
    /// the narrowest.
    ///
    /// Allocates. Builds one limiter of each kind, and drops it again.
    ///
    /// # Errors
    ///
    /// [`HierarchyError`] if there is no level, if two have the same name, if a level names a
    /// field or an amount that requests do not have, or if its limiters cannot be built or settled. The
    /// levels of a [`Policies`](crate::Policies) have passed all of these checks but for the names of
    /// fields and amounts, which a file does not know.
    pub fn new(
        levels: &[LevelPolicy],
        fields: [&str; K],
        amounts: [&str; A],
        clock: impl Clock + Send + Sync + 'static,
    ) -> Result<Hierarchy<K, A>, HierarchyError> {
        let levels = Levels::new(levels, &fields, &amounts, &(Arc::new(clock) as SharedClock))?;
        Ok(Hierarchy { levels: Arc::new(levels) })
    }

    /// Makes the keys of a request from the values of its fields, in the order of
    /// [`new`](Hierarchy::new).
    ///
    /// A field that a request does not have is an empty text: all such requests share a key. In
    /// keys, `/` stands between fields; within a value it is written `%2F`, and `%` is written `%25`.
    ///
    /// Allocates a text for each level. Reads no clock, and takes no permits.
    #[must_use]
    pub fn request(&self, fields: [&str; K]) -> Request<'_, A> {
        Request::new(&self.levels, self.levels.keys(&fields))
    }

    /// Returns the names of the levels.
    #[must_use]
    pub fn levels(&self) -> impl ExactSizeIterator<Item = &str> {
        self.levels.names()
    }
}

impl<const K: usize, const A: usize> fmt::Debug for Hierarchy<K, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hierarchy").field("levels", &self.levels).finish_non_exhaustive()
    }
}
