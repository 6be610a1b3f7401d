//! The publisher: reads all that it knows, and tells the recorder.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metrics::{Key, Label, Level, Metadata, Recorder};
use sluicegate::compose::{AnswerCounters, Counted, WaitCounts};
use sluicegate::share::{Leaving, Priorities, Shares};
use sluicegate::{Clock, KeyedLimiter, Limiter, Wait};
use sluicegate_flow::time_limit::TimeLimiter;

use crate::every::Publishing;
use crate::names::{Kind, METRICS};
use crate::sample::{Sample, Series, Waits};
use crate::sources::{Answers, Classes, OneLimiter, Source, Store, Tenants, WithLine};

static METADATA: Metadata<'static> = Metadata::new("sluicegate", Level::INFO, Some(module_path!()));

/// The limiters whose counts and states are published through the [`metrics`] facade.
///
/// Limiters count as they ever do, on cache lines of their threads. Nothing is published by a decision:
/// [`publish`](Publisher::publish) reads the counts when it is called, such as by the handler of
/// `/metrics`, and [`every`](Publisher::every) does so at an interval.
///
/// Labels are the names that limiters are given here, and a fixed set of words. Keys, paths and addresses
/// are never labels, so the number of series does not depend on what clients send. Limiters with the same name
/// are published as one, with their values added up.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use metrics_exporter_prometheus::PrometheusBuilder;
/// use sluicegate::{Limiter, TokenBucket, quota};
/// use sluicegate::compose::Counted;
/// use sluicegate_metrics::{Publisher, WAIT_BUCKETS};
///
/// let uploads = Arc::new(Counted::new(TokenBucket::new(quota!(10 / second))));
/// let publisher = Publisher::new().waiting("uploads", &uploads);
/// let prometheus = PrometheusBuilder::new().set_buckets(WAIT_BUCKETS)?.install_recorder()?;
///
/// uploads.try_acquire(1)?;
/// // For each scrape:
/// publisher.publish();
/// assert!(prometheus.render().contains("sluicegate_grants_total{limiter=\"uploads\"} 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
#[must_use = "a publisher publishes when it is told to"]
pub struct Publisher {
    sources: Vec<Box<dyn Source>>,
    published: Mutex<Published>,
}

/// The values that were published last.
#[derive(Default)]
struct Published {
    counters: BTreeMap<Series, Counter>,
    waits: BTreeMap<Series, Waits>,
    gauges: BTreeMap<Series, f64>,
}

/// A counter that goes on if what it counts begins anew.
#[derive(Default)]
struct Counter {
    seen: u64,
    published: u64,
}

impl Publisher {
    /// Returns a publisher of nothing yet.
    pub fn new() -> Publisher {
        Publisher::default()
    }

    fn with(mut self, source: impl Source + 'static) -> Publisher {
        self.sources.push(Box::new(source));
        self
    }

