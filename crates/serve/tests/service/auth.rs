//! Proxies that ask whether a request may pass.

use std::sync::{Arc, Mutex};

use reqwest::Response;
use sluicegate_serve::Bounds;

use super::running::{POLICY, Running, failure, service_of};

/// The fields of a request as each proxy sends them: the parameter that names them, method, path and client.
const SHAPES: [(&str, &str, &str, &str); 3] = [
    // Traefik's ForwardAuth, Caddy's forward_auth, and nginx's auth_request, by proxy_set_header.
    ("", "x-forwarded-method", "x-forwarded-uri", "x-forwarded-for"),
    // Those of nginx's documentation, and of its Ingress Controller.
    ("&fields=original", "x-original-method", "x-original-uri", "x-forwarded-for"),
    ("&fields=original", "x-original-method", "x-original-url", "x-forwarded-for"),
];

async fn ask(service: &Running, query: &str, fields: &[(&str, &str)]) -> Response {
    let mut request = service.client.get(service.url(&format!("/v1/auth{query}")));
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap()
}

#[tokio::test]
async fn a_request_passes_until_a_limiter_that_judges_it_denies() {
    for (parameter, method, uri, client) in SHAPES {
        let query = format!("?limiters=client{parameter}");
        let service = Running::of(POLICY).await;
        let fields = |path, address| [(method, "GET"), (uri, path), (client, address)];
        for _ in 0..2 {
            let response = ask(&service, &query, &fields("/api/x?page=2", "192.0.2.1")).await;
            assert_eq!(response.status(), 204);
        }
        let denied = ask(&service, &query, &fields("/api/x", "192.0.2.1")).await;
        assert_eq!(denied.status(), 429);
        assert!(denied.headers()["retry-after"].to_str().unwrap().parse::<u64>().unwrap() > 0);
        assert_eq!(denied.headers()["cache-control"], "no-store");
        let body: serde_json::Value = denied.json().await.unwrap();
        assert_eq!(body["limiter"], "client");
        // Another client, another path, and a path that the policy leaves out.
        for (path, address) in
            [("/api/x", "192.0.2.2"), ("/api/y", "192.0.2.1"), ("/x", "192.0.2.1")]
        {
            let other = ask(&service, &query, &fields(path, address)).await;
            assert_eq!(other.status(), 204, "{path} {address}");
        }
        service.end().await;
    }
}

#[tokio::test]
async fn what_a_client_has_sent_in_front_of_its_address_changes_nothing() {
    let service = Running::of(POLICY).await;
    for sent in ["1.1.1.1, ", "2.2.2.2, 10.0.0.1, ", "", "unknown, ", "\", "] {
        let chain = format!("{sent}192.0.2.7");
        let fields = [("x-forwarded-uri", "/api/x"), ("x-forwarded-for", chain.as_str())];
        ask(&service, "?limiters=client", &fields).await;
    }
    let fields = [("x-forwarded-uri", "/api/x"), ("x-forwarded-for", "192.0.2.7")];
    assert_eq!(ask(&service, "?limiters=client", &fields).await.status(), 429);
    service.end().await;
}

/// A proxy sets some fields, and passes on what the client has sent in the others.
#[tokio::test]
async fn fields_that_the_proxy_does_not_set_change_nothing() {
    for (query, set, passed_on) in [
        (
            "?limiters=client",
            ["x-forwarded-method", "x-forwarded-uri"],
            ["x-original-method", "x-original-uri"],
        ),
        (
            "?limiters=client&fields=original",
            ["x-original-method", "x-original-url"],
            ["x-forwarded-method", "x-forwarded-uri"],
        ),
    ] {
        let service = Running::of(POLICY).await;
        let mut statuses = Vec::new();
        for pretended in ["/elsewhere", "/api/a", "/api/b", "/api/c"] {
            let fields = [
                (set[0], "GET"),
                (set[1], "/api/x"),
                (passed_on[0], "POST"),
                (passed_on[1], pretended),
                ("x-forwarded-for", "192.0.2.1"),
            ];
            statuses.push(ask(&service, query, &fields).await.status().as_u16());
        }
        assert_eq!(statuses, [204, 204, 429, 429], "{query}");
        service.end().await;
    }
}

#[tokio::test]
async fn all_limiters_judge_a_request_and_a_denial_costs_the_others_nothing() {
    let service = Running::of(POLICY).await;
    let fields = [("x-forwarded-uri", "/api/x"), ("x-forwarded-for", "192.0.2.1")];
    // Two users that are not known share the key `-` of `user` (2 of 10 each), and `counted` only counts.
    for _ in 0..2 {
        assert_eq!(ask(&service, "", &fields).await.status(), 204);
    }
    for _ in 0..9 {
        let denied = ask(&service, "", &fields).await;
        assert_eq!(denied.status(), 429);
        assert_eq!(denied.json::<serde_json::Value>().await.unwrap()["limiter"], "client");
    }
    let state = service.check(serde_json::json!({ "limiter": "all", "cost": 0 })).await;
    assert_eq!(state["remaining"], 3);
    service.end().await;
}

#[tokio::test]
async fn the_status_of_a_denial_can_be_chosen() {
    let service = Running::of(POLICY).await;
    let fields = [("x-forwarded-uri", "/api/x"), ("x-forwarded-for", "192.0.2.1")];
    for _ in 0..2 {
        ask(&service, "?limiters=client", &fields).await;
    }
    let denied = ask(&service, "?limiters=client&denied=403", &fields).await;
    assert_eq!(denied.status(), 403);
    for (query, status, words) in [
        ("?denied=200", 400, "`denied` is 200: must be from 400 to 599"),
        ("?denied=x", 400, "denied"),
        ("?limiters=client,nobody", 404, "no limiter is named \"nobody\""),
        ("?limiter=client", 400, "unknown field `limiter`"),
        ("?fields=both", 400, "unknown variant `both`, expected `forwarded` or `original`"),
    ] {
        let (got, detail) = failure(ask(&service, query, &fields).await).await;
        assert!(got == status && detail.contains(words), "{query}: {got} {detail}");
    }
    service.end().await;
}

