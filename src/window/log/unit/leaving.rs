//! Single permits that leave a reserve.

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::time::clock::Clock;

use super::{UnitLog, View};

impl<C: Clock> UnitLog<C> {
    pub(crate) fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        match permits {
            0 => self.peek(0),
            1 => self.append_unless(|view| self.denial_leaving(reserve, view)),
            _ => Err(self.too_large_leaving(reserve)),
        }
    }

    pub(crate) fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        match permits {
            0 => self.peek(0),
            1 => self.read(|view| match self.denial_leaving(reserve, view) {
                Some(denied) => Err(denied),
                None => Ok(self.granted(1, view)),
            }),
            _ => Err(self.too_large_leaving(reserve)),
        }
    }

    pub(crate) fn try_acquire_leaving_revocable(
        &self,
        permits: u64,
        reserve: u64,
    ) -> Result<Receipt<'_>, Denied> {
        self.try_acquire_leaving(permits, reserve).map(Receipt::spent)
    }

    /// Returns the denial of a permit that has to leave a reserve.
    fn denial_leaving(&self, reserve: u64, view: &View) -> Option<Denied> {
        let denied = self.denial_ahead(reserve.saturating_add(1), view)?;
        Some(denied.leaving(reserve))
    }

    /// Returns the denial of several permits that have to leave a reserve.
    fn too_large_leaving(&self, reserve: u64) -> Denied {
        Denied::TooLarge { limit: self.limit.get().saturating_sub(reserve).min(1), which: 0 }
    }
}
