//! A limiter with leases: the part that callers in tasks and on threads share.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use sluicegate::clock::DefaultClock;
use sluicegate::{Clock, Denied, Grant};

use super::counts::{LeaseCounts, LeaseTotals};
use super::key::ask::Ask;
use super::key::flight::{Flight, Told};
use super::key::{Entered, LeasedKey, Tried};
use super::keys::LeasedKeys;
use super::lots::Lot;
use super::options::{LeaseError, LeaseOptions};
use super::terms::LeaseTerms;
use crate::decision::{Decision, Verb};
use crate::error::{KeyError, StoreError, TryAcquireError};
use crate::limit::RedisLimit;
use crate::limiter::RedisLimiter;
use crate::request::Request;

/// A limit for each key, kept on a server that other processes share, with leases: permits that are taken from
/// the server before they are used, and spent here without it.
///
/// A *hot* key, one that is asked for often, has a lease, from which most calls are granted by a compare-and-swap of a word. A
/// call that finds too few permits there asks the server: for what it needs, for what the callers need that wait with
/// it, and for the next lease, in one script. Other keys ask the server at each call, as with [`RedisLimiter`].
///
/// | | how |
/// |---|---|
/// | size of a lease | doubled while leases are used up within 100 ms, and by the pace of the key if they last longer; one permit while the server has less than was asked for; at most [`LeaseSplit::lease`](crate::LeaseSplit::lease) |
/// | the next lease | is asked for when less than a quarter of the last is left, by a task of its own (on threads: by the call that leaves so few, which waits for the answer although it has its permits) |
/// | calls for a key at the same time | are counted in one request, or wait for the one that is on its way; first come, first served |
/// | calls for several keys at the same time | are sent one behind the other without waiting, if the client does that |
/// | a request larger than a lease | asks the server on its own |
/// | a denial | is remembered until the server has earned what was missing, and for a second at most |
/// | permits that are not used | are given back when no call has come for the [expiry](LeaseOptions::expiry), or up to half of it later, and by [`shutdown`](LeasedLimiter::shutdown); those of interval buckets and GCRAs are lost if others have taken some since |
/// | memory | a few hundred bytes for each key with a lease, and 13 for each of four times as many keys that might get one |
///
/// # Accuracy
///
/// **The bound is that of the limit**: in any span of time, all processes together are granted no more than the limit
/// grants, if no more than [`nodes`](LeaseOptions::nodes) of them hold leases at the same time. The server grants only a part of
/// the limit at once, [`LeaseSplit::shared`](crate::LeaseSplit::shared); the rest is what all leases may hold together.
/// So it does not matter how long a lease is held, when it is given back, whether its holder has crashed, or what the clocks of
/// the processes show. The theorem is in the page on distributed limits.
///
/// The price is that a key may be granted *less* at once: at most the shared part and what is left in the own lease. A crash
/// loses what its leases held. Windows and logs cannot have leases, since they would be granted less for ever: see
/// [`RedisLimit::beside_leases`].
///
/// The answers are those of a limiter of the shared part. Their `remaining` and `reset_after` are estimates: what the
/// server had left when it answered last, and the own lease.
///
/// # Faults
///
/// While the server gives no answer, leases are spent on, and then the [`Fallback`](crate::Fallback) of the limiter answers. With
/// a [`Guarded`](crate::Guarded) client no call waits longer than its time limit for each request, its own and the one
/// that was on its way before.
///
/// A clone shares everything.
///
/// # Examples
///
/// ```no_run
/// # #[cfg(feature = "async")]
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// use sluicegate::quota;
/// use sluicegate_redis::{Async, KeySpace, LeaseOptions, LeasedLimiter, RedisLimit, RedisLimiter};
///
/// let client = redis::Client::open("redis://127.0.0.1/")?;
/// let limit = RedisLimit::token_bucket(quota!(10_000 / second))?;
/// let limiter = RedisLimiter::new(limit, KeySpace::new("app:api")?, Async::new(client));
/// // Four servers, and four more while they are replaced.
/// let limiter = LeasedLimiter::new(limiter, LeaseOptions::builder(8).build()?)?;
/// for _ in 0..1_000 {
///     limiter.try_acquire("tenant:7", 1).await?;
/// }
/// limiter.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LeasedLimiter<R> {
    pub(super) shared: Arc<Shared<R>>,
}

