//! Reservations: permits that are taken now, on credit, for an instant at which they will have been
//! earned.

use core::time::Duration;

use crate::contention::Contender;
use crate::sync::Ordering::{AcqRel, Relaxed};
use crate::sync::Word;
use crate::time::clock::Clock;
use crate::time::units;
use crate::wait::charged::{Booked, Charged};
use crate::wait::error::AcquireError;
use crate::wait::line;

use super::BucketCore;
use super::charge::{Refusal, Spend, all_of, into_debt};
use super::level::{Level, UNIT};
use super::reserved::ReservedCapacity;
use super::terms::Terms;

/// The request that a reservation is for.
#[derive(Clone, Copy)]
pub(crate) struct ReservationRequest {
    pub(crate) permits: u64,
    /// Longest wait for the permits.
    pub(crate) longest_nanos: u64,
}

/// The reason for which nothing is reserved.
pub(crate) struct NotReserved {
    #[cfg_attr(
        not(feature = "keyed"),
        expect(dead_code, reason = "a store of keys answers by it")
    )]
    pub(crate) refusal: Refusal,
    pub(crate) error: AcquireError,
}

/// The balance of a bucket at a reading of the clock.
#[derive(Clone, Copy)]
pub(crate) struct BalanceAt<'a> {
    pub(crate) terms: &'a Terms,
    pub(crate) balance: i64,
    pub(crate) now_nanos: u64,
}

impl BalanceAt<'_> {
    /// Returns the cost of `request`, and the wait until it is earned.
    pub(crate) fn price(self, request: ReservationRequest) -> Result<(i64, u64), NotReserved> {
        let BalanceAt { terms, balance, .. } = self;
        if request.permits == 0 {
            // At once, also in debt.
            return Ok((0, 0));
        }
        let too_large = |limit| NotReserved {
            refusal: Refusal::TooLarge { limit },
            error: AcquireError::TooLarge { limit },
        };
        // No more than the burst at a time, and no deeper than debts go.
        if let Err(Refusal::TooLarge { limit }) = all_of(request.permits, terms, balance) {
            return Err(too_large(limit));
        }
        let cost = match into_debt(request.permits, terms, balance) {
            Ok(Spend::Nothing) => 0,
            Ok(Spend::Some { cost, .. }) => cost,
            Err(refusal @ Refusal::Wait { wanted }) => {
                return Err(NotReserved { refusal, error: self.full(wanted) });
            }
            Err(Refusal::TooLarge { limit }) => return Err(too_large(limit)),
        };
        let wait_nanos = self.wait_nanos(cost);
        if wait_nanos > request.longest_nanos {
            let retry_after = Duration::from_nanos(wait_nanos);
            let error = AcquireError::TimedOut { retry_after };
            return Err(NotReserved { refusal: Refusal::Wait { wanted: cost }, error });
        }
        Ok((cost, wait_nanos))
    }

    /// Nanoseconds until there are `wanted` quarter-units.
    fn wait_nanos(self, wanted: i64) -> u64 {
        let forecast = self.terms.forecast(self.balance, self.now_nanos);
        units::nanos(forecast.retry_after(wanted / UNIT as i64))
    }

    /// Refuses a request that has to wait for `wanted` before it can be reserved.
    fn full(self, wanted: i64) -> AcquireError {
        AcquireError::LineFull { retry_after: Duration::from_nanos(self.wait_nanos(wanted)) }
    }
}

/// The level of a bucket as it was found at a reading of the clock.
struct Found {
    seen: Level,
    terms: Terms,
    accrued: u64,
    capacity: u64,
    balance: i64,
    now_nanos: u64,
}

impl Found {
    /// Decides on `request`, without regard to a line. Returns the level to write, too.
    fn book(&self, request: ReservationRequest) -> Result<(Level, Booked), AcquireError> {
        let Found { seen, now_nanos, .. } = *self;
        let (cost, wait_nanos) = self.at().price(request).map_err(|refused| refused.error)?;
        let open = seen.with_gate(false);
        let next = if cost == 0 { seen } else { open.spend(cost, self.accrued, self.capacity) };
        let charged = Charged { before: seen.to_bits(), after: next.to_bits(), changes: 0 };
        let at_nanos = now_nanos.saturating_add(wait_nanos);
        Ok((next, Booked { at_nanos, wait_nanos, cost: cost as u64, charged, place: None }))
    }

    fn at(&self) -> BalanceAt<'_> {
        BalanceAt { terms: &self.terms, balance: self.balance, now_nanos: self.now_nanos }
    }
}

impl<C: Clock, L: ReservedCapacity> BucketCore<C, L> {
    /// Takes `permits` for the earliest instant at which they are earned, if that is at most
    /// `longest` away.
    pub(crate) fn reserve_within(
        &self,
        permits: u64,
        longest: Duration,
    ) -> Result<Booked, AcquireError> {
        let request = ReservationRequest { permits, longest_nanos: units::nanos(longest) };
        let mut contender = Contender::new(Some(&self.line.contention));
        let mut now_nanos = self.clock.now_nanos();
        let mut seen = self.look_again();
        let mut may_heal = true;
        loop {
            let found = self.found(seen, now_nanos);
            if seen.is_gated() && permits > 0 {
                if let Some(booked) = line::book(self, permits, request.longest_nanos)? {
                    return Ok(booked);
                }
                (now_nanos, seen) = (self.clock.now_nanos(), self.look_again());
                continue;
            }
            let (next, answer) = match found.book(request) {
                Ok((next, booked)) => (next, Ok(booked)),
                Err(error) => (seen, Err(error)),
            };
            if next == seen {
                match self.still(seen) {
                    Ok(()) if may_heal && found.terms.is_impossible(found.balance, now_nanos) => {
                        may_heal = false;
                        self.heal();
                        self.poke();
                        (now_nanos, seen) = (self.clock.now_nanos(), self.look_again());
                    }
                    Ok(()) => return answer,
                    Err(moved) => seen = moved,
                }
                continue;
            }
            // ORDERING: AcqRel, as in `attempt`. Relaxed on failure: the word is loaded again.
            // MODEL: `reservations_are_for_different_instants`,
            // `what_was_done_before_a_bucket_was_reserved_is_seen_after_the_next_grant`.
            if self.line.word.compare_exchange_weak(seen, next, AcqRel, Relaxed).is_ok() {
                return answer;
            }
            contender.lost_race();
            seen = self.look_again();
        }
    }

    fn found(&self, seen: Level, now_nanos: u64) -> Found {
        let terms = self.slots.named_by(seen);
        let (accrued, capacity) = (terms.accrued(now_nanos), self.capacity(&terms));
        let balance = seen.with_gate(false).balance(accrued, capacity);
        Found { seen, terms, accrued, capacity, balance, now_nanos }
    }
}
