//! The lane of a caller in a line that is divided among tenants.

use core::hash::{BuildHasher, Hash};
use std::hash::RandomState;
use std::sync::OnceLock;

/// The importance of a caller among those of its tenant, in the line of a
/// [`Queued`](crate::wait::Queued) with [weights](crate::wait::LineWeights).
///
/// It is a weight, and not a rank: while callers of each priority wait, each has its part of the tenant's
/// permits. So an important caller of one tenant takes nothing from another tenant, and an unimportant one is
/// granted its permits some time.
///
/// # Examples
///
/// ```
/// use sluicegate::{TokenBucket, Wait, quota};
/// use sluicegate::wait::{LinePriority, LineWeights, Queued};
///
/// let bucket = TokenBucket::new(quota!(100 / second));
/// let line = Queued::new(bucket).with_weights(LineWeights::new(100))?;
/// line.tenant("ada").with_priority(LinePriority::High).acquire_blocking(1)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinePriority {
    /// 16 of 21 parts, unless [`LineWeights::priorities`](crate::wait::LineWeights::priorities) says otherwise.
    High,
    /// 4 of 21 parts.
    #[default]
    Normal,
    /// 1 of 21 parts.
    Low,
}

/// Number of priorities.
pub(crate) const PRIORITIES: usize = 3;

/// A lane: the callers of one tenant that have one priority, first come, first served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lane {
    /// The fingerprint of the tenant; `None` for callers that name none.
    pub(crate) tenant: Option<u64>,
    pub(crate) priority: LinePriority,
}

/// Returns the fingerprint of a tenant: 64 bits of a keyed hash that nobody outside can foresee. It stays the same
/// while the process runs.
pub(crate) fn fingerprint<T: Hash + ?Sized>(tenant: &T) -> u64 {
    static HASHER: OnceLock<RandomState> = OnceLock::new();
    HASHER.get_or_init(RandomState::new).hash_one(tenant)
}
