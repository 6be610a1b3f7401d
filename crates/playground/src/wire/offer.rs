//! Limiters of a policy that the page offers.

use serde::{Deserialize, Serialize};

use super::SideSetup;

/// The limiters of a policy, as set-ups. A session gets copies: it never touches the limiters themselves.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Offer {
    /// The name of the policy's file.
    pub source: String,
    /// The limiters.
    pub limiters: Vec<OfferedLimiter>,
}

/// A limiter of a policy.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct OfferedLimiter {
    /// The name in the policy.
    pub name: String,
    /// The same algorithm and numbers; none if the playground cannot have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<SideSetup>,
    /// Why it cannot be tried, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
