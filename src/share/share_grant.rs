//! The answer to a tenant that was granted permits.

use crate::decision::grant::Grant;

/// The grant of permits to a tenant of a `Shares`: of its own share, or lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareGrant {
    /// Within the tenant's share. The grant tells the rest of the share.
    Assured(Grant),
    /// Beyond the share: lent, because others leave it idle. Nothing is paid back. The grant tells
    /// the rest for all, with the permits that are kept for the shares.
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
