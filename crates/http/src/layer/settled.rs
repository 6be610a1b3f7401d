//! Limits whose requests are settled when their responses are known.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use http::response::Parts;
use sluicegate::keyed::{AsKey, Each, Observe};
use sluicegate::settle::{Estimate, Settle};
use sluicegate::wait::SettleInLine;
use sluicegate::{Clock, Denied, Keyed, KeyedLimiter};

use super::charge::{Charge, Settlement};
use super::refusal::RefusalReason;
use super::response_end::ResponseEnd;
use super::take::{
    All, Kept, Later, Standing, StoreKey, Take, Taken, Turn, Waits, ask_after_look, looked,
};
use super::wait_up_to::{WaitUpTo, comes_later};
use crate::fields::PolicyState;

/// Stores whose requests can be settled by key: an `Arc` of a [`Keyed`] of [`Each`] of `Arc`s of a limiter
/// with [`Settle`].
pub trait SettleByKey<Q: ?Sized>: KeyedLimiter<Q> {
    /// Takes all of `permits` for the key, or none, for a request that is settled later. May allocate.
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn try_charge(&self, key: &Q, permits: u64) -> Result<Charge, Denied>;
}

impl<K, L, F, C, S, O, Q> SettleByKey<Q> for Arc<Keyed<K, Each<Arc<L>, F, C>, S, O>>
where
    K: Hash + Eq + Send + Sync + 'static,
    L: Settle + 'static,
    F: Fn(&K) -> Arc<L> + Send + Sync + 'static,
    C: Clock + Send + Sync + 'static,
    S: BuildHasher + Send + Sync + 'static,
    O: Observe<Q> + Send + Sync + 'static,
    Q: AsKey<K> + ToOwned<Owned: Send + Sync> + Sync + ?Sized + 'static,
    Self: KeyedLimiter<Q>,
{
    fn try_charge(&self, key: &Q, permits: u64) -> Result<Charge, Denied> {
        let estimate = self.try_acquire_settleable_owned(key, permits)?;
        Ok(Charge::new(estimate.grant(), move |used| {
            // What it cannot take is lost.
            let _ = estimate.settle(used);
        }))
    }
}

/// A limiter whose requests are settled when their responses are known.
///
/// The permits that a request takes at first, its [cost](super::Limit::cost), are an estimate. A function
/// then tells what it has used: `Some(0)` gives everything back, and `None` keeps the estimate. The estimate
/// is also kept if the service fails, or if the client goes away before the service responds.
///
/// | settled | by | when |
/// |---|---|---|
/// | [`by_head`](Settled::by_head) | the status and the fields of the response | the service has responded |
/// | [`by_response`](Settled::by_response) | these, the bytes of the body, and the trailers | the body has ended |
/// | [`by_bytes`](Settled::by_bytes) | the bytes of the body | the body has ended |
/// | [`by_number`](Settled::by_number) | a field of the head or of the trailers, such as a count of tokens | the body has ended |
/// | [`failures_only`](Settled::failures_only) | the status: what succeeds is free | the service has responded |
///
/// A body that is dropped halfway has ended: it is settled by the bytes so far. So has one that nobody reads.
///
/// Takes an `Arc` of a limiter with [`Settle`], and for keys a store with [`SettleByKey`]. An `Arc` of a
/// limiter with [`SettleInLine`] can be waited for besides: `Settled::by_head(WaitUpTo::new(queued, longest), used)`. Then a
/// client that goes away gives everything back exactly, also permits that were granted in the very moment
/// before.
///
/// Other requests can take at once the permits that are given back. Use beyond the estimate is taken
/// as far as the limiter allows a debt. [`Settle`] says which limiters can do that. Fields tell what was
/// left before the settlement.
///
/// Allocates for each request. A function that panics is called where the body is dropped, so it should not.
///
/// # Examples
///
/// Tokens of a language model: 2,000 are taken at first, and in the end as many as the service tells.
///
/// ```
/// use std::sync::Arc;
/// use sluicegate::quota;
/// use sluicegate::bucket::SettleableBucket;
/// use sluicegate_http::layer::{Limit, Settled};
///
/// let tokens = Arc::new(SettleableBucket::new(quota!(100_000 / minute)));
/// let limit = Limit::of_all(Settled::by_number(tokens, "x-tokens-used")).cost(|_| 2_000);
/// ```
///
/// Five failed log-ins an hour for each client; those that succeed do not count.
///
/// ```
/// use std::sync::Arc;
/// use sluicegate::{FixedWindow, Keyed, rate};
/// use sluicegate::keyed::Each;
/// use sluicegate_http::client_address::ClientKey;
/// use sluicegate_http::layer::{Limit, Settled};
///
/// let window = |_: &ClientKey| {
///     Arc::new(FixedWindow::new(rate!(5 / hour)).expect("the limit is in range"))
/// };
/// let store = Keyed::<ClientKey, _>::with(Each::new(window));
/// let limit = Limit::per_client(Settled::failures_only(Arc::new(store)));
/// ```
#[derive(Clone, Debug)]
pub struct Settled<L> {
    limiter: L,
    settlement: Settlement,
}

