//! Giving permits back to a bucket of one word, and to one of two buckets when the
//! other has refused.
//!
//! The word holds what was spent, on the scale on which the clock earns: a take
//! raises it first to `clock - cap`, so that no more than the cap is saved up, and
//! then by its permits. That clamp is why giving back is not a subtraction: without
//! the take the bucket might have been full meanwhile, and have earned nothing. So a grant that is
//! given back puts back the word that it found, from before the clamp, if the word still is as it left
//! it. (The other rules subtract.)
//!
//! | mutant                   | gives back if                               | what goes wrong |
//! |--------------------------|---------------------------------------------|-----------------|
//! | (none: `Last`)           | the word is as this take left it            | nothing |
//! | `Always`                 | (nothing)                                   | what was earned only because of the take stays earned: too many spent |
//! | `NoClampSince`           | no take has found the bucket full since     | the same: it would have been full, had this take not been |
//! | `NotYetFull`             | it would not be full yet, from what the take found | an earlier take was given back since, so that it found too little: too many spent |
//! | `LessLaterTakes`         | less than that was taken since, and the difference | part of that was earned only because of the take: too many spent |
//! | `Always`, of two buckets | (nothing)                                   | the first bucket exceeds its bound |

use crate::explore::{CLOCK, Explored, Found, Model, Trace, explore};
use crate::ledger::{Grant, Ledger};

#[path = "give_back/engine.rs"]
mod engine;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Last,
    Always,
    NoClampSince,
    NotYetFull,
    LessLaterTakes,
}

/// One bucket and every short history of it. All that it does is one CAS, so the
/// histories are what interleavings come to.
#[derive(Clone, Copy)]
struct Histories {
    rule: Rule,
    cap: i8,
    steps: u8,
}

/// A take that can be given back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Taken {
    before: i8,
    base: i8,
    permits: u8,
    clamps: u8,
    time: i8,
}

impl Taken {
    fn left(self) -> i8 {
        self.base + self.permits as i8
    }

