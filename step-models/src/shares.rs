//! Shares of tenants: a common bucket, and one for each tenant; what is assured is taken of the common one
//! whatever it holds, what is borrowed leaves the bursts of all.
//!
//! A call reads the clock once. It asks the tenant's own bucket by that reading, under a lock: one step. If that
//! holds enough, it takes the same of the common bucket by the same reading, in one more step. Otherwise it loads the word of
//! the common bucket, then the sum that is kept, and takes by a CAS if both are there.
//!
//! * A place is held by one tenant. Another one takes it over if the bucket is full at the time, and begins with
//!   the bucket that is full by its own reading.
//! * A change lowers the own buckets to what is in both the old and the new numbers, one after the other; stores the new
//!   sum; changes the common bucket, which moves its word on; and raises the own buckets.
//!
//! Times are readings: *now* is the newest by which any step was made, and the *lag* is the most that a step was
//! made by an older one.
//!
//! Stated of every state: the common bucket's debt now is at most what its rate earns in the lag, and what places have
//! earned anew because a tenant came by an older reading than that by which its predecessor was full, and what was assured and not
//! yet taken when a change lowered the sum; no more is granted than
//! the burst and what is earned till now, and in the lag, and that; no own bucket is in debt; none is refused what its
//! bucket holds.
//!
//! That the change moves the word on is not needed here, where all threads see all stores at once: a sum that was
//! loaded after the reading is as old as that at most, and so within the lag. It is what makes the sum be seen:
//! `loom-tests/tests/shares.rs`.
//!
//! Left out: ceilings, which are the same with one tenant (they are in that file); healing; fractions.
//!
//! | mutant           | what it drops                                          | what goes wrong |
//! |------------------|--------------------------------------------------------|-----------------|
//! | `NoFloor`        | what is borrowed leaves nothing                        | the common bucket is in debt |
//! | `FloorMissesOne` | the burst of one tenant in the sum                     | the same |
//! | `CommonLater`    | the one reading: the common bucket is asked by a later one | the same, with no lag |
//! | `PaysBack`       | that borrowing leaves the own bucket as it is          | the own bucket is in debt |
//! | `AsksForAssured` | that what is assured is taken in any case              | a share is refused |
//! | `BorrowsByStore` | the CAS that borrows                                   | a grant is lost: in debt |
//! | `EvictsEarly`    | that only a full bucket's place is taken over          | in debt |
//! | `FloorFirst`     | that the sum is loaded after the clock is read         | a change comes in between: in debt |
//! | `RaisesFirst`    | that own buckets are raised last                       | the same |
//! | `LowersLast`     | that own buckets are lowered first                     | the same |
//! | `RaiseFills`     | that a raised bucket keeps its balance                 | the same |

use crate::explore::{CLOCK, Found, Model};

#[path = "shares/beside.rs"]
mod beside;
#[path = "shares/calls.rs"]
mod calls;
#[path = "shares/checks.rs"]
mod checks;

const THREADS: usize = 3;
const PLACES: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    NoFloor,
    FloorMissesOne,
    CommonLater,
    PaysBack,
    AsksForAssured,
    BorrowsByStore,
    EvictsEarly,
    FloorFirst,
    RaisesFirst,
    LowersLast,
    RaiseFills,
}

/// A rate, in permits of a tick, and a burst.
type Quota = (i8, i8);

/// The numbers of all buckets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Numbers {
    common: Quota,
    own: [Quota; PLACES],
}

impl Numbers {
    fn sum(self) -> i8 {
        self.own.iter().map(|quota| quota.1).sum()
    }
}

/// The call of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    /// A tenant of a place asks.
    Ask {
        place: usize,
        tenant: i8,
        permits: i8,
    },
    Change(Numbers),
}

#[derive(Clone, Debug)]
struct Shares {
    numbers: Numbers,
    /// Ticks for which the clock goes on.
    run: i8,
    /// Each thread has some calls, one after the other.
    ops: Vec<Vec<Op>>,
    mutant: Option<Mutant>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Bucket {
    rate: i8,
    burst: i8,
    level: i8,
    /// The count at `origin`.
    base: i8,
    origin: i8,
}

impl Bucket {
    fn full((rate, burst): Quota) -> Bucket {
        Bucket { rate, burst, level: -burst, base: 0, origin: 0 }
    }