/// The state of all clones.
#[derive(Debug)]
pub(super) struct Shared<R> {
    /// The limiter of the shared part of the limit.
    pub(super) limiter: RedisLimiter<R>,
    pub(super) keys: LeasedKeys,
    pub(super) terms: LeaseTerms,
    clock: DefaultClock,
    options: LeaseOptions,
    totals: Arc<LeaseTotals>,
    /// Numbers requests to give back, under names that no other limiter uses.
    random: RandomState,
    give_backs: AtomicU64,
}

impl<R> Clone for LeasedLimiter<R> {
    fn clone(&self) -> LeasedLimiter<R> {
        LeasedLimiter { shared: Arc::clone(&self.shared) }
    }
}

/// The look for idle keys, which one task or thread does at a time. It keeps no limiter alive.
pub(super) struct Sweep<R> {
    shared: Weak<Shared<R>>,
    is_over: bool,
}

impl<R> Sweep<R> {
    /// Begins, unless another one does it.
    pub(super) fn begin(shared: &Arc<Shared<R>>) -> Option<Sweep<R>> {
        let begins = shared.keys.begins_to_sweep();
        begins.then(|| Sweep { shared: Arc::downgrade(shared), is_over: false })
    }

    /// Returns the limiter, while it is there.
    pub(super) fn shared(&self) -> Option<Arc<Shared<R>>> {
        self.shared.upgrade()
    }

    /// Ends, when the keys have noted that already.
    pub(super) fn end(mut self) {
        self.is_over = true;
    }
}

impl<R> Drop for Sweep<R> {
    fn drop(&mut self) {
        // Its runtime has ended, or there is no thread for it: another one may look.
        if !self.is_over
            && let Some(shared) = self.shared.upgrade()
        {
            shared.keys.leave_sweep();
        }
    }
}

/// The step after a call has looked at the lease of its key.
pub(super) enum Next {
    Answer(Result<Decision, TryAcquireError>),
    /// The server decides about this call alone.
    Direct,
    Wait(oneshot::Receiver<Told>),
    Lead(Flight, oneshot::Receiver<Told>),
}

/// The permits of a key that are given back, and the marker that makes sure it happens once.
pub(super) struct GiveBack {
    name: String,
    marker: String,
    lot: Lot,
}

// ORDERING: Relaxed throughout: numbers for users, and names of requests, which only have to differ.
// MODEL: none; no permit depends on them.
impl<R> LeasedLimiter<R> {
    /// Creates a limiter with leases of what `limiter` limits, with its keys, client and fallback. Sends nothing.
    ///
    /// Limiters of the same limit, keys and options share their limit, on whatever machines they are. Limiters of the
    /// same limit and keys with other options, or without leases, take from the same permits; while both are in
    /// use, up to what all leases hold may be granted beyond the limit.
    ///
    /// # Errors
    ///
    /// [`LeaseError::Cut`] for windows, logs, and intervals that refill more than the shared part;
    /// [`LeaseError::TooSmall`] if the limit is too small for so many nodes; and the errors of the part that is shared.
    pub fn new(
        limiter: RedisLimiter<R>,
        options: LeaseOptions,
    ) -> Result<LeasedLimiter<R>, LeaseError> {
        LeasedLimiter::counting_in(limiter, options, Arc::default())
    }

