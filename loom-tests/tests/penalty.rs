//! Models of penalties. What is checked, over every interleaving:
//!
//! * every offence counts, and one of those that race begins the penalty;
//! * a caller that was refused is not granted anything later, and sees what the offender did before;
//! * a word is never taken for one that another time has left, nor healed twice;
//! * of calls that clear a penalty, one is told so;
//! * no rule is a mixture of two, and an offence after a change goes by the new one;
//! * a key that offends while it is evicted, or while another one needs its place, loses no penalty.

use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use sluicegate::keyed::Penalties;
use sluicegate::penalty::{Offence, PenaltyBox, PenaltyRule};
use sluicegate::{Denied, Keyed, Rate};
use sluicegate_loom_tests::{Arc, SECOND, TestClock, check, race};

#[cfg(sluicegate_loom)]
use loom::sync::atomic::AtomicU64;
#[cfg(not(sluicegate_loom))]
use std::sync::atomic::AtomicU64;

type TestBox = PenaltyBox<TestClock>;

/// Returns a rule by which as many offences in a second begin a penalty of a second.
fn rule(offences: u64) -> PenaltyRule {
    let second = Duration::from_nanos(SECOND);
    PenaltyRule::new(Rate::new(offences, second).unwrap(), second).unwrap()
}

fn penalties(offences: u64) -> Arc<TestBox> {
    Arc::new(TestBox::with_clock(rule(offences), TestClock::new()))
}

fn is_ignored(outcome: &Offence) -> bool {
    matches!(outcome, Offence::Ignored { .. })
}

#[test]
fn every_offence_counts_and_one_begins_the_penalty() {
    for offences in [2, 3, 4] {
        check(3, move || {
            let penalties = penalties(offences);
            let outcomes = race(&penalties, [1, 1, 1], TestBox::offend);
            let begun = outcomes.iter().filter(|outcome| outcome.is_penalized()).count();
            let ignored = outcomes.iter().filter(|outcome| is_ignored(outcome)).count();
            assert_eq!((begun, ignored), [(1, 1), (1, 0), (0, 0)][offences as usize - 2]);
            let mut left: Vec<u64> = outcomes
                .iter()
                .filter_map(|outcome| match outcome {
                    Offence::Counted { remaining } => Some(*remaining),
                    _ => None,
                })
                .collect();
            left.sort_unstable();
            assert!(left.iter().rev().copied().eq((1..offences).rev().take(left.len())));
            assert_eq!(penalties.try_acquire(1).is_err(), begun == 1);
        });
    }
}

/// A limiter, and a word of the test's own, which nothing but the limiter puts in order.
struct Watched {
    penalties: TestBox,
    done: AtomicU64,
}

#[test]
fn no_grant_comes_after_the_last_offence() {
    check(3, || {
        let penalties = TestBox::with_clock(rule(2), TestClock::new());
        let watched = Arc::new(Watched { penalties, done: AtomicU64::new(0) });
        watched.penalties.offend(1);
        race(&watched, [0, 1], |watched, part| {
            if part == 0 {
                watched.done.store(1, Relaxed);
                assert!(watched.penalties.offend(1).is_penalized());
                assert!(watched.penalties.try_acquire(1).is_err());
                return;
            }
            let first = watched.penalties.try_acquire(1);
            if first.is_err() {
                assert_eq!(watched.done.load(Relaxed), 1, "refused before the offence");
            }
            let second = watched.penalties.peek(1);
            assert!(first.is_ok() || second.is_err(), "granted after a refusal");
        });
    });
}

/// The time is written before the offence; a caller that sees the offence must see the time.
#[test]
fn a_penalty_is_not_taken_for_one_of_another_time() {
    type Act = fn(&TestBox);
    let acts: [Act; 4] = [
        |penalties| {
            let _ = penalties.try_acquire(1);
        },
        |penalties| {
            penalties.offend(1);
        },
        |penalties| {
            penalties.penalize_for(Duration::from_nanos(SECOND / 2));
        },
        |penalties| {
            penalties.clear();
        },
    ];
    for offences in [1, 3] {
        for act in acts {
            check(3, move || {
                let penalties = penalties(offences);
                let parts: [Act; 2] = [
                    |penalties| {
                        penalties.clock().set(100 * SECOND);
                        penalties.offend(1);
                    },
                    act,
                ];
                race(&penalties, parts, |penalties, part| part(penalties));
                assert_eq!(penalties.healed(), 0);
                if let Err(Denied::Wait(shortfall)) = penalties.try_acquire(1) {
                    assert!(shortfall.retry_after() <= Duration::from_nanos(SECOND + 2_048));
                }
            });
        }
    }
}

