//! Handles apply what a policy says of a call: `cost`, `shadow` and `wait`, also when these change while
//! callers wait.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use sluicegate::wait::AcquireError;
use sluicegate::{Denied, KeyedLimiter, Limiter};
use sluicegate_policy::{LimiterHandle, Pass, Policies, WaitError};

use super::registry::policies;
use super::registry_threads::load::new;

const SECOND: Duration = Duration::from_secs(1);

/// Returns a policy of a limiter `a` of 10 permits, and one more each second.
fn bucket(key: &str, more: &str) -> Policies {
    let rate = "rate = { amount = 1, interval = \"1 second\" }";
    policies(&format!(
        "[limiters.a]\npolicy = \"token_bucket\"\nkey = \"{key}\"\nlimit = 10\n{rate}\n{more}\n"
    ))
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Woken>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A task that waits, polled by hand.
struct Caller<'a> {
    future: Pin<Box<dyn Future<Output = Result<Pass, WaitError>> + Send + 'a>>,
    woken: Arc<Woken>,
    answer: Option<Result<Pass, WaitError>>,
}

impl<'a> Caller<'a> {
    fn new(future: impl Future<Output = Result<Pass, WaitError>> + Send + 'a) -> Caller<'a> {
        let mut caller = Caller { future: Box::pin(future), woken: Arc::default(), answer: None };
        caller.poll();
        caller
    }

    fn poll(&mut self) -> Option<Result<Pass, WaitError>> {
        if self.answer.is_none() {
            let waker = Waker::from(Arc::clone(&self.woken));
            if let Poll::Ready(answer) = self.future.as_mut().poll(&mut Context::from_waker(&waker))
            {
                self.answer = Some(answer);
            }
        }
        self.answer.clone()
    }

    fn is_waiting(&mut self) -> bool {
        self.poll().is_none()
    }

    fn is_granted(&mut self) -> bool {
        matches!(self.poll(), Some(Ok(pass)) if !pass.would_deny())
    }

    fn woken(&self) -> usize {
        self.woken.0.load(Relaxed)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "as an answer that is polled")]
fn timed_out(retry_after: Duration) -> Option<Result<Pass, WaitError>> {
    Some(Err(WaitError::Line(AcquireError::TimedOut { retry_after })))
}

#[test]
fn a_call_that_names_no_permits_takes_the_cost_of_the_policy() {
    let (_, registry) = new(&bucket("all", "cost = 3"));
    let limiter = registry.limiter("a").unwrap();
    assert_eq!(limiter.try_pass().unwrap().grant().remaining(), 7);
    assert_eq!(limiter.acquire_blocking().unwrap().grant().remaining(), 4);
    registry.reload(bucket("all", "cost = 4")).unwrap();
    assert_eq!(limiter.try_pass().unwrap().grant().remaining(), 0);
    assert!(matches!(limiter.acquire_blocking(), Err(WaitError::Denied(Denied::Wait(_)))));

    let (_, registry) = new(&bucket("user", "cost = 3"));
    let keys = registry.keyed("a").unwrap();
    assert_eq!(keys.try_pass("ada").unwrap().grant().remaining(), 7);
    assert_eq!(keys.try_pass_with("ada", 5).unwrap().grant().remaining(), 2);
    assert!(keys.acquire_blocking("ada").is_err());
    assert_eq!(keys.acquire_blocking("bob").unwrap().grant().remaining(), 7);
}

#[test]
fn a_shadow_lets_every_call_through_and_counts_those_it_would_deny() {
    let (_, registry) = new(&bucket("all", "shadow = true"));
    let limiter = registry.limiter("a").unwrap();
    assert!(!limiter.try_pass_with(8).unwrap().would_deny());
    let pass = limiter.try_pass_with(5).unwrap();
    assert_eq!(pass.denied().unwrap().retry_after(), Some(3 * SECOND));
    assert_eq!((pass.grant().permits(), pass.grant().remaining()), (5, 2));
    // A plain call is let through too, by the handle and by what is made of it.
    let shared: Arc<dyn Limiter> = Arc::new(limiter.clone());
    assert_eq!(shared.try_acquire(50).unwrap().permits(), 50);
    assert_eq!(shared.try_acquire_up_to(2).unwrap().remaining(), 0);
    assert_eq!(shared.try_acquire_up_to(2).unwrap().permits(), 2);
    assert!(shared.peek(3).is_ok() && shared.try_acquire_revocable(3).is_ok());
    assert!(limiter.acquire_blocking_with(99).unwrap().would_deny());
    let counts = limiter.shadow_counts();
    assert_eq!((counts.decided, counts.would_deny), (7, 5));
    // In force: the same limiter denies.
    registry.reload(bucket("all", "")).unwrap();
    assert!(limiter.try_acquire(1).is_err() && shared.peek(1).is_err());
    assert_eq!(limiter.shadow_counts(), counts);
    registry.reload(bucket("all", "shadow = true")).unwrap();
    assert!(limiter.try_acquire(1).is_ok());

    let (_, registry) = new(&bucket("user", "shadow = true"));
    let keys = registry.keyed("a").unwrap();
    assert!(!keys.try_pass_with("ada", 10).unwrap().would_deny());
    assert!(keys.try_pass("ada").unwrap().would_deny());
    assert!(!keys.try_pass("bob").unwrap().would_deny());
    let batch = KeyedLimiter::<str>::try_acquire_batch(&keys, &mut ["ada", "bob"].into_iter(), 10);
    assert!(batch.iter().all(Result::is_ok));
    assert_eq!(keys.shadow_counts().would_deny, 3);
}

#[test]
fn a_caller_that_takes_what_there_is_gets_all_from_a_limiter_in_shadow() {
    let (_, registry) = new(&bucket("all", "shadow = true"));
    let limiter = registry.limiter("a").unwrap();
    assert_eq!(limiter.try_acquire_up_to(4).unwrap().permits(), 4);
    // In force, it would be granted 6.
    assert_eq!(limiter.try_acquire_up_to(8).unwrap().permits(), 8);
    assert_eq!(limiter.peek(0).unwrap().remaining(), 0);
    let counts = limiter.shadow_counts();
    assert_eq!((counts.decided, counts.would_deny), (2, 1));

    let (_, registry) = new(&bucket("user", "shadow = true"));
    let keys = registry.keyed("a").unwrap();
    assert_eq!(keys.try_acquire_up_to("ada", 12).unwrap().permits(), 12);
    assert_eq!(keys.peek("ada", 0).unwrap().remaining(), 0);
    assert_eq!(keys.shadow_counts().would_deny, 1);
}

#[test]
fn callers_wait_in_one_line_for_as_long_as_the_policy_says() {
    let (clock, registry) = new(&bucket("all", "wait = \"4 s\""));
    let limiter = registry.limiter("a").unwrap();
    limiter.acquire_blocking_with(10).unwrap();
    let mut first = Caller::new(limiter.acquire_with(3));
    let mut second = Caller::new(limiter.acquire());
    assert_eq!(Caller::new(limiter.acquire()).poll(), timed_out(5 * SECOND));
    assert!(first.is_waiting() && second.is_waiting());
    clock.advance(2 * SECOND);
    // There are two permits, but a call overtakes nobody, by whatever handle.
    let other = registry.limiter("a").unwrap();
    assert!(other.try_acquire(1).is_err() && other.try_pass().is_err());
    assert!(other.try_acquire_up_to(2).is_err() && other.peek(1).is_err());
    clock.advance(SECOND);
    assert!(first.is_granted() && second.is_waiting());
    drop(second);
    clock.advance(SECOND);
    assert!(other.try_acquire(1).is_ok(), "whoever has left was charged nothing");
}

#[test]
fn another_wait_holds_for_those_who_wait_already() {
    let (clock, registry) = new(&bucket("all", "wait = \"4 s\""));
    let limiter = registry.limiter("a").unwrap();
    limiter.acquire_blocking_with(10).unwrap();
    let mut callers = [2, 2].map(|permits| Caller::new(limiter.acquire_with(permits)));
    clock.advance(SECOND);
    registry.reload(bucket("all", "wait = \"3 s\"")).unwrap();
    assert!(callers[0].is_waiting());
    assert_eq!(callers[1].poll(), timed_out(3 * SECOND), "its time counts from when it came");
    registry.reload(bucket("all", "wait = \"1 hour\"")).unwrap();
    let mut late = Caller::new(limiter.acquire_with(10));
    assert!(late.is_waiting());
    clock.advance(SECOND);
    assert!(callers[0].is_granted() && late.is_waiting());
    registry.reload(bucket("all", "")).unwrap();
    assert!(late.woken() > 0, "nobody is stranded");
    assert_eq!(late.poll(), timed_out(10 * SECOND));
    clock.advance(10 * SECOND);
    assert!(limiter.try_acquire(10).is_ok(), "nothing was charged");
}

#[test]
fn those_who_wait_are_granted_their_permits_by_the_new_terms() {
    let window = |limit: u64, days: u64| {
        policies(&format!(
            "[limiters.a]\npolicy = \"sliding_window\"\nkey = \"all\"\nlimit = {limit}\n\
             interval = \"{days} days\"\nwait = \"9 days\"\n"
        ))
    };
    let (clock, registry) = new(&window(10, 1));
    let limiter = registry.limiter("a").unwrap();
    limiter.acquire_blocking_with(10).unwrap();
    let mut callers = [4, 5, 6].map(|permits| Caller::new(limiter.acquire_with(permits)));
    // In place: four more.
    registry.reload(window(14, 1)).unwrap();
    assert!(callers[0].is_granted());
    assert!(callers[1].is_waiting() && callers[2].is_waiting());
    // Another limiter in the place, which counts the 14: five more.
    registry.reload(window(20, 2)).unwrap();
    assert!(callers[1].woken() > 0 && callers[1].is_granted());
    assert!(callers[2].is_waiting());
    assert_eq!(limiter.peek(0).unwrap().remaining(), 1);
    // A limit that is too small for it.
    registry.reload(window(5, 2)).unwrap();
    let large = WaitError::Line(AcquireError::TooLarge { limit: 5 });
    assert_eq!(callers[2].poll(), Some(Err(large)));
    let mut last = Caller::new(limiter.acquire());
    clock.advance(Duration::from_secs(3 * 86_400));
    assert!(last.is_granted());
}

#[test]
fn those_who_wait_for_a_limiter_that_is_removed_are_told_so() {
    let other =
        || policies("limiters.b = { policy = \"gcra\", interval = \"1 s\", tolerance = \"1 s\" }");
    let (clock, registry) = new(&bucket("all", "wait = \"1 hour\""));
    let limiter = registry.limiter("a").unwrap();
    limiter.acquire_blocking_with(10).unwrap();
    let mut caller = Caller::new(limiter.acquire());
    registry.reload(other()).unwrap();
    assert!(caller.woken() > 0);
    let removed = WaitError::Removed { name: "a".to_owned() };
    assert_eq!(caller.poll(), Some(Err(removed.clone())));
    assert_eq!(
        removed.to_string(),
        "limiter \"a\" was removed from the file while callers waited: look it up again, or do without it"
    );
    // The handle goes on with the last terms, but nobody waits.
    assert_eq!(limiter.acquire_blocking(), Err(removed));
    clock.advance(SECOND);
    assert!(limiter.acquire_blocking().is_ok());
    // The name comes back, and so does the line.
    registry.reload(bucket("all", "wait = \"1 hour\"")).unwrap();
    let mut caller = Caller::new(limiter.acquire());
    assert!(caller.is_waiting());
    // A name that has keys now is another limiter.
    registry.reload(bucket("user", "")).unwrap();
    assert!(matches!(caller.poll(), Some(Err(WaitError::Removed { .. }))));
}

#[test]
fn those_who_wait_are_let_through_when_the_limiter_only_counts() {
    let (_, registry) = new(&bucket("all", "wait = \"1 hour\""));
    let limiter = registry.limiter("a").unwrap();
    limiter.acquire_blocking_with(10).unwrap();
    let mut caller = Caller::new(limiter.acquire_with(7));
    registry.reload(bucket("all", "wait = \"1 hour\"\nshadow = true")).unwrap();
    assert!(caller.woken() > 0);
    let pass = caller.poll().unwrap().unwrap();
    assert_eq!((pass.would_deny(), pass.grant().permits()), (true, 7));
    assert_eq!(limiter.shadow_counts().would_deny, 1);
}

#[test]
fn callers_wait_for_keys_and_learn_of_changes() {
    let (clock, registry) = new(&bucket("user", "wait = \"4 s\""));
    let keys = registry.keyed("a").unwrap();
    keys.acquire_blocking_with("ada", 10).unwrap();
    let mut ada = Caller::new(keys.acquire("ada"));
    assert!(keys.acquire_blocking_with("bob", 10).is_ok());
    assert!(ada.is_waiting());
    assert!(matches!(keys.acquire_blocking_with("bob", 5), Err(WaitError::Line(_))));
    let mut bob = Caller::new(keys.acquire_with("bob", 3));
    clock.advance(SECOND);
    assert!(keys.try_acquire("ada", 1).is_err() && ada.is_granted());
    registry.reload(bucket("user", "wait = \"2 s\"")).unwrap();
    assert_eq!(bob.poll(), timed_out(2 * SECOND));
    let mut bob = Caller::new(keys.acquire_with("bob", 2));
    // Another store, with what the keys have used.
    let own = "wait = \"2 s\"\noverrides.vip.limit = 20";
    registry.reload(bucket("user", own)).unwrap();
    assert!(bob.is_waiting());
    clock.advance(SECOND);
    assert!(bob.is_granted());
    let mut ada = Caller::new(keys.acquire_with("ada", 3));
    registry
        .reload(policies(
            "limiters.b = { policy = \"gcra\", interval = \"1 s\", tolerance = \"1 s\" }",
        ))
        .unwrap();
    assert!(matches!(ada.poll(), Some(Err(WaitError::Removed { .. }))));
}

#[test]
fn threads_that_wait_lose_and_gain_nothing_by_ten_thousand_changes() {
    const EACH: u64 = 200;
    let terms = [(5, "2 s"), (8, "1 hour")].map(|(limit, wait)| {
        let window = "policy = \"sliding_window\"\ninterval = \"1 day\"\nslots = 2\nkey = \"all\"";
        policies(&format!("[limiters.a]\n{window}\nlimit = {limit}\nwait = \"{wait}\"\n"))
    });
    let (clock, registry) = new(&terms[1]);
    let limiter = registry.limiter("a").unwrap();
    let day = Duration::from_secs(86_400);
    let waits = |limiter: &LimiterHandle| {
        let mut granted = 0;
        while granted < EACH {
            match limiter.acquire_blocking() {
                Ok(_) => granted += 1,
                Err(WaitError::Line(AcquireError::TimedOut { .. })) => thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        }
    };
    thread::scope(|scope| {
        let threads = [0, 1].map(|_| scope.spawn(|| waits(&limiter)));
        let mut changes = 0;
        while changes < 10_000 || !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            registry.reload(terms[changes % 2].clone()).unwrap();
            changes += 1;
            if changes % 16 == 0 {
                clock.advance(day);
            }
        }
    });
    let mut last = pin!(limiter.acquire());
    clock.advance(2 * day);
    assert!(last.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
}

#[test]
fn a_caller_waits_no_longer_than_it_says_nor_than_the_policy_says() {
    for key in ["all", "user"] {
        let (clock, registry) = new(&bucket(key, "wait = \"5 s\""));
        let (limiter, keys) = (registry.limiter("a"), registry.keyed("a"));
        let ask = |permits, longest| match (&limiter, &keys) {
            (Ok(limiter), _) => Caller::new(limiter.acquire_within(permits, longest)),
            (_, Ok(keys)) => Caller::new(keys.acquire_within("ada", permits, longest)),
            _ => panic!("{key}"),
        };
        assert!(ask(10, Duration::ZERO).is_granted());
        // Its permit comes after a second.
        assert_eq!(ask(1, SECOND / 2).poll(), timed_out(SECOND));
        // Its permits come after six, and the policy lets nobody wait for more than five.
        assert_eq!(ask(6, 100 * SECOND).poll(), timed_out(6 * SECOND));
        let mut patient = ask(2, 2 * SECOND);
        assert!(patient.is_waiting());
        clock.advance(2 * SECOND);
        assert!(patient.is_granted(), "{key}");
    }
}
