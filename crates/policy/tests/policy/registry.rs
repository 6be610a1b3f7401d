//! Changes of the terms of a registry: what was used stays, and handles learn what they have to.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluicegate::{Clock, Denied, FixedWindow, Limiter, ManualClock, TokenBucket};
use sluicegate_policy::{
    Algorithm, Event, LimiterHandle, Policies, Registry, RegistryError, ReloadError, SharedClock,
};

mod common;
mod counted;
mod keys;
mod levels;
mod penalties;
mod remote;

type TestClock = Arc<ManualClock>;

/// Monday, 2026-01-05, 00:00 UTC.
const MONDAY_NANOS: u64 = 1_767_571_200_000_000_000;

pub(crate) fn policies(text: &str) -> Policies {
    Policies::from_toml("test.toml", text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn registry(text: &str) -> (TestClock, Registry) {
    let clock = Arc::new(ManualClock::at(MONDAY_NANOS));
    let registry = Registry::with_clock(policies(text), Arc::clone(&clock)).unwrap();
    (clock, registry)
}

/// Returns the policy of a limiter `a` without keys.
fn one(fields: &str) -> String {
    format!("[limiters.a]\nkey = \"all\"\n{fields}\n")
}

fn remaining(limiter: &impl Limiter) -> u64 {
    limiter.peek(0).unwrap().remaining()
}

/// Returns the word for an event, and the name.
fn word(event: &Event) -> String {
    let (word, policy) = match event {
        Event::Added { policy } => ("added", policy),
        Event::Changed { new, .. } => ("changed", new),
        Event::Replaced { new, .. } => ("replaced", new),
        Event::Removed { old } => ("removed", old),
        Event::Refused { .. } => return "refused".to_owned(),
        event => panic!("{event}"),
    };
    format!("{word} {}", policy.name)
}

fn words(events: &[Event]) -> Vec<String> {
    events.iter().map(word).collect()
}

fn reload(registry: &Registry, text: &str) -> Vec<String> {
    words(&registry.reload(policies(text)).unwrap())
}

#[test]
fn every_kind_keeps_what_was_used_when_its_numbers_change() {
    // Old terms of 10, and new terms of 8 and then 20: of the 7 used, 1 is left, and then 13.
    let window = |policy: &str, more: &str| {
        let policy = format!("policy = \"{policy}\"\ninterval = \"1 day\"\n{more}\n");
        [10, 8, 20].map(|limit| format!("{policy}limit = {limit}"))
    };
    let bucket = |policy: &str, more: &str| {
        let policy = format!("policy = \"{policy}\"\n{more}\n");
        [10, 8, 20].map(|limit| {
            format!("{policy}limit = {limit}\nrate = {{ amount = 1, interval = \"1 day\" }}")
        })
    };
    // In words of the events, and what is left after each of the two changes.
    let cases = [
        // A bucket has 3 tokens left, and keeps these.
        (bucket("token_bucket", ""), ["changed", "changed"], [3, 3]),
        (bucket("token_bucket", "refill = \"interval\""), ["changed", "changed"], [3, 3]),
        (bucket("leaky_bucket", "mode = \"meter\""), ["changed", "changed"], [3, 3]),
        (
            [9, 7, 19].map(|early| {
                format!("policy = \"gcra\"\ninterval = \"1 day\"\ntolerance = \"{early} days\"")
            }),
            ["changed", "changed"],
            [3, 3],
        ),
        (window("fixed_window", ""), ["changed", "changed"], [1, 13]),
        (window("fixed_window", "start = \"epoch\""), ["changed", "changed"], [1, 13]),
        (window("sliding_window", ""), ["changed", "changed"], [1, 13]),
        (window("sliding_counter", ""), ["changed", "changed"], [1, 13]),
        (window("sliding_log", ""), ["changed", "replaced"], [1, 13]),
        (window("weighted_log", "capacity = 10"), ["changed", "replaced"], [1, 13]),
        (
            [10, 8, 20].map(|limit| {
                let limits = format!(
                    "[{{ limit = {limit}, interval = \"1 day\" }}, \
                     {{ limit = 90, interval = \"7 days\" }}]"
                );
                format!("policy = \"multi_window\"\nlimits = {limits}")
            }),
            ["changed", "changed"],
            [1, 13],
        ),
        (
            [10, 8, 20].map(|limit| {
                format!("policy = \"calendar_window\"\nevery = \"day\"\nlimit = {limit}")
            }),
            ["changed", "changed"],
            [1, 13],
        ),
        (
            [10, 8, 20]
                .map(|amount| format!("policy = \"budget\"\namount = 50\non.monday = {amount}")),
            ["changed", "changed"],
            [1, 13],
        ),
        (
            [10, 8, 20].map(|limit| {
                let window =
                    format!("policy = \"fixed_window\", limit = {limit}, interval = \"1 day\"");
                let bucket = "policy = \"token_bucket\", limit = 99, \
                              rate = { amount = 1, interval = \"1 day\" }";
                format!("policy = \"all\"\nof = [{{ {bucket} }}, {{ {window} }}]")
            }),
            ["changed", "changed"],
            [1, 13],
        ),
    ];
    for (terms, [lower, higher], [left, more]) in cases {
        let [first, second, third] = terms.map(|terms| one(&terms));
        let (_, registry) = registry(&first);
        let handle = registry.limiter("a").unwrap();
        for _ in 0..7 {
            handle.try_acquire(1).unwrap();
        }
        assert_eq!(reload(&registry, &second), [format!("{lower} a")], "{second}");
        assert_eq!(remaining(&handle), left, "{second}");
        assert_eq!(reload(&registry, &third), [format!("{higher} a")], "{third}");
        assert_eq!(remaining(&handle), more, "{third}");
        assert_eq!(handle.policy().kind, registry.policy("a").unwrap().kind);
        // A handle that took the new limiter for its own says the same.
        let mut fresh = handle.clone();
        assert_eq!(remaining(&fresh), more);
        fresh.refresh();
        assert!(fresh.try_acquire(1).is_ok() && remaining(&handle) == more - 1);
    }
}

#[test]
fn a_minimum_interval_keeps_its_last_permit() {
    let terms = |rate: u32| {
        let rate = format!("rate = {{ amount = {rate}, interval = \"1 second\" }}");
        one(&format!("policy = \"leaky_bucket\"\nmode = \"min_interval\"\n{rate}"))
    };
    let (clock, registry) = registry(&terms(1));
    let handle = registry.limiter("a").unwrap();
    handle.try_acquire(1).unwrap();
    assert_eq!(reload(&registry, &terms(4)), ["changed a"]);
    let denied = handle.try_acquire(1).unwrap_err();
    assert_eq!(denied.retry_after(), Some(Duration::from_millis(250)));
    clock.advance(Duration::from_millis(250));
    assert!(handle.try_acquire(1).is_ok());
}

const BUCKET: &str = "policy = \"token_bucket\"\nlimit = 10\n\
                      rate = { amount = 1, interval = \"1 hour\" }";
const DAY: &str = "policy = \"calendar_window\"\nevery = \"day\"\nlimit = 100";

#[test]
fn a_limiter_of_another_kind_begins_with_what_the_old_one_has_used() {
    let (_, registry) = registry(&one(BUCKET));
    let mut handle = registry.limiter("a").unwrap();
    let own = registry.bucket("a").unwrap();
    handle.try_acquire(7).unwrap();

    assert_eq!(reload(&registry, &one(DAY)), ["replaced a"]);
    assert_eq!(remaining(&handle), 93);
    assert!(registry.bucket("a").is_none());
    // The old one goes on for itself.
    assert_eq!(own.try_acquire(1).unwrap().remaining(), 2);
    assert_eq!(remaining(&handle), 93);
    // Only the handle's own limiter can take permits back.
    let receipt = handle.try_acquire_revocable(3).unwrap();
    assert!(!receipt.give_back());
    handle.refresh();
    assert!(handle.try_acquire_revocable(3).unwrap().give_back());
    assert_eq!(remaining(&handle), 90);

    // 10 of 10 are used of 100, and more than the bucket has.
    assert_eq!(reload(&registry, &one(BUCKET)), ["replaced a"]);
    assert_eq!(remaining(&handle), 0);
}

#[test]
fn several_numbers_of_a_limiter_of_several_parts_change_at_once() {
    let windows = |hour: u64, day: u64| {
        one(&format!(
            "policy = \"multi_window\"\nlimits = [{{ limit = {hour}, interval = \"1 hour\" }}, \
             {{ limit = {day}, interval = \"1 day\" }}]"
        ))
    };
    let (clock, registry) = registry(&windows(10, 50));
    let handle = registry.limiter("a").unwrap();
    for _ in 0..4 {
        handle.try_acquire(10).unwrap();
        clock.advance(Duration::from_secs(2 * 3600));
    }
    assert_eq!(reload(&registry, &windows(30, 60)), ["changed a"]);
    // 20 of the day, though the hour has 30.
    let denied = handle.try_acquire(21).unwrap_err();
    assert_eq!((denied.which(), remaining(&handle)), (1, 20));

    let all = |a: u64, b: u64, c: u64| {
        let window = |limit: u64| {
            format!("{{ policy = \"sliding_window\", limit = {limit}, interval = \"1 day\" }}")
        };
        one(&format!("policy = \"all\"\nof = [{}, {}, {}]", window(a), window(b), window(c)))
    };
    let (_, registry) = self::registry(&all(10, 20, 30));
    let handle = registry.limiter("a").unwrap();
    handle.try_acquire(6).unwrap();
    assert_eq!(reload(&registry, &all(20, 20, 9)), ["changed a"]);
    assert_eq!(remaining(&handle), 3);
}

#[test]
fn names_come_and_go_and_come_back() {
    let two = |a: &str| format!("{}[limiters.b]\nkey = \"all\"\n{DAY}\n", one(a));
    let only_b = format!("[limiters.b]\nkey = \"all\"\n{DAY}\n");
    let (_, registry) = registry(&two(BUCKET));
    assert_eq!(registry.names(), ["a", "b"]);
    let a = registry.limiter("a").unwrap();
    a.try_acquire(4).unwrap();
    assert!(registry.reload(policies(&two(BUCKET))).unwrap().is_empty());

    assert_eq!(reload(&registry, &only_b), ["removed a"]);
    assert!(registry.reload(policies(&only_b)).unwrap().is_empty());
    assert!(matches!(registry.limiter("a"), Err(RegistryError::Unknown { .. })));
    assert_eq!((registry.names(), registry.policy("a")), (vec!["b".to_owned()], None));
    // The handle goes on, and has the terms again when the name does.
    assert_eq!(a.try_acquire(1).unwrap().remaining(), 5);
    let larger = BUCKET.replace("10", "20");
    assert_eq!(reload(&registry, &two(&larger)), ["added a"]);
    assert_eq!((remaining(&a), a.peek(0).unwrap().limit()), (5, 20));
    // Without handles, nothing of it stays.
    drop(a);
    assert_eq!(reload(&registry, &only_b), ["removed a"]);
    assert_eq!(reload(&registry, &two(BUCKET)), ["added a"]);
    assert_eq!(remaining(&registry.limiter("a").unwrap()), 10);
}

#[test]
fn a_bad_file_is_refused_as_a_whole() {
    let (_, registry) = registry(&one(BUCKET));
    let told = Arc::new(Mutex::new(Vec::new()));
    let events = Arc::clone(&told);
    registry.on_event(move |event| events.lock().unwrap().push(event.to_string()));
    let handle = registry.limiter("a").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.toml");

    // The first limiter is right, and changes nothing nevertheless.
    let larger = one(&BUCKET.replace("10", "20"));
    std::fs::write(&path, format!("{larger}[limiters.b]\npolicy = \"gcar\"\n")).unwrap();
    let error = registry.reload_path(&path).unwrap_err();
    assert!(matches!(*error, ReloadError::Load(_)), "{error}");
    assert_eq!((handle.peek(0).unwrap().limit(), registry.names().len()), (10, 1));
    assert!(registry.reload_path(folder.path().join("none.toml")).is_err());
    {
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 2);
        assert!(told[0].starts_with("refused, nothing has changed: error"), "{}", told[0]);
        assert!(told[0].contains("gcra"), "{}", told[0]);
    }
    std::fs::write(&path, larger).unwrap();
    assert_eq!(words(&registry.reload_path(&path).unwrap()), ["changed a"]);
    assert_eq!(
        told.lock().unwrap()[2],
        "limiter \"a\" changed: token bucket: 20, then 1 per 1h, before: \
         token bucket: 10, then 1 per 1h"
    );
}

#[test]
fn errors_name_the_nearest_and_the_other_form() {
    let text = format!("{}[limiters.users]\n{BUCKET}\n", one(BUCKET));
    let (_, registry) = registry(&text);
    let error = |error: RegistryError| error.to_string();
    assert_eq!(
        error(registry.limiter("user").unwrap_err()),
        "no limiter is named \"user\"; did you mean \"users\"?"
    );
    assert_eq!(error(registry.keyed("xyz").unwrap_err()), "no limiter is named \"xyz\"");
    assert_eq!(
        error(registry.limiter("users").unwrap_err()),
        "limiter \"users\" has keys: use `keyed`, or write `key = \"all\"` in its policy"
    );
    assert_eq!(
        error(registry.keyed("a").unwrap_err()),
        "limiter \"a\" has no keys: use `limiter`, or name another `key` than \"all\" in its policy"
    );
    assert!(registry.typed::<TokenBucket<SharedClock>>("a").is_ok());
    let other = error(registry.typed::<FixedWindow<TestClock>>("a").unwrap_err());
    assert!(other.ends_with("but a token bucket: 10, then 1 per 1h"), "{other}");
    assert!(registry.typed::<TokenBucket<SharedClock>>("users").is_err());
}

#[test]
fn defaults_make_limiters_that_a_file_may_change() {
    let (_, registry) = registry(&one(BUCKET));
    for algorithm in Algorithm::ALL {
        let name = format!("{algorithm:?}");
        let handle = registry.get_or_create(&name, || algorithm.default_kind()).unwrap();
        assert!(handle.try_acquire(1).is_ok());
        let minute = Duration::from_secs(60);
        let again = registry.get_or_create(&name, || algorithm.kind(5, minute).unwrap()).unwrap();
        assert_eq!(remaining(&again), 99, "{name}");
        let custom = algorithm.kind(5, minute).unwrap();
        let keyed = registry.keyed_or_create(&format!("keyed {name}"), || custom).unwrap();
        assert_eq!(keyed.try_acquire("ada", 1).unwrap().remaining(), 4, "{name}");
    }
    assert!(matches!(
        registry.get_or_create("keyed SlidingLog", || unreachable!()),
        Err(RegistryError::HasKeys { .. })
    ));
    let too_large = || Algorithm::SlidingLog.kind(1 << 30, Duration::from_secs(60)).unwrap();
    assert!(matches!(
        registry.get_or_create("large", too_large),
        Err(RegistryError::Unbuildable { .. })
    ));
    assert!(matches!(
        registry.keyed_or_create("large keys", too_large),
        Err(RegistryError::Unbuildable { .. })
    ));
    // A file that does not name it leaves it; one that does changes it.
    assert!(registry.reload(policies(&one(BUCKET))).unwrap().is_empty());
    let bucket = registry.limiter("TokenBucket").unwrap();
    let named = format!("{}[limiters.TokenBucket]\nkey = \"all\"\n{BUCKET}\n", one(BUCKET));
    assert_eq!(reload(&registry, &named), ["changed TokenBucket"]);
    assert_eq!(bucket.peek(0).unwrap().limit(), 10);
    assert_eq!(reload(&registry, &one(BUCKET)), ["removed TokenBucket"]);
}

#[test]
fn a_handle_is_a_limiter_that_threads_share() {
    fn is_shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    let (clock, registry) = registry(&one(BUCKET));
    let handle: LimiterHandle = registry.limiter("a").unwrap();
    is_shared(&handle);
    is_shared(&registry);
    let erased: Arc<dyn Limiter> = Arc::new(handle.clone());
    drop(registry);
    assert_eq!(erased.try_acquire(10).unwrap().remaining(), 0);
    assert!(matches!(handle.try_acquire(1), Err(Denied::Wait(_))));
    assert!(clock.now_nanos() > 0 && !erased.is_idle());
    erased.reset();
    assert!(handle.try_acquire(10).is_ok());
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_the_file_is_no_file_to_read_again() {
    let registry = Registry::new(Policies::from_toml("p.toml", &one(BUCKET)).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.toml");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let error = registry.reload_path(&path).unwrap_err().to_string();
    assert!(error.contains("no regular file, so it cannot be read again"), "{error}");
    assert_eq!(registry.names().len(), 1);
}
