//! Callers that are preempted within a decision, for as long as a change of the terms takes: the clock,
//! which the limiter reads between the handle's two looks, makes the change.

use std::sync::{Arc, Mutex};

use sluicegate::{Clock, Denied, Grant, KeyedLimiter, Limiter, ManualClock};
use sluicegate_policy::{KeyedHandle, LimiterHandle, Policies, Registry};

use super::registry_threads::load::policies;

type Change = Box<dyn FnOnce() + Send>;

/// A clock that makes a change when it is read next.
#[derive(Clone)]
struct Preempting {
    clock: Arc<ManualClock>,
    change: Arc<Mutex<Option<Change>>>,
}

impl Clock for Preempting {
    fn now_nanos(&self) -> u64 {
        // The lock is not held while the change is made, which reads the clock too.
        let change = self.change.lock().unwrap().take();
        if let Some(change) = change {
            change();
        }
        self.clock.now_nanos()
    }
}

type Answer = Result<Grant, Denied>;

fn registry(policies: Policies) -> (Preempting, Registry) {
    let clock = Arc::new(ManualClock::at(1_767_571_200_000_000_000));
    let clock = Preempting { clock, change: Arc::default() };
    let registry = Registry::with_clock(policies, clock.clone()).unwrap();
    (clock, registry)
}

/// Puts `terms` in force at the next reading of the clock.
fn change_at_next_reading(clock: &Preempting, registry: &Registry, terms: &Policies) {
    let (registry, terms) = (registry.clone(), terms.clone());
    let change = move || drop(registry.reload(terms).unwrap());
    *clock.change.lock().unwrap() = Some(Box::new(change));
}

const BUCKET: &str = "policy = \"token_bucket\"\nrate = { amount = 1, interval = \"365 days\" }\n";
const WINDOW: &str = "policy = \"sliding_window\"\ninterval = \"1 day\"\n";
const COUNTER: &str = "policy = \"sliding_counter\"\ninterval = \"1 day\"\n";
const FIXED: &str = "policy = \"fixed_window\"\ninterval = \"1 day\"\n";

#[test]
fn a_grant_of_a_limiter_that_was_replaced_meanwhile_is_made_again() {
    type Call = fn(&LimiterHandle) -> Answer;
    let calls: [(&str, Call); 7] = [
        ("try_acquire", |handle| handle.try_acquire(1)),
        ("try_pass", |handle| handle.try_pass().map(|pass| pass.grant())),
        ("try_pass_with", |handle| handle.try_pass_with(1).map(|pass| pass.grant())),
        ("try_acquire_up_to", |handle| handle.try_acquire_up_to(1)),
        ("Limiter::try_acquire", |handle| Limiter::try_acquire(handle, 1)),
        ("try_acquire_revocable", |handle| handle.try_acquire_revocable(1).map(|own| own.grant())),
        ("acquire", |handle| Ok(handle.acquire_blocking().unwrap().grant())),
    ];
    for (old, new) in [(BUCKET, WINDOW), (WINDOW, COUNTER), (FIXED, BUCKET), (COUNTER, FIXED)] {
        let [old, new] = [(old, 10), (new, 20)]
            .map(|(kind, limit)| policies("all", &format!("{kind}limit = {limit}")));
        for (call, decide) in calls {
            let (clock, registry) = registry(old.clone());
            let handle = registry.limiter("a").unwrap();
            handle.try_acquire(4).unwrap();
            change_at_next_reading(&clock, &registry, &new);
            let grant = decide(&handle).unwrap();
            // By the new terms, which know of the 4 before the change.
            assert_eq!((grant.limit(), grant.remaining()), (20, 15), "{call}");
            assert_eq!(handle.peek(0).unwrap().remaining(), 15, "{call}");
        }
    }
}

#[test]
fn a_grant_of_a_store_that_was_replaced_meanwhile_is_made_again() {
    type Call = fn(&KeyedHandle) -> Answer;
    let calls: [(&str, Call); 7] = [
        ("try_acquire", |handle| handle.try_acquire("ada", 1)),
        ("try_pass", |handle| handle.try_pass("ada").map(|pass| pass.grant())),
        ("try_pass_with", |handle| handle.try_pass_with("ada", 1).map(|pass| pass.grant())),
        ("try_acquire_up_to", |handle| handle.try_acquire_up_to("ada", 1)),
        ("KeyedLimiter::try_acquire", |handle| KeyedLimiter::<str>::try_acquire(handle, "ada", 1)),
        ("try_acquire_batch", |handle| {
            KeyedLimiter::<str>::try_acquire_batch(handle, &mut ["ada"].into_iter(), 1).remove(0)
        }),
        ("acquire", |handle| Ok(handle.acquire_blocking("ada").unwrap().grant())),
    ];
    for (old, new) in [(BUCKET, WINDOW), (WINDOW, BUCKET), (FIXED, COUNTER)] {
        let [old, new] = [(old, 10), (new, 20)]
            .map(|(kind, limit)| policies("user", &format!("{kind}limit = {limit}")));
        for (call, decide) in calls {
            let (clock, registry) = registry(old.clone());
            let handle = registry.keyed("a").unwrap();
            // Twice: after an insertion a store guesses that the next key is new, too, and holds a lock for writing
            // while the limiter reads the clock. A change in the midst of that would wait for the lock.
            handle.try_acquire("ada", 3).unwrap();
            handle.try_acquire("ada", 1).unwrap();
            change_at_next_reading(&clock, &registry, &new);
            let grant = decide(&handle).unwrap();
            assert_eq!((grant.limit(), grant.remaining()), (20, 15), "{call}");
            assert_eq!(handle.peek("ada", 0).unwrap().remaining(), 15, "{call}");
        }
    }
}

#[test]
fn a_denial_by_the_terms_before_a_change_is_not_the_answer_after_it() {
    let [old, new] = [(WINDOW, 10), (BUCKET, 1_000)]
        .map(|(kind, limit)| policies("all", &format!("{kind}limit = {limit}")));
    let (clock, registry) = registry(old);
    let handle = registry.limiter("a").unwrap();
    handle.try_acquire(10).unwrap();
    change_at_next_reading(&clock, &registry, &new);
    assert_eq!(handle.try_acquire(100).unwrap().remaining(), 890);
}
