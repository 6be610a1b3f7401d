//! Shards of CPUs: a word for each CPU, changed in *restartable sequences* without a locked instruction, and robbed by
//! thieves that wait for no owner.
//!
//! A slot has a word (reserved capacity, and the tokens in it) and a flag that tells that a thief has closed it. Here the root is
//! one step, and always settled: `leases.rs` shows that the bound holds for shards whose word changes in one step, and this model
//! shows that a slot is such a shard. In order:
//!
//! * A sequence reads the number of its CPU, loads the flag, loads the word, and stores the next word. The system starts it again
//!   if its thread is switched out, moved to another CPU, or hit by a fence before the store. The store reaches memory later: at
//!   the latest when the CPU switches to another thread, or takes a fence.
//! * A spend is a sequence. If the slot is closed, or has too few, the call takes tokens from the *spill*, a word that all change
//!   by a CAS; then takes the whole slot of its CPU by a sequence, and the spill; and draws from the root what is lacking, and one
//!   more. Capacity comes with the tokens.
//! * If the root has too few, the call looks at all slots that are open, and at the spill. If all together have too few, it is
//!   denied, and fences nobody. Otherwise it steals from slots in which it saw tokens.
//! * A thief closes a slot by a CAS of the flag; fences the CPU; loads the word; stores what stays; and opens the slot. If the
//!   slot is closed already, it goes elsewhere. If the fence fails, the slot stays closed for good, and nobody takes what is in it.
//! * What a call has in transit at its end goes into the slot of its CPU by a sequence, and is in memory when the call returns, as
//!   that counts a return by a locked instruction; or into the spill if the slot is closed. A denied call releases empty
//!   capacity to the root before.
//! * A lease holds tokens and their capacity; its rest goes into the spill. A close takes the empty capacity of all slots. A
//!   change (of the quota, or a reset) takes everything, by the steps of a thief.
//!
//! Stated of every state: all capacity outside of the root is counted, and no token is without capacity; the root has at most what
//! is not reserved; and no token is made or lost. Every run ends, and leaves all slots open unless a fence has failed. If nothing
//! is earned or put back, a denial is right at some moment of its call, but for tokens that others have in transit.
//!
//! No answers can be compared with those of the engine: here a draw leaves one token in the slot, and there as many as the
//! root can spare, so that both have them in other places. (`leases/engine.rs` compares the root, and what shards hold.)
//!
//! Loads of the flag and the word by a look are one step, as nothing is concluded from both. Slots are robbed one after the other,
//! as nothing is concluded from two of them either; the code closes several, and fences once.
//!
//! | mutant             | what it drops                                     | what goes wrong |
//! |--------------------|---------------------------------------------------|-----------------|
//! | `NoFence`          | the fence                                         | a sequence stores what it computed before the theft |
//! | `PlainFence`       | that the fence starts sequences again             | the same |
//! | `FlagInTheWord`    | the word of its own for the flag                  | a store of an old word opens the slot |
//! | `SpillIntoTheSlot` | the spill: the slot's word is changed by a CAS    | the thief's store brings back what was spent |
//! | `OpensFirst`       | the order: the thief's store, then the flag       | the thief's store brings back what was spent |
//! | `OldCpu`           | that the sequence reads the number of its CPU     | it changes the slot of another CPU beside its owner |
//! | `UncheckedFlag`    | that the sequence loads the flag                  | an owner spends what the thief takes |
//! | `ClosesByStore`    | the CAS of the flag                               | two thieves take the same |
//! | `TakesUnfenced`    | that nothing is taken if the fence fails          | as `NoFence` |
//! | `TokensAlone`      | the capacity of stolen tokens                     | tokens are without capacity |
//! | `CountsClosed`     | that a look leaves out slots that are closed      | a call looks again and again while a thief is held up |
//! | `FencesEmpty`      | that a denied call steals only what it saw        | an empty slot is fenced |

use crate::explore::{CLOCK, Found, Model};

#[path = "per_cpu/calls.rs"]
mod calls;
#[path = "per_cpu/checks.rs"]
mod checks;
#[path = "per_cpu/theft.rs"]
mod theft;

const CPUS: usize = 2;
const THREADS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    NoFence,
    PlainFence,
    FlagInTheWord,
    SpillIntoTheSlot,
    OpensFirst,
    OldCpu,
    UncheckedFlag,
    ClosesByStore,
    TakesUnfenced,
    TokensAlone,
    CountsClosed,
    FencesEmpty,
}

/// A call of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Spend(i8),
    /// Takes so many, spends so many of them, and gives back the rest.
    Lease(i8, i8),
    /// Releases all empty capacity.
    Close,
    /// Changes the capacity to this, and keeps the tokens as far as they fit.
    Change(i8),
    /// Fills up to the capacity.
    Reset,
}

#[derive(Clone, Copy, Debug)]
struct PerCpu {
    cap: i8,
    root: i8,
    slots: [Hold; CPUS],
    spill: Hold,
    /// The CPU on which each thread begins.
    cpus: [usize; THREADS],
    programs: [&'static [Op]; THREADS],
    /// Number of times that the system moves a thread, or switches away from one in a sequence.
    switches: u8,
    /// Tokens that may be earned.
    run: i8,
    /// True if fences may fail.
    fails: bool,
    checks_denials: bool,
    mutant: Option<Mutant>,
}

/// Reserved capacity (`room`), and the tokens in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct Hold {
    room: i8,
    tokens: i8,
    /// Flag of the mutant that has it here.
    is_closed: bool,
}

