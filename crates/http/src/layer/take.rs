//! Permits that a request takes from a limit, whatever its limiter is.

use std::fmt;
use std::future::{Future, ready};
use std::hash::Hash;
use std::pin::Pin;

use http::StatusCode;
use http::request::Parts;
use sluicegate::settle::{Receipt, Revocable};
use sluicegate::share::ShareGrant;
use sluicegate::{Denied, Grant};
use sluicegate_flow::concurrency::InFlight;

use super::charge::{Charge, Settlement};
use super::refusal::RefusalReason;
use super::request_class::RequestClass;
use super::timer::SharedTimer;
use crate::client_address::ClientKey;
use crate::fields::PolicyState;

/// The key of a limit for all requests together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct All;

/// The forms of the keys by which stores are asked: the address of a client, or a text.
pub trait StoreKey:
    ToOwned<Owned: Hash + Eq + Send + Sync> + Hash + Eq + Send + Sync + 'static
{
}

impl StoreKey for ClientKey {}
impl StoreKey for str {}

/// The answer to a request that waits, or asks elsewhere.
pub(super) type Later<'a> =
    Pin<Box<dyn Future<Output = Result<Taken<'a>, RefusalReason>> + Send + 'a>>;

/// The waits of a layer.
#[derive(Clone, Copy, Debug)]
pub struct Waits<'t> {
    /// The timer that requests sleep on.
    pub(super) timer: &'t SharedTimer,
    /// False in a shadow: nobody waits for a turn there, but for decisions from elsewhere.
    pub(super) for_turns: bool,
}

/// The operations that a layer needs of a limiter, for keys of the form `Q`.
pub trait Take<Q: ?Sized>: Send + Sync + 'static {
    /// Takes all of `permits` or none.
    fn try_take(&self, key: &Q, permits: u64) -> Result<Taken<'_>, RefusalReason>;

    /// Returns true if [`try_take`](Take::try_take) leaves nothing to do when the response is known: what it
    /// takes is spent.
    fn is_spent_at_once(&self) -> bool {
        false
    }

    /// Takes permits in the same way, for a response that tells nothing of them. Only for limits that are
    /// [spent at once](Take::is_spent_at_once).
    fn try_spend(&self, key: &Q, permits: u64) -> Result<(), RefusalReason> {
        self.try_take(key, permits).map(drop)
    }

    /// Returns the permits that a request takes if its limit has no cost of its own.
    fn cost_of(&self, key: &Q, request: &Parts) -> Result<u64, RefusalReason> {
        let _ = (key, request);
        Ok(1)
    }

    /// Takes permits that may have to be given back at once, as another limit refuses.
    fn try_take_revocable(&self, key: &Q, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        self.try_take(key, permits)
    }

    /// Returns the state after such a request, or its refusal. Takes nothing.
    fn look(&self, key: &Q, permits: u64) -> Result<PolicyState<'static>, RefusalReason>;

    /// Returns the class of requests with this key, of a limit that refuses some classes before others.
    fn class(&self, key: &Q) -> Option<RequestClass> {
        let _ = key;
        None
    }

    /// Returns its turn among the limits of a layer.
    fn turn(&self) -> Turn {
        Turn::Rate
    }

    /// Returns true if a request that is refused so may wait.
    fn may_wait(&self, refused: &RefusalReason) -> bool {
        let _ = refused;
        false
    }

    /// Returns true if responses tell the state of the limit, although it has no policy of its own.
    fn is_told(&self) -> bool {
        true
    }

    /// Notes that another limit of the layer, which not all requests share, has refused a request of this key.
    fn note_refusal(&self, key: &Q) {
        let _ = key;
    }

    /// Counts a request that a [look](Take::look) has refused, so that it was not put to the limiter itself: as if it
    /// had been.
    fn note_refused_look(&self, key: &Q, permits: u64, refused: &RefusalReason) {
        let _ = (key, permits, refused);
    }

    /// Counts a request that [may wait](Take::may_wait) and does not, as nobody waits in a shadow.
    fn note_unwaited(&self, key: &Q, permits: u64, refused: &RefusalReason) {
        let _ = (key, permits, refused);
    }

    /// Returns what is to be done when the service has answered a request that was admitted.
    fn on_answer(&self, key: &Q, request: &Parts) -> Option<OnAnswer> {
        let _ = (key, request);
        None
    }

    /// Takes the permits, and waits for them if need be. Gives them back if it is dropped.
    fn take_later<'a>(&'a self, key: &'a Q, permits: u64, waits: Waits<'a>) -> Later<'a> {
        let _ = waits;
        Box::pin(ready(self.try_take(key, permits)))
    }
}

