//! Limiters on a real Redis server, which two services share.

mod outages;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_policy::{OnFailure, Policies, RedisStore, Registry};
use sluicegate_redis::RedisConnector;
use sluicegate_serve::{AdminToken, Bounds, Limiters, Service};
use tokio::runtime::Handle;

use super::redis_server::Server;
use super::running::{Running, TOKEN};

/// The parameters of the requirement's script: 10 tokens, 1 of which comes back in each second; and keys per
/// user, address, endpoint and user, and global.
const POLICY: &str = r#"
[limiters.user]
key = "user"
policy = "token_bucket"
limit = 10
rate = { amount = 1, interval = "1 hour" }
refill = "interval"

[limiters.ip]
key = "client"
policy = "token_bucket"
limit = 3
rate = { amount = 1, interval = "1 hour" }

[limiters.endpoint]
key = ["path", "user"]
policy = "fixed_window"
limit = 2
interval = "1 day"
match = { path_prefix = "/api/" }

[limiters.global]
key = "all"
policy = "sliding_window"
limit = 100
interval = "1 day"
"#;

/// Classes, and a limit of all.
const CLASSES: &str = r#"
[limiters.classes]
key = "user"
policy = "priorities"
limit = 10
rate = { amount = 1, interval = "10 days" }
classes = [{ name = "critical", values = "pay" }, { name = "batch", reserve_percent = 50 }]

[limiters.site]
key = "all"
policy = "token_bucket"
limit = 10
rate = { amount = 1, interval = "10 days" }
"#;

async fn service_on(server: &Server, policy: &str, on_failure: OnFailure) -> Running {
    let store =
        RedisStore { on_failure, prefix: "app".to_owned(), ..RedisStore::new(server.url()) };
    let connector = RedisConnector::new(Handle::current()).by_default(store);
    let policies = Policies::from_toml("limits.toml", policy).unwrap();
    let registry = Registry::connected(policies, Arc::new(connector)).unwrap().counted();
    let token = AdminToken::new(TOKEN).unwrap();
    Running::start(Service::new(Limiters::new(registry)).admin(token), Bounds::default()).await
}

fn ask(limiter: &str, key: &str) -> Value {
    json!({ "limiter": limiter, "key": key })
}

