//! Costs and penalties of policies: a registry's limits behind routes of axum.

use http::header::RETRY_AFTER;
use sluicegate_http::layer::ByPolicy;
use sluicegate_policy::{KeyedHandle, Policies, Registry};

use super::*;

fn registry(fields: &str) -> Registry {
    let text = format!("[limiters.calls]\nkey = \"client\"\n{fields}\n");
    Registry::new(Policies::from_toml("limits.toml", &text).unwrap()).unwrap()
}

fn window(limit: u32, fields: &str) -> String {
    format!("policy = \"fixed_window\"\nlimit = {limit}\ninterval = \"1 day\"\n{fields}")
}

/// Returns a limit per value of a header, so that one test has several clients.
fn per_user(handle: KeyedHandle) -> Limit {
    Limit::per_key(ByPolicy::new(handle), |request| {
        request.headers.get("x-user").and_then(|user| user.to_str().ok()).into()
    })
}

/// Returns a limit beside it, which lets all requests pass.
fn other() -> Limit {
    let policy = QuotaPolicy::new(100).named("other").unwrap();
    Limit::of_all(TokenBucket::new(quota!(100 / second))).policy(policy)
}

/// Serves log-ins that succeed, fail and are not found, behind these limits.
async fn log_ins(limits: impl IntoIterator<Item = Limit>) -> SocketAddr {
    let layer = RateLimitLayer::all_of(limits).unwrap();
    let app = Router::new()
        .route("/ok", get(|| async { "hello" }).post(|| async { "hello" }))
        .route("/wrong", get(|| async { StatusCode::UNAUTHORIZED }))
        .layer(layer);
    serve(app).await
}

async fn answers(server: SocketAddr, user: &str, calls: &[(Method, &str)]) -> Vec<u16> {
    let client = client(false);
    let mut statuses = Vec::new();
    for (method, path) in calls {
        let answer = send(&client, server, method.clone(), path, &[("x-user", user)]).await;
        statuses.push(answer.status.as_u16());
    }
    statuses
}

async fn gets(server: SocketAddr, user: &str, paths: &[&str]) -> Vec<u16> {
    let calls: Vec<_> = paths.iter().map(|path| (Method::GET, *path)).collect();
    answers(server, user, &calls).await
}

