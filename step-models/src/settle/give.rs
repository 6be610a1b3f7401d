//! The steps of giving back, of debts and of changes.

use crate::explore::Found;

use super::calls::Call;
use super::state::{Bucket, Row};
use super::{At, Mutant};

impl Call<'_> {
    pub(super) fn step_of_giving(&self, at: At, found: &mut Found<Bucket>) {
        let (model, state) = (self.model, self.state);
        let lot_of = |band: i8| band.rem_euclid(model.lots as i8) as usize;
        match at {
            At::Back { n, back } => {
                let lot = state.lots[lot_of(back.items()[0].0)];
                self.go(found, "looks at a lot", At::BackPut { n, back, found: lot });
            }
            At::BackPut { n, back, found: seen } => {
                let (band, units) = back.items()[0];
                if state.lots[lot_of(band)] != seen {
                    return self.go(found, "fails to put back", At::Back { n, back });
                }
                let rest = back.rest();
                let at = if rest.is_empty() { At::Word { n } } else { At::Back { n, back: rest } };
                let mut next = self.at(at);
                next.lots[lot_of(band)] = model.with(seen, band, units).0;
                self.add(found, "puts back", next);
            }
            At::Fall { time, pieces } => {
                let (top, units) = pieces.items()[0];
                if state.word == top {
                    let at = self.give(time, pieces.rest(), false);
                    let mut next = Bucket { word: top - units, ..self.at(at) };
                    next.keep(time, -units);
                    found.counts.given_back += 1;
                    self.add(found, "lowers the word", next);
                } else {
                    let bands = model.bands(&Row::default().with((top, units)));
                    let at = At::Give { time, bands, pieces: pieces.rest() };
                    self.go(found, "finds the word raised", at);
                }
            }
            At::Give { time, bands, pieces } => {
                let seen = state.lots[lot_of(bands.items()[0].0)];
                self.go(found, "looks at a lot", At::GivePut { time, bands, pieces, found: seen });
            }
            At::GivePut { time, bands, pieces, found: seen } => {
                let (band, units) = bands.items()[0];
                let is_store = model.mutant == Some(Mutant::PutByStore);
                if state.lots[lot_of(band)] != seen && !is_store {
                    return self.go(found, "fails to give", At::Give { time, bands, pieces });
                }
                let (lot, taken) = model.with(seen, band, units);
                let rest = bands.rest();
                let mut next = self.at(if rest.is_empty() {
                    self.give(time, pieces, false)
                } else {
                    At::Give { time, bands: rest, pieces }
                });
                next.lots[lot_of(band)] = lot;
                next.keep(time, -taken);
                found.counts.given_back += usize::from(taken > 0);
                found.counts.lost += usize::from(taken < units);
                self.add(found, "gives", next);
            }
            _ => unreachable!("a step of another kind"),
        }
    }

    pub(super) fn other_step(&self, at: At, found: &mut Found<Bucket>) {
        let (model, state) = (self.model, self.state);
        match at {
            At::Force { n } => {
                for now in self.readings() {
                    let is_bounded = state.word.max(now - model.cap) + n <= now + model.debt;
                    let at = At::ForceTake { n, word: state.word, now };
                    self.go(found, "looks", if is_bounded { at } else { At::Idle });
                }
            }
            At::ForceTake { n, word, now } => {
                if state.word != word {
                    return self.go(found, "fails to force", At::Force { n });
                }
                let word = word.max(now - model.cap) + n;
                let mut next = Bucket { word, ..self.at(At::Idle) };
                next.keep(now - state.shift, n);
                found.counts.grants += 1;
                self.add(found, "forces", next);
            }
            At::Void { .. } => {
                let word = state.word;
                let mut next = self.at(At::Change { word });
                if model.mutant != Some(Mutant::NoVoid) {
                    next.void = state.highest + 1;
                }
                self.add(found, "voids what is older", next);
            }
            At::Change { word } => self.change(word, found),
            At::LateVoid { word } => {
                let mut next = Bucket { is_changing: false, ..self.at(At::Idle) };
                next.void = word;
                self.add(found, "voids what is older", next);
            }
            _ => unreachable!("a step of another kind"),
        }
    }

    /// Puts new terms in force that keep the balance, though a unit is another thing now.
    fn change(&self, word: i8, found: &mut Found<Bucket>) {
        let (model, state) = (self.model, self.state);
        if state.word != word {
            let at = match model.mutant {
                Some(Mutant::VoidLate) => At::Change { word: state.word },
                _ => At::Void { word: state.word },
            };
            return self.go(found, "fails to change", at);
        }
        let next_word = state.highest + 1;
        let balance = (state.clock + state.shift - word).min(model.cap);
        let mut next = match model.mutant {
            Some(Mutant::VoidLate) => self.at(At::LateVoid { word: next_word }),
            _ => Bucket { is_changing: false, ..self.at(At::Idle) },
        };
        next.word = next_word;
        next.shift = next_word + balance - state.clock;
        next.begin(model.cap, balance);
        self.add(found, "changes the terms", next);
    }
}