#[test]
fn a_clock_that_was_set_back_is_noticed_once() {
    type Act = fn(&TestBox) -> bool;
    let ask: Act = |penalties| penalties.try_acquire(1).is_err();
    let offend: Act = |penalties| is_ignored(&penalties.offend(1));
    for parts in [[ask, ask], [ask, offend], [offend, offend]] {
        check(3, move || {
            let penalties = penalties(1);
            penalties.clock().set(100 * SECOND);
            penalties.offend(1);
            penalties.clock().set(SECOND);
            let refused = race(&penalties, parts, |penalties, part| part(penalties));
            assert_eq!((refused, penalties.healed()), ([true, true], 1));
        });
    }
}

#[test]
fn whoever_clears_a_penalty_is_told_so() {
    check(3, || {
        let penalties = penalties(1);
        penalties.offend(1);
        let told = race(&penalties, [0, 1, 2], |penalties, part| match part {
            0 | 1 => u64::from(penalties.clear()),
            // Begins another one if it comes after one of them.
            _ => 2 * u64::from(penalties.offend(1).is_penalized()),
        });
        let (cleared, begun) = (told[0] + told[1], told[2] / 2);
        let runs = u64::from(penalties.try_acquire(1).is_err());
        assert_eq!(1 + begun, cleared + runs, "cleared {cleared}, begun {begun}, runs {runs}");
    });
}

/// Rules that differ in every word.
fn two_rules() -> [PenaltyRule; 2] {
    let seconds = Duration::from_secs;
    let long = PenaltyRule::new(Rate::new(2, seconds(60)).unwrap(), seconds(10)).unwrap();
    [rule(1), long.doubled_up_to(seconds(40), seconds(600)).unwrap()]
}

#[test]
fn a_rule_is_never_mixed() {
    check(2, || {
        let penalties = penalties(1);
        race(&penalties, [0, 1], |penalties, part| {
            let [first, second] = two_rules();
            if part == 0 {
                penalties.reconfigure(second);
                return;
            }
            let seen = penalties.rule();
            assert!(seen == first || seen == second, "{seen:?}");
        });
    });
    // Two that change it leave the rule of one of them.
    check(2, || {
        let penalties = penalties(3);
        race(&penalties, [0, 1], |penalties, part| penalties.reconfigure(two_rules()[part]));
        assert!(two_rules().contains(&penalties.rule()));
    });
    // A caller that sees an offence that was counted after a change goes by the new rule.
    check(2, || {
        let penalties = penalties(1);
        let [changed, other] = race(&penalties, [0, 1], |penalties, part| {
            if part == 0 {
                penalties.reconfigure(two_rules()[1]);
            }
            penalties.offend(1)
        });
        let begun = [changed, other].into_iter().find(Offence::is_penalized);
        let length = begun.and_then(|outcome| outcome.retry_after()).map(|wait| wait.as_secs());
        // One offence by the old rule, and the one after the change comes too late; or two by the new.
        assert_eq!(length, Some(if is_ignored(&changed) { 1 } else { 10 }));
    });
}

type Plain = BuildHasherDefault<DefaultHasher>;
type Keys = Keyed<u64, Penalties<Arc<TestClock>>, Plain>;

/// A store of one key, of which the offence no longer counts.
fn idle_key() -> Arc<Keys> {
    let clock = Arc::new(TestClock::new());
    let builder = Keyed::builder(Penalties::with_clock(rule(2), Arc::clone(&clock)));
    let keys = builder.hasher(Plain::default()).max_keys(1).build().unwrap();
    keys.offend(&0, 1).unwrap();
    clock.set(10 * SECOND);
    Arc::new(keys)
}

#[test]
fn a_key_that_offends_while_it_is_evicted_loses_no_penalty() {
    type Act = fn(&Keys) -> bool;
    let begins: Act = |keys| keys.offend(&0, 2).is_ok_and(|outcome| outcome.is_penalized());
    let sweep: Act = |keys| {
        keys.sweep();
        false
    };
    let other: Act = |keys| keys.offend(&2, 2).is_ok_and(|outcome| outcome.is_penalized());
    for second in [sweep, other] {
        check(2, move || {
            let keys = idle_key();
            let begun = race(&keys, [begins, second], |keys, act| act(keys));
            let refused = [0, 2].map(|key| keys.try_acquire(&key, 1).is_err());
            assert_eq!(refused, begun);
            assert!(keys.len() <= 1 && (begun[0] || begun[1]));
        });
    }
}
