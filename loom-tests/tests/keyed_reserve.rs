//! Models of reservations by key. What is checked, over every interleaving:
//!
//! * at each instant, no more of a key is granted and reserved than the bound, and no more in all than
//!   the burst and the debt; while the clock stands and the key is not changed, nothing is lost either;
//! * a reservation that is cancelled was never there, or is kept as it is;
//! * one from before a change of its key gives nothing back after it;
//! * what was done before a reservation is seen after the next.

#![cfg(sluicegate_loom)]

use sluicegate::keyed::Buckets;
use sluicegate::wait::Reservation;
use sluicegate::{Keyed, Quota, quota};
use sluicegate_loom_tests::tables::Plain;
use sluicegate_loom_tests::{ANY, Admission, Arc, Ledger, SECOND, TestClock, check, race};

struct Users {
    keyed: Keyed<u64, Buckets<Arc<TestClock>>, Plain>,
    clock: Arc<TestClock>,
}

/// Four in all: two now, and one for each of the next two seconds.
const TWO: Quota = quota!(1 / second, burst 2, max_debt 2);
const IN_ALL: u64 = 4;

/// When all begins.
const NOW: u64 = 10 * SECOND;

/// A key of which all was reserved at `NOW` is idle by then, and is taken out by the next new key.
const LATER: u64 = NOW + 6 * SECOND;

const KEY: u64 = 0;
/// Another key of the same shard.
const GUEST: u64 = 2;

/// Does the part of one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Take(u64),
    Reserve(u64),
    /// Cancels the newest of its reservations, if it has one.
    Cancel,
    Remove,
    Reset,
    /// Sets the clock to `LATER`, and puts the guest in.
    Leave,
}

use self::Act::{Cancel, Leave, Remove, Reserve, Reset, Take};

/// The reservations that a thread keeps.
#[derive(Debug, Default)]
struct Kept {
    all: Vec<Admission>,
    /// Permits that were taken after its last change of the key.
    since_change: u64,
}

fn users() -> Arc<Users> {
    TestClock::run_ahead(0);
    let clock = Arc::new(TestClock::new());
    clock.set(NOW);
    let buckets = Buckets::with_clock(TWO, Arc::clone(&clock));
    let builder = Keyed::builder(buckets).hasher(Plain::default()).max_keys(8);
    Arc::new(Users { keyed: builder.build().unwrap(), clock })
}

/// A reservation is for its instant.
fn reserved(reservation: &Reservation<'_, u64>) -> Admission {
    Admission { at_nanos: reservation.at_nanos(), permits: reservation.permits() }
}

fn play(Users { keyed, clock }: &Users, acts: &'static [Act]) -> Kept {
    let mut kept = Kept::default();
    let mut reservations = Vec::new();
    for act in acts {
        match *act {
            Take(permits) => {
                let admission = Admission::of(keyed.try_acquire(&KEY, permits));
                kept.all.push(admission);
                kept.since_change += admission.permits;
            }
            Reserve(permits) => {
                if let Ok(reservation) = keyed.reserve(&KEY, permits) {
                    kept.since_change += permits;
                    reservations.push(reservation);
                }
            }
            Cancel => {
                let Some(newest) = reservations.pop() else { continue };
                let admission = reserved(&newest);
                if newest.cancel() {
                    kept.since_change -= admission.permits;
                } else {
                    kept.all.push(admission);
                }
            }
            Remove => {
                keyed.remove(&KEY);
                kept.since_change = 0;
            }
            Reset => {
                keyed.reset(&KEY);
                kept.since_change = 0;
            }
            Leave => {
                clock.set(LATER);
                keyed.try_acquire(&GUEST, 1).unwrap();
            }
        }
    }
    kept.all.extend(reservations.iter().map(reserved));
    kept
}

/// Reserves all that is left of the key.
fn rest(Users { keyed, .. }: &Users) -> Vec<Admission> {
    let one = || keyed.reserve(&KEY, 1).ok().map(|reservation| reserved(&reservation));
    std::iter::from_fn(one).take(9).collect()
}

fn total(admissions: &[Admission]) -> u64 {
    admissions.iter().map(|admission| admission.permits).sum()
}