    fn accrued(self, at: i8) -> i8 {
        self.base + self.rate * (at - self.origin).max(0)
    }

    fn balance(self, at: i8) -> i8 {
        (self.accrued(at) - self.level).min(self.burst)
    }

    fn take(&mut self, permits: i8, at: i8) {
        self.level = self.level.max(self.accrued(at) - self.burst) + permits;
    }

    /// Keeps the balance, up to the new burst.
    fn change(&mut self, (rate, burst): Quota, at: i8) {
        let balance = self.balance(at).min(burst);
        *self = Bucket { rate, burst, level: self.level, base: self.level + balance, origin: at };
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Idle,
    /// Only mutants have loaded the sum by then.
    Own {
        at: i8,
        floor: Option<i8>,
    },
    /// Mutants only: is to read the clock once more.
    Again,

    Force {
        at: i8,
    },
    /// Mutants only: has loaded the sum too early.
    Load {
        at: i8,
        floor: Option<i8>,
    },
    Floor {
        at: i8,
        seen: (i8, i8),
    },
    Cas {
        at: i8,
        seen: (i8, i8),
        floor: i8,
    },
    Change {
        step: usize,
    },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    clock: i8,
    common: Bucket,
    /// The number of changes: a part of the word.
    changes: i8,
    floor: i8,
    own: [Bucket; PLACES],
    holders: [i8; PLACES],
    threads: [At; THREADS],
    /// The calls that each thread has made.
    calls: [u8; THREADS],
    /// The truth.
    now: i8,
    lag: i8,
    /// Earned anew by places that another tenant has taken over, and assured when the sum was lowered.
    anew: i8,
    granted: i8,
}

impl State {
    fn go(&self, who: usize, at: At) -> State {
        let mut next = self.clone();
        next.threads[who] = at;
        next
    }

    fn word(&self) -> (i8, i8) {
        (self.common.level, self.changes)
    }

    /// Notes a step by a reading.
    fn step_by(&mut self, at: i8) {
        self.lag = self.lag.max(self.now - at);
        self.now = self.now.max(at);
    }

    fn done(&mut self, who: usize) {
        self.threads[who] = At::Idle;
        self.calls[who] += 1;
    }
}

impl Model for Shares {
    type State = State;

    fn start(&self) -> State {
        State {
            clock: 0,
            common: Bucket::full(self.numbers.common),
            changes: 0,
            floor: self.floor_of(self.numbers),
            own: self.numbers.own.map(Bucket::full),
            holders: [0; PLACES],
            threads: [At::Idle; THREADS],
            calls: [0; THREADS],
            now: 0,
            lag: 0,
            anew: 0,
            granted: 0,
        }
    }

    fn steps(&self, state: &State, found: &mut Found<State>) {
        if state.clock < self.run {
            let mut next = state.clone();
            next.clock += 1;
            self.add(found, CLOCK, "a tick", next);
        }
        for who in 0..self.ops.len() {
            self.step(state, who, found);
        }
    }

    fn is_done(&self, state: &State) -> bool {
        self.ops.iter().zip(state.calls).all(|(ops, calls)| ops.len() == usize::from(calls))
    }
}

impl Shares {
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn floor_of(&self, numbers: Numbers) -> i8 {
        match self.mutant {
            Some(Mutant::NoFloor) => 0,
            Some(Mutant::FloorMissesOne) => numbers.own[1].1,
            _ => numbers.sum(),
        }
    }

    /// The highest quota for all that is ever in force.
    fn most(&self) -> Quota {
        let changes = self.ops.iter().flatten().filter_map(|op| match op {
            Op::Change(numbers) => Some(numbers.common),
            Op::Ask { .. } => None,
        });
        changes.fold(self.numbers.common, |most, other| (most.0.max(other.0), most.1.max(other.1)))
    }

    /// Adds a step, and looks at the invariant.
    fn add(&self, found: &mut Found<State>, who: usize, what: &'static str, next: State) {
        let (rate, burst) = self.most();
        let late = rate * next.lag + next.anew;
        let fault = if -next.common.balance(next.now) > late {
            Some("the common bucket is in debt".to_owned())
        } else if next.granted > burst + rate * next.now + late {
            Some("more than the bound".to_owned())
        } else if next.own.iter().any(|own| own.balance(next.now) < 0) {
            Some("an own bucket is in debt".to_owned())
        } else {
            None
        };
        found.add(who, what, next, fault);
    }
}
