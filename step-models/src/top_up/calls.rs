//! The calls, a step at a time, and the invariant.

use super::*;

impl TopUp {
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Adds a step, and looks at the invariant.
    pub(super) fn add(
        &self,
        found: &mut Found<State>,
        who: usize,
        what: &'static str,
        mut next: State,
    ) {
        for (who, op) in self.ops.iter().enumerate() {
            let least = op.least();
            let is_short = next.limiter < least && next.balance < least;
            let has_ended = matches!(next.threads[who], At::Done | At::Granted { .. });
            // What is over is told apart no more.
            next.was_short[who] =
                self.checks_denials && !has_ended && (next.was_short[who] || is_short);
        }
        let fault = if next.balance < 0 {
            Some("the balance is below 0".to_owned())
        } else if next.balance != self.first + next.added - next.by_balance {
            Some("the balance is not what was added and not paid".to_owned())
        } else if next.limiter != CAP + next.earned - next.by_limiter {
            Some("the limiter does not have what it earned and has not paid".to_owned())
        } else {
            None
        };
        found.add(who, what, next, fault);
    }

    pub(super) fn step(&self, state: &State, who: usize, found: &mut Found<State>) {
        let op = self.ops[who];
        match state.threads[who] {
            At::Done => {}
            At::Idle => match op {
                Op::Add(_) | Op::Withdraw(_) => {
                    self.add(found, who, "begins", state.go(who, At::Load));
                }
                Op::Reset => self.reset(state, who, found),
                Op::Take(_) | Op::UpTo(_) | Op::Receipt(_) => self.ask(state, who, found),
            },
            At::Load => self.decide(state, who, state.balance, "loads the balance", found),
            At::Cas { seen, after } => self.replace(state, who, (seen, after), found),
            At::Granted { payer, permits } => {
                if let Op::Receipt(_) = op {
                    self.give_back(state, who, payer, permits, found);
                }
            }
            At::BackLoad { permits } => {
                let at = At::BackCas { permits, seen: state.balance };
                self.add(found, who, "loads the balance to give back", state.go(who, at));
            }
            At::BackCas { permits, seen } => {
                if state.balance != seen && !self.is(Mutant::BackByStore) {
                    let at = At::BackCas { permits, seen: state.balance };
                    return self.add(found, who, "fails to give back", state.go(who, at));
                }
                let mut next = state.go(who, At::Done);
                next.balance = (seen + permits).min(MOST);
                // What is beyond the largest balance is lost, as an addition is.
                next.by_balance -= permits;
                next.added -= seen + permits - next.balance;
                found.counts.given_back += 1;
                self.add(found, who, "gives back to the balance", next);
            }
        }
    }

    /// The limiter, in one step.
    fn ask(&self, state: &State, who: usize, found: &mut Found<State>) {
        let op = self.ops[who];
        let permits = op.granted_of(state.limiter);
        if permits == 0 {
            return self.add(found, who, "is denied by the limiter", state.go(who, At::Load));
        }
        let granted = At::Granted { payer: Payer::Limiter, permits };
        let pays_besides = self.is(Mutant::PaysBesides);
        let mut next = state.go(who, if pays_besides { At::Load } else { granted });
        next.limiter -= permits;
        next.by_limiter += permits;
        found.counts.grants += 1;
        self.add(found, who, "is granted by the limiter", next);
    }

    /// Decides by a balance that was `seen`.
    fn decide(
        &self,
        state: &State,
        who: usize,
        seen: i8,
        what: &'static str,
        found: &mut Found<State>,
    ) {
        let op = self.ops[who];
        let taken = match op {
            Op::Add(permits) => {
                let wrapped = (seen + permits) % (MOST + 1);
                let after = if self.is(Mutant::Wraps) { wrapped } else { MOST.min(seen + permits) };
                return self.add(found, who, what, state.go(who, At::Cas { seen, after }));
            }
            Op::Withdraw(permits) if self.is(Mutant::WithdrawsBlindly) => permits,
            Op::Withdraw(permits) => permits.min(seen),
            Op::Take(permits) if self.is(Mutant::Unchecked) => permits,
            Op::Take(permits) if self.is(Mutant::PaysInPart) => permits.min(seen),
            _ => op.granted_of(seen),
        };
        if taken > 0 {
            let at = At::Cas { seen, after: seen - taken };
            return self.add(found, who, what, state.go(who, at));
        }
        let next = state.go(who, At::Done);
        if let Op::Withdraw(_) = op {
            return self.add(found, who, what, next);
        }
        found.counts.denials += 1;
        if self.checks_denials && !state.was_short[who] {
            let fault = "a caller is denied, and one of the two had enough throughout".to_owned();
            return found.add(who, what, next, Some(fault));
        }
        self.add(found, who, what, next);
    }

