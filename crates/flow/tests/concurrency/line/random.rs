//! Any sequence of calls, beside a list of what is held and of those that wait.

use proptest::prelude::*;
use std::collections::VecDeque;

use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlight, InFlightError};

use super::Caller;

#[derive(Clone, Debug)]
enum Op {
    Try(u64),
    Stand(u64),
    /// Ends a guard, the index modulo their number.
    End(usize),
    /// A caller in line gives up.
    Leave(usize),
    /// The time of a caller in line is over.
    TimeOut(usize),
    SetLimit(u64),
}

/// Small amounts, so that they often just fit, and the edges of the word.
fn amounts() -> impl Strategy<Value = u64> {
    const MAX: u64 = ConcurrencyLimit::MAX;
    prop_oneof![
        12 => 0..9_u64,
        1 => prop::sample::select(vec![MAX - 1, MAX, MAX + 1, 1 << 32, u64::MAX]),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        2 => amounts().prop_map(Op::Try),
        5 => amounts().prop_map(Op::Stand),
        4 => any::<usize>().prop_map(Op::End),
        1 => any::<usize>().prop_map(Op::Leave),
        1 => any::<usize>().prop_map(Op::TimeOut),
        1 => amounts().prop_map(Op::SetLimit),
    ];
    prop::collection::vec(op, 1..60)
}

/// The expected state: the guards that are held, and the permits of those in line.
#[derive(Default)]
struct Model<'a> {
    limit: u64,
    held: Vec<InFlight<'a>>,
    line: VecDeque<(u64, Caller<'a>)>,
}

impl Model<'_> {
    fn in_flight(&self) -> u64 {
        self.held.iter().map(InFlight::permits).sum()
    }

    fn fits(&self, permits: u64) -> bool {
        permits <= self.limit.saturating_sub(self.in_flight())
    }

    /// Those in front that can go have been granted their permits, each was woken once for it, and
    /// those that want too much have been refused.
    fn settle(&mut self) -> Result<(), TestCaseError> {
        let too_large = InFlightError::TooLarge { limit: self.limit };
        let mut place = 0;
        while place < self.line.len() {
            if self.line[place].0 <= self.limit {
                place += 1;
                continue;
            }
            let (_, mut caller) = self.line.remove(place).unwrap();
            prop_assert_eq!((caller.woken(), caller.error()), (1, Some(too_large)));
        }
        while self.line.front().is_some_and(|&(permits, _)| self.fits(permits)) {
            let (permits, mut caller) = self.line.pop_front().unwrap();
            prop_assert_eq!(caller.woken(), 1);
            prop_assert!(caller.is_granted());
            let guard = caller.into_guard();
            prop_assert_eq!(guard.permits(), permits);
            self.held.push(guard);
        }
        for (_, caller) in &mut self.line {
            prop_assert!(caller.woken() == 0 && caller.is_waiting());
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn a_line_answers_as_a_list_of_callers_does(first in amounts(), ops in ops()) {
        let limit = ConcurrencyLimit::new(first);
        let mut model = Model { limit: first.min(ConcurrencyLimit::MAX), ..Model::default() };
        for op in ops {
            match op {
                Op::Try(permits) => {
                    let fits = model.line.is_empty() && model.fits(permits);
                    match limit.try_acquire(permits) {
                        Ok(guard) => {
                            prop_assert!(fits || permits == 0);
                            model.held.push(guard);
                        }
                        Err(denied) => {
                            prop_assert!(!fits && permits > 0);
                            prop_assert_eq!(denied.others_wait(), !model.line.is_empty());
                            prop_assert_eq!(denied.is_too_large(), permits > model.limit);
                        }
                    }
                }
                Op::Stand(permits) => {
                    let timeout = std::time::Duration::from_secs(1);
                    let mut caller = Caller::new(limit.acquire(permits).timeout(timeout));
                    if permits > model.limit {
                        let too_large = InFlightError::TooLarge { limit: model.limit };
                        prop_assert_eq!(caller.error(), Some(too_large));
                    } else if permits == 0 || model.line.is_empty() && model.fits(permits) {
                        prop_assert!(caller.is_granted());
                        model.held.push(caller.into_guard());
                    } else {
                        prop_assert!(caller.is_waiting());
                        model.line.push_back((permits, caller));
                    }
                }
                Op::End(index) if !model.held.is_empty() => {
                    let index = index % model.held.len();
                    drop(model.held.swap_remove(index));
                }
                Op::Leave(index) if !model.line.is_empty() => {
                    let index = index % model.line.len();
                    drop(model.line.remove(index));
                }
                Op::TimeOut(index) if !model.line.is_empty() => {
                    let index = index % model.line.len();
                    let (_, mut caller) = model.line.remove(index).unwrap();
                    caller.ring();
                    prop_assert_eq!(caller.error(), Some(InFlightError::TimedOut));
                }
                Op::SetLimit(next) => {
                    limit.set_limit(next);
                    model.limit = next.min(ConcurrencyLimit::MAX);
                }
                Op::End(_) | Op::Leave(_) | Op::TimeOut(_) => {}
            }
            model.settle()?;
            prop_assert_eq!((limit.limit(), limit.in_flight()), (model.limit, model.in_flight()));
            prop_assert_eq!(limit.line().waiters(), model.line.len());
        }
        model.line.clear();
        model.held.clear();
        prop_assert_eq!((limit.in_flight(), limit.line().waiters()), (0, 0));
        if model.limit > 0 {
            prop_assert!(limit.try_acquire(1).is_ok());
        }
    }
}