    fn grant(self) -> Grant {
        Grant { time: self.time, permits: self.permits, index: 0 }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Bucket {
    clock: i8,
    word: i8,
    clamps: u8,
    steps: u8,
    taken: Vec<Taken>,
    ledger: Ledger,
}

impl Model for Histories {
    type State = Bucket;

    fn start(&self) -> Bucket {
        let (word, ledger) = (-self.cap, Ledger::default());
        Bucket { clock: 0, word, clamps: 0, steps: 0, taken: Vec::new(), ledger }
    }

    fn steps(&self, state: &Bucket, found: &mut Found<Bucket>) {
        if self.is_done(state) {
            return;
        }
        let state = &Bucket { steps: state.steps + 1, ..state.clone() };
        for earned in 1..=2 {
            found.add(
                CLOCK,
                "goes on",
                Bucket { clock: state.clock + earned, ..state.clone() },
                None,
            );
        }
        let full = state.clock - self.cap;
        for permits in 1..=self.cap as u8 {
            let (base, time) = (state.word.max(full), state.clock);
            let clamps = state.clamps + u8::from(full > state.word);
            let taken = Taken { before: state.word, base, permits, clamps, time };
            if taken.left() > state.clock {
                found.counts.denials += 1;
                continue;
            }
            found.counts.grants += 1;
            let mut next = Bucket { word: taken.left(), clamps, ..state.clone() };
            next.taken.push(taken);
            next.taken.sort_unstable();
            next.ledger.add(taken.grant());
            let excess = next.ledger.excess(self.cap);
            let fault = (excess > 0).then(|| format!("{excess} more than the bound"));
            found.add(0, "takes", next, fault);
        }
        for (place, &taken) in state.taken.iter().enumerate() {
            let permits = taken.permits as i8;
            let given = match self.rule {
                Rule::Last if state.word == taken.left() => permits,
                Rule::Always => permits,
                Rule::NoClampSince if state.clamps == taken.clamps => permits,
                Rule::NotYetFull if full <= taken.base => permits,
                Rule::LessLaterTakes => (permits - (state.word - taken.left())).clamp(0, permits),
                _ => 0,
            };
            found.counts.given_back += usize::from(given > 0);
            found.counts.lost += usize::from(given == 0);
            let is_last = self.rule == Rule::Last && given > 0;
            let word = if is_last { taken.before } else { state.word - given };
            let mut next = Bucket { word, ..state.clone() };
            next.taken.remove(place);
            if given > 0 {
                next.ledger.remove(taken.grant());
                let kept = taken.permits - given as u8;
                if kept > 0 {
                    next.ledger.add(Grant { permits: kept, ..taken.grant() });
                }
            }
            found.add(0, "gives back", next, None);
        }
    }

    fn is_done(&self, state: &Bucket) -> bool {
        state.steps == self.steps
    }
}

/// Takes of all of two buckets, by threads, a load or a CAS at a time.
#[derive(Clone)]
struct Both {
    rule: Rule,
    caps: [i8; 2],
    run: i8,
    /// Permits of each call, by thread.
    programs: [&'static [u8]; 3],
}

/// The word of the first bucket before it was taken from, and after that.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct First {
    before: i8,
    left: i8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Idle,
    Peek { now: i8, bucket: u8 },
    Load { now: i8, bucket: u8, first: First },
    Spend { now: i8, bucket: u8, first: First, word: i8 },
    GiveBack { now: i8, first: First },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Pair {
    clock: i8,
    words: [i8; 2],
    threads: [(u8, At); 3],
    ledgers: [Ledger; 2],
    /// Permits of calls that were admitted.
    admitted: u8,
    /// Calls that the second bucket refused after a peek at it had not.
    races: u8,
    /// Permits that such calls have left spent.
    lost: u8,
}

impl Model for Both {
    type State = Pair;

    fn start(&self) -> Pair {
        Pair {
            clock: 0,
            words: self.caps.map(|cap| -cap),
            threads: [(0, At::Idle); 3],
            ledgers: Default::default(),
            admitted: 0,
            races: 0,
            lost: 0,
        }
    }

    fn steps(&self, state: &Pair, found: &mut Found<Pair>) {
        if state.clock < self.run {
            found.add(CLOCK, "goes on", Pair { clock: state.clock + 1, ..state.clone() }, None);
        }
        for who in 0..3 {
            let (next, at) = state.threads[who];
            if let Some(&permits) = self.programs[who].get(usize::from(next)) {
                self.step(state, who, at, permits, found);
            }
        }
    }

    fn is_done(&self, state: &Pair) -> bool {
        (0..3).all(|who| usize::from(state.threads[who].0) == self.programs[who].len())
    }
}

impl Both {
    /// Returns the bucket's next word, or `None` if it has too few permits.
    fn after(&self, bucket: u8, word: i8, now: i8, permits: u8) -> Option<i8> {
        let left = word.max(now - self.caps[usize::from(bucket)]) + permits as i8;
        (left <= now).then_some(left)
    }

    fn step(&self, state: &Pair, who: usize, at: At, permits: u8, found: &mut Found<Pair>) {
        let goes_to = |at| {
            let mut next = state.clone();
            next.threads[who].1 = at;
            next
        };
        let returns = || {
            let mut next = state.clone();
            next.threads[who] = (next.threads[who].0 + 1, At::Idle);
            next
        };
        match at {
            At::Idle => {
                let next = goes_to(At::Peek { now: state.clock, bucket: 0 });
                found.add(who, "reads the clock", next, None);
            }
            At::Peek { now, bucket } => {
                let word = state.words[usize::from(bucket)];
                if self.after(bucket, word, now, permits).is_none() {
                    found.counts.denials += 1;
                    return found.add(who, "peeks, and is denied", returns(), None);
                }
                let next = match bucket {
                    0 => At::Peek { now, bucket: 1 },
                    _ => At::Load { now, bucket: 0, first: First::default() },
                };
                found.add(who, "peeks", goes_to(next), None);
            }
            At::Load { now, bucket, first } => {
                let word = state.words[usize::from(bucket)];
                if self.after(bucket, word, now, permits).is_some() {
                    let next = At::Spend { now, bucket, first, word };
                    found.add(who, "loads the word", goes_to(next), None);
                } else if bucket == 0 {
                    found.counts.denials += 1;
                    found.add(who, "is denied by the first", returns(), None);
                } else {
                    let mut next = goes_to(At::GiveBack { now, first });
                    next.races += 1;
                    found.add(who, "is refused by the second", next, None);
                }
            }
            At::Spend { now, bucket, first, word } => {
                let place = usize::from(bucket);
                if state.words[place] != word {
                    let next = goes_to(At::Load { now, bucket, first });
                    return found.add(who, "fails to spend", next, None);
                }
                let left = self.after(bucket, word, now, permits).expect("as it was loaded");
                let mut next = match bucket {
                    0 => {
                        let first = First { before: word, left };
                        goes_to(At::Load { now, bucket: 1, first })
                    }
                    _ => returns(),
                };
                next.words[place] = left;
                next.ledgers[place].add(Grant { time: now, permits, index: 0 });
                if bucket == 1 {
                    found.counts.grants += 1;
                    next.admitted += permits;
                }
                let excess = next.ledgers[place].excess(self.caps[place]);
                let fault =
                    (excess > 0).then(|| format!("{excess} more than the bound of bucket {place}"));
                found.add(who, "spends", next, fault);
            }
            At::GiveBack { now, first } => {
                let mut next = returns();
                if self.rule == Rule::Always || state.words[0] == first.left {
                    found.counts.given_back += 1;
                    let is_last = self.rule == Rule::Last;
                    next.words[0] =
                        if is_last { first.before } else { state.words[0] - permits as i8 };
                    next.ledgers[0].remove(Grant { time: now, permits, index: 0 });
                } else {
                    found.counts.lost += 1;
                    next.lost += permits;
                }
                let is_idle = next.threads.iter().all(|thread| thread.1 == At::Idle);
                let spent = next.ledgers[0].between(i8::MIN / 2, i8::MAX / 2);
                let most = next.races * self.most_permits();
                let fault = if next.lost > most {
                    Some(format!("{} lost in {} races", next.lost, next.races))
                } else if is_idle && spent != next.admitted + next.lost {
                    Some(format!("{spent} spent, {} admitted", next.admitted))
                } else {
                    None
                };
                found.add(who, "gives back or leaves it spent", next, fault);
            }
        }
    }

    fn most_permits(&self) -> u8 {
        self.programs.iter().flat_map(|calls| calls.iter()).copied().max().unwrap_or(0)
    }
}

fn histories(rule: Rule, cap: i8, steps: u8) -> Result<Explored, Trace> {
    explore(&Histories { rule, cap, steps })
}

fn both(rule: Rule) -> Result<Explored, Trace> {
    explore(&Both { rule, caps: [3, 2], run: 3, programs: [&[2, 1], &[1, 1], &[1]] })
}

#[test]
fn given_back_only_as_it_was_left_no_permit_is_spent_twice() {
    for (cap, steps) in [(2, 9), (3, 7)] {
        let explored = histories(Rule::Last, cap, steps).unwrap();
        println!("give back, cap {cap}: {explored:?}");
        assert!(explored.states > 10_000 && explored.counts.given_back > 0);
        assert!(explored.counts.lost > 0 && explored.counts.denials > 0);
    }
}

#[test]
fn every_other_rule_exceeds_the_bound() {
    use Rule::*;

    for rule in [Always, NoClampSince, NotYetFull, LessLaterTakes] {
        let trace = histories(rule, 2, 7).unwrap_err();
        assert!(trace.fault.contains("1 more than the bound"), "{rule:?}: {trace:?}");
    }
}

#[test]
fn a_lost_race_for_two_buckets_costs_no_more_than_its_permits() {
    let explored = both(Rule::Last).unwrap();
    println!("both: {explored:?}");
    assert!(explored.states > 100_000 && explored.counts.grants > 0);
    assert!(explored.counts.given_back > 0 && explored.counts.lost > 0);
}

#[test]
fn giving_back_to_the_first_of_two_buckets_whatever_it_holds_exceeds_its_bound() {
    let trace = both(Rule::Always).unwrap_err();
    assert!(trace.fault.contains("1 more than the bound of bucket 0"), "{trace:?}");
}
