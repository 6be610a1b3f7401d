//! Futures that may move between threads, with a timer that may move but not be shared.

use std::cell::Cell;
use std::future::{Ready, ready};
use std::time::Duration;

use sluicegate::rate;
use sluicegate::wait::Timer;
use sluicegate_flow::{Shaper, WarmUp};

/// Has sleeps that are over at once, and is not `Sync`.
struct Moves(Cell<u32>);

impl Timer for Moves {
    type Sleep = Ready<()>;

    fn sleep(&self, _: Duration) -> Ready<()> {
        self.0.set(self.0.get() + 1);
        ready(())
    }
}

fn assert_send<T: Send>(_: T) {}

#[test]
fn a_future_that_sleeps_needs_no_timer_that_is_shared() {
    let timer = || Moves(Cell::new(0));
    let shaper = Shaper::new(rate!(10 / second), 5);
    assert_send(shaper.acquire(1, timer()));
    assert_send(shaper.shape(1).unwrap().wait(timer()));
    let cold = WarmUp::new(rate!(10 / second), Duration::from_secs(1)).unwrap();
    assert_send(cold.acquire(1, timer()));
    assert_send(cold.reserve(1).unwrap().wait(timer()));
}
