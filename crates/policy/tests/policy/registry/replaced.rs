//! Limiters that take the place of others, of any kind, while two threads decide.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::task::{Context, Waker};
use std::thread;

use sluicegate::{Denied, KeyedLimiter, Limiter};
use sluicegate_policy::{Event, Policies};

use super::load::{new, one, policies, two_parts, two_windows, under_load};

/// Every kind that a file can name, each with a limit of its own, and time in which nothing comes back.
fn kinds() -> Vec<(String, u64)> {
    let window = |policy: &str, limit: u64, more: &str| {
        (format!("policy = \"{policy}\"\nlimit = {limit}\ninterval = \"1 day\"\n{more}"), limit)
    };
    let bucket = |policy: &str, limit: u64, more: &str| {
        let rate = "rate = { amount = 1, interval = \"365 days\" }";
        (format!("policy = \"{policy}\"\nlimit = {limit}\n{rate}\n{more}"), limit)
    };
    let part = |limit: u64, policy: &str, time: &str| {
        format!("{{ policy = \"{policy}\", limit = {limit}, {time} }}")
    };
    let day = "interval = \"1 day\"";
    let year = "rate = { amount = 1, interval = \"365 days\" }";
    vec![
        bucket("token_bucket", 4_000, ""),
        bucket("token_bucket", 3_100, "refill = \"interval\""),
        bucket("leaky_bucket", 2_900, "mode = \"meter\""),
        (
            "policy = \"gcra\"\ninterval = \"1 day\"\ntolerance = \"3_499 days\"".replace('_', ""),
            3_500,
        ),
        window("fixed_window", 3_000, ""),
        window("fixed_window", 3_300, "start = \"epoch\""),
        window("sliding_window", 3_600, ""),
        window("sliding_counter", 2_800, ""),
        window("sliding_log", 2_700, ""),
        window("weighted_log", 3_900, "capacity = 4000"),
        (
            "policy = \"multi_window\"\nlimits = [{ limit = 3200, interval = \"1 day\" }, \
             { limit = 3400, interval = \"7 days\" }]"
                .to_owned(),
            3_200,
        ),
        ("policy = \"calendar_window\"\nevery = \"day\"\nlimit = 3700".to_owned(), 3_700),
        ("policy = \"budget\"\namount = 3800".to_owned(), 3_800),
        (
            format!(
                "policy = \"all\"\nof = [{}, {}]",
                part(3_050, "sliding_counter", day),
                part(3_150, "token_bucket", year)
            ),
            3_050,
        ),
        (
            format!(
                "policy = \"all\"\nof = [{}, {}]",
                part(3_250, "token_bucket", year),
                part(2_950, "sliding_window", day)
            ),
            2_950,
        ),
    ]
}

