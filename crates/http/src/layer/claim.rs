//! A request for permits of one limit.

use http::Extensions;
use http::request::Parts;

use super::limit::{Limit, Target};
use super::peer;
use super::refusal::RefusalReason;
use super::request_class::RequestClass;
use super::request_key::{AddressText, KeyText, RequestKey};
use super::take::{All, OnAnswer, Standing, Take, Taken, Turn, Waits};
use crate::client_address::{ClientAddress, ClientKey};
use crate::fields::PolicyState;

/// A request for permits: a limit, the limiter with the key, and the number of permits.
pub(super) struct Claim<'l, 'r> {
    /// The index of the limit.
    pub(super) which: usize,
    pub(super) limit: &'l Limit,
    pub(super) place: Place<'l, 'r>,
    pub(super) permits: u64,
}

pub(super) enum Place<'l, 'r> {
    All(&'l dyn Take<All>),
    Client(&'l dyn Take<ClientKey>, ClientKey),
    Text(&'l dyn Take<str>, KeyText<'r>),
}

/// Calls a method of the limiter with the key.
macro_rules! at {
    ($place:expr, $limiter:ident, $key:ident => $call:expr) => {
        match $place {
            Place::All($limiter) => {
                let $key = &All;
                $call
            }
            Place::Client($limiter, $key) => $call,
            Place::Text($limiter, key) => {
                let $key = key.as_str();
                $call
            }
        }
    };
}

impl Place<'_, '_> {
    /// Returns the permits that a request takes if its limit has no cost of its own.
    pub(super) fn cost_of(&self, request: &Parts) -> Result<u64, RefusalReason> {
        at!(self, limiter, key => limiter.cost_of(key, request))
    }
}

impl<'l, 'r> Claim<'l, 'r> {
    /// Returns the limiter with the key and the cost of a request, or `None` if it is not to be limited.
    pub(super) fn of(
        limit: &'l Limit,
        which: usize,
        parts: &'r Parts,
    ) -> Result<Option<Claim<'l, 'r>>, RefusalReason> {
        let place = match &limit.target {
            Target::All(limiter) => Place::All(&**limiter),
            Target::Client(store, addresses) => match client(addresses, parts)? {
                ClientKey::Unlimited => return Ok(None),
                key => Place::Client(&**store, key),
            },
            Target::ClientText(store, addresses) => match client_text(addresses, parts)? {
                None => return Ok(None),
                Some(client) => Place::Text(&**store, client),
            },
            Target::KeyOrClient(store, header, addresses) => match parts.headers.get(header) {
                Some(value) => {
                    let key = format!("key {}", String::from_utf8_lossy(value.as_bytes()));
                    Place::Text(&**store, KeyText::Given(key.into()))
                }
                None => match client_text(addresses, parts)? {
                    None => return Ok(None),
                    Some(client) => Place::Text(&**store, client),
                },
            },
            Target::Key(store, key) => match key(parts) {
                RequestKey::Key(key) => Place::Text(&**store, KeyText::Given(key)),
                RequestKey::Unlimited => return Ok(None),
                RequestKey::Missing => return Err(RefusalReason::MissingKey),
            },
        };
        let permits = match &limit.cost {
            Some(cost) => cost(parts),
            None => place.cost_of(parts)?,
        };
        Ok(Some(Claim { which, limit, place, permits }))
    }
}

impl<'l> Claim<'l, '_> {
    /// Takes the permits of the only limit, which nobody will give back.
    pub(super) fn take(&self) -> Result<Taken<'l>, RefusalReason> {
        at!(&self.place, limiter, key => limiter.try_take(key, self.permits))
    }

