//! The scenes that are explored: a limiter, a line, and a call for each thread.

use super::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Acquire {
    pub(super) permits: i8,
    pub(super) deadline: Option<i8>,
    /// May be dropped at any moment, as a future may.
    pub(super) may_drop: bool,
    pub(super) looks: Looks,
    /// An unseen grant is given back if the level has not moved.
    pub(super) gives_back: bool,
}

/// When somebody that stands in line looks at its node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Looks {
    /// By its timer, or when it is woken.
    Woken,
    /// A future that nobody polls again.
    Never,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    Acquire(Acquire),
    Try(i8),
    /// A try, which is given back if the level has not moved since.
    TryAndRefund(i8),
    Force(i8),
    /// Goes ahead of the clock, as deep as debts go or by two windows at most; at the gate it joins the line.
    Reserve(i8),
    /// The same, and may be cancelled until the instant that it is told.
    ReserveAndCancel(i8),
    Reset,
    /// Changes the burst, and keeps the tokens.
    Burst(i8),
    Close,
}

pub(super) const fn acquire(permits: i8) -> Acquire {
    Acquire { permits, deadline: None, may_drop: false, looks: Looks::Woken, gives_back: false }
}

/// The same, for a caller that may be dropped.
pub(super) const fn dropped(permits: i8) -> Acquire {
    Acquire { may_drop: true, ..acquire(permits) }
}

pub(super) const fn unpolled(permits: i8) -> Acquire {
    Acquire { looks: Looks::Never, ..acquire(permits) }
}

impl Acquire {
    pub(super) const fn until(self, deadline: i8) -> Acquire {
        Acquire { deadline: Some(deadline), ..self }
    }

    pub(super) const fn gives_back(self) -> Acquire {
        Acquire { gives_back: true, ..self }
    }
}

impl From<Acquire> for Op {
    fn from(acquire: Acquire) -> Op {
        Op::Acquire(acquire)
    }
}

impl Op {
    /// The permits that are admitted if the call succeeds.
    pub(super) fn permits(self) -> i8 {
        match self {
            Op::Acquire(acquire) => acquire.permits,
            Op::Try(permits)
            | Op::TryAndRefund(permits)
            | Op::Force(permits)
            | Op::Reserve(permits)
            | Op::ReserveAndCancel(permits) => permits,
            Op::Reset | Op::Burst(_) | Op::Close => 0,
        }
    }

    /// Returns whether it sleeps and can be woken.
    pub(super) fn is_woken(self) -> bool {
        matches!(self, Op::Acquire(Acquire { looks: Looks::Woken, .. }))
    }

    /// Returns whether it may give back what it was granted.
    pub(super) fn gives_back(self) -> bool {
        matches!(self, Op::TryAndRefund(_) | Op::Acquire(Acquire { gives_back: true, .. }))
    }

    /// Returns whether it may go ahead of the clock.
    pub(super) fn reserves(self) -> bool {
        matches!(self, Op::Reserve(_) | Op::ReserveAndCancel(_))
    }

    pub(super) fn is_change(self) -> bool {
        matches!(self, Op::Reset | Op::Burst(_))
    }
}

/// The limiter beside which the line stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Bucket,
    /// A fixed window of so many instants.
    Window(i8),
}

/// By what time a waiter's admission is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Judge {
    /// The instant of its own turn.
    Turn,
    /// The reading by which it was granted.
    Grant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WhenLong {
    RefusesNewest,
    EvictsOldest,
}

#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) ops: Vec<Op>,
    pub(super) kind: Kind,
    pub(super) cap: i8,
    /// Units spent at first.
    pub(super) spent: i8,
    /// The deepest debt.
    pub(super) debt: i8,
    /// Instants for which the clock goes on.
    pub(super) run: i8,
    /// The most by which a reading may be late, or ahead.
    pub(super) late: i8,
    pub(super) ahead: i8,
    pub(super) judge: Judge,
    /// Units by which the bound may be exceeded.
    pub(super) slack: i8,
    pub(super) longest: usize,
    pub(super) when_long: WhenLong,
    /// Turns a call away if it would be granted only after its deadline.
    pub(super) turns_away: bool,
    /// Settling refuses a head that is out of time and whose turn is after its deadline.
    pub(super) refuses_late: bool,
    /// The invariant of the gate is checked. Mutants are caught without.
    pub(super) checks_gate: bool,
    pub(super) mutant: Option<Mutant>,
}