#[test]
fn whatever_takes_the_place_of_whatever_no_more_is_admitted_than_by_the_largest() {
    // Each kind takes the place of each other 12 times.
    const ROUNDS: usize = 210;
    const CHANGES: usize = 12;
    let kinds: Vec<(Policies, u64)> =
        kinds().into_iter().map(|(kind, limit)| (policies("all", &kind), limit)).collect();
    for round in 0..ROUNDS {
        // All pairs of kinds, one after the other.
        let step = 1 + round / kinds.len() % (kinds.len() - 1);
        let order: Vec<_> =
            (0..=CHANGES).map(|turn| &kinds[(round + turn * step) % kinds.len()]).collect();
        let largest = order.iter().map(|(_, limit)| *limit).max().unwrap();
        let (_, registry) = new(&order[0].0);
        let limiter = registry.limiter("a").unwrap();
        let (begun, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
        let admitted: u64 =
            thread::scope(|scope| {
                let threads = [0, 1].map(|_| {
                    scope.spawn(|| {
                        begun.fetch_add(1, Relaxed);
                        let mut admitted = 0;
                        while !is_over.load(Relaxed) {
                            admitted += one(&limiter);
                        }
                        admitted
                    })
                });
                while begun.load(Relaxed) < 2 {
                    thread::yield_now();
                }
                for (terms, _) in &order[1..] {
                    let events = registry.reload(terms.clone()).unwrap();
                    assert!(events.iter().all(|event| matches!(
                        event,
                        Event::Replaced { .. } | Event::Changed { .. }
                    )));
                }
                is_over.store(true, Relaxed);
                threads.map(|thread| thread.join().unwrap()).iter().sum()
            });
        // All that is left by the most generous terms.
        let most = order.iter().max_by_key(|(_, limit)| *limit).unwrap();
        registry.reload(most.0.clone()).unwrap();
        let rest = limiter.try_acquire_up_to(u64::MAX).map_or(0, |grant| grant.permits());
        let all = admitted + rest;
        assert!(all <= largest, "round {round}: {admitted} and {rest} of {largest}");
    }
}

#[test]
fn several_numbers_change_in_one_step_for_all_who_decide() {
    let budget = |a: u64, b: u64| {
        format!("policy = \"budget\"\namount = {b}\non = {{ monday = {a}, tuesday = {} }}", a + b)
    };
    // 3,000 at most, by one of the numbers. Windows of both files would grant 5,000.
    let lower = [(3_000, 5_000), (2_000, 4_000)];
    let crossed = [(3_000, 5_000), (5_000, 3_000)];
    let kinds: [(&dyn Fn(u64, u64) -> String, _); 3] =
        [(&two_windows, crossed), (&two_parts, crossed), (&budget, lower)];
    for (kind, numbers) in kinds {
        let terms = numbers.map(|(a, b)| policies("all", &kind(a, b)));
        let (_, registry) = new(&terms[0]);
        let limiter = registry.limiter("a").unwrap();
        let (admitted, replaced) = under_load(&registry, &terms, 2_000, |_| one(&limiter), || {});
        registry.reload(terms[1].clone()).unwrap();
        registry.reload(terms[0].clone()).unwrap();
        let rest = limiter.try_acquire_up_to(u64::MAX).map_or(0, |grant| grant.permits());
        assert_eq!(replaced, 0);
        assert!(admitted + rest <= 3_000, "{admitted} and {rest}");
        // A grant that is void may count.
        assert!(admitted + rest >= 2_000, "{admitted} and {rest}");
    }
}

#[test]
fn a_cost_and_the_limit_of_one_file_go_together() {
    // Either file refuses its cost. The limit of the second grants the cost of the first.
    let terms = [(10, 100), (100, 1_000)].map(|(limit, cost)| {
        let window = "policy = \"sliding_window\"\ninterval = \"1 day\"";
        policies("all", &format!("{window}\nlimit = {limit}\ncost = {cost}"))
    });
    let (_, registry) = new(&terms[0]);
    let limiter = registry.limiter("a").unwrap();
    let decide = |_| {
        let denied = limiter.try_pass().unwrap_err();
        assert!(matches!(denied.limit(), Some(10 | 100)), "{denied:?}");
        0
    };
    let (_, replaced) = under_load(&registry, &terms, 3_000, decide, || {});
    assert_eq!(replaced, 0);
}

#[test]
fn a_cost_and_the_limit_of_one_file_go_together_behind_callers_in_line() {
    // Either file refuses its cost for ever. The limit of the second would grant the cost of the first
    // later.
    let terms = [(100, 1_000), (10, 100)].map(|(limit, cost)| {
        let window = "policy = \"sliding_window\"\ninterval = \"1 day\"\nwait = \"30 days\"";
        policies("all", &format!("{window}\nlimit = {limit}\ncost = {cost}"))
    });
    let (_, registry) = new(&terms[0]);
    let limiter = registry.limiter("a").unwrap();
    limiter.try_acquire(100).unwrap();
    let mut waiting = pin!(limiter.acquire_with(1));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let decide = |_| {
        let denied = limiter.try_pass().unwrap_err();
        assert!(matches!(denied, Denied::TooLarge { .. }), "{denied:?}");
        0
    };
    let (_, replaced) = under_load(&registry, &terms, 3_000, decide, || {});
    assert_eq!(replaced, 0);
}

#[test]
fn keys_keep_to_the_larger_terms_when_their_store_is_replaced() {
    const KEYS: [&str; 3] = ["ada", "bob", "vip"];
    let bucket = "policy = \"token_bucket\"\nrate = { amount = 1, interval = \"365 days\" }\n";
    let window = "policy = \"sliding_window\"\ninterval = \"1 day\"\n";
    let own = "overrides = { vip.limit = 900 }\n";
    let stores = [
        // A store of buckets, and one with a limiter for each key, in both directions.
        [
            format!("{bucket}limit = 600"),
            format!("{bucket}limit = 600\noverrides = {{ vip.limit = 600 }}"),
        ],
        [format!("{window}limit = 500\n{own}"), format!("{window}limit = 600\nslots = 7\n{own}")],
        [format!("{window}limit = 600"), format!("{bucket}limit = 600")],
    ];
    for stores in stores {
        let terms = stores.map(|fields| policies("user", &fields));
        for key in KEYS {
            let most = if key == "vip" { 900 } else { 600 };
            for _ in 0..4 {
                let (_, registry) = new(&terms[0]);
                let keys = registry.keyed("a").unwrap();
                let take = |_| u64::from(keys.try_acquire(key, 1).is_ok());
                let (admitted, replaced) = under_load(&registry, &terms, 50, take, || {});
                let rest = keys.peek(key, 0).unwrap().remaining();
                assert_eq!(replaced, 50);
                assert!(admitted + rest <= most, "{key}: {admitted} and {rest}");
                assert_eq!(KeyedLimiter::<str>::len(&keys), 1);
            }
        }
    }
}

#[test]
fn whatever_was_used_up_stays_used_when_terms_change_there_and_back() {
    let kinds = kinds();
    let take_all = |limiter: &dyn Limiter| {
        let mut taken = 0;
        while limiter.try_acquire(1).is_ok() {
            taken += 1;
        }
        taken
    };
    for (a, least) in &kinds {
        for (b, other) in &kinds {
            let [a, b] = [a, b].map(|kind| policies("all", kind));
            let (_, registry) = new(&a);
            let limiter = registry.limiter("a").unwrap();
            assert_eq!(take_all(&limiter), *least);
            let mut all = *least;
            for terms in [&b, &a, &b] {
                registry.reload(terms.clone()).unwrap();
                all += take_all(&limiter);
            }
            // A bucket has what its predecessor had left, and no more for a larger burst.
            assert!(all == *least.max(other) || all == *least, "{all}: {a:?}, {b:?}");
        }
    }
}
