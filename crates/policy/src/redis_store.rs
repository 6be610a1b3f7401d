//! A store on a server that several machines share, as a policy describes it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use indicatif::HumanCount;

/// The Redis or Valkey server that keeps the keys of a limiter, for all machines that ask it.
///
/// This crate has no client: a [`Connector`](crate::Connector) brings one to a [`Registry`](crate::Registry).
#[derive(Clone, PartialEq, Eq)]
pub struct RedisStore {
    /// The URL of the server: `redis://` or, by TLS, `rediss://`; of a cluster, `redis+cluster://NODE,NODE`; of a primary that
    /// sentinels name, `redis+sentinel://SENTINEL,SENTINEL/NAME`. It may have a password, which neither `Debug` nor any
    /// message shows.
    pub url: String,
    /// Place of the password, which is read again for each connection; `None` for that of the URL, if it has one.
    pub password: Option<PasswordFrom>,
    /// The beginning of all names on the server. Limiters of the same prefix, name and numbers share their keys.
    pub prefix: String,
    /// The longest that a decision waits for the server.
    pub time_limit: Duration,
    /// Failures in a row after which the server is left alone, at least 1.
    pub failures: u32,
    /// The time for which it is left alone then.
    pub pause: Duration,
    /// The answer while the server gives none.
    pub on_failure: OnFailure,
    /// The leases of keys that are asked for often; `None` if every decision asks the server.
    pub lease: Option<Lease>,
}

/// The place of a password that is not in a URL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PasswordFrom {
    /// A file, without the line's end behind the password.
    File(PathBuf),
    /// A variable of the environment.
    Env(String),
}

/// The answer to requests while a server gives none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// They are refused.
    #[default]
    Closed,
    /// They are granted.
    Open,
    /// Each machine grants its share of the limit.
    Share {
        /// The number of machines, at least 1.
        machines: u32,
    },
}

/// Leases: permits that a machine takes from the server at once, and spends without asking it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The greatest number of processes that hold leases at a time.
    pub nodes: u32,
    /// The part of the limit that all leases of a key may be together, in percent.
    pub share_percent: u32,
    /// The largest lease, in permits; `None` if only the share bounds it.
    pub size: Option<u64>,
    /// The time without a call after which a lease is given back.
    pub expiry: Duration,
    /// The most keys with a lease.
    pub max_keys: usize,
}

impl Lease {
    /// Returns the largest lease of a limit of so many permits at once.
    fn largest(&self, limit: u64) -> u64 {
        let part = u128::from(limit) * u128::from(self.share_percent) / 100;
        let each = part / u128::from(self.nodes.max(1));
        u64::try_from(each).unwrap_or(u64::MAX).min(self.size.unwrap_or(u64::MAX))
    }

    /// Returns the permits that a limit of so many at once keeps back for the leases of all processes.
    pub(crate) fn keeps_back(&self, limit: u64) -> u64 {
        u64::from(self.nodes).saturating_mul(self.largest(limit)).min(limit)
    }

    /// Returns the leases of at most so many processes at a time, with the other numbers by default: of 25 % of the limit together,
    /// given back after a second, of 10,000 keys.
    #[must_use]
    pub fn of_processes(nodes: u32) -> Lease {
        let (expiry, max_keys) = (Duration::from_secs(1), 10_000);
        Lease { nodes, share_percent: 25, size: None, expiry, max_keys }
    }
}

impl RedisStore {
    /// The prefix if the policy names none.
    pub const PREFIX: &'static str = "sluicegate";

    /// The time limit if the policy names none.
    pub const TIME_LIMIT: Duration = Duration::from_millis(250);

    /// The longest time limit.
    pub const MAX_TIME_LIMIT: Duration = Duration::from_secs(60);

    /// The longest prefix, in bytes.
    pub const MAX_PREFIX: usize = 64;

    /// The beginnings of URLs.
    pub const SCHEMES: [&'static str; 8] = [
        "redis://",
        "rediss://",
        "unix://",
        "redis+unix://",
        "redis+cluster://",
        "rediss+cluster://",
        "redis+sentinel://",
        "rediss+sentinel://",
    ];

