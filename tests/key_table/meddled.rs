//! Calls that happen in the middle of others: whenever a table reads the clock, some other
//! call may run from beginning to end, and its own readings may be interrupted as well. So
//! every order of the steps of several callers comes up in which one goes on where another
//! looks at the clock: between what it has seen and what it makes of it, and between its
//! marker and its charge. Some calls never come back from there. (A call inside another one
//! ends before it: what takes turns is for `races`, and for the models.)

use std::cell::{Cell, RefCell};
use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::keyed::TableEntry;
use sluicegate::*;

use super::bound::{Admission, assert_bounded};
use super::{Open, SECOND};
use crate::support::cases::cases;

const TEN: Quota = quota!(10 / second, burst 3);
/// A quota of the same rate as [`TEN`], so that the larger burst bounds both.
const SMALLER: Quota = quota!(10 / second, burst 2);
const SKEW_NANOS: u64 = 1_000_000;

/// A clock that lets the next of what is planned happen while it is read.
#[derive(Debug)]
struct Meddled(ManualClock);

thread_local! {
    static WORLD: RefCell<Option<Rc<World>>> = const { RefCell::new(None) };
    static PLAN: RefCell<VecDeque<Step>> = const { RefCell::new(VecDeque::new()) };
    /// Number of readings left to a call that never comes back; 0 if all come back.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

impl Clock for Meddled {
    fn now_nanos(&self) -> u64 {
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(1));
        if left == 1 {
            resume_unwind(Box::new(()));
        }
        let Some(step) = PLAN.with_borrow_mut(VecDeque::pop_front) else {
            return self.0.now_nanos();
        };
        let reading = self.0.now_nanos() - step.behind_nanos;
        if let (Some(op), Some(world)) = (step.op, WORLD.with_borrow(Clone::clone)) {
            world.run(op);
        }
        if step.is_read_first { reading } else { self.0.now_nanos() - step.behind_nanos }
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Acquire(u64, u64),
    UpTo(u64, u64),
    Batch([u64; 3]),
    TakenBack(u64, u64),
    /// A call that is left off at one of its next readings, and never comes back.
    LeftOff(u64, u32),
    Remove(u64),
    Sweep,
    /// Makes the burst smaller by one, or as large as it was.
    Change(bool),
    Pass(u64),
}

/// An event at a reading: a clock that is behind, or an operation, before or after it.
#[derive(Clone, Copy, Debug)]
struct Step {
    op: Option<Op>,
    is_read_first: bool,
    behind_nanos: u64,
}

struct World {
    clock: Arc<Meddled>,
    table: KeyTable<u64, Open, Arc<Meddled>>,
    admissions: RefCell<Vec<Admission>>,
    removed: Cell<u64>,
}

impl World {
    fn of_lines(lines: usize) -> Rc<World> {
        let clock = Arc::new(Meddled(ManualClock::at(5 * SECOND)));
        let table = KeyTable::builder_with(TEN, Open::default(), clock.clone());
        let table = table.memory(64 * lines).unwrap();
        // What was read before the table was made counts as that instant: not here.
        clock.0.advance_nanos(SECOND);
        let removed = Cell::new(0);
        Rc::new(World { clock, table, admissions: RefCell::default(), removed })
    }

    fn now_nanos(&self) -> u64 {
        self.clock.0.now_nanos()
    }

    fn note(&self, key: u64, from_nanos: u64, answer: Result<Grant, Denied>) {
        // A clock that was behind may have decided it.
        let from_nanos = from_nanos - SKEW_NANOS;
        let to_nanos = self.now_nanos();
        if let Ok(grant) = answer {
            let permits = grant.permits();
            let admission = Admission { key, from_nanos, to_nanos, permits };
            self.admissions.borrow_mut().push(admission);
        }
        self.assert_each_key_is_in_one_place();
    }

    fn assert_each_key_is_in_one_place(&self) {
        let mut fingerprints = HashSet::new();
        let (plan, left) = (PLAN.take(), LEFT.take());
        let is_new = |entry: TableEntry| fingerprints.insert(entry.fingerprint());
        assert!(self.table.iter().all(is_new), "twice in {:?}", self.table);
        PLAN.set(plan);
        LEFT.set(left);
    }

    fn run(&self, op: Op) {
        let (table, from_nanos) = (&self.table, self.now_nanos());
        match op {
            Op::Acquire(key, permits) => {
                self.note(key, from_nanos, table.try_acquire(&key, permits));
            }
            Op::UpTo(key, permits) => {
                self.note(key, from_nanos, table.try_acquire_up_to(&key, permits));
            }
            Op::Batch(keys) => table.try_acquire_batch_with(&keys, 1, |place, answer| {
                self.note(keys[place], from_nanos, answer);
            }),
            Op::TakenBack(key, permits) => {
                let Ok(receipt) = table.try_acquire_revocable(&key, permits) else { return };
                let grant = receipt.grant();
                // Others may go on in between.
                let _ = self.clock.now_nanos();
                if !receipt.give_back() {
                    self.note(key, from_nanos, Ok(grant));
                }
            }
            Op::LeftOff(key, readings) => {
                LEFT.set(readings);
                let asked = catch_unwind(AssertUnwindSafe(|| table.try_acquire(&key, 1)));
                LEFT.set(0);
                if let Ok(answer) = asked {
                    self.note(key, from_nanos, answer);
                }
            }
            Op::Remove(key) => {
                self.removed.set(self.removed.get() + 1);
                table.remove(&key);
            }
            Op::Sweep => drop(table.sweep()),
            Op::Change(is_smaller) => {
                table.reconfigure(if is_smaller { SMALLER } else { TEN }).unwrap();
            }
            Op::Pass(nanos) => self.clock.0.advance_nanos(nanos),
        }
    }

    /// Runs one operation after the other, with the plan for their readings.
    fn play(self: &Rc<World>, ops: &[Op], plan: &[Step]) {
        WORLD.set(Some(self.clone()));
        PLAN.set(plan.iter().copied().collect());
        for &op in ops {
            self.run(op);
        }
        PLAN.take();
        LEFT.set(0);
        self.table.reconfigure(TEN).unwrap();
        // Nothing is left behind that is in anybody's way.
        for half in 0..2 {
            self.clock.0.advance(Duration::from_secs(2));
            for key in (0..8).map(|key| 1_000 + 8 * half + key) {
                let answer = self.table.try_acquire(&key, 3);
                assert_eq!(answer.map(|grant| grant.remaining()), Ok(0), "{:?}", self.table);
                assert!(self.table.try_acquire(&key, 1).is_err());
            }
        }
        self.assert_each_key_is_in_one_place();
        WORLD.take();
    }
}

fn op(removes: u32) -> impl Strategy<Value = Op> + Clone {
    // Few keys, so that they meet; and all those that a line holds.
    let key = prop_oneof![4 => 0..2_u64, 2 => 0..12_u64];
    let keys = [key.clone(), key.clone(), key.clone()];
    prop_oneof![
        12 => (key.clone(), 1..=3_u64).prop_map(|(key, permits)| Op::Acquire(key, permits)),
        3 => (key.clone(), 1..=3_u64).prop_map(|(key, permits)| Op::UpTo(key, permits)),
        2 => keys.prop_map(Op::Batch),
        2 => (key.clone(), 1..=3_u64).prop_map(|(key, permits)| Op::TakenBack(key, permits)),
        2 => (key.clone(), 1..=3_u32).prop_map(|(key, readings)| Op::LeftOff(key, readings)),
        removes => key.prop_map(Op::Remove),
        2 => Just(Op::Sweep),
        2 => any::<bool>().prop_map(Op::Change),
        3 => (0..400_000_000_u64).prop_map(Op::Pass),
        2 => (299_000_000..303_000_000_u64).prop_map(Op::Pass),
        2 => (0..4_000_000_u64).prop_map(Op::Pass),
    ]
}

fn step(removes: u32) -> impl Strategy<Value = Step> + Clone {
    let behind = prop_oneof![3 => Just(0), 1 => 0..SKEW_NANOS / 2];
    let op = prop_oneof![1 => Just(None), 3 => op(removes).prop_map(Some)];
    (op, any::<bool>(), behind).prop_map(|(op, is_read_first, behind_nanos)| Step {
        op,
        is_read_first,
        behind_nanos,
    })
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn whatever_happens_inside_a_call_no_key_is_admitted_more_than_its_bound(
        lines in 1..=2_usize,
        ops in vec(op(1), 1..30),
        plan in vec(step(1), 0..60),
    ) {
        // Without removals: each is worth a burst.
        let keeps = |op: &Op| !matches!(op, Op::Remove(_));
        let ops: Vec<Op> = ops.into_iter().filter(keeps).collect();
        let keeps = |step: &Step| step.op.as_ref().is_none_or(keeps);
        let plan: Vec<Step> = plan.into_iter().filter(keeps).collect();
        let world = World::of_lines(lines);
        world.play(&ops, &plan);
        assert_bounded(TEN, world.admissions.take());
    }

    #[test]
    fn whatever_is_removed_inside_a_call_is_worth_one_burst(
        lines in 1..=2_usize,
        ops in vec(op(4), 1..30),
        plan in vec(step(4), 0..60),
    ) {
        let world = World::of_lines(lines);
        let begun_nanos = world.now_nanos();
        world.play(&ops, &plan);
        let earned = (world.now_nanos() - begun_nanos + SKEW_NANOS) * 10 / SECOND + 1;
        for key in 0..12 {
            let admissions = world.admissions.borrow();
            let of_key = admissions.iter().filter(|admission| admission.key == key);
            let total: u64 = of_key.map(|admission| admission.permits).sum();
            assert!(total <= 3 * (1 + world.removed.get()) + earned);
        }
    }
}