    /// Publishes a limiter by the name `name`: its grants, denials and settlements, and the permits that it
    /// has.
    pub fn limiter<L: Limiter + 'static>(
        self,
        name: impl Into<String>,
        limiter: &Arc<Counted<L>>,
    ) -> Publisher {
        self.with(OneLimiter { name: name.into(), limiter: Arc::clone(limiter) })
    }

    /// Publishes a limiter that callers wait for: what [`limiter`](Publisher::limiter) does, and its line
    /// and the waits besides. Takes the line's lock for a moment at each reading.
    pub fn waiting<L: Wait + 'static>(
        self,
        name: impl Into<String>,
        limiter: &Arc<Counted<L>>,
    ) -> Publisher {
        self.with(WithLine(OneLimiter { name: name.into(), limiter: Arc::clone(limiter) }))
    }

    /// Publishes a store of keys of the form `K`: the answers for all keys together, the number of
    /// keys, and the memory.
    ///
    /// Each reading goes over all slots of a `KeyTable`, to count its keys: 12 MB for a million.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sluicegate::{Keyed, quota};
    /// use sluicegate::compose::Counted;
    /// use sluicegate_metrics::Publisher;
    ///
    /// let users = Arc::new(Counted::new(Keyed::<String>::new(quota!(10 / second))));
    /// let publisher = Publisher::new().store::<str, _>("users", &users);
    /// ```
    pub fn store<K, S>(self, name: impl Into<String>, store: &Arc<Counted<S>>) -> Publisher
    where
        K: ?Sized + 'static,
        S: KeyedLimiter<K> + 'static,
    {
        self.with(Store {
            name: name.into(),
            counted: Arc::clone(store),
            keys: PhantomData::<fn(&K)>,
        })
    }

    /// Publishes classes of requests: the answers for all of them together, the permits and the denials of each, and the permits
    /// that are available. Answers are published if they are [counted](Priorities::counted). A class is a label, by its name.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sluicegate::{TokenBucket, quota};
    /// use sluicegate::share::Priorities;
    /// use sluicegate_metrics::Publisher;
    ///
    /// let bucket = TokenBucket::new(quota!(100 / second));
    /// let priorities = Priorities::by_percent(bucket, [("user", 0), ("batch", 50)])?.counted();
    /// let publisher = Publisher::new().priorities("api", &Arc::new(priorities));
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    pub fn priorities<L: Leaving + 'static>(
        self,
        name: impl Into<String>,
        priorities: &Arc<Priorities<L>>,
    ) -> Publisher {
        self.with(Classes { name: name.into(), priorities: Arc::clone(priorities) })
    }

    /// Publishes shares of tenants: the answers for all of them together, their permits by source, and the number of tenants
    /// and the memory. Answers are published if they are [counted](Shares::counted). No tenant is a label.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sluicegate::quota;
    /// use sluicegate::share::{Share, Shares};
    /// use sluicegate_metrics::Publisher;
    ///
    /// let tenants = [Share::new(quota!(10 / second)).with_tenants(40)];
    /// let shares = Shares::<String>::new(quota!(1_000 / second), tenants)?.counted();
    /// let publisher = Publisher::new().shares("tenants", &Arc::new(shares));
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    pub fn shares<K, C, S>(
        self,
        name: impl Into<String>,
        shares: &Arc<Shares<K, C, S>>,
    ) -> Publisher
    where
        K: Hash + Eq + Send + Sync + 'static,
        C: Clock + Send + Sync + 'static,
        S: BuildHasher + Send + Sync + 'static,
    {
        self.with(Tenants { name: name.into(), shares: Arc::clone(shares) })
    }

    /// Publishes counters of answers, such as those of the observer of a store.
    pub fn answers(self, name: impl Into<String>, answers: &Arc<AnswerCounters>) -> Publisher {
        self.with(Answers { name: name.into(), answers: Arc::clone(answers) })
    }

    /// Publishes the calls of a time limiter, by its name.
    pub fn time_limiter(self, limiter: &TimeLimiter) -> Publisher {
        self.with(limiter.clone())
    }

    /// Publishes all limiters of a registry, also those to come. Their answers are published if the registry
    /// is [counted](sluicegate_policy::Registry::counted).
    #[cfg(feature = "policy")]
    pub fn registry(self, registry: &sluicegate_policy::Registry) -> Publisher {
        self.with(registry.clone())
    }

    /// Publishes the decisions of a layer. Its options should be set before: a clone that is put in
    /// [`shadow`](sluicegate_http::layer::RateLimitLayer::shadow) afterwards counts for itself.
    #[cfg(feature = "http")]
    pub fn layer(
        self,
        name: impl Into<String>,
        layer: &sluicegate_http::layer::RateLimitLayer,
    ) -> Publisher {
        self.with(crate::sources::Layer { name: name.into(), layer: layer.clone() })
    }

    /// Publishes the requests to a Redis server through `guard`, and the state of its circuit breaker.
    #[cfg(feature = "redis")]
    pub fn redis_server<R: Clone + Send + Sync + 'static>(
        self,
        name: impl Into<String>,
        guard: &sluicegate_redis::Guarded<R>,
    ) -> Publisher {
        self.with(crate::sources::RedisServer { name: name.into(), guard: guard.clone() })
    }

    /// Reads all values, and tells the recorder of the calling thread, or else the global one. Allocates;
    /// takes locks of its own, of registries and of lines. Calls at the same time wait for each other, and count
    /// nothing twice.
    ///
    /// Counters are published as absolute numbers. If what is counted begins anew, because a
    /// limiter of a registry was removed and has come back, the counter goes on: its count is less than the last one that
    /// was read. (If it is not, since many calls have come before it is read again, as many are missed as had been read.) A gauge of
    /// a limiter that is gone is set to 0. The waits since the last call are recorded as the mean of
    /// those in the same bucket, so that their number and their sum are exact, and a histogram with
    /// [`WAIT_BUCKETS`](crate::WAIT_BUCKETS) too.
    pub fn publish(&self) {
        // Held while the values are read, so that none is taken for newer than one that was read after it.
        let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        let sample = self.read();
        metrics::with_recorder(|recorder| {
            describe(recorder);
            published.counters(recorder, sample.counters);
            published.gauges(recorder, sample.gauges);
            published.waits(recorder, sample.waits);
        });
    }

    /// Reads all values.
    pub(crate) fn read(&self) -> Sample {
        let mut sample = Sample::default();
        self.sources.iter().for_each(|source| source.read(&mut sample));
        sample
    }

    /// Publishes every `interval` from now on, in a thread of its own, until the value that is
    /// returned is dropped: for recorders that push, or whose page is served by somebody else.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](std::io::ErrorKind::InvalidInput) for an interval shorter than a millisecond; otherwise that of
    /// the system, if it cannot start a thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate_metrics::Publisher;
    ///
    /// let publishing = Publisher::new().every(Duration::from_secs(10))?;
    /// // It publishes for the last time, and ends.
    /// drop(publishing);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn every(self, interval: Duration) -> std::io::Result<Publishing> {
        Publishing::start(interval, move || self.publish())
    }
}