/// Explores what is done of a key at the same time, after `before`.
fn each_instant_has_its_permits<const N: usize>(
    preemptions: usize,
    before: &'static [Act],
    acts: [&'static [Act]; N],
) {
    let stands = !acts.concat().contains(&Leave);
    check(preemptions, move || {
        let users = users();
        let mut all = play(&users, before).all;
        all.extend(race(&users, acts, |users, acts| play(users, acts).all).into_iter().flatten());
        all.extend(rest(&users));
        assert_eq!(users.keyed.healed(), 0);
        if stands {
            assert_eq!(total(&all), IN_ALL, "{all:?}");
        }
        Ledger::from_iter(all).assert_bounded(TWO, 0);
    });
}

#[test]
fn reservations_and_grants_of_a_key_keep_to_its_bound() {
    let known: &[Act] = &[Take(1)];
    each_instant_has_its_permits(ANY, known, [&[Reserve(1)], &[Take(1)]]);
    each_instant_has_its_permits(3, known, [&[Reserve(1)], &[Reserve(2)], &[Take(1)]]);
    each_instant_has_its_permits(ANY, known, [&[Reserve(1), Reserve(2)], &[Take(1), Reserve(1)]]);
    each_instant_has_its_permits(ANY, &[], [&[Reserve(2)], &[Reserve(1), Take(1)]]);
}

#[test]
fn a_reservation_of_a_key_that_is_cancelled_beside_grants_was_never_there() {
    let known: &[Act] = &[Take(1)];
    let cancels: &[Act] = &[Reserve(1), Cancel];
    each_instant_has_its_permits(ANY, known, [cancels, &[Take(1)]]);
    each_instant_has_its_permits(ANY, known, [&[Reserve(2), Cancel], &[Take(1), Reserve(1)]]);
    each_instant_has_its_permits(
        ANY,
        known,
        [&[Reserve(2), Cancel], &[Reserve(1), Cancel, Take(1)]],
    );
    each_instant_has_its_permits(3, known, [cancels, &[Reserve(2)], &[Take(1)]]);
    each_instant_has_its_permits(ANY, &[], [cancels, &[Reserve(1)]]);
}

/// The key is taken out when it is idle, and comes back.
#[test]
fn a_reservation_of_a_key_that_was_evicted_is_not_given_back() {
    let known: &[Act] = &[Take(1)];
    each_instant_has_its_permits(ANY, known, [&[Reserve(2), Cancel], &[Leave, Reserve(2)]]);
    each_instant_has_its_permits(ANY, known, [&[Reserve(1), Cancel, Take(1)], &[Leave, Take(1)]]);
    // That it is taken out, or the model would say nothing.
    check(0, || {
        let users = users();
        play(&users, &[Reserve(2), Reserve(1)]);
        assert!(users.keyed.contains(&KEY));
        play(&users, &[Leave]);
        assert!(!users.keyed.contains(&KEY));
    });
}

/// The reservation after the change is as large as the one before, so the word repeats.
#[test]
fn a_reservation_of_before_a_change_of_its_key_is_not_given_back_after_it() {
    let programs: [&'static [Act]; 4] = [
        &[Remove, Reserve(1)],
        &[Reset, Reserve(1)],
        &[Reset, Take(1), Reserve(1)],
        &[Reserve(1), Remove, Reserve(2), Cancel, Take(1)],
    ];
    for changes in programs {
        check(ANY, move || {
            let users = users();
            let first = play(&users, &[Take(1)]).all;
            let cancels: &'static [Act] = &[Reserve(1), Cancel];
            let [one, other] = race(&users, [cancels, changes], |users, acts| play(users, acts));
            let left = total(&rest(&users));
            // All that was taken after the change is kept.
            let most = IN_ALL - other.since_change;
            assert!(left <= most, "{left} of {most} left: {one:?}, {other:?}");
            // And no more is lost than was taken.
            let taken = total(&first) + total(&one.all) + total(&other.all);
            assert!(left + taken >= IN_ALL, "{left} left of {taken}: {one:?}, {other:?}");
        });
    }
}

/// To reserve is a grant. Both may have the lock of the shard, and what is cancelled in between does
/// not hide what was done before.
#[test]
fn what_was_done_before_a_reservation_of_a_key_is_seen_after_the_next() {
    use std::sync::atomic::Ordering::Relaxed;

    use sluicegate::model::Atomic;

    for cancels in [false, true] {
        check(ANY, move || {
            let users = users();
            play(&users, &[Take(1)]);
            let shared = Arc::new((users, [Atomic::new(0), Atomic::new(0)]));
            let parts = [(0, cancels), (1, false)];
            race(&shared, parts, |(users, done), (who, cancels)| {
                done[who].store(1, Relaxed);
                let reservation = users.keyed.reserve(&KEY, 1).unwrap();
                if !reservation.ready_after().is_zero() {
                    assert_eq!(done[1 - who].load(Relaxed), 1, "the first was not seen");
                }
                if cancels {
                    users.keyed.reserve(&KEY, 1).unwrap().cancel();
                }
            });
        });
    }
}
