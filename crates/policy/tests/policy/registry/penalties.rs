//! Penalties of a registry: keys that offend are refused for a time, whatever the limiter has.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sluicegate::penalty::Offence;
use sluicegate::{KeyedLimiter, Limiter, ManualClock};
use sluicegate_policy::{OffenceError, Registry, WaitError};

use super::{MONDAY_NANOS, one, policies, registry, reload};

const HOUR: Duration = Duration::from_secs(3600);

/// Returns a policy with keys, a limit of 100 a second, and more fields.
fn log_ins(fields: &str) -> String {
    format!(
        "[limiters.a]\nkey = \"user\"\npolicy = \"fixed_window\"\nlimit = 100\ninterval = \"1 s\"\n{fields}\n"
    )
}

fn penalty(fields: &str) -> String {
    format!(
        "penalty = {{ offences = 3, within = \"10 minutes\", refuse_for = \"1 hour\"{fields} }}"
    )
}

#[test]
fn a_key_that_offends_is_refused_by_every_verb_until_the_penalty_ends() {
    for more in ["", "max_keys = 10", "wait = \"1 s\""] {
        let (clock, registry) = registry(&log_ins(&format!("{}\n{more}", penalty(""))));
        let handle = registry.keyed("a").unwrap();
        for remaining in [2, 1] {
            assert_eq!(handle.offend("eve", 1), Ok(Offence::Counted { remaining }));
            assert!(handle.try_acquire("eve", 1).is_ok());
        }
        assert_eq!(handle.penalty_left("eve"), None);
        assert!(handle.offend("eve", 1).unwrap().is_penalized());

        let left = handle.penalty_left("eve").unwrap();
        assert!(left >= HOUR && left < HOUR + Duration::from_micros(3), "{left:?}");
        assert_eq!(handle.penalized(), [(b"eve".to_vec(), left)]);
        let refusals = [
            handle.try_acquire("eve", 1).unwrap_err(),
            handle.try_pass("eve").unwrap_err(),
            handle.try_pass_with("eve", 2).unwrap_err(),
            handle.try_acquire_up_to("eve", 2).unwrap_err(),
            handle.peek("eve", 1).unwrap_err(),
            handle.try_acquire_revocable("eve", 1).unwrap_err(),
            KeyedLimiter::try_acquire(&handle, "eve", 1).unwrap_err(),
        ];
        for denied in refusals {
            assert_eq!(denied.retry_after(), Some(left));
        }
        assert!(matches!(handle.acquire_blocking("eve"), Err(WaitError::Denied(_))));
        let mut batch = Vec::new();
        let keys: [&str; 2] = ["ada", "eve"];
        handle.try_acquire_batch_with(&mut keys.into_iter(), 1, &mut |_, answer| {
            batch.push(answer.is_ok());
        });
        assert_eq!(batch, [true, false]);

        // It takes nothing, and is no offence: the penalty does not become longer.
        assert!(matches!(handle.offend("eve", 9), Ok(Offence::Ignored { .. })));
        clock.advance(left);
        assert_eq!(handle.try_acquire("eve", 1).unwrap().remaining(), 99);
        assert_eq!(handle.offend("eve", 1), Ok(Offence::Counted { remaining: 2 }));
    }
}

#[test]
fn a_refusal_by_a_penalty_tells_the_limit_of_its_key_and_that_nothing_remains() {
    let own = "overrides = { eve = { limit = 7 } }";
    for more in ["", "wait = \"1 s\""] {
        let (_, registry) = registry(&log_ins(&format!("{}\n{own}\n{more}", penalty(""))));
        let handle = registry.keyed("a").unwrap();
        for (key, limit) in [("ada", 100), ("eve", 7)] {
            handle.offend(key, 3).unwrap();
            let left = handle.penalty_left(key);
            let Err(WaitError::Denied(waits)) = handle.acquire_blocking(key) else { panic!() };
            // One above the limit has to wait for the end, too.
            for denied in
                [waits, handle.peek(key, 1).unwrap_err(), handle.try_acquire(key, 101).unwrap_err()]
            {
                assert_eq!((denied.limit(), denied.remaining()), (Some(limit), Some(0)));
                assert_eq!(denied.retry_after(), left);
            }
        }
    }
}

#[test]
fn a_limiter_without_keys_has_one_offender() {
    let bucket = "policy = \"token_bucket\"\nlimit = 9\nrate = { amount = 9, interval = \"1 s\" }";
    let (clock, registry) = registry(&one(&format!("{bucket}\n{}", penalty(""))));
    let handle = registry.limiter("a").unwrap();
    assert!(handle.offend(3).unwrap().is_penalized());
    assert!(handle.try_acquire(1).is_err() && handle.peek(1).is_err());
    assert!(handle.try_acquire_revocable(1).is_err() && handle.acquire_blocking().is_err());
    assert_eq!(handle.try_acquire(1).unwrap_err().limit(), Some(9));
    assert!(handle.penalty_left().is_some_and(|left| left >= HOUR));
    // A request for nothing is always granted.
    assert!(handle.try_acquire(0).is_ok());
    assert!(handle.pardon() && !handle.pardon());
    assert!(handle.try_acquire(1).is_ok());
    handle.offend(3).unwrap();
    handle.reset();
    assert_eq!(handle.try_acquire(1).unwrap().remaining(), 8);
    handle.offend(3).unwrap();
    clock.advance(HOUR + Duration::from_micros(3));
    assert!(handle.try_acquire(1).is_ok());
}

