//! A request for permits of one limit.

use sluicegate::{Denied, Grant, KeyedLimiter, Limiter, Receipt};

use super::request_key::KeyText;
use super::settled::{Charge, Charging};
use crate::client_address::ClientKey;

/// A request for permits: a limiter, the key, and their number.
pub(super) struct Claim<'l, 'r> {
    pub(super) place: Place<'l, 'r>,
    pub(super) permits: u64,
    /// Charges in the place of the limiter, if the request is settled.
    pub(super) charging: Option<&'l Charging>,
}

pub(super) enum Place<'l, 'r> {
    Limiter(&'l dyn Limiter),
    Client(&'l dyn KeyedLimiter<ClientKey>, ClientKey),
    Text(&'l dyn KeyedLimiter<str>, KeyText<'r>),
}

/// Permits that were taken.
pub(super) enum Taken<'l> {
    Spent(Grant),
    Revocable(Receipt<'l>),
    Charged(Charge),
}

impl Taken<'_> {
    pub(super) fn grant(&self) -> Grant {
        match self {
            Taken::Spent(grant) => *grant,
            Taken::Revocable(receipt) => receipt.grant(),
            Taken::Charged(charge) => charge.grant(),
        }
    }

    /// Gives everything back, as far as the limiter can. What it cannot take back stays spent.
    pub(super) fn give_back(self) {
        match self {
            Taken::Spent(_) => {}
            Taken::Revocable(receipt) => _ = receipt.give_back(),
            Taken::Charged(charge) => charge.settle(0),
        }
    }

    /// Returns what is to be settled.
    pub(super) fn into_charge(self) -> Option<Charge> {
        match self {
            Taken::Charged(charge) => Some(charge),
            Taken::Spent(_) | Taken::Revocable(_) => None,
        }
    }
}

impl<'l> Claim<'l, '_> {
    /// Takes the permits of the only limit, which nobody will give back.
    pub(super) fn take(&self) -> Result<Taken<'l>, Denied> {
        if let Some(charged) = self.charge() {
            return charged;
        }
        let grant = match &self.place {
            Place::Limiter(limiter) => limiter.try_acquire(self.permits),
            Place::Client(store, key) => store.try_acquire(key, self.permits),
            Place::Text(store, key) => store.try_acquire(key.as_str(), self.permits),
        };
        grant.map(Taken::Spent)
    }

    /// Takes the permits of one limit of several, which may have to be given back.
    pub(super) fn take_revocable(&self) -> Result<Taken<'l>, Denied> {
        if let Some(charged) = self.charge() {
            return charged;
        }
        let receipt = match self.place {
            Place::Limiter(limiter) => limiter.try_acquire_revocable(self.permits),
            Place::Client(store, ref key) => store.try_acquire_revocable(key, self.permits),
            Place::Text(store, ref key) => store.try_acquire_revocable(key.as_str(), self.permits),
        };
        receipt.map(Taken::Revocable)
    }

    /// Charges a request that is settled; `None` if it is not.
    fn charge(&self) -> Option<Result<Taken<'l>, Denied>> {
        let charge = match (self.charging?, &self.place) {
            (Charging::All(charge), _) => charge(self.permits),
            (Charging::Client(store), Place::Client(_, key)) => store.try_charge(key, self.permits),
            (Charging::Text(store), Place::Text(_, key)) => {
                store.try_charge(key.as_str(), self.permits)
            }
            // Each is made together with its place.
            _ => return None,
        };
        Some(charge.map(Taken::Charged))
    }

    pub(super) fn peek(&self) -> Result<Grant, Denied> {
        self.peek_for(self.permits)
    }

    /// Returns the state of the limiter, as an answer that takes nothing.
    pub(super) fn look(&self) -> Result<Grant, Denied> {
        self.peek_for(0)
    }

    fn peek_for(&self, permits: u64) -> Result<Grant, Denied> {
        match &self.place {
            Place::Limiter(limiter) => limiter.peek(permits),
            Place::Client(store, key) => store.peek(key, permits),
            Place::Text(store, key) => store.peek(key.as_str(), permits),
        }
    }
}
