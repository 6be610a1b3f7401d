//! Settings of leases, and what they make of a limit.

use std::time::Duration;

use sluicegate::ConfigError;

use crate::error::LimitError;
use crate::limit::RedisLimit;

/// Settings of the leases of a [`LeasedLimiter`](crate::LeasedLimiter).
///
/// | setting | default | allowed |
/// |---|---|---|
/// | [`nodes`](LeaseOptions::builder): the greatest number of processes that hold leases at the same time | none | 1 to 10,000 |
/// | [`share_percent`](LeaseOptionsBuilder::share_percent): the part of the limit that all leases of a key may hold together | 25 | 1 to 90 |
/// | [`size`](LeaseOptionsBuilder::size): the largest lease, in permits | as the share allows | 1 or more |
/// | [`expiry`](LeaseOptionsBuilder::expiry): the time without a call after which a lease is given back | 1 s | 1 ms to 1 day |
/// | [`max_keys`](LeaseOptionsBuilder::max_keys): the largest number of keys with a lease | 10,000 | 1 to 2^24 |
/// | [`hot_after`](LeaseOptionsBuilder::hot_after): calls for a key within the expiry after which it gets a lease | 4 | 0 to 10^6 |
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate_redis::LeaseOptions;
///
/// let options = LeaseOptions::builder(8).share_percent(50).expiry(Duration::from_secs(2)).build()?;
/// let split = options.split(1_000)?;
/// assert_eq!((split.lease, split.shared), (62, 504));
/// # Ok::<(), sluicegate_redis::LeaseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseOptions {
    nodes: u32,
    percent: u32,
    size: u64,
    expiry: Duration,
    max_keys: usize,
    hot_after: u32,
}

/// The parts of a limit: `shared` and `nodes` times `lease` are the limit, but for what does not divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseSplit {
    /// Largest number of permits that one process holds for a key.
    pub lease: u64,
    /// Permits that the server grants at most at once: also the largest request.
    pub shared: u64,
}

impl LeaseOptions {
    /// The greatest number of nodes.
    pub const MAX_NODES: u32 = 10_000;

    /// The greatest share, in percent.
    pub const MAX_SHARE_PERCENT: u32 = 90;

    /// The shortest expiry.
    pub const MIN_EXPIRY: Duration = Duration::from_millis(1);

    /// The longest expiry.
    pub const MAX_EXPIRY: Duration = Duration::from_secs(86_400);

    /// The greatest number of keys with a lease.
    pub const MAX_KEYS: usize = 1 << 24;

    /// The greatest number of calls after which a key gets a lease.
    pub const MAX_HOT_AFTER: u32 = 1_000_000;

    /// Starts with the defaults, for at most `nodes` processes at the same time.
    ///
    /// Count all limiters that hold leases of the same keys: each process, two while one replaces another, and
    /// each limiter of a process that has several. A process that has ended, in whatever way, holds none.
    pub fn builder(nodes: u32) -> LeaseOptionsBuilder {
        LeaseOptionsBuilder {
            options: LeaseOptions {
                nodes,
                percent: 25,
                size: u64::MAX,
                expiry: Duration::from_secs(1),
                max_keys: 10_000,
                hot_after: 4,
            },
        }
    }

    /// Returns the greatest number of processes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Returns the time without a call after which a lease is given back.
    #[must_use]
    pub fn expiry(&self) -> Duration {
        self.expiry
    }

    /// Returns the largest number of keys with a lease.
    #[must_use]
    pub fn max_keys(&self) -> usize {
        self.max_keys
    }

    /// Returns the number of calls within the expiry after which a key gets a lease.
    #[must_use]
    pub fn hot_after(&self) -> u32 {
        self.hot_after
    }

    /// Divides a limit, the largest number of permits granted at once, into leases and the part that is shared.
    ///
    /// # Errors
    ///
    /// [`LeaseError::TooSmall`] if the share is less than a permit for each node.
    pub fn split(&self, limit: u64) -> Result<LeaseSplit, LeaseError> {
        let (nodes, percent) = (u64::from(self.nodes), u64::from(self.percent));
        let part = u128::from(limit) * u128::from(percent) / 100;
        // No more than the limit.
        let size = (part as u64 / nodes).min(self.size);
        if size == 0 {
            let (nodes, percent) = (self.nodes, self.percent);
            let least = (u64::from(nodes) * 100).div_ceil(u64::from(percent));
            return Err(LeaseError::TooSmall { limit, nodes, percent, least });
        }
        Ok(LeaseSplit { lease: size, shared: limit - nodes * size })
    }
}

