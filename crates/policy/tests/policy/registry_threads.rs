//! Terms that change while threads decide: no more is admitted than the terms allow, and no decision
//! is made by a mixture of two.

use std::fs;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use sluicegate::{Clock, Denied};
use sluicegate_policy::{KeyedHandle, Policies, Registry};

#[path = "registry/load.rs"]
pub(crate) mod load;
#[path = "registry/replaced.rs"]
mod replaced;

use load::{RELOADS, new, one, policies, two_parts, two_windows, under_load};

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
fn a_bucket_earns_at_the_rates_that_were_in_force() {
    const BURST: u64 = 10_000;
    let bucket = |policy: &str, amount: u64| {
        let rate = format!("rate = {{ amount = {amount}, interval = \"1 second\" }}");
        policies("all", &format!("policy = {policy}\nlimit = {BURST}\n{rate}"))
    };
    for (other, changes, least) in [
        // A change may round down by less than a nanosecond's worth.
        ("\"token_bucket\"", 0, 3_499),
        // A new bucket rounds down by a fraction of a permit.
        ("\"leaky_bucket\"\nmode = \"meter\"", RELOADS, 3_400),
    ] {
        let terms = [bucket("\"token_bucket\"", 20), bucket(other, 50)];
        let (clock, registry) = new(&terms[0]);
        let limiter = registry.limiter("a").unwrap();
        // Never full again, so whatever is earned is there.
        limiter.try_acquire(BURST).unwrap();
        let tick = || clock.advance(Duration::from_millis(10));
        let (admitted, replaced) = under_load(&registry, &terms, RELOADS, |_| one(&limiter), tick);
        assert_eq!(replaced, changes, "{other}");
        // 50 s at each rate. A void grant may count.
        let earned = admitted + limiter.peek(0).unwrap().remaining();
        assert!((least..=3_500).contains(&earned), "{other}: {earned}");
    }
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
    for kind in [two_windows, two_parts] {
        // Either file refuses 50 permits. With the 100 of both, they would be granted.
        let terms = [kind(10, 100), kind(100, 10)].map(|kind| policies("all", &kind));
        let (_, registry) = new(&terms[0]);
        let limiter = registry.limiter("a").unwrap();
        let decide = |_| {
            let denied = limiter.try_acquire(50).unwrap_err();
            assert!(matches!(denied, Denied::TooLarge { limit: 10, .. }), "{denied:?}");
            0
        };
        let (_, replaced) = under_load(&registry, &terms, 3_000, decide, || {});
        assert_eq!(replaced, 0);
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
        let keys: KeyedHandle = registry.keyed("a").unwrap();
        for (key, most) in KEYS.into_iter().zip([300, 300, 950, 20]) {
            let take = |_| u64::from(keys.try_acquire(key, 1).is_ok());
            let (admitted, replaced) = under_load(&registry, &terms, 400, take, || {});
            let rest = keys.peek(key, 0).unwrap().remaining();
            assert_eq!(replaced, 0);
            assert!(admitted + rest <= most, "{key}: {admitted} and {rest}");
        }
    }
}

/// A clock that holds up whoever reads it while it is closed.
#[derive(Clone, Default)]
struct GatedClock {
    gate: Arc<Mutex<()>>,
    /// Told of each reading.
    readings: Arc<Mutex<Option<mpsc::Sender<()>>>>,
}

impl Clock for GatedClock {
    fn now_nanos(&self) -> u64 {
        if let Some(readings) = &*self.readings.lock().unwrap() {
            let _ = readings.send(());
        }
        drop(self.gate.lock().unwrap());
        1
    }
}

#[test]
fn a_reload_that_waits_for_another_one_reads_the_file_when_it_is_its_turn() {
    let text = |policy: &str, limit: u64| {
        format!(
            "limiters.a = {{ policy = \"{policy}\", key = \"all\", limit = {limit}, interval = \"1 day\" }}"
        )
    };
    let policies = |policy, limit| Policies::from_toml("p.toml", &text(policy, limit)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.toml");
    fs::write(&path, text("fixed_window", 2)).unwrap();
    let clock = GatedClock::default();
    let registry = Registry::with_clock(policies("fixed_window", 1), clock.clone()).unwrap();
    let limiter = registry.limiter("a").unwrap();
    let (sender, readings) = mpsc::channel();
    *clock.readings.lock().unwrap() = Some(sender);
    thread::scope(|scope| {
        let closed = clock.gate.lock().unwrap();
        // Another kind, whose limiter reads the clock while the terms change.
        scope.spawn(|| registry.reload(policies("sliding_log", 1)).unwrap());
        readings.recv().unwrap();
        let waits = scope.spawn(|| registry.reload_path(&path).unwrap());
        // Long enough for it to have read the file, if it did so now.
        thread::sleep(Duration::from_millis(100));
        fs::write(&path, text("fixed_window", 3)).unwrap();
        drop(closed);
        waits.join().unwrap();
    });
    assert_eq!(limiter.peek(0).unwrap().limit(), 3);
}
