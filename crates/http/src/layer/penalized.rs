//! Limits that refuse a client for a time after a number of offences.

use std::borrow::Borrow;
use std::hash::BuildHasher;
use std::sync::Arc;

use http::StatusCode;
use http::response::Parts;
use sluicegate::keyed::{Observe, Penalties};
use sluicegate::penalty::PenaltyBox;
use sluicegate::{Clock, Grant, Keyed};

use super::charge::{Charge, Settlement};
use super::refusal::RefusalReason;
use super::response_end::ResponseEnd;
use super::take::{All, Kept, Standing, StoreKey, Take, Taken, ask_after_look};
use crate::fields::PolicyState;

/// A limit that refuses a client for a time, once it has offended a number of times within a period: the
/// idea of Fail2ban.
///
/// Takes an `Arc` of a [`Keyed`] of [`Penalties`], or of a [`PenaltyBox`] for all requests together. The
/// program can keep another `Arc` of it, to report offences of its own, to list those who are penalized, to
/// pardon them, and to change the rule.
///
/// | an offence is | by |
/// |---|---|
/// | a response with one of some statuses | [`by_status`](Penalized::by_status) |
/// | what a function of the status and the fields of the response counts | [`by_head`](Penalized::by_head) |
/// | the same when the body has ended: with the bytes and the trailers, so for gRPC | [`by_response`](Penalized::by_response) |
/// | a request that another limit of the same layer refuses | [`by_refusals`](Penalized::by_refusals), or besides the others [`and_refusals`](Penalized::and_refusals) |
///
/// * Every request passes until the penalty begins, and it is charged nothing. A request that is penalized
///   does not reach the service, so its offences are not counted: the penalty has the length of the rule.
/// * Requests that had passed before the penalty began go on. What they do wrong is not counted any more.
/// * A refusal by a limit that all requests share is no offence, since others have used that up, too. Nor is
///   one for a fault of the server, such as a store without space.
/// * If the service fails, or the client goes away before the service responds, no offence is counted.
/// * A store without space for another key does not note the offences of new ones, and never frees one that
///   is penalized: see [`Penalties`].
/// * [`cost`](super::Limit::cost) has no effect, except that a request of 0 permits always passes.
///
/// Fields do not tell this limit, unless it has a [`policy`](super::Limit::policy); a refusal has the status
/// 429, and `Retry-After`. [`respond`](super::RateLimitLayer::respond) can answer another one, such as 403.
///
/// Allocates for each request whose response is looked at; by refusals alone, nothing.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use http::StatusCode;
/// use sluicegate::{KeyTable, Keyed, quota, rate};
/// use sluicegate::keyed::Penalties;
/// use sluicegate::penalty::PenaltyRule;
/// use sluicegate_http::client_address::ClientKey;
/// use sluicegate_http::layer::{Limit, Penalized, RateLimitLayer};
///
/// // Five failed log-ins, or refusals, in ten minutes: an hour.
/// let rule = PenaltyRule::new(rate!(5 / 10 minutes), Duration::from_secs(3_600))?;
/// let offenders = Keyed::<ClientKey, _>::builder(Penalties::new(rule)).max_keys(100_000).build()?;
/// let offenders = Arc::new(offenders);
/// let statuses = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
///
/// let clients = KeyTable::with_keys(quota!(100 / second, burst 20), 100_000)?;
/// let layer = RateLimitLayer::all_of([
///     Limit::per_client(Penalized::by_status(Arc::clone(&offenders), statuses).and_refusals()),
///     Limit::per_client(clients),
/// ])?;
///
/// // Elsewhere in the program:
/// for (client, left) in offenders.penalized() {
///     println!("{client:?}: {left:?}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Penalized<S> {
    store: S,
    /// The offences of a response; `None` if they are not looked at.
    offences: Option<Settlement>,
    counts_refusals: bool,
}

impl<S> Penalized<S> {
    /// Counts an offence for each response with one of these statuses.
    #[must_use]
    pub fn by_status(store: S, statuses: impl IntoIterator<Item = StatusCode>) -> Penalized<S> {
        let statuses: Box<[StatusCode]> = statuses.into_iter().collect();
        Penalized::by_head(store, move |head| u64::from(statuses.contains(&head.status)))
    }

