//! A balance of permits beside a limiter: it pays for what the limiter denies.
//!
//! The limiter is one step here, as it is exact by itself: it has up to `CAP` permits, and earns one with
//! each step of the clock. The balance is a word of its own.
//!
//! * To take `n`: asks the limiter; if that denies, loads the balance, and lowers it by `n` by a CAS,
//!   if it has as many. If the CAS fails, it decides again from the balance that it found. To take up to
//!   `n` is the same with what each of the two has, if that is any.
//! * To give back: the limiter's permits go to the limiter, the balance's are added to the balance.
//! * To add: raises the balance by a CAS, to `MOST` at most. To withdraw: lowers it by what it has.
//! * A reset makes the limiter full, and leaves the balance.
//!
//! Stated of every state: the balance is the first one, plus what was added, minus what was withdrawn and
//! what it has paid and not been given back; and it is never below 0. The limiter's permits are those at
//! first, plus what it has earned, minus what it has paid and not been given back. So no permit is spent
//! twice, or lost between the two. If permits are only taken, a denial is right at some moment of its
//! call: both had too few. Every run ends.
//!
//! A denial looks at the two one after the other. If permits come back or are earned in between, there
//! may be no such moment; that is checked too.
//!
//! | mutant             | what it drops                                         | what goes wrong |
//! |--------------------|-------------------------------------------------------|-----------------|
//! | `TakesByStore`     | the CAS that takes                                    | two take the same permits |
//! | `AddsByStore`      | the CAS that adds                                     | an addition is lost |
//! | `DecidesOnce`      | that a CAS which failed decides again                 | what came in between is overwritten |
//! | `Unchecked`        | the look whether the balance has enough               | it falls below 0 |
//! | `PaysInPart`       | all or nothing: a caller that is denied takes what there is | permits are lost |
//! | `PaysBesides`      | that the balance pays only if the limiter denies      | a grant is paid twice |
//! | `BackToTheLimiter` | where permits that the balance paid go back to        | they are lost to it |
//! | `BackToTheBalance` | where permits that the limiter paid go back to        | what would expire is kept |
//! | `BackToBoth`       | the same                                              | permits are given back twice |
//! | `BackByStore`      | the CAS that gives back                               | an addition or a grant is lost |
//! | `ResetsTheBalance` | that a reset leaves the balance                       | permits that were bought are gone |
//! | `Wraps`            | that nothing is added beyond the largest balance      | the balance is gone |
//! | `WithdrawsBlindly` | that a withdrawal takes no more than there is         | it falls below 0 |

use crate::explore::{CLOCK, Found, Model};

#[path = "top_up/calls.rs"]
mod calls;
#[path = "top_up/checks.rs"]
mod checks;
#[path = "top_up/engine.rs"]
mod engine;

const THREADS: usize = 6;
/// Permits that the limiter has at first, and at most.
const CAP: i8 = 1;
/// The largest balance.
const MOST: i8 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    TakesByStore,
    AddsByStore,
    DecidesOnce,
    Unchecked,
    PaysInPart,
    PaysBesides,
    BackToTheLimiter,
    BackToTheBalance,
    BackToBoth,
    BackByStore,
    ResetsTheBalance,
    Wraps,
    WithdrawsBlindly,
}

/// The call of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Take(i8),
    UpTo(i8),
    /// A grant that may be given back.
    Receipt(i8),
    Add(i8),
    Withdraw(i8),
    Reset,
}

#[derive(Clone, Debug)]
struct TopUp {
    /// The balance at first.
    first: i8,
    /// Permits that the limiter may earn.
    run: i8,
    ops: Vec<Op>,
    /// A denial must be of a moment at which both had too few.
    checks_denials: bool,
    mutant: Option<Mutant>,
}

/// The one that has paid for a grant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Payer {
    Limiter,
    Balance,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Idle,
    /// Loads the balance.
    Load,
    /// Replaces it, for an operation or a receipt.
    Cas {
        seen: i8,
        after: i8,
    },
    Granted {
        payer: Payer,
        permits: i8,
    },
    BackLoad {
        permits: i8,
    },
    BackCas {
        permits: i8,
        seen: i8,
    },
    Done,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    limiter: i8,
    balance: i8,
    threads: [At; THREADS],
    /// True of a thread whose call could have been denied at some moment so far.
    was_short: [bool; THREADS],
    /// The truth: what was earned, also by resets; what each of the two has paid and not been given
    /// back; what was added, less what was withdrawn.
    earned: i8,
    by_limiter: i8,
    by_balance: i8,
    added: i8,
    /// Steps of the clock.
    ran: i8,
}

impl State {
    fn go(&self, who: usize, at: At) -> State {
        let mut next = self.clone();
        next.threads[who] = at;
        next
    }
}

impl Model for TopUp {
    type State = State;

    fn start(&self) -> State {
        State {
            limiter: CAP,
            balance: self.first,
            threads: [At::Idle; THREADS],
            was_short: [false; THREADS],
            earned: 0,
            by_limiter: 0,
            by_balance: 0,
            added: 0,
            ran: 0,
        }
    }

    fn steps(&self, state: &State, found: &mut Found<State>) {
        if state.ran < self.run {
            let mut next = state.clone();
            next.ran += 1;
            if next.limiter < CAP {
                next.limiter += 1;
                next.earned += 1;
            }
            self.add(found, CLOCK, "earns a permit", next);
        }
        for who in 0..self.ops.len() {
            self.step(state, who, found);
        }
    }

    fn is_done(&self, state: &State) -> bool {
        let ops = 0..self.ops.len();
        ops.into_iter().all(|who| matches!(state.threads[who], At::Done | At::Granted { .. }))
    }
}