fn names(server: &Server) -> Vec<String> {
    let mut names: Vec<String> =
        redis::cmd("KEYS").arg("*").query(&mut server.connection()).unwrap();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_services_share_their_limits_and_keys_have_names_that_tell_what_they_are() {
    let server = Server::start();
    let one = service_on(&server, POLICY, OnFailure::Closed).await;
    let other = service_on(&server, POLICY, OnFailure::Closed).await;
    let mut remaining = Vec::new();
    for service in [&one, &other, &one] {
        let answer = service.check(ask("user", "42")).await;
        assert!(answer.get("fallback").is_none());
        remaining.push(answer["remaining"].as_u64().unwrap());
    }
    assert_eq!(remaining, [9, 8, 7]);
    assert_eq!(
        other.check(json!({ "limiter": "user", "key": "42", "cost": 7 })).await["remaining"],
        0
    );
    let denied = one.check(ask("user", "42")).await;
    assert_eq!((&denied["decision"], &denied["reason"]), (&json!("denied"), &json!("rate")));
    let wait = denied["retry_after"].as_f64().unwrap();
    assert!(wait > 3_500.0 && wait <= 3_600.0, "{wait}");
    // A look takes nothing, and another key has its own.
    let (_, peek) = one.post("/v1/peek", &ask("user", "43")).await;
    assert_eq!(peek["remaining"], 9);

    one.check(ask("ip", "2001:db8::1")).await;
    one.check(json!({ "limiter": "endpoint", "key": ["/api/a b", "42"] })).await;
    one.check(json!({ "limiter": "global" })).await;
    one.check(ask("user", &"long".repeat(200))).await;
    let names = names(&server);
    let starts = ["app:endpoint:", "app:global:", "app:ip:", "app:user:", "app:user:"];
    assert!(names.iter().zip(starts).all(|(name, start)| name.starts_with(start)), "{names:?}");
    let keys: Vec<&str> =
        names.iter().filter_map(|name| name.split_once('{')).map(|(_, key)| key).collect();
    assert_eq!(keys[..3], ["path+user:/api/a%20b%0a42}", "global}", "ip:2001:db8::/64}"]);
    assert!(keys[3..].contains(&"user:42}"), "{keys:?}");
    // A long key takes no more space than its hash.
    let hashed = |key: &&str| key.starts_with("user:sha256:") && key.len() == 77;
    assert!(keys[3..].iter().any(hashed), "{keys:?}");

    let reset = one.post_as_admin("/v1/reset", &ask("user", "42")).await;
    assert_eq!(reset.status(), 204);
    assert_eq!(other.check(ask("user", "42")).await["remaining"], 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tenants_of_two_services_are_told_whether_permits_are_assured_and_can_be_reset() {
    const POLICY: &str = r#"
        [limiters.tenants]
        key = "user"
        policy = "shares"
        limit = 10
        rate = { amount = 2, interval = "10 days" }
        shares = [{ tenants = 2, assured = { limit = 2, rate = { amount = 1, interval = "10 days" } } }]
    "#;
    let server = Server::start();
    let one = service_on(&server, POLICY, OnFailure::Closed).await;
    let other = service_on(&server, POLICY, OnFailure::Closed).await;
    let ask = |cost: u64| json!({ "limiter": "tenants", "key": "acme", "cost": cost });
    for (service, cost, share) in [(&one, 2, "assured"), (&other, 4, "borrowed")] {
        assert_eq!(service.check(ask(cost)).await["share"], share);
    }
    assert_eq!(one.check(ask(1)).await["decision"], "denied");
    let metrics = other.client.get(other.url("/metrics")).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let borrowed = metrics.lines().find(|line| line.contains("borrowed") && !line.starts_with('#'));
    assert!(borrowed.is_some_and(|line| line.ends_with(" 4")), "{borrowed:?}");

    let reset = one.post_as_admin("/v1/reset", &ask(1)).await;
    assert_eq!(reset.status(), 204);
    assert_eq!(other.check(ask(2)).await["share"], "assured");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn classes_of_two_services_leave_their_reserves_and_are_named() {
    let server = Server::start();
    let one = service_on(&server, CLASSES, OnFailure::Closed).await;
    let other = service_on(&server, CLASSES, OnFailure::Closed).await;
    let ask = |key: &str, cost: u64| json!({ "limiter": "classes", "key": key, "cost": cost });
    for (service, key, cost, class, decision) in [
        (&one, "report", 3, "batch", "granted"),
        (&other, "batch", 3, "batch", "denied"),
        (&other, "batch", 2, "batch", "granted"),
        (&one, "pay", 4, "critical", "granted"),
    ] {
        let answer = service.check(ask(key, cost)).await;
        assert_eq!((&answer["class"], &answer["decision"]), (&json!(class), &json!(decision)));
    }
    let metrics = other.client.get(other.url("/metrics")).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    for line in [
        "sluicegate_class_permits_total{limiter=\"classes\",class=\"batch\"} 2",
        "sluicegate_class_denials_total{limiter=\"classes\",class=\"batch\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    // All classes of a batch take of one limit.
    let both = json!({ "checks": [ask("pay", 1), ask("pay", 1)], "all_or_none": true });
    let (_, answer) = one.post("/v1/check/batch", &both).await;
    assert_eq!((&answer["decision"], &answer["which"]), (&json!("denied"), &json!(1)));
}

/// All are looked at before anything is taken, and these looks are not to be missing in the statistics.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denial_of_all_or_none_by_the_server_and_its_silence_are_counted() {
    let mut server = Server::start();
    let service = service_on(&server, CLASSES, OnFailure::Closed).await;
    service.check(json!({ "limiter": "classes", "key": "pay", "cost": 5 })).await;
    let both = json!({
        "checks": [ask("classes", "report"), { "limiter": "site" }],
        "all_or_none": true,
    });
    let denied = async || service.post("/v1/check/batch", &both).await.1;
    assert_eq!(denied().await["answers"][0]["reason"], "rate");
    server.kill();
    assert_eq!(denied().await["answers"][0]["reason"], "unavailable");
    let page = service.get("/metrics").await.text().await.unwrap();
    for line in [
        "sluicegate_denials_total{limiter=\"classes\",reason=\"rate\"} 1\n",
        "sluicegate_class_denials_total{limiter=\"classes\",class=\"batch\"} 1\n",
        "sluicegate_fallbacks_total{limiter=\"classes\",answer=\"refused\"} 1\n",
        "sluicegate_fallbacks_total{limiter=\"site\",answer=\"refused\"} 1\n",
        "sluicegate_granted_permits_total{limiter=\"site\"} 0\n",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_and_proxies_are_answered_by_the_server_too() {
    let server = Server::start();
    let service = service_on(&server, POLICY, OnFailure::Closed).await;
    let checks = json!([ask("ip", "a"), ask("ip", "a"), ask("ip", "a"), ask("ip", "a")]);
    let (_, all) =
        service.post("/v1/check/batch", &json!({ "checks": checks, "all_or_none": true })).await;
    assert_eq!((&all["decision"], &all["which"]), (&json!("denied"), &json!(3)));
    let (_, each) = service.post("/v1/check/batch", &json!({ "checks": checks })).await;
    let decisions: Vec<&str> = each["answers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| answer["decision"].as_str().unwrap())
        .collect();
    assert_eq!(decisions, ["granted", "granted", "granted", "denied"]);

    let path = "/v1/auth?limiters=ip";
    let auth =
        || service.client.get(service.url(path)).header("x-forwarded-for", "192.0.2.7").send();
    for status in [204, 204, 204, 429] {
        assert_eq!(auth().await.unwrap().status(), status);
    }
    let denied = auth().await.unwrap();
    assert!(denied.headers().contains_key("retry-after"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limiters_that_no_server_can_keep_are_refused_by_name_before_anything_starts() {
    let server = Server::start();
    let refused = |policy: &str| {
        let connector = RedisConnector::new(Handle::current());
        let connector = connector.by_default(RedisStore::new(server.url()));
        let policies = Policies::from_toml("limits.toml", policy).unwrap();
        Registry::connected(policies, Arc::new(connector))
            .map(drop)
            .map_err(|error| error.to_string())
    };
    let budget = "limiters.a = { policy = \"budget\", amount = 5 }";
    let error = refused(budget).unwrap_err();
    assert!(
        error.starts_with("limiter \"a\": no server can keep it: expected one of token_bucket"),
        "{error}"
    );
    let window =
        r#"limiters.a = { policy = "fixed_window", limit = 5, interval = "1 s", wait = "1 s" }"#;
    let error = refused(window).unwrap_err();
    assert!(error.starts_with("limiter \"a\": no server can keep its `wait`"), "{error}");
    // It has a store of its own: in this process.
    refused(&window.replace("wait = \"1 s\"", "max_keys = 9, wait = \"1 s\"")).unwrap();
    assert!(names(&server).is_empty());
}