    /// Takes the permits of one limit of several, which may have to be given back.
    pub(super) fn take_revocable(&self) -> Result<Taken<'l>, RefusalReason> {
        at!(&self.place, limiter, key => limiter.try_take_revocable(key, self.permits))
    }

    /// Takes the permits, and waits for them if need be.
    pub(super) async fn take_later<'c>(
        &'c self,
        waits: Waits<'c>,
    ) -> Result<Taken<'c>, RefusalReason> {
        at!(&self.place, limiter, key => limiter.take_later(key, self.permits, waits)).await
    }

    /// Returns true if a request that is refused so may wait.
    pub(super) fn may_wait(&self, refused: &RefusalReason) -> bool {
        at!(&self.place, limiter, _key => limiter.may_wait(refused))
    }

    /// Returns true if the limit can only be asked by [`take_later`](Claim::take_later).
    pub(super) fn asks_elsewhere(&self) -> bool {
        self.turn() == Turn::Elsewhere
    }

    /// Notes that another limit has refused the request.
    pub(super) fn note_refusal(&self) {
        at!(&self.place, limiter, key => limiter.note_refusal(key));
    }

    /// Counts the request, which a look has refused.
    pub(super) fn note_refused_look(&self, refused: &RefusalReason) {
        let permits = self.permits;
        at!(&self.place, limiter, key => limiter.note_refused_look(key, permits, refused));
    }

    /// Counts the request, which is refused and does not wait, if it might have waited.
    pub(super) fn note_unwaited(&self, refused: &RefusalReason) {
        let permits = self.permits;
        if self.may_wait(refused) {
            at!(&self.place, limiter, key => limiter.note_unwaited(key, permits, refused));
        }
    }

    /// Returns the class of the request.
    pub(super) fn class(&self) -> Option<RequestClass> {
        at!(&self.place, limiter, key => limiter.class(key))
    }

    /// Returns the class of the request with the index of the limit, if clients are told it.
    pub(super) fn class_for_clients(&self) -> Option<(usize, RequestClass)> {
        if self.limit.tells_class { self.class().map(|class| (self.which, class)) } else { None }
    }

    /// Adds to the extensions by which the service learns the class of the request, and the source of a tenant's permits.
    pub(super) fn tell(&self, standing: &Standing, told: &mut Option<Extensions>) {
        if let Some(class) = self.class() {
            told.get_or_insert_default().insert(class);
        }
        if let Standing::Shared(grant) = standing {
            told.get_or_insert_default().insert(*grant);
        }
    }

    /// Returns what is to be done when the request is answered.
    pub(super) fn on_answer(&self, request: &Parts) -> Option<OnAnswer> {
        at!(&self.place, limiter, key => limiter.on_answer(key, request))
    }

    pub(super) fn turn(&self) -> Turn {
        at!(&self.place, limiter, _key => limiter.turn())
    }

    /// Returns the answer that the limit would give now. Takes nothing.
    pub(super) fn peek(&self) -> Result<PolicyState<'static>, RefusalReason> {
        self.peek_for(self.permits)
    }

    fn peek_for(&self, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        let state = at!(&self.place, limiter, key => limiter.look(key, permits))?;
        Ok(self.told(state))
    }

    /// Returns the state of the limit as it stands; `None` if it tells nothing.
    pub(super) fn standing(&self) -> Option<PolicyState<'static>> {
        self.peek_for(0).ok()
    }

    /// Returns the state of the limit after a refusal.
    pub(super) fn refused(&self, reason: &RefusalReason) -> PolicyState<'static> {
        let standing = || self.peek_for(0).ok();
        self.told(reason.state(standing))
    }

    /// Returns a state as fields tell it: with the quota of the policy, if there is one.
    pub(super) fn told(&self, state: PolicyState<'static>) -> PolicyState<'static> {
        let limit = if self.limit.has_policy() { None } else { state.limit };
        PolicyState { which: self.which, limit, ..state }
    }
}

/// Returns the key of a client.
fn client(addresses: &ClientAddress, request: &Parts) -> Result<ClientKey, RefusalReason> {
    match addresses.key(peer::of(&request.extensions), &request.headers) {
        ClientKey::Refused(why) => Err(RefusalReason::UnknownClient(why)),
        key => Ok(key),
    }
}

/// Returns the key of a client as text; `None` if it is not limited.
fn client_text(
    addresses: &ClientAddress,
    request: &Parts,
) -> Result<Option<KeyText<'static>>, RefusalReason> {
    Ok(match client(addresses, request)? {
        ClientKey::Unlimited => None,
        ClientKey::Address(address) => {
            Some(KeyText::Address(AddressText::new(address, addresses.bits_of(address))))
        }
        _ => Some(KeyText::Shared),
    })
}
