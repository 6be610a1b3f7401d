//! Any sequence of calls, beside a list of what is held.

use proptest::prelude::*;

use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlight};

#[derive(Clone, Debug)]
enum Op {
    Take(u64),
    /// Ends a guard, the index modulo their number.
    End(usize),
    /// Splits a guard, and keeps both parts.
    Split(usize, u64),
    SetLimit(u64),
}

/// Small amounts, so that they often just fit, and the edges of the word.
fn amounts() -> impl Strategy<Value = u64> {
    const MAX: u64 = ConcurrencyLimit::MAX;
    prop_oneof![
        8 => 0..12_u64,
        1 => prop::sample::select(vec![MAX - 1, MAX, MAX + 1, u64::from(u32::MAX), 1 << 32, u64::MAX]),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => amounts().prop_map(Op::Take),
        3 => any::<usize>().prop_map(Op::End),
        1 => (any::<usize>(), amounts()).prop_map(|(index, permits)| Op::Split(index, permits)),
        1 => amounts().prop_map(Op::SetLimit),
    ];
    prop::collection::vec(op, 1..60)
}

proptest! {
    #[test]
    fn a_limit_answers_as_a_list_of_guards_does(first in amounts(), ops in ops()) {
        let limit = ConcurrencyLimit::new(first);
        let mut most = first.min(ConcurrencyLimit::MAX);
        // Guards, with the permits that each should have.
        let mut held: Vec<(InFlight<'_>, u64)> = Vec::new();
        for op in ops {
            let in_flight: u64 = held.iter().map(|(_, permits)| permits).sum();
            match op {
                Op::Take(permits) => {
                    let fits = u128::from(in_flight) + u128::from(permits) <= u128::from(most);
                    match limit.try_acquire(permits) {
                        Ok(guard) => {
                            prop_assert!(fits || permits == 0);
                            held.push((guard, permits));
                        }
                        Err(denied) => {
                            prop_assert!(!fits && permits > 0);
                            let said = (denied.permits(), denied.limit(), denied.in_flight());
                            prop_assert_eq!(said, (permits, most, in_flight));
                            prop_assert_eq!(denied.available(), most.saturating_sub(in_flight));
                            prop_assert_eq!(denied.is_too_large(), permits > most);
                        }
                    }
                }
                Op::End(index) if !held.is_empty() => {
                    let index = index % held.len();
                    drop(held.swap_remove(index));
                }
                Op::Split(index, permits) if !held.is_empty() => {
                    let index = index % held.len();
                    let (guard, had) = &mut held[index];
                    match guard.split(permits) {
                        Some(part) => {
                            prop_assert!(permits <= *had);
                            *had -= permits;
                            held.push((part, permits));
                        }
                        None => prop_assert!(permits > *had),
                    }
                }
                Op::SetLimit(next) => {
                    limit.set_limit(next);
                    most = next.min(ConcurrencyLimit::MAX);
                }
                Op::End(_) | Op::Split(..) => {}
            }
            let in_flight: u64 = held.iter().map(|(_, permits)| permits).sum();
            for (guard, permits) in &held {
                prop_assert_eq!(guard.permits(), *permits);
            }
            let left = most.saturating_sub(in_flight);
            let found = (limit.limit(), limit.in_flight(), limit.available());
            prop_assert_eq!(found, (most, in_flight, left));
        }
        held.clear();
        prop_assert_eq!((limit.limit(), limit.in_flight()), (most, 0));
    }
}
