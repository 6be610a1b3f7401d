//! Limiters that all keys have in common: shares of tenants, and classes with reserves.

use std::time::Duration;

use sluicegate::KeyedLimiter;
use sluicegate_policy::PermitSource::{Assured, Borrowed};
use sluicegate_policy::{
    CommonLimiter, KeyedHandle, Kind, Policies, Registry, RegistryError, Unbuildable,
};

use super::{policies, registry, reload};

/// A limit of 100 for all; `acme` has 20, and each of 3 others 5 and a ceiling of 15.
fn tenants(limit: u64, acme: &str) -> String {
    format!(
        r#"
[limiters.a]
key = {{ header = "x-tenant" }}
policy = "shares"
limit = {limit}
rate = {{ amount = 10, interval = "1 second" }}
shares = [
    {{ tenants = [{acme}], assured = {{ limit = 20, rate = {{ amount = 2, interval = "1 second" }} }} }},
    {{ tenants = 3, assured = {{ limit = 5, rate = {{ amount = 1, interval = "1 second" }} }}, ceiling = {{ limit = 15, rate = {{ amount = 1, interval = "1 second" }} }} }},
]
"#
    )
}

/// A limit of 100, of which the normal class leaves `normal`, and all others leave half.
fn classes(normal: u64) -> String {
    format!(
        r#"
[limiters.a]
key = {{ header = "x-class" }}
policy = "priorities"
limit = 100
rate = {{ amount = 10, interval = "1 second" }}
classes = [
    {{ name = "critical", values = ["pay", "health"] }},
    {{ name = "normal", reserve = {normal} }},
    {{ name = "batch", reserve_percent = 50 }},
]
"#
    )
}

/// Returns the number of permits that could be taken now.
fn left(handle: &KeyedHandle, key: &str) -> u64 {
    (0..200).rev().find(|permits| handle.peek(key, *permits).is_ok()).unwrap()
}

#[test]
fn a_pass_and_a_look_tell_whether_permits_are_assured_or_borrowed() {
    let (clock, registry) = registry(&tenants(100, "\"acme\""));
    let handle = registry.keyed("a").unwrap();
    // 35 are kept for the shares, so 65 can be lent.
    assert_eq!(handle.peek_pass("acme", 20).unwrap().source(), Some(Assured));
    assert_eq!(handle.peek_pass("acme", 21).unwrap().source(), Some(Borrowed));
    assert_eq!(handle.try_pass_with("acme", 20).unwrap().source(), Some(Assured));
    assert_eq!(handle.try_pass_with("acme", 45).unwrap().source(), Some(Borrowed));
    assert_eq!(
        handle.peek_pass("acme", 1).unwrap_err().retry_after(),
        Some(Duration::from_millis(100))
    );
    // Each of three others has its share nevertheless; a fourth has none.
    for stranger in ["x", "y", "z"] {
        assert_eq!(handle.try_pass(stranger).unwrap().source(), Some(Assured));
    }
    assert!(handle.try_pass("w").is_err());
    clock.advance(Duration::from_secs(1));
    assert_eq!(handle.try_pass("w").unwrap().source(), Some(Assured), "the others are full again");

    let counts = registry.statistics()[0].shares.unwrap();
    assert_eq!((counts.assured, counts.borrowed), (24, 45));
    // Limiters of other kinds have no source.
    let other = "limiters.b = { policy = \"gcra\", interval = \"1 s\", tolerance = \"0 s\" }";
    let registry = Registry::new(policies(other)).unwrap();
    assert_eq!(registry.keyed("b").unwrap().try_pass("x").unwrap().source(), None);
    assert_eq!(registry.statistics()[0].shares, None);
}

#[test]
fn a_ceiling_holds_for_all_that_a_tenant_gets_and_a_stranger_may_take_as_many_as_there_are() {
    let (_, registry) = registry(&tenants(100, "\"acme\""));
    let handle = registry.keyed("a").unwrap();
    // Those of its share are left below the ceiling.
    assert_eq!(left(&handle, "x"), 10);
    assert_eq!(handle.try_acquire_up_to("x", 200).unwrap().permits(), 10);
    assert_eq!(handle.try_acquire_up_to("x", 200).unwrap().permits(), 5);
    assert!(handle.try_acquire_up_to("x", 200).is_err());
    assert_eq!(handle.try_acquire_up_to("acme", 200).unwrap().permits(), 50);
}

