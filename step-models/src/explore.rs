//! Visits every state that a model can reach, breadth first, so that the run that
//! leads to a fault is a shortest one.
//!
//! Besides the faults that a model reports itself there are two of which it need
//! not know: a state from which nothing can be done, though a call has not
//! returned, and a circle of states. As programs and clocks are finite, a circle
//! is a thread that retries though no other has got anything done.
//!
//! A model in which threads sleep and wake goes in circles by right. For such a
//! one there is a goal instead: from every state it can be reached while the clock
//! stands still.

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

/// A model that need not end, but is to reach a goal from every state.
pub(crate) trait Goal: Model {
    fn is_goal(&self, state: &Self::State) -> bool;
}

/// The steps out of one state, and counts over all of them.
pub(crate) struct Found<S> {
    pub(crate) steps: Vec<(Step, S, Option<String>)>,
    pub(crate) counts: Counts,
}

impl<S> Found<S> {
    pub(crate) fn new() -> Found<S> {
        Found { steps: Vec::new(), counts: Counts::default() }
    }

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

impl Trace {
    /// Returns the number of steps to the fault.
    pub(crate) fn steps(&self) -> usize {
        self.run.len() - 1
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, after {} steps:", self.fault, self.steps())?;
        self.run.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

struct Node<S> {
    state: Rc<S>,
    from: usize,
    step: Step,
}

/// The states that were found, and the steps between them.
struct Graph<S> {
    nodes: Vec<Node<S>>,
    /// The place at which each node's edges begin, and the edges of all in one row.
    first_edge: Vec<usize>,
    edges: Vec<usize>,
    counts: Counts,
}

pub(crate) fn explore<M: Model>(model: &M) -> Result<Explored, Trace> {
    let graph = visit(model, |_| true, |state| !model.is_done(state))?;
    graph.none_or(on_a_circle(&graph.first_edge, &graph.edges), "goes round without end")
}

/// Explores a model that has a goal, which must stay within reach. The clock may take steps, but
/// the goal must not need them.
pub(crate) fn explore_with_goal<M: Goal>(model: &M) -> Result<Explored, Trace> {
    let graph = visit(model, |step| step.who != CLOCK, |_| false)?;
    let is_goal = |node: &Node<M::State>| model.is_goal(&node.state);
    let goals = graph.nodes.iter().map(is_goal).collect();
    graph.none_or(out_of_reach(goals, &graph.first_edge, &graph.edges), "cannot reach the goal")
}

/// Keeps the edges that count. Every fault ends the visit.
fn visit<M: Model>(
    model: &M,
    counts: impl Fn(Step) -> bool,
    is_stuck: impl Fn(&M::State) -> bool,
) -> Result<Graph<M::State>, Trace> {
    let start = Rc::new(model.start());
    let mut seen: HashMap<_, usize, BuildHasherDefault<Fold>> = HashMap::default();
    seen.insert(Rc::clone(&start), 0);
    let mut nodes = vec![Node { state: start, from: 0, step: Step { who: CLOCK, what: "start" } }];
    let mut found = Found::new();
    let mut first_edge = vec![0];
    let mut edges = Vec::new();

    let mut here = 0;
    while here < nodes.len() {
        let state = Rc::clone(&nodes[here].state);
        model.steps(&state, &mut found);
        if found.steps.is_empty() && is_stuck(&state) {
            return Err(trace(&nodes, here, None, "stuck".to_owned()));
        }
        for (step, next, fault) in found.steps.drain(..) {
            if let Some(fault) = fault {
                return Err(trace(&nodes, here, Some((step, &next)), fault));
            }
            let next = Rc::new(next);
            let mut to = nodes.len();
            match seen.entry(Rc::clone(&next)) {
                Entry::Occupied(known) => to = *known.get(),
                Entry::Vacant(vacant) => {
                    vacant.insert(to);
                    nodes.push(Node { state: next, from: here, step });
                }
            }
            if counts(step) {
                edges.push(to);
            }
        }
        first_edge.push(edges.len());
        here += 1;
    }
    Ok(Graph { nodes, first_edge, edges, counts: found.counts })
}

impl<S: fmt::Debug> Graph<S> {
    /// The counts, unless there is such a node.
    fn none_or(&self, faulty: Option<usize>, fault: &str) -> Result<Explored, Trace> {
        match faulty {
            Some(node) => Err(trace(&self.nodes, node, None, fault.to_owned())),
            None => Ok(Explored { states: self.nodes.len(), counts: self.counts }),
        }
    }
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

/// The first node from which no edges lead to a goal: goes back from the goals.
fn out_of_reach(mut reaches: Vec<bool>, first_edge: &[usize], edges: &[usize]) -> Option<usize> {
    let count = reaches.len();
    // The edges the other way round: where those into each node begin, and their sources.
    let mut first_into = vec![0; count + 1];
    for &to in edges {
        first_into[to + 1] += 1;
    }
    for node in 0..count {
        first_into[node + 1] += first_into[node];
    }
    let mut free = first_into.clone();
    let mut sources = vec![0; edges.len()];
    for from in 0..count {
        for &to in &edges[first_edge[from]..first_edge[from + 1]] {
            sources[free[to]] = from;
            free[to] += 1;
        }
    }
    let mut open: Vec<usize> = (0..count).filter(|&node| reaches[node]).collect();
    while let Some(node) = open.pop() {
        for &from in &sources[first_into[node]..first_into[node + 1]] {
            if !reaches[from] {
                reaches[from] = true;
                open.push(from);
            }
        }
    }
    reaches.iter().position(|&reaches| !reaches)
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

/// A sleeper that looks at a flag whenever it likes. Somebody raises the flag, or the clock does.
struct Sleeps {
    raiser: usize,
    is_raised: bool,
    can_give_up: bool,
}

impl Model for Sleeps {
    /// The flag, whether the sleeper is looking, and whether it has given up.
    type State = (bool, bool, bool);

    fn start(&self) -> Self::State {
        (false, false, false)
    }

    fn steps(&self, &(flag, looks, gone): &Self::State, found: &mut Found<Self::State>) {
        if self.is_raised && !flag {
            found.add(self.raiser, "raises the flag", (true, looks, gone), None);
        }
        if !gone {
            found.add(1, "looks or sleeps", (flag, !looks, gone), None);
        }
        if self.can_give_up && looks {
            found.add(1, "gives up", (flag, false, true), None);
        }
    }

    fn is_done(&self, _: &Self::State) -> bool {
        false
    }
}

impl Goal for Sleeps {
    /// The flag has been seen.
    fn is_goal(&self, &(flag, looks, _): &Self::State) -> bool {
        flag && looks
    }
}

#[test]
fn a_goal_that_is_out_of_reach_is_caught_and_circles_are_not() {
    let sleeps = Sleeps { raiser: 0, is_raised: true, can_give_up: false };
    assert_eq!(explore_with_goal(&sleeps).unwrap().states, 4);

    let never = explore_with_goal(&Sleeps { is_raised: false, ..sleeps }).unwrap_err();
    assert_eq!(never.fault, "cannot reach the goal");
    let by_the_clock = explore_with_goal(&Sleeps { raiser: CLOCK, ..sleeps }).unwrap_err();
    assert_eq!(by_the_clock.fault, "cannot reach the goal");
    // From the start the goal can be reached, but not from where the sleeper has given up.
    let gives_up = explore_with_goal(&Sleeps { can_give_up: true, ..sleeps }).unwrap_err();
    assert_eq!(gives_up.fault, "cannot reach the goal");
    assert!(gives_up.run.last().unwrap().contains("gives up"), "{gives_up:?}");
}
