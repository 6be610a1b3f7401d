//! Limiters of the policy, as set-ups of the playground.

use std::time::Duration;

use serde_json::{Value, json};
use sluicegate::{Quota, Rate, Refill};
use sluicegate_playground::wire::{Offer, OfferedLimiter, SideSetup};
use sluicegate_policy::{Kind, LimiterPolicy};
use sluicegate_serve::Limiters;

/// Returns the limiters that are in force.
pub(super) fn offer(source: &str, limiters: &Limiters) -> Offer {
    let limiters = limiters.load();
    let offered = limiters.all().iter().map(|limiter| {
        let (side, reason) = match side(limiter.policy(), limiter.has_keys()) {
            Ok(side) => (Some(side), None),
            Err(reason) => (None, Some(reason.to_owned())),
        };
        OfferedLimiter { name: limiter.name().to_owned(), side, reason }
    });
    Offer { source: source.to_owned(), limiters: offered.collect() }
}

/// Returns the set-up of a limiter, or the reason for which the playground has none like it.
fn side(policy: &LimiterPolicy, per_key: bool) -> Result<SideSetup, &'static str> {
    let (algorithm, parameters) = algorithm(&policy.kind)?;
    let Value::Object(parameters) = parameters else { return Err("it has no numbers") };
    Ok(SideSetup {
        algorithm: algorithm.to_owned(),
        parameters: parameters.into_iter().collect(),
        per_key,
        wait: policy.wait.map(|wait| wait.as_secs_f64()),
    })
}

fn algorithm(kind: &Kind) -> Result<(&'static str, Value), &'static str> {
    Ok(match kind {
        Kind::TokenBucket { quota, initial } => {
            if *initial != quota.burst() {
                return Err("it does not start full");
            }
            let smooth = quota.refill() == Refill::Smooth;
            (if smooth { "token_bucket" } else { "interval_bucket" }, bucket(*quota))
        }
        Kind::Gcra { interval, tolerance } => {
            ("gcra", json!({ "interval": seconds(*interval), "tolerance": seconds(*tolerance) }))
        }
        Kind::LeakyMeter(quota) => ("leaky_bucket", bucket(*quota)),
        Kind::LeakyMinInterval(rate) => {
            let period = seconds(rate.period());
            ("leaky_bucket", json!({ "burst": 1, "permits": rate.permits(), "period": period }))
        }
        Kind::FixedWindow(limit) => ("fixed_window", window(*limit)),
        Kind::SlidingWindow { limit, slots } => {
            let mut parameters = window(*limit);
            parameters["slots"] = json!(slots);
            ("sliding_window", parameters)
        }
        Kind::SlidingCounter(limit) => ("sliding_counter", window(*limit)),
        Kind::SlidingLog(limit) => ("sliding_log", window(*limit)),
        Kind::MultiWindow { limits, slots } => {
            let mut limits = limits.clone();
            limits.sort_by_key(|limit| limit.period());
            let [short, long] = limits[..] else { return Err("it does not have two windows") };
            let parameters = json!({
                "short_limit": short.permits(), "short_window": seconds(short.period()),
                "long_limit": long.permits(), "long_window": seconds(long.period()),
                "slots": slots,
            });
            ("several_windows", parameters)
        }
        Kind::CalendarWindow { .. } | Kind::Budget { .. } => {
            return Err("it follows the calendar");
        }
        Kind::All(_) => return Err("it has several limiters"),
        Kind::Shares { .. } => {
            return Err("it has groups of tenants; those of the playground have equal shares");
        }
        _ => return Err("the playground has no such limiter"),
    })
}

fn bucket(quota: Quota) -> Value {
    let rate = quota.rate();
    let period = seconds(rate.period());
    json!({ "burst": quota.burst(), "permits": rate.permits(), "period": period })
}

fn window(limit: Rate) -> Value {
    json!({ "limit": limit.permits(), "window": seconds(limit.period()) })
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use sluicegate_policy::{Policies, Registry};

    use super::*;
    use sluicegate_replay::policy::EVERY_KIND;

    #[test]
    fn shares_are_in_the_list_with_the_reason_why_they_are_not_copied() {
        let policy = r#"
            [limiters.tenants]
            key = { header = "x-tenant" }
            policy = "shares"
            limit = 10
            rate = { amount = 1, interval = "1 second" }
            shares = [{ tenants = 2, weight = 1 }]
        "#;
        let policies = Policies::from_toml("policy.toml", policy).unwrap();
        let limiters = Limiters::new(Registry::new(policies).unwrap());
        let [tenants] = &offer("policy.toml", &limiters).limiters[..] else { panic!("one") };
        let reason = tenants.reason.as_deref().unwrap();
        assert!(reason.contains("those of the playground have equal shares"), "{reason}");
    }

    #[test]
    fn each_limiter_of_the_bundled_policy_is_offered_or_told_why_not() {
        let policies = Policies::from_toml("policy.toml", EVERY_KIND).unwrap();
        let limiters = Limiters::new(Registry::new(policies).unwrap());
        let Offer { source, limiters } = offer("policy.toml", &limiters);
        assert_eq!(source, "policy.toml");
        let of = |name: &str| limiters.iter().find(|limiter| limiter.name == name).unwrap();
        let api = of("api").side.as_ref().unwrap();
        assert_eq!((api.algorithm.as_str(), api.per_key), ("gcra", true));
        assert_eq!(api.parameters["interval"], json!(0.1));
        let server = of("server").side.as_ref().unwrap();
        assert_eq!((server.algorithm.as_str(), server.per_key), ("leaky_bucket", false));
        assert_eq!(server.parameters["burst"], json!(200));
        assert_eq!(of("login").side.as_ref().unwrap().algorithm, "interval_bucket");
        assert_eq!(of("pages-slots").side.as_ref().unwrap().parameters["slots"], json!(30));
        assert_eq!(of("daily").reason.as_deref(), Some("it follows the calendar"));
        assert_eq!(of("burst-and-day").reason.as_deref(), Some("it does not have two windows"));
        assert!(limiters.iter().all(|limiter| limiter.side.is_some() != limiter.reason.is_some()));
    }
}
