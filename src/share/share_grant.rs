//! The answer to a tenant that was granted permits.

use crate::decision::grant::Grant;

/// The grant of permits to a tenant of a `Shares`: of its own share, or lent.
///
/// Its numbers are those of the way in which it was granted, and count what this tenant could get in the same way now:
/// `remaining` is the largest request that would be granted so next, and `limit` the largest that ever can be. Permits
/// that are kept for others count in neither.
///
/// # Examples
///
/// ```
/// use sluicegate::quota;
/// use sluicegate::share::{Share, ShareGrant, Shares};
///
/// let tenants = [Share::new(quota!(10 / hour)).with_tenants(4)];
/// let shares = Shares::<u32>::new(quota!(100 / hour), tenants)?;
/// for _ in 0..2 {
///     match shares.try_acquire(0, &7, 10)? {
///         ShareGrant::Assured(grant) => assert_eq!(grant.remaining(), 0),
///         ShareGrant::Borrowed(grant) => assert_eq!(grant.permits(), 10),
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareGrant {
    /// Within the tenant's share. The grant tells the rest of the share: `limit` is the assured burst.
    Assured(Grant),
    /// Beyond the share: lent, because others leave it idle. Nothing is paid back. The grant tells what may still be
    /// borrowed: what all have left above the sum of the assured bursts, or what the tenant's ceiling leaves above its
    /// own, if that is less. `limit` is the lower one of both, and the waits are those of the bucket that has less.
    Borrowed(Grant),
}

impl ShareGrant {
    /// Returns the grant, whichever way it was made.
    #[must_use]
    pub fn grant(self) -> Grant {
        match self {
            ShareGrant::Assured(grant) | ShareGrant::Borrowed(grant) => grant,
        }
    }

    /// Returns the number of permits that were granted.
    #[must_use]
    pub fn permits(self) -> u64 {
        self.grant().permits()
    }

    /// Returns whether the permits are of the tenant's own share.
    #[must_use]
    pub fn is_assured(self) -> bool {
        matches!(self, ShareGrant::Assured(_))
    }

    /// Returns whether the permits are lent.
    #[must_use]
    pub fn is_borrowed(self) -> bool {
        matches!(self, ShareGrant::Borrowed(_))
    }
}

impl From<ShareGrant> for Grant {
    fn from(granted: ShareGrant) -> Grant {
        granted.grant()
    }
}
