//! That a hot key does not get much less than it may.

use sluicegate::*;

use super::subject::{Kind, heat, take_all, with_each};
use super::{EACH, QUOTA, SPARED};

#[test]
fn who_asks_for_one_at_a_time_at_the_rate_is_never_refused() {
    for (places, burst) in [(1, 1_000), (2, 1_000), (4, 1_000), (1, 24), (1, 100), (2, 300)] {
        let quota = QUOTA.with_burst(burst).unwrap();
        with_each(quota, places, |kind, limiter, clock| {
            if kind == Kind::Steps {
                return;
            }
            heat(limiter, 0, 1);
            for turn in 0..20_000 {
                assert!(limiter.ask_at(0, 1, 1).is_ok(), "{kind:?} {places} {burst} {turn}");
                clock.pass(EACH);
            }
            assert!(2 * limiter.has(1) > burst, "{kind:?} {places} {burst}");
        });
    }
}

#[test]
fn who_asks_at_the_rate_of_what_comes_in_steps_gets_seven_eighths_of_each() {
    with_each(QUOTA, 1, |kind, limiter, clock| {
        if kind != Kind::Steps {
            return;
        }
        heat(limiter, 0, 1);
        let mut granted = 0;
        for _ in 0..50_000 {
            granted += u64::from(limiter.ask_at(0, 1, 1).is_ok());
            clock.pass(EACH);
        }
        assert!(granted >= 50 * SPARED, "{granted}");
    });
}

#[test]
fn two_places_that_ask_for_far_more_get_seven_eighths_of_the_rate_at_least() {
    for quota in [QUOTA, quota!(7 / 3 seconds, burst 100), quota!(100_000 / second, burst 30)] {
        with_each(quota, 2, |kind, limiter, clock| {
            let each = quota.rate().period().as_nanos() as u64 / quota.rate().permits();
            let begin = clock.next();
            let mut granted = 0;
            for turn in 0..60_000_usize {
                granted += limiter.ask_at(turn % 2, 1, 1).map_or(0, |grant| grant.permits());
                // Ten times the rate.
                clock.pass(each / 10);
            }
            assert!(limiter.has_seat(1));
            let earned = (clock.next() - begin) / each;
            let most = quota.burst() + earned;
            assert!(granted <= most, "{kind:?} {granted} of {most}");
            // Of what comes in steps a burst each is earned at most.
            let least = match kind {
                Kind::Steps if quota.burst() < quota.rate().permits() => 0,
                Kind::Steps => earned - earned / 8,
                _ => earned,
            };
            assert!(granted >= least, "{kind:?} {granted} of {earned}");
        });
    }
}

#[test]
fn places_that_ask_for_several_at_a_time_get_seven_eighths_of_the_rate_at_least() {
    for permits in [2, 5, 30, 100] {
        with_each(QUOTA, 2, |kind, limiter, clock| {
            let begin = clock.next();
            let mut granted = 0;
            for turn in 0..60_000_usize {
                granted += limiter.ask_at(turn % 2, 1, permits).map_or(0, |grant| grant.permits());
                clock.pass(permits * EACH / 10);
            }
            let earned = (clock.next() - begin) / EACH;
            // Of each step, a few lie in either seat, too few for a request.
            let apart = if kind == Kind::Steps { 2 * permits * earned / 1_000 } else { 0 };
            let least = earned - earned / 8 - apart;
            assert!(granted >= least, "{kind:?} {permits}: {granted} of {earned}");
        });
    }
}

#[test]
fn in_seats_that_nobody_uses_lies_a_quarter_at_most() {
    for places in [1_usize, 2, 4, 8] {
        with_each(QUOTA, places, |kind, limiter, _| {
            for place in 0..places {
                heat(limiter, place, 1);
            }
            // The first place uses all that it prepays, and the others a little less.
            let mut taken = 0;
            for turn in 0..300 {
                let place = if turn % 10 == 0 { turn / 10 % places } else { 0 };
                taken += limiter.ask_at(place, 1, 1).unwrap().permits();
            }
            let has = limiter.has(1);
            let seated = SPARED + 1 - taken - has;
            assert!(4 * seated <= SPARED, "{kind:?} {places}: {seated} in seats");
            // By single permits nothing is lost but what is passed over.
            let all = taken + take_all(limiter, &[0], 1);
            assert!(all >= SPARED, "{kind:?} {places}: {all}");
        });
    }
}

#[test]
fn a_burst_after_an_idle_time_is_at_least_seven_eighths_and_never_more_than_one() {
    with_each(QUOTA, 2, |kind, limiter, clock| {
        heat(limiter, 0, 1);
        heat(limiter, 1, 1);
        for round in 0..20 {
            let all = take_all(limiter, &[round % 2, 1 - round % 2], 1);
            assert!((SPARED..=1_000).contains(&all), "{kind:?} {round} {all}");
            clock.pass(1_000 * EACH);
        }
    });
}

#[test]
fn draws_that_are_hardly_used_cost_no_more_than_what_is_passed_over() {
    with_each(QUOTA, 2, |kind, limiter, clock| {
        if kind == Kind::Steps {
            return;
        }
        heat(limiter, 0, 1);
        // One at a time, each by a prepayment of its own: the last one is not good any more.
        for turn in 0..2_000 {
            assert!(limiter.ask_at(0, 1, 1).is_ok());
            clock.pass(130 * EACH);
            if turn % 50 == 49 {
                let all = take_all(limiter, &[0, 1], 1);
                assert!(all >= SPARED, "{kind:?} {all}");
                clock.pass(1_000 * EACH);
            }
        }
    });
}
