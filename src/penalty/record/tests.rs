//! The transitions of a record. What is checked:
//!
//! * every sequence of a few offences, for small rules: what the theorem of `penalty` promises, told
//!   by the dates of the offences alone;
//! * lengths, dates and repetitions at the ends of their ranges; the ranges wrap;
//! * words that a clock left that was set back.

use super::*;
use crate::config::penalty_rule::PenaltyRule;
use crate::config::rate::Rate;
use crate::rate;

const TICK: u64 = 1 << START_SHIFT;
const SECOND: u64 = 1_000_000_000;

fn rule(offences: u64, window_ticks: u64, penalty_nanos: u64) -> PenaltyRule {
    let period = Duration::from_nanos(window_ticks * TICK);
    PenaltyRule::new(Rate::new(offences, period).unwrap(), Duration::from_nanos(penalty_nanos))
        .unwrap()
}

/// A caller, and the dates of the offences since its last penalty, to the tick.
#[derive(Clone)]
struct Caller {
    record: Record,
    now: u64,
    dates: Vec<u64>,
    end: u64,
}

/// Reports `offences` after `gap` ticks, and checks the outcome by the dates.
fn step(
    caller: &Caller,
    gap: u64,
    offences: u64,
    ticks: &RuleTicks,
    seen: &mut [u64; 3],
) -> Caller {
    let mut next = caller.clone();
    next.now += gap;
    let now_nanos = next.now * TICK + 5;
    let (record, outcome) = caller.record.offended(offences, ticks, now_nanos);
    next.record = record;
    if now_nanos < caller.end {
        assert_eq!(record, caller.record, "an offence during a penalty changes nothing");
        let retry_after = Duration::from_nanos(caller.end - now_nanos);
        assert_eq!(outcome, Offence::Ignored { retry_after });
        seen[2] += 1;
        return next;
    }
    next.dates.extend((0..offences).map(|_| next.now));
    let count =
        |span: u64| next.dates.iter().filter(|&&date| next.now - date < span).count() as u64;
    match outcome {
        Offence::Penalized { retry_after } => {
            assert!(count(2 * ticks.window) >= ticks.offences, "a penalty without cause");
            next.end = now_nanos + retry_after.as_nanos() as u64;
            let length = ticks.penalty_nanos(0);
            assert!((length..length + 2_048).contains(&(next.end - now_nanos)), "{retry_after:?}");
            next.dates.clear();
            seen[1] += 1;
        }
        Offence::Counted { remaining } => {
            // To the tick: those of a window and the tick after it are within the period too.
            assert!(count(ticks.window + 1) < ticks.offences, "missed: {:?}", next.dates);
            assert!(remaining >= 1 && remaining < ticks.offences.max(2));
            assert!(ticks.offences - remaining >= offences);
            seen[0] += 1;
        }
        Offence::Ignored { .. } => panic!("no penalty runs"),
    }
    next
}

#[test]
fn every_short_history_keeps_what_is_promised() {
    let mut seen = [0; 3];
    for (offences, window) in [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 2), (4, 3)] {
        let ticks = RuleTicks::new(rule(offences, window, 2 * TICK));
        let new = Caller { record: Record::CLEAN, now: 1_000, dates: Vec::new(), end: 0 };
        let mut callers = vec![new];
        for _ in 0..4 {
            let mut next = Vec::new();
            for caller in &callers {
                for gap in 0..=7 {
                    for offences in 1..=2 {
                        next.push(step(caller, gap, offences, &ticks, &mut seen));
                    }
                }
            }
            // Those that are alike go on alike; the dates are a part of that.
            next.sort_by_key(Caller::key);
            next.dedup_by_key(|caller| caller.key());
            callers = next;
        }
    }
    assert!(seen.iter().all(|&times| times > 1_000), "{seen:?}");
}

impl Caller {
    fn key(&self) -> (u64, u64, Vec<u64>, u64) {
        (self.record.0, self.now, self.dates.clone(), self.end)
    }
}

