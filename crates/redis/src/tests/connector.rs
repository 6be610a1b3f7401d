//! Limiters of policies.

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
