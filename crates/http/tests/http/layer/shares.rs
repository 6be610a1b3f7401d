//! Shares of tenants, and classes of requests that leave a reserve.

use sluicegate::share::{Priorities, Share, Shares};
use sluicegate_http::layer::{ByPriority, ByShare};

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