#[tokio::test]
async fn a_request_costs_what_the_policy_says_and_a_change_is_in_force_at_once() {
    let cost = r#"cost = [{ match = { method = "POST", path_prefix = "/ok" }, permits = 5 }, { permits = 2 }]"#;
    let registry = registry(&window(9, cost));
    let server = log_ins([per_user(registry.keyed("calls").unwrap())]).await;
    let (post, get) = ((Method::POST, "/ok"), (Method::GET, "/ok"));
    let calls = [post.clone(), get.clone(), get.clone(), get.clone()];
    assert_eq!(answers(server, "ada", &calls).await, [200, 200, 200, 429]);

    let text = format!(
        "[limiters.calls]\nkey = \"client\"\n{}",
        window(9, r#"cost = { header = "x-user", missing = 1 }"#)
    );
    registry.reload(Policies::from_toml("limits.toml", &text).unwrap()).unwrap();
    assert_eq!(answers(server, "6", &[get.clone(), get.clone()]).await, [200, 429]);

    // A number.
    let text = text.replace("cost = { header = \"x-user\", missing = 1 }", "cost = 4");
    registry.reload(Policies::from_toml("limits.toml", &text).unwrap()).unwrap();
    assert_eq!(answers(server, "bob", &[get.clone(), get.clone(), get]).await, [200, 200, 429]);
}

#[tokio::test]
async fn a_cost_that_only_the_response_tells_is_refused_unless_the_limit_has_its_own() {
    let registry = registry(&window(9, "cost = \"bytes\""));
    let handle = || registry.keyed("calls").unwrap();
    let server = log_ins([per_user(handle())]).await;
    let client = client(false);
    let answer = send(&client, server, Method::GET, "/ok", &[("x-user", "ada")]).await;
    assert_eq!(answer.status, 500);
    let problem = Problem::from_json(&answer.body).unwrap();
    let detail = "the cost of the request is not known before its response";
    assert_eq!(problem.detail.as_deref(), Some(detail));
    let own = log_ins([per_user(handle()).cost(|_| 5)]).await;
    assert_eq!(gets(own, "ada", &["/ok", "/ok"]).await, [200, 429]);

    // In a shadow nothing is refused, whatever the reason.
    let text = window(9, "key = \"client\"\ncost = \"bytes\"\nshadow = true");
    let text = format!("[limiters.calls]\n{text}");
    registry.reload(Policies::from_toml("limits.toml", &text).unwrap()).unwrap();
    assert_eq!(gets(server, "ada", &["/ok"; 12]).await, [200; 12]);
}

const BY_STATUS: &str =
    r#"penalty = { offences = 2, within = "1 hour", refuse_for = "90 s", by = { status = 401 } }"#;

#[tokio::test]
async fn a_user_whose_log_ins_fail_is_refused_everywhere_and_nobody_else() {
    let registry = registry(&window(100, BY_STATUS));
    let handle = registry.keyed("calls").unwrap();
    let server = log_ins([per_user(handle.clone())]).await;
    let paths = ["/wrong", "/nowhere", "/ok", "/wrong", "/ok", "/wrong"];
    assert_eq!(gets(server, "eve", &paths).await, [401, 404, 200, 401, 429, 429]);
    assert_eq!(gets(server, "ada", &["/ok", "/wrong", "/ok"]).await, [200, 401, 200]);

    let answer = send(&client(false), server, Method::GET, "/ok", &[("x-user", "eve")]).await;
    let wait: u64 = answer.headers[RETRY_AFTER].to_str().unwrap().parse().unwrap();
    assert!((1..=91).contains(&wait), "{wait}");
    let problem = Problem::from_json(&answer.body).unwrap();
    assert!(problem.detail.unwrap().starts_with("refused for repeated offences"));
    // The field of the limit tells its own number, and not that of a penalty.
    assert!(!format!("{:?}", answer.headers).contains("18446744073709551615"));

    assert!(handle.pardon("eve"));
    assert_eq!(gets(server, "eve", &["/ok"]).await, [200]);
}

#[tokio::test]
async fn an_answer_is_judged_with_the_method_the_path_and_the_headers_of_its_request() {
    let by =
        r#"by = { status_class = "4xx", path = "/wrong", header = { x-user = ["eve", "bob"] } }"#;
    let penalty =
        format!(r#"penalty = {{ offences = 1, within = "1 hour", refuse_for = "1 hour", {by} }}"#);
    let registry = registry(&window(100, &penalty));
    let server = log_ins([per_user(registry.keyed("calls").unwrap())]).await;
    assert_eq!(gets(server, "ada", &["/wrong", "/wrong"]).await, [401, 401]);
    assert_eq!(gets(server, "eve", &["/nowhere", "/wrong", "/ok"]).await, [404, 401, 429]);
}

#[tokio::test]
async fn refusals_are_offences_whether_the_limit_is_alone_or_one_of_several() {
    let penalty = r#"penalty = { offences = 2, within = "1 hour", refuse_for = "1 hour" }"#;
    for is_alone in [true, false] {
        let registry = registry(&window(1, penalty));
        let handle = registry.keyed("calls").unwrap();
        let limits = [per_user(handle.clone())].into_iter().chain((!is_alone).then(other));
        let server = log_ins(limits).await;
        assert_eq!(gets(server, "eve", &["/ok", "/ok"]).await, [200, 429]);
        assert_eq!(handle.penalty_left("eve"), None, "{is_alone}");
        assert_eq!(gets(server, "eve", &["/ok"]).await, [429]);
        assert!(handle.penalty_left("eve").is_some(), "{is_alone}");
    }
}

#[tokio::test]
async fn a_request_that_waits_for_its_permits_is_no_offence() {
    let penalty = r#"penalty = { offences = 1, within = "1 hour", refuse_for = "1 hour" }"#;
    let bucket = r#"policy = "token_bucket"
limit = 1
rate = { amount = 1, interval = "10 ms" }
wait = "1 minute""#;
    for is_alone in [true, false] {
        let registry = registry(&format!("{bucket}\n{penalty}"));
        let handle = registry.keyed("calls").unwrap();
        let limits = [per_user(handle.clone())].into_iter().chain((!is_alone).then(other));
        let server = log_ins(limits).await;
        assert_eq!(gets(server, "ada", &["/ok"; 4]).await, [200; 4]);
        assert_eq!(handle.penalty_left("ada"), None);
    }
}

#[tokio::test]
async fn a_refusal_that_no_wait_helps_is_an_offence_although_requests_may_wait() {
    let penalty = r#"penalty = { offences = 1, within = "1 hour", refuse_for = "1 hour" }"#;
    for is_alone in [true, false] {
        let registry = registry(&window(2, &format!("wait = \"1 minute\"\n{penalty}")));
        let handle = registry.keyed("calls").unwrap();
        let dear = per_user(handle.clone()).cost(|request| match request.method {
            Method::POST => 3,
            _ => 1,
        });
        let limits = [dear].into_iter().chain((!is_alone).then(other));
        let server = log_ins(limits).await;
        let calls = [(Method::GET, "/ok"), (Method::POST, "/ok"), (Method::GET, "/ok")];
        assert_eq!(answers(server, "eve", &calls).await, [200, 429, 429], "{is_alone}");
        assert!(handle.penalty_left("eve").is_some());
    }
}

#[tokio::test]
async fn in_a_shadow_of_the_layer_offences_are_noted_as_ever() {
    let penalty = r#"penalty = { offences = 1, within = "1 hour", refuse_for = "1 hour" }"#;
    for wait in ["", "wait = \"1 minute\"\n"] {
        for is_alone in [true, false] {
            let registry = registry(&window(1, &format!("{wait}{penalty}")));
            let handle = registry.keyed("calls").unwrap();
            let limits = [per_user(handle.clone())].into_iter().chain((!is_alone).then(other));
            let layer = RateLimitLayer::all_of(limits).unwrap().shadow();
            let server = serve(hello().layer(layer)).await;
            assert_eq!(gets(server, "eve", &["/"]).await, [200]);
            assert_eq!(handle.penalty_left("eve"), None);
            assert_eq!(gets(server, "eve", &["/"]).await, [200]);
            assert!(handle.penalty_left("eve").is_some(), "{wait} {is_alone}");
        }
    }
}

#[tokio::test]
async fn what_a_penalty_refuses_is_counted_by_the_registry() {
    let penalty = r#"penalty = { offences = 1, within = "1 hour", refuse_for = "1 hour" }"#;
    for wait in ["", "wait = \"1 minute\"\n"] {
        let registry = registry(&window(9, &format!("{wait}{penalty}"))).counted();
        let handle = registry.keyed("calls").unwrap();
        let server = log_ins([per_user(handle.clone())]).await;
        handle.offend("eve", 1).unwrap();
        assert_eq!(gets(server, "eve", &["/ok", "/ok"]).await, [429, 429]);
        assert_eq!(registry.statistics()[0].counts.unwrap().denied, 2, "{wait}");
    }
}

#[tokio::test]
async fn a_limit_of_all_has_costs_and_a_penalty_too() {
    let text = window(9, &format!("cost = 2\n{BY_STATUS}"));
    let text = format!("[limiters.calls]\nkey = \"all\"\n{text}");
    let registry = Registry::new(Policies::from_toml("limits.toml", &text).unwrap()).unwrap();
    let handle = registry.limiter("calls").unwrap();
    let server = log_ins([Limit::of_all(ByPolicy::new(handle.clone()))]).await;
    assert_eq!(
        gets(server, "ada", &["/ok", "/wrong", "/wrong", "/ok"]).await,
        [200, 401, 401, 429]
    );
    assert!(handle.pardon());
    assert_eq!(gets(server, "ada", &["/ok", "/ok"]).await, [200, 429]);
}
