//! Changes of a store, and of one key, while callers stand in line.

use super::*;

#[test]
fn a_reset_and_an_update_let_those_in_line_look_again() {
    let clock = ManualClock::new();
    let quota = quota!(10 / second);
    let keyed = Keyed::<String, _>::with_clock(quota, &clock);
    let users = QueuedKeys::<_, str, _>::with_clock(keyed, &clock);
    for key in ["ada", "bob", "cyd"] {
        users.acquire_blocking(key, 10).unwrap();
    }
    let mut callers = ["ada", "bob", "cyd"].map(|key| Caller::of(users.acquire(key, 5)));
    users.reset("ada");
    assert_eq!(callers.each_mut().map(Caller::is_granted), [true, false, false]);
    assert!(users.remove("bob"), "those in line find it full");
    assert_eq!(callers.each_mut().map(Caller::is_granted), [true, true, false]);
    users.update(|users| users.reconfigure(quota!(4 / second), Carry::Keep));
    assert_eq!(callers[2].error(), Some(AcquireError::TooLarge { limit: 4 }));
    assert_eq!(users.lines(), 0);
}

#[test]
fn a_change_of_a_key_lets_those_in_line_for_it_look_again() {
    let clock = ManualClock::new();
    let log = |_: &String| {
        let log = WeightedLog::with_clock(rate!(10 / 100 ms), &clock).unwrap();
        log.with_max_limit(20).unwrap()
    };
    let logs = Keyed::<String, _>::with(Each::with_clock(log, &clock));
    let users = QueuedKeys::<_, str, _>::with_clock(logs, &clock);
    let limit = |key: &str, limit| {
        let change = |log: &WeightedLog<_>| log.reconfigure(limit);
        users.update_key(key, |users| users.with_limiter(key, change).unwrap()).unwrap();
    };
    for key in ["ada", "bob"] {
        users.acquire_blocking(key, 10).unwrap();
    }
    let mut ada = [2, 9, 12].map(|permits| Caller::of(users.acquire("ada", permits)));
    let too_large = |limit| Some(AcquireError::TooLarge { limit });
    assert_eq!(ada[2].error(), too_large(10));
    let mut bob = Caller::of(users.acquire("bob", 2));
    limit("ada", 15);
    assert_eq!(ada.each_ref().map(Caller::woken), [1, 1, 0]);
    assert!(ada[0].is_granted() && ada[1].is_waiting());
    assert_eq!((bob.woken(), bob.is_waiting()), (0, true), "nothing has changed for it");
    limit("ada", 8);
    assert_eq!((ada[1].woken(), ada[1].error()), (2, too_large(8)));
    limit("bob", 12);
    assert!(bob.woken() == 1 && bob.is_granted());
    assert_eq!(users.lines(), 0);
}

#[test]
fn those_in_line_look_again_also_after_a_change_that_panics() {
    let clock = ManualClock::new();
    let users = table(&clock);
    for for_all in [true, false] {
        users.acquire_blocking("ada", 10).unwrap();
        let mut caller = Caller::of(users.acquire("ada", 5));
        let change = |store: &Store<'_>| {
            store.reset("ada");
            panic!("on purpose");
        };
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            if for_all { users.update(change) } else { users.update_key("ada", change) }
        }));
        assert!(panicked.is_err());
        assert!(caller.woken() == 1 && caller.is_granted());
        users.reset("ada");
    }
}
