//! Several limits: all or nothing, and the refusal that is told.

use sluicegate::Wait;

use super::*;

#[tokio::test]
async fn several_limits_take_from_all_or_from_none() {
    let clock = clock();
    let bucket = Arc::new(TokenBucket::with_clock(quota!(5 / second), Arc::clone(&clock)));
    let window = FixedWindow::with_clock(rate!(2 / hour), Arc::clone(&clock)).unwrap();
    let window = Arc::new(window);
    let log = Arc::new(SlidingLog::with_clock(rate!(4 / minute), Arc::clone(&clock)).unwrap());
    let named = |name: &str, quota| QuotaPolicy::new(quota).named(name).unwrap();
    let layer = RateLimitLayer::all_of([
        // A log cannot be given back what it has granted.
        Limit::of_all(Arc::clone(&log)).policy(named("minute", 4)),
        Limit::of_all(Arc::clone(&bucket)).policy(named("burst", 5)),
        Limit::of_all(Arc::clone(&window)).policy(named("hour", 2)),
    ]);
    let server = Server::new(layer.unwrap().fields(FieldVersion::Draft8));
    let first = server.send(request("")).await;
    assert_eq!(
        first.headers()["ratelimit"],
        r#""minute";r=3;t=60, "burst";r=4;t=1, "hour";r=1;t=3600"#
    );
    assert_eq!(server.status(request("")).await, 200);
    for _ in 0..3 {
        let refused = server.send(request("")).await;
        assert_eq!(
            (refused.status().as_u16(), &refused.headers()["retry-after"]),
            (429, &"3600".parse().unwrap())
        );
        assert_eq!(
            refused.headers()["ratelimit"],
            r#""minute";r=2;t=60, "burst";r=3;t=1, "hour";r=0;t=3600"#
        );
        let problem = Problem::from_json(refused.body()).unwrap();
        assert_eq!(problem.violated_policies, ["hour"]);
    }
    let left = [bucket.peek(0), window.peek(0), log.peek(0)];
    assert_eq!(left.map(|left| left.unwrap().remaining()), [3, 0, 2]);
    assert_eq!(server.calls(), 2);
}

/// Each of three limits would grant by itself, and together they ask for more than there is.
#[tokio::test]
async fn a_limiter_that_several_limits_share_gets_all_of_it_back() {
    let bucket = Arc::new(TokenBucket::with_clock(quota!(2 / second), clock()));
    let limits = ["a", "b", "c"].map(|name| {
        let policy = QuotaPolicy::new(2).named(name).unwrap();
        Limit::of_all(Arc::clone(&bucket)).policy(policy)
    });
    let server = Server::new(RateLimitLayer::all_of(limits).unwrap());
    assert_eq!(server.status(request("")).await, 429);
    assert_eq!(bucket.peek(0).unwrap().remaining(), 2);
}

/// Sends one request to two limits that both refuse, and returns the policy that is told, and the wait.
async fn told_by(first: Limit, second: Limit) -> (String, Option<String>) {
    let named = |name: &str| QuotaPolicy::new(1).named(name).unwrap();
    let layer = RateLimitLayer::all_of([first.policy(named("a")), second.policy(named("b"))]);
    let refused = Server::new(layer.unwrap()).send(request("")).await;
    assert_eq!(refused.status(), 429);
    let mut violated = Problem::from_json(refused.body()).unwrap().violated_policies;
    assert_eq!(violated.len(), 1);
    let wait = refused.headers().get("retry-after");
    (violated.remove(0), wait.map(|wait| wait.to_str().unwrap().to_owned()))
}

#[tokio::test]
async fn of_several_refusals_the_one_with_the_longest_wait_is_told() {
    let empty = |quota| {
        let bucket = TokenBucket::with_clock(quota, clock());
        bucket.drain();
        Limit::of_all(bucket)
    };
    let (short, long) = (|| empty(quota!(1 / minute)), || empty(quota!(1 / hour)));
    // Two permits of one will never be granted.
    let never = || short().cost(|_| 2);
    let of = |name: &str, wait: Option<&str>| (name.to_owned(), wait.map(str::to_owned));
    assert_eq!(told_by(short(), long()).await, of("b", Some("3600")));
    assert_eq!(told_by(long(), short()).await, of("a", Some("3600")));
    assert_eq!(told_by(never(), long()).await, of("a", None));
    assert_eq!(told_by(long(), never()).await, of("b", None));
}

/// A limiter that grants when it is asked, and then does not: another request was faster.
pub(super) struct Late;

