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
use core::fmt;
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
use crate::wait::timer::Timer;
use crate::wait::turn::TakesTurns;
use crate::wait::until::{Look, block_until, sleep_until};

use super::Keyed;
use super::as_key::AsKey;
use super::buckets::Buckets;
use super::buckets::tiers::Tier;
use super::store::{KeyPlace, NoRoom};

/// Permits of a key that are the caller's, to be used from an instant on: what a
/// [`Reservation`](crate::wait::Reservation) is for a limiter without keys.
///
/// Made by `reserve` of a `Keyed` of buckets. The permits are taken: to drop a reservation is to keep them.
///
/// # Eviction
///
/// Until its instant, the key is in debt, so it is not evicted. Later, when it is full again, it may be,
/// as any key: the permits are used by then, or forfeited. Then [`cancel`](KeyReservation::cancel) finds no
/// key, or one that others have taken permits of, and gives nothing back: to no other key either, as it
/// looks for the key by itself.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{Keyed, quota};
/// use sluicegate::wait::AcquireError;
///
/// let users = Keyed::<String>::new(quota!(10 / second));
/// let now = users.reserve("ada", 10)?;
/// let later = users.reserve("ada", 5)?;
/// assert_eq!(now.ready_after(), Duration::ZERO);
/// assert!(later.ready_after() > Duration::from_millis(400));
/// assert!(later.cancel());
/// // Would have to wait for longer.
/// let refused = users.reserve_within("ada", 10, Duration::from_millis(10)).unwrap_err();
/// assert!(matches!(refused, AcquireError::TimedOut { .. }));
/// # Ok::<(), AcquireError>(())
/// ```
#[must_use = "to drop a reservation is to keep its permits"]
pub struct KeyReservation<'a, Q: ?Sized> {
    store: &'a (dyn BooksKeys<Q> + Sync),
    key: &'a Q,
    permits: u64,
    booked: Booked,
    debtor: Debtor,
}

/// The one who is charged with a reservation.
#[derive(Clone, Copy)]
enum Debtor {
    Key,
    /// The bucket that all keys share for which there is no space.
    Shared,
    /// Nobody: there was no space, and such keys are admitted.
    Nobody,
}

/// A store that takes reservations back.
trait BooksKeys<Q: ?Sized> {
    fn now_nanos(&self) -> u64;

    fn unbook(&self, key: &Q, debtor: Debtor, charged: Charged) -> bool;
}

impl<Q: ?Sized> KeyReservation<'_, Q> {
    /// Returns the key.
    #[must_use]
    pub fn key(&self) -> &Q {
        self.key
    }

    /// Returns the number of permits.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Returns the instant from which the permits may be used, by the store's clock.
    #[must_use]
    pub fn at_nanos(&self) -> u64 {
        self.booked.at_nanos
    }

    /// Returns the wait that there was when the reservation was made. Reads no clock.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        Duration::from_nanos(self.booked.wait_nanos)
    }

    /// Returns the wait that is left. Reads the store's clock.
    #[must_use]
    pub fn wait_left(&self) -> Duration {
        self.look().left
    }

    /// Blocks the thread until the permits may be used.
    pub fn wait_blocking(self) {
        block_until(|_| self.look());
    }

    fn look(&self) -> Look {
        Look::until(self.booked.at_nanos, self.store.now_nanos())
    }

    /// Gives the permits back, if nothing else of the key was taken since they were reserved, and no key of
    /// its shard (a 128th of all keys) was reset, removed, credited, restored or healed, nor the quota
    /// changed. Returns whether it did; otherwise they stay taken.
    ///
    /// So of several reservations the newest can be given back, then the one before it. What is given back
    /// is exact: the key is as if the reservation had never been made. Takes the lock of the shard, shared;
    /// does not allocate; reads no clock. The observer is not told. Nor are callers in line in a
    /// `QueuedKeys`: cancel in its `update_key`.
    #[doc(alias = "refund")]
    #[expect(clippy::must_use_candidate, reason = "most callers can do no more about it")]
    pub fn cancel(self) -> bool {
        let Booked { charged, .. } = self.booked;
        charged.before == charged.after || self.store.unbook(self.key, self.debtor, charged)
    }
}

impl<Q: Sync + ?Sized> KeyReservation<'_, Q> {
    /// Sleeps by `timer` until the permits may be used. To drop the future is to keep the permits.
    pub async fn wait<T: Timer>(self, timer: T) {
        sleep_until(timer, |_| self.look()).await;
    }
}

impl<Q: ?Sized> fmt::Debug for KeyReservation<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyReservation")
            .field("permits", &self.permits)
            .field("at_nanos", &self.booked.at_nanos)
            .finish_non_exhaustive()
    }
}

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
    ) -> Result<KeyReservation<'a, Q>, AcquireError>
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
    ) -> Result<KeyReservation<'a, Q>, AcquireError>
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
        Ok(KeyReservation { store: self, key, permits, booked, debtor })
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
    fn now_nanos(&self) -> u64 {
        self.clock().now_nanos()
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
