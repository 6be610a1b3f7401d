//! A session that is read to the end.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::command::{CheckedSend, CheckedStream};
use crate::session::{Cursor, Session};
use crate::setup::CheckedSetup;
use crate::wire::{Decision, Frame, Outcome, Setup, SideFrame};

/// A session, and all that it has told.
pub(super) struct Told {
    pub(super) session: Session,
    cursor: Cursor,
    /// Decisions of each side.
    pub(super) decisions: [Vec<Decision>; 2],
    pub(super) frame: Frame,
}

impl Told {
    /// Begins a session of these sides.
    pub(super) fn of(sides: &Value) -> Told {
        Told::seeded(sides, 1)
    }

    pub(super) fn seeded(sides: &Value, seed: u64) -> Told {
        let session = Session::new(setup(sides, seed));
        let mut cursor = Cursor::default();
        let frame = session.frame(&mut cursor, false);
        Told { session, cursor, decisions: Default::default(), frame }
    }

    /// Begins a session of one side.
    pub(super) fn one(algorithm: &str, parameters: &Value) -> Told {
        Told::of(&json!([{ "algorithm": algorithm, "parameters": parameters }]))
    }

    /// Moves the clock to an instant, and reads what has happened.
    pub(super) fn until(&mut self, seconds: f64) -> &mut Told {
        let until_nanos = (seconds * 1e9).round() as u64;
        // A frame has room for so many events, whatever they are.
        while self.session.advance(until_nanos, 100) == 100 {
            self.read();
        }
        self.read();
        self
    }

    fn read(&mut self) {
        self.frame = self.session.frame(&mut self.cursor, false);
        assert_eq!(self.frame.dropped, 0);
        for (all, side) in self.decisions.iter_mut().zip(&self.frame.sides) {
            all.extend(side.decisions.iter().cloned());
        }
    }

    /// Moves the clock to an instant, sends requests then, and returns the outcomes of the first side.
    pub(super) fn send(&mut self, at: f64, count: u64, cost: u64) -> Vec<Outcome> {
        self.send_with(at, &json!({ "key": "a", "count": count, "cost": cost }))
    }

    pub(super) fn send_with(&mut self, at: f64, send: &Value) -> Vec<Outcome> {
        self.until(at);
        let before = self.decisions[0].len();
        let send = serde_json::from_value(send.clone()).unwrap();
        self.session.send(&CheckedSend::new(&send).unwrap()).unwrap();
        self.read();
        self.decisions[0][before..].iter().map(|decision| decision.outcome).collect()
    }

    /// Moves the clock to an instant, sends single requests then, and returns how many were granted.
    pub(super) fn granted(&mut self, at: f64, count: u64) -> u64 {
        let outcomes = self.send(at, count, 1);
        outcomes.into_iter().filter(|outcome| *outcome == Outcome::Granted).count() as u64
    }

    pub(super) fn stream(&mut self, streams: &Value) {
        let streams = serde_json::from_value(json!({ "streams": streams })).unwrap();
        self.session.set_streams(CheckedStream::all(&streams).unwrap()).unwrap();
    }

    pub(super) fn side(&self, place: usize) -> &SideFrame {
        &self.frame.sides[place]
    }

    /// Returns the state of the limiter that all keys share, on a side, as JSON.
    pub(super) fn state(&self, place: usize) -> Value {
        serde_json::to_value(&self.side(place).states[0].state).unwrap()
    }

    /// Returns the decisions of a side by request, and checks that they and the totals agree.
    pub(super) fn check_totals(&self, place: usize) -> BTreeMap<u64, Vec<Outcome>> {
        let mut by_request: BTreeMap<u64, Vec<Outcome>> = BTreeMap::new();
        for decision in &self.decisions[place] {
            by_request.entry(decision.n).or_default().push(decision.outcome);
        }
        let ends = |outcome: &[Outcome]| {
            let outcomes: Vec<_> = by_request.values().collect();
            outcomes.iter().filter(|told| outcome.contains(told.last().unwrap())).count() as u64
        };
        let totals = self.side(place).totals;
        assert_eq!(totals.granted, ends(&[Outcome::Granted, Outcome::GrantedLate]));
        assert_eq!(totals.refused, ends(&[Outcome::Refused, Outcome::GaveUp]));
        assert_eq!(totals.waiting, ends(&[Outcome::Waiting]));
        for told in by_request.values() {
            let is_right = match told[..] {
                [Outcome::Granted | Outcome::Refused | Outcome::Waiting] => true,
                [Outcome::Waiting, second] => {
                    matches!(second, Outcome::GrantedLate | Outcome::GaveUp)
                }
                _ => false,
            };
            assert!(is_right, "{told:?}");
        }
        by_request
    }
}

pub(super) fn setup(sides: &Value, seed: u64) -> CheckedSetup {
    let setup: Setup = serde_json::from_value(json!({ "sides": sides, "seed": seed })).unwrap();
    CheckedSetup::new(&setup).unwrap()
}
