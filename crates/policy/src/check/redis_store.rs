//! The server on which a limiter's keys are.

use std::ops::Range;
use std::time::Duration;

use super::given::{Given, whole};
use super::{Checks, messages};
use crate::tree::Node;
use crate::{Kind, Lease, OnFailure, PasswordFrom, RedisStore};

/// Fields that have no effect on a server: it has space for all keys, and nobody waits there.
pub(super) const NOT_THERE: [&str; 6] =
    ["max_keys", "memory", "keys", "when_full", "wait", "penalty"];

impl Checks<'_> {
    /// Checks the server of `store = { redis = .. }`, and returns it.
    pub(super) fn redis_store(
        &mut self,
        given: &Given<'_>,
        kind: Option<&Kind>,
        node: &Node,
    ) -> Option<RedisStore> {
        for field in NOT_THERE {
            if let Some(own) = given.get(field) {
                let problem = messages::not_on_redis(field, own.span.clone(), node.span.clone());
                self.errors.push(problem);
            }
        }
        if let Some(expected) = kind.and_then(Kind::not_on_redis) {
            let place = given.place_of("policy");
            self.errors.push(messages::kind_not_on_redis(place, node.span.clone(), expected));
        }
        let url = node.get("redis").and_then(|url| self.url(url));
        let prefix = match node.get("prefix") {
            None => Some(RedisStore::PREFIX.to_owned()),
            Some(prefix) => prefix.text().map(str::to_owned),
        };
        let time_limit = match node.get("time_limit") {
            None => Some(RedisStore::TIME_LIMIT),
            Some(limit) => self.time_within(
                "store.time_limit",
                limit,
                Duration::from_millis(1)..=RedisStore::MAX_TIME_LIMIT,
                "must be from 1 ms to 60 s",
            ),
        };
        let failures = node.get("failures").map_or(Some(1), whole);
        let pause = match node.get("pause") {
            None => Some(RedisStore::PAUSE),
            Some(pause) => self.time_within(
                "store.pause",
                pause,
                Duration::from_millis(1)..=RedisStore::MAX_PAUSE,
                "must be from 1 ms to 1 h",
            ),
        };
        let password = self.password(node);
        let on_failure = match node.get("on_failure") {
            None => Some(OnFailure::Closed),
            Some(word) if word.text() == Some("closed") => Some(OnFailure::Closed),
            Some(word) if word.text() == Some("open") => Some(OnFailure::Open),
            Some(table) => table.get("share").and_then(whole).map(|machines| OnFailure::Share {
                machines: u32::try_from(machines).unwrap_or(u32::MAX),
            }),
        };
        let lease = match node.get("lease") {
            None => Some(None),
            Some(lease) => self.lease(given, kind, lease).map(Some),
        };
        Some(RedisStore {
            url: url?,
            password,
            failures: u32::try_from(failures?).ok()?,
            pause: pause?,
            prefix: prefix?,
            time_limit: time_limit?,
            on_failure: on_failure?,
            lease: lease?,
        })
    }

    /// Returns the place of the password, if it is not in the URL.
    fn password(&mut self, node: &Node) -> Option<PasswordFrom> {
        let text = |field| node.get(field).and_then(Node::text);
        match (text("password_file"), text("password_env")) {
            (None, None) => None,
            (Some(path), None) => Some(PasswordFrom::File(path.into())),
            (None, Some(name)) => Some(PasswordFrom::Env(name.to_owned())),
            (Some(_), Some(_)) => {
                let place = node.get("password_env").map_or(0..0, |env| env.span.clone());
                self.report(messages::two_passwords(place))
            }
        }
    }

    fn url(&mut self, node: &Node) -> Option<String> {
        let url = node.text()?;
        let rest = RedisStore::SCHEMES.iter().find_map(|scheme| url.strip_prefix(scheme));
        match rest {
            Some(rest) if !rest.trim_matches('/').is_empty() => Some(url.to_owned()),
            // Not as it is written: it may have a password.
            _ => self.report(messages::not_a_url(node.span.clone())),
        }
    }

    fn lease(&mut self, given: &Given<'_>, kind: Option<&Kind>, node: &Node) -> Option<Lease> {
        let whole_or = |field, default| node.get(field).map_or(Some(default), whole);
        let (nodes, share) = (node.get("nodes").and_then(whole), whole_or("share", 25));
        let expiry = match node.get("expiry") {
            None => Some(Duration::from_secs(1)),
            Some(expiry) => self.time_within(
                "store.lease.expiry",
                expiry,
                Duration::from_millis(1)..=Duration::from_secs(86_400),
                "must be from 1 ms to 1 day",
            ),
        };
        let size = node.get("size").map(whole);
        let max_keys = whole_or("max_keys", 10_000);
        let (nodes, share) = (nodes?, share?);
        if let Some(kind) = kind {
            let limit = kind.most_at_once();
            let least = (nodes * 100).div_ceil(share.max(1));
            if limit < least {
                let place = given.place_of("limit");
                self.errors.push(messages::too_small_to_lease(
                    place,
                    node.span.clone(),
                    limit,
                    least,
                ));
            }
        }
        let lease = Lease {
            nodes: u32::try_from(nodes).ok()?,
            share_percent: u32::try_from(share).ok()?,
            size: match size {
                Some(size) => Some(size?),
                None => None,
            },
            expiry: expiry?,
            max_keys: usize::try_from(max_keys?).ok()?,
        };
        if let Some(kind) = kind {
            self.lease_suits(&lease, kind, given.place_of("policy"), node);
        }
        Some(lease)
    }

    /// Reports leases that would cut a limiter for ever, and warns of those that cut most of its burst.
    pub(super) fn lease_suits(
        &mut self,
        lease: &Lease,
        kind: &Kind,
        place: Range<usize>,
        node: &Node,
    ) {
        let limit = kind.most_at_once();
        if let Some(cause) = kind.cut_by(lease) {
            self.errors.push(messages::cut_by_leases(place, node.span.clone(), cause));
        } else if lease.keeps_back(limit) > limit / 2 {
            let label = format!(
                "at once a key is granted only {} of {limit}, besides what is in leases: take a smaller `share`, or \
                 a smaller `size`",
                limit - lease.keeps_back(limit)
            );
            self.warn("store.lease", node, label);
        }
    }
}