#[test]
fn refusals_are_offences_if_the_policy_says_so_and_no_others() {
    for (by, ends_in_penalty) in
        [("", true), (", by = \"refusals\"", true), (", by = { status = 401 }", false)]
    {
        for wait in ["", "wait = \"1 ms\""] {
            let text = log_ins(&format!("{}\n{wait}", penalty(by)));
            let (_, registry) = registry(&text);
            let handle = registry.keyed("a").unwrap();
            handle.try_acquire("eve", 100).unwrap();
            for _ in 0..3 {
                assert_eq!(handle.penalty_left("eve"), None);
                // A look is no request.
                assert!(handle.peek("eve", 1).is_err());
                assert!(handle.acquire_blocking("eve").is_err());
            }
            assert_eq!(handle.penalty_left("eve").is_some(), ends_in_penalty, "{by} {wait}");
            assert_eq!(handle.penalty_left("ada"), None);
        }
    }
}

#[test]
fn every_verb_that_takes_counts_its_refusals() {
    let verbs: [fn(&sluicegate_policy::KeyedHandle); 5] = [
        |handle| assert!(handle.try_acquire("eve", 1).is_err()),
        |handle| assert!(handle.try_pass("eve").is_err()),
        |handle| assert!(handle.try_acquire_up_to("eve", 1).is_err()),
        |handle| assert!(handle.try_acquire_revocable("eve", 1).is_err()),
        |handle| {
            handle.try_acquire_batch_with(&mut ["eve"].into_iter(), 1, &mut |_, answer| {
                assert!(answer.is_err());
            });
        },
    ];
    for verb in verbs {
        for store in ["", "store = \"table\"\nkeys = 100"] {
            let bucket =
                "policy = \"token_bucket\"\nlimit = 1\nrate = { amount = 1, interval = \"1 day\" }";
            let text =
                format!("[limiters.a]\nkey = \"user\"\n{bucket}\n{store}\n{}\n", penalty(""));
            let (_, registry) = registry(&text);
            let handle = registry.keyed("a").unwrap();
            handle.try_acquire("eve", 1).unwrap();
            (0..3).for_each(|_| verb(&handle));
            assert!(handle.penalty_left("eve").is_some(), "{store}");
        }
    }
}

#[test]
fn shadow_counts_those_whom_a_penalty_would_refuse() {
    let (_, registry) = registry(&log_ins(&format!("shadow = true\n{}", penalty(""))));
    let handle = registry.keyed("a").unwrap();
    handle.offend("eve", 3).unwrap();
    assert!(handle.try_pass("eve").unwrap().would_deny());
    assert!(!handle.try_pass("ada").unwrap().would_deny());
    assert_eq!(handle.shadow_counts().would_deny, 1);
}

#[test]
fn offences_lead_to_nothing_without_a_penalty() {
    let (_, registry) = registry(&log_ins(""));
    let handle = registry.keyed("a").unwrap();
    let error = handle.offend("eve", 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "limiter \"a\" has no `penalty` in its policy: offences lead to nothing"
    );
    assert!(!handle.pardon("eve") && handle.penalized().is_empty());
}

#[test]
fn a_store_without_space_notes_no_further_offender() {
    let (_, registry) = registry(&log_ins(&penalty(", max_keys = 2")));
    let handle = registry.keyed("a").unwrap();
    let outcomes: Vec<bool> =
        (0..1000_u32).map(|key| handle.offend(&key.to_be_bytes(), 3).is_ok()).collect();
    let noted = outcomes.iter().filter(|noted| **noted).count();
    assert_eq!((noted, handle.penalized().len()), (2, 2));
    assert!(matches!(handle.offend("late", 1), Err(OffenceError::Full(_))));
    assert!(handle.try_acquire("late", 1).is_ok());
}

