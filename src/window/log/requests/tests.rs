//! Races of the log.

use super::*;
use crate::rate;
use crate::time::clock::manual::ManualClock;

/// A denied caller has lost no race: it needs nothing of the word but a look.
#[test]
fn a_caller_that_is_refused_while_others_are_granted_announces_itself_to_nobody() {
    const LOOKS: u64 = 20;
    let log = RequestLog::of_any_size(rate!(100 / hour), 50, ManualClock::new()).unwrap();
    let looks = core::cell::Cell::new(0);
    let denied = log.append(0, |_| {
        assert!(std::format!("{log:?}").contains("heeded: 0"), "after {} looks", looks.get());
        if looks.get() < LOOKS {
            looks.set(looks.get() + 1);
            log.append(0, |_| 1).unwrap();
        }
        100
    });
    assert!(denied.is_err());
    assert_eq!((looks.get(), log.append(0, |_| 100 - LOOKS).is_ok()), (LOOKS, true));
}
