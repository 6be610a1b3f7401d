//! Keys of requests: addresses of clients, functions, and limiters of a registry.

use super::*;

#[tokio::test]
async fn clients_are_limited_by_their_networks() {
    let server = Server::new(RateLimitLayer::new(per_client(&clock())));
    for (peer, status) in [
        ("203.0.113.9", 200),
        ("::ffff:203.0.113.9", 200),
        ("203.0.113.9", 429),
        ("203.0.113.8", 200),
        ("2001:db8::1", 200),
        ("2001:db8::2", 200),
        ("2001:db8::3", 429),
        ("2001:db8:0:1::1", 200),
    ] {
        // What a client sends in a field changes nothing.
        let request = with(request(peer), &[("x-forwarded-for", "1.1.1.1")]);
        assert_eq!(server.status(request).await, status, "{peer}");
    }
}

#[tokio::test]
async fn behind_a_proxy_the_client_is_the_one_that_the_proxy_tells() {
    let trust = Trust::networks(["10.0.0.0/8"]).unwrap();
    let limit = per_client(&clock()).addresses(ClientAddress::x_forwarded_for(trust));
    let server = Server::new(RateLimitLayer::new(limit));
    for (pretended, status) in [("1.1.1.1", 200), ("2.2.2.2", 200), ("3.3.3.3", 429)] {
        let fields = [("x-forwarded-for", pretended), ("x-forwarded-for", "203.0.113.9")];
        assert_eq!(server.status(with(request("10.0.0.7"), &fields)).await, status);
    }
    let other = with(request("10.0.0.7"), &[("x-forwarded-for", "203.0.113.8")]);
    assert_eq!(server.status(other).await, 200);
}

#[tokio::test]
async fn a_client_that_is_not_known_gets_the_configured_answer() {
    let no_peer = Server::new(RateLimitLayer::new(per_client(&clock())));
    let refused = no_peer.send(request("")).await;
    assert_eq!((refused.status().as_u16(), no_peer.calls()), (500, 0));
    let problem = Problem::from_json(refused.body()).unwrap();
    assert_eq!(problem.title.as_deref(), Some("Internal Server Error"));
    assert_eq!(
        problem.detail.as_deref(),
        Some(
            "the address of the client is not known: the server tells no peer (in axum, serve into_make_service_with_connect_info::<SocketAddr>())"
        )
    );
    assert_eq!(names(&refused), ["content-type"]);

    let answers = [
        (WhenUnknown::Refuse, [400, 400, 400]),
        (WhenUnknown::UsePeer, [200, 200, 429]),
        (WhenUnknown::Share, [200, 200, 429]),
        (WhenUnknown::Admit, [200, 200, 200]),
    ];
    for (answer, statuses) in answers {
        let addresses = ClientAddress::x_forwarded_for(Trust::networks(["10.0.0.0/8"]).unwrap());
        let limit = per_client(&clock()).addresses(addresses.when_unknown(answer));
        let server = Server::new(RateLimitLayer::new(limit));
        for status in statuses {
            let request = with(request("10.0.0.7"), &[("x-forwarded-for", "junk")]);
            assert_eq!(server.status(request).await, status, "{answer:?}");
        }
    }
}

#[tokio::test]
async fn requests_are_limited_by_the_key_of_a_function() {
    let keys = Keyed::<String, _>::with(Buckets::with_clock(quota!(2 / second), clock()));
    let limit = Limit::per_key(keys, |parts| match parts.headers.get("x-api-key") {
        Some(key) if key == "admin" => RequestKey::Unlimited,
        key => key.and_then(|key| key.to_str().ok()).into(),
    });
    let server = Server::new(RateLimitLayer::new(limit));
    for (key, statuses) in [("ada", [200, 200, 429]), ("bob", [200, 200, 429]), ("admin", [200; 3])]
    {
        for status in statuses {
            let request = with(request(""), &[("x-api-key", key)]);
            assert_eq!(server.status(request).await, status, "{key}");
        }
    }
    let refused = server.send(request("")).await;
    assert_eq!(refused.status().as_u16(), 400);
    let problem = Problem::from_json(refused.body()).unwrap();
    assert_eq!(problem.detail.as_deref(), Some("the request has no key to limit it by"));
}

#[tokio::test]
async fn handles_of_a_registry_are_limiters_whose_limits_change_live() {
    use sluicegate_policy::{Policies, Registry};
    let policies = |limit| {
        let text = format!(
            r#"
            limiters.all = {{ policy = "fixed_window", key = "all", limit = {limit}, interval = "1 day" }}
            [limiters.pages]
            policy = "fixed_window"
            key = "client"
            limit = 1
            interval = "1 day"
            overrides."203.0.113.9" = {{ limit = 3 }}
            overrides."2001:db8::" = {{ limit = 2 }}
            "#
        );
        Policies::from_toml("limits.toml", text.as_str()).unwrap()
    };
    let registry = Registry::new(policies(100)).unwrap();
    let named = |name: &str| QuotaPolicy::new(1).named(name).unwrap();
    let layer = RateLimitLayer::all_of([
        Limit::of_all(registry.limiter("all").unwrap()).policy(named("all")),
        Limit::per_client_text(registry.keyed("pages").unwrap()).policy(named("pages")),
    ]);
    let server = Server::new(layer.unwrap());
    for (peer, statuses) in [
        ("203.0.113.9", vec![200, 200, 200, 429]),
        ("203.0.113.8", vec![200, 429]),
        ("2001:db8::5", vec![200, 200, 429]),
    ] {
        for status in statuses {
            assert_eq!(server.status(request(peer)).await, status, "{peer}");
        }
    }
    registry.reload(policies(6)).unwrap();
    let refused = server.send(request("198.51.100.1")).await;
    let problem = Problem::from_json(refused.body()).unwrap();
    assert_eq!(
        (refused.status().as_u16(), problem.violated_policies),
        (429, vec!["all".to_owned()])
    );
}

#[tokio::test]
async fn a_caller_without_a_key_is_limited_by_its_address() {
    let keys = Keyed::<String, _>::with(Buckets::with_clock(quota!(1 / second), clock()));
    let header = http::HeaderName::from_static("x-api-key");
    let server = Server::new(RateLimitLayer::new(Limit::per_key_or_client(keys, header)));
    for (key, peer, status) in [
        (None, "192.0.2.1", 200),
        (None, "192.0.2.1", 429),
        (None, "192.0.2.2", 200),
        (Some("ada"), "192.0.2.1", 200),
        (Some("ada"), "192.0.2.3", 429),
        // Whatever the key, it is not the address of another.
        (Some("192.0.2.4"), "192.0.2.1", 200),
        (None, "192.0.2.4", 200),
    ] {
        let fields: Vec<_> = key.map(|key| ("x-api-key", key)).into_iter().collect();
        assert_eq!(server.status(with(request(peer), &fields)).await, status, "{key:?} {peer}");
    }
}
