//! The scenes that are explored: a table, its terms, its words at first, and the threads' calls.

use super::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key {
    /// The owner of the grants: keys that cannot be told apart are one owner.
    pub(super) owner: u8,
    pub(super) print: u8,
    pub(super) home: u8,
    pub(super) second: u8,
    /// The capacity of the tier that it is asked under.
    pub(super) cap: i8,
}

impl Key {
    pub(super) const fn at(self, home: u8, second: u8) -> Key {
        Key { home, second, ..self }
    }

    pub(super) const fn tier(self, cap: i8) -> Key {
        Key { cap, ..self }
    }

    pub(super) const fn owned_by(self, owner: u8) -> Key {
        Key { owner, ..self }
    }
}

/// A key of the first bucket, and of the scene's largest capacity.
pub(super) const fn key(print: u8) -> Key {
    Key { owner: print, print, home: 0, second: 0, cap: 0 }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    Take(Key, i8),
    /// The same; and if the key is not there, this slot is swept on the way.
    TakeAndSweep(Key, i8, u8),
    /// Both by one reading of the clock, if they are in their homes.
    Batch(Key, i8, Key, i8),
    Reset(Key),
    GiveBack,
    /// The buckets of a key.
    Sweep(Key),
}

pub(super) const fn take(print: u8, permits: i8) -> Op {
    Op::Take(key(print), permits)
}

/// The next call of a thread, and the plan that follows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    pub(super) op: Op,
    pub(super) then: u8,
    /// After a batch: if neither, the first, the second or both are left to do alone.
    pub(super) left: [u8; 4],
}

/// The rule for which of the usable slots gets the marker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Placing {
    /// The first of the home, or else of the other bucket.
    HomeFirst,
    Lowest,
    Any,
}

/// When a take reads the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TakeReads {
    AfterLoads,
    /// Before them, and it goes by that if it can. It may do all that it may do without.
    First,
}

/// When a batch reads the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BatchReads {
    AfterLoads,
    /// Before the first load, and the clock has gone on by no more than this when the
    /// first word, or the last, is loaded.
    UntilFirst(i8),
    UntilLast(i8),
}

/// The limit, if any, on how long a word is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ages {
    Any,
    /// A word is written again, and a call that has loaded one ends, before the word is
    /// older than this.
    UpTo(i8),
}

#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "what a scene has or has not, each by itself")]
pub(super) struct Scene {
    pub(super) width: u8,
    /// The largest of all tiers: by it words live.
    pub(super) cap: i8,
    pub(super) from: i8,
    pub(super) until: i8,
    /// The most by which a marker may be above the least level.
    pub(super) band: i8,
    /// The time for which a marker of another key is spared when it is no longer live.
    pub(super) grace: i8,
    /// The most by which a level may be ahead of a reading, and the precision to which the table
    /// keeps the time.
    pub(super) slack: i8,
    /// The most by which a level may be ahead of a reading, if that is more.
    pub(super) ahead: Option<i8>,
    /// The table keeps the latest reading, but for so many instants.
    pub(super) keeps: Option<i8>,
    /// All but hits go by that, if a reading is before it.
    pub(super) goes_by_time: bool,
    /// The most by which a first reading may differ from the kept time and still be used.
    pub(super) near: Option<i8>,
    /// The most by which a reading may be late.
    pub(super) skew: i8,
    /// Levels are known up to a multiple of this.
    pub(super) modulus: Option<i8>,
    /// The most instants that a call lasts.
    pub(super) longest: Option<i8>,
    pub(super) ages: Ages,
    pub(super) placing: Placing,
    pub(super) batch_reads: BatchReads,
    pub(super) take_reads: TakeReads,
    /// True if using up the band is a fault.
    pub(super) climbs: bool,
    /// True if it is a fault that two words of one key are charged.
    pub(super) is_unique: bool,
    pub(super) mutants: u64,
    pub(super) slots: [Word; SLOTS],
    pub(super) plans: Vec<Plan>,
    pub(super) threads: Vec<Thread>,
    /// The capacity that bounds each owner: its largest tier's.
    pub(super) caps: [i8; OWNERS],
    pub(super) keeps_receipts: bool,
}

