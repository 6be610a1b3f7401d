//! Processes that go on after `fork` without the threads of their parents.

#![cfg(unix)]
#![cfg(not(miri))]
#![allow(unsafe_code, reason = "there is no `fork` without it")]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use sluicegate::wait::{ThreadTimer, Timer};

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

fn block_on(future: impl Future<Output = ()>) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    while future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        thread::park();
    }
}

#[test]
fn a_task_sleeps_in_a_child_whose_parent_has_used_the_timer() {
    let begun = &mut pin!(ThreadTimer.sleep(Duration::from_millis(30)));
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(begun.as_mut().poll(&mut context), Poll::Pending);
    block_on(ThreadTimer.sleep(Duration::from_millis(1)));
    // SAFETY: the child does nothing but sleep and end.
    let child = unsafe { libc::fork() };
    if child == 0 {
        block_on(ThreadTimer.sleep(Duration::from_millis(1)));
        // One that began in the parent.
        block_on(begun.as_mut());
        // SAFETY: ends the process, and nothing that it shares with the parent.
        unsafe { libc::_exit(0) };
    }
    assert!(child > 0, "no child");
    let mut status = 0;
    // Two minutes: only a child that never wakes takes as long.
    for _ in 0..1_200 {
        // SAFETY: the child is this test's, and `status` outlives the call.
        if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == child {
            assert_eq!(status, 0);
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    // SAFETY: the child is this test's, and was not waited for yet.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, &raw mut status, 0);
    }
    panic!("the child has not woken");
}
