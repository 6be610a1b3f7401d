//! A line before a resource of the user's own. What is checked:
//!
//! * callers are granted permits in the order in which they came, and none forgotten;
//! * one that leaves holds nothing, also if it was granted its permits and not told;
//! * the line's limits and its end hold, and a lower limit refuses;
//! * a way to the line that leads to another one later confuses neither.

use std::cell::Cell;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::thread;

use sluicegate::wait::{
    AcquireError, LineLimits, Resource, ResourceCaller, ResourceLine, ResourceTurn,
};

use super::support::block_on;

struct Seats(Mutex<State>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    limit: u64,
    taken: u64,
    is_gated: bool,
}

type Row = ResourceLine<Seats>;
type Caller<'a> = ResourceCaller<Seats, &'a Row>;

impl Seats {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl Resource for Seats {
    fn limit(&self) -> u64 {
        self.state().limit
    }

    fn is_gated(&self) -> bool {
        self.state().is_gated
    }

    fn take_turn(&self, permits: u64, has_others: bool) -> ResourceTurn {
        let mut state = self.state();
        if permits > state.limit {
            return ResourceTurn::TooLarge { limit: state.limit };
        }
        let fits = state.taken + permits <= state.limit;
        state.is_gated = !fits || has_others;
        if !fits {
            return ResourceTurn::NotYet;
        }
        state.taken += permits;
        ResourceTurn::Granted(state.taken)
    }

    fn open_gate(&self) {
        self.state().is_gated = false;
    }

    fn give_back(&self, permits: u64) {
        self.state().taken -= permits;
    }
}

fn row(limit: u64, taken: u64) -> Row {
    ResourceLine::new(Seats(Mutex::new(State { limit, taken, is_gated: false })))
}

fn end(row: &Row, permits: u64) {
    row.resource().give_back(permits);
    if row.resource().is_gated() {
        row.serve();
    }
}

fn poll(caller: &mut Caller<'_>) -> Poll<Result<u64, AcquireError>> {
    caller.poll_turn(Waker::noop())
}

#[test]
fn callers_are_granted_permits_in_the_order_in_which_they_came() {
    let row = row(3, 3);
    let mut callers = [2, 1, 3].map(|permits| ResourceCaller::new(&row, permits));
    assert!(callers.iter_mut().all(|caller| poll(caller).is_pending()));
    assert_eq!((row.line().waiters(), row.line().permits()), (3, 6));
    end(&row, 1);
    // The second would fit.
    assert!(callers.iter_mut().all(|caller| poll(caller).is_pending()));
    end(&row, 2);
    let [first, second, third] = &mut callers;
    assert_eq!([poll(first), poll(second)], [2, 3].map(|taken| Poll::Ready(Ok(taken))));
    assert!(poll(third).is_pending() && row.resource().is_gated());
    end(&row, 3);
    assert_eq!(poll(third), Poll::Ready(Ok(3)));
    assert_eq!(*row.resource().state(), State { limit: 3, taken: 3, is_gated: false });
}

#[test]
fn a_caller_that_leaves_holds_nothing() {
    let row = row(2, 2);
    let [mut first, mut second] = [2, 1].map(|permits| ResourceCaller::new(&row, permits));
    assert!(poll(&mut first).is_pending() && poll(&mut second).is_pending());
    end(&row, 2);
    // The first was granted its permits, and is not told.
    drop(first);
    assert_eq!(poll(&mut second), Poll::Ready(Ok(1)));
    let mut third = ResourceCaller::new(&row, 2);
    assert!(poll(&mut third).is_pending() && third.stands());
    let timed_out = third.last_turn().unwrap_err();
    assert!(matches!(timed_out, AcquireError::TimedOut { .. }) && !third.stands());
    assert!(matches!(third.last_turn(), Err(AcquireError::TimedOut { .. })));
    assert_eq!(*row.resource().state(), State { limit: 2, taken: 1, is_gated: false });
}

#[test]
fn a_bounded_or_closed_line_and_a_lower_limit_refuse() {
    let row = row(2, 2);
    row.line().set_limits(LineLimits::new().max_waiters(1));
    let [mut first, mut second] = [2, 1].map(|permits| ResourceCaller::new(&row, permits));
    assert!(poll(&mut first).is_pending());
    assert!(matches!(poll(&mut second), Poll::Ready(Err(AcquireError::LineFull { .. }))));
    row.resource().state().limit = 1;
    row.limit_changed();
    assert_eq!(poll(&mut first), Poll::Ready(Err(AcquireError::TooLarge { limit: 1 })));
    assert!(poll(&mut second).is_pending());
    row.line().close();
    assert_eq!(poll(&mut second), Poll::Ready(Err(AcquireError::Closed)));
    assert!(!row.resource().is_gated());
}

#[test]
fn threads_go_one_after_the_other_and_none_is_forgotten() {
    let row = Arc::new(row(1, 0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let row = Arc::clone(&row);
            thread::spawn(move || {
                for _ in 0..if cfg!(miri) { 5 } else { 500 } {
                    let mut caller = ResourceCaller::new(Arc::clone(&row), 1);
                    let turn = poll_fn(|context| caller.poll_turn(context.waker()));
                    assert_eq!(block_on(turn), Ok(1));
                    end(&row, 1);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*row.resource().state(), State { limit: 1, taken: 0, is_gated: false });
}

/// A way to the one line or the other.
struct Switched<'a>(&'a Cell<bool>, [&'a Row; 2]);

impl AsRef<Row> for Switched<'_> {
    fn as_ref(&self) -> &Row {
        self.1[usize::from(self.0.get())]
    }
}

#[test]
fn a_way_that_leads_to_another_line_stands_there_anew() {
    let (one, other, is_other) = (row(1, 1), row(1, 1), Cell::new(false));
    let mut behind = ResourceCaller::new(&other, 1);
    assert!(poll(&mut behind).is_pending());
    let mut caller = ResourceCaller::new(Switched(&is_other, [&one, &other]), 1);
    assert!(caller.poll_turn(Waker::noop()).is_pending());
    is_other.set(true);
    assert!(matches!(caller.last_turn(), Err(AcquireError::TimedOut { .. })));
    assert!(caller.poll_turn(Waker::noop()).is_pending());
    assert_eq!(other.line().waiters(), 2);
    is_other.set(false);
    drop(caller);
    end(&other, 1);
    assert_eq!(poll(&mut behind), Poll::Ready(Ok(1)));
}
