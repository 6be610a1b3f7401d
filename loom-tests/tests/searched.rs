//! Models of a store that is searched completely before a key is refused, and refuses the next one by the last search.
//! Checked over every interleaving:
//!
//! * a key beside one that makes room finds it, or is refused as before;
//! * once room was made, no key is refused, whoever searched meanwhile;
//! * no key is refused for want of a place that another has, which is idle by then.

#![cfg(sluicegate_loom)]

use sluicegate::keyed::Buckets;
use sluicegate::model::searching_all;
use sluicegate::{Keyed, Quota, quota};
use sluicegate_loom_tests::tables::Plain;
use sluicegate_loom_tests::{Admission, Arc, SECOND, TestClock, check, race};

struct Users {
    keyed: Keyed<u64, Buckets<Arc<TestClock>>, Plain>,
    clock: Arc<TestClock>,
}

const ONE: Quota = quota!(1 / second, burst 1);

/// When all begins.
const NOW: u64 = 10 * SECOND;

/// When a key that was emptied at `NOW` is idle, and one that was emptied then.
const LATER: u64 = NOW + SECOND;
const AT_LAST: u64 = LATER + SECOND;

/// Keys of one shard.
const KEY: u64 = 0;
const GUEST: u64 = 2;

/// Keys of the other shard.
const ELSEWHERE: u64 = 1;
const STRANGER: u64 = 3;

#[derive(Clone, Copy, Debug)]
enum Call {
    Ask(u64),
    Credit(u64),
    Remove(u64),
}

use self::Call::{Ask, Credit, Remove};

/// A store with one place.
fn users() -> Arc<Users> {
    TestClock::run_ahead(0);
    let clock = Arc::new(TestClock::new());
    clock.set(NOW);
    let builder = Keyed::builder(Buckets::with_clock(ONE, Arc::clone(&clock)));
    let builder = searching_all(builder.hasher(Plain::default()).max_keys(1));
    Arc::new(Users { keyed: builder.build().unwrap(), clock })
}

/// Plays the calls, and returns the admissions of those that ask.
fn play(users: &Users, calls: &[Call]) -> Vec<Admission> {
    let keyed = &users.keyed;
    let mut admissions = Vec::new();
    for call in calls {
        match *call {
            Ask(key) => admissions.push(Admission::of(keyed.try_acquire(&key, 1))),
            Credit(key) => keyed.credit(&key, 1),
            Remove(key) => {
                keyed.remove(&key);
            }
        }
        assert!(keyed.len() <= 1, "{} keys", keyed.len());
    }
    admissions
}

fn granted<'a>(admissions: impl IntoIterator<Item = &'a Admission>) -> u64 {
    admissions.into_iter().map(|admission| admission.permits).sum()
}

#[test]
fn a_key_beside_one_that_makes_room_finds_it_or_is_refused_as_before() {
    for makes_room in [Credit(KEY), Remove(KEY)] {
        for (one, other) in [(ELSEWHERE, GUEST), (GUEST, ELSEWHERE)] {
            check(2, move || {
                let users = users();
                let before = play(&users, &[Ask(KEY), Ask(STRANGER)]);
                assert_eq!(granted(&before), 1, "a second place: {before:?}");
                let parts = [vec![makes_room, Ask(one)], vec![Ask(other)]];
                let raced = race(&users, parts, |users, calls| play(users, &calls));
                assert_eq!(granted(raced.iter().flatten()), 1, "{raced:?} after {makes_room:?}");
            });
        }
    }
}

#[test]
fn a_search_beside_one_that_makes_room_is_no_answer_after_it() {
    for makes_room in [Credit(KEY), Remove(KEY)] {
        for seeker in [GUEST, ELSEWHERE] {
            check(2, move || {
                let users = users();
                play(&users, &[Ask(KEY)]);
                let parts = [vec![makes_room], vec![Ask(seeker)]];
                let raced = race(&users, parts, |users, calls| play(users, &calls));
                let after = play(&users, &[Ask(STRANGER)]);
                let granted = granted(raced.iter().flatten().chain(&after));
                assert_eq!(granted, 1, "{raced:?}, {after:?} after {makes_room:?}");
            });
        }
    }
}

/// The key that leaves is of the shard that is searched last, and the one that comes of the one searched first. By the
/// time of a third one, both are idle.
#[test]
fn a_key_that_comes_behind_a_search_is_looked_at_by_the_next() {
    check(2, || {
        let users = users();
        play(&users, &[Ask(ELSEWHERE)]);
        let parts = [vec![Remove(ELSEWHERE), Ask(KEY)], vec![Ask(GUEST)], vec![Ask(STRANGER)]];
        let [came, sought, asked] = race(&users, parts, |users, calls| {
            let is_late = matches!(calls[..], [Ask(STRANGER)]);
            TestClock::run_ahead(if is_late { LATER - NOW } else { 0 });
            play(users, &calls)
        });
        TestClock::run_ahead(0);
        users.clock.set(LATER);
        // One that found a free place of the third one's time has its permit of that time.
        let is_taken = [KEY, GUEST].iter().any(|key| users.keyed.peek(key, 1).is_err());
        assert!(granted(&asked) == 1 || is_taken, "{came:?}, {sought:?}, {asked:?}");
        users.clock.set(AT_LAST);
        let last = play(&users, &[Ask(STRANGER)]);
        assert_eq!(granted(&last), 1, "{came:?}, {sought:?}, {asked:?}");
    });
}