/// A sequence, by what it does to the word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Sequence {
    Spend,
    Take,
    Put,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Idle,
    /// The mutant's, which has read the number of its CPU.
    Before(Sequence, usize),
    Enter(Sequence),
    Flag(Sequence, usize),
    Load(Sequence, usize),
    Store(Sequence, usize, Hold),
    SpendSpill,
    TakeSpill,
    Draw,
    /// At that slot, with the tokens so far; slots in which some were seen.
    Look(usize, i8, [bool; CPUS]),
    Steal(usize, [bool; CPUS]),
    Fence(usize, [bool; CPUS]),
    Taken(usize, [bool; CPUS]),
    TakenStore(usize, Hold, [bool; CPUS]),
    Open(usize, [bool; CPUS]),
    /// The mutant's.
    OpenThenStore(usize, Hold, [bool; CPUS]),
    /// The thief has taken what it can.
    Robbed,
    Release,
    PutSpill,
    /// Counts that tokens have come back.
    Return,
    Leased,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Thread {
    next: u8,
    at: At,
    cpu: usize,
    hand: Hold,
    /// True of a call that could have been denied at some moment so far.
    was_short: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct Slot {
    word: Hold,
    /// A word that a sequence of this CPU has stored, and that is not in memory yet.
    buffer: Option<Hold>,
    is_closed: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    cap: i8,
    root: i8,
    reserved: i8,
    slots: [Slot; CPUS],
    spill: Hold,
    threads: [Thread; THREADS],
    /// The thread that each CPU runs.
    on: [usize; CPUS],
    switches: u8,
    run: i8,
    has_failed: bool,
    /// The truth: tokens that there were and came, less those that a change had no place for; and those admitted.
    made: i8,
    admitted: i8,
}

impl State {
    fn at(&mut self, who: usize, at: At) {
        self.threads[who].at = at;
    }

    /// Returns the word of a slot as its own CPU sees it.
    fn own(&self, cpu: usize) -> Hold {
        self.slots[cpu].buffer.unwrap_or(self.slots[cpu].word)
    }

    /// Everything that a CPU has stored reaches memory.
    fn drain(&mut self, cpu: usize) {
        let slot = &mut self.slots[cpu];
        slot.word = slot.buffer.take().unwrap_or(slot.word);
    }

    /// Starts again the sequence of a thread that is in one.
    fn abort(&mut self, who: usize) {
        if let Some(sequence) = self.threads[who].at.sequence() {
            self.at(who, At::Enter(sequence));
        }
    }
}

impl At {
    /// Returns the sequence that a thread is in.
    fn sequence(self) -> Option<Sequence> {
        match self {
            At::Flag(sequence, _) | At::Load(sequence, _) | At::Store(sequence, ..) => {
                Some(sequence)
            }
            _ => None,
        }
    }
}

impl Model for PerCpu {
    type State = State;

    fn start(&self) -> State {
        let thread =
            |cpu| Thread { next: 0, at: At::Idle, cpu, hand: Hold::default(), was_short: false };
        let holds = [&self.slots[..], &[self.spill]].concat();
        State {
            cap: self.cap,
            root: self.root,
            reserved: holds.iter().map(|hold| hold.room).sum(),
            slots: self.slots.map(|word| Slot { word, ..Slot::default() }),
            spill: self.spill,
            threads: self.cpus.map(thread),
            on: [THREADS; CPUS],
            switches: self.switches,
            run: self.run,
            has_failed: false,
            made: self.root + holds.iter().map(|hold| hold.tokens).sum::<i8>(),
            admitted: 0,
        }
    }

    fn steps(&self, state: &State, found: &mut Found<State>) {
        if state.run > 0 {
            let mut next = state.clone();
            next.run -= 1;
            if next.root < next.cap - next.reserved {
                next.root += 1;
                next.made += 1;
            }
            self.add(found, CLOCK, "earns a token", next);
        }
        for cpu in 0..CPUS {
            if state.slots[cpu].buffer.is_some() {
                let mut next = state.clone();
                next.drain(cpu);
                self.add(found, CLOCK, "what a CPU has stored reaches memory", next);
            }
        }
        for who in 0..THREADS {
            if self.has_ended(state, who) {
                continue;
            }
            let cpu = state.threads[who].cpu;
            if state.switches > 0 {
                let mut next = state.clone();
                next.switches -= 1;
                next.abort(who);
                next.drain(cpu);
                next.threads[who].cpu = 1 - cpu;
                self.add(found, CLOCK, "moves a thread", next);
            }
            // Its CPU switches to it, and away from the one before.
            let mut here = state.clone();
            let before = std::mem::replace(&mut here.on[cpu], who);
            if before != who {
                here.drain(cpu);
                if before < THREADS
                    && here.threads[before].cpu == cpu
                    && here.threads[before].at.sequence().is_some()
                {
                    if here.switches == 0 {
                        continue;
                    }
                    here.switches -= 1;
                    here.abort(before);
                }
            }
            self.step(here, who, found);
        }
    }

    fn is_done(&self, state: &State) -> bool {
        let is_open = state.slots.iter().all(|slot| !slot.is_closed);
        (0..THREADS).all(|who| self.has_ended(state, who)) && (is_open || state.has_failed)
    }
}
