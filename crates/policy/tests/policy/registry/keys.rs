//! Keyed stores of a registry: keys keep what they used when the terms or the store change.

use std::time::Duration;

use sluicegate::KeyedLimiter;
use sluicegate_policy::KeyedHandle;

use super::{BUCKET, one, registry, reload, remaining};

fn users(fields: &str) -> String {
    format!("[limiters.a]\nkey = \"user\"\n{fields}\n")
}

fn left(handle: &KeyedHandle, key: &str) -> (u64, u64) {
    let grant = handle.peek(key, 0).unwrap();
    (grant.remaining(), grant.limit())
}

#[test]
fn keys_keep_what_they_used_and_overrides_come_and_go() {
    let window = "policy = \"sliding_window\"\ninterval = \"1 day\"\n";
    let bucket = "policy = \"token_bucket\"\nrate = { amount = 1, interval = \"1 day\" }\n";
    for (kind, counts) in [(window, true), (bucket, false)] {
        let terms = |limit: u64, own: Option<u64>| {
            let own = own.map(|own| format!("overrides.vip = {{ limit = {own} }}\n"));
            users(&format!("{kind}limit = {limit}\n{}", own.unwrap_or_default()))
        };
        let (_, registry) = registry(&terms(10, Some(50)));
        let handle = registry.keyed("a").unwrap();
        handle.try_acquire("ada", 4).unwrap();
        handle.try_acquire("vip", 20).unwrap();
        assert_eq!((left(&handle, "ada"), left(&handle, "vip")), ((6, 10), (30, 50)));

        // A window counts 4 and 20; a bucket has 6 and 30 left.
        assert_eq!(reload(&registry, &terms(8, Some(60))), ["changed a"]);
        let (ada, vip) = if counts { (4, 40) } else { (6, 30) };
        assert_eq!((left(&handle, "ada"), left(&handle, "vip")), ((ada, 8), (vip, 60)));
        assert_eq!(left(&handle, "bob"), (8, 8));

        // Without its override, the key has the numbers of all. Buckets change their store.
        let word = if counts { "changed a" } else { "replaced a" };
        assert_eq!(reload(&registry, &terms(8, None)), [word]);
        assert_eq!(left(&handle, "vip"), (0, 8));
        let ada = if counts { 4 } else { 6 };
        assert_eq!(left(&handle, "ada"), (ada, 8));
    }
}

#[test]
fn another_store_begins_with_what_the_keys_have_used() {
    let (_, registry) = registry(&users(BUCKET));
    let handle = registry.keyed("a").unwrap();
    handle.try_acquire("ada", 7).unwrap();
    let bounded = users(&format!("{BUCKET}\nmax_keys = 100"));
    assert_eq!(reload(&registry, &bounded), ["replaced a"]);
    assert_eq!(left(&handle, "ada"), (3, 10));

    let log = "policy = \"sliding_log\"\nlimit = 9\ninterval = \"1 day\"";
    assert_eq!(reload(&registry, &users(log)), ["replaced a"]);
    assert_eq!(left(&handle, "ada"), (2, 9));
    // A log has no space for more, so its keys move to others, with their history.
    let longer = log.replace('9', "20");
    assert_eq!(reload(&registry, &users(&longer)), ["replaced a"]);
    assert_eq!(left(&handle, "ada"), (13, 20));

    let table = users(&format!("{BUCKET}\nstore = \"table\"\nkeys = 1000"));
    assert_eq!(reload(&registry, &table), ["replaced a"]);
    assert_eq!(left(&handle, "ada"), (3, 10));
    assert_eq!(reload(&registry, &table.replace("limit = 10", "limit = 5")), ["changed a"]);
    assert_eq!(left(&handle, "ada").1, 5);
    // Other fields mean other keys.
    assert_eq!(reload(&registry, &users(BUCKET).replace("user", "client")), ["replaced a"]);
    assert_eq!(left(&handle, "ada"), (10, 10));
    // Without keys it is another form, and the handle of the old form goes on.
    assert_eq!(reload(&registry, &one(BUCKET)), ["replaced a"]);
    handle.try_acquire("ada", 1).unwrap();
    assert_eq!(remaining(&registry.limiter("a").unwrap()), 10);
}