#[test]
fn strangers_take_no_more_memory_than_there_are_places() {
    let (_, registry) = registry(&tenants(100, "\"acme\""));
    let handle = registry.keyed("a").unwrap();
    let before = (0..100_000_u64).filter(|name| handle.try_acquire(&name.to_be_bytes(), 1).is_ok());
    // Those that can be lent, and a share each for the three that found a place.
    assert!(before.count() <= 68);
    (0..100_000_u64).for_each(|name| _ = handle.try_acquire(&name.to_le_bytes(), 0));
    let statistics = &registry.statistics()[0];
    assert_eq!(statistics.keys, Some(3));
    assert!(statistics.memory_bytes.unwrap() < 64 << 10, "{statistics:?}");
    assert_eq!(left(&handle, "acme"), 20);
}

#[test]
fn other_numbers_are_in_force_at_once_and_other_tenants_leave_what_was_used() {
    let (_, registry) = registry(&tenants(100, "\"acme\""));
    let handle = registry.keyed("a").unwrap();
    handle.try_acquire("acme", 20).unwrap();
    handle.try_acquire("acme", 40).unwrap();
    assert_eq!(reload(&registry, &tenants(90, "\"acme\"")), ["changed a"]);
    // 40 are left, of which the shares keep 35.
    assert_eq!((left(&handle, "acme"), left(&handle, "x")), (5, 5));
    assert_eq!(reload(&registry, &tenants(120, "\"acme\", \"globex\"")), ["replaced a"]);
    // 40 are left, and whole shares would be 55: each has 40 of 55 parts.
    assert_eq!((left(&handle, "acme"), left(&handle, "globex"), left(&handle, "x")), (14, 14, 3));

    // In the place of another kind, what all keys have used together counts.
    let bucket = "[limiters.a]\nkey = { header = \"x-tenant\" }\npolicy = \"token_bucket\"\nlimit = 10\nrate = { amount = 1, interval = \"1 day\" }";
    assert_eq!(reload(&registry, bucket), ["replaced a"]);
    handle.try_acquire("acme", 7).unwrap();
    assert_eq!(reload(&registry, &tenants(100, "\"acme\"")), ["replaced a"]);
    assert_eq!(handle.try_acquire_up_to("acme", 20).unwrap().permits(), 20);
    assert_eq!(handle.try_acquire_up_to("acme", 100).unwrap().permits(), 100 - 7 - 20 - 35);
}

#[test]
fn however_often_tenants_change_no_more_is_granted_than_by_one_limit_and_counts_go_on() {
    let (_, registry) = registry(&tenants(100, "\"acme\""));
    let handle = registry.keyed("a").unwrap();
    let mut granted = 0;
    for round in 0..7 {
        for key in ["acme", "globex", "initech", "x", "y", "z"] {
            while handle.try_acquire(key, 1).is_ok() {
                granted += 1;
            }
        }
        let others = ["\"acme\"", "\"acme\", \"globex\"", "\"globex\", \"initech\""][round % 3];
        let changed = if round % 4 == 3 {
            classes(20).replace("x-class", "x-tenant")
        } else {
            tenants(100, others)
        };
        reload(&registry, &changed);
    }
    // Parts of shares are rounded down.
    assert!((90..=100).contains(&granted), "{granted}");
    let counts = registry.statistics()[0].shares.unwrap();
    assert!(counts.assured + counts.borrowed <= 100, "{counts:?}");
}

#[test]
fn answers_are_counted_by_class() {
    let (_, registry) = registry(&classes(20));
    let handle = registry.keyed("a").unwrap();
    let names = |registry: &Registry| {
        let classes = registry.statistics().remove(0).classes;
        let told = classes.into_iter().map(|class| (class.name, class.counts));
        told.map(|(name, counts)| (name, counts.permits, counts.denied)).collect::<Vec<_>>()
    };
    let taken = handle.try_acquire_up_to("anything", 1_000).unwrap().permits();
    assert!(handle.try_acquire("anything", 1).is_err());
    let counts = names(&registry);
    let expected = [("critical", 0, 0), ("normal", 0, 0), ("batch", taken, 1)];
    let expected = expected.map(|(name, permits, denied)| (name.to_owned(), permits, denied));
    assert_eq!(counts, expected, "looks for a number are not counted");
    assert!(registry.statistics()[0].shares.is_none());
}

