//! Requests that leave a reserve.

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::limiter::leaving::counted_beside;
use crate::time::clock::Clock;

use super::super::count::Count;
use super::RequestLog;

impl<C: Clock, N: Count> RequestLog<C, N> {
    pub(crate) fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.check_leaving(permits, reserve)?;
        self.append(counted_beside(permits, reserve), |_| permits)
            .map_err(|denied| denied.leaving(reserve))
    }

    pub(crate) fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.check_leaving(permits, reserve)?;
        self.read(|view| self.decide(permits, counted_beside(permits, reserve), view))
            .map_err(|denied| denied.leaving(reserve))
    }

    pub(crate) fn try_acquire_leaving_revocable(
        &self,
        permits: u64,
        reserve: u64,
    ) -> Result<Receipt<'_>, Denied> {
        self.try_acquire_leaving(permits, reserve).map(Receipt::spent)
    }

    /// # Errors
    ///
    /// [`Denied::TooLarge`] if `permits` are more than an entry can be.
    #[inline]
    fn check_leaving(&self, permits: u64, reserve: u64) -> Result<(), Denied> {
        if N::IS_OF_PERMITS && permits > 1 {
            let limit = self.limit.get().saturating_sub(reserve).min(1);
            return Err(Denied::TooLarge { limit, which: 0 });
        }
        Ok(())
    }
}
