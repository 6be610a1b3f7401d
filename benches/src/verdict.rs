//! The check that a limiter does what it is timed for.
//!
//! If one of ours does not, the bench fails. A peer that does not is reported, and measured all the same:
//! its excess, or what was said of it, is in the report, and no bench fails because a peer is wrong.

use std::fmt::Display;

/// Returns true for one of our limiters, and false for a peer or a clock.
#[must_use]
pub fn is_ours(name: &str) -> bool {
    name.starts_with("sluicegate/")
}

/// Says that the limiter of that name has `done` something else than it is timed for, unless it `is_right`.
///
/// # Panics
///
/// If it is one of ours.
pub fn expect(name: &str, is_right: bool, done: impl Display) {
    if is_right {
        return;
    }
    assert!(!is_ours(name), "{name} {done}");
    eprintln!("{name} {done}: its times are those of something else");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_wrong_fails_no_bench() {
        expect("governor", false, "admitted 7 of 3");
        expect("sluicegate/gcra", true, "admitted 3 of 3");
    }

    #[test]
    #[should_panic(expected = "sluicegate/gcra admitted 7 of 3")]
    fn one_of_ours_that_is_wrong_does() {
        expect("sluicegate/gcra", false, "admitted 7 of 3");
    }
}
