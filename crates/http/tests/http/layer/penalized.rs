//! Clients that are refused for a time after a number of offences.

use std::sync::atomic::AtomicU16;

use sluicegate::keyed::{Penalties, TopKeys};
use sluicegate::penalty::{Offence, PenaltyBox, PenaltyRule};

use super::*;

const HOUR: Duration = Duration::from_secs(3_600);
const MINUTE: Duration = Duration::from_secs(60);

type Offenders = Arc<Keyed<ClientKey, Penalties<Clock>>>;

/// Three offences in a minute: an hour.
fn rule() -> PenaltyRule {
    PenaltyRule::new(rate!(3 / minute), HOUR).unwrap()
}

fn offenders(clock: &Clock) -> Offenders {
    Arc::new(Keyed::with(Penalties::with_clock(rule(), Arc::clone(clock))))
}

fn named(name: &str) -> QuotaPolicy {
    QuotaPolicy::new(1).named(name).unwrap()
}

/// A service that responds with the status that the request asks for, and counts its calls.
async fn send(layer: &RateLimitLayer, peer: &str, asked: u16) -> Response<Body> {
    let service = service_fn(move |_: Request<Body>| async move {
        if asked == 0 {
            return Err("out of order");
        }
        let mut response = Response::new(Full::<Bytes>::default());
        *response.status_mut() = StatusCode::from_u16(asked).unwrap();
        response.headers_mut().insert("x-attempts", asked.into());
        Ok(response)
    });
    match layer.layer(service).oneshot(request(peer)).await {
        Ok(response) => read(response).await,
        Err(_) => Response::default(),
    }
}

async fn statuses<const N: usize>(layer: &RateLimitLayer, peer: &str, asked: [u16; N]) -> [u16; N] {
    let mut answers = [0; N];
    for (answer, asked) in answers.iter_mut().zip(asked) {
        *answer = send(layer, peer, asked).await.status().as_u16();
    }
    answers
}

/// Returns the path as the key.
fn path(parts: &http::request::Parts) -> RequestKey<'_> {
    parts.uri.path().into()
}

const EVE: &str = "203.0.113.9";
const ADA: &str = "203.0.113.8";

#[tokio::test]
async fn a_client_whose_log_ins_fail_is_refused_for_a_time() {
    let clock = clock();
    let store = offenders(&clock);
    let failed = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
    let limit = Limit::per_client(Penalized::by_status(Arc::clone(&store), failed));
    let layer = RateLimitLayer::new(limit).fields(FieldVersion::Draft8);

    assert_eq!(statuses(&layer, EVE, [200, 401, 404, 403, 500]).await, [200, 401, 404, 403, 500]);
    assert_eq!(statuses(&layer, EVE, [401, 200, 200]).await, [401, 429, 429]);
    assert_eq!(statuses(&layer, ADA, [200, 401]).await, [200, 401]);
    assert_eq!(store.len(), 2);

    let refused = send(&layer, EVE, 200).await;
    assert_eq!(refused.headers()["retry-after"], "3600");
    assert_eq!(names(&refused), ["content-type", "retry-after"], "no field tells a limit");
    let problem = Problem::from_json(refused.body()).unwrap();
    let detail = problem.detail.as_deref();
    assert_eq!(detail, Some("refused for repeated offences: try again in 3600s"));
    assert!(send(&layer, ADA, 200).await.headers().keys().all(|name| name == "x-attempts"));

    clock.advance(59 * MINUTE);
    assert_eq!(statuses(&layer, EVE, [200]).await, [429]);
    clock.advance(MINUTE * 2);
    assert_eq!(statuses(&layer, EVE, [401, 401, 200]).await, [401, 401, 200]);
}

#[tokio::test]
async fn the_program_pardons_and_penalizes_clients_itself() {
    let clock = clock();
    let store = offenders(&clock);
    let limit = Limit::per_client(Penalized::by_status(Arc::clone(&store), []));
    let layer = RateLimitLayer::new(limit);
    let key = ClientKey::Address(EVE.parse().unwrap());
    assert_eq!(statuses(&layer, EVE, [401; 5]).await, [401; 5]);
    assert!(store.penalize_for(&key, MINUTE).unwrap().is_penalized());
    assert_eq!(statuses(&layer, EVE, [200]).await, [429]);
    assert_eq!(store.penalized().map(|(key, _)| key).collect::<Vec<_>>(), [key]);
    assert!(store.clear(&key));
    assert_eq!(statuses(&layer, EVE, [200]).await, [200]);
}

