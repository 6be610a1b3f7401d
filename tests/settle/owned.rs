//! Estimates that keep their limiter alive. What is checked: they are settled as those that borrow it
//! are, whatever is around it, and become what they are of no other limiter.

use std::sync::Arc;
use std::thread;

use super::*;

type Shared = Arc<dyn Settle>;

/// Limiters of ten, with what else they are.
fn limiters(clock: &'static ManualClock) -> Vec<Shared> {
    let window = || FixedWindow::with_clock(rate!(10 / minute), clock).unwrap();
    let bucket = || SettleableBucket::with_clock(quota!(10 / minute), clock);
    let both: [Shared; 2] = [Arc::new(window()), Arc::new(bucket())];
    let mut all: Vec<Shared> = vec![
        Arc::new(bucket()),
        Arc::new(window()),
        Arc::new(Counted::with_slots(bucket(), 1)),
        Arc::new(Gate::new(window())),
        Arc::new(All::new(both).unwrap()),
    ];
    all.push(Arc::new(Queued::with_clock(bucket(), clock)));
    all
}

fn clock() -> &'static ManualClock {
    Box::leak(Box::new(ManualClock::at(120_000_000_000)))
}

#[test]
fn an_owned_estimate_is_settled_as_one_that_borrows() {
    for (ours, theirs) in limiters(clock()).iter().zip(&limiters(clock())) {
        for (estimated, used) in [(4, 1), (3, 3), (2, 4), (0, 1)] {
            let borrowed = theirs.try_acquire_settleable(estimated).unwrap();
            let owned = ours.try_acquire_settleable(estimated).unwrap();
            let mut owned: Estimate<'static> = owned.into_owned(ours).expect("of this limiter");
            assert_eq!((owned.permits(), owned.grant()), (estimated, borrowed.grant()));
            ours.try_acquire(1).unwrap();
            theirs.try_acquire(1).unwrap();
            // A part first, which changes nothing in all.
            let part = owned.give_back(u64::from(used < estimated));
            let settled = thread::spawn(move || owned.settle(used)).join().unwrap().unwrap();
            let expected = borrowed.settle(used).unwrap();
            assert_eq!(part + settled.given_back(), expected.given_back());
            assert_eq!(settled.taken_beyond(), expected.taken_beyond());
            assert_eq!(ours.peek(0).unwrap().remaining(), theirs.peek(0).unwrap().remaining());
            ours.reset();
            theirs.reset();
        }
    }
}

#[test]
fn it_keeps_its_limiter_alive_and_is_of_no_other_one() {
    let clock = clock();
    let (ours, other) = (limiters(clock), limiters(clock));
    for (ours, other) in ours.into_iter().zip(&other) {
        let estimate = ours.try_acquire_settleable(6).unwrap();
        let estimate = estimate.into_owned(other).expect_err("of another limiter");
        let estimate = estimate.into_owned(&ours).expect("of this one");
        let weak = Arc::downgrade(&ours);
        drop(ours);
        assert_eq!(weak.upgrade().unwrap().peek(0).unwrap().remaining(), 4);
        // Once more, from one that keeps it.
        let again = estimate.into_owned(&weak.upgrade().unwrap()).expect("of this one");
        assert_eq!(again.settle(5).unwrap().given_back(), 1);
        assert!(weak.upgrade().is_none());
    }
}

#[test]
fn an_owned_estimate_of_an_open_gate_is_charged_to_nobody() {
    let clock = clock();
    let gate = Arc::new(Gate::with_mode(ten(clock), GateMode::Open));
    let estimate = gate.try_acquire_settleable_owned(1_000).unwrap();
    gate.set(GateMode::Limiting);
    assert_eq!(estimate.settle(1).unwrap().given_back(), 999);
    assert_eq!(gate.peek(0).unwrap().remaining(), 10);
}
