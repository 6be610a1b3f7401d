//! One limit for several who matter differently.
//!
//! | type | for |
//! |---|---|
//! | `Shares` | tenants: an assured rate for each, and idle permits are lent |
//! | `Priorities` | classes of requests: each leaves a reserve to the more important ones |
//! | [`Leaving`] | one request that leaves a reserve |

#[cfg(feature = "alloc")]
pub(crate) mod priorities;
#[cfg(feature = "keyed")]
pub(crate) mod rate_sum;
#[cfg(feature = "alloc")]
pub(crate) mod refused_class;
#[cfg(feature = "keyed")]
pub(crate) mod share_grant;
#[cfg(feature = "keyed")]
pub(crate) mod shares;
#[cfg(feature = "keyed")]
pub(crate) mod tenant_share;

#[cfg(feature = "alloc")]
pub use self::priorities::{Priorities, PriorityClass};
#[cfg(feature = "alloc")]
pub use self::refused_class::RefusedClass;
#[cfg(feature = "keyed")]
pub use self::share_grant::ShareGrant;
#[cfg(feature = "keyed")]
pub use self::shares::Shares;
#[cfg(feature = "keyed")]
pub use self::shares::answers::ShareAnswers;
#[cfg(feature = "keyed")]
pub use self::tenant_share::Share;
pub use crate::limiter::leaving::Leaving;
