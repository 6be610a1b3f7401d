//! Limits of the kinds that policies have.

use sluicegate::keyed::{Buckets, WhenFull};
use sluicegate::{ConfigError, Keyed, Quota, Rate, Refill};
use sluicegate_policy::{ConnectError, Kind};

use crate::{RedisLimit, share_of};

/// Keys that a fallback of this machine knows at a time.
const FALLBACK_KEYS: usize = 100_000;

/// Returns the limit of a kind as the scripts enforce it.
pub(crate) fn limit_of(kind: &Kind) -> Result<RedisLimit, ConnectError> {
    let limit = match kind {
        Kind::TokenBucket { quota, .. } | Kind::LeakyMeter(quota) => {
            RedisLimit::token_bucket(*quota)
        }
        Kind::Gcra { interval, tolerance } => RedisLimit::gcra(*interval, *tolerance),
        Kind::LeakyMinInterval(rate) => {
            RedisLimit::token_bucket(Quota::new(*rate).with_burst(1).map_err(config)?)
        }
        Kind::FixedWindow(limit) => RedisLimit::fixed_window(*limit),
        Kind::WindowFromFirst(limit) => RedisLimit::window_from_first(*limit),
        Kind::SlidingWindow { limit, slots } => RedisLimit::sliding_window(*limit, *slots),
        Kind::SlidingCounter(limit) => RedisLimit::sliding_counter(*limit),
        Kind::SlidingLog(limit) | Kind::WeightedLog { limit, .. } => {
            RedisLimit::sliding_log(*limit)
        }
        kind => {
            let expected = kind.not_on_redis().unwrap_or("expected another kind");
            return Err(ConnectError(format!("no server can keep it: {expected}")));
        }
    };
    limit.map_err(|error| ConnectError(format!("no server can keep it: {error}")))
}

/// Returns a store of this machine's share of a limit: a bucket for each key, whatever the limit is.
pub(super) fn share(kind: &Kind, machines: u32) -> Result<Keyed<String, Buckets>, ConnectError> {
    let quota = match kind {
        Kind::TokenBucket { quota, .. } | Kind::LeakyMeter(quota) => *quota,
        Kind::Gcra { interval, .. } => {
            let rate = Rate::every(*interval).map_err(config)?;
            Quota::new(rate)
                .with_burst(kind.most_at_once().min(Rate::MAX_PERMITS))
                .map_err(config)?
        }
        Kind::LeakyMinInterval(rate) => Quota::new(*rate).with_burst(1).map_err(config)?,
        _ => match kind.window() {
            Some(limit) => Quota::new(limit),
            None => return Err(ConnectError("no machine has a share of such a limit".to_owned())),
        },
    };
    let quota = share_of(quota.with_refill(Refill::Smooth), machines).map_err(config)?;
    let store = Keyed::builder(Buckets::new(quota)).max_keys(FALLBACK_KEYS);
    store.when_full(WhenFull::Deny).build().map_err(config)
}

fn config(error: ConfigError) -> ConnectError {
    ConnectError(error.to_string())
}
