//! Limits of the kinds that policies have.

use std::sync::Arc;

use sluicegate::clock::MonotonicClock;
use sluicegate::keyed::{Buckets, WhenFull};
use sluicegate::share::Share;
use sluicegate::{ConfigError, Keyed, Quota, Rate, Refill};
use sluicegate_policy::{ClassPolicy, CommonLimiter, ConnectError, Kind, ShareGroup};

use crate::{KeySpace, RedisLimit, RedisShares, share_of};

/// Keys that a fallback of this machine knows at a time.
const FALLBACK_KEYS: usize = 100_000;

/// Returns the limit of a kind as the scripts enforce it.
pub(crate) fn limit_of(kind: &Kind) -> Result<RedisLimit, ConnectError> {
    let limit = match kind {
        Kind::TokenBucket { quota, .. }
        | Kind::LeakyMeter(quota)
        | Kind::Priorities { quota, .. } => RedisLimit::token_bucket(*quota),
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

/// Returns the shares of tenants as the script enforces them.
pub(crate) fn shares_of<R>(
    quota: Quota,
    groups: &[ShareGroup],
    keys: KeySpace,
    runner: R,
) -> Result<RedisShares<R>, ConnectError> {
    let shares = RedisShares::new(quota, groups.iter().map(|group| group.share), keys, runner);
    let shares = shares.map_err(|error| ConnectError(format!("no server can keep it: {error}")))?;
    Ok(shares.with_known_tenants(|group| !groups[group].tenants.is_empty()))
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

/// Returns this machine's share of a limit with shares of tenants. A burst of which it would have less than a permit is
/// one.
pub(super) fn share_of_tenants(
    quota: Quota,
    groups: &[ShareGroup],
    machines: u32,
) -> Result<CommonLimiter, ConnectError> {
    let part = |quota: Quota| share_of(quota, machines).map_err(config);
    let mut own = Vec::with_capacity(groups.len());
    let mut kept = 0;
    for ShareGroup { tenants, share } in groups {
        let assured = part(share.assured())?;
        kept += assured.burst() * share.tenants() as u64;
        let mut part_of_share = Share::new(assured).with_tenants(share.tenants());
        if let Some(ceiling) = share.ceiling() {
            part_of_share = part_of_share.with_ceiling(part(ceiling)?);
        }
        own.push(ShareGroup { tenants: tenants.clone(), share: part_of_share });
    }
    let quota = part(quota)?;
    let quota = quota.with_burst(quota.burst().max(kept)).map_err(config)?;
    common(&Kind::Shares { quota, groups: own })
}

/// Returns this machine's share of a limit with classes, which leave their share of each reserve, rounded up; but no class
/// leaves all of it.
pub(super) fn share_of_classes(
    quota: Quota,
    classes: &[ClassPolicy],
    machines: u32,
) -> Result<CommonLimiter, ConnectError> {
    let quota = share_of(quota, machines).map_err(config)?;
    let reserve = |of_all: u64| of_all.div_ceil(machines.max(1).into()).min(quota.burst() - 1);
    let own =
        |class: &ClassPolicy| ClassPolicy { reserve: reserve(class.reserve), ..class.clone() };
    common(&Kind::Priorities { quota, classes: classes.iter().map(own).collect() })
}

fn common(kind: &Kind) -> Result<CommonLimiter, ConnectError> {
    match CommonLimiter::new(kind, Arc::new(MonotonicClock::new())) {
        Ok(Some(limiter)) => Ok(limiter),
        Ok(None) => Err(ConnectError("no machine has a share of such a limit".to_owned())),
        Err(error) => Err(ConnectError(format!("no machine has a share of it: {error}"))),
    }
}

fn config(error: ConfigError) -> ConnectError {
    ConnectError(error.to_string())
}