#[test]
fn penalties_and_offences_outlive_a_change_of_the_rule_and_of_the_limit() {
    let (_, registry) = registry(&log_ins(&penalty("")));
    let handle = registry.keyed("a").unwrap();
    handle.offend("eve", 3).unwrap();
    handle.offend("mallory", 1).unwrap();

    // Another rule: two offences are enough from now on.
    let two = "penalty = { offences = 2, within = \"10 minutes\", refuse_for = \"1 minute\" }";
    assert_eq!(reload(&registry, &log_ins(two)), ["changed a"]);
    assert!(handle.penalty_left("eve").is_some_and(|left| left >= HOUR));
    assert!(handle.offend("mallory", 1).unwrap().is_penalized());

    // Another kind of limiter.
    let bucket = "[limiters.a]\nkey = \"user\"\npolicy = \"token_bucket\"\nlimit = 9\nrate = { amount = 9, interval = \"1 s\" }\n";
    assert_eq!(reload(&registry, &format!("{bucket}{two}")), ["replaced a"]);
    assert!(handle.try_acquire("eve", 1).is_err());

    // Another size of the store.
    let sized = two.replace(" }", ", max_keys = 9 }");
    assert_eq!(reload(&registry, &format!("{bucket}{sized}")), ["changed a"]);
    assert!(handle.penalty_left("eve").is_some_and(|left| left >= HOUR));

    // No penalty any more.
    assert_eq!(reload(&registry, bucket), ["changed a"]);
    assert!(handle.try_acquire("eve", 1).is_ok());
    // A handle that never saw a penalty obeys one all the same.
    let plain = registry.keyed("a").unwrap();
    assert_eq!(reload(&registry, &format!("{bucket}{two}")), ["changed a"]);
    plain.offend("eve", 2).unwrap();
    assert!(plain.try_acquire("eve", 1).is_err());
}

#[test]
fn other_fields_of_the_key_begin_without_offenders() {
    let (_, registry) = registry(&log_ins(&penalty("")));
    let handle = registry.keyed("a").unwrap();
    handle.offend("eve", 3).unwrap();
    let by_client = log_ins(&penalty("")).replace("\"user\"", "\"client\"");
    assert_eq!(reload(&registry, &by_client), ["replaced a"]);
    assert!(handle.try_acquire("eve", 1).is_ok());
}

/// Another size of the store makes another store, into which all penalties have to go: also one that begins
/// while it is made.
#[test]
fn a_penalty_that_begins_while_the_size_of_the_store_changes_is_in_force() {
    const EACH: u64 = 1_500;
    let of_size = |keys: u64| policies(&log_ins(&penalty(&format!(", max_keys = {keys}"))));
    let both = [of_size(10_000), of_size(10_001)];
    let clock = Arc::new(ManualClock::at(MONDAY_NANOS));
    let registry = Registry::with_clock(both[0].clone(), clock).unwrap();
    let key = |thread: u64, number: u64| format!("{thread} {number}");
    thread::scope(|scope| {
        let offends = |thread: u64| {
            let handle = registry.keyed("a").unwrap();
            move || {
                for number in 0..EACH {
                    let key = key(thread, number);
                    assert!(handle.offend(&key, 3).unwrap().is_penalized());
                    assert!(handle.try_acquire(&key, 1).is_err(), "{key}: in force at once");
                }
            }
        };
        let threads: Vec<_> = (0..2).map(|thread| scope.spawn(offends(thread))).collect();
        let mut turn = 0;
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            turn += 1;
            registry.reload(both[turn % 2].clone()).unwrap();
        }
    });
    let handle = registry.keyed("a").unwrap();
    let lost: Vec<String> = (0..2)
        .flat_map(|thread| (0..EACH).map(move |number| key(thread, number)))
        .filter(|key| handle.penalty_left(key).is_none())
        .collect();
    assert_eq!(lost, Vec::<String>::new());
}

/// One who is pardoned while the store changes is not penalized again by what was carried over.
#[test]
fn a_pardon_holds_while_the_size_of_the_store_changes() {
    let of_size = |keys: u64| policies(&log_ins(&penalty(&format!(", max_keys = {keys}"))));
    let both = [of_size(10_000), of_size(10_001)];
    let clock = Arc::new(ManualClock::at(MONDAY_NANOS));
    let registry = Registry::with_clock(both[0].clone(), clock).unwrap();
    thread::scope(|scope| {
        let handle = registry.keyed("a").unwrap();
        let pardons = scope.spawn(move || {
            for number in 0..1_500 {
                let key = number.to_string();
                handle.offend(&key, 3).unwrap();
                assert!(handle.pardon(&key), "{key} was penalized");
                assert!(handle.try_acquire(&key, 1).is_ok(), "{key} is pardoned");
            }
        });
        let mut turn = 0;
        while !pardons.is_finished() {
            turn += 1;
            registry.reload(both[turn % 2].clone()).unwrap();
        }
    });
    assert_eq!(registry.keyed("a").unwrap().penalized(), []);
}

/// The way that the error for a `penalty` without a `policy` tells.
#[test]
fn a_penalty_alone_has_a_limit_that_no_key_reaches() {
    let text = "[limiters.a]\nkey = \"user\"\npolicy = \"token_bucket\"\nlimit = 1000000000\nrate = { amount = 1000000000, interval = \"1 s\" }";
    let (clock, registry) = registry(&format!("{text}\n{}", penalty(", by = { status = 401 }")));
    let handle = registry.keyed("a").unwrap();
    for _ in 0..100_000 {
        assert!(handle.try_acquire("eve", 1).is_ok());
    }
    clock.advance(Duration::from_millis(1));
    assert!(KeyedLimiter::<str>::peek(&handle, "eve", 1_000_000_000).is_ok());
    handle.offend("eve", 3).unwrap();
    assert!(handle.try_acquire("eve", 1).is_err());
    assert!(handle.try_acquire("ada", 1).is_ok());
}
