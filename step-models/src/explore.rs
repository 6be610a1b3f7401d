//! Visits every state that a model can reach, breadth first, so that the run that
//! leads to a fault is a shortest one.
//!
//! Besides the faults that a model reports itself there are two of which it need
//! not know: a state from which nothing can be done, though a call has not
//! returned, and a circle of states. As programs and clocks are finite, a circle
//! is a thread that retries though no other has got anything done.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::rc::Rc;

/// The thread that took a step, and the step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) who: usize,
    pub(crate) what: &'static str,
}

/// The clock, where a step says who took it.
pub(crate) const CLOCK: usize = usize::MAX;

pub(crate) trait Model {
    type State: Clone + Eq + Hash + fmt::Debug;

    fn start(&self) -> Self::State;

    /// Adds every step that can be taken next.
    fn steps(&self, state: &Self::State, found: &mut Found<Self::State>);

    /// Returns whether every call has returned.
    fn is_done(&self, state: &Self::State) -> bool;
}

/// The steps out of one state, and counts over all of them.
pub(crate) struct Found<S> {
    steps: Vec<(Step, S, Option<String>)>,
    pub(crate) counts: Counts,
}

impl<S> Found<S> {
    pub(crate) fn add(&mut self, who: usize, what: &'static str, next: S, fault: Option<String>) {
        self.steps.push((Step { who, what }, next, fault));
    }
}

/// Number of times that each thing happened, over all steps between different states.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) grants: usize,
    pub(crate) denials: usize,
    pub(crate) given_back: usize,
    pub(crate) lost: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Explored {
    pub(crate) states: usize,
    pub(crate) counts: Counts,
}

/// The run that leads to a fault.
pub(crate) struct Trace {
    pub(crate) fault: String,
    run: Vec<String>,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, after {} steps:", self.fault, self.run.len() - 1)?;
        self.run.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

struct Node<S> {
    state: Rc<S>,
    from: usize,
    step: Step,
}

pub(crate) fn explore<M: Model>(model: &M) -> Result<Explored, Trace> {
    let start = Rc::new(model.start());
    let mut seen: HashMap<_, usize, BuildHasherDefault<Fold>> = HashMap::default();
    seen.insert(Rc::clone(&start), 0);
    let mut nodes = vec![Node { state: start, from: 0, step: Step { who: CLOCK, what: "start" } }];
    let mut found = Found { steps: Vec::new(), counts: Counts::default() };
    // Where each node's edges begin, and the edges of all in one row.
    let mut first_edge = vec![0];
    let mut edges = Vec::new();

    let mut here = 0;
    while here < nodes.len() {
        let state = Rc::clone(&nodes[here].state);
        model.steps(&state, &mut found);
        if found.steps.is_empty() && !model.is_done(&state) {
            return Err(trace(&nodes, here, None, "stuck".to_owned()));
        }
        for (step, next, fault) in found.steps.drain(..) {
            if let Some(fault) = fault {
                return Err(trace(&nodes, here, Some((step, &next)), fault));
            }
            let next = Rc::new(next);
            let new = nodes.len();
            match seen.entry(Rc::clone(&next)) {
                Entry::Occupied(known) => edges.push(*known.get()),
                Entry::Vacant(vacant) => {
                    vacant.insert(new);
                    nodes.push(Node { state: next, from: here, step });
                    edges.push(new);
                }
            }
        }
        first_edge.push(edges.len());
        here += 1;
    }
    if let Some(node) = on_a_circle(&first_edge, &edges) {
        return Err(trace(&nodes, node, None, "goes round without end".to_owned()));
    }
    Ok(Explored { states: nodes.len(), counts: found.counts })
}

/// A node that lies on a circle, or behind one: takes away what nothing leads to,
/// until that is nothing.
fn on_a_circle(first_edge: &[usize], edges: &[usize]) -> Option<usize> {
    let count = first_edge.len() - 1;
    let mut into = vec![0_u32; count];
    for &to in edges {
        into[to] += 1;
    }
    let mut free: Vec<usize> = (0..count).filter(|&node| into[node] == 0).collect();
    while let Some(node) = free.pop() {
        for &to in &edges[first_edge[node]..first_edge[node + 1]] {
            into[to] -= 1;
            if into[to] == 0 {
                free.push(to);
            }
        }
    }
    (0..count).find(|&node| into[node] > 0)
}

fn trace<S: fmt::Debug>(
    nodes: &[Node<S>],
    mut node: usize,
    last: Option<(Step, &S)>,
    fault: String,
) -> Trace {
    let mut run: Vec<String> = last.map(|(step, state)| line(step, state)).into_iter().collect();
    loop {
        run.push(line(nodes[node].step, &nodes[node].state));
        if node == 0 {
            break;
        }
        node = nodes[node].from;
    }
    run.reverse();
    Trace { fault, run }
}

fn line<S: fmt::Debug>(step: Step, state: &S) -> String {
    let who = if step.who == CLOCK { "clock".to_owned() } else { format!("thread {}", step.who) };
    format!("{who}: {}\n    {state:?}", step.what)
}

/// A hasher that is quick without optimization; the keys are no adversary's.
#[derive(Default)]
struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    fn write_i8(&mut self, byte: i8) {
        self.write_u64(byte as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Two threads of which one waits for the other's flag: by looking again and
/// again, or by not running until it is up.
struct Waits {
    looks_again: bool,
    is_raised: bool,
}

impl Model for Waits {
    /// The flag, whether the one has seen it, and whether it is looking again.
    type State = (bool, bool, bool);

    fn start(&self) -> Self::State {
        (false, false, false)
    }

    fn steps(&self, &(flag, seen, again): &Self::State, found: &mut Found<Self::State>) {
        if self.is_raised && !flag {
            found.add(0, "raises the flag", (true, seen, again), None);
        }
        if !seen && flag {
            found.add(1, "sees the flag", (flag, true, false), None);
        } else if !seen && self.looks_again {
            found.add(1, "looks", (flag, seen, !again), None);
        }
    }

    fn is_done(&self, state: &Self::State) -> bool {
        state.1
    }
}

#[test]
fn a_thread_that_waits_for_another_is_caught() {
    assert!(explore(&Waits { looks_again: false, is_raised: true }).is_ok());

    let spins = explore(&Waits { looks_again: true, is_raised: true }).unwrap_err();
    assert_eq!(spins.fault, "goes round without end");
    let waits = explore(&Waits { looks_again: false, is_raised: false }).unwrap_err();
    assert_eq!(waits.fault, "stuck");
}
