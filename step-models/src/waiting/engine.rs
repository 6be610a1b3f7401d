//! The model beside the line of the engine, for a bucket and a fixed window. Its callers are polled by hand.

use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::settle::Receipt;
use sluicegate::{FixedWindow, Limiter, ManualClock, Quota, Rate, TokenBucket, Wait};

use crate::drift::{self, Answer, Random, choose};
use crate::support::Caller;

use super::*;

const CAP: i8 = 3;

fn quota(cap: i8) -> Quota {
    Quota::new(Rate::per_second(1).unwrap()).with_burst(cap as u64).unwrap()
}

#[test]
fn the_line_of_the_engine_answers_as_the_model_does() {
    drift::rows(true, |random| {
        let clock = ManualClock::at(1_000_000_000_000);
        let bucket = TokenBucket::with_clock(quota(CAP), &clock);
        let burst = |cap| bucket.reconfigure(quota(cap), Carry::Keep);
        beside_the_engine(random, Kind::Bucket, &clock, &bucket, Some(&burst))
    });
    drift::rows(true, |random| {
        let clock = ManualClock::at(1_000_000_000_000);
        let rate = Rate::new(CAP as u64, Duration::from_secs(2)).unwrap();
        let window = FixedWindow::with_clock(rate, &clock).unwrap();
        beside_the_engine(random, Kind::Window(2), &clock, &window, None)
    });
}

