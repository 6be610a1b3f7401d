//! A server whose clock is set back.

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
