//! Counts of the answers of a registry's limiters: what is counted is what callers were told.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::thread;

use sluicegate::KeyedLimiter;
use sluicegate_policy::LimiterStatistics;

use super::*;

fn of(registry: &Registry, name: &str) -> LimiterStatistics {
    let all = registry.statistics();
    all.into_iter().find(|own| own.name == name).unwrap_or_else(|| panic!("no {name}"))
}

/// Returns the granted calls, the denied ones, and the granted permits.
fn counts(own: &LimiterStatistics) -> (u64, u64, u64) {
    let counts = own.counts.expect("it is counted");
    (counts.granted, counts.denied, counts.permits)
}

const TWO: &str = r#"
limiters.all = { policy = "fixed_window", key = "all", limit = 10, interval = "1 day", cost = 3 }
limiters.users = { policy = "token_bucket", key = "user", limit = 5, rate = { amount = 5, interval = "1 day" } }
"#;

#[test]
fn every_way_to_ask_is_counted_once() {
    let (_, registry) = registry(TWO);
    let registry = registry.counted();
    let (all, users) = (registry.limiter("all").unwrap(), registry.keyed("users").unwrap());
    all.try_acquire(1).unwrap();
    all.try_pass().unwrap();
    all.try_pass_with(2).unwrap();
    all.peek(1).unwrap();
    assert_eq!(counts(&of(&registry, "all")), (3, 0, 6));
    assert_eq!(all.try_acquire_up_to(9).unwrap().permits(), 4);
    Limiter::try_acquire(&all, 1).unwrap_err();
    all.acquire_blocking().unwrap_err();
    let own = of(&registry, "all");
    assert_eq!(counts(&own), (4, 2, 10));
    assert_eq!((own.denials.unwrap().rate, own.denials.unwrap().permits), (2, 4));
    assert_eq!((own.state.unwrap().remaining(), own.keys, own.waiting), (0, None, 0));

    let store: &dyn KeyedLimiter<str> = &users;
    store.try_acquire("ada", 2).unwrap();
    users.try_acquire("ada", 2).unwrap();
    _ = store.try_acquire_revocable("bob", 1).unwrap();
    assert_eq!(store.try_acquire_batch(&mut ["ada", "ada"].into_iter(), 1).len(), 2);
    users.acquire_blocking("bob").unwrap();
    let own = of(&registry, "users");
    assert_eq!((counts(&own), own.keys, own.state), ((5, 1, 7), Some(2), None));
    assert!(own.memory_bytes.unwrap() > 0);
}

#[test]
fn a_denial_for_lack_of_a_key_counts_the_permits_that_were_asked_for() {
    let (_, registry) = registry(TWO);
    let registry = registry.counted();
    let users = registry.keyed("users").unwrap();
    for permits in [0, 3] {
        users.count_missing_key(permits);
    }
    let own = of(&registry, "users");
    assert_eq!((own.unasked.missing_key, own.denials.unwrap().permits), (2, 3));
}

#[test]
fn receipts_of_a_counted_limiter_still_give_back() {
    let (_, registry) =
        registry(&one("policy = \"gcra\"\ninterval = \"1 hour\"\ntolerance = \"9 hours\""));
    let limiter = registry.counted().limiter("a").unwrap();
    assert!(limiter.try_acquire_revocable(7).unwrap().give_back());
    assert_eq!(remaining(&limiter), 10);
}

#[test]
fn those_who_wait_are_counted_when_they_are_told() {
    let text =
        one("policy = \"gcra\"\ninterval = \"1 second\"\ntolerance = \"0 s\"\nwait = \"10 s\"");
    let (clock, registry) = registry(&text);
    let registry = registry.counted();
    let limiter = registry.limiter("a").unwrap();
    limiter.acquire_blocking().unwrap();
    let mut waits = pin!(limiter.acquire());
    let mut poll = || waits.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll().is_pending());
    assert_eq!(of(&registry, "a").waiting, 1);
    // It overtakes nobody.
    limiter.try_acquire(1).unwrap_err();
    clock.advance(Duration::from_secs(1));
    // Settles for those in line.
    limiter.try_acquire(1).unwrap_err();
    assert!(matches!(poll(), Poll::Ready(Ok(_))));
    let own = of(&registry, "a");
    assert_eq!(counts(&own), (2, 2, 2));
    let waits = own.waits.unwrap();
    assert_eq!((waits.callers(), waits.total()), (1, Duration::from_secs(1)));
}

#[test]
fn denials_that_shadow_overrules_are_not_denials() {
    let (_, registry) =
        registry(&one("policy = \"fixed_window\"\nlimit = 2\ninterval = \"1 day\"\nshadow = true"));
    let registry = registry.counted();
    let limiter = registry.limiter("a").unwrap();
    (0..5).for_each(|_| _ = limiter.try_acquire(1).unwrap());
    let own = of(&registry, "a");
    assert_eq!((counts(&own), own.shadow.decided, own.shadow.would_deny), ((2, 0, 2), 5, 3));
}