    /// The pause after a failure if the policy names none.
    pub const PAUSE: Duration = Duration::from_secs(1);

    /// The longest pause.
    pub const MAX_PAUSE: Duration = Duration::from_secs(3_600);

    /// Describes a server with the defaults: that of `url`.
    #[must_use]
    pub fn new(url: impl Into<String>) -> RedisStore {
        RedisStore {
            url: url.into(),
            password: None,
            prefix: RedisStore::PREFIX.to_owned(),
            time_limit: RedisStore::TIME_LIMIT,
            failures: 1,
            pause: RedisStore::PAUSE,
            on_failure: OnFailure::Closed,
            lease: None,
        }
    }

    /// Returns the URL without a user, a password, and parameters.
    #[must_use]
    pub fn shown_url(&self) -> String {
        let url = self.url.split(['?', '#']).next().unwrap_or_default();
        match url.split_once("://") {
            Some((scheme, rest)) => {
                let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
                format!("{scheme}://{}", crate::escaped(place))
            }
            None => "a server without a scheme".to_owned(),
        }
    }

    /// Returns sentences on the store of a limiter that grants at most so many permits at once, for people.
    pub(crate) fn explain(&self, at_once: u64) -> Vec<String> {
        let (url, limit) = (self.shown_url(), crate::time_in_words(self.time_limit));
        let failure = match self.on_failure {
            OnFailure::Closed => "requests are refused".to_owned(),
            OnFailure::Open => "requests are admitted without a limit".to_owned(),
            OnFailure::Share { machines } => {
                format!("each of {machines} machines admits its share of the limit")
            }
        };
        let mut sentences = vec![
            format!(
                "Keeps its keys on the server {url}, under names that begin with \"{}\": all machines \
                 together admit what is said here.",
                crate::escaped(&self.prefix)
            ),
            format!("If the server does not answer within {limit}, {failure}."),
        ];
        if let Some(lease) = self.lease {
            let (keys, expiry) =
                (HumanCount(lease.max_keys as u64), crate::time_in_words(lease.expiry));
            sentences.push(format!(
                "Up to {} processes spend leases of at most {} % of the limit together, of up to {keys} keys \
                 each, and give them back after {expiry} without a request.",
                lease.nodes, lease.share_percent
            ));
            let (own, shared) = (lease.largest(at_once), at_once - lease.keeps_back(at_once));
            sentences.push(format!(
                "So a key is granted at most {} of its {} permits at once, and {} more from the lease of each \
                 process that has one; what it is granted in the long run stays.",
                HumanCount(shared),
                HumanCount(at_once),
                HumanCount(own)
            ));
        }
        sentences
    }
}

/// Shows the URL without its password.
impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("url", &self.shown_url())
            .field("prefix", &self.prefix)
            .field("password", &self.password)
            .field("time_limit", &self.time_limit)
            .field("failures", &self.failures)
            .field("pause", &self.pause)
            .field("on_failure", &self.on_failure)
            .field("lease", &self.lease)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_shows_a_password() {
        for (url, shown) in [
            ("redis://127.0.0.1/", "redis://127.0.0.1/"),
            ("rediss://ada:s3cret@db.example:6380/2", "rediss://db.example:6380/2"),
            ("redis://:p@ss@db.example/", "redis://db.example/"),
            ("redis+cluster://:s3cret@a:1,b:2", "redis+cluster://a:1,b:2"),
            ("redis+sentinel://ada:s3cret@a,b:2/app/1", "redis+sentinel://a,b:2/app/1"),
            ("unix:///run/redis.sock?pass=s3cret", "unix:///run/redis.sock"),
            ("s3cret", "a server without a scheme"),
        ] {
            let store = RedisStore::new(url);
            assert_eq!(store.shown_url(), shown);
            assert!(!format!("{store:?} {:?}", store.explain(10)).contains("s3cret"), "{url}");
        }
    }
}