#[test]
fn a_penalty_is_never_too_short_and_ends_to_the_nanosecond_it_tells() {
    for now_nanos in [0, 1, 2_047, 2_048, SECOND + 77, u64::MAX - 1, u64::MAX] {
        for length in [1, 2_047, 2_048, 2_049, SECOND, 86_400 * SECOND, MAX_TIME_NANOS] {
            let penalty = Record::penalty(length, 3, now_nanos);
            let PenaltyState::Penalized { left_nanos } = penalty.standing(now_nanos) else {
                panic!("it runs")
            };
            assert!((length..length + 2_048).contains(&left_nanos), "{length}: {left_nanos}");
            let last = now_nanos.wrapping_add(left_nanos - 1);
            assert_eq!(penalty.standing(last), PenaltyState::Penalized { left_nanos: 1 });
            assert_eq!(penalty.standing(last.wrapping_add(1)), PenaltyState::Free);
            assert_eq!(
                penalty.standing(last.wrapping_add(70 * 365 * 86_400 * SECOND)),
                PenaltyState::Free
            );
            assert_eq!(penalty.repeats(), 3);
        }
    }
}

#[test]
fn a_penalty_from_ahead_of_the_clock_begins_anew_and_does_not_grow() {
    let now_nanos = 40 * 365 * 86_400 * SECOND;
    for length in [1, 2_048, 2_049, 600 * SECOND, MAX_TIME_NANOS] {
        let penalty = Record::penalty(length, 1, now_nanos);
        let longest = penalty.scale_nanos();
        assert!(longest >= length && longest < 2 * length.next_multiple_of(2_048));
        // By a second the clocks of threads may differ.
        assert!(!penalty.is_set_back(now_nanos - SECOND));
        let back_nanos = now_nanos - (longest - length) - SECOND - 4_096;
        assert!(penalty.is_set_back(back_nanos), "{length}");
        let mut healed = penalty.healed(back_nanos);
        for _ in 0..3 {
            let PenaltyState::Penalized { left_nanos } = healed.standing(back_nanos) else {
                panic!("it runs")
            };
            assert!(left_nanos < longest + 2_048 && healed.scale_nanos() == longest);
            healed = healed.healed(back_nanos);
        }
    }
}

#[test]
fn offences_from_ahead_of_the_clock_move_to_it() {
    let ticks = RuleTicks::new(rule(5, 600, SECOND));
    let now_nanos = 500_000 * SECOND;
    let (record, _) = Record::CLEAN.offended(3, &ticks, now_nanos);
    assert!(!record.is_set_back(now_nanos - SECOND) && record.is_set_back(now_nanos - 2 * SECOND));
    let healed = record.healed(SECOND);
    assert_eq!((healed.counted(&ticks, SECOND), healed.age_ticks(SECOND)), (3, 0));
    assert!(!Record::CLEAN.is_set_back(0));
}

#[test]
fn penalties_double_up_to_the_longest_and_are_forgotten() {
    let rule = rule(1, 1, SECOND);
    let doubled = |longest: u64, after: u64| {
        let secs = Duration::from_secs;
        RuleTicks::new(rule.doubled_up_to(secs(longest), secs(after)).unwrap())
    };
    let ticks = doubled(40, 100);
    let mut now_nanos = 77 * SECOND;
    let mut record = Record::CLEAN;
    let mut lengths = Vec::new();
    for _ in 0..40 {
        let (next, outcome) = record.offended(1, &ticks, now_nanos);
        let retry_after = outcome.retry_after().unwrap();
        lengths.push(retry_after.as_secs());
        now_nanos += retry_after.as_nanos() as u64 + 99 * SECOND;
        record = next;
    }
    assert_eq!(lengths[..8], [1, 2, 4, 8, 16, 32, 40, 40]);
    assert_eq!(lengths[39], 40);
    // A hundred seconds after the end it is the first again.
    let wait_nanos = record.idle_after(&ticks, now_nanos);
    assert!(wait_nanos > 0 && wait_nanos < 2 * SECOND);
    let length =
        |now_nanos| record.offended(1, &ticks, now_nanos).1.retry_after().unwrap().as_secs();
    assert_eq!(length(now_nanos + wait_nanos - 1), 40);
    assert_eq!(length(now_nanos + wait_nanos), 1);
    // By a rule without repetition every penalty is the first.
    let plain = RuleTicks::new(rule);
    assert_eq!(record.offended(1, &plain, now_nanos).0.repeats(), 0);
    // The factor does not overflow.
    let long = doubled(3_650 * 86_400, 1);
    assert_eq!(long.penalty_nanos(31), MAX_TIME_NANOS.min(SECOND << 31));
    assert_eq!([63, 64, 200].map(|repeats| long.penalty_nanos(repeats)), [MAX_TIME_NANOS; 3]);
}

