//! Limits of the requests in flight at a time.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use sluicegate::Clock;
use sluicegate_flow::concurrency::{
    Adaptive, ConcurrencyLimit, InFlight, InFlightError, KeyedConcurrency, LimitAlgorithm, Outcome,
    TimedInFlight,
};

use super::charge::{Charge, Settlement};
use super::refusal::RefusalReason;
use super::response_end::{BodyEnd, NoResponse, ResponseEnd};
use super::take::{All, Kept, Later, Standing, StoreKey, Take, Taken, Turn, Waits};
use crate::fields::PolicyState;

/// A limit of the requests in flight: an `Arc` of a [`ConcurrencyLimit`], of an [`Adaptive`] one that nobody has
/// to choose, or for keys one of a [`KeyedConcurrency`].
///
/// A request holds its permits until the body of its response has ended or is dropped, whichever is first;
/// and if there is no response, until the service has failed or the client has gone away. By default it is
/// refused if there are too few; with [`wait_up_to`](Concurrency::wait_up_to) it waits in the limit's fair
/// line.
///
/// A limit of all requests is a limit of the server: it refuses with the status 503. A limit per client or
/// per key refuses with 429. Neither tells a wait, as no clock says when a request ends.
///
/// An [`Adaptive`] limit learns from each request: from its time until the body of the response has ended, and from
/// a status that says that the service has too much to do ([`overload_by`](Concurrency::overload_by)). If there is no
/// response, it learns from the [time limit](super::RateLimitLayer::time_limit) of the layer, and from what else
/// [`overload_without_response`](Concurrency::overload_without_response) says. A response whose body fails or is
/// dropped halfway tells it nothing.
///
/// Allocates for each request, what holds the permits.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use sluicegate_flow::concurrency::{ConcurrencyLimit, KeyedConcurrency};
/// use sluicegate_http::fields::{QuotaPolicy, QuotaUnit};
/// use sluicegate_http::layer::{Concurrency, Limit, RateLimitLayer};
///
/// let server = Concurrency::new(Arc::new(ConcurrencyLimit::new(512)));
/// let each = Concurrency::new(Arc::new(KeyedConcurrency::new(8)));
/// let unit = QuotaUnit::ConcurrentRequests;
/// let layer = RateLimitLayer::all_of([
///     Limit::of_all(server.wait_up_to(Duration::from_secs(1)))
///         .policy(QuotaPolicy::new(512).named("server")?.counting(unit.clone())),
///     Limit::per_client(each).policy(QuotaPolicy::new(8).named("client")?.counting(unit)),
/// ])?;
/// # Ok::<(), sluicegate_http::fields::FieldError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Concurrency<L> {
    limit: L,
    longest: Duration,
    is_overload: fn(StatusCode) -> bool,
    is_overload_without_response: fn(NoResponse) -> bool,
}