#[test]
fn a_class_is_denied_while_less_than_its_reserve_would_remain() {
    let (_, registry) = registry(&classes(20));
    let handle = registry.keyed("a").unwrap();
    assert_eq!(
        (left(&handle, "pay"), left(&handle, "normal"), left(&handle, "batch")),
        (100, 80, 50)
    );
    // A client that makes a class up is of the last one.
    assert_eq!(left(&handle, "critical"), 50, "its keys have other names");
    handle.try_acquire("made up", 50).unwrap();
    assert!(handle.try_acquire("batch", 1).is_err());
    handle.try_acquire("normal", 30).unwrap();
    assert_eq!((left(&handle, "health"), left(&handle, "normal")), (20, 0));

    assert_eq!(reload(&registry, &classes(10)), ["replaced a"]);
    assert_eq!((left(&handle, "health"), left(&handle, "normal")), (20, 10));
    let policy = handle.policy();
    let name = |key: &str| policy.kind.class_of(key.as_bytes()).unwrap().name.clone();
    assert_eq!([name("pay"), name("normal"), name("")], ["critical", "normal", "batch"]);
    KeyedLimiter::reset(&handle, "batch");
    assert_eq!((left(&handle, "health"), left(&handle, "batch")), (100, 50));
}

#[test]
fn in_shadow_a_pass_that_would_be_denied_has_no_source() {
    let (_, registry) = registry(&(tenants(100, "\"acme\"") + "shadow = true\n"));
    let handle = registry.keyed("a").unwrap();
    assert_eq!(handle.try_pass_with("acme", 65).unwrap().source(), Some(Borrowed));
    let pass = handle.try_pass_with("acme", 65).unwrap();
    assert!(pass.would_deny());
    assert_eq!(pass.source(), None);
}

#[test]
fn a_limiter_of_all_keys_is_never_that_of_one_key_or_of_none() {
    let kind = |text: &str| policies(text).into_limiters().remove(0).kind;
    let clock = || std::sync::Arc::new(sluicegate::ManualClock::new());
    for kind in [kind(&tenants(100, "\"acme\"")), kind(&classes(1))] {
        assert!(matches!(kind.limiter(clock()), Err(Unbuildable::Common)));
        assert!(CommonLimiter::new(&kind, clock()).unwrap().is_some());
        let all = Kind::All(vec![kind.clone()]);
        assert!(matches!(all.limiter(clock()), Err(Unbuildable::Common)));
        assert!(CommonLimiter::new(&all, clock()).unwrap().is_none());
        let (_, registry) = registry(&classes(1));
        let error = registry.get_or_create("new", || kind.clone()).unwrap_err();
        assert!(matches!(error, RegistryError::Unbuildable { error: Unbuildable::Common, .. }));
        assert!(
            registry.keyed_or_create("new", || kind.clone()).unwrap().try_acquire("x", 1).is_ok()
        );
    }
}

#[test]
fn names_are_spelled_as_keys_are() {
    let text = tenants(100, "\"2001:DB8::1\", \"10.0.0.7\"")
        .replace("{ header = \"x-tenant\" }", "\"client\"");
    let (_, registry) = registry(&text);
    let handle = registry.keyed("a").unwrap();
    let policy = handle.policy();
    let mut key = Vec::new();
    let _ = policy.given_key(b"2001:db8:0:0:ffff::7", &mut key);
    assert_eq!(handle.try_acquire(&key, 20).unwrap().limit(), 20);
}

#[test]
fn a_limit_that_is_all_assured_is_warned_of() {
    let warned = |limit| {
        let text = tenants(limit, "\"acme\"");
        let policies = Policies::from_toml("p", &text).unwrap();
        policies.warnings().iter().map(|warning| warning.expected().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(warned(36), [""; 0]);
    let [label] = &warned(35)[..] else { panic!() };
    assert_eq!(
        label,
        "all of it is assured, so nothing can be lent: twice as much is a good beginning"
    );
}