impl RedisLimit {
    /// Returns the part of the limit that the server grants beside leases: the same rate, and
    /// [`LeaseSplit::shared`] permits at once.
    ///
    /// # Errors
    ///
    /// [`LeaseError::Cut`] for windows, logs, and intervals that refill more than the shared part;
    /// [`LeaseError::TooSmall`]; and [`LeaseError::Limit`] if the scripts cannot enforce that part.
    pub fn beside_leases(&self, options: &LeaseOptions) -> Result<RedisLimit, LeaseError> {
        let (limit, together) = (self.limit(), self.terms().comes_back_together());
        let shared = options.split(limit)?.shared;
        if shared < together {
            return Err(LeaseError::Cut { together, shared, held: limit - shared });
        }
        Ok(self.with_limit(shared)?)
    }
}

/// Collects the settings of leases.
#[derive(Clone, Copy, Debug)]
#[must_use = "does nothing until `build` is called"]
pub struct LeaseOptionsBuilder {
    options: LeaseOptions,
}

impl LeaseOptionsBuilder {
    /// Sets the part of the limit that the leases of all nodes may hold together, in percent.
    ///
    /// The server grants only the rest at once: so a key that no one has used for long may be granted this much
    /// less than its burst. More makes for larger leases, and fewer round trips.
    pub fn share_percent(mut self, percent: u32) -> LeaseOptionsBuilder {
        self.options.percent = percent;
        self
    }

    /// Sets the largest lease, in permits. It is smaller if the share does not allow as much.
    pub fn size(mut self, permits: u64) -> LeaseOptionsBuilder {
        self.options.size = permits;
        self
    }

    /// Sets the time without a call after which a lease is given back.
    pub fn expiry(mut self, expiry: Duration) -> LeaseOptionsBuilder {
        self.options.expiry = expiry;
        self
    }

    /// Sets the largest number of keys with a lease. Calls for others ask the server.
    pub fn max_keys(mut self, keys: usize) -> LeaseOptionsBuilder {
        self.options.max_keys = keys;
        self
    }

    /// Sets the number of calls for a key within the expiry after which it gets a lease.
    pub fn hot_after(mut self, calls: u32) -> LeaseOptionsBuilder {
        self.options.hot_after = calls;
        self
    }

    /// Returns the options.
    ///
    /// # Errors
    ///
    /// The [`LeaseError`] of the first setting that is out of its range.
    pub fn build(self) -> Result<LeaseOptions, LeaseError> {
        let LeaseOptions { nodes, percent, size, expiry, max_keys, hot_after } = self.options;
        if !(1..=LeaseOptions::MAX_NODES).contains(&nodes) {
            return Err(LeaseError::Nodes { nodes });
        }
        if !(1..=LeaseOptions::MAX_SHARE_PERCENT).contains(&percent) {
            return Err(LeaseError::Share { percent });
        }
        if size == 0 {
            return Err(LeaseError::Size);
        }
        if !(LeaseOptions::MIN_EXPIRY..=LeaseOptions::MAX_EXPIRY).contains(&expiry) {
            return Err(LeaseError::Expiry { expiry });
        }
        if !(1..=LeaseOptions::MAX_KEYS).contains(&max_keys) {
            return Err(LeaseError::Keys { max_keys });
        }
        if hot_after > LeaseOptions::MAX_HOT_AFTER {
            return Err(LeaseError::HotAfter { hot_after });
        }
        Ok(self.options)
    }
}

/// Settings of leases that are out of their range, or do not suit a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// The number of nodes is out of its range.
    #[error("nodes is {nodes}: must be from 1 to {}", LeaseOptions::MAX_NODES)]
    Nodes {
        /// The number of nodes.
        nodes: u32,
    },
    /// The share is out of its range.
    #[error("share is {percent} %: must be from 1 to {} %", LeaseOptions::MAX_SHARE_PERCENT)]
    Share {
        /// The share, in percent.
        percent: u32,
    },
    /// The largest lease is 0.
    #[error("size is 0: must be at least 1; for no leases use the limiter without them")]
    Size,
    /// The expiry is out of its range.
    #[error(
        "expiry is {expiry:?}: must be from {:?} to {:?}",
        LeaseOptions::MIN_EXPIRY,
        LeaseOptions::MAX_EXPIRY
    )]
    Expiry {
        /// The expiry.
        expiry: Duration,
    },
    /// The number of keys is out of its range.
    #[error("max_keys is {max_keys}: must be from 1 to {}", LeaseOptions::MAX_KEYS)]
    Keys {
        /// The number of keys.
        max_keys: usize,
    },
    /// The number of calls after which a key gets a lease is out of its range.
    #[error("hot_after is {hot_after}: must be at most {}", LeaseOptions::MAX_HOT_AFTER)]
    HotAfter {
        /// The number of calls.
        hot_after: u32,
    },
    /// The share of the limit is less than a permit for each node.
    #[error(
        "limit is {limit}: must be at least {least}, of which {percent} % are a permit for each of \
         {nodes} nodes; take a greater share, fewer nodes, or no leases"
    )]
    TooSmall {
        /// The limit.
        limit: u64,
        /// The number of nodes.
        nodes: u32,
        /// The share, in percent.
        percent: u32,
        /// The smallest limit that these settings suit.
        least: u64,
    },
    /// Leases would cut the limit for ever: in each window, or each interval.
    #[error(
        "{together} permits of this limit come back together, of which no more than {shared} would ever be \
         granted, since {held} are kept back for leases: take a smooth token bucket or a GCRA, of which \
         leases cut only the burst; for intervals, a burst of at least {} and a smaller share; or no leases",
        together.saturating_add(*held)
    )]
    Cut {
        /// The permits that come back together: those of a window, or of an interval.
        together: u64,
        /// The most that the server would grant at once.
        shared: u64,
        /// The permits that are kept back for leases.
        held: u64,
    },
    /// The scripts cannot enforce the shared part of the limit.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The table that finds hot keys cannot be built.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