#[tokio::test]
async fn a_function_counts_the_offences_of_a_response() {
    let clock = clock();
    let store = Arc::new(PenaltyBox::with_clock(rule(), Arc::clone(&clock)));
    let attempts = |head: &http::response::Parts| {
        head.headers["x-attempts"].to_str().unwrap().parse().unwrap_or(0) / 100
    };
    let layer =
        RateLimitLayer::new(Limit::of_all(Penalized::by_head(Arc::clone(&store), attempts)));
    assert_eq!(statuses(&layer, "", [401, 200]).await, [401, 429]);
    assert!(store.clear());
    // By the end of the response.
    let layer =
        RateLimitLayer::new(Limit::of_all(Penalized::by_response(Arc::clone(&store), |end| {
            u64::from(end.end == BodyEnd::Complete) + end.bytes
        })));
    assert_eq!(statuses(&layer, "", [200, 200, 200, 200]).await, [200, 200, 200, 429]);
}

#[tokio::test]
async fn a_request_without_a_response_is_no_offence() {
    let store = Arc::new(PenaltyBox::with_clock(rule(), clock()));
    let layer = RateLimitLayer::new(Limit::of_all(Penalized::by_head(Arc::clone(&store), |_| 3)));
    assert_eq!(statuses(&layer, "", [0, 0, 0]).await, [200; 3]);
    let forever = service_fn(|_: Request<Body>| {
        std::future::pending::<Result<Response<Full<Bytes>>, Infallible>>()
    });
    let mut response = Box::pin(layer.layer(forever).oneshot(request("")));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(response.as_mut().poll(&mut context).is_pending());
    drop(response);
    assert_eq!(store.offend(0), Offence::Counted { remaining: 3 });
}