impl Limiter for Late {
    fn try_acquire(&self, _: u64) -> Result<sluicegate::Grant, sluicegate::Denied> {
        Err(sluicegate::Denied::Full { retry_after: Duration::from_millis(1_500) })
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<sluicegate::Grant, sluicegate::Denied> {
        self.try_acquire(permits)
    }

    fn peek(&self, permits: u64) -> Result<sluicegate::Grant, sluicegate::Denied> {
        sluicegate::compose::Unlimited.peek(permits)
    }

    fn reset(&self) {}
}

#[tokio::test]
async fn permits_are_given_back_if_a_later_limit_refuses_after_all() {
    let clock = clock();
    let bucket = two(&clock);
    let layer = RateLimitLayer::all_of([
        Limit::of_all(Arc::clone(&bucket)).policy(QuotaPolicy::new(2).named("first").unwrap()),
        Limit::of_all(Late).policy(QuotaPolicy::new(1).named("late").unwrap()),
    ]);
    let server = Server::new(layer.unwrap());
    for _ in 0..3 {
        let refused = server.send(request("")).await;
        assert_eq!(
            (refused.status().as_u16(), &refused.headers()["retry-after"]),
            (503, &"2".parse().unwrap())
        );
        let problem = Problem::from_json(refused.body()).unwrap();
        assert_eq!(problem.kind, ProblemType::TemporaryReducedCapacity);
        assert_eq!(problem.violated_policies, ["late"]);
        assert_eq!(names(&refused), ["content-type", "retry-after"]);
    }
    assert_eq!((bucket.peek(0).unwrap().remaining(), server.calls()), (2, 0));
}

/// A limiter that grants when it is looked at, and panics when it is asked.
struct Faulty;

impl Limiter for Faulty {
    fn try_acquire(&self, _: u64) -> Result<sluicegate::Grant, sluicegate::Denied> {
        panic!("a fault of the limiter")
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<sluicegate::Grant, sluicegate::Denied> {
        self.try_acquire(permits)
    }

    fn peek(&self, permits: u64) -> Result<sluicegate::Grant, sluicegate::Denied> {
        sluicegate::compose::Unlimited.peek(permits)
    }

    fn reset(&self) {}
}

/// Also on the way of requests that wait, here for the last limit, for which nobody is asked in the end.
#[tokio::test]
async fn a_third_limit_that_fails_gives_the_permits_of_two_back() {
    for (is_faulty, waits) in [(false, false), (false, true), (true, false), (true, true)] {
        let clock = clock();
        let bucket = two(&clock);
        let window = FixedWindow::with_clock(rate!(2 / hour), Arc::clone(&clock)).unwrap();
        let window = Arc::new(window);
        let line = two(&clock);
        if waits {
            line.drain();
        }
        let third = if is_faulty { Limit::of_all(Faulty) } else { Limit::of_all(Late) };
        let limits = [
            Limit::of_all(Arc::clone(&bucket)),
            Limit::of_all(Arc::clone(&window)),
            third,
            Limit::of_all(WaitUpTo::new(Arc::clone(&line), Duration::from_secs(60))),
        ];
        let named = limits
            .into_iter()
            .zip(["a", "b", "c", "d"])
            .map(|(limit, name)| limit.policy(QuotaPolicy::new(2).named(name).unwrap()));
        let server = Server::new(RateLimitLayer::all_of(named).unwrap());
        let answer = tokio::spawn(async move { server.status(request("")).await }).await;
        match answer {
            Ok(status) => assert_eq!((status, is_faulty), (503, false)),
            Err(failed) => assert!(failed.is_panic() && is_faulty),
        }
        let left = [bucket.peek(0), window.peek(0)].map(|left| left.unwrap().remaining());
        assert_eq!(left, [2, 2], "faulty: {is_faulty}, waits: {waits}");
    }
}

/// In an overload a line refuses most requests, which would use up what does not come back.
#[tokio::test]
async fn a_line_that_refuses_at_once_costs_the_other_limits_nothing() {
    let clock = clock();
    // A log cannot be given back what it has granted.
    let log = Arc::new(SlidingLog::with_clock(rate!(2 / hour), Arc::clone(&clock)).unwrap());
    let line = Arc::new(TokenBucket::with_clock(quota!(1 / hour), Arc::clone(&clock)));
    line.drain();
    let named = |name: &str| QuotaPolicy::new(2).named(name).unwrap();
    let layer = RateLimitLayer::all_of([
        Limit::of_all(Arc::clone(&log)).policy(named("log")),
        Limit::of_all(WaitUpTo::new(Arc::clone(&line), Duration::from_secs(60)))
            .policy(named("line")),
    ]);
    let server = Server::new(layer.unwrap());
    for _ in 0..3 {
        let refused = server.send(request("")).await;
        assert_eq!(refused.status(), 429);
        let problem = Problem::from_json(refused.body()).unwrap();
        assert_eq!(problem.violated_policies, ["line"]);
    }
    assert_eq!(log.peek(0).unwrap().remaining(), 2);
    let counts = server.layer.counts();
    let told: Vec<_> =
        counts.refusals.iter().map(|refusal| (refusal.reason, refusal.count)).collect();
    assert_eq!((told, line.line().waiters()), (vec![("timed_out", 3)], 0));
    clock.advance(Duration::from_secs(3_600));
    assert_eq!(server.status(request("")).await, 200);
    assert_eq!([log.peek(0), line.peek(0)].map(|left| left.unwrap().remaining()), [1, 0]);
}

#[test]
fn limits_that_clients_could_not_tell_apart_are_an_error() {
    let limit = || Limit::of_all(two(&clock()));
    assert!(RateLimitLayer::all_of([limit(), limit()]).is_err());
    assert!(RateLimitLayer::all_of([]).is_ok());
}
