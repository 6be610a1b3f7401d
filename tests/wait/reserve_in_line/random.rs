//! Random calls around reservations in line, held against a list of when permits were used: callers when
//! they are granted, reservations at the instants that they were told.

use std::cell::RefCell;

use proptest::collection::vec;
use proptest::prelude::*;

use sluicegate::{Clock, FixedWindow, rate};

use crate::support::cases::cases;

use super::*;

#[derive(Clone, Debug)]
enum Op {
    Acquire(u64),
    AcquireFor(u64, u64),
    /// Drops one of the callers.
    Leave(prop::sample::Index),
    Reserve(u64),
    Cancel(prop::sample::Index),
    Keep(prop::sample::Index),
    Try(u64),
    /// So many milliseconds go by, and callers are polled in each.
    Wait(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let index = any::<prop::sample::Index>;
    let op = prop_oneof![
        3 => (1..=10_u64).prop_map(Op::Acquire),
        1 => (1..=10_u64, 0..30_u64).prop_map(|(permits, millis)| Op::AcquireFor(permits, millis)),
        2 => index().prop_map(Op::Leave),
        4 => (1..=10_u64).prop_map(Op::Reserve),
        1 => index().prop_map(Op::Cancel),
        1 => index().prop_map(Op::Keep),
        2 => (1..=10_u64).prop_map(Op::Try),
        3 => (1..=12_u64).prop_map(Op::Wait),
    ];
    vec(op, 1..40)
}

/// Nanoseconds at which permits were used, in order.
struct Played {
    used: Vec<(u64, u64)>,
    /// True if callers were given what a reservation gave back that had been charged ahead of them. Those
    /// that had been first for a while are told later than their turn.
    has_given_back: bool,
}

fn play(limiter: &(impl Wait + Reserve), clock: &ManualClock, ops: Vec<Op>) -> Played {
    let mut has_given_back = false;
    let used = RefCell::new(Vec::new());
    let now = || clock.now_nanos();
    let mut callers: Vec<(u64, Caller<'_>)> = Vec::new();
    let mut reserved: Vec<Reservation<'_>> = Vec::new();
    let keep = |it: Reservation<'_>| {
        used.borrow_mut().push((it.at_nanos(), it.permits()));
    };
    let poll = |callers: &mut Vec<(u64, Caller<'_>)>| {
        callers.retain_mut(|(permits, caller)| match caller.poll() {
            std::task::Poll::Pending => true,
            std::task::Poll::Ready(answer) => {
                if answer.is_ok() {
                    used.borrow_mut().push((now(), *permits));
                }
                false
            }
        });
    };
    for op in ops {
        match op {
            Op::Acquire(permits) => callers.push((permits, Caller::new(limiter, permits))),
            Op::AcquireFor(permits, millis) => {
                let timeout = Duration::from_millis(millis);
                callers.push((permits, Caller::with_timeout(limiter, permits, timeout)));
            }
            Op::Leave(which) if !callers.is_empty() => {
                drop(callers.remove(which.index(callers.len())));
            }
            Op::Reserve(permits) => reserved.extend(limiter.reserve(permits)),
            Op::Cancel(which) if !reserved.is_empty() => {
                let it = reserved.remove(which.index(reserved.len()));
                let (at, permits) = (it.at_nanos(), it.permits());
                let line = limiter.line().permits();
                // Those whose instant has come may have been used.
                if at <= clock.now_nanos() || !it.cancel() {
                    used.borrow_mut().push((at, permits));
                } else if line > 0 && limiter.line().permits() == line {
                    has_given_back = true;
                }
            }
            Op::Keep(which) if !reserved.is_empty() => {
                keep(reserved.remove(which.index(reserved.len())));
            }
            Op::Try(permits) if limiter.try_acquire(permits).is_ok() => {
                used.borrow_mut().push((now(), permits));
            }
            Op::Wait(millis) => {
                for _ in 0..millis {
                    clock.advance(MILLI);
                    poll(&mut callers);
                }
            }
            _ => {}
        }
        poll(&mut callers);
    }
    for _ in 0..400 {
        clock.advance(MILLI);
        poll(&mut callers);
    }
    assert!(callers.is_empty(), "somebody is left in line");
    assert_eq!(limiter.line().waiters(), 0);
    assert!(limiter.try_acquire(10).is_ok(), "the gate is open, and nothing is owed");
    reserved.into_iter().for_each(keep);
    let mut used = used.into_inner();
    used.sort_unstable();
    Played { used, has_given_back }
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn no_span_has_more_of_a_bucket_than_its_bound_with_reservations_at_their_instants(ops in ops()) {
        let clock = ManualClock::new();
        let quota = quota!(1_000 / second, burst 10, max_debt 40);
        let bucket = TokenBucket::with_clock(quota, &clock);
        let Played { used, has_given_back } = play(&bucket, &clock, ops);
        let most = if has_given_back { 20 } else { 10 };
        for (place, &(from, _)) in used.iter().enumerate() {
            let mut sum = 0;
            for &(until, permits) in &used[place..] {
                sum += permits;
                // A reservation counts up to a nanosecond before its instant.
                let earned = until - from + 100;
                let most = most * 1_000_000 + earned;
                prop_assert!(sum * 1_000_000 <= most, "{} in {}..={}: {:?}", sum, from, until, used);
            }
        }
        prop_assert_eq!(bucket.healed(), 0);
    }

    #[test]
    fn no_window_has_more_than_its_limit_with_reservations_at_their_instants(ops in ops()) {
        let clock = ManualClock::new();
        let window = FixedWindow::with_clock(rate!(10 / 8 ms), &clock).unwrap();
        let window = window.with_reservations(40 * MILLI);
        let Played { used, .. } = play(&window, &clock, ops);
        for &(at, _) in &used {
            let sum: u64 = used.iter().filter(|it| it.0 / 8_000_000 == at / 8_000_000).map(|it| it.1).sum();
            prop_assert!(sum <= 10, "{} in the window of {}: {:?}", sum, at, used);
        }
        prop_assert_eq!(window.healed(), 0);
    }
}
