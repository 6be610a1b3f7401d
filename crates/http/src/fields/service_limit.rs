//! A limit as a response tells it.

use std::time::Duration;

/// A service limit: how much of a policy is left.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceLimit {
    /// The name of the policy. Only drafts 8 to 10 tell it.
    pub name: Option<Box<str>>,
    /// The limit itself. Drafts 8 to 10 tell it as the quota of the policy.
    pub limit: Option<u64>,
    /// The permits that are left.
    pub remaining: u64,
    /// The wait until there are more, in drafts 8 to 10, and until the reset in the others; from the
    /// response on.
    pub reset_after: Option<Duration>,
    /// The partition key.
    pub partition: Option<Box<[u8]>>,
}