#[test]
fn limiters_to_come_are_counted_too_and_a_registry_that_is_not_counted_has_no_counts() {
    let (_, plain) = registry(TWO);
    plain.limiter("all").unwrap().try_acquire(1).unwrap();
    assert!(plain.statistics().iter().all(|own| own.counts.is_none() && own.denials.is_none()));
    let (_, registry) =
        registry(&one("policy = \"fixed_window\"\nlimit = 2\ninterval = \"1 day\""));
    let registry = registry.counted();
    registry.reload(policies(TWO)).unwrap();
    registry.limiter("all").unwrap().try_acquire(1).unwrap();
    assert_eq!(counts(&of(&registry, "all")), (1, 0, 1));
}

#[test]
fn the_counts_of_many_threads_are_what_they_were_told() {
    const EACH: u64 = 25_000;
    let (clock, registry) = registry(TWO);
    let registry = registry.counted();
    let (granted, denied) = (AtomicU64::new(0), AtomicU64::new(0));
    let users = registry.keyed("users").unwrap();
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (users, clock, granted, denied) = (&users, &clock, &granted, &denied);
            scope.spawn(move || {
                for call in 0..EACH {
                    if call % 100 == 0 {
                        clock.advance(Duration::from_secs(600));
                    }
                    let key = ((call + thread) % 7).to_le_bytes();
                    let told = if users.try_acquire(&key, 1).is_ok() { granted } else { denied };
                    told.fetch_add(1, Relaxed);
                }
            });
        }
    });
    let (granted, denied) = (granted.into_inner(), denied.into_inner());
    assert!(granted > 0 && denied > 0 && granted + denied == 4 * EACH);
    assert_eq!(counts(&of(&registry, "users")), (granted, denied, granted));
}

#[test]
fn what_a_penalty_refuses_is_counted_by_whatever_verb() {
    let penalty = r#"penalty = { offences = 1, within = "1 hour", refuse_for = "1 hour" }"#;
    let bucket = "policy = \"token_bucket\"\nlimit = 9\nrate = { amount = 9, interval = \"1 s\" }";
    for more in ["", "wait = \"1 s\""] {
        let (_, registry) = registry(&one(&format!("{bucket}\n{penalty}\n{more}")));
        let registry = registry.counted();
        let all = registry.limiter("a").unwrap();
        all.offend(1).unwrap();
        all.try_acquire(1).unwrap_err();
        all.try_acquire_revocable(1).unwrap_err();
        all.try_acquire_up_to(1).unwrap_err();
        all.acquire_blocking().unwrap_err();
        assert_eq!(counts(&of(&registry, "a")), (0, 4, 0), "{more}");
    }
    for more in ["", "wait = \"1 s\"", "store = \"table\"\nkeys = 100"] {
        let text = format!("[limiters.a]\nkey = \"user\"\n{bucket}\n{penalty}\n{more}");
        let (_, registry) = registry(&text);
        let registry = registry.counted();
        let users = registry.keyed("a").unwrap();
        users.offend("eve", 1).unwrap();
        let store: &dyn KeyedLimiter<str> = &users;
        store.try_acquire("eve", 1).unwrap_err();
        store.try_acquire_revocable("eve", 1).unwrap_err();
        assert!(store.try_acquire_batch(&mut ["eve"].into_iter(), 1)[0].is_err());
        users.acquire_blocking("eve").unwrap_err();
        assert_eq!(counts(&of(&registry, "a")), (0, 4, 0), "{more}");
    }
}

#[test]
fn a_denial_that_a_look_has_told_is_counted_if_it_is_noted() {
    let penalty = r#"penalty = { offences = 2, within = "1 hour", refuse_for = "1 hour" }"#;
    let window = "policy = \"fixed_window\"\nlimit = 1\ninterval = \"1 day\"";
    let (_, all) = registry(&one(&format!("{window}\n{penalty}")));
    let (_, users) = registry(&format!("[limiters.a]\nkey = \"user\"\n{window}\n{penalty}"));
    let (all, users) = (all.counted(), users.counted());
    let (single, each) = (all.limiter("a").unwrap(), users.keyed("a").unwrap());
    // The second is the last offence before a penalty, by which the third is refused: that is none.
    for _ in 0..3 {
        let denied = single.peek_pass(2).unwrap_err();
        single.note_denial(2, &denied);
        let denied = each.peek_pass("eve", 2).unwrap_err();
        each.note_denial("eve", 2, &denied);
    }
    assert!(single.penalty_left().is_some() && each.penalty_left("eve").is_some());
    assert_eq!(counts(&of(&all, "a")), (0, 3, 0));
    assert_eq!(counts(&of(&users, "a")), (0, 3, 0));
    // With `shadow` a look denies nothing, and says so.
    let (_, shadow) = registry(&one(&format!("{window}\nshadow = true")));
    let shadow = shadow.limiter("a").unwrap();
    assert!(shadow.peek_pass(2).unwrap().would_deny() && shadow.peek(2).is_ok());
    assert_eq!(shadow.shadow_counts().decided, 0);
}