/// Returns true for the statuses by which services say that they have too much to do.
fn is_overload(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

impl<L> Concurrency<L> {
    /// Limits what is in flight by `limit`.
    #[must_use]
    pub fn new(limit: L) -> Concurrency<L> {
        Concurrency {
            limit,
            longest: Duration::ZERO,
            is_overload,
            is_overload_without_response: |why| why == NoResponse::TimedOut,
        }
    }

    /// Lets requests wait for their permits, each for no longer than `longest`. With 0, the default, none
    /// waits.
    #[must_use]
    pub fn wait_up_to(self, longest: Duration) -> Concurrency<L> {
        Concurrency { longest, ..self }
    }

    /// Sets the statuses of responses that tell an [`Adaptive`] limit that too much is in flight. The default is
    /// 429, 503 and 504. Without effect for a limit that is not adaptive.
    #[must_use]
    pub fn overload_by(self, is_overload: fn(StatusCode) -> bool) -> Concurrency<L> {
        Concurrency { is_overload, ..self }
    }

    /// Sets the reasons for which there is no response that tell an [`Adaptive`] limit that too much is in flight. The
    /// default is [`NoResponse::TimedOut`]. Without effect for a limit that is not adaptive.
    ///
    /// A time limit of another layer is not told apart by itself: one inside, such as tower's `Timeout`, is
    /// [`NoResponse::Failed`], and one outside is [`NoResponse::Dropped`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sluicegate_flow::concurrency::{Adaptive, Vegas};
    /// use sluicegate_http::layer::{Concurrency, Limit, NoResponse};
    ///
    /// // Behind it there is a layer of tower that times out, and fails for no other reason.
    /// let adaptive = Arc::new(Adaptive::new(Vegas::new()));
    /// let limit = Limit::of_all(
    ///     Concurrency::new(adaptive).overload_without_response(|why| why != NoResponse::Dropped),
    /// );
    /// ```
    #[must_use]
    pub fn overload_without_response(self, is_overload: fn(NoResponse) -> bool) -> Concurrency<L> {
        Concurrency { is_overload_without_response: is_overload, ..self }
    }

    fn can_wait(&self, refused: &RefusalReason) -> bool {
        let is_short = matches!(refused, RefusalReason::InFlight(denied) if !denied.is_too_large());
        !self.longest.is_zero() && is_short
    }
}

impl<A, C> Concurrency<Arc<Adaptive<A, C>>>
where
    A: LimitAlgorithm + Send + 'static,
    C: Clock + Send + Sync + 'static,
{
    /// Returns the permits of a call, which is a sample for the algorithm when its response has ended.
    fn timed<'l>(&self, call: TimedInFlight<'static, A, C>, permits: u64) -> Taken<'l> {
        let (limit, used) = (self.limit.limit(), self.limit.in_flight());
        let is_overload = self.is_overload;
        let outcome = move |end: &ResponseEnd<'_>| {
            Some(match end.end {
                _ if is_overload(end.status) => OVERLOAD,
                BodyEnd::Complete => SUCCESS,
                // It tells nothing about the time that the service needs.
                BodyEnd::Failed | BodyEnd::Dropped => NO_SAMPLE,
            })
        };
        let standing = sluicegate::penalty::Standing::new(limit, used, Duration::ZERO);
        let charge = Charge::new(standing.grant(permits), move |outcome| {
            call.end(match outcome {
                SUCCESS => Outcome::Success,
                OVERLOAD => Outcome::Dropped,
                _ => Outcome::Ignored,
            });
        });
        let is_overload = self.is_overload_without_response;
        let settlement = Settlement::EndOrNone {
            end: Arc::new(outcome),
            none: Arc::new(move |why| is_overload(why).then_some(OVERLOAD)),
        };
        Taken::kept(Standing::Told(state(limit, used)), Kept::Charge(charge, settlement))
    }
}

// The ends of a call, as a settlement tells them. What is given back at once is no sample.
const NO_SAMPLE: u64 = 0;
const SUCCESS: u64 = 1;
const OVERLOAD: u64 = 2;

impl<A, C> Take<All> for Concurrency<Arc<Adaptive<A, C>>>
where
    A: LimitAlgorithm + Send + 'static,
    C: Clock + Send + Sync + 'static,
{
    fn try_take(&self, _: &All, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        match self.limit.try_acquire_owned(permits) {
            Ok(call) => Ok(self.timed(call, permits)),
            Err(denied) => Err(RefusalReason::InFlight(denied)),
        }
    }

    fn look(&self, _: &All, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        if permits > self.limit.available() {
            // Only a call tells why. Should it be granted by now, its guard ends at once, and is no sample.
            let call = self.limit.try_acquire(permits).map_err(RefusalReason::InFlight)?;
            call.end(Outcome::Ignored);
        }
        Ok(state(self.limit.limit(), self.limit.in_flight()))
    }

    fn turn(&self) -> Turn {
        Turn::Place
    }

    fn may_wait(&self, refused: &RefusalReason) -> bool {
        self.can_wait(refused)
    }

    fn take_later<'a>(&'a self, _: &'a All, permits: u64, waits: Waits<'a>) -> Later<'a> {
        let entering = self.limit.acquire_owned(permits).timeout(self.longest);
        let entering = entering.timer(waits.timer.clone());
        Box::pin(async move {
            let call = entering.await.map_err(refused_in_line)?;
            Ok(self.timed(call, permits))
        })
    }
}

