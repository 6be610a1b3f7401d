//! The limiters, stores, registries and layers that are looked at.

use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::sync::Arc;

use sluicegate::compose::{AnswerCounters, Counted};
use sluicegate::share::{Leaving, Priorities, Shares};
use sluicegate::{Clock, KeyedLimiter, Limiter, Wait};
use sluicegate_flow::time_limit::TimeLimiter;

use crate::names;
use crate::sample::Sample;

/// Anything whose values are published.
pub(crate) trait Source: Send + Sync {
    fn read(&self, sample: &mut Sample);
}

/// A limiter, its name, and whether it has a line.
pub(crate) struct OneLimiter<L> {
    pub(crate) name: String,
    pub(crate) limiter: Arc<Counted<L>>,
}

/// A limiter that callers wait for.
pub(crate) struct WithLine<L>(pub(crate) OneLimiter<L>);

/// A store of keys of type `K`.
pub(crate) struct Store<K: ?Sized, S> {
    pub(crate) name: String,
    pub(crate) counted: Arc<Counted<S>>,
    pub(crate) keys: PhantomData<fn(&K)>,
}

/// Counters without a limiter.
pub(crate) struct Answers {
    pub(crate) name: String,
    pub(crate) answers: Arc<AnswerCounters>,
}

/// Classes of requests.
pub(crate) struct Classes<L> {
    pub(crate) name: String,
    pub(crate) priorities: Arc<Priorities<L>>,
}

/// Tenants with shares.
pub(crate) struct Tenants<K, C: Clock, S> {
    pub(crate) name: String,
    pub(crate) shares: Arc<Shares<K, C, S>>,
}

impl<L: Limiter> Source for OneLimiter<L> {
    fn read(&self, sample: &mut Sample) {
        read_answers(sample, &self.name, self.limiter.answers());
        read_state(sample, &self.name, &*self.limiter);
    }
}

fn read_state(sample: &mut Sample, name: &str, limiter: &impl Limiter) {
    if let Ok(grant) = limiter.peek(0) {
        sample.gauge(names::AVAILABLE, name, grant.remaining());
        sample.gauge(names::LIMIT, name, grant.limit());
    }
    sample.counter(names::HEALED, &[("limiter", name)], limiter.healed());
}

impl<L: Leaving> Source for Classes<L> {
    fn read(&self, sample: &mut Sample) {
        let Classes { name, priorities } = self;
        for (index, class) in priorities.classes().iter().enumerate() {
            if let Some(answers) = priorities.answers(index) {
                sample.counts(name, answers.counts(), answers.denials());
                sample.class(name, &class.name, answers.counts());
            }
        }
        read_state(sample, name, priorities.limiter());
    }
}

impl<K, C, S> Source for Tenants<K, C, S>
where
    K: Hash + Eq + Send + Sync,
    C: Clock + Send + Sync,
    S: BuildHasher + Send + Sync,
{
    fn read(&self, sample: &mut Sample) {
        let Tenants { name, shares } = self;
        if let Some(answers) = shares.answers() {
            let (assured, borrowed) = (answers.assured.counts(), answers.borrowed.counts());
            sample.counts(name, assured.merged(borrowed), answers.borrowed.denials());
            sample.shares(name, assured.permits, borrowed.permits);
        }
        let groups = (0..).take_while(|&group| shares.share(group).is_some());
        let tenants: usize = groups.map(|group| shares.tenants(group)).sum();
        sample.gauge(names::LIMIT, name, shares.quota().burst());
        sample.gauge(names::KEYS, name, tenants as u64);
        sample.gauge(names::STORE_BYTES, name, shares.memory_bytes() as u64);
        sample.counter(names::HEALED, &[("limiter", name)], shares.healed());
    }
}

impl<L: Wait> Source for WithLine<L> {
    fn read(&self, sample: &mut Sample) {
        let OneLimiter { name, limiter } = &self.0;
        self.0.read(sample);
        sample.waits(name, &limiter.waits());
        sample.gauge(names::WAITING, name, limiter.line().waiters() as u64);
        sample.gauge(names::WAITING_PERMITS, name, limiter.line().permits());
    }
}

impl<K: ?Sized, S: KeyedLimiter<K>> Source for Store<K, S> {
    fn read(&self, sample: &mut Sample) {
        read_answers(sample, &self.name, self.counted.answers());
        sample.gauge(names::KEYS, &self.name, self.counted.len() as u64);
        sample.gauge(names::STORE_BYTES, &self.name, self.counted.memory_bytes() as u64);
        sample.counter(names::HEALED, &[("limiter", &self.name)], self.counted.healed());
    }
}

impl Source for Answers {
    fn read(&self, sample: &mut Sample) {
        read_answers(sample, &self.name, &self.answers);
    }
}

fn read_answers(sample: &mut Sample, name: &str, answers: &AnswerCounters) {
    sample.counts(name, answers.counts(), answers.denials());
    sample.settled(name, answers.settled());
}

impl Source for TimeLimiter {
    fn read(&self, sample: &mut Sample) {
        let counts = self.counts();
        for (outcome, count) in [
            ("succeeded", counts.succeeded),
            ("failed", counts.failed),
            ("timed_out", counts.timed_out),
            ("dropped", counts.dropped),
            ("finished_late", counts.finished_late),
            ("failed_late", counts.failed_late),
            ("lost", counts.lost),
        ] {
            let labels = [("time_limiter", self.name()), ("outcome", outcome)];
            sample.counter(names::CALLS, &labels, count);
        }
    }
}

