//! Every store, with every wanted operation and number of keys.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use super::turn::{self, Full, Task, Turn};
use super::{BASELINE, Key, OPS, Skew, Store, Visitor, each, fill, sequence, visit_all};
use crate::report::{Case, OfKeys};
use crate::round::{Plan, Round};
use crate::subject::Op;
use crate::watch::{Seen, Watch};

/// The choice of cases.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Part of the full names of the stores.
    pub only: &'a str,
    /// Names of the kinds of keys.
    pub kinds: &'a [String],
    /// Numbers of keys.
    pub keys: &'a [u64],
    /// Operations.
    pub ops: &'a [Op],
    /// Spreads of the calls over the keys.
    pub skews: &'a [Skew],
    /// Numbers of threads.
    pub threads: &'a [usize],
}

/// A case of a store, and a way to give it a turn.
pub struct Keyed {
    /// The store, the operation, the keys and the threads.
    pub case: Case,
    turn: Box<dyn FnMut(Plan, u32, Option<Watch>) -> Turn>,
}

impl Keyed {
    /// Gives it a turn in `round`.
    pub fn turn(&mut self, plan: Plan, round: u32) -> Round {
        (self.turn)(plan, round, None).round
    }

    /// Gives it a turn that is watched. Returns the observations, and whether the threads had the
    /// processors to themselves.
    pub fn watch(&mut self, plan: Plan, round: u32, watch: Watch) -> (Seen, bool) {
        let Turn { round, seen } = (self.turn)(plan, round, Some(watch));
        (seen, round.is_quiet())
    }
}

impl fmt::Debug for Keyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keyed").field(&self.case).finish()
    }
}

/// Returns all cases. Those that differ only in the store are next to each other.
#[must_use]
pub fn all(wanted: Wanted<'_>) -> Vec<Keyed> {
    let mut cases = Vec::new();
    collect::<u64>(wanted, &mut cases);
    collect::<String>(wanted, &mut cases);
    cases
}

fn collect<K: Key>(wanted: Wanted<'_>, cases: &mut Vec<Keyed>) {
    if !wanted.kinds.iter().any(|kind| kind == K::NAME) {
        return;
    }
    let mut collected = Cases::<K> { wanted, drawn: Rc::default(), all: Vec::new() };
    visit_all(&mut collected);
    let place = |op: Op| wanted.ops.iter().position(|wanted| *wanted == op);
    // Stable: stores stay in their order.
    collected.all.sort_by_key(|Keyed { case, .. }| {
        let of_keys = case.of_keys.expect("it has keys");
        (of_keys.keys, place(case.op), of_keys.spread, case.threads)
    });
    cases.append(&mut collected.all);
}

/// The keys that a thread asks for, by the skew, the number of keys, and the thread.
type Sequences<K> = HashMap<(Skew, u64, usize), Arc<[K]>>;

/// The keys that are asked for, drawn when they are first needed.
struct Drawn<K> {
    sequences: RefCell<Sequences<K>>,
    each: RefCell<HashMap<u64, Arc<[K]>>>,
}

impl<K> Default for Drawn<K> {
    fn default() -> Drawn<K> {
        Drawn { sequences: RefCell::default(), each: RefCell::default() }
    }
}

impl<K: Key> Drawn<K> {
    fn sequences(&self, skew: Skew, keys: u64, threads: usize) -> Vec<Arc<[K]>> {
        let mut sequences = self.sequences.borrow_mut();
        let mut of_thread = |thread| {
            let drawn = sequences.entry((skew, keys, thread));
            Arc::clone(drawn.or_insert_with(|| sequence(skew, keys, thread)))
        };
        (0..threads).map(&mut of_thread).collect()
    }

    fn each(&self, keys: u64) -> Arc<[K]> {
        Arc::clone(self.each.borrow_mut().entry(keys).or_insert_with(|| each(keys)))
    }
}

struct Cases<'a, K> {
    wanted: Wanted<'a>,
    drawn: Rc<Drawn<K>>,
    all: Vec<Keyed>,
}