#[cfg(test)]
mod tests {
    use sluicegate::{Refill, quota};

    use super::*;

    #[test]
    fn a_limit_is_the_shared_part_and_the_leases_of_all_nodes() {
        let options = LeaseOptions::builder(3).build().unwrap();
        assert_eq!(options.split(100).unwrap(), LeaseSplit { lease: 8, shared: 76 });
        assert_eq!(options.split(12).unwrap(), LeaseSplit { lease: 1, shared: 9 });
        let error = options.split(11).unwrap_err();
        assert_eq!(error, LeaseError::TooSmall { limit: 11, nodes: 3, percent: 25, least: 12 });
        let most = LeaseOptions::builder(1).share_percent(90).build().unwrap();
        let LeaseSplit { lease, shared } = most.split(u64::MAX).unwrap();
        assert_eq!(lease + shared, u64::MAX);
        let few = LeaseOptions::builder(3).size(2).build().unwrap();
        assert_eq!(few.split(100).unwrap(), LeaseSplit { lease: 2, shared: 94 });
    }

    #[test]
    fn the_part_beside_leases_has_the_rate_of_the_limit_and_a_smaller_burst() {
        let options = LeaseOptions::builder(5).share_percent(50).build().unwrap();
        let (kept, cut): (Vec<_>, Vec<_>) = crate::tests::limits()
            .into_iter()
            .partition(|limit| limit.terms().comes_back_together() == 1);
        assert_eq!((kept.len(), cut.len()), (2, 6));
        for limit in cut {
            let error = limit.beside_leases(&options).unwrap_err();
            let never = LeaseError::Cut { together: 10, shared: 5, held: 5 };
            assert_eq!(error, never, "{limit:?}");
        }
        for limit in kept {
            let part = limit.beside_leases(&options).unwrap();
            assert_eq!((part.limit(), part.kind()), (5, limit.kind()), "{limit:?}");
            assert_eq!(limit.with_limit(10).unwrap().numbers(), limit.numbers(), "{limit:?}");
        }
        let interval = |burst| {
            let quota = quota!(10 / day).with_burst(burst).unwrap();
            RedisLimit::token_bucket(quota.with_refill(Refill::Interval)).unwrap()
        };
        assert_eq!(interval(20).beside_leases(&options).unwrap().limit(), 10);
        let error = interval(14).beside_leases(&options).unwrap_err();
        assert_eq!(error, LeaseError::Cut { together: 10, shared: 9, held: 5 });
    }

    #[test]
    fn a_setting_out_of_its_range_is_an_error_that_says_what_is_allowed() {
        let options = || LeaseOptions::builder(2);
        let text = |builder: LeaseOptionsBuilder| builder.build().unwrap_err().to_string();
        let texts = [
            text(LeaseOptions::builder(0)),
            text(LeaseOptions::builder(10_001)),
            text(options().share_percent(91)),
            text(options().size(0)),
            text(options().expiry(Duration::ZERO)),
            text(options().max_keys(0)),
            text(options().hot_after(1_000_001)),
        ];
        let expected = [
            "nodes is 0: must be from 1 to 10000",
            "nodes is 10001: must be from 1 to 10000",
            "share is 91 %: must be from 1 to 90 %",
            "size is 0: must be at least 1; for no leases use the limiter without them",
            "expiry is 0ns: must be from 1ms to 86400s",
            "max_keys is 0: must be from 1 to 16777216",
            "hot_after is 1000001: must be at most 1000000",
        ];
        assert_eq!(texts, expected);
    }
}