impl<L> Settled<L> {
    /// Settles when the service has responded, by the status and the fields of the response.
    #[must_use]
    pub fn by_head(
        limiter: L,
        used: impl Fn(&Parts) -> Option<u64> + Send + Sync + 'static,
    ) -> Settled<L> {
        Settled { limiter, settlement: Settlement::Head(Arc::new(used)) }
    }

    /// Settles when the body of the response has ended, by all that is known of it then.
    #[must_use]
    pub fn by_response(
        limiter: L,
        used: impl Fn(&ResponseEnd<'_>) -> Option<u64> + Send + Sync + 'static,
    ) -> Settled<L> {
        Settled { limiter, settlement: Settlement::End(Arc::new(used)) }
    }

    /// Settles by the bytes of the response's body. A permit is a byte.
    #[must_use]
    pub fn by_bytes(limiter: L) -> Settled<L> {
        Settled::by_response(limiter, |response| Some(response.bytes))
    }

    /// Settles by a number that the service tells in a field of the trailers, or of the head. Without one,
    /// keeps the estimate.
    #[must_use]
    pub fn by_number(limiter: L, field: impl Into<String>) -> Settled<L> {
        let field = field.into();
        Settled::by_response(limiter, move |response| response.number(&field))
    }

    /// Gives everything back if the status of the response is a success (2xx): only failures count.
    #[must_use]
    pub fn failures_only(limiter: L) -> Settled<L> {
        Settled::by_head(limiter, |head| head.status.is_success().then_some(0))
    }

    fn taken<'l>(&self, charge: Charge) -> Taken<'l> {
        Taken::kept(
            Standing::Granted(charge.grant()),
            Kept::Charge(charge, self.settlement.clone()),
        )
    }
}

/// Returns the charge of an estimate.
fn charge(estimate: Estimate<'static>) -> Charge {
    Charge::new(estimate.grant(), move |used| {
        // What it cannot take is lost.
        let _ = estimate.settle(used);
    })
}

impl<L: Settle + 'static> Take<All> for Settled<Arc<L>> {
    fn try_take(&self, _: &All, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        let estimate = self.limiter.try_acquire_settleable_owned(permits);
        Ok(self.taken(charge(estimate.map_err(RefusalReason::Denied)?)))
    }

    fn look(&self, _: &All, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        looked(self.limiter.peek(permits))
    }

    fn note_refused_look(&self, key: &All, permits: u64, _: &RefusalReason) {
        ask_after_look(self, key, permits);
    }
}

impl<L: SettleInLine + 'static> Take<All> for Settled<WaitUpTo<Arc<L>>> {
    fn try_take(&self, _: &All, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        let estimate = self.limiter.limiter.try_acquire_settleable_owned(permits);
        Ok(self.taken(charge(estimate.map_err(RefusalReason::Denied)?)))
    }

    fn look(&self, key: &All, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        self.limiter.look(key, permits)
    }

    fn note_refused_look(&self, key: &All, permits: u64, _: &RefusalReason) {
        ask_after_look(self, key, permits);
    }

    fn turn(&self) -> Turn {
        Turn::Line
    }

    fn may_wait(&self, refused: &RefusalReason) -> bool {
        comes_later(refused)
    }

    fn take_later<'a>(&'a self, _: &'a All, permits: u64, waits: Waits<'a>) -> Later<'a> {
        let WaitUpTo { limiter, longest } = &self.limiter;
        let waiting = limiter.acquire_settleable_owned(permits).timeout(*longest);
        let waiting = waiting.timer(waits.timer.clone());
        Box::pin(async {
            let estimate = waiting.await.map_err(RefusalReason::Line)?;
            Ok(self.taken(charge(estimate)))
        })
    }
}

impl<Q: StoreKey + ?Sized, S: SettleByKey<Q> + 'static> Take<Q> for Settled<S> {
    fn try_take(&self, key: &Q, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        let charge = self.limiter.try_charge(key, permits);
        Ok(self.taken(charge.map_err(RefusalReason::Denied)?))
    }

    fn look(&self, key: &Q, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        looked(self.limiter.peek(key, permits))
    }

    fn note_refused_look(&self, key: &Q, permits: u64, _: &RefusalReason) {
        ask_after_look(self, key, permits);
    }
}