#[test]
fn an_offence_refreshes_the_memory_of_penalties() {
    let rule = rule(2, 60, SECOND);
    let ticks = rule.doubled_up_to(Duration::from_secs(8), Duration::from_secs(50)).unwrap();
    let ticks = RuleTicks::new(ticks);
    let (record, _) = Record::CLEAN.offended(2, &ticks, 0);
    // One offence 40 seconds after the end; 40 seconds later the penalty is still remembered.
    let (record, counted) = record.offended(1, &ticks, 41 * SECOND);
    assert_eq!(counted, Offence::Counted { remaining: 1 });
    let length =
        |now_nanos| record.offended(2, &ticks, now_nanos).1.retry_after().unwrap().as_secs();
    assert_eq!([81, 91].map(|second| length(second * SECOND)), [2, 2]);
    let wait_nanos = record.idle_after(&ticks, 91 * SECOND);
    assert_eq!(length(91 * SECOND + wait_nanos - 1), 2);
    assert_eq!(length(91 * SECOND + wait_nanos), 1);
    // That is 50 seconds after the offence's window, to the tick.
    assert!(wait_nanos > 0 && wait_nanos < 62 * TICK);
}

#[test]
fn a_record_is_idle_as_soon_as_it_answers_like_a_new_one() {
    let ticks = RuleTicks::new(rule(3, 10, SECOND));
    let new = |now_nanos, offences| Record::CLEAN.offended(offences, &ticks, now_nanos).1;
    for start_nanos in [3, TICK - 1, 1_000 * TICK, u64::MAX - 3 * TICK] {
        let (record, _) = Record::CLEAN.offended(2, &ticks, start_nanos);
        let wait_nanos = record.idle_after(&ticks, start_nanos);
        let idle_nanos = start_nanos.wrapping_add(wait_nanos);
        assert_eq!(record.idle_after(&ticks, idle_nanos), 0);
        // Two windows after the beginning of this one, which is a tick.
        assert_eq!(wait_nanos, 20 * TICK - start_nanos % TICK);
        assert_eq!(record.offended(2, &ticks, idle_nanos).1, new(idle_nanos, 2));
        let (last, _) = record.offended(1, &ticks, start_nanos.wrapping_add(9 * TICK));
        assert!(last.is_penalty());
        assert_eq!(Record::CLEAN.idle_after(&ticks, idle_nanos), 0);
    }
}

#[test]
fn the_most_offences_are_counted_one_by_one_and_more_do_not_wrap() {
    let ticks =
        RuleTicks::new(PenaltyRule::new(rate!(1_023 / day), Duration::from_secs(1)).unwrap());
    let mut record = Record::CLEAN;
    for count in 1..1_023 {
        let (next, outcome) = record.offended(1, &ticks, SECOND);
        assert_eq!(outcome, Offence::Counted { remaining: 1_023 - count });
        assert_eq!(next.counted(&ticks, SECOND), count);
        record = next;
    }
    assert!(record.offended(1, &ticks, SECOND).1.is_penalized());
    assert!(record.offended(u64::MAX, &ticks, SECOND).1.is_penalized());
    // In two windows.
    let day = 86_400 * SECOND;
    let (record, outcome) = record.offended(0, &ticks, SECOND + day + TICK);
    assert_eq!(outcome, Offence::Counted { remaining: 1 });
    assert!(record.offended(1, &ticks, SECOND + day + TICK).1.is_penalized());
}
