//! The problem: to test that a user is locked out for a quarter of an hour, without waiting for it.
//! The code is generic over its `Clock`: in production that is the default one, and in a test a
//! `ManualClock`, which moves only when it is told to. The limit is a `TokenBucket` for each
//! user, with interval refill: after three wrong passwords, all three come back together.

use std::time::Duration;

use sluicegate::clock::DefaultClock;
use sluicegate::keyed::Buckets;
use sluicegate::{Clock, Keyed, ManualClock, quota};

/// Checks passwords: at most 3 attempts for each user in a quarter of an hour.
struct Login<C: Clock = DefaultClock> {
    attempts: Keyed<String, Buckets<C>>,
}

impl Login {
    fn new() -> Login {
        Login::with_clock(DefaultClock::default())
    }
}

impl<C: Clock + Clone> Login<C> {
    fn with_clock(clock: C) -> Login<C> {
        let quota = quota!(3 / 15 minutes, refill interval);
        Login { attempts: Keyed::with_clock(quota, clock) }
    }

    fn attempt(&self, user: &str, password: &str) -> String {
        match self.attempts.try_acquire(user, 1) {
            Ok(_) if password == "opensesame" => {
                self.attempts.reset(user);
                "welcome".to_string()
            }
            Ok(grant) => format!("wrong, {} attempts left", grant.remaining()),
            Err(denied) => format!("locked for {:?}", denied.retry_after().unwrap_or_default()),
        }
    }
}

fn main() {
    println!("in production: {}", Login::new().attempt("ada", "opensesame"));

    let clock = ManualClock::new();
    let login = Login::with_clock(&clock);
    for password in ["sesame", "open", "please", "opensesame"] {
        println!("ada: {}", login.attempt("ada", password));
    }
    println!("bob: {}", login.attempt("bob", "opensesame"));
    clock.advance(Duration::from_secs(15 * 60));
    println!("ada, a quarter of an hour later: {}", login.attempt("ada", "opensesame"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_locked_out_for_a_quarter_of_an_hour_and_not_a_nanosecond_longer() {
        let clock = ManualClock::new();
        let login = Login::with_clock(&clock);
        for left in [2, 1, 0] {
            assert_eq!(login.attempt("ada", "sesame"), format!("wrong, {left} attempts left"));
        }
        clock.advance_nanos(15 * 60 * 1_000_000_000 - 1);
        assert_eq!(login.attempt("ada", "opensesame"), "locked for 1ns");
        clock.advance_nanos(1);
        assert_eq!(login.attempt("ada", "opensesame"), "welcome");
    }
}
