//! Grants that are taken one after the other, and kept only if all of them are there.

use alloc::vec::Vec;
use core::mem;

use crate::first_panic::FirstPanic;

/// A grant that can be given back whole.
///
/// [`Receipt`](crate::settle::Receipt), [`Estimate`](crate::settle::Estimate), `KeyEstimate` and `Reservation` can; so can a
/// pair of a value and one of these. Implement it for grants of your own, to take them by an [`AllOrNone`].
pub trait Revocable {
    /// Gives the grant back, as far as its limiter can. Returns whether all of it came back.
    fn revoke(self) -> bool;
}

/// A grant beside a value that tells more about it, such as the index of its limiter.
impl<T, G: Revocable> Revocable for (T, G) {
    fn revoke(self) -> bool {
        self.1.revoke()
    }
}

/// Grants of several limiters that are kept together, or given back together.
///
/// [`add`](AllOrNone::add) takes one after the other, and [`keep`](AllOrNone::keep) keeps all of them. Until then they
/// are given back, the last first, if one is refused, and **if this is dropped**: by an early return, a panic, or a
/// future that is cancelled between two grants.
///
/// Each grant comes back as far as its limiter can take it back: a [`Receipt`](crate::settle::Receipt) if nothing has happened
/// to the limiter since, an [`Estimate`](crate::settle::Estimate) whatever has. What it cannot take back stays spent, so
/// no limit is ever exceeded. Between the first grant and the last, other callers may be denied because of permits that
/// come back.
///
/// Giving back blocks, and reads a clock, only as the grants do. If some of them panic, as a user's waker or clock may,
/// the others are given back nevertheless, and the first panic goes on then. (Without `std`, a second one aborts.)
///
/// # Examples
///
/// ```
/// use sluicegate::{Denied, KeyTable, Limiter, TokenBucket, quota};
/// use sluicegate::settle::AllOrNone;
///
/// let users = KeyTable::<str>::with_keys(quota!(10 / hour), 1_000)?;
/// let site = TokenBucket::new(quota!(15 / hour));
/// let take = |user, permits| {
///     let mut both = AllOrNone::new();
///     both.add(users.try_acquire_revocable(user, permits))?;
///     both.add(site.try_acquire_revocable(permits))?;
///     both.keep();
///     Ok::<(), Denied>(())
/// };
///
/// take("ada", 10)?;
/// // Too many for the site: they do not count for the user either.
/// assert!(take("bob", 6).is_err());
/// assert_eq!(users.peek("bob", 0)?.remaining(), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "to drop it is to give all grants back"]
pub struct AllOrNone<G: Revocable> {
    grants: Vec<G>,
}

impl<G: Revocable> AllOrNone<G> {
    /// Returns no grants yet. Does not allocate.
    pub const fn new() -> AllOrNone<G> {
        AllOrNone { grants: Vec::new() }
    }

    /// Returns no grants yet, with room for so many: adding them does not allocate any more. Where there is no memory for
    /// them, it is adding that allocates.
    pub fn with_capacity(grants: usize) -> AllOrNone<G> {
        let mut room = Vec::new();
        _ = room.try_reserve_exact(grants);
        AllOrNone { grants: room }
    }

    /// Adds the grant that was `taken`, and returns it; or gives all grants back if it was refused. Allocates if
    /// there is no room.
    ///
    /// # Errors
    ///
    /// The refusal. All grants before it have been given back.
    pub fn add<E>(&mut self, taken: Result<G, E>) -> Result<&G, E> {
        match taken {
            Ok(grant) => Ok(self.push(grant)),
            Err(refused) => {
                self.revoke_all();
                Err(refused)
            }
        }
    }

    /// Adds a grant, and returns it. Allocates if there is no room.
    pub fn push(&mut self, grant: G) -> &G {
        self.grants.push(grant);
        &self.grants[self.grants.len() - 1]
    }

    /// Returns the grants, in the order in which they were added.
    #[must_use]
    pub fn grants(&self) -> &[G] {
        &self.grants
    }

    /// Keeps all grants, and returns them in the order in which they were added. Dropping them does with each what
    /// its own type does: receipts and estimates stay charged. Does not allocate.
    #[expect(clippy::must_use_candidate, reason = "a receipt that is kept is of no more use")]
    pub fn keep(mut self) -> Vec<G> {
        mem::take(&mut self.grants)
    }

    /// Gives all grants back, the last first. Returns whether all of each came back. Does not allocate.
    #[expect(clippy::must_use_candidate, reason = "most callers can do no more about it")]
    pub fn give_back(mut self) -> bool {
        self.revoke_all()
    }

    /// Gives back the last first: a receipt gives back only what nothing has followed.
    fn revoke_all(&mut self) -> bool {
        let mut is_all = true;
        let mut panic = FirstPanic::default();
        while let Some(grant) = self.grants.pop() {
            is_all &= panic.call(|| grant.revoke()).unwrap_or(false);
        }
        panic.go_on();
        is_all
    }
}

/// Takes over grants, in the room of their vector, which [`keep`](AllOrNone::keep) returns.
impl<G: Revocable> From<Vec<G>> for AllOrNone<G> {
    fn from(grants: Vec<G>) -> AllOrNone<G> {
        AllOrNone { grants }
    }
}

impl<G: Revocable> Default for AllOrNone<G> {
    fn default() -> AllOrNone<G> {
        AllOrNone::new()
    }
}

impl<G: Revocable> Drop for AllOrNone<G> {
    fn drop(&mut self) {
        if !self.grants.is_empty() {
            // Without `std`: if one panics, this is dropped with the rest of them.
            let rest = AllOrNone { grants: mem::take(&mut self.grants) };
            rest.give_back();
        }
    }
}