#[tokio::test]
async fn each_name_that_is_not_there_is_told_once() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&told);
    let service = service_of(POLICY)
        .on_unknown_limiter(move |name| into.lock().unwrap().push(name.to_owned()));
    let service = Running::start(service, Bounds::default()).await;
    let client = [("x-forwarded-for", "192.0.2.1")];
    for name in ["old", "all", "old", "older", "old"] {
        let status = ask(&service, &format!("?limiters={name}"), &client).await.status();
        assert_eq!(status, if name == "all" { 204 } else { 404 });
    }
    assert_eq!(*told.lock().unwrap(), ["old", "older"]);
    service.end().await;
}

/// A page cannot set the field of a proxy without asking first, and is not let then.
#[tokio::test]
async fn a_page_of_another_site_in_a_browser_of_this_machine_takes_nothing() {
    let service = Running::of(POLICY).await;
    let fields = [("sec-fetch-site", "cross-site"), ("origin", "https://elsewhere.example")];
    assert_eq!(ask(&service, "?limiters=all", &fields).await.status(), 400);
    let asks_first = service.client.request(reqwest::Method::OPTIONS, service.url("/v1/auth"));
    let asks_first = asks_first.header("origin", "https://elsewhere.example");
    let asks_first = asks_first.header("access-control-request-method", "GET");
    let asks_first = asks_first.header("access-control-request-headers", "x-forwarded-for");
    let answer = asks_first.send().await.unwrap();
    assert_eq!(answer.status(), 405);
    assert!(answer.headers().keys().all(|name| !name.as_str().starts_with("access-control")));
    let state = service.check(serde_json::json!({ "limiter": "all", "cost": 0 })).await;
    assert_eq!(state["remaining"], 5);
    // A proxy passes on what a browser has told it of a link from elsewhere.
    let proxied = [&fields[..], &[("x-forwarded-for", "192.0.2.7")]].concat();
    assert_eq!(ask(&service, "?limiters=all", &proxied).await.status(), 204);
    service.end().await;
}

#[tokio::test]
async fn a_request_without_the_proxys_field_is_refused_and_shares_no_limit() {
    let service = Running::of(POLICY).await;
    let (status, detail) = failure(ask(&service, "", &[]).await).await;
    assert!(status == 400 && detail.starts_with("the client's address: "), "{detail}");
    service.end().await;
}

#[tokio::test]
async fn another_spelling_of_a_path_escapes_no_limit() {
    let policy = r#"
        [limiters.log-ins]
        policy = "fixed_window"
        key = "client"
        limit = 1
        interval = "1 day"
        match = { path = "/login" }
    "#;
    let service = Running::of(policy).await;
    let spellings = [
        "/login",
        "/%6cogin",
        "//login",
        "/./login",
        "/a/../login",
        "/login?x=/y",
        "/%2e/log%69n?x",
        "/x%2f..%2flogin",
        "/login#x",
    ];
    for (place, path) in spellings.into_iter().enumerate() {
        let fields = [("x-forwarded-uri", path), ("x-forwarded-for", "192.0.2.1")];
        let expected = if place == 0 { 204 } else { 429 };
        assert_eq!(ask(&service, "", &fields).await.status(), expected, "{path}");
    }
    for path in ["/login/x", "/a%2Flogin", "/Login"] {
        let fields = [("x-forwarded-uri", path), ("x-forwarded-for", "192.0.2.1")];
        assert_eq!(ask(&service, "", &fields).await.status(), 204, "{path}");
    }
    service.end().await;
}

#[tokio::test]
async fn a_field_that_a_limiter_depends_on_is_there_once() {
    let policy = r#"
        [limiters.log-ins]
        policy = "fixed_window"
        key = "client"
        limit = 9
        interval = "1 day"
        match = { path = "/login", method = "POST" }

        [limiters.all]
        policy = "fixed_window"
        key = "client"
        limit = 9
        interval = "1 day"

        [limiters.tenants]
        policy = "fixed_window"
        key = { header = "x-tenant", missing = "shared" }
        limit = 9
        interval = "1 day"
    "#;
    let service = Running::of(policy).await;
    let client = ("x-forwarded-for", "192.0.2.1");
    let (method, path) = (("x-forwarded-method", "POST"), ("x-forwarded-uri", "/login"));
    for (fields, said) in [
        (
            vec![client, method],
            "`match` or `except` of the path, and the proxy has not sent it as `x-forwarded-uri`",
        ),
        (vec![client, path], "`match` or `except` of the method"),
        (vec![client, method, path, ("x-forwarded-uri", "/")], "`x-forwarded-uri` is given twice"),
        (
            vec![client, method, ("x-forwarded-method", "GET"), path],
            "`x-forwarded-method` is given twice",
        ),
        (
            vec![client, method, path, ("x-tenant", "acme"), ("x-tenant", "globex")],
            "`x-tenant` is given twice, and limiter \"tenants\" decides by it",
        ),
    ] {
        let (status, detail) = failure(ask(&service, "", &fields).await).await;
        assert!(status == 400 && detail.contains(said), "{detail}");
    }
    assert_eq!(ask(&service, "?limiters=all", &[client]).await.status(), 204);
    assert_eq!(ask(&service, "", &[client, method, path]).await.status(), 204);
    service.end().await;
}