impl Scene {
    /// A bucket of two that is empty, four instants, readings that are late by one at most.
    pub(super) fn new(ops: &[Op]) -> Scene {
        Scene {
            ops: ops.to_vec(),
            kind: Kind::Bucket,
            cap: 2,
            spent: 2,
            debt: 2,
            run: 4,
            late: 1,
            ahead: 0,
            judge: Judge::Turn,
            slack: 0,
            longest: THREADS,
            when_long: WhenLong::RefusesNewest,
            turns_away: false,
            refuses_late: false,
            checks_gate: true,
            mutant: None,
        }
    }

    pub(super) fn run(self, run: i8) -> Scene {
        Scene { run, ..self }
    }

    /// No reading is late.
    pub(super) fn exact(self) -> Scene {
        Scene { late: 0, ..self }
    }

    pub(super) fn slack(self, slack: i8) -> Scene {
        Scene { slack, ..self }
    }

    pub(super) fn cap(self, cap: i8) -> Scene {
        Scene { cap, spent: cap, debt: cap, ..self }
    }

    pub(super) fn debt(self, debt: i8) -> Scene {
        Scene { debt, ..self }
    }

    pub(super) fn window(self, length: i8) -> Scene {
        Scene { kind: Kind::Window(length), ..self }
    }

    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    pub(super) fn acquire(&self, who: usize) -> Acquire {
        match self.ops[who] {
            Op::Acquire(acquire) => acquire,
            op => unreachable!("{op:?} does not wait"),
        }
    }

    pub(super) fn is_polled(&self, who: usize) -> bool {
        matches!(self.ops[who], Op::Acquire(Acquire { looks: Looks::Woken, .. }))
    }

    pub(super) fn reserves(&self, who: usize) -> bool {
        self.ops[who].reserves()
    }

    /// Returns whether windows to come can be reserved: then a word ahead of the clock grants nothing.
    pub(super) fn has_reservations(&self) -> bool {
        self.ops.iter().any(|op| op.reserves())
    }

    /// Returns whether nothing but the calls' own permits moves the level.
    pub(super) fn is_unchanged(&self) -> bool {
        !self.ops.iter().any(|op| op.is_change())
    }

    pub(super) fn readings(&self, state: &State) -> impl Iterator<Item = i8> + use<> {
        (state.clock - self.late).max(0)..=state.clock + self.ahead
    }
}

impl Model for Scene {
    type State = State;

    fn start(&self) -> State {
        let outside = Node {
            standing: Standing::Outside,
            armed: 0,
            is_woken: false,
            has_stood: false,
            before: (0, 0),
            grant: None,
        };
        let (level, count) = match self.kind {
            Kind::Bucket => (self.spent - self.cap, 0),
            Kind::Window(_) => (0, self.spent),
        };
        let mut admitted = [0; INSTANTS];
        admitted[0] = self.spent;
        State {
            clock: 0,
            word: Word { level, count, gate: false, terms: 0 },
            cap: self.cap,
            holder: None,
            line: Row::default(),
            since: 0,
            passed: 0,
            is_closed: false,
            nodes: [outside; THREADS],
            threads: [At::Idle; THREADS],
            replay: level,
            admitted,
        }
    }

    fn steps(&self, state: &State, found: &mut Found<State>) {
        if state.clock < self.run {
            let mut next = state.clone();
            next.clock += 1;
            self.add(found, CLOCK, "goes on", next, None);
        }
        for who in 0..self.ops.len() {
            self.step(state, who, found);
        }
    }

    fn is_done(&self, state: &State) -> bool {
        (0..self.ops.len()).all(|who| matches!(state.threads[who], At::Done(_)))
    }
}
