//! The steps of each call.

use crate::explore::{CLOCK, Found, Model};
use crate::ledger::Ledger;

use super::state::{Bucket, Receipt, Row};
use super::{At, LOTS, Mutant, Settle, THREADS};

impl Model for Settle {
    type State = Bucket;

    fn start(&self) -> Bucket {
        let mut threads = [At::Absent; THREADS];
        threads[..self.threads].fill(At::Idle);
        threads.sort_unstable();
        Bucket {
            is_made: false,
            clock: 0,
            shift: 0,
            word: -self.cap,
            highest: -self.cap,
            void: -100,
            lots: [(-9, 0); LOTS],
            threads,
            receipts: Vec::new(),
            ledger: Ledger::default(),
            takes: self.takes,
            settles: self.settles,
            forces: self.forces,
            changes: self.changes,
            is_changing: false,
        }
    }

    fn steps(&self, state: &Bucket, found: &mut Found<Bucket>) {
        if !state.is_made {
            for spent in 0..=self.cap {
                let word = spent - self.cap;
                let mut next = Bucket { is_made: true, word, highest: word, ..state.clone() };
                next.keep(0, spent);
                found.add(CLOCK, "begins", next, None);
            }
            return;
        }
        if state.clock < self.run {
            found.add(CLOCK, "goes on", Bucket { clock: state.clock + 1, ..state.clone() }, None);
        }
        for who in 0..THREADS {
            // Which of two threads at the same place takes a step does not matter.
            if who > 0 && state.threads[who] == state.threads[who - 1] {
                continue;
            }
            let call = Call { model: self, state, who };
            match state.threads[who] {
                At::Absent => {}
                At::Idle => call.begin(found),
                at => call.step(at, found),
            }
        }
    }

    fn is_done(&self, state: &Bucket) -> bool {
        state.threads.iter().all(|at| matches!(at, At::Absent | At::Idle))
    }
}

/// A step of one thread.
pub(super) struct Call<'a> {
    pub(super) model: &'a Settle,
    pub(super) state: &'a Bucket,
    pub(super) who: usize,
}

