//! Requests that leave a reserve, at a limiter with a line.

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::limiter::leaving::Leaving;
use crate::time::clock::Clock;

use super::Queued;
use super::tenant::Tenant;

/// Each call is the limiter's, as long as nobody stands in line. Those in line leave no reserve.
impl<L: Leaving, C: Clock + Send + Sync> Leaving for Queued<L, C> {
    fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.unless_gated(permits)?.try_acquire_leaving(permits, reserve)
    }

    fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.unless_gated(permits)?.peek_leaving(permits, reserve)
    }

    fn try_acquire_leaving_revocable(
        &self,
        permits: u64,
        reserve: u64,
    ) -> Result<Receipt<'_>, Denied> {
        self.unless_gated(permits)?.try_acquire_leaving_revocable(permits, reserve)
    }
}

/// Each call is that of the [`Queued`]. Callers that wait by the tenant leave no reserve.
impl<Q, L: Leaving, C: Clock + Send + Sync> Leaving for Tenant<Q, L, C>
where
    Q: AsRef<Queued<L, C>> + Send + Sync,
{
    fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.queued().try_acquire_leaving(permits, reserve)
    }

    fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.queued().peek_leaving(permits, reserve)
    }

    fn try_acquire_leaving_revocable(
        &self,
        permits: u64,
        reserve: u64,
    ) -> Result<Receipt<'_>, Denied> {
        self.queued().try_acquire_leaving_revocable(permits, reserve)
    }
}