fn describe(recorder: &dyn Recorder) {
    for metric in METRICS {
        let (name, unit, description) =
            (metric.name.into(), metric.unit, metric.description.into());
        match metric.kind {
            Kind::Counter => recorder.describe_counter(name, unit, description),
            Kind::Gauge => recorder.describe_gauge(name, unit, description),
            Kind::Histogram => recorder.describe_histogram(name, unit, description),
        }
    }
}

fn key((name, labels): &Series) -> Key {
    let labels = labels.iter().map(|(label, value)| Label::new(*label, value.clone()));
    Key::from_parts(*name, labels.collect::<Vec<_>>())
}

impl Published {
    fn counters(&mut self, recorder: &dyn Recorder, sample: BTreeMap<Series, u64>) {
        for (series, value) in sample {
            let handle = recorder.register_counter(&key(&series), &METADATA);
            let counter = self.counters.entry(series).or_default();
            // Less than before: it has begun anew.
            let more = value.checked_sub(counter.seen).unwrap_or(value);
            counter.seen = value;
            counter.published = counter.published.wrapping_add(more);
            handle.absolute(counter.published);
        }
    }

    fn gauges(&mut self, recorder: &dyn Recorder, sample: BTreeMap<Series, f64>) {
        for gone in self.gauges.keys().filter(|series| !sample.contains_key(series)) {
            recorder.register_gauge(&key(gone), &METADATA).set(0.0);
        }
        for (series, value) in &sample {
            recorder.register_gauge(&key(series), &METADATA).set(*value);
        }
        self.gauges = sample;
    }

    fn waits(&mut self, recorder: &dyn Recorder, sample: BTreeMap<Series, Waits>) {
        for (series, waits) in sample {
            let handle = recorder.register_histogram(&key(&series), &METADATA);
            let before = self.waits.get(&series);
            for (index, (callers, nanos)) in waits.iter().enumerate() {
                let (was_callers, was_nanos) =
                    before.and_then(|before| before.get(index)).copied().unwrap_or_default();
                let is_anew = *callers < was_callers;
                let (was_callers, was_nanos) =
                    if is_anew { (0, 0) } else { (was_callers, was_nanos) };
                let more = callers - was_callers;
                if more > 0 {
                    let mean = nanos.saturating_sub(was_nanos) / u128::from(more);
                    handle.record_many(seconds_in_bucket(index, mean), more as usize);
                }
            }
            self.waits.insert(series, waits);
        }
    }
}

/// Returns a mean of waits in seconds, within the bounds of their bucket. (The two sums of a bucket are read
/// one after the other.)
fn seconds_in_bucket(index: usize, mean_nanos: u128) -> f64 {
    let mean = Duration::from_nanos(u64::try_from(mean_nanos).unwrap_or(u64::MAX));
    let bounds = WaitCounts::BOUNDS;
    let above = index.checked_sub(1).and_then(|below| bounds.get(below)).copied();
    let least = above.map_or(Duration::ZERO, |bound| bound + Duration::from_nanos(1));
    let most = bounds.get(index).copied().unwrap_or(Duration::MAX);
    mean.clamp(least, most).as_secs_f64()
}

/// Shows the number of sources.
impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("sources", &self.sources.len()).finish_non_exhaustive()
    }
}
