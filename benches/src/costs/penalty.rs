//! The costs of penalties.

use std::time::Duration;

use sluicegate_counted::penalty::{PenaltyBox, PenaltyRule};
use sluicegate_counted::rate;

use super::{Cost, CountingClock, count_all};

/// The costs of every verb, without a penalty, while one runs, and after it.
pub(super) fn all(clock: &CountingClock) -> Vec<Cost> {
    const IN_RANGE: &str = "the rule is in range";
    clock.advance(Duration::from_secs(3_600));
    let rule = PenaltyRule::new(rate!(3 / minute), Duration::from_secs(60)).expect(IN_RANGE);
    let penalties = PenaltyBox::with_clock(rule, clock);
    let cost = |verb, call: &dyn Fn()| count_all(clock, "penalty_box", verb, call);
    let mut costs = vec![
        cost("try_acquire, no penalty", &|| assert!(penalties.try_acquire(1).is_ok())),
        cost("offend, counted", &|| assert!(!penalties.offend(2).is_penalized())),
        cost("try_acquire, offences count", &|| assert!(penalties.try_acquire(1).is_ok())),
        cost("offend, begins a penalty", &|| assert!(penalties.offend(1).is_penalized())),
        cost("try_acquire, denied", &|| assert!(penalties.try_acquire(1).is_err())),
        cost("peek, denied", &|| assert!(penalties.peek(1).is_err())),
        cost("offend, denied as a penalty runs", &|| assert!(!penalties.offend(1).is_penalized())),
    ];
    clock.advance(Duration::from_secs(61));
    costs.push(cost("try_acquire, penalty over", &|| assert!(penalties.try_acquire(1).is_ok())));
    costs.push(cost("clear", &|| assert!(!penalties.clear())));
    costs.push(cost("change of the rule", &|| penalties.reconfigure(rule)));
    costs
}
