//! Reservations of permits of a key.
//!
//! **Lemma.** A reservation is given back only if its key is as if the reservation had never been made.
//!
//! *Proof.* It is given back by a CAS from the level that it left to the one before, under the lock of
//! the key's shard, if no change of the shard was noted since. Without a change, the level of a key only
//! rises, and by each grant, also where the key is evicted and comes back (see `exact`): so if it is as the
//! reservation left it, nothing was granted since, and no other reservation was given back. (One that was
//! given back, and was made before, would have found its level.) ∎

use core::cell::Cell;
use core::hash::BuildHasher;
use core::hash::Hash;
use core::time::Duration;

use crate::bucket::reserve::ReservationRequest;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::observe::Observe;
use crate::keyed::when_full::Overflow;
use crate::time::clock::Clock;
use crate::time::units;
use crate::wait::charged::{Booked, Charged};
use crate::wait::error::AcquireError;
use crate::wait::reservation::{BooksKeys, Debtor, Reservation};
use crate::wait::turn::TakesTurns;

use super::Keyed;
use super::as_key::AsKey;
use super::buckets::Buckets;
use super::buckets::tiers::Tier;
use super::store::{KeyPlace, NoRoom};

/// Reservations, with the feature `wait`.
impl<K, C, T, S, O> Keyed<K, Buckets<C, T>, S, O>
where
    K: Hash + Eq,
    C: Clock,
    T: Tier<K>,
    S: BuildHasher,
    Self: Sync,
{
    /// Takes all of `permits` of the key now, for the earliest instant at which they will have been earned.
    ///
    /// A reservation is a debt, bounded by the quota's `max_debt`. Reservations of a key are for
    /// different instants, in the order in which they were made. In all else the same as
    /// [`try_acquire`](Keyed::try_acquire), with one lock of the shard more. Behind a
    /// [`QueuedKeys`](crate::keyed::QueuedKeys) it overtakes those in line.
    ///
    /// # Errors
    ///
    /// * [`AcquireError::TooLarge`] for more than the burst.
    /// * [`AcquireError::LineFull`] if the debt would be too deep, or the key is not known and there is no
    ///   space for it (if [`WhenFull`](crate::keyed::WhenFull) says so).
    pub fn reserve<'a, Q>(
        &'a self,
        key: &'a Q,
        permits: u64,
    ) -> Result<Reservation<'a, Q>, AcquireError>
    where
        Q: AsKey<K> + ?Sized,
        O: Observe<Q>,
    {
        self.reserve_within(key, permits, Duration::MAX)
    }

    /// Does the same as [`reserve`](Keyed::reserve), if the permits are earned within `longest`.
    ///
    /// # Errors
    ///
    /// [`AcquireError::TimedOut`] if they come later than that; `retry_after` is the wait that they would
    /// have taken. And those of [`reserve`](Keyed::reserve).
    pub fn reserve_within<'a, Q>(
        &'a self,
        key: &'a Q,
        permits: u64,
        longest: Duration,
    ) -> Result<Reservation<'a, Q>, AcquireError>
    where
        Q: AsKey<K> + ?Sized,
        O: Observe<Q>,
    {
        let place = self.place(key);
        // Before the reservation is made, so that no later change is missed.
        let changes = self.store.changes(place);
        let request = ReservationRequest { permits, longest_nanos: units::nanos(longest) };
        let outcome = Cell::new(Err(AcquireError::LineFull { retry_after: Duration::ZERO }));
        let book = |_: &_, terms: &_, state: &_, now_nanos| {
            Buckets::<C, T>::book(terms, state, request, now_nanos, &outcome)
        };
        let found_none = Cell::new(None);
        let no_room = |no_room: NoRoom| {
            found_none.set(Some(no_room));
            Err(Denied::Full { retry_after: no_room.retry_after })
        };
        let answer = match self.store.spend_known(place, key, book) {
            Ok(answer) => answer,
            Err(reading_nanos) => self.store.spend(place, key, reading_nanos, book, no_room),
        };
        let (answer, booked, debtor) = match found_none.get() {
            None => (answer, outcome.get(), Debtor::Key),
            Some(no_room) => self.book_without_room(request, &no_room, outcome.get()),
        };
        self.observer.decided(key, permits, answer.as_ref());
        let mut booked = booked?;
        booked.charged.changes = changes;
        Ok(Reservation::of_key(self, key, permits, booked, debtor))
    }

    /// Reserves for a key for which there is no space; `fresh` is what it would have been told.
    #[cold]
    fn book_without_room(
        &self,
        request: ReservationRequest,
        no_room: &NoRoom,
        fresh: Result<Booked, AcquireError>,
    ) -> (Result<Grant, Denied>, Result<Booked, AcquireError>, Debtor) {
        let NoRoom { fresh: grant, retry_after } = *no_room;
        let full = (Err(Denied::Full { retry_after }), AcquireError::LineFull { retry_after });
        match &self.overflow {
            Overflow::Deny => (full.0, Err(full.1), Debtor::Nobody),
            Overflow::Admit => (Ok(grant), fresh, Debtor::Nobody),
            Overflow::Share(bucket) => {
                let longest = Duration::from_nanos(request.longest_nanos);
                match bucket.reserve_within(request.permits, longest) {
                    Ok(booked) => (Ok(grant), Ok(booked), Debtor::Shared),
                    Err(AcquireError::TooLarge { .. }) => (full.0, Err(full.1), Debtor::Nobody),
                    Err(error) => (full.0, Err(error), Debtor::Nobody),
                }
            }
        }
    }
}

impl<K, C, T, S, O, Q> BooksKeys<Q> for Keyed<K, Buckets<C, T>, S, O>
where
    K: Hash + Eq,
    C: Clock,
    T: Tier<K>,
    S: BuildHasher,
    Q: AsKey<K> + ?Sized,
{
    fn clock(&self) -> &dyn Clock {
        self.clock()
    }

    fn unbook(&self, key: &Q, debtor: Debtor, charged: Charged) -> bool {
        match (debtor, &self.overflow) {
            (Debtor::Key, _) => {
                let place: KeyPlace = self.place(key);
                let unbook = |state: &_| Buckets::<C, T>::unbook(state, charged);
                self.store.with_unchanged(place, key, charged.changes, unbook).unwrap_or(false)
            }
            (Debtor::Shared, Overflow::Share(bucket)) => bucket.undo(charged),
            (Debtor::Nobody, _) => true,
            (Debtor::Shared, _) => false,
        }
    }
}
