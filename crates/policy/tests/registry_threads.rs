//! Terms that change while threads decide: no more is admitted than the terms allow, and no decision
//! is made by a mixture of two.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::thread;
use std::time::Duration;

use sluicegate::{Denied, ManualClock};
use sluicegate_policy::{Event, KeyedHandle, LimiterHandle, Policies, Registry};

type TestClock = Arc<ManualClock>;
type TestRegistry = Registry<TestClock, TestClock>;

const RELOADS: u32 = 10_000;

fn policies(key: &str, fields: &str) -> Policies {
    let text = format!("[limiters.a]\nkey = \"{key}\"\n{fields}\n");
    Policies::from_toml("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn new(policies: &Policies) -> (TestClock, TestRegistry) {
    let clock = Arc::new(ManualClock::at(1_767_571_200_000_000_000));
    let registry = Registry::with_clock(policies.clone(), Arc::clone(&clock)).unwrap();
    (clock, registry)
}

/// Puts the two policies in force in turns while two threads call `decide`, and returns the sum of
/// what `decide` returned, and the number of times that another limiter took the place.
fn under_load(
    registry: &TestRegistry,
    terms: &[Policies; 2],
    reloads: u32,
    decide: impl Fn(usize) -> u64 + Sync,
    between: impl Fn(),
) -> (u64, u32) {
    let (begun, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let threads = [0, 1].map(|thread| {
            let (begun, is_over, decide) = (&begun, &is_over, &decide);
            scope.spawn(move || {
                begun.fetch_add(1, Relaxed);
                let mut admitted = 0;
                while !is_over.load(Relaxed) {
                    admitted += decide(thread);
                }
                admitted
            })
        });
        while begun.load(Relaxed) < 2 {
            thread::yield_now();
        }
        let mut replaced = 0;
        for number in 1..=reloads {
            let events = registry.reload(terms[number as usize % 2].clone()).unwrap();
            assert_eq!(events.len(), 1);
            replaced += u32::from(matches!(events[0], Event::Replaced { .. }));
            between();
        }
        is_over.store(true, Relaxed);
        (threads.map(|thread| thread.join().unwrap()).iter().sum(), replaced)
    })
}

fn one(limiter: &LimiterHandle<TestClock, TestClock>) -> u64 {
    u64::from(limiter.try_acquire(1).is_ok())
}

#[test]
fn ten_thousand_changes_in_place_admit_no_more_than_the_larger_terms() {
    let kinds = [
        "policy = \"token_bucket\"\nrate = { amount = 1, interval = \"365 days\" }",
        "policy = \"leaky_bucket\"\nmode = \"meter\"\nrate = { amount = 1, interval = \"365 days\" }",
        "policy = \"fixed_window\"\ninterval = \"1 day\"",
        "policy = \"fixed_window\"\nstart = \"epoch\"\ninterval = \"1 day\"",
        "policy = \"sliding_window\"\ninterval = \"1 day\"",
        "policy = \"sliding_counter\"\ninterval = \"1 day\"",
        "policy = \"calendar_window\"\nevery = \"day\"",
    ];
    for kind in kinds {
        // The smaller first, because a bucket that holds less gains nothing by a larger burst.
        let terms = [30_000, 20_000];
        let terms = terms.map(|limit| policies("all", &format!("{kind}\nlimit = {limit}")));
        let (_, registry) = new(&terms[0]);
        let limiter = registry.limiter("a").unwrap();
        let (admitted, replaced) = under_load(&registry, &terms, RELOADS, |_| one(&limiter), || {});
        // All that is left under the larger terms, if threads were too slow to take it.
        registry.reload(terms[1].clone()).unwrap();
        registry.reload(terms[0].clone()).unwrap();
        let rest = limiter.try_acquire_up_to(u64::MAX).map_or(0, |grant| grant.permits());
        assert_eq!(replaced, 0, "{kind}");
        assert!(admitted + rest <= 30_000, "{kind}: {admitted} and {rest}");
        // Nothing is lost: a window has the whole limit, and a bucket the smaller burst at least.
        assert!(admitted + rest >= 20_000, "{kind}: {admitted} and {rest}");
        if !kind.contains("bucket") {
            assert_eq!(admitted + rest, 30_000, "{kind}");
        }
    }
}

#[test]
fn a_bucket_whose_rate_changes_earns_at_the_rates_that_were_in_force() {
    const BURST: u64 = 10_000;
    let terms = ["20", "50"].map(|rate| {
        let rate = format!("rate = {{ amount = {rate}, interval = \"1 second\" }}");
        policies("all", &format!("policy = \"token_bucket\"\nlimit = {BURST}\n{rate}"))
    });
    let (clock, registry) = new(&terms[0]);
    let limiter = registry.limiter("a").unwrap();
    // Never full again, so whatever is earned is there.
    limiter.try_acquire(BURST).unwrap();
    let tick = || clock.advance(Duration::from_millis(10));
    let (admitted, _) = under_load(&registry, &terms, RELOADS, |_| one(&limiter), tick);
    // 50 s at each rate. A change may round down by less than a nanosecond's worth.
    let earned = admitted + limiter.peek(0).unwrap().remaining();
    assert!(earned == 3_500 || earned == 3_499, "{earned}");
}

