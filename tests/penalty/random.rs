//! Random histories against the reference.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::penalty::{PenaltyBox, PenaltyRule};
use sluicegate::{Limiter, ManualClock, Rate};

use super::reference::Caller;
use crate::support::cases::cases;

#[derive(Clone, Debug)]
enum Op {
    Offend(u64),
    Ask(u64),
    PenalizeFor(Duration),
    Clear,
    ChangeRule(PenaltyRule),
}

/// Times from a nanosecond to weeks, and those at which ticks and penalties end.
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => 1..4_000_u64,
        3 => (0..8_u64).prop_map(|ticks| ticks << 24),
        5 => 1..20_000_000_000_u64,
        2 => 1..3_000_000_000_000_u64,
        1 => 1..2_000_000_000_000_000_u64,
    ]
}

fn rule() -> impl Strategy<Value = PenaltyRule> {
    let doubled = prop::option::of((time(), time()));
    (1..8_u64, time(), time(), doubled).prop_map(|(offences, period, penalty, doubled)| {
        let offences = offences.min(2 * period.max(1));
        let rate = Rate::new(offences, Duration::from_nanos(period.max(1))).unwrap();
        let rule = PenaltyRule::new(rate, Duration::from_nanos(penalty.max(1))).unwrap();
        let Some((more, forgotten_after)) = doubled else { return rule };
        let longest = rule.penalty() + Duration::from_nanos(more);
        rule.doubled_up_to(longest, Duration::from_nanos(forgotten_after.max(1))).unwrap()
    })
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => (0..4_u64).prop_map(Op::Offend),
        1 => any::<u64>().prop_map(Op::Offend),
        6 => (0..3_u64).prop_map(Op::Ask),
        1 => (0..3_u64).prop_map(|nanos| Op::PenalizeFor(Duration::from_nanos(nanos))),
        1 => time().prop_map(|nanos| Op::PenalizeFor(Duration::from_nanos(nanos))),
        1 => Just(Op::Clear),
        1 => rule().prop_map(Op::ChangeRule),
    ]
}

/// Time until the next operation: none, any, or as long as the caller is refused, less a nanosecond or
/// exactly.
#[derive(Clone, Debug)]
enum Gap {
    None,
    Any(u64),
    UntilEnd(u64),
}

fn gap() -> impl Strategy<Value = Gap> {
    prop_oneof![
        2 => Just(Gap::None),
        4 => time().prop_map(Gap::Any),
        2 => (0..2_u64).prop_map(Gap::UntilEnd),
    ]
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn every_answer_is_the_reference_s(
        first in rule(),
        start in prop_oneof![Just(0), 0..u64::MAX / 4],
        steps in vec((gap(), op()), 1..400),
    ) {
        let clock = ManualClock::at(start);
        let penalties = PenaltyBox::with_clock(first, &clock);
        let mut caller = Caller::new(first);
        for (gap, op) in steps {
            let mut now = sluicegate::Clock::now_nanos(&clock);
            now += match gap {
                Gap::None => 0,
                Gap::Any(nanos) => nanos,
                Gap::UntilEnd(early) => {
                    (caller.left(now.into()).as_nanos() as u64).saturating_sub(early)
                }
            };
            clock.set_nanos(now);
            let date = u128::from(now);
            match op {
                Op::Offend(offences) => {
                    prop_assert_eq!(penalties.offend(offences), caller.offend(date, offences));
                }
                Op::PenalizeFor(length) => {
                    prop_assert_eq!(penalties.penalize_for(length), caller.penalize_for(date, length));
                }
                Op::Clear => prop_assert_eq!(penalties.clear(), caller.clear(date)),
                Op::ChangeRule(rule) => {
                    penalties.reconfigure(rule);
                    caller.change_rule(rule);
                    prop_assert_eq!(penalties.rule(), rule);
                }
                Op::Ask(permits) => {
                    let answer = penalties.try_acquire(permits);
                    prop_assert_eq!(answer, penalties.peek(permits));
                    match answer {
                        Ok(grant) => {
                            prop_assert_eq!(grant.permits(), permits);
                            prop_assert!(permits == 0 || !caller.is_penalized(date));
                            prop_assert_eq!(grant.reset_after(), caller.left(date));
                            prop_assert_eq!(grant.remaining() == 0, caller.is_penalized(date));
                        }
                        Err(denied) => {
                            prop_assert_eq!(denied.retry_after(), Some(caller.left(date)));
                            prop_assert!(caller.is_penalized(date) && permits > 0);
                        }
                    }
                }
            }
            // One that is idle is answered like a new one, whatever comes next.
            if penalties.is_idle() {
                for offences in 1..=8 {
                    let answers = [&caller, &Caller::new(caller.rule())];
                    let [known, new] = answers.map(|caller| caller.clone().offend(date, offences));
                    prop_assert_eq!(known, new);
                }
            }
            prop_assert_eq!(penalties.healed(), 0);
        }
    }
}