impl Scene {
    /// One bucket of so many slots.
    pub(super) fn new(width: u8, cap: i8, until: i8, slots: &[Word]) -> Scene {
        let mut all = [Word::EMPTY; SLOTS];
        all[..slots.len()].copy_from_slice(slots);
        // The plan of a thread that has done everything.
        let done = Plan { op: Op::GiveBack, then: 0, left: [0; 4] };
        Scene {
            width,
            cap,
            from: 0,
            until,
            band: 1,
            grace: 0,
            slack: 0,
            ahead: None,
            keeps: None,
            goes_by_time: false,
            near: None,
            skew: 0,
            modulus: None,
            longest: None,
            ages: Ages::Any,
            placing: Placing::HomeFirst,
            batch_reads: BatchReads::AfterLoads,
            take_reads: TakeReads::First,
            climbs: false,
            is_unique: true,
            mutants: 0,
            slots: all,
            plans: vec![done],
            threads: Vec::new(),
            caps: [0; OWNERS],
            keeps_receipts: false,
        }
    }

    pub(super) fn thread(self, ops: &[Op]) -> Scene {
        self.thread_amid(ops, |thread| thread)
    }

    /// A thread that is somewhere in its first call.
    pub(super) fn thread_amid(mut self, ops: &[Op], put: impl Fn(Thread) -> Thread) -> Scene {
        let mut todo = 0;
        for &op in ops.iter().rev() {
            self.keeps_receipts |= op == Op::GiveBack;
            todo = self.plan(op, todo);
        }
        let thread = put(Thread::idle(todo, Receipt::NONE));
        let began = if self.longest.is_some() && thread.at != At::Idle { self.from } else { 0 };
        self.threads.push(Thread { began, ..thread });
        self
    }

    pub(super) fn threads(self, programs: &[&[Op]]) -> Scene {
        programs.iter().fold(self, |scene, ops| scene.thread(ops))
    }

    pub(super) fn mutate(mut self, mutants: &[Mutant]) -> Scene {
        self.mutants = mutants.iter().fold(0, |all, &mutant| all | 1 << mutant as u32);
        self
    }

    fn plan(&mut self, op: Op, then: u8) -> u8 {
        let left = match op {
            Op::Batch(first, permits, second, more) => {
                let last = self.plan(Op::Take(second, more), then);
                let both = self.plan(Op::Take(first, permits), last);
                [then, self.plan(Op::Take(first, permits), then), last, both]
            }
            _ => [0; 4],
        };
        for key in op.keys().into_iter().flatten() {
            let cap = &mut self.caps[usize::from(key.owner)];
            *cap = (*cap).max(if key.cap == 0 { self.cap } else { key.cap });
        }
        let plan = Plan { op, then, left };
        // The plan of no more to do is no other's.
        let known = self.plans[1..].iter().position(|other| *other == plan);
        known.map_or_else(
            || {
                self.plans.push(plan);
                self.plans.len() as u8 - 1
            },
            |place| place as u8 + 1,
        )
    }

    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutants >> mutant as u32 & 1 != 0
    }

    /// The slot that a key looks at in this place, its home's first.
    pub(super) fn slot(&self, key: Key, place: u8) -> u8 {
        if place < self.width {
            key.home * self.width + place
        } else {
            key.second * self.width + place - self.width
        }
    }

    /// The same in the order of all slots, which is every key's.
    pub(super) fn slot_in_order(&self, key: Key, place: u8) -> u8 {
        let (low, high) = (key.home.min(key.second), key.home.max(key.second));
        self.slot(key.at(low, high), place)
    }

    pub(super) fn places(&self, key: Key) -> u8 {
        if key.home == key.second { self.width } else { 2 * self.width }
    }

    /// A clock that steps back by so much, for which the table keeps the time.
    pub(super) fn steps_back(self, back: i8) -> Scene {
        let keeps = Some(self.slack);
        Scene { skew: back, ahead: Some(back), keeps, goes_by_time: true, ..self }
    }

    pub(super) fn cap_of(&self, key: Key) -> i8 {
        if key.cap == 0 { self.cap } else { key.cap }
    }
}

impl Op {
    fn keys(self) -> [Option<Key>; 2] {
        match self {
            Op::Take(key, _) | Op::TakeAndSweep(key, ..) | Op::Reset(key) => [Some(key), None],
            Op::Batch(first, _, second, _) => [Some(first), Some(second)],
            Op::GiveBack | Op::Sweep(_) => [None, None],
        }
    }
}