#[test]
fn a_key_that_starts_with_less_than_full_earns_from_its_first_request() {
    let (clock, registry) = registry(&users(&format!("{BUCKET}\ninitial = 0")));
    let handle = registry.keyed("a").unwrap();
    assert!(handle.try_acquire("ada", 1).is_err());
    clock.advance(Duration::from_secs(3600));
    assert!(handle.try_acquire("ada", 1).is_ok());
    // It is not forgotten while it is full.
    clock.advance(Duration::from_secs(20 * 3600));
    assert_eq!(KeyedLimiter::<str>::sweep(&handle), 0);
    assert_eq!(left(&handle, "ada"), (10, 10));
    let answers = KeyedLimiter::<str>::try_acquire_batch(&handle, &mut ["bob"].into_iter(), 1);
    assert!(answers[0].is_err());
    clock.advance(Duration::from_secs(3600));
    assert!(handle.try_acquire(b"bob", 1).is_ok());
}

#[test]
fn clients_have_the_numbers_of_the_most_specific_network() {
    let terms = |own: &str| {
        format!(
            "[limiters.a]\nkey = \"client\"\npolicy = \"sliding_window\"\nlimit = 5\ninterval = \"1 day\"\n\
             [limiters.a.overrides]\n{own}\n"
        )
    };
    let own = "\"10.0.0.0/8\" = { limit = 10 }\n\"10.1.2.3/16\" = { limit = 20 }\n\"10.1.0.7\" = { limit = 30 }\n\
               \"2001:db8::/32\" = { limit = 40 }";
    let (_, registry) = registry(&terms(own));
    let handle = registry.keyed("a").unwrap();
    for (client, limit) in [
        ("10.2.0.1", 10),
        ("10.1.0.1", 20),
        ("10.1.0.7", 30),
        ("11.0.0.1", 5),
        ("2001:db8:7::/64", 40),
        ("2001:db9::/64", 5),
        ("host.example", 5),
    ] {
        handle.try_acquire(client, 1).unwrap();
        assert_eq!(left(&handle, client), (limit - 1, limit), "{client}");
    }
    // A reload that takes a network away leaves its clients those of the next.
    let changed = reload(&registry, &terms("\"10.0.0.0/8\" = { limit = 11 }"));
    assert_eq!(changed, ["changed a"]);
    assert_eq!(left(&handle, "10.1.0.1"), (10, 11));
    assert_eq!(left(&handle, "2001:db8:7::/64"), (4, 5));
}

/// A limiter of another kind has no place for all that was used, which counts again when the first kind comes back.
#[test]
fn keys_are_granted_no_more_than_the_largest_limit_when_kinds_change_and_come_back() {
    const KINDS: [&str; 4] = [
        "policy = \"fixed_window\"\ninterval = \"10 hours\"",
        "policy = \"sliding_window\"\ninterval = \"10 hours\"",
        "policy = \"sliding_log\"\ninterval = \"10 hours\"",
        "policy = \"token_bucket\"\nrate = { amount = 1, interval = \"10 hours\" }",
    ];
    let users = |kind: &str, limit: u64| users(&format!("{kind}\nlimit = {limit}\n"));
    for (first, other) in KINDS.iter().flat_map(|first| KINDS.map(|other| (first, other))) {
        let (clock, registry) = registry(&users(first, 300));
        let handle = registry.keyed("a").unwrap();
        let mut granted = 0;
        for (kind, limit, asks) in [
            (*first, 300, 250),
            (other, 100, 10),
            (*first, 300, 20),
            (other, 50, 10),
            (*first, 300, 400),
        ] {
            reload(&registry, &users(kind, limit));
            clock.advance(Duration::from_secs(1));
            granted += (0..asks).filter(|_| handle.try_acquire("ada", 1).is_ok()).count();
        }
        assert!((270..=300).contains(&granted), "{first}, {other}: {granted}");
    }
}
