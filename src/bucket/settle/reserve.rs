//! Reservations of a bucket that can be settled: what has been given back first, and otherwise on credit.
//!
//! A reservation that is cancelled gives its units back with their birthdays, as an estimate does. Some may
//! not have been born: as long as the bucket is in debt, nobody takes any from the lots. So (4) of the
//! proof in [`settle`](super) holds for whoever takes them later, and the other facts do not depend on
//! when a unit was born.

use core::time::Duration;

use crate::bucket::charge::all_of;
use crate::bucket::level::Level;
use crate::decision::denied::Denied;
use crate::decision::pieces::Pieces;
use crate::sync::Word;
use crate::time::clock::Clock;
use crate::wait::charged::{Booked, Charged};
use crate::wait::error::AcquireError;
use crate::wait::reservation::Reservation;

use super::{SettleCore, Taken};

impl<C: Clock + Sync> SettleCore<C> {
    pub(crate) fn reserve_within(
        &self,
        permits: u64,
        longest: Duration,
    ) -> Result<Reservation<'_>, AcquireError> {
        let (booked, pieces) = self.book(permits, longest)?;
        let lots = (&*self.bucket.line as _, pieces);
        Ok(Reservation::of_pieces(&self.bucket, permits, booked, lots))
    }

    fn book(&self, permits: u64, longest: Duration) -> Result<(Booked, Pieces), AcquireError> {
        let now_nanos = self.bucket.clock.now_nanos();
        match self.take(move |terms, balance| all_of(permits, terms, balance)) {
            Ok(Taken { pieces, .. }) => {
                let charged = Charged::NOTHING;
                let booked =
                    Booked { at_nanos: now_nanos, wait_nanos: 0, cost: 0, charged, place: None };
                Ok((booked, pieces))
            }
            Err(Denied::TooLarge { limit, .. }) => Err(AcquireError::TooLarge { limit }),
            Err(_) => {
                let booked = self.bucket.reserve_within(permits, longest)?;
                let after = Level::from_bits(booked.charged.after).with_gate(false);
                Ok((booked, Pieces::of_word(after.to_bits(), booked.cost)))
            }
        }
    }
}
