//! Shares of tenants, and classes of requests that leave a reserve.

use http::Extensions;
use sluicegate::Grant;
use sluicegate::penalty::Standing;
use sluicegate::share::{Priorities, Share, ShareGrant, Shares};
use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};
use sluicegate_http::layer::{ByPolicy, ByPriority, ByShare, Remote, RemoteError, RemoteLimiter};
use sluicegate_policy::{Policies, Registry};

use super::*;

/// The tenant that an outer layer has found.
#[derive(Clone)]
struct Tenant(&'static str);

fn of_tenant(tenant: &'static str) -> Request<Body> {
    let mut request = request("192.0.2.1");
    request.extensions_mut().insert(Tenant(tenant));
    request
}

fn to(path: &str) -> Request<Body> {
    let mut request = request("192.0.2.1");
    *request.uri_mut() = path.parse().unwrap();
    request
}

#[tokio::test]
async fn a_tenant_has_its_share_whatever_the_others_borrow() {
    let share = |burst| Share::new(quota!(1 / day).with_burst(burst).unwrap());
    // 8 for all, of which acme has 3.
    let shares = Shares::with_clock(quota!(8 / day), [share(3)], clock()).unwrap();
    let shares = Arc::new(shares);
    let group = |tenant: &str| if tenant == "acme" { 0 } else { usize::MAX };
    let limit = Limit::per_key(ByShare::new(Arc::clone(&shares), group), |request| {
        request.extensions.get().map(|Tenant(tenant)| *tenant).into()
    });
    let server = Server::new(RateLimitLayer::new(limit));
    for (tenant, granted) in [("stranger", 5), ("acme", 3), ("another", 0)] {
        for number in 0..granted + 2 {
            let status = if number < granted { 200 } else { 429 };
            assert_eq!(server.status(of_tenant(tenant)).await, status, "{tenant} {number}");
        }
    }
    // What a client writes into a field changes nothing, and without a tenant there is no share.
    let made_up = with(of_tenant("another"), &[("x-tenant", "acme")]);
    assert_eq!(server.status(made_up).await, 429);
    assert_eq!(server.status(request("192.0.2.1")).await, 400);
    assert_eq!(shares.tenants(0), 1);
}

#[tokio::test]
async fn a_class_of_a_route_is_refused_before_it_takes_the_reserve_of_another() {
    let bucket = TokenBucket::with_clock(quota!(10 / day), clock());
    let classes = [("payments", 0), ("pages", 20), ("exports", 50)];
    let priorities = Arc::new(Priorities::by_percent(bucket, classes).unwrap());
    let layer = |priorities| {
        RateLimitLayer::new(Limit::per_key(ByPriority::new(priorities), |request| {
            // A name that no class has is that of the last one.
            request.uri.path().trim_start_matches('/').into()
        }))
    };
    let server = Server::new(layer(priorities));
    for (path, granted) in [("/anything", 5), ("/exports", 0), ("/pages", 3), ("/payments", 2)] {
        for number in 0..granted + 2 {
            let status = if number < granted { 200 } else { 429 };
            assert_eq!(server.status(to(path)).await, status, "{path} {number}");
        }
    }
    let refused = server.send(to("/pages")).await;
    let retry_after: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    // Three of ten a day have to come back.
    assert!((25_000..=26_000).contains(&retry_after), "{retry_after}");
}

#[tokio::test]
async fn a_layer_of_several_limits_takes_nothing_of_a_share_if_another_refuses() {
    let share = Share::new(quota!(1 / day).with_burst(3).unwrap());
    let shares = Arc::new(Shares::with_clock(quota!(8 / day), [share], clock()).unwrap());
    let tenants = Limit::per_key(ByShare::new(Arc::clone(&shares), |_| 0), |_| "acme".into());
    let tenants = tenants.policy(QuotaPolicy::new(3).named("tenants").unwrap());
    let none = Limit::of_all(TokenBucket::with_clock(quota!(1 / day), clock()));
    let server = Server::new(RateLimitLayer::all_of([tenants, none]).unwrap());
    assert_eq!(server.status(of_tenant("acme")).await, 200);
    assert_eq!(server.status(of_tenant("acme")).await, 429);
    assert_eq!(shares.peek(0, "acme", 0).unwrap().grant().remaining(), 2);
}

#[tokio::test]
async fn classes_and_shares_count_requests_that_a_layer_of_several_limits_refuses() {
    let bucket = TokenBucket::with_clock(quota!(10 / day), clock());
    let priorities = Priorities::by_percent(bucket, [("pages", 0), ("exports", 90)]).unwrap();
    let priorities = Arc::new(priorities.counted());
    let classes = Limit::per_key(ByPriority::new(Arc::clone(&priorities)), |_| "exports".into());
    let share = Share::new(quota!(1 / day).with_burst(1).unwrap());
    let shares = Shares::with_clock(quota!(3 / day), [share], clock()).unwrap().counted();
    let shares = Arc::new(shares);
    let tenants = Limit::per_key(ByShare::new(Arc::clone(&shares), |_| 0), |_| "acme".into());
    let named = |name: &str| QuotaPolicy::new(9).named(name).unwrap();
    let another = || Limit::of_all(TokenBucket::with_clock(quota!(9 / day), clock()));
    for (limit, statuses) in [(classes, [200, 429, 429]), (tenants, [200, 200, 429])] {
        let limits = [limit.policy(named("own")), another().policy(named("another"))];
        let server = Server::new(RateLimitLayer::all_of(limits).unwrap());
        for status in statuses {
            assert_eq!(server.status(to("/")).await, status);
        }
    }
    let counts = [0, 1].map(|class| priorities.answers(class).unwrap().counts());
    assert_eq!(counts.map(|counts| (counts.granted, counts.denied)), [(0, 0), (1, 2)]);
    let answers = shares.answers().unwrap();
    let counts = [answers.assured.counts(), answers.borrowed.counts()];
    assert_eq!(counts.map(|counts| (counts.granted, counts.denied)), [(1, 0), (1, 1)]);
}

/// Sends a request through a layer, and returns the extensions of the request that the service got, if it got one.
async fn served(layer: &RateLimitLayer, request: Request<Body>) -> Option<Extensions> {
    let got = Arc::new(Mutex::new(None));
    let service = service_fn(|request: Request<Body>| {
        *got.lock().unwrap() = Some(request.extensions().clone());
        async { Ok::<_, Infallible>(Response::new(Full::new(Bytes::new()))) }
    });
    let _ = layer.layer(service).oneshot(request).await.unwrap();
    got.lock().unwrap().take()
}

fn by_class(percent: [(&'static str, u8); 2]) -> Limit {
    let bucket = TokenBucket::with_clock(quota!(10 / day), clock());
    let priorities = Arc::new(Priorities::by_percent(bucket, percent).unwrap());
    let limit = Limit::per_key(ByPriority::new(priorities), |request| {
        request.uri.path().trim_start_matches('/').into()
    });
    limit.policy(QuotaPolicy::new(10).named("classes").unwrap())
}

#[tokio::test]
async fn the_service_is_told_the_class_and_whether_permits_are_the_tenants_own() {
    let layer = RateLimitLayer::new(by_class([("pages", 0), ("exports", 0)]));
    for (path, class) in [("/pages", "pages"), ("/exports", "exports"), ("/other", "exports")] {
        for layer in
            [layer.clone(), layer.clone().fields(FieldVersion::Draft8), layer.clone().shadow()]
        {
            let extensions = served(&layer, to(path)).await;
            let told = extensions.unwrap().get::<RequestClass>().map(ToString::to_string);
            assert_eq!(told.as_deref(), Some(class));
        }
    }
    let share = Share::new(quota!(1 / day).with_burst(1).unwrap());
    let shares = Arc::new(Shares::with_clock(quota!(8 / day), [share], clock()).unwrap());
    let tenants = Limit::per_key(ByShare::new(shares, |_| 0), |_| "acme".into());
    let tenants = tenants.policy(QuotaPolicy::new(3).named("tenants").unwrap());
    let both = [tenants, by_class([("pages", 0), ("exports", 50)])];
    let layer = RateLimitLayer::all_of(both).unwrap();
    for is_assured in [true, false] {
        let extensions = served(&layer, to("/pages")).await.unwrap();
        let grant = extensions.get::<ShareGrant>().unwrap();
        assert_eq!((grant.is_assured(), grant.permits()), (is_assured, 1));
        assert_eq!(extensions.get::<RequestClass>().unwrap().as_str(), "pages");
    }
    let of_all = RateLimitLayer::new(Limit::of_all(two(&clock())));
    let extensions = served(&of_all, to("/pages")).await.unwrap();
    assert!(extensions.get::<RequestClass>().is_none() && extensions.get::<ShareGrant>().is_none());
}

#[tokio::test]
async fn a_client_is_told_its_class_only_if_the_limit_says_so() {
    for is_told in [true, false] {
        let limit = by_class([("pages", 0), ("exports", 80)]);
        let limit = if is_told { limit.tell_class() } else { limit };
        let seen = Arc::new(Mutex::new(Vec::new()));
        let classes = Arc::clone(&seen);
        let layer =
            RateLimitLayer::new(limit).fields(FieldVersion::Draft8).observe(move |refusal, _| {
                classes.lock().unwrap().push(refusal.class().map(str::to_owned));
            });
        let server = Server::new(layer);
        let field = |response: &Response<Body>| {
            response.headers()["ratelimit"].to_str().unwrap().to_owned()
        };
        let class = |class: &str| {
            let key = base64(class);
            if is_told { format!(";pk=:{key}:") } else { String::new() }
        };
        let passed = server.send(to("/exports")).await;
        assert!(field(&passed).starts_with("\"classes\";r=1;t="), "{passed:?}");
        assert!(field(&passed).ends_with(&class("exports")), "{passed:?}");
        assert_eq!(field(&passed).contains("pk="), is_told);
        assert_eq!(server.status(to("/exports")).await, 200);

        let refused = server.send(to("/exports")).await;
        assert_eq!(refused.status(), 429);
        assert!(field(&refused).ends_with(&class("exports")), "{refused:?}");
        let problem = Problem::from_json(refused.body()).unwrap();
        assert_eq!(problem.class.as_deref(), is_told.then_some("exports"));
        assert_eq!(problem.violated_policies, ["classes"]);
        // In any case the program learns it.
        assert_eq!(*seen.lock().unwrap(), [Some("exports".to_owned())]);
    }
}

/// So a client knows that it is the same quota that other responses tell.
#[tokio::test]
async fn the_class_is_told_with_its_quota_whichever_limit_refuses() {
    let once = || Limit::of_all(TokenBucket::with_clock(quota!(1 / day), clock()));
    let once = || once().policy(QuotaPolicy::new(1).named("once").unwrap());
    let classes = by_class([("pages", 0), ("exports", 50)]).tell_class();
    let layer = RateLimitLayer::all_of([classes, once()]).unwrap().fields(FieldVersion::Draft8);
    let server = Server::new(layer);
    for status in [200, 429] {
        let response = server.send(to("/exports")).await;
        assert_eq!(response.status(), status);
        let field = response.headers()["ratelimit"].to_str().unwrap();
        let class = format!(";pk=:{}:", base64("exports"));
        let (of_classes, of_once) = field.split_once(", ").unwrap();
        assert!(of_classes.ends_with(&class) && !of_once.contains("pk="), "{status}: {field}");
        // The class has not refused it.
        assert_eq!(Problem::from_json(response.body()).and_then(|problem| problem.class), None);
    }
}

#[tokio::test]
async fn the_class_is_told_with_its_quota_by_a_response_of_the_time_limit() {
    let limit = by_class([("pages", 0), ("exports", 50)]).tell_class();
    let time_limit = TimeLimiter::new("service", TimeLimit::new(Duration::from_millis(2)).unwrap());
    let layer = RateLimitLayer::new(limit).fields(FieldVersion::Draft8).time_limit(time_limit);
    let silent = service_fn(|_: Request<Body>| {
        std::future::pending::<Result<Response<Full<Bytes>>, Infallible>>()
    });
    let response = layer.layer(silent).oneshot(to("/exports")).await.unwrap();
    assert_eq!(response.status(), 503);
    let field = response.headers()["ratelimit"].to_str().unwrap();
    assert!(field.ends_with(&format!(";pk=:{}:", base64("exports"))), "{field}");
}

/// Returns the text as structured fields write bytes.
fn base64(text: &str) -> &str {
    match text {
        "exports" => "ZXhwb3J0cw==",
        other => panic!("not written down: {other}"),
    }
}

const POLICIES: &str = r#"
[limiters.tenants]
key = { header = "x-tenant" }
policy = "shares"
limit = 4
rate = { amount = 1, interval = "1 day" }
shares = [{ tenants = 2, assured = { limit = 1, rate = { amount = 1, interval = "3 days" } } }]

[limiters.classes]
key = "path"
policy = "priorities"
limit = 10
rate = { amount = 1, interval = "1 day" }
classes = [{ name = "pages", values = "/pages" }, { name = "exports", reserve_percent = 50 }]
"#;

/// Returns limits of tenants and of classes by a new registry.
fn by_policy() -> [Limit; 2] {
    let registry = Registry::new(Policies::from_toml("limits.toml", POLICIES).unwrap()).unwrap();
    let handle = |name: &str| ByPolicy::new(registry.keyed(name).unwrap());
    let named = |name: &str| QuotaPolicy::new(4).named(name).unwrap();
    [
        Limit::per_key(handle("tenants"), |_| "acme".into()).policy(named("tenants")),
        Limit::per_key(handle("classes"), |request| request.uri.path().into())
            .policy(named("classes")),
    ]
}

#[tokio::test]
async fn the_service_is_told_the_same_by_a_policy() {
    let [tenants, classes] = by_policy().map(RateLimitLayer::new);
    let both = RateLimitLayer::all_of(by_policy()).unwrap();
    for (path, class, is_assured) in [("/pages", "pages", true), ("/anything", "exports", false)] {
        for (layer, has_classes) in [(&tenants, false), (&both, true)] {
            let extensions = served(layer, to(path)).await.unwrap();
            assert_eq!(extensions.get::<ShareGrant>().unwrap().is_assured(), is_assured);
            assert_eq!(extensions.get::<RequestClass>().is_some(), has_classes);
        }
        let extensions = served(&classes, to(path)).await.unwrap();
        assert_eq!(extensions.get::<RequestClass>().unwrap().as_str(), class);
        assert!(extensions.get::<ShareGrant>().is_none());
    }
}

/// Classes whose decisions are made elsewhere, where exports are denied.
struct Elsewhere;

impl RemoteLimiter<str> for Elsewhere {
    type Error = Infallible;

    async fn try_acquire(
        &self,
        class: &str,
        permits: u64,
    ) -> Result<Grant, RemoteError<Infallible>> {
        let standing = Standing::new(10, 5, Duration::from_secs(5));
        match class {
            "pages" => Ok(standing.grant(permits)),
            _ => Err(standing.denial(permits, Duration::from_secs(1)).into()),
        }
    }

    fn class(&self, class: &str) -> Option<&str> {
        Some(if class == "pages" { "pages" } else { "exports" })
    }
}

#[tokio::test]
async fn a_class_of_a_limit_elsewhere_is_told_in_the_same_way() {
    let remote = Remote::new(Elsewhere, Duration::from_secs(600));
    let limit = Limit::per_key(remote, |request| request.uri.path().trim_start_matches('/').into());
    let layer = RateLimitLayer::new(limit.tell_class());
    let extensions = served(&layer, to("/pages")).await.unwrap();
    assert_eq!(extensions.get::<RequestClass>().unwrap().as_str(), "pages");
    let refused = Server::new(layer).send(to("/anything")).await;
    let problem = Problem::from_json(refused.body()).unwrap();
    assert_eq!(problem.class.as_deref(), Some("exports"));
}
