//! Limits whose decisions are made elsewhere, and what becomes of requests when they are not.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sluicegate::Grant;
use sluicegate::penalty::Standing;
use sluicegate_http::layer::{Remote, RemoteError, RemoteFailure, RemoteLimiter};

use super::*;

/// A database that grants two requests to each key, or answers otherwise to certain keys.
#[derive(Clone, Default)]
struct Database {
    asked: Arc<AtomicUsize>,
    hanging: Arc<AtomicUsize>,
    given_up: Arc<AtomicUsize>,
}

/// Counts a call that was given up.
struct Call(Option<Arc<AtomicUsize>>);

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(given_up) = &self.0 {
            given_up.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl RemoteLimiter<str> for Database {
    type Error = &'static str;

    async fn try_acquire(
        &self,
        key: &str,
        permits: u64,
    ) -> Result<Grant, RemoteError<&'static str>> {
        let mut call = Call(Some(Arc::clone(&self.given_up)));
        tokio::task::yield_now().await;
        match key {
            "fails" => {
                call.0 = None;
                return Err(RemoteError::Failed("connection refused"));
            }
            "hangs" => {
                self.hanging.fetch_add(1, Ordering::SeqCst);
                std::future::pending::<()>().await;
            }
            _ => {}
        }
        call.0 = None;
        let used = self.asked.fetch_add(1, Ordering::SeqCst) as u64 + permits;
        let standing = Standing::new(2, used.min(2), Duration::from_secs(7));
        if used <= 2 {
            return Ok(standing.grant(permits));
        }
        Err(standing.denial(permits, Duration::from_millis(3_500)).into())
    }
}

type Users = Remote<Database, str>;

fn per_user(users: Users) -> Limit {
    let policy = QuotaPolicy::new(2).named("users").unwrap();
    Limit::per_key(users, |parts| parts.headers["x-user"].to_str().ok().into()).policy(policy)
}

async fn by(client: &Client<HttpConnector, Body>, server: SocketAddr, user: &str) -> Answer {
    send(client, server, Method::GET, "/", &[("x-user", user)]).await
}

const SOON: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(3_600);