#[cfg(feature = "policy")]
impl Source for sluicegate_policy::Registry {
    fn read(&self, sample: &mut Sample) {
        for own in self.statistics() {
            let name = own.name.as_str();
            if let (Some(counts), Some(denials)) = (own.counts, own.denials) {
                sample.counts(name, counts, denials);
                let unasked = [
                    ("penalized", own.unasked.penalized),
                    ("missing_key", own.unasked.missing_key),
                ];
                for (reason, count) in unasked {
                    sample.counter(names::DENIALS, &[("limiter", name), ("reason", reason)], count);
                }
            }
            if let Some(waits) = &own.waits {
                sample.waits(name, waits);
            }
            if let Some(state) = own.state {
                sample.gauge(names::AVAILABLE, name, state.remaining());
                sample.gauge(names::LIMIT, name, state.limit());
            }
            sample.gauge(names::WAITING, name, own.waiting as u64);
            if let (Some(keys), Some(bytes)) = (own.keys, own.memory_bytes) {
                sample.gauge(names::KEYS, name, keys as u64);
                sample.gauge(names::STORE_BYTES, name, bytes as u64);
            }
            let labels = [("limiter", name)];
            sample.counter(names::HEALED, &labels, own.healed);
            sample.counter(names::SHADOW_DECISIONS, &labels, own.shadow.decided);
            sample.counter(names::SHADOW_DENIALS, &labels, own.shadow.would_deny);
            if let Some(shares) = own.shares {
                sample.shares(name, shares.assured, shares.borrowed);
            }
            for class in &own.classes {
                sample.class(name, &class.name, class.counts);
            }
            if let Some(leases) = own.leases {
                sample.gauge(names::LEASED_KEYS, name, leases.keys as u64);
                sample.gauge(names::LEASED_PERMITS, name, leases.permits);
                sample.counter(names::LEASES, &labels, leases.requests);
                sample.counter(names::LEASES_BACK, &labels, leases.given_back);
            }
            if let Some(fallbacks) = own.fallbacks {
                for (answer, count) in [
                    ("refused", fallbacks.refused),
                    ("granted", fallbacks.granted),
                    ("denied", fallbacks.denied),
                ] {
                    let labels = [("limiter", name), ("answer", answer)];
                    sample.counter(names::FALLBACKS, &labels, count);
                }
            }
        }
        for server in self.servers() {
            let numbers = ServerNumbers {
                answered: server.answered,
                failures: &server.failures,
                skipped: server.skipped,
                opened: server.opened,
                is_answering: server.is_answering,
            };
            numbers.read(sample, &server.name);
        }
    }
}

/// A guard in front of a Redis server, and the server's name.
#[cfg(feature = "redis")]
pub(crate) struct RedisServer<R> {
    pub(crate) name: String,
    pub(crate) guard: sluicegate_redis::Guarded<R>,
}

#[cfg(feature = "redis")]
impl<R: Send + Sync> Source for RedisServer<R> {
    fn read(&self, sample: &mut Sample) {
        let counts = self.guard.counts();
        let reasons = sluicegate_redis::FAILURES.into_iter();
        let numbers = ServerNumbers {
            answered: counts.answered,
            failures: &reasons.zip(counts.failures).collect::<Vec<_>>(),
            skipped: counts.skipped,
            opened: counts.opened,
            is_answering: self.guard.is_answering(),
        };
        numbers.read(sample, &self.name);
    }
}

/// Requests to a server, and its circuit breaker.
#[cfg(any(feature = "policy", feature = "redis"))]
struct ServerNumbers<'a> {
    answered: u64,
    /// By reason.
    failures: &'a [(&'static str, u64)],
    skipped: u64,
    /// Times that the breaker has opened.
    opened: u64,
    is_answering: bool,
}

#[cfg(any(feature = "policy", feature = "redis"))]
impl ServerNumbers<'_> {
    fn read(&self, sample: &mut Sample, name: &str) {
        let server = ("server", name);
        let failed = self.failures.iter().map(|(_, count)| count).sum();
        for (outcome, count) in
            [("answered", self.answered), ("failed", failed), ("skipped", self.skipped)]
        {
            sample.counter(names::REDIS_REQUESTS, &[server, ("outcome", outcome)], count);
        }
        for (reason, count) in self.failures {
            sample.counter(names::REDIS_FAILURES, &[server, ("reason", reason)], *count);
        }
        sample.counter(names::REDIS_OPENED, &[server], self.opened);
        sample.gauge_of(names::REDIS_OPEN, &[server], u64::from(!self.is_answering));
    }
}

/// A layer, and its name.
#[cfg(feature = "http")]
pub(crate) struct Layer {
    pub(crate) name: String,
    pub(crate) layer: sluicegate_http::layer::RateLimitLayer,
}

#[cfg(feature = "http")]
impl Source for Layer {
    fn read(&self, sample: &mut Sample) {
        let counts = self.layer.counts();
        for (outcome, count) in [
            ("passed", counts.passed),
            ("refused", counts.refused),
            ("would_refuse", counts.would_refuse),
            ("skipped", counts.skipped),
            ("service_timed_out", counts.service_timed_out),
        ] {
            let labels = [("layer", self.name.as_str()), ("outcome", outcome)];
            sample.counter(names::HTTP_REQUESTS, &labels, count);
        }
        for refusal in &counts.refusals {
            let labels = [
                ("layer", self.name.as_str()),
                ("limit", refusal.limit.as_str()),
                ("reason", refusal.reason),
            ];
            sample.counter(names::HTTP_REFUSALS, &labels, refusal.count);
        }
    }
}
