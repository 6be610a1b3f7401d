//! A server whose clock is set back, or jumps forward.

use sluicegate::Denied;

use super::scripts::{Step, run};
use super::server::Server;
use super::verbs::limits;
use crate::decision::Verb;

const START: u64 = 1_782_864_000_500_000;
const SECOND: u64 = 1_000_000;

#[test]
fn after_the_clock_was_set_back_what_was_granted_counts_and_comes_back_in_time() {
    let server = Server::start();
    let mut connection = server.connection();
    for limit in limits() {
        // Back by less than a second, by an hour, and by a year, which is more than any of them but one lasts.
        for back in [SECOND / 2, 3_600 * SECOND, 365 * 86_400 * SECOND] {
            let now = START - back;
            let take = |micros, permits| Step { micros, verb: Verb::Take, permits };
            // Ten days of ten permits a day at most, or windows of a day: all is there again after 21 days.
            let later = now + 21 * 86_400 * SECOND;
            let steps = [take(START, 4), take(now, 7), take(now, 6), take(now, 1), take(later, 10)];
            let key = format!("{back}");
            let answers = run(&mut connection, &limit, &key, &steps);
            let granted: Vec<_> = answers.iter().map(Result::is_ok).collect();
            let comes_back = !format!("{limit:?}").contains("3155760000000000");
            assert_eq!(granted, [true, false, true, false, comes_back], "{limit:?}, {back}");
            let remaining = answers[1].as_ref().unwrap_err().remaining();
            assert_eq!(remaining, Some(6), "{limit:?}, {back}");
        }
    }
}

#[test]
fn a_clock_that_jumps_forward_earns_the_jump_and_at_most_the_limit() {
    let server = Server::start();
    let mut connection = server.connection();
    for (index, limit) in limits().iter().enumerate() {
        // By nothing; by a little, which is less than a permit or a window; and by more than any of them lasts.
        for (ahead, granted) in [(0, 6), (SECOND, 6), (400 * 365 * 86_400 * SECOND / 10, 10)] {
            let step = |micros, verb, permits| Step { micros, verb, permits };
            let up_to = step(START + ahead, Verb::UpTo, 10);
            let steps = [step(START, Verb::Take, 4), up_to, step(START + ahead, Verb::Peek, 1)];
            let answers = run(&mut connection, limit, &format!("{index} {ahead}"), &steps);
            let lasts_longer = format!("{limit:?}").contains("3155760000000000");
            let granted = if lasts_longer { 6 } else { granted };
            assert_eq!(answers[1].as_ref().unwrap().permits(), granted, "{limit:?}, {ahead}");
            assert!(answers[2].is_err(), "{limit:?}, {ahead}: more than the limit");
        }
    }
}

#[test]
fn after_the_clock_was_set_back_a_key_without_permits_gets_them_when_its_denials_said() {
    let server = Server::start();
    let mut connection = server.connection();
    for limit in limits() {
        // To the window before, or the slot; to the one before that; and by more than any of them lasts.
        for back in [2 * SECOND, 20 * SECOND, 3_600 * SECOND, 365 * 86_400 * SECOND] {
            for verb in [Verb::Take, Verb::UpTo, Verb::Peek] {
                let key = format!("{back} {verb:?}");
                let mut ask = |micros, verb, permits| {
                    let step = Step { micros, verb, permits };
                    run(&mut connection, &limit, &key, &[step]).pop().unwrap()
                };
                ask(START, Verb::Take, 10).unwrap();
                let now = START - back;
                let wait = |answer: Result<_, Denied>| {
                    answer.unwrap_err().retry_after().unwrap().as_nanos().div_ceil(1_000) as u64
                };
                let first = wait(ask(now, verb, 1));
                let second = wait(ask(now + first / 2, verb, 1));
                assert_eq!(second, first - first / 2, "{limit:?}, {key}: the same instant");
                wait(ask(now + first - 1, verb, 1));
                assert!(ask(now + first, Verb::Take, 1).is_ok(), "{limit:?}, {key}");
            }
        }
    }
}
