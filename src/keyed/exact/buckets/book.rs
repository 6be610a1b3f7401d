//! Reservations of a key's permits: the level is spent into debt, for the instant at which the permits
//! will have been earned.

use alloc::sync::Arc;
use core::cell::Cell;

use crate::bucket::charge::Spend;
use crate::bucket::level::Level;
use crate::bucket::reserve::{BalanceAt, ReservationRequest};
use crate::bucket::terms::Terms;
use crate::decision::receipt::revert;
use crate::keyed::exact::per_key::Answer;
use crate::sync::Ordering::{AcqRel, Relaxed};
use crate::sync::Word;
use crate::time::clock::Clock;
use crate::wait::charged::{Booked, Charged};
use crate::wait::error::AcquireError;

use super::spend::spend_by;
use super::tiers::Number;
use super::{Buckets, Common, State};

/// The outcome of the last attempt to reserve.
pub(in crate::keyed::exact) type Outcome = Cell<Result<Booked, AcquireError>>;

impl<C: Clock, T> Buckets<C, T> {
    /// Takes the permits of `request` for the earliest instant at which they are earned, and notes that
    /// in `outcome`.
    pub(in crate::keyed::exact) fn book<N: Number>(
        terms: &Arc<[Common]>,
        state: &State<N>,
        request: ReservationRequest,
        now_nanos: u64,
        outcome: &Outcome,
    ) -> Answer {
        let common = Self::common(terms, state.tier);
        let note = |wait_nanos: u64, charged| {
            let at_nanos = now_nanos.saturating_add(wait_nanos);
            outcome.set(Ok(Booked { at_nanos, wait_nanos, cost: 0, charged, place: None }));
        };
        let wait = Cell::new(0);
        let charge = |terms: &Terms, balance| {
            let permits = request.permits;
            match (BalanceAt { terms, balance, now_nanos }).price(request) {
                Ok((cost, wait_nanos)) => {
                    wait.set(wait_nanos);
                    note(wait_nanos, Charged::NOTHING);
                    Ok(match cost {
                        0 => Spend::Nothing,
                        _ => Spend::Some { permits, cost, is_forced: true },
                    })
                }
                Err(refused) => {
                    outcome.set(Err(refused.error));
                    Err(refused.refusal)
                }
            }
        };
        spend_by::<true>(&common.terms, &state.level, now_nanos, charge, |seen, next| {
            // ORDERING: AcqRel and Relaxed, as in `spend`.
            // MODEL: `reservations_and_grants_of_a_key_keep_to_its_bound`,
            // `what_was_done_before_a_reservation_of_a_key_is_seen_after_the_next`.
            let is_done = state.level.compare_exchange_weak(seen, next, AcqRel, Relaxed).is_ok();
            let charged = Charged { before: seen.to_bits(), after: next.to_bits(), changes: 0 };
            note(wait.get(), charged);
            is_done
        })
    }

    /// Puts back the level before a reservation, if it still is the one after. Returns whether it did.
    pub(in crate::keyed::exact) fn unbook<N>(state: &State<N>, charged: Charged) -> bool {
        let [after, before] = [charged.after, charged.before].map(Level::from_bits);
        revert(&state.level, after, before)
    }
}