#[tokio::test]
async fn a_client_that_other_limits_refuse_is_refused_for_a_time() {
    let clock = clock();
    let store = offenders(&clock);
    let layer = RateLimitLayer::all_of([
        per_client(&clock),
        Limit::per_client(Penalized::by_refusals(Arc::clone(&store))),
    ])
    .unwrap()
    .fields(FieldVersion::Draft8);
    assert_eq!(statuses(&layer, EVE, [200; 4]).await, [200, 200, 429, 429]);
    let last = send(&layer, EVE, 200).await;
    // The refusal of the bucket is the third offence. Only the next one is by the penalty.
    assert_eq!(last.headers()["retry-after"], "1");
    let refused = send(&layer, EVE, 200).await;
    assert_eq!(refused.headers()["retry-after"], "3600");
    assert_eq!(refused.headers()["ratelimit-policy"], r#""default";q=2"#);
    clock.advance(MINUTE);
    let refused = send(&layer, EVE, 200).await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (429, &"3540".parse().unwrap())
    );
    assert_eq!(refused.headers()["ratelimit"], r#""default";r=2;t=0"#);
    assert_eq!(statuses(&layer, ADA, [200, 200]).await, [200, 200]);
    assert_eq!(store.len(), 1);
    // Nothing was charged to the other limit meanwhile.
    assert!(store.clear(&ClientKey::Address(EVE.parse().unwrap())));
    assert_eq!(statuses(&layer, EVE, [200; 3]).await, [200, 200, 429]);
}

#[tokio::test]
async fn a_limit_that_all_share_makes_nobody_an_offender() {
    let clock = clock();
    let store = offenders(&clock);
    let layer = RateLimitLayer::all_of([
        Limit::of_all(two(&clock)).policy(named("server")),
        Limit::of_all(several::Late).policy(named("late")).cost(|_| 0),
        Limit::per_client(Penalized::by_refusals(Arc::clone(&store))),
    ])
    .unwrap();
    for _ in 0..10 {
        send(&layer, EVE, 200).await;
    }
    assert!(store.is_empty());
}

#[tokio::test]
async fn responses_and_refusals_count_together_and_keys_can_be_texts() {
    let clock = clock();
    let penalties = Penalties::with_clock(rule(), Arc::clone(&clock));
    let store = Arc::new(Keyed::<String, _>::with(penalties));
    let buckets = Buckets::with_clock(quota!(1 / second, burst 2), Arc::clone(&clock));
    let layer = RateLimitLayer::all_of([
        Limit::per_key(
            Penalized::by_status(Arc::clone(&store), [StatusCode::NOT_FOUND]).and_refusals(),
            path,
        ),
        Limit::per_key(Keyed::<String, _>::with(buckets), path),
    ])
    .unwrap();
    assert_eq!(statuses(&layer, EVE, [404, 404, 404, 200]).await, [404, 404, 429, 429]);
    assert_eq!(store.penalized().map(|(key, _)| key).collect::<Vec<_>>(), ["/"]);
}

#[tokio::test]
async fn a_shadow_counts_offences_and_refuses_nobody() {
    let clock = clock();
    let store = offenders(&clock);
    let told = Arc::new(AtomicU16::new(0));
    let observer = Arc::clone(&told);
    let limit =
        Limit::per_client(Penalized::by_status(Arc::clone(&store), [StatusCode::UNAUTHORIZED]));
    let layer = RateLimitLayer::new(limit).shadow().observe(move |refusal, _| {
        assert!(matches!(refusal.reason(), RefusalReason::Penalized { .. }));
        observer.fetch_add(1, Ordering::SeqCst);
    });
    assert_eq!(statuses(&layer, EVE, [401; 6]).await, [401; 6]);
    assert_eq!((told.load(Ordering::SeqCst), store.penalized().count()), (3, 1));
}

#[tokio::test]
async fn a_full_store_frees_nobody() {
    let clock = clock();
    let penalties = Penalties::with_clock(rule(), Arc::clone(&clock));
    let store = Arc::new(Keyed::<ClientKey, _>::builder(penalties).max_keys(1).build().unwrap());
    let failed = [StatusCode::UNAUTHORIZED];
    let layer = RateLimitLayer::new(Limit::per_client(Penalized::by_status(store, failed)));
    assert_eq!(statuses(&layer, EVE, [401, 401, 401, 200]).await, [401, 401, 401, 429]);
    for last in 0..50 {
        let other = format!("198.51.100.{last}");
        assert_eq!(statuses(&layer, &other, [401; 4]).await, [401; 4]);
    }
    assert_eq!(statuses(&layer, EVE, [200]).await, [429]);
}

#[tokio::test]
async fn a_policy_that_is_set_is_told() {
    let store = offenders(&clock());
    let policy =
        QuotaPolicy::new(3).named("log-ins").unwrap().per(MINUTE).counting("offences".into());
    let limit = Limit::per_client(Penalized::by_status(store, [StatusCode::UNAUTHORIZED]));
    let layer = RateLimitLayer::new(limit.policy(policy)).fields(FieldVersion::Draft8);
    assert_eq!(statuses(&layer, EVE, [401; 3]).await, [401; 3]);
    let refused = send(&layer, EVE, 200).await;
    assert_eq!(refused.headers()["ratelimit-policy"], r#""log-ins";q=3;qu="offences";w=60"#);
    assert_eq!(refused.headers()["ratelimit"], r#""log-ins";r=0;t=3600"#);
}

/// A look at several limits refuses while the penalty runs, and an observer of the store counts that as it does for the
/// penalties alone.
#[tokio::test]
async fn a_refusal_beside_other_limits_is_observed_once() {
    for is_alone in [true, false] {
        let top = Arc::new(TopKeys::<ClientKey>::new(10));
        let penalties = Penalties::with_clock(rule(), clock());
        let store = Keyed::<ClientKey, _>::builder(penalties).observer(Arc::clone(&top));
        let store = Arc::new(store.build().unwrap());
        let eve = ClientKey::Address(EVE.parse().unwrap());
        store.offend(&eve, 3).unwrap();
        let penalized = || {
            let penalized = Penalized::by_status(Arc::clone(&store), [StatusCode::UNAUTHORIZED]);
            Limit::per_client(penalized).policy(named("penalties"))
        };
        let layer = if is_alone {
            RateLimitLayer::new(penalized())
        } else {
            let other = Limit::of_all(TokenBucket::new(quota!(9 / second)));
            RateLimitLayer::all_of([penalized(), other.policy(named("other"))]).unwrap()
        };
        assert_eq!(statuses(&layer, EVE, [200, 200]).await, [429, 429]);
        let denied: Vec<_> = top.denied().iter().map(|key| (key.key, key.count)).collect();
        assert_eq!(denied, [(eve, 2)], "alone: {is_alone}");
    }
}