impl<K: Key> Visitor<K> for Cases<'_, K> {
    fn visit<S: Store<K> + 'static>(&mut self) {
        let Wanted { only, keys, ops, skews, threads, .. } = self.wanted;
        for (&keys, &op) in keys.iter().flat_map(|keys| ops.iter().map(move |op| (keys, op))) {
            // The same store for all cases with this operation and this number of keys.
            let kept: Rc<RefCell<Option<Full<S>>>> = Rc::default();
            // An insertion asks for each key once, so it has no spread.
            let skews = if op == Op::Insert { &[Skew::Uniform] } else { skews };
            let asked = skews.iter().filter(|skew| OPS.contains(&op) && S::takes(op, **skew));
            for &spread in asked {
                let name = full_name(S::NAME, K::NAME, spread);
                if !name.contains(only) {
                    continue;
                }
                for &threads in threads {
                    let of_keys = OfKeys { keys, store: S::NAME, key: K::NAME, spread };
                    let baseline = full_name(BASELINE, K::NAME, spread);
                    let (limiter, of_keys) = (name, Some(of_keys));
                    let case = Case { limiter, baseline, op, threads, of_keys };
                    let (kept, drawn) = (Rc::clone(&kept), Rc::clone(&self.drawn));
                    let turn: Box<dyn FnMut(Plan, u32, Option<Watch>) -> Turn> = if op == Op::Insert
                    {
                        Box::new(move |plan, _, watch| {
                            fill::run::<K, S>(&drawn.each(keys), plan, watch)
                        })
                    } else {
                        Box::new(move |plan, round, watch| {
                            let sequences = drawn.sequences(spread, keys, threads);
                            let mut kept = kept.borrow_mut();
                            let task = Task { op, keys, skew: spread, sequences: &sequences };
                            turn::run(&mut kept, task, plan, round, watch)
                        })
                    };
                    self.all.push(Keyed { case, turn });
                }
            }
        }
    }
}

/// Returns a name that no two cases of the same operation, keys and threads share. It is
/// leaked; there are some dozens.
fn full_name(store: &str, kind: &str, spread: Skew) -> &'static str {
    Box::leak(format!("{store}/{kind}/{spread}").into_boxed_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::time::Duration;

    fn wanted(only: &str) -> Wanted<'_> {
        Wanted {
            only,
            kinds: &[],
            keys: &[10, 300],
            ops: &[Op::Allow, Op::Full, Op::Insert],
            skews: &[Skew::Hot, Skew::Uniform],
            threads: &[1, 2],
        }
    }

    #[test]
    fn no_two_cases_have_the_same_name_and_figures() {
        let kinds = ["u64".to_owned(), "string".to_owned()];
        let cases = all(Wanted { kinds: &kinds, ..wanted("") });
        let ids: HashSet<_> = cases
            .iter()
            .map(|Keyed { case, .. }| {
                (case.limiter, case.op.to_string(), case.threads, case.of_keys.map(|of| of.keys))
            })
            .collect();
        assert_eq!(ids.len(), cases.len());
        assert!(cases.iter().all(|keyed| keyed.case.op != Op::Full), "keys are never full");
    }

    #[test]
    fn only_what_is_wanted_has_turns() {
        let kinds = ["u64".to_owned()];
        let mut cases = all(Wanted { kinds: &kinds, ..wanted("mutex_map/u64/uniform") });
        // Two numbers of keys, two operations, one and two threads.
        assert_eq!(cases.len(), 8);
        for keyed in &mut cases {
            let plan = Plan {
                threads: keyed.case.threads,
                time: Duration::from_millis(1),
                is_pinned: false,
            };
            let (seen, _) = keyed.watch(plan, 1, Watch::Calls);
            assert!(seen.ticks.is_some_and(|ticks| ticks.longest().is_some()), "{keyed:?}");
            assert!(keyed.turn(plan, 1).admitted > 0, "{keyed:?}");
        }
        assert!(all(wanted("")).is_empty());
    }
}
