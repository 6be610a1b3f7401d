//! Requests that wait for their limits, and clients that go away meanwhile.

use sluicegate::bucket::SettleableBucket;
use sluicegate::keyed::QueuedKeys;
use sluicegate::wait::{LineLimits, Queued};
use sluicegate::{Clock, ManualClock, Wait, rate};
use sluicegate_flow::concurrency::ConcurrencyLimit;
use sluicegate_http::layer::{Concurrency, Settled, WaitUpTo};

use super::*;

const LONG: Duration = Duration::from_secs(36_000);

type Clocked = Arc<ManualClock>;

fn named(name: &str) -> QuotaPolicy {
    QuotaPolicy::new(1).named(name).unwrap()
}

/// A bucket of one permit an hour, on a clock that stands still.
fn hourly(clock: &Clocked) -> Arc<TokenBucket<Clocked>> {
    Arc::new(TokenBucket::with_clock(quota!(1 / hour), Arc::clone(clock)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_wait_for_their_turns_and_all_pass() {
    for is_http2 in [false, true] {
        let bucket = Arc::new(TokenBucket::new(quota!(1_000 / second, burst 1)));
        let keys = KeyTable::<ClientKey>::with_keys(quota!(1_000 / second, burst 1), 100).unwrap();
        let keys = Arc::new(QueuedKeys::<_, ClientKey>::new(keys));
        let limits = [
            Limit::of_all(WaitUpTo::new(Arc::clone(&bucket), LONG)).policy(named("all")),
            Limit::per_client(WaitUpTo::new(Arc::clone(&keys), LONG)).policy(named("client")),
        ];
        let server = serve(hello().layer(RateLimitLayer::all_of(limits).unwrap())).await;
        let client = client(is_http2);
        let mut tasks = JoinSet::new();
        for _ in 0..30 {
            let client = client.clone();
            tasks.spawn(async move { status(&client, server, "/").await });
        }
        assert_eq!(tasks.join_all().await, [200; 30], "HTTP/2: {is_http2}");
        assert_eq!((bucket.line().waiters(), keys.lines()), (0, 0));
    }
}

#[tokio::test]
async fn a_request_whose_turn_comes_too_late_is_refused_at_once_and_told_the_wait() {
    let bucket = hourly(&Clocked::default());
    let limit = Limit::of_all(WaitUpTo::new(Arc::clone(&bucket), Duration::from_secs(1_800)));
    let layer = RateLimitLayer::new(limit.policy(named("hour"))).fields(FieldVersion::Draft8);
    let server = serve(hello().layer(layer)).await;
    let client = client(false);
    assert_eq!(status(&client, server, "/").await, 200);
    let refused = send(&client, server, Method::GET, "/", &[]).await;
    assert_eq!((refused.status.as_u16(), &refused.headers["retry-after"]), (429, &value("3600")));
    assert_eq!(refused.headers["ratelimit"], r#""hour";r=0;t=3600"#);
    let problem = Problem::from_json(&refused.body).unwrap();
    assert_eq!(problem.violated_policies, ["hour"]);
    let detail = "no permits before the deadline: try again in 3600s";
    assert_eq!(problem.detail.as_deref(), Some(detail));
    assert_eq!(bucket.line().waiters(), 0);
}

#[tokio::test]
async fn a_full_line_refuses_and_tells_the_wait_behind_those_in_it() {
    let clock = Clocked::default();
    let bucket = hourly(&clock);
    bucket.line().set_limits(LineLimits::new().max_waiters(2));
    let limit = Limit::of_all(WaitUpTo::new(Arc::clone(&bucket), LONG));
    let server = serve(hello().layer(RateLimitLayer::new(limit))).await;
    let client = client(true);
    assert_eq!(status(&client, server, "/").await, 200);
    let mut waiting = JoinSet::new();
    for waiters in 1..=2 {
        let client = client.clone();
        waiting.spawn(async move { status(&client, server, "/").await });
        until(|| bucket.line().waiters() == waiters).await;
    }
    let refused = send(&client, server, Method::GET, "/", &[]).await;
    assert_eq!((refused.status.as_u16(), &refused.headers["retry-after"]), (429, &value("10800")));
    // Nobody lost a place: their turns come.
    for _ in 0..2 {
        clock.advance(Duration::from_secs(3_600));
        // Serves the line.
        assert!(bucket.try_acquire(1).is_err());
        assert_eq!(waiting.join_next().await.unwrap().unwrap(), 200);
    }
}

#[tokio::test]
async fn a_request_for_more_than_the_limit_does_not_wait() {
    let bucket = hourly(&Clocked::default());
    let limit = Limit::of_all(WaitUpTo::new(Arc::clone(&bucket), LONG)).cost(|_| 2);
    let server = serve(hello().layer(RateLimitLayer::new(limit))).await;
    let refused = send(&client(false), server, Method::GET, "/", &[]).await;
    assert_eq!((refused.status.as_u16(), refused.headers.get("retry-after")), (429, None));
}

/// Sends a request, and goes away once the server is as `waits` says.
async fn go_away(server: SocketAddr, is_http2: bool, waits: impl Fn() -> bool) {
    if is_http2 {
        // The connection stays, and the stream is reset.
        let client = client(true);
        let task = tokio::spawn({
            let client = client.clone();
            async move { status(&client, server, "/").await }
        });
        until(waits).await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        // The client is kept until the server has seen the reset.
        tokio::spawn(async move {
            tokio::time::sleep(LONG).await;
            drop(client);
        });
    } else {
        let mut stream = TcpStream::connect(server).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        until(waits).await;
        drop(stream);
    }
}

#[tokio::test]
async fn a_client_that_goes_away_gives_up_its_place_in_line_and_all_that_its_request_holds() {
    for is_http2 in [false, true] {
        let clock = Clocked::default();
        let places = Arc::new(ConcurrencyLimit::new(5));
        let tokens = SettleableBucket::with_clock(quota!(100 / hour), Arc::clone(&clock));
        let tokens = Arc::new(tokens);
        let line = SettleableBucket::with_clock(quota!(1 / hour), Arc::clone(&clock));
        let line = Arc::new(Queued::with_clock(line, Arc::clone(&clock)));
        line.try_acquire(1).unwrap();
        let keep = |_: &sluicegate_http::layer::ResponseEnd<'_>| None;
        let limits = [
            Limit::of_all(Settled::by_response(WaitUpTo::new(Arc::clone(&line), LONG), keep))
                .policy(named("line")),
            Limit::of_all(Concurrency::new(Arc::clone(&places))).policy(named("places")),
            Limit::of_all(Settled::by_response(Arc::clone(&tokens), keep))
                .cost(|_| 10)
                .policy(named("tokens")),
        ];
        let layer = RateLimitLayer::all_of(limits).unwrap();
        let server = serve(hello().layer(layer)).await;
        let left = || tokens.peek(0).unwrap().remaining();

        let holds = || (places.in_flight(), left()) == (1, 90);
        go_away(server, is_http2, || line.line().waiters() == 1 && holds()).await;
        until(|| line.line().waiters() == 0).await;
        until(|| places.in_flight() == 0 && left() == 100).await;
        // The permit of the next hour is there for another request.
        clock.advance(Duration::from_secs(3_600));
        assert_eq!(line.peek(1).unwrap().remaining(), 0);
        assert_eq!(status(&client(is_http2), server, "/").await, 200);
        until(|| places.in_flight() == 0).await;
        assert_eq!(left(), 90, "those of the request that was answered stay spent");
    }
}

#[tokio::test]
async fn a_client_that_goes_away_lets_those_behind_it_move_up() {
    for is_http2 in [false, true] {
        let clock = Clocked::default();
        let bucket = hourly(&clock);
        let limit = Limit::of_all(WaitUpTo::new(Arc::clone(&bucket), LONG));
        let server = serve(hello().layer(RateLimitLayer::new(limit))).await;
        bucket.drain();
        let first = async {
            go_away(server, is_http2, || bucket.line().waiters() == 2).await;
            until(|| bucket.line().waiters() == 1).await;
            clock.advance(Duration::from_secs(3_600));
            assert!(bucket.try_acquire(1).is_err());
        };
        let second = async {
            until(|| bucket.line().waiters() == 1).await;
            status(&client(is_http2), server, "/").await
        };
        let ((), status) = tokio::join!(first, second);
        assert_eq!((status, bucket.line().waiters()), (200, 0));
        assert_eq!(bucket.peek(0).unwrap().remaining(), 0);
    }
}

/// Permits that a request holds while it waits come back if it is refused in the end.
#[tokio::test]
async fn a_request_that_is_refused_after_a_wait_has_taken_nothing() {
    let clock = Clocked::default();
    let line = Arc::new(Queued::with_clock(
        FixedWindow::with_clock(rate!(1 / hour), Arc::clone(&clock)).unwrap(),
        Arc::clone(&clock),
    ));
    line.try_acquire(1).unwrap();
    let bucket = hourly(&clock);
    let limits = [
        Limit::of_all(Arc::clone(&bucket)).policy(named("bucket")),
        Limit::of_all(WaitUpTo::new(Arc::clone(&line), LONG)).policy(named("line")),
    ];
    let server = serve(hello().layer(RateLimitLayer::all_of(limits).unwrap())).await;
    let client = client(true);
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { send(&client, server, Method::GET, "/", &[]).await }
    });
    until(|| line.line().waiters() == 1).await;
    assert_eq!(bucket.peek(0).unwrap().remaining(), 0, "it holds what needs no line");
    line.line().close();
    let refused = waiting.await.unwrap();
    assert_eq!((refused.status.as_u16(), bucket.peek(0).unwrap().remaining()), (503, 1));
    let problem = Problem::from_json(&refused.body).unwrap();
    assert_eq!(problem.violated_policies, ["line"]);
    assert_eq!(clock.now_nanos(), 0);
}
