//! Statistics of a registry behind a layer: a request counts once, at the limit that refuses it, in whichever way it is
//! refused; and it is one offence.

use std::sync::atomic::AtomicU64;

use sluicegate::penalty::Offence;
use sluicegate_policy::{KeyedHandle, Policies, Registry};

use super::*;

const OFFENCES: u64 = 9;
const PENALTY: &str = r#"penalty = { offences = 9, within = "1 hour", refuse_for = "1 hour" }"#;
const ADA: &str = "203.0.113.8";

fn policies(key: &str, fields: &str) -> Policies {
    let text = format!("[limiters.calls]\nkey = \"{key}\"\n{PENALTY}\n{fields}\n");
    Policies::from_toml("limits.toml", &text).unwrap()
}

fn window(limit: u64) -> String {
    format!("policy = \"fixed_window\"\nlimit = {limit}\ninterval = \"1 day\"")
}

fn named(limit: Limit, name: &str) -> Limit {
    limit.policy(QuotaPolicy::new(9).named(name).unwrap())
}

/// A handle as a limit, whose policy is obeyed or not.
type Put = fn(KeyedHandle) -> Limit;
const PLAIN: Put = Limit::per_client_text;
const BY_POLICY: Put = |handle| Limit::per_client_text(ByPolicy::new(handle));
/// The same for requests of two permits.
const PLAIN_FOR_TWO: Put = |handle| PLAIN(handle).cost(|_| 2);
const BY_POLICY_FOR_TWO: Put = |handle| BY_POLICY(handle).cost(|_| 2);

/// A limiter `calls` of a registry behind a layer.
struct Calls {
    registry: Registry,
    handle: KeyedHandle,
}

impl Calls {
    fn new(fields: &str) -> Calls {
        let registry = Registry::new(policies("client", fields)).unwrap().counted();
        let handle = registry.keyed("calls").unwrap();
        Calls { registry, handle }
    }

    /// Returns a layer of the handle alone, the handle and another limit, or the handle twice.
    fn layers(&self, put: Put) -> [RateLimitLayer; 3] {
        let own = |name| named(put(self.handle.clone()), name);
        let other = || named(Limit::of_all(TokenBucket::new(quota!(100 / second))), "other");
        [
            RateLimitLayer::new(own("a")),
            RateLimitLayer::all_of([other(), own("a")]).unwrap(),
            RateLimitLayer::all_of([own("a"), own("b")]).unwrap(),
        ]
    }

    /// Returns the calls that were granted and denied.
    fn counts(&self) -> (u64, u64) {
        let counts = self.registry.statistics()[0].counts.unwrap();
        (counts.granted, counts.denied)
    }

    /// Returns the offences so far.
    fn offences(&self) -> u64 {
        match self.handle.offend(ADA, 1).unwrap() {
            Offence::Counted { remaining } => OFFENCES - 1 - remaining,
            penalized => panic!("{penalized:?}"),
        }
    }
}

async fn send(layer: RateLimitLayer, requests: usize) -> Vec<u16> {
    let server = Server::new(layer);
    let mut statuses = Vec::new();
    for _ in 0..requests {
        statuses.push(server.status(request(ADA)).await);
    }
    statuses
}

/// A limit that is used up: the look at all limits refuses; or, if the handle is there twice, the second call, as the
/// first one takes the last permit.
#[tokio::test]
async fn a_request_above_the_rate_counts_once() {
    let too_late = format!("{}\nwait = \"1 ms\"", window(1));
    for (put, fields) in [(PLAIN, window(1)), (BY_POLICY, window(1)), (BY_POLICY, too_late)] {
        for (layer, statuses) in [vec![200, 429], vec![200, 429], vec![429]].iter().enumerate() {
            let calls = Calls::new(&fields);
            let layer = calls.layers(put)[layer].clone();
            assert_eq!(send(layer, statuses.len()).await, *statuses, "{fields}");
            assert_eq!((calls.counts(), calls.offences()), ((1, 1), 1), "{fields} {statuses:?}");
        }
    }
}

#[tokio::test]
async fn a_request_above_the_limit_counts_once_whether_requests_may_wait_or_not() {
    let waits = format!("{}\nwait = \"1 minute\"", window(1));
    let puts =
        [(PLAIN_FOR_TWO, window(1)), (BY_POLICY_FOR_TWO, window(1)), (BY_POLICY_FOR_TWO, waits)];
    for (put, fields) in puts {
        for layer in 0..3 {
            let calls = Calls::new(&fields);
            let layer = calls.layers(put)[layer].clone();
            assert_eq!(send(layer, 1).await, [429], "{fields}");
            assert_eq!((calls.counts(), calls.offences()), ((0, 1), 1), "{fields}");
        }
    }
}

#[tokio::test]
async fn a_request_that_waits_and_is_granted_counts_as_granted_and_is_no_offence() {
    let bucket = r#"policy = "token_bucket"
limit = 1
rate = { amount = 1, interval = "10 ms" }
wait = "1 minute""#;
    for layer in 0..2 {
        let calls = Calls::new(bucket);
        let layer = calls.layers(BY_POLICY)[layer].clone();
        assert_eq!(send(layer, 4).await, [200; 4]);
        assert_eq!((calls.counts(), calls.offences()), ((4, 0), 0));
    }
}

