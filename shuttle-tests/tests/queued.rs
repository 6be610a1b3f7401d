//! Crowds of 5 to 20 callers in line for limiters whose words have no gate: for a log, for a bucket in
//! shards, and for three keys of a store. Some are threads, and some are tasks of one executor. In every
//! run: all come to an end, whatever becomes of the others; the callers of a key are served in the order
//! in which they came, and no call overtakes them; the limiter has granted what they were told, and no
//! more than its bound; and no line is left in the end, with each gate open.

#[path = "queued/crowd.rs"]
mod crowd;
#[path = "queued/lines.rs"]
mod lines;

use rand::Rng as _;
use rand::rngs::SmallRng;
use sluicegate_shuttle_tests::{check, intents};

use self::crowd::{Act, Crowd, Intent};
use self::lines::{Keys, LIMIT, Lines, Log, Shards};

fn all_come_to_an_end<L: Lines>() {
    check(|| {
        let crowd = Crowd::<L>::new(intents(&[], Intent::of_crowd::<L>));
        crowd.act();
        crowd.assert_is_over();
    });
}

fn nobody_is_left_behind_when_some_are_reset<L: Lines>() {
    check(|| {
        let resets: Vec<Intent> =
            (0..L::KEYS).map(|key| Intent { key, act: Act::Reset, in_task: false }).collect();
        let crowd = Crowd::<L>::new(intents(&resets, Intent::of_crowd::<L>));
        crowd.act();
        crowd.assert_is_over();
    });
}

fn all_that_wait_are_served<L: Lines>() {
    check(|| {
        let waits = |random: &mut _| Intent { act: Act::Wait(1), ..Intent::of_crowd::<L>(random) };
        let crowd = Crowd::<L>::new(intents(&[], waits));
        assert_eq!(crowd.act(), crowd.intents.len() as u64);
        crowd.assert_is_over();
    });
}

/// Nobody is woken by the time.
fn those_that_sleep_are_woken_when_more_is_granted<L: Lines>() {
    check(|| {
        let raises: Vec<Intent> =
            (0..L::KEYS).map(|key| Intent { key, act: Act::Raise, in_task: false }).collect();
        let waits = |random: &mut _| Intent { act: Act::Wait(1), ..Intent::of_crowd::<L>(random) };
        let crowd = Crowd::<L>::slow(intents(&raises, waits));
        assert_eq!(crowd.act(), (crowd.intents.len() - L::KEYS) as u64);
        crowd.assert_is_over();
    });
}

fn those_that_sleep_are_woken_when_the_line_is_closed<L: Lines>() {
    check(|| {
        let close = Intent { key: 0, act: Act::Close, in_task: false };
        let crowd = Crowd::<L>::slow(intents(&[close], Intent::of_crowd::<L>));
        assert!(crowd.act() <= LIMIT * L::KEYS as u64);
        crowd.assert_is_over();
    });
}

/// Nothing is earned, and no time passes.
fn those_behind_a_caller_that_gives_up_are_woken<L: Lines>() {
    check(|| {
        let small = [Intent { key: 0, act: Act::Wait(1), in_task: false }; 2];
        let large = |random: &mut SmallRng| {
            let act = Act::GiveUp(LIMIT, random.random_range(0..6));
            Intent { key: 0, act, in_task: random.random() }
        };
        let crowd = Crowd::<L>::slow(intents(&small, large));
        crowd.take(0, LIMIT - 2);
        assert_eq!(crowd.act(), LIMIT);
        crowd.assert_is_over();
    });
}

#[test]
fn all_of_a_crowd_for_a_log_come_to_an_end() {
    all_come_to_an_end::<Log>();
}

#[test]
fn all_of_a_crowd_for_a_sharded_bucket_come_to_an_end() {
    all_come_to_an_end::<Shards>();
}

#[test]
fn all_of_a_crowd_for_keys_come_to_an_end() {
    all_come_to_an_end::<Keys>();
}

#[test]
fn nobody_is_left_behind_when_a_log_is_reset() {
    nobody_is_left_behind_when_some_are_reset::<Log>();
}

#[test]
fn nobody_is_left_behind_when_a_sharded_bucket_is_reset() {
    nobody_is_left_behind_when_some_are_reset::<Shards>();
}

#[test]
fn nobody_is_left_behind_when_keys_are_reset() {
    nobody_is_left_behind_when_some_are_reset::<Keys>();
}

#[test]
fn all_that_wait_for_a_log_are_served() {
    all_that_wait_are_served::<Log>();
}

#[test]
fn all_that_wait_for_a_sharded_bucket_are_served() {
    all_that_wait_are_served::<Shards>();
}

#[test]
fn all_that_wait_for_keys_are_served() {
    all_that_wait_are_served::<Keys>();
}

#[test]
fn those_that_sleep_for_days_before_a_log_are_woken_by_an_update() {
    those_that_sleep_are_woken_when_more_is_granted::<Log>();
}

#[test]
fn those_that_sleep_for_days_before_a_sharded_bucket_are_woken_by_an_update() {
    those_that_sleep_are_woken_when_more_is_granted::<Shards>();
}

#[test]
fn those_that_sleep_for_days_before_keys_are_woken_by_an_update_of_each() {
    those_that_sleep_are_woken_when_more_is_granted::<Keys>();
}

#[test]
fn those_that_sleep_for_days_before_a_log_are_woken_when_its_line_is_closed() {
    those_that_sleep_are_woken_when_the_line_is_closed::<Log>();
}

#[test]
fn those_that_sleep_for_days_before_a_sharded_bucket_are_woken_when_its_line_is_closed() {
    those_that_sleep_are_woken_when_the_line_is_closed::<Shards>();
}

#[test]
fn those_that_sleep_for_days_before_keys_are_woken_when_their_lines_are_closed() {
    those_that_sleep_are_woken_when_the_line_is_closed::<Keys>();
}

#[test]
fn those_behind_a_caller_that_gives_up_before_a_log_are_woken() {
    those_behind_a_caller_that_gives_up_are_woken::<Log>();
}

#[test]
fn those_behind_a_caller_that_gives_up_before_a_sharded_bucket_are_woken() {
    those_behind_a_caller_that_gives_up_are_woken::<Shards>();
}

#[test]
fn those_behind_a_caller_of_a_key_that_gives_up_are_woken() {
    those_behind_a_caller_that_gives_up_are_woken::<Keys>();
}