#[test]
fn no_decision_is_made_by_a_limit_of_one_file_and_a_rate_of_another() {
    // An empty bucket of either file is full after an hour; of a mixture, after six minutes or ten
    // hours.
    let terms = ["10", "100"].map(|n| {
        let rate = format!("rate = {{ amount = {n}, interval = \"1 hour\" }}");
        policies("all", &format!("policy = \"token_bucket\"\nlimit = {n}\n{rate}"))
    });
    let (_, registry) = new(&terms[0]);
    let limiter = registry.limiter("a").unwrap();
    limiter.try_acquire(10).unwrap();
    let decide = |_| {
        let grant = limiter.peek(0).unwrap();
        assert_eq!(grant.reset_after(), Duration::from_secs(3600), "{grant:?}");
        0
    };
    under_load(&registry, &terms, RELOADS, decide, || {});
}

#[test]
fn no_decision_is_made_by_windows_or_parts_of_two_files() {
    let window = |limit: u64, days: u64| format!("limit = {limit}, interval = \"{days} days\"");
    let multi = |a: u64, b: u64| {
        format!(
            "policy = \"multi_window\"\nlimits = [{{ {} }}, {{ {} }}]",
            window(a, 1),
            window(b, 2)
        )
    };
    let all = |a: u64, b: u64| {
        let part = |window: String| format!("{{ policy = \"sliding_counter\", {window} }}");
        format!("policy = \"all\"\nof = [{}, {}]", part(window(a, 1)), part(window(b, 2)))
    };
    for kind in [&multi as &dyn Fn(u64, u64) -> String, &all] {
        // Either file refuses 50 permits. With the 100 of both, they would be granted.
        let terms = [kind(10, 100), kind(100, 10)].map(|kind| policies("all", &kind));
        let (_, registry) = new(&terms[0]);
        let limiter = registry.limiter("a").unwrap();
        let decide = |_| {
            let denied = limiter.try_acquire(50).unwrap_err();
            assert!(matches!(denied, Denied::TooLarge { limit: 10, .. }), "{denied:?}");
            0
        };
        let (_, replaced) = under_load(&registry, &terms, RELOADS, decide, || {});
        assert_eq!(replaced, RELOADS);
    }
}

#[test]
fn another_limiter_in_the_place_admits_no_more_than_both_together() {
    let bucket =
        "policy = \"token_bucket\"\nlimit = 9_000\nrate = { amount = 1, interval = \"365 days\" }";
    let window = "policy = \"sliding_window\"\nlimit = 7_000\ninterval = \"365 days\"";
    for _ in 0..50 {
        let terms = [bucket, window].map(|kind| policies("all", kind));
        let (_, registry) = new(&terms[0]);
        let limiter = registry.limiter("a").unwrap();
        let wait = || thread::sleep(Duration::from_micros(200));
        let (admitted, replaced) = under_load(&registry, &terms, 1, |_| one(&limiter), wait);
        let rest = limiter.try_acquire_up_to(u64::MAX).map_or(0, |grant| grant.permits());
        assert_eq!(replaced, 1);
        assert!(admitted + rest <= 16_000, "{admitted} and {rest}");
    }
}

#[test]
fn keys_with_overrides_admit_no_more_than_their_larger_terms() {
    const KEYS: [&str; 4] = ["ada", "bob", "vip", "bot"];
    let kinds = [
        "policy = \"sliding_window\"\ninterval = \"1 day\"\n",
        "policy = \"token_bucket\"\nrate = { amount = 1, interval = \"365 days\" }\n",
    ];
    for kind in kinds {
        let terms = [(300, 900, 10), (200, 950, 20)].map(|(limit, vip, bot)| {
            let own = format!("overrides = {{ vip.limit = {vip}, bot.limit = {bot} }}");
            policies("user", &format!("{kind}limit = {limit}\n{own}"))
        });
        let (_, registry) = new(&terms[0]);
        let keys: KeyedHandle<_, _> = registry.keyed("a").unwrap();
        for (key, most) in KEYS.into_iter().zip([300, 300, 950, 20]) {
            let take = |_| u64::from(keys.try_acquire(key, 1).is_ok());
            let (admitted, replaced) = under_load(&registry, &terms, 1_000, take, || {});
            let rest = keys.peek(key, 0).unwrap().remaining();
            assert_eq!(replaced, 0);
            assert!(admitted + rest <= most, "{key}: {admitted} and {rest}");
        }
    }
}