    fn replace(
        &self,
        state: &State,
        who: usize,
        (seen, after): (i8, i8),
        found: &mut Found<State>,
    ) {
        let op = self.ops[who];
        let stores = self.is(match op {
            Op::Add(_) => Mutant::AddsByStore,
            _ => Mutant::TakesByStore,
        });
        if state.balance != seen && !stores {
            if self.is(Mutant::DecidesOnce) {
                let at = At::Cas { seen: state.balance, after };
                return self.add(found, who, "fails, and finds another balance", state.go(who, at));
            }
            return self.decide(state, who, state.balance, "fails, and decides again", found);
        }
        // What the call returns is by what it has seen.
        let permits = seen - after;
        let is_whole = permits >= op.least();
        let granted = At::Granted { payer: Payer::Balance, permits };
        let mut next = match op {
            Op::Add(_) | Op::Withdraw(_) => state.go(who, At::Done),
            _ => state.go(who, if is_whole { granted } else { At::Done }),
        };
        next.balance = after;
        match op {
            // Nothing is added beyond the largest balance.
            Op::Add(permits) => next.added += permits.min(MOST - seen),
            Op::Withdraw(_) => next.added -= permits,
            // Mutant: the limiter has paid already.
            _ if self.is(Mutant::PaysBesides) && state.by_limiter > 0 => {}
            _ if is_whole => next.by_balance += permits,
            _ => {}
        }
        found.counts.grants += usize::from(next.threads[who] == granted);
        self.add(found, who, "replaces the balance", next);
    }

    fn give_back(
        &self,
        state: &State,
        who: usize,
        payer: Payer,
        permits: i8,
        found: &mut Found<State>,
    ) {
        let to_balance = match payer {
            Payer::Balance => !self.is(Mutant::BackToTheLimiter),
            Payer::Limiter => self.is(Mutant::BackToTheBalance),
        };
        if to_balance && payer == Payer::Balance {
            let next = state.go(who, At::BackLoad { permits });
            return self.add(found, who, "begins to give back", next);
        }
        let mut next = state.go(who, At::Done);
        if to_balance {
            next.balance += permits;
        } else {
            // It keeps no more than it can have.
            let full = CAP.min(next.limiter + permits);
            next.earned -= next.limiter + permits - full;
            next.limiter = full;
        }
        match payer {
            Payer::Limiter => next.by_limiter -= permits,
            Payer::Balance => next.by_balance -= permits,
        }
        if self.is(Mutant::BackToBoth) {
            next.balance += permits;
        }
        found.counts.given_back += 1;
        self.add(found, who, "gives back to the limiter", next);
    }

    fn reset(&self, state: &State, who: usize, found: &mut Found<State>) {
        let mut next = state.go(who, At::Done);
        next.earned += CAP - next.limiter;
        next.limiter = CAP;
        if self.is(Mutant::ResetsTheBalance) {
            next.balance = self.first;
        }
        self.add(found, who, "resets", next);
    }
}

impl Op {
    /// The least with which it is content.
    fn least(self) -> i8 {
        match self {
            Op::Take(permits) | Op::Receipt(permits) => permits,
            Op::UpTo(_) => 1,
            Op::Add(_) | Op::Withdraw(_) | Op::Reset => 0,
        }
    }

    /// Returns the permits that it takes of those `there`; 0 if it is denied.
    fn granted_of(self, there: i8) -> i8 {
        match self {
            Op::UpTo(permits) => permits.min(there),
            Op::Take(permits) | Op::Receipt(permits) if permits <= there => permits,
            _ => 0,
        }
    }
}
