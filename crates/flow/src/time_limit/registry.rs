//! Time limiters by name.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use sluicegate::wait::ThreadTimer;

use crate::sync::SharedLock;

use super::error::UnknownConfiguration;
use super::events::ObserveCalls;
use super::limit::TimeLimit;
use super::limiter::TimeLimiter;
use super::limiter::builder::TimeLimiterBuilder;
use super::spawn::{Spawn, ThreadSpawner};

/// Time limiters and configurations by name, with one timer, spawner and observer for all.
///
/// Limiters are made when they are first asked for. Look one up once and keep it: a lookup takes a
/// lock for reading, and hashes the name; a limiter itself takes no lock. One that was replaced or
/// removed keeps working for those that have it.
///
/// No method panics or blocks, except that methods that add or remove wait for lookups to end, and
/// lookups for those. No code of others runs under the lock but the clone of the timer.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate_flow::time_limit::{OnTimeout, TimeLimit, TimeLimiterRegistry};
///
/// let registry = TimeLimiterRegistry::new(TimeLimit::default());
/// let commands = TimeLimit::new(Duration::from_secs(5))?.with_on_timeout(OnTimeout::LetFinish);
/// registry.configure("commands", commands);
///
/// let search = registry.limiter("search");
/// let payments = registry.limiter_configured("payments", "commands")?;
/// assert_eq!(search.limit().timeout(), Duration::from_secs(1));
/// assert_eq!(payments.limit(), commands);
///
/// let error = registry.limiter_configured("refunds", "comands").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "no configuration is named `comands`: the names are `commands`, `default`",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TimeLimiterRegistry<T = ThreadTimer> {
    timer: T,
    spawner: Arc<dyn Spawn>,
    observer: Option<Arc<dyn ObserveCalls>>,
    named: SharedLock<Named<T>>,
}

struct Named<T> {
    default: TimeLimit,
    configurations: HashMap<String, TimeLimit>,
    limiters: HashMap<String, TimeLimiter<T>>,
}

/// The name of the default configuration.
const DEFAULT: &str = "default";

impl TimeLimiterRegistry {
    /// Creates a registry of limiters with this configuration, unless they are given another.
    #[must_use]
    pub fn new(default: TimeLimit) -> TimeLimiterRegistry {
        TimeLimiterRegistry::with_timer(default, ThreadTimer)
    }
}

/// With 1000 ms, then cancelled.
impl Default for TimeLimiterRegistry {
    fn default() -> TimeLimiterRegistry {
        TimeLimiterRegistry::new(TimeLimit::default())
    }
}

impl<T> TimeLimiterRegistry<T> {
    /// Creates a registry of limiters whose futures sleep on `timer`.
    #[must_use]
    pub fn with_timer(default: TimeLimit, timer: T) -> TimeLimiterRegistry<T> {
        let named = Named { default, configurations: HashMap::new(), limiters: HashMap::new() };
        TimeLimiterRegistry {
            timer,
            spawner: Arc::new(ThreadSpawner),
            observer: None,
            named: SharedLock::new(named),
        }
    }

    /// Sets where operations run without their callers, for limiters that are made from now on.
    #[must_use]
    pub fn spawner(mut self, spawner: impl Spawn + 'static) -> TimeLimiterRegistry<T> {
        self.spawner = Arc::new(spawner);
        self
    }

