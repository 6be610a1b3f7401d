//! Models of callers of several tenants in a line that is divided among them. What is checked, over every
//! interleaving: nobody overtakes them; the next of them has its turn when the first leaves; a change of the weights
//! loses nobody; and a tenant that has had its turn lets the other one go first.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use sluicegate::Wait;
use sluicegate::wait::{LineWeights, Tenant};
use sluicegate_loom_tests::in_line::{self, Lined, OfTenant, Window};
use sluicegate_loom_tests::line::{NoTimer, acquire, poll, poll_again, wait};
use sluicegate_loom_tests::{ANY, Arc, TestClock, check, race};

#[cfg(sluicegate_loom)]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(sluicegate_loom))]
use std::sync::atomic::{AtomicBool, Ordering};

/// A way to a line that is kept.
struct Handle(Arc<Window>);

impl AsRef<Window> for Handle {
    fn as_ref(&self) -> &Window {
        &self.0
    }
}

/// A line before a window of `limit` permits, of which `taken` are taken, divided among two tenants.
fn divided(limit: u64, taken: u64) -> Arc<Window> {
    TestClock::run_ahead(0);
    Arc::new(Window::of(limit, taken).with_weights(LineWeights::new(2)).unwrap())
}

#[test]
fn nobody_overtakes_a_caller_of_a_tenant() {
    in_line::nobody_overtakes::<OfTenant>(ANY);
}

#[test]
fn nobody_overtakes_the_second_caller_of_a_tenant() {
    in_line::nobody_overtakes_the_second::<OfTenant>(2);
}

#[test]
fn another_tenants_caller_is_granted_its_permit_when_the_first_gives_up() {
    check(ANY, || {
        let line = divided(2, 1);
        race(&line, [2, 1], |line, permits| {
            let tenant = line.tenant(&permits);
            if permits == 1 {
                wait(&tenant, 1).unwrap();
            } else {
                let mut caller = pin!(acquire(&tenant, 2));
                assert!(poll(&mut caller).is_pending());
            }
        });
        assert_eq!((line.taken(), line.line().waiters()), (2, 0));
    });
}

#[test]
fn a_caller_of_a_tenant_sees_an_update_beside_a_change_of_the_weights() {
    check(2, || {
        let line = divided(1, 1);
        race(&line, [0, 1, 2], |line, part| match part {
            0 => assert!(wait(&line.tenant("one"), 1).is_ok()),
            1 => line.set_weights(LineWeights::new(0).weight("one", 2)).unwrap(),
            _ => line.update(|window| window.reconfigure(2)).unwrap(),
        });
        assert_eq!((line.taken(), line.line().waiters()), (2, 0));
        assert!(!line.has_waiters());
    });
}

#[test]
fn tenants_that_wait_take_turns() {
    check(2, || {
        let shared = Arc::new((divided(1, 1), AtomicBool::new(false)));
        let [callers, changes] = race(&shared, [true, false], |(line, stand), waits| {
            if !waits {
                let all_stand = stand.load(Ordering::Acquire);
                line.update(|window| window.reconfigure(3)).unwrap();
                return (all_stand, Vec::new());
            }
            // Those of one tenant come first, and both are still there when the other one comes.
            let callers = ["one", "one", "other"].map(|tenant| {
                let tenant = std::sync::Arc::new(Tenant::new(Handle(Arc::clone(line)), tenant));
                let mut caller = Box::pin(tenant.acquire_owned(1).timer(NoTimer));
                // Nobody is woken: they are asked again after the race.
                let polled = caller.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                (caller, polled)
            });
            stand.store(true, Ordering::Release);
            (false, Vec::from(callers))
        });
        let mut granted = callers.1.into_iter().map(|(mut caller, polled)| {
            matches!(poll_again(&mut caller.as_mut(), polled), Poll::Ready(Ok(_)))
        });
        if changes.0 {
            assert_eq!(granted.next(), Some(true));
            assert_eq!(granted.next(), Some(false), "it is the other tenant's turn");
            assert_eq!(granted.next(), Some(true));
        }
    });
}