#[tokio::test]
async fn a_decision_from_elsewhere_is_told_as_any_other() {
    for is_http2 in [false, true] {
        let layer = RateLimitLayer::new(per_user(Remote::new(Database::default(), LONG)));
        let server = serve(hello().layer(layer.fields(FieldVersion::Draft8))).await;
        let client = client(is_http2);
        let granted = by(&client, server, "ada").await;
        assert_eq!(
            (granted.status.as_u16(), &granted.headers["ratelimit"]),
            (200, &value(r#""users";r=1;t=7"#))
        );
        assert_eq!(by(&client, server, "ada").await.status, 200);
        let refused = by(&client, server, "ada").await;
        assert_eq!((refused.status.as_u16(), &refused.headers["retry-after"]), (429, &value("4")));
        let problem = Problem::from_json(&refused.body).unwrap();
        assert_eq!(problem.violated_policies, ["users"]);
    }
}

#[tokio::test]
async fn without_a_decision_requests_pass_are_refused_or_asked_of_another_limiter() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let users = || {
        let log = Arc::clone(&log);
        Remote::new(Database::default(), SOON).on_failure(move |failure| {
            log.lock().unwrap().push(match failure {
                RemoteFailure::Failed(error) => *error,
                RemoteFailure::TimedOut => "timed out",
            });
        })
    };
    let serve = async |users: Users| {
        let layer = RateLimitLayer::new(per_user(users)).fields(FieldVersion::Draft8);
        serve(hello().layer(layer)).await
    };
    let client = client(false);
    for user in ["fails", "hangs"] {
        let server = serve(users()).await;
        let refused = by(&client, server, user).await;
        assert_eq!((refused.status.as_u16(), refused.headers.get("retry-after")), (503, None));
        assert_eq!(refused.headers.get("ratelimit-policy"), None, "nothing is known of the quota");
        let problem = Problem::from_json(&refused.body).unwrap();
        assert_eq!(problem.kind, ProblemType::TemporaryReducedCapacity);
        assert_eq!(problem.violated_policies, ["users"]);

        let server = serve(users().fail_open()).await;
        let passed = by(&client, server, user).await;
        assert_eq!((passed.status.as_u16(), passed.headers.get("ratelimit")), (200, None));
        let server = serve(users().fail_open().fail_closed()).await;
        assert_eq!(by(&client, server, user).await.status, 503);

        let own = Keyed::<String>::new(quota!(1 / day));
        let server = serve(users().fall_back_to(own)).await;
        assert_eq!(by(&client, server, user).await.status, 200);
        assert_eq!(by(&client, server, user).await.status, 429);
        assert_eq!(by(&client, server, "ada").await.status, 200);
    }
    let log = log.lock().unwrap();
    assert_eq!(*log, [["connection refused"; 5], ["timed out"; 5]].concat());
}

#[tokio::test]
async fn a_limit_of_which_nothing_is_known_does_not_hide_the_others() {
    for version in
        [FieldVersion::Legacy(ResetAs::SecondsLeft), FieldVersion::Draft6, FieldVersion::Draft8]
    {
        let limits = [
            per_user(Remote::new(Database::default(), LONG).fail_open()),
            Limit::of_all(TokenBucket::new(quota!(9 / day)))
                .policy(QuotaPolicy::new(9).named("day").unwrap()),
        ];
        let layer = RateLimitLayer::all_of(limits).unwrap().fields(version);
        let server = serve(hello().layer(layer)).await;
        let passed = by(&client(false), server, "fails").await;
        let fields = ResponseFields::parse(&passed.headers, std::time::SystemTime::now());
        assert_eq!((passed.status.as_u16(), fields.limits.len()), (200, 1), "{version:?}");
        assert_eq!(fields.limits[0].remaining, 8, "{version:?}");
    }
}

#[tokio::test]
async fn a_limit_elsewhere_is_not_asked_for_what_is_refused_here() {
    let database = Database::default();
    let bucket = Arc::new(TokenBucket::new(quota!(1 / day)));
    let limits = [
        per_user(Remote::new(database.clone(), LONG)),
        Limit::of_all(Arc::clone(&bucket)).policy(QuotaPolicy::new(1).named("day").unwrap()),
    ];
    let server = serve(hello().layer(RateLimitLayer::all_of(limits).unwrap())).await;
    let client = client(true);
    assert_eq!(by(&client, server, "ada").await.status, 200);
    let refused = by(&client, server, "ada").await;
    assert_eq!(Problem::from_json(&refused.body).unwrap().violated_policies, ["day"]);
    assert_eq!(database.asked.load(Ordering::SeqCst), 1);
    // What is refused elsewhere costs nothing here.
    bucket.reset();
    assert_eq!(by(&client, server, "fails").await.status, 503);
    assert_eq!(bucket.peek(0).unwrap().remaining(), 1);
}

#[tokio::test]
async fn a_client_that_goes_away_gives_the_decision_up() {
    let database = Database::default();
    let layer = RateLimitLayer::new(per_user(Remote::new(database.clone(), LONG)));
    let server = serve(hello().layer(layer)).await;
    let client = client(true);
    let request = tokio::spawn(async move { by(&client, server, "hangs").await.status });
    until(|| database.hanging.load(Ordering::SeqCst) == 1).await;
    request.abort();
    until(|| database.given_up.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn in_shadow_mode_a_limit_elsewhere_is_asked_and_refuses_nobody() {
    let (database, seen) = (Database::default(), Arc::new(AtomicUsize::new(0)));
    let observed = Arc::clone(&seen);
    let layer = RateLimitLayer::new(per_user(Remote::new(database.clone(), LONG)))
        .shadow()
        .observe(move |_, _| _ = observed.fetch_add(1, Ordering::SeqCst));
    let server = serve(hello().layer(layer)).await;
    let client = client(false);
    for _ in 0..5 {
        assert_eq!(by(&client, server, "ada").await.status, 200);
    }
    assert_eq!((database.asked.load(Ordering::SeqCst), seen.load(Ordering::SeqCst)), (5, 3));
}
