//! Properties of the limiters of windows, over limits of one and of a thousand,
//! windows of a nanosecond and of a day, clocks that start anywhere, stand still,
//! idle for years and go back. What is checked:
//!
//! * Whatever is done to a limiter, its every answer is that of its definition,
//!   summed up from all that was granted: the decision, the permits, what remains,
//!   and each of the times; and so is what a receipt, a history, a reset and a
//!   change of limit do.
//! * What a denial promises is the least wait: one nanosecond earlier is denied
//!   still, and then it is granted.
//! * No window of a strict limiter admits more than the limit, whatever its clock
//!   does; and the others admit what they say they do at most.
//! * On a clock that goes on, a limiter grants for what there is room, and refuses
//!   for what there is none, by the times for which it says a permit counts.
//! * If threads' clocks are apart, that is so in the time in which permits were dated, and
//!   so in a window shorter by as much in true time; in a whole one it may be exceeded.
//! * The sliding counter's estimate is off by no more than it says.
//! * A restored history counts for as long as it did where it was saved.
//! * Of several limiters, what one of them refuses is taken from none.
//! * A denial says what a look says, whichever path it takes.
//! * All that holds for slow requests too, over all the years that a limiter counts.
//!
//! `PROPTEST_CASES` deepens it.

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::compose::All;
use sluicegate::settle::Receipt;
use sluicegate::*;

use self::ops::{Op, replay};
use self::reference::{Said, State};
use self::setup::Kind;
use crate::support::cases::cases;

mod any;
mod apart;
mod bounds;
mod denials;
mod lives;
mod ops;
// The models under loom include it by its path: then its parts are beside it.
#[path = "windows/reference.rs"]
pub(crate) mod reference;
pub(crate) mod setup;
mod stories;

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn every_answer_is_that_of_the_definition(
        setup in any::setup(),
        start_nanos in any::start(),
        ops in vec(any::op(), 1..40),
    ) {
        replay(&setup, &ManualClock::at(start_nanos), &ops, |_, _, _, _| {});
    }
}