/// Returns the state of a limit with so much in flight.
fn state(limit: u64, in_flight: u64) -> PolicyState<'static> {
    let remaining = Some(limit.saturating_sub(in_flight));
    PolicyState { limit: Some(limit), remaining, ..PolicyState::UNKNOWN }
}

fn taken<'l>(guard: InFlight<'static>, state: PolicyState<'static>) -> Taken<'l> {
    Taken::kept(Standing::Told(state), Kept::Place { guard })
}

fn refused_in_line(error: InFlightError) -> RefusalReason {
    RefusalReason::InFlightLine(error)
}

impl Take<All> for Concurrency<Arc<ConcurrencyLimit>> {
    fn try_take(&self, _: &All, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        match self.limit.try_acquire_owned(permits) {
            Ok(guard) => Ok(taken(guard, state(self.limit.limit(), self.limit.in_flight()))),
            Err(denied) => Err(RefusalReason::InFlight(denied)),
        }
    }

    fn look(&self, _: &All, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        if permits > self.limit.available() {
            // Only a call tells why. Should it be granted by now, its guard is dropped at once.
            drop(self.limit.try_acquire(permits).map_err(RefusalReason::InFlight)?);
        }
        Ok(state(self.limit.limit(), self.limit.in_flight()))
    }

    fn turn(&self) -> Turn {
        Turn::Place
    }

    fn may_wait(&self, refused: &RefusalReason) -> bool {
        self.can_wait(refused)
    }

    fn take_later<'a>(&'a self, _: &'a All, permits: u64, waits: Waits<'a>) -> Later<'a> {
        let entering = self.limit.acquire_owned(permits).timeout(self.longest);
        let entering = entering.timer(waits.timer.clone());
        Box::pin(async {
            let guard = entering.await.map_err(refused_in_line)?;
            Ok(taken(guard, state(self.limit.limit(), self.limit.in_flight())))
        })
    }
}

impl<Q, S> Take<Q> for Concurrency<Arc<KeyedConcurrency<Q::Owned, S>>>
where
    Q: StoreKey + ?Sized,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    fn try_take(&self, key: &Q, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        match self.limit.try_acquire(key, permits) {
            Ok(guard) => {
                Ok(taken(guard, state(self.limit.limit_of(key), self.limit.in_flight(key))))
            }
            Err(denied) => Err(RefusalReason::InFlight(denied)),
        }
    }

    fn look(&self, key: &Q, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        let (limit, in_flight) = (self.limit.limit_of(key), self.limit.in_flight(key));
        if permits > limit.saturating_sub(in_flight) {
            // Only a call tells why. Should it be granted by now, its guard is dropped at once.
            drop(self.limit.try_acquire(key, permits).map_err(RefusalReason::InFlight)?);
        }
        Ok(state(limit, in_flight))
    }

    fn turn(&self) -> Turn {
        Turn::Place
    }

    fn may_wait(&self, refused: &RefusalReason) -> bool {
        self.can_wait(refused)
    }

    fn take_later<'a>(&'a self, key: &'a Q, permits: u64, waits: Waits<'a>) -> Later<'a> {
        let entering = self.limit.acquire(key, permits).timeout(self.longest);
        let entering = entering.timer(waits.timer.clone());
        Box::pin(async move {
            let guard = entering.await.map_err(refused_in_line)?;
            Ok(taken(guard, state(self.limit.limit_of(key), self.limit.in_flight(key))))
        })
    }
}
