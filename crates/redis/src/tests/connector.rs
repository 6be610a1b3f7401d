//! Limiters of policies.

mod servers;
mod tenants;

use std::sync::Arc;

use sluicegate_policy::{Policies, Registry};
use tokio::runtime::Handle;

use super::server::Server;
use crate::RedisConnector;

#[tokio::test]
async fn no_key_of_a_client_is_too_long_for_the_server() {
    let server = Server::start();
    let text = format!(
        r#"
        [limiters.api]
        policy = "token_bucket"
        limit = 10
        rate = {{ amount = 1, interval = "1 day" }}
        key = [{{ header = "x-forwarded-tenant-identifier" }}, {{ header = "x-forwarded-project-identifier" }}, "path"]
        store = {{ redis = "{}" }}
        "#,
        server.url()
    );
    let policies = Policies::from_toml("limits.toml", &text).unwrap();
    let connector = RedisConnector::new(Handle::current());
    let registry = Registry::connected(policies, Arc::new(connector)).unwrap();
    let api = registry.remote("api").unwrap();
    // Each is written by its SHA-1, or by up to 150 bytes of which escapes make three times as many.
    for key in ["%".repeat(150), "\u{85}".repeat(75), "%".repeat(151), "k".repeat(100_000)] {
        api.try_pass(&key).await.unwrap_or_else(|error| panic!("{} bytes: {error}", key.len()));
    }
}

#[tokio::test]
async fn limiters_whose_prefix_and_name_have_the_same_text_together_have_keys_of_their_own() {
    let server = Server::start();
    let registry = |prefix: &str, name: &str| {
        let text = format!(
            r#"
            [limiters."{name}"]
            policy = "fixed_window"
            limit = 1
            interval = "1 day"
            store = {{ redis = "{}", prefix = "{prefix}" }}
            "#,
            server.url()
        );
        let policies = Policies::from_toml("limits.toml", &text).unwrap();
        let connector = RedisConnector::new(Handle::current());
        Registry::connected(policies, Arc::new(connector)).unwrap()
    };
    for (prefix, name) in [("app", "a:b"), ("app:a", "b"), ("app", "a%3ab")] {
        let limiter = registry(prefix, name).remote(name).unwrap();
        let pass = limiter.try_pass("").await;
        assert!(pass.is_ok(), "{prefix} {name}: {pass:?}");
        assert!(limiter.try_pass("").await.is_err(), "{prefix} {name}");
    }
}

#[tokio::test]
async fn a_kind_or_a_window_that_changes_live_does_not_start_full_unless_the_policy_lets_it() {
    let server = Server::start();
    let store = format!("store = {{ redis = \"{}\" }}", server.url());
    let policies = |kind: &str| {
        let text = format!("[limiters.api]\nkey = \"user\"\n{kind}\n{store}\n");
        Policies::from_toml("limits.toml", &text).unwrap()
    };
    let window =
        |days| format!("policy = \"fixed_window\"\nlimit = 10\ninterval = \"{days} days\"");
    let rate = "limit = 10\nrate = { amount = 1, interval = \"365 days\" }";
    let changes = [
        window(36_525),
        window(20_000),
        format!("policy = \"token_bucket\"\n{rate}"),
        "policy = \"sliding_log\"\nlimit = 10\ninterval = \"365 days\"".to_owned(),
    ];
    let connector = Arc::new(RedisConnector::new(Handle::current()));
    let registry = Registry::connected(policies(&changes[0]), connector).unwrap();
    let api = registry.remote("api").unwrap();
    let take_all = async || {
        let mut granted = 0;
        while api.try_pass("ada").await.is_ok() {
            granted += 1;
        }
        granted
    };
    assert_eq!(take_all().await, 10);
    for change in &changes[1..] {
        let error = registry.reload(policies(change)).unwrap_err();
        assert!(error.to_string().contains("`reset = true`"), "{error}");
        assert_eq!(take_all().await, 0, "{change}");
    }
    // Other numbers keep what was used.
    registry.reload(policies(&changes[0].replace("limit = 10", "limit = 12"))).unwrap();
    assert_eq!(take_all().await, 2);
    registry.reload(policies(&format!("{}\nreset = true", changes[1]))).unwrap();
    assert_eq!(take_all().await, 10);
}

/// A registry with a limiter that leases up to half of 1,000 permits, of which none comes back within a day.
fn leasing(server: &Server, connector: &RedisConnector, more: &str) -> Registry {
    Registry::connected(policies_with_a_lease(server, more), Arc::new(connector.clone())).unwrap()
}

fn policies_with_a_lease(server: &Server, more: &str) -> Policies {
    let text = format!(
        r#"
        [limiters.api]
        policy = "token_bucket"
        limit = 1_000
        rate = {{ amount = 1, interval = "365 days" }}
        key = "user"
        store = {{ redis = "{}", prefix = "app"{more} }}
        "#,
        server.url()
    );
    Policies::from_toml("limits.toml", &text).unwrap()
}

const LEASE: &str = ", lease = { nodes = 1, share = 50, expiry = \"1 hour\" }";

/// Makes the key hot, so that its lease holds some permits. Returns how many were granted.
async fn use_a_lease(registry: &Registry) -> u64 {
    let api = registry.remote("api").unwrap();
    for _ in 0..40 {
        api.try_pass("ada").await.unwrap();
    }
    40
}

/// Returns the permits that the server has granted or lent, and not got back: of half of them, beside the leases.
async fn charged(server: &Server) -> u64 {
    let connector = RedisConnector::new(Handle::current());
    let api = leasing(server, &connector, "").remote("api").unwrap();
    500 - api.peek("ada", 1).await.unwrap().pass.grant().remaining() - 1
}

#[tokio::test]
async fn a_service_that_shuts_down_gives_its_leases_back() {
    let server = Server::start();
    let connector = RedisConnector::new(Handle::current());
    let registry = leasing(&server, &connector, LEASE);
    let granted = use_a_lease(&registry).await;
    assert!(charged(&server).await > granted, "nothing is lent");
    connector.shutdown().await;
    assert_eq!(charged(&server).await, granted);
}

#[tokio::test]
async fn a_registry_that_reloads_a_policy_gives_the_leases_of_the_old_one_back() {
    let server = Server::start();
    let connector = RedisConnector::new(Handle::current());
    let registry = leasing(&server, &connector, LEASE);
    let granted = use_a_lease(&registry).await;
    assert!(charged(&server).await > granted, "nothing is lent");
    registry.reload(policies_with_a_lease(&server, "")).unwrap();
    // By a task of its own.
    let given_back = async {
        while charged(&server).await > granted {
            tokio::task::yield_now().await;
        }
    };
    let given_back = tokio::time::timeout(std::time::Duration::from_secs(600), given_back).await;
    assert!(given_back.is_ok(), "the lease is never given back");
    assert_eq!(charged(&server).await, granted);
}

#[tokio::test]
async fn counts_of_leases_go_on_when_their_terms_change_with_what_the_old_ones_give_back() {
    let server = Server::start();
    let connector = RedisConnector::new(Handle::current());
    let registry = leasing(&server, &connector, LEASE);
    use_a_lease(&registry).await;
    let leases = || registry.statistics().pop().unwrap().leases.unwrap();
    let before = leases();
    assert!(before.requests > 0 && before.given_back == 0, "{before:?}");
    let others = LEASE.replace("share = 50", "share = 40");
    registry.reload(policies_with_a_lease(&server, &others)).unwrap();
    assert!(leases().requests >= before.requests, "{:?}", leases());
    for _ in 0..6_000 {
        if leases().given_back > 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("nothing that is given back is counted: {:?}", leases());
}