/// For how long a permit counts at least, and at most, by what the limiter's
/// documentation says; of each window.
fn counts_for(setup: &setup::Setup) -> Vec<(u64, u64)> {
    let mirror = setup.mirror(0);
    let of_window = |(which, &(_, length)): (usize, &(u64, u64))| match (&mirror.state, setup.kind)
    {
        // A window of one nanosecond lasts two.
        (State::Log(_), Kind::Log) => (length.max(2), length.max(2)),
        (State::Log(log), Kind::Weighted) => (length, length + log.tick() - 1),
        (State::Ring(ring), _) => {
            let (slot, slots) = ring.slots(which);
            (length, (slots + 1) * slot)
        }
        _ => (length, length),
    };
    setup.limits.iter().enumerate().map(of_window).collect()
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn no_window_admits_more_than_the_limit_whatever_the_clock_does(
        setup in any::setup_of(any::sliding()),
        start_nanos in any::start(),
        ops in vec(any::faulty_op(), 1..60),
    ) {
        let clock = ManualClock::at(start_nanos);
        let stand = replay(&setup, &clock, &ops, |_, _, _, _| {});
        for (&(limit, _), (least_nanos, _)) in setup.limits.iter().zip(counts_for(&setup)) {
            let most = stand.admissions.most_in(least_nanos);
            prop_assert!(most <= limit, "{} of {} in {} ns", most, limit, least_nanos);
        }
    }

    #[test]
    fn a_request_is_granted_if_there_is_room_and_refused_if_there_is_none(
        setup in any::setup_of(any::sliding()),
        start_nanos in any::start(),
        ops in vec(any::plain_op(), 1..60),
    ) {
        let counts_for = counts_for(&setup);
        // A log with less room than its limit refuses more.
        let has_room = setup.kind != Kind::Weighted || setup.capacity >= setup.limits[0].0;
        replay(&setup, &ManualClock::at(start_nanos), &ops, |stand, op, asked, said| {
            let taken = if matches!(op, Op::Peek(_)) { 0 } else { said.permits() };
            let fits = |span: fn(&(u64, u64)) -> u64| {
                setup.limits.iter().zip(&counts_for).all(|(&(limit, _), spans)| {
                    let before = stand.admissions.within(span(spans)).saturating_sub(taken);
                    before.saturating_add(asked) <= limit
                })
            };
            match said {
                _ if matches!(op, Op::UpTo(_)) => {}
                Said::Granted { .. } => assert!(asked == 0 || fits(|spans| spans.0)),
                Said::Wait { .. } => assert!(!has_room || !fits(|spans| spans.1)),
                Said::TooLarge { .. } => {}
            }
        });
    }

    #[test]
    fn a_fixed_window_admits_its_limit_and_any_window_less_than_twice_as_much(
        setup in any::setup_of(any::stepping()),
        start_nanos in any::start(),
        ops in vec(any::plain_op(), 1..60),
    ) {
        let clock = ManualClock::at(start_nanos);
        let stand = replay(&setup, &clock, &ops, |_, _, _, _| {});
        let (limit, length) = setup.limits[0];
        let less = match setup.kind {
            Kind::FromFirst => limit + (limit - 1),
            _ => 2 * limit,
        };
        prop_assert!(stand.admissions.most_in(length) <= less);
        if setup.kind == Kind::Fixed {
            prop_assert!(stand.admissions.most_aligned(start_nanos, length) <= limit);
        }
    }

    #[test]
    fn the_sliding_counter_is_off_by_no_more_than_it_says(
        setup in any::setup_of(Just(Kind::Counter)),
        start_nanos in any::start(),
        ops in vec(any::plain_op(), 1..60),
    ) {
        let (limit, length) = setup.limits[0];
        let clock = ManualClock::at(start_nanos);
        let stand = replay(&setup, &clock, &ops, |stand, _, _, _| {
            let since = stand.now() % length;
            // Those of the window before, and the error times the length.
            let all = stand.admissions.within(since + 1 + length);
            let previous = u128::from(all - stand.admissions.within(since + 1));
            let most = previous * u128::from(since.max(length - since));
            let counted = u128::from(stand.mirror.used(0, stand.now()));
            let truth = u128::from(stand.admissions.within(length));
            // What is counted is rounded up.
            let off = counted.abs_diff(truth) * u128::from(length);
            assert!(off < most + u128::from(length), "{counted} of {truth}: {most}");
        });
        prop_assert!(stand.admissions.most_in(length) < 2 * limit || limit == 1);
    }

    #[test]
    fn what_one_of_several_limiters_refuses_is_taken_from_none(
        setups in vec(any::setup_of(any::revocable()), 1..4),
        start_nanos in any::start(),
        calls in vec((any::several_op(), any::forward_nanos()), 1..40),
    ) {
        let clock = ManualClock::at(start_nanos);
        let subjects: Vec<_> = setups.iter().map(|setup| setup.subject(&clock)).collect();
        let mut mirrors: Vec<_> = setups.iter().map(|setup| setup.mirror(start_nanos)).collect();
        let all = All::new(subjects.iter().map(setup::Subject::limiter)).unwrap();
        for ((op, permits), after_nanos) in calls {
            let now = clock.now_nanos();
            let looks: Vec<_> = mirrors.iter_mut().map(|mirror| mirror.peek(now, permits)).collect();
            let expected = several(&looks);
            let (said, takes) = match op {
                Op::Peek(_) => (all.peek(permits).into(), false),
                Op::Revocable(_) => {
                    let answer = all.try_acquire_revocable(permits);
                    let said = Said::from(answer.as_ref().map(Receipt::grant).map_err(|d| *d));
                    // Nothing has happened since.
                    prop_assert!(answer.map_or(true, Receipt::give_back));
                    for (mirror, _) in mirrors.iter_mut().zip(&looks).filter(|_| said.permits() > 0) {
                        let (_, undo) = mirror.try_acquire_revocable(now, permits);
                        mirror.give_back(undo);
                    }
                    (said, false)
                }
                _ => (all.try_acquire(permits).into(), true),
            };
            prop_assert_eq!(said, expected, "{:?}", looks);
            if takes && said.permits() > 0 {
                for mirror in &mut mirrors {
                    mirror.try_acquire(now, permits);
                }
            }
            for (subject, mirror) in subjects.iter().zip(&mirrors) {
                prop_assert_eq!(subject.count(0), mirror.used(0, now));
            }
            clock.advance_nanos(after_nanos);
        }
    }
}

/// Returns the answer of several limiters together: the grant of the one with the least left, or
/// the refusal that has to be waited for longest.
fn several(looks: &[Said]) -> Said {
    let rank = |said: &Said| match *said {
        Said::TooLarge { limit, .. } => (0, u128::from(limit)),
        Said::Wait { retry_nanos, .. } => (1, u128::MAX - retry_nanos),
        Said::Granted { remaining, .. } => (2, remaining.into()),
    };
    let (index, said) =
        looks.iter().enumerate().min_by_key(|(_, said)| rank(said)).expect("a limiter");
    match *said {
        Said::Granted { .. } => *said,
        Said::Wait { missing, remaining, next_nanos, limit, retry_nanos, reset_nanos, .. } => {
            let which = index;
            Said::Wait { which, missing, remaining, next_nanos, limit, retry_nanos, reset_nanos }
        }
        Said::TooLarge { limit, .. } => Said::TooLarge { which: index, limit },
    }
}