    /// Does the same, and counts in `totals`.
    pub(crate) fn counting_in(
        limiter: RedisLimiter<R>,
        options: LeaseOptions,
        totals: Arc<LeaseTotals>,
    ) -> Result<LeasedLimiter<R>, LeaseError> {
        let terms = LeaseTerms::new(limiter.limit(), &options)?;
        let shared = Shared {
            limiter: limiter.with_limit(terms.limit.clone()),
            keys: LeasedKeys::new(&options)?,
            terms,
            clock: DefaultClock::default(),
            options,
            totals,
            random: RandomState::new(),
            give_backs: AtomicU64::new(0),
        };
        Ok(LeasedLimiter { shared: Arc::new(shared) })
    }

    /// Returns the limit of the server: the part that is shared. Larger requests are never granted.
    #[must_use]
    pub fn limit(&self) -> &RedisLimit {
        &self.shared.terms.limit
    }

    /// Returns the options.
    #[must_use]
    pub fn options(&self) -> &LeaseOptions {
        &self.shared.options
    }

    /// Returns the name of a key on the server.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if the key is too long.
    pub fn name(&self, key: &str) -> Result<String, KeyError> {
        self.shared.limiter.name(key)
    }

    /// Returns the client that runs the scripts.
    #[must_use]
    pub fn runner(&self) -> &R {
        self.shared.limiter.runner()
    }

    /// Returns the numbers so far, of all clones together. Looks at each key with a lease.
    #[must_use]
    pub fn counts(&self) -> LeaseCounts {
        LeaseCounts {
            keys: self.shared.keys.len(),
            permits: self.shared.keys.held(),
            requests: self.shared.totals.requests(),
            given_back: self.shared.totals.given_back(),
        }
    }

    /// Returns the permits that are left in the lease of the key; `None` if it has none.
    #[must_use]
    pub fn held(&self, key: &str) -> Option<u64> {
        self.shared.keys.with(key, |leased| leased.left())
    }

    /// Returns true if a request for a lease of the key is on its way.
    #[cfg(test)]
    pub(crate) fn is_asking(&self, key: &str) -> bool {
        self.shared.keys.with(key, |leased| leased.word.is_flying()).unwrap_or(false)
    }
}

impl<R> Shared<R> {
    pub(super) fn now(&self) -> u64 {
        self.clock.now_nanos()
    }

    /// Takes permits from the lease of the key, if it has as many. Tells whether it is time to ask for the next lease.
    #[inline]
    pub(super) fn try_take(&self, key: &str, permits: u64) -> Option<(Grant, bool)> {
        if permits > self.terms.largest() {
            return None;
        }
        let now = self.now();
        let take = |leased: &Arc<LeasedKey>| leased.try_take(permits, now, &self.terms);
        match self.keys.with(key, take) {
            Some(Tried::Granted { grant, is_low }) => Some((grant, is_low)),
            _ => None,
        }
    }

    /// Sets off a request for the next lease of the key, if it is time and none is on its way.
    #[cold]
    pub(super) fn ask_ahead(&self, key: &str) -> Option<Flight> {
        let now = self.now();
        self.keys.with(key, |leased| leased.ask_ahead(now, &self.terms)).flatten()
    }

    /// Decides how a call goes on whose key has no lease, or too small a one.
    #[cold]
    pub(super) fn ask(&self, verb: Verb, key: &str, permits: u64) -> Next {
        let limit = self.terms.limit.limit();
        if verb != Verb::UpTo && permits > limit {
            return Next::Answer(Err(Denied::TooLarge { limit, which: 0 }.into()));
        }
        if verb == Verb::Peek || permits == 0 || permits > self.terms.largest() {
            return Next::Direct;
        }
        self.ask_slow(Ask { verb, permits }, key, self.now())
    }

    /// Asks the lease of the key if it has too few permits, or is to get the first ones.
    fn ask_slow(&self, ask: Ask, key: &str, now: u64) -> Next {
        loop {
            let leased = match self.leased(key, now) {
                Ok(Some(leased)) => leased,
                Ok(None) => return Next::Direct,
                Err(error) => return Next::Answer(Err(error.into())),
            };
            match leased.enter(ask, now, &self.terms) {
                Entered::Answer(answer) => {
                    return Next::Answer(Ok(Decision::of_server(answer)));
                }
                Entered::Wait(receiver) => return Next::Wait(receiver),
                Entered::Lead(flight, receiver) => return Next::Lead(flight, receiver),
                // The one that retired it removes it too, but that may be later.
                Entered::Retired => self.keys.remove(key, &leased),
            }
        }
    }