    /// Counts as many offences as a function finds in the status and the fields of a response.
    #[must_use]
    pub fn by_head(
        store: S,
        offences: impl Fn(&Parts) -> u64 + Send + Sync + 'static,
    ) -> Penalized<S> {
        let offences = Settlement::Head(Arc::new(move |head| Some(offences(head))));
        Penalized { store, offences: Some(offences), counts_refusals: false }
    }

    /// Counts as many offences as a function finds in a response that has ended. The status of gRPC, for
    /// instance, is in the trailers.
    #[must_use]
    pub fn by_response(
        store: S,
        offences: impl Fn(&ResponseEnd<'_>) -> u64 + Send + Sync + 'static,
    ) -> Penalized<S> {
        let offences = Settlement::End(Arc::new(move |end| Some(offences(end))));
        Penalized { store, offences: Some(offences), counts_refusals: false }
    }

    /// Counts an offence for each request that another limit of the layer refuses, if that is not a limit
    /// of all requests together.
    #[must_use]
    pub fn by_refusals(store: S) -> Penalized<S> {
        Penalized { store, offences: None, counts_refusals: true }
    }

    /// Counts these offences besides.
    #[must_use]
    pub fn and_refusals(self) -> Penalized<S> {
        Penalized { counts_refusals: true, ..self }
    }

    /// Returns permits of which nothing is taken, with the offences that are counted later by `offend`.
    fn taken<'l, F>(&self, grant: Grant, offend: impl FnOnce() -> F) -> Taken<'l>
    where
        F: FnOnce(u64) + Send + 'static,
    {
        match &self.offences {
            None => Taken::free(PolicyState::UNKNOWN),
            Some(offences) => {
                let charge = Charge::new(grant, offend());
                Taken::kept(
                    Standing::Told(PolicyState::UNKNOWN),
                    Kept::Charge(charge, offences.clone()),
                )
            }
        }
    }
}

/// Returns the refusal of a request while a penalty runs.
fn refused(denied: sluicegate::Denied) -> RefusalReason {
    RefusalReason::Penalized { retry_after: denied.retry_after().unwrap_or_default() }
}

impl<C: Clock + Send + Sync + 'static> Take<All> for Penalized<Arc<PenaltyBox<C>>> {
    fn try_take(&self, _: &All, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        let grant = self.store.try_acquire(permits).map_err(refused)?;
        Ok(self.taken(grant, || {
            let store = Arc::clone(&self.store);
            move |offences| _ = store.offend(offences)
        }))
    }

    fn look(&self, _: &All, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        self.store.peek(permits).map(|_| PolicyState::UNKNOWN).map_err(refused)
    }

    fn is_spent_at_once(&self) -> bool {
        self.offences.is_none()
    }

    fn is_told(&self) -> bool {
        false
    }

    fn note_refusal(&self, _: &All) {
        if self.counts_refusals {
            self.store.offend(1);
        }
    }
}

impl<Q, C, S, O> Take<Q> for Penalized<Arc<Keyed<Q::Owned, Penalties<C>, S, O>>>
where
    Q: StoreKey + ?Sized,
    C: Clock + Send + Sync + 'static,
    S: BuildHasher + Send + Sync + 'static,
    O: Observe<Q> + Send + Sync + 'static,
{
    fn try_take(&self, key: &Q, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        let grant = self.store.try_acquire(key, permits).map_err(refused)?;
        Ok(self.taken(grant, || {
            let (store, key) = (Arc::clone(&self.store), key.to_owned());
            // Without space for the key, nothing is noted.
            move |offences| _ = store.offend::<Q>(key.borrow(), offences)
        }))
    }

    fn look(&self, key: &Q, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        self.store.peek(key, permits).map(|_| PolicyState::UNKNOWN).map_err(refused)
    }

    fn is_spent_at_once(&self) -> bool {
        self.offences.is_none()
    }

    fn is_told(&self) -> bool {
        false
    }

    fn note_refused_look(&self, key: &Q, permits: u64, _: &RefusalReason) {
        ask_after_look(self, key, permits);
    }

    fn note_refusal(&self, key: &Q) {
        if self.counts_refusals {
            // The same.
            let _ = self.store.offend(key, 1);
        }
    }
}