    /// Tells `observer` of the end of each call of the limiters that are made from now on.
    #[must_use]
    pub fn observer(mut self, observer: impl ObserveCalls + 'static) -> TimeLimiterRegistry<T> {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Adds a configuration, and returns the one that had this name. Limiters that are there keep
    /// theirs. The name `default` is that of the default.
    #[doc(alias = "addConfiguration")]
    pub fn configure(&self, name: impl Into<String>, limit: TimeLimit) -> Option<TimeLimit> {
        let (name, mut named) = (name.into(), self.named.write());
        if name == DEFAULT {
            return Some(std::mem::replace(&mut named.default, limit));
        }
        named.configurations.insert(name, limit)
    }

    /// Removes a configuration, and returns it. Limiters that have it keep it. The default stays.
    pub fn remove_configuration(&self, name: &str) -> Option<TimeLimit> {
        self.named.write().configurations.remove(name)
    }

    /// Returns the configuration with this name, if there is one; `default` is the default.
    #[doc(alias = "getConfiguration")]
    #[must_use]
    pub fn configuration(&self, name: &str) -> Option<TimeLimit> {
        self.named.read().configuration(name)
    }

    /// Returns the limiter with this name, if there is one.
    #[doc(alias = "find")]
    #[must_use]
    pub fn get(&self, name: &str) -> Option<TimeLimiter<T>>
    where
        T: Clone,
    {
        self.named.read().limiters.get(name).cloned()
    }

    /// Returns the limiter with this name. If there is none, makes one with the default
    /// configuration, which allocates.
    #[doc(alias = "timeLimiter")]
    #[must_use]
    pub fn limiter(&self, name: &str) -> TimeLimiter<T>
    where
        T: Clone,
    {
        let default = self.named.read().default;
        self.limiter_with(name, default)
    }

    /// Returns the limiter with this name. If there is none, makes one with `limit`; one that is
    /// there keeps its own.
    #[must_use]
    pub fn limiter_with(&self, name: &str, limit: TimeLimit) -> TimeLimiter<T>
    where
        T: Clone,
    {
        self.get(name).unwrap_or_else(|| {
            let mut named = self.named.write();
            // Another caller may have made it meanwhile.
            let limiter = named.limiters.entry(name.to_owned());
            limiter.or_insert_with(|| self.make(name, limit)).clone()
        })
    }

    /// Returns the limiter with this name. If there is none, makes one with the named
    /// configuration; one that is there keeps its own.
    ///
    /// # Errors
    ///
    /// [`UnknownConfiguration`] if no configuration has that name, whether the limiter is there or
    /// not.
    pub fn limiter_configured(
        &self,
        name: &str,
        configuration: &str,
    ) -> Result<TimeLimiter<T>, UnknownConfiguration>
    where
        T: Clone,
    {
        let limit = {
            let named = self.named.read();
            named.configuration(configuration).ok_or_else(|| named.unknown(configuration))?
        };
        Ok(self.limiter_with(name, limit))
    }

    /// Puts a new limiter with `limit` in place of the one with this name, and returns the old one,
    /// which keeps its limit and its counts.
    pub fn replace(&self, name: &str, limit: TimeLimit) -> Option<TimeLimiter<T>>
    where
        T: Clone,
    {
        let limiter = self.make(name, limit);
        self.named.write().limiters.insert(name.to_owned(), limiter)
    }

    /// Removes the limiter with this name, and returns it.
    pub fn remove(&self, name: &str) -> Option<TimeLimiter<T>> {
        self.named.write().limiters.remove(name)
    }

    /// Returns the limiters that there are, ordered by name. Allocates the list.
    #[doc(alias = "getAllTimeLimiters")]
    #[must_use]
    pub fn limiters(&self) -> Vec<TimeLimiter<T>>
    where
        T: Clone,
    {
        let mut limiters: Vec<_> = self.named.read().limiters.values().cloned().collect();
        limiters.sort_by(|one, other| one.name().cmp(other.name()));
        limiters
    }

    fn make(&self, name: &str, limit: TimeLimit) -> TimeLimiter<T>
    where
        T: Clone,
    {
        let (timer, spawner) = (self.timer.clone(), Arc::clone(&self.spawner));
        let observer = self.observer.clone();
        TimeLimiterBuilder { name: name.to_owned(), limit, timer, spawner, observer }.build()
    }
}

impl<T> Named<T> {
    fn configuration(&self, name: &str) -> Option<TimeLimit> {
        if name == DEFAULT {
            return Some(self.default);
        }
        self.configurations.get(name).copied()
    }

    fn unknown(&self, name: &str) -> UnknownConfiguration {
        let mut known: Vec<_> = self.configurations.keys().cloned().collect();
        known.push(DEFAULT.to_owned());
        known.sort();
        UnknownConfiguration { name: name.to_owned(), known }
    }
}

impl<T> fmt::Debug for TimeLimiterRegistry<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.named.read();
        f.debug_struct("TimeLimiterRegistry")
            .field("default", &named.default)
            .field("configurations", &named.configurations)
            .field("limiters", &named.limiters)
            .finish_non_exhaustive()
    }
}