/// The order in which a request takes from several limits, when it may have to wait: first what can be
/// given back exactly, and what it waits for in line last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// A place in flight, which is given back exactly.
    Place,
    /// Permits of a rate.
    Rate,
    /// Permits of a rate that another process grants.
    Elsewhere,
    /// Permits of a rate that the request may wait for.
    Line,
}

/// Permits that were taken.
#[derive(Debug)]
pub struct Taken<'l> {
    pub(super) standing: Standing,
    pub(super) hold: Hold<'l>,
}

/// The state of a limit after a request has taken from it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Standing {
    /// The state that a grant tells: worked out only for responses that have fields.
    Granted(Grant),
    /// The same, of a tenant's share or lent.
    Shared(ShareGrant),
    Told(PolicyState<'static>),
}

impl Standing {
    pub(super) fn state(&self) -> PolicyState<'static> {
        match self {
            Standing::Granted(grant) => granted(grant),
            Standing::Shared(grant) => granted(&grant.grant()),
            Standing::Told(state) => *state,
        }
    }
}

/// The way in which permits come back.
#[derive(Debug)]
pub(super) enum Hold<'l> {
    /// Not at all.
    Spent,
    /// By a receipt, as long as nothing else has happened to the limiter.
    Receipt(Receipt<'l>),
    /// By the end of it: it is kept until the response is made.
    Kept(Kept),
}

/// Permits that are kept until the response is made, or has ended.
#[derive(Debug)]
pub(super) enum Kept {
    /// A place in flight, which is free again when this is dropped.
    Place {
        #[expect(dead_code, reason = "only dropped")]
        guard: InFlight<'static>,
    },
    /// An estimate that is settled.
    Charge(Charge, Settlement),
    /// Nothing, but the answer is looked at.
    Answer(OnAnswer),
}

/// A function of the status of an answer, which is called once. It is not called if the service fails, or the
/// client goes away before there is an answer.
pub struct OnAnswer(pub(super) Box<dyn FnOnce(StatusCode) + Send>);

impl fmt::Debug for OnAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnAnswer")
    }
}

impl<'l> Taken<'l> {
    /// Permits of a limit that tells nothing.
    pub(super) const UNKNOWN: Taken<'l> =
        Taken { standing: Standing::Told(PolicyState::UNKNOWN), hold: Hold::Spent };

    /// Permits that nothing gives back.
    pub(super) fn spent(grant: &Grant) -> Taken<'l> {
        Taken { standing: Standing::Granted(*grant), hold: Hold::Spent }
    }

    /// Permits of a tenant, that nothing gives back.
    pub(super) fn shared(grant: ShareGrant) -> Taken<'l> {
        Taken { standing: Standing::Shared(grant), hold: Hold::Spent }
    }

    /// Permits that a receipt may give back.
    pub(super) fn revocable(receipt: Receipt<'l>) -> Taken<'l> {
        Taken { standing: Standing::Granted(receipt.grant()), hold: Hold::Receipt(receipt) }
    }

    /// Nothing, by a limit that only says yes or no.
    pub(super) fn free(state: PolicyState<'static>) -> Taken<'l> {
        Taken { standing: Standing::Told(state), hold: Hold::Spent }
    }

    /// Permits that are kept until the response is made.
    pub(super) fn kept(standing: Standing, kept: Kept) -> Taken<'l> {
        Taken { standing, hold: Hold::Kept(kept) }
    }
}

impl Revocable for Taken<'_> {
    fn revoke(self) -> bool {
        match self.hold {
            Hold::Spent => false,
            Hold::Receipt(receipt) => receipt.revoke(),
            Hold::Kept(Kept::Place { .. } | Kept::Answer(_)) => true,
            Hold::Kept(Kept::Charge(charge, _)) => {
                charge.settle(0);
                true
            }
        }
    }
}

/// Returns the state after a grant, with the limit that the limiter answers with.
fn granted(grant: &Grant) -> PolicyState<'static> {
    PolicyState { limit: Some(grant.limit()), ..PolicyState::granted(grant) }
}

/// Puts a request to a limiter that has refused it by a look, so that the limiter counts it. Should it be granted by
/// now, everything is given back.
pub(super) fn ask_after_look<Q: ?Sized>(limiter: &(impl Take<Q> + ?Sized), key: &Q, permits: u64) {
    if let Ok(taken) = limiter.try_take_revocable(key, permits) {
        taken.revoke();
    }
}

/// Returns the answer to a look at a limiter.
pub(super) fn looked(answer: Result<Grant, Denied>) -> Result<PolicyState<'static>, RefusalReason> {
    answer.map(|grant| granted(&grant)).map_err(RefusalReason::Denied)
}