    /// Returns the key if it has a lease, or is to have one.
    fn leased(&self, key: &str, now: u64) -> Result<Option<Arc<LeasedKey>>, KeyError> {
        if let Some(leased) = self.keys.with(key, Arc::clone) {
            return Ok(Some(leased));
        }
        let name = self.limiter.keyed().name(key)?;
        Ok(self.keys.of_hot(key, name, now))
    }

    /// Returns the request of a flight.
    pub(super) fn request(&self, flight: &Flight) -> Request<'_> {
        self.totals.asked();
        self.limiter.keyed().lease(flight.name(), flight.least(), flight.permits())
    }

    /// Returns the permits that the key's lease holds for a look at `permits`: none if they are too many for a lease.
    pub(super) fn held_for(&self, verb: Verb, key: &str, permits: u64) -> u64 {
        if verb != Verb::Peek || permits > self.terms.largest() {
            return 0;
        }
        self.keys.with(key, |leased| leased.left()).unwrap_or(0)
    }

    /// Returns the decision on a call that has asked the server on its own, with what the key's lease holds. For a
    /// look, `held` of its permits are in the lease, for which the server was not asked.
    pub(super) fn beside_lease(
        &self,
        (verb, key, permits): (Verb, &str, u64),
        held: u64,
        decision: Decision,
    ) -> Decision {
        if decision.failure().is_some() {
            return decision;
        }
        let (answer, now) = (decision.answer(), self.now());
        if verb == Verb::Peek {
            return Decision::of_server(self.terms.look(permits, held, answer));
        }
        let beside = |leased: &Arc<LeasedKey>| {
            let is_denied = verb == Verb::UpTo && answer.is_err();
            let held = is_denied.then(|| leased.take_up_to(permits, now, &self.terms)).flatten();
            let answer = held.map_or_else(|| self.terms.beside(leased.left(), answer), Ok);
            Decision::of_server(answer)
        };
        self.keys.with(key, beside).unwrap_or(decision)
    }

    /// Ends the lease of a key. Returns what is to be given back, or the way to wait until it can be ended.
    pub(super) fn retire(
        &self,
        key: &str,
        leased: &Arc<LeasedKey>,
    ) -> Result<Vec<GiveBack>, oneshot::Receiver<Told>> {
        let lots = leased.retire()?;
        self.keys.remove(key, leased);
        Ok(lots.into_iter().map(|lot| self.give_back(leased.name(), lot)).collect())
    }

    fn give_back(&self, name: &str, lot: Lot) -> GiveBack {
        let number = self.give_backs.fetch_add(1, Relaxed);
        // 128 bits that no other limiter has, since the keys of its hasher are random.
        let [first, second] = [0, 1].map(|half| self.random.hash_one((number, half)));
        let marker = format!("{name}:back:{first:016x}{second:016x}");
        GiveBack { name: name.to_owned(), marker, lot }
    }

    /// Notes the answer to a request to give back.
    pub(super) fn was_given_back(&self, answer: Result<Vec<i64>, StoreError>) {
        let given = answer.ok().and_then(|reply| u64::try_from(*reply.first()?).ok());
        self.totals.gave_back(given.unwrap_or(0));
    }
}

impl GiveBack {
    /// Returns the request, and its keys.
    pub(super) fn request<'a, R>(&'a self, shared: &'a Shared<R>) -> (Request<'a>, [&'a str; 2]) {
        let keyed = shared.limiter.keyed();
        let request = keyed.give_back(&self.name, self.lot.permits, &self.lot.charged);
        (request, [&self.name, &self.marker])
    }
}