#[tokio::test]
async fn a_request_of_a_penalized_client_counts_once_and_is_no_offence() {
    let waits = format!("{}\nwait = \"1 minute\"", window(9));
    for (put, fields) in [(PLAIN, window(9)), (BY_POLICY, window(9)), (BY_POLICY, waits)] {
        for layer in 0..3 {
            let calls = Calls::new(&fields);
            calls.handle.offend(ADA, OFFENCES).unwrap();
            let layer = calls.layers(put)[layer].clone();
            assert_eq!(send(layer, 2).await, [429; 2]);
            assert_eq!(calls.counts(), (0, 2), "{fields}");
            assert!(matches!(calls.handle.offend(ADA, 1), Ok(Offence::Ignored { .. })));
        }
    }
}

#[tokio::test]
async fn in_a_shadow_of_the_layer_a_request_counts_once_as_well() {
    let waits = format!("{}\nwait = \"1 minute\"", window(1));
    for (put, fields) in [(PLAIN, window(1)), (BY_POLICY, window(1)), (BY_POLICY, waits)] {
        for (layer, requests) in [(0, 2), (1, 2), (2, 1)] {
            let calls = Calls::new(&fields);
            let layer = calls.layers(put)[layer].clone().shadow();
            assert_eq!(send(layer.clone(), requests).await, vec![200; requests]);
            assert_eq!((calls.counts(), calls.offences()), ((1, 1), 1), "{fields} {layer:?}");
            assert_eq!(layer.counts().would_refuse, 1);
        }
    }
}

#[tokio::test]
async fn in_a_shadow_of_the_policy_it_would_be_denied_once() {
    for put in [PLAIN, BY_POLICY] {
        for (layer, requests) in [(0, 2), (1, 2), (2, 1)] {
            let calls = Calls::new(&format!("{}\nshadow = true\nwait = \"1 minute\"", window(1)));
            let layer = calls.layers(put)[layer].clone();
            assert_eq!(send(layer, requests).await, vec![200; requests]);
            assert_eq!((calls.counts(), calls.offences()), ((1, 0), 1));
            assert_eq!(calls.handle.shadow_counts().would_deny, 1);
        }
    }
}

#[tokio::test]
async fn a_limit_does_not_count_what_another_one_refuses() {
    for put in [PLAIN, BY_POLICY] {
        let calls = Calls::new(&window(9));
        let used_up = TokenBucket::new(quota!(1 / day));
        used_up.try_acquire(1).unwrap();
        let limits = [put(calls.handle.clone()), named(Limit::of_all(used_up), "other")];
        assert_eq!(send(RateLimitLayer::all_of(limits).unwrap(), 2).await, [429; 2]);
        assert_eq!((calls.counts(), calls.offences()), ((0, 0), 0));
    }
}

/// A request that comes in between at one reading of the clock.
type InBetween = (u64, Box<dyn FnOnce() + Send>);

/// A clock at one of whose readings another request comes in between.
#[derive(Clone, Default)]
struct Meddling {
    clock: Clock,
    readings: Arc<AtomicU64>,
    at: Arc<Mutex<Option<InBetween>>>,
}

impl sluicegate::Clock for Meddling {
    fn now_nanos(&self) -> u64 {
        let reading = self.readings.fetch_add(1, Ordering::SeqCst);
        let meddle = self.at.lock().unwrap().take_if(|(at, _)| *at <= reading);
        if let Some((_, meddle)) = meddle {
            meddle();
        }
        self.clock.now_nanos()
    }
}

/// Two requests for one permit: one is refused, and is one offence, wherever the other one comes in between.
#[tokio::test]
async fn a_request_that_another_one_overtakes_is_one_offence() {
    let mut in_between = 0;
    for at in 0..12 {
        let fields =
            "policy = \"calendar_window\"\nlimit = 1\nevery = \"day\"\nwait = \"1 minute\"";
        // The window reads the clock of the day, and nothing else does.
        let day = Meddling::default();
        let registry = Registry::with_clocks(policies("all", fields), clock(), day.clone());
        let registry = registry.unwrap().counted();
        let handle = registry.limiter("calls").unwrap();
        let other = handle.clone();
        let start = day.readings.load(Ordering::SeqCst);
        *day.at.lock().unwrap() = Some((start + at, Box::new(move || _ = other.try_acquire(1))));

        let layer = RateLimitLayer::new(Limit::of_all(ByPolicy::new(handle.clone()))).shadow();
        assert_eq!(send(layer, 1).await, [200]);
        if day.at.lock().unwrap().take().is_some() {
            continue;
        }
        in_between += 1;
        let Offence::Counted { remaining } = handle.offend(1).unwrap() else { panic!() };
        assert_eq!(OFFENCES - 1 - remaining, 1, "in between at reading {at}");
        let counts = registry.statistics()[0].counts.unwrap();
        assert_eq!((counts.granted, counts.denied), (1, 1), "in between at reading {at}");
    }
    assert!(in_between > 0);
}