impl Call<'_> {
    pub(super) fn at(&self, at: At) -> Bucket {
        let mut next = self.state.clone();
        next.threads[self.who] = at;
        next
    }

    pub(super) fn add(&self, found: &mut Found<Bucket>, what: &'static str, mut next: Bucket) {
        next.highest = next.highest.max(next.word);
        if next.changes == 0 && !next.is_changing {
            // It does not matter any more.
            next.highest = 0;
        }
        next.sort();
        let excess = next.ledger.excess(self.model.cap);
        let fault = (excess > self.model.excess).then(|| format!("{excess} more than the bound"));
        found.add(self.who, what, next, fault);
    }

    pub(super) fn go(&self, found: &mut Found<Bucket>, what: &'static str, at: At) {
        self.add(found, what, self.at(at));
    }

    /// Units earned, by each reading that there can be of the clock.
    pub(super) fn readings(&self) -> impl Iterator<Item = i8> {
        let latest = self.state.clock + self.state.shift;
        (latest - self.model.lag).max(self.state.shift)..=latest
    }

    fn begin(&self, found: &mut Found<Bucket>) {
        let (model, state) = (self.model, self.state);
        if state.takes > 0 {
            for &n in model.permits {
                let next = Bucket { takes: state.takes - 1, ..self.at(At::Word { n }) };
                self.add(found, "begins to take", next);
            }
        }
        if state.forces > 0 {
            for n in 1..=model.debt {
                let next = Bucket { forces: state.forces - 1, ..self.at(At::Force { n }) };
                self.add(found, "begins to force", next);
            }
        }
        if state.changes > 0 && !state.is_changing {
            let at = match model.mutant {
                Some(Mutant::VoidLate) => At::Change { word: state.word },
                _ => At::Void { word: state.word },
            };
            let changes = state.changes - 1;
            self.add(
                found,
                "begins to change",
                Bucket { changes, is_changing: true, ..self.at(at) },
            );
        }
        if state.settles > 0 {
            for (place, &receipt) in state.receipts.iter().enumerate() {
                if place > 0 && state.receipts[place - 1] == receipt {
                    continue;
                }
                for units in 1..=receipt.pieces.units() {
                    let (pieces, left) = self.cut(receipt.pieces, units);
                    let mut next = self.at(self.give(receipt.time, pieces, receipt.is_of_word));
                    next.settles -= 1;
                    next.receipts.remove(place);
                    if !left.is_empty() {
                        let is_whole = left.items().len() == receipt.pieces.items().len();
                        let is_of_word = receipt.is_of_word && is_whole;
                        next.receipts.push(Receipt { pieces: left, is_of_word, ..receipt });
                    }
                    self.add(found, "begins to settle", next);
                }
            }
        }
    }

    /// Cuts `units` off a receipt, the youngest first. Returns them, and what is left of it.
    fn cut(&self, mut held: Row, mut units: i8) -> (Row, Row) {
        let mut pieces = Row::default();
        while units > 0 {
            let (top, all) = held.pop().expect("no more than it has");
            let some = all.min(units);
            pieces.push((top, some));
            units -= some;
            if some < all {
                let is_cut = self.model.mutant != Some(Mutant::Uncut);
                held.push((if is_cut { top - some } else { top }, all - some));
            }
        }
        (pieces, held)
    }

    /// Goes on to give `pieces` back, of which the first was taken from the word or not.
    pub(super) fn give(&self, time: i8, pieces: Row, is_of_word: bool) -> At {
        if pieces.is_empty() {
            At::Idle
        } else if is_of_word || self.model.rules.any_falls {
            At::Fall { time, pieces }
        } else {
            At::Give { time, bands: self.model.bands(&pieces), pieces: Row::default() }
        }
    }

    /// Puts back what was claimed, and starts again.
    fn restart(&self, n: i8, got: Row) -> At {
        if got.is_empty() { At::Word { n } } else { At::Back { n, back: self.model.bands(&got) } }
    }

    fn admitted(&self, found: &mut Found<Bucket>, now: i8, n: i8, pieces: Row, top: Option<i8>) {
        let word = top.unwrap_or(self.state.word);
        let mut next = Bucket { word, ..self.at(At::Idle) };
        let time = now - self.state.shift;
        next.keep(time, n);
        next.receipts.push(Receipt { time, pieces, is_of_word: top.is_some() });
        found.counts.grants += 1;
        self.add(found, "is admitted", next);
    }

    fn step(&self, at: At, found: &mut Found<Bucket>) {
        match at {
            At::Absent | At::Idle => {}
            At::Back { .. }
            | At::BackPut { .. }
            | At::Fall { .. }
            | At::Give { .. }
            | At::GivePut { .. } => self.step_of_giving(at, found),
            At::Force { .. }
            | At::ForceTake { .. }
            | At::Void { .. }
            | At::Change { .. }
            | At::LateVoid { .. } => self.other_step(at, found),
            _ => self.step_of_taking(at, found),
        }
    }

    fn step_of_taking(&self, at: At, found: &mut Found<Bucket>) {
        let (model, state) = (self.model, self.state);
        match at {
            At::Word { n } => self.go(found, "loads the word", At::Clock { n, word: state.word }),
            At::Clock { n, word } => {
                for now in self.readings() {
                    let base = word.max(now - model.cap);
                    let at = if base + n <= now {
                        At::Take { n, word, now, rest: n, got: Row::default() }
                    } else if word > now && model.mutant != Some(Mutant::InDebt) {
                        found.counts.denials += 1;
                        At::Idle
                    } else {
                        At::Look { n, word, now, seen: Row::default() }
                    };
                    self.go(found, "reads the clock", at);
                }
            }
            At::Look { n, word, now, seen } => {
                let seen = seen.with(state.lots[seen.items().len()]);
                let at = if seen.items().len() < model.lots {
                    At::Look { n, word, now, seen }
                } else {
                    self.plan(n, word, now, seen, found)
                };
                self.go(found, "looks at a lot", at);
            }
            At::Claim { n, word, now, seen, plan, got } => {
                let (lot, units) = plan.items()[0];
                let lot = lot as usize;
                let (band, free) = state.lots[lot];
                let is_store = model.mutant == Some(Mutant::ClaimByStore);
                if state.lots[lot] != seen.items()[lot] && !is_store {
                    return self.go(found, "fails to claim", self.restart(n, got));
                }
                let got = got.with((band * model.width + free, units));
                let (plan, seen) = (plan.rest(), seen.without(lot));
                let base = word.max(now - model.cap);
                let rest = n.min((now - base).max(0));
                let mut next = self.at(if !plan.is_empty() {
                    At::Claim { n, word, now, seen, plan, got }
                } else if rest > 0 {
                    At::Take { n, word, now, rest, got }
                } else {
                    let word = if model.rules.may_move { 0 } else { word };
                    At::Second { n, word, now, got }
                });
                next.lots[lot].1 -= units;
                self.add(found, "claims", next);
            }
            At::Take { n, word, now, rest, got } => {
                if state.word == word {
                    let top = word.max(now - model.cap) + rest;
                    self.admitted(found, now, n, got.with((top, rest)), Some(top));
                } else if model.mutant == Some(Mutant::KeepsClaims) {
                    self.go(found, "fails to take", At::Keep { n, rest, got });
                } else {
                    self.go(found, "fails to take", self.restart(n, got));
                }
            }
            At::Second { n, word, now, got } => {
                let is_right = match model.mutant {
                    Some(Mutant::NoSecondLook | Mutant::InDebt) => true,
                    _ if model.rules.may_move => state.word <= now,
                    _ => state.word == word,
                };
                if is_right {
                    self.admitted(found, now, n, got, None);
                } else {
                    self.go(found, "finds the word moved", self.restart(n, got));
                }
            }
            At::Keep { n, rest, got } => {
                self.go(found, "loads", At::KeepClock { n, word: state.word, rest, got });
            }
            At::KeepClock { n, word, rest, got } => {
                for now in self.readings() {
                    let is_enough = word.max(now - model.cap) + rest <= now;
                    let at = if is_enough {
                        At::Take { n, word, now, rest, got }
                    } else {
                        self.restart(n, got)
                    };
                    self.go(found, "reads the clock again", at);
                }
            }
            _ => unreachable!("a step of another kind"),
        }
    }

    /// Decides what to claim of the lots as they were `seen`.
    fn plan(&self, n: i8, word: i8, now: i8, seen: Row, found: &mut Found<Bucket>) -> At {
        let model = self.model;
        let base = word.max(now - model.cap);
        let mut lacking = n - n.min((now - base).max(0));
        let mut oldest_first: Vec<usize> = (0..model.lots).collect();
        oldest_first.sort_by_key(|&lot| seen.items()[lot]);
        let mut plan = Row::default();
        let mut planned = seen;
        for lot in oldest_first {
            let alive = model.alive(seen.items()[lot], now, self.state.void);
            let units = lacking.min(alive);
            if units > 0 {
                plan.push((lot as i8, units));
                lacking -= units;
            } else {
                planned = planned.without(lot);
            }
        }
        if lacking > 0 {
            found.counts.denials += 1;
            return At::Idle;
        }
        At::Claim { n, word, now, seen: planned, plan, got: Row::default() }
    }
}
