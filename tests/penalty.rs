//! Penalties, of one caller and for each key. What is checked:
//!
//! * the example of a log-in: count, refuse, end, clear, lengthen, change the rule (`story`);
//! * random histories against a slow exact reference, 100,000 steps (`random`);
//! * clocks that go back, jump and disagree (`clocks`);
//! * threads that offend at once: none is lost, and one begins the penalty (`races`);
//! * keys: what is remembered, what is not, and a store that is full (`keys`).

mod clocks;
mod keys;
mod races;
mod random;
mod reference;
mod story;

use std::time::Duration;

use sluicegate::Rate;
use sluicegate::penalty::PenaltyRule;

const SECOND: Duration = Duration::from_secs(1);

/// A rule whose penalties do not become longer.
fn rule(offences: Rate, penalty: Duration) -> PenaltyRule {
    PenaltyRule::new(offences, penalty).expect("a rule within range")
}