/// A caller of the engine.
enum Held<'a> {
    Caller(Caller<'a>),
    Receipt(Receipt<'a>),
}

/// The model and the engine, each with what its callers have.
struct Beside<'a, L> {
    scene: Scene,
    state: State,
    engine: &'a L,
    held: [Option<Held<'a>>; THREADS],
    /// Number of times that each caller of the engine was woken and polled.
    polled: [usize; THREADS],
}

/// The last thread changes the terms, if there is a way to.
fn beside_the_engine<L: Limiter + Wait>(
    random: &mut Random,
    kind: Kind,
    clock: &ManualClock,
    engine: &L,
    burst: Option<&dyn Fn(i8)>,
) -> Vec<Answer> {
    let scene = Scene::new(&[Op::Reset; THREADS]).cap(CAP).exact().run(INSTANTS as i8 - 4);
    let scene = Scene { kind, spent: 0, ..scene };
    let state = State { threads: [At::Done(End::Gone); THREADS], ..scene.start() };
    let mut beside =
        Beside { scene, state, engine, held: [const { None }; THREADS], polled: [0; THREADS] };
    let mut answers = Vec::new();
    for _ in 0..16 {
        if random.below(4) == 0 && beside.state.clock < beside.scene.run {
            clock.advance(Duration::from_secs(1));
            drift::tick(&beside.scene, &mut beside.state);
        }
        let threads = THREADS - usize::from(burst.is_none());
        let who = random.below(threads as u64) as usize;
        let before = beside.state.clone();
        let mut answer = match beside.held[who].take() {
            Some(held) if !matches!(before.threads[who], At::Done(_)) => {
                beside.go_on(random, who, held)
            }
            _ => beside.begin(random, who, burst),
        };
        beside.poll_the_woken();
        beside.compare(&mut answer, &before);
        answers.push(answer);
    }
    answers
}

impl<'a, L: Limiter + Wait> Beside<'a, L> {
    /// A caller that has something polls, or leaves, or gives it back.
    fn go_on(&mut self, random: &mut Random, who: usize, held: Held<'a>) -> Answer {
        let mut answer = Answer::default();
        match held {
            Held::Caller(mut caller) if random.below(2) == 0 => {
                if self.state.nodes[who].armed <= self.state.clock {
                    self.move_on(who, "wakes up");
                    let _ = caller.poll();
                }
                self.held[who] = Some(Held::Caller(caller));
            }
            Held::Caller(caller) => {
                drop(caller);
                self.move_on(who, "is dropped");
            }
            Held::Receipt(receipt) => {
                answer.given_back = receipt.give_back();
                self.move_on(who, "gives back what it took, or finds the level moved");
                assert_eq!(answer.given_back, self.state.nodes[who].standing == Standing::Gone);
            }
        }
        answer
    }

    fn begin(&mut self, random: &mut Random, who: usize, burst: Option<&dyn Fn(i8)>) -> Answer {
        // The engine tells those that are too large before they look at the line.
        let permits = 1 + random.below(self.state.cap as u64) as i8;
        let op = match random.below(4) {
            half if who == THREADS - 1 => [Op::Reset, Op::Burst(1 + half as i8)][half as usize % 2],
            0 => Op::Try(permits),
            1 => Op::TryAndRefund(permits),
            _ => dropped(permits).gives_back().into(),
        };
        let (engine, all) = (self.engine, permits as u64);
        let mut answer = Answer::default();
        match op {
            Op::Try(_) => answer = Answer::of(&engine.try_acquire(all)),
            Op::TryAndRefund(_) => {
                let receipt = engine.try_acquire_revocable(all);
                answer = Answer::of(&receipt);
                self.held[who] = receipt.ok().map(Held::Receipt);
            }
            Op::Reset => engine.reset(),
            Op::Burst(cap) => burst.expect("there is a way")(cap),
            _ => self.held[who] = Some(Held::Caller(Caller::new(engine, all))),
        }
        self.scene.ops[who] = op;
        self.state.nodes[who] = self.scene.start().nodes[who];
        self.state.threads[who] = At::Idle;
        self.polled[who] = 0;
        let before = self.state.clone();
        self.move_on(who, "begins");
        if let Op::Try(_) | Op::TryAndRefund(_) = op {
            let is_admitted = self.state.threads[who] != At::Done(End::Denied);
            assert_eq!(answer.granted, is_admitted, "{op:?} of {before:?}");
        }
        answer
    }

    /// Polls whoever is woken. The engine wakes a head whose turn comes earlier as permits were given back; in the model
    /// whoever gives them back grants it, too. The engine may wake some in vain.
    fn poll_the_woken(&mut self) {
        for who in (0..THREADS).cycle().take(2 * THREADS) {
            let is_woken = match &self.held[who] {
                Some(Held::Caller(caller)) if self.state.threads[who] == At::Parked => {
                    self.state.nodes[who].is_woken || caller.woken() > self.polled[who]
                }
                _ => false,
            };
            if !is_woken {
                continue;
            }
            self.move_on(who, "wakes up");
            if let Some(Held::Caller(caller)) = &mut self.held[who] {
                let _ = caller.poll();
                self.polled[who] = caller.woken();
            }
        }
    }

    /// Compares the answers of all callers, and notes them.
    fn compare(&mut self, answer: &mut Answer, before: &State) {
        let state = &self.state;
        for (who, held) in self.held.iter_mut().enumerate() {
            match (state.threads[who], held) {
                (At::Parked, Some(Held::Caller(caller))) => {
                    assert_eq!(caller.woken(), self.polled[who], "{before:?}, then {state:?}");
                }
                (At::Done(end), Some(Held::Caller(caller))) => {
                    let is_admitted = end == End::Admitted;
                    assert_eq!(caller.is_granted(), is_admitted, "{before:?}, then {state:?}");
                    answer.granted |= is_admitted;
                    answer.denied |= end == End::Refused;
                }
                (At::Refund { .. }, Some(Held::Receipt(_))) | (At::Done(_), None) => {}
                (at, _) => panic!("{at:?} of {before:?}"),
            }
        }
        assert_eq!(self.engine.line().waiters(), state.line.len(), "{before:?}, then {state:?}");
    }

    /// Takes this step of a thread, if it can, and goes on until it has returned, or sleeps.
    fn move_on(&mut self, who: usize, first: &str) {
        let Beside { scene, state, .. } = self;
        let mut next = choose(|found| scene.step(state, who, found), |step, _| step.what == first);
        while let Some((after, _)) = next {
            *state = after;
            let at = state.threads[who];
            let is_over = matches!(at, At::Done(_) | At::Parked | At::Refund { .. });
            let goes_on = || choose(|found| scene.step(state, who, found), |_, _| true);
            next = if is_over { None } else { goes_on() };
        }
    }
}
