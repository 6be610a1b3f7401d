//! The log of requests.
//!
//! ```text
//!  bit 63                                         1     0
//!     +---------------------+---------------------+-----+
//!     |        TIME         |        COUNT        | LAP |     requests of any size
//!     +---------------------+---------------------+-----+
//!     |                   TIME                    | LAP |     single permits
//!     +---------------------+---------------------+-----+
//! ```
//!
//! `COUNT` is cumulative, up to and including the entry; of single permits, that is the number of the entry.
//! `TIME` is in ticks of a power of two of nanoseconds, such that 146 years are the past and
//! as many the future. A date is rounded up to a tick, so an entry leaves the window late
//! by less than a tick, and never early. A tick of single permits is a nanosecond.
//!
//! **Theorem.** In any span `(t - W, t]` of the time by which requests are dated, no more
//! than the limit is admitted.
//!
//! *Proof.* A request is admitted only if the count including it, less the count of the
//! newest entry that is at least `W` older, is at most the limit. Times do not go
//! back along the log, so all entries after that one, and only those, can be in a
//! span that ends with the new one. ∎

mod decide;
mod leaving;
mod restore;
mod show;

use crate::config::error::ConfigError;
use crate::config::rate::Rate;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::time::clock::Clock;
use crate::window::limit::{Limit, check_between, check_max};

use super::MAX_PLACES;
use super::count::{ByNumber, Count, InEntry};
use super::dates::Dates;
use super::entry_ring::EntryRing;

/// A log in which every entry is a request.
pub(crate) struct RequestLog<C, N> {
    ring: EntryRing<C>,
    /// Number of requests that it was asked to remember.
    capacity: u64,
    limit: Limit,
    window_nanos: u64,
    count: N,
    dates: Dates,
}

impl<C: Clock> RequestLog<C, ByNumber> {
    /// Creates a log of requests for one permit each.
    pub(crate) fn of_permits(
        limit: Rate,
        clock: C,
    ) -> Result<RequestLog<C, ByNumber>, ConfigError> {
        let permits = limit.permits();
        if permits > MAX_PLACES {
            return Err(ConfigError::Limit { limit: permits, max: MAX_PLACES });
        }
        RequestLog::sized(permits, permits, limit.period_nanos(), permits, clock)
    }
}

impl<C: Clock> RequestLog<C, InEntry> {
    /// Creates a log of `capacity` requests of any size.
    pub(crate) fn of_any_size(
        limit: Rate,
        capacity: u64,
        clock: C,
    ) -> Result<RequestLog<C, InEntry>, ConfigError> {
        let most = MAX_PLACES - InEntry::MORE_PLACES;
        if capacity < 1 || capacity > most {
            return Err(ConfigError::Capacity { capacity, most });
        }
        let permits = limit.permits();
        RequestLog::sized(permits, permits, limit.period_nanos(), capacity, clock)
    }
}

impl<C: Clock, N: Count> RequestLog<C, N> {
    /// Returns the same log with room for limits up to `max_limit`, and nothing granted. If it
    /// had room for as many requests as the limit, it gets room for `max_limit` of them.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxLimit`] if `max_limit` is less than the limit, or too large.
    pub(crate) fn with_max_limit(self, max_limit: u64) -> Result<RequestLog<C, N>, ConfigError> {
        let limit = self.limit.get();
        if !N::IS_OF_PERMITS {
            check_max(max_limit, limit, self.window_nanos)?;
        }
        let capacity = if self.capacity < limit {
            self.capacity
        } else {
            check_between(max_limit, limit, MAX_PLACES - N::MORE_PLACES)?;
            self.capacity.max(max_limit)
        };
        let clock = self.ring.into_clock();
        RequestLog::sized(limit, max_limit, self.window_nanos, capacity, clock)
    }

    fn sized(
        limit: u64,
        max_limit: u64,
        window_nanos: u64,
        capacity: u64,
        clock: C,
    ) -> Result<RequestLog<C, N>, ConfigError> {
        let count = N::up_to_limit(max_limit);
        let dates = Dates::new(count.dates(), window_nanos);
        let first = |now_nanos| dates.before(now_nanos);
        let most = if N::IS_OF_PERMITS { capacity } else { Rate::MAX_PERMITS };
        Ok(RequestLog {
            ring: EntryRing::new(capacity + N::MORE_PLACES, first, clock),
            capacity,
            limit: Limit::new(limit, most.min(count.max_difference()))?,
            window_nanos,
            count,
            dates,
        })
    }

    pub(crate) fn clock(&self) -> &C {
        self.ring.clock()
    }

    /// Returns whether anybody stands in line: nobody can.
    #[expect(clippy::unused_self, reason = "as for limiters that callers can wait for")]
    pub(crate) fn has_line(&self) -> bool {
        false
    }

    pub(crate) fn healed(&self) -> u64 {
        self.ring.healed()
    }

    pub(crate) fn limit(&self) -> &Limit {
        &self.limit
    }

    /// Sets the limit, as `Limit::raise` does.
    pub(crate) fn set_limit(&self, permits: u64) -> Result<(), ConfigError> {
        self.limit().raise(permits)
    }

    pub(crate) fn window_nanos(&self) -> u64 {
        self.window_nanos
    }

    /// Returns the length of a tick; a request leaves the window late by less than this.
    pub(crate) fn resolution_nanos(&self) -> u64 {
        self.dates.tick_nanos()
    }

    #[inline]
    pub(crate) fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        Self::check_request(permits)?;
        self.append(0, |_| permits)
    }

    pub(crate) fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.try_acquire(permits).map(Receipt::spent)
    }

    pub(crate) fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        if N::IS_OF_PERMITS {
            return self.acquire_one_by_one(permits);
        }
        // If nothing is available, the denial is that of one permit.
        self.append(0, |room| permits.min(room.max(1)))
    }

    /// Takes permits one by one until no more are available. At most the limit, because
    /// time passes meanwhile and makes room for more.
    fn acquire_one_by_one(&self, permits: u64) -> Result<Grant, Denied> {
        let permits = permits.min(self.limit.get());
        let mut grant = self.try_acquire(permits.min(1))?;
        while grant.permits < permits {
            match self.append(0, |_| 1) {
                Ok(next) => grant = Grant { permits: grant.permits + 1, ..next },
                Err(_) => break,
            }
        }
        Ok(grant)
    }

    pub(crate) fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        Self::check_request(permits)?;
        self.peek_ahead(permits)
    }

    /// Returns the answer to `permits` at once; of single permits, to the last of so many requests.
    pub(crate) fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.read(|view| self.decide(permits, 0, view))
    }

    pub(crate) fn count(&self) -> u64 {
        self.read(|view| view.used)
    }

    pub(crate) fn reset(&self) {
        self.ring.reset();
    }

    /// # Errors
    ///
    /// [`Denied::TooLarge`] if `permits` are more than an entry can be.
    #[inline]
    fn check_request(permits: u64) -> Result<(), Denied> {
        if N::IS_OF_PERMITS && permits > 1 {
            return Err(Denied::TooLarge { limit: 1, which: 0 });
        }
        Ok(())
    }
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests;
