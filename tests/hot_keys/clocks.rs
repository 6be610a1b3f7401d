//! The time for which prepaid permits are good, by clocks that go on, step back, and differ.

use super::chosen::Chosen;
use super::subject::{Kind, heat, take_all, with, with_each};
use super::{EACH, MS, QUOTA, SECOND, SPARED};
use sluicegate::quota;

#[test]
fn what_was_drawn_is_good_until_the_bucket_would_be_full_without_it() {
    with_each(QUOTA, 2, |kind, limiter, clock| {
        if kind == Kind::Steps {
            return;
        }
        heat(limiter, 0, 1);
        let _ = limiter.ask_at(0, 1, 1);
        assert_eq!(limiter.ask_at(0, 1, 1).unwrap().remaining(), 16);
        let at = clock.next();
        // An eighth was passed over. (A permit's tick less, or a few of them.)
        clock.set(at + 125 * EACH - EACH / 8);
        assert_eq!(limiter.ask_at(0, 1, 1).unwrap().remaining(), 15, "{kind:?}");
        clock.set(at + 125 * EACH);
        let has = limiter.has(1);
        let remaining = limiter.ask_at(0, 1, 1).unwrap().remaining();
        assert!(limiter.has(1) < has, "{kind:?}: {remaining} from what was drawn");
        // However much later: a burst, and nothing on top.
        clock.pass(3 * SECOND);
        let all = take_all(limiter, &[1, 0], 1);
        assert!((SPARED..=1_000).contains(&all), "{kind:?} {all}");
    });
}

/// Time passes between the readings of a call: what it prepays is good from the one on by which the
/// store was charged, and ten seconds later no more.
#[test]
fn what_was_drawn_is_good_from_the_reading_on_by_which_it_was_charged() {
    with_each(QUOTA, 1, |kind, limiter, clock| {
        heat(limiter, 0, 1);
        let _ = limiter.ask_at(0, 1, 1);
        let start = clock.next();
        clock.step(10 * SECOND);
        let (answer, readings) = clock.readings(|| limiter.ask_at(0, 1, 1));
        clock.step(0);
        assert_eq!((answer.unwrap().remaining(), readings), (16, 2), "{kind:?}");
        clock.set(start + 20 * SECOND);
        limiter.drain(1);
        assert_eq!(take_all(limiter, &[0], 1), 0, "{kind:?}");
    });
}

#[test]
fn what_was_drawn_is_good_until_the_next_step_if_that_fills_the_bucket() {
    with_each(QUOTA, 2, |kind, limiter, clock| {
        if kind != Kind::Steps {
            return;
        }
        let at = clock.next();
        heat(limiter, 0, 1);
        let _ = (limiter.ask_at(0, 1, 1), limiter.ask_at(0, 1, 1));
        clock.set(at + SECOND - 1);
        assert_eq!(limiter.ask_at(0, 1, 1).unwrap().remaining(), 15);
        clock.set(at + SECOND);
        assert_eq!(limiter.has(1), 1_000);
        assert!(limiter.ask_at(0, 1, 1).is_ok());
        assert_eq!(limiter.has(1), 858);
    });
}

#[test]
fn an_idle_key_that_had_much_in_its_seats_gets_one_burst() {
    with_each(QUOTA, 4, |kind, limiter, clock| {
        for idle in [0, 1, 120, 124, 125, 126, 500, 874, 875, 999, 1_000, 1_001, 5_000, 1 << 40] {
            limiter.reset_key(1);
            let mut taken = 0;
            for place in 0..4 {
                heat(limiter, place, 1);
                for _ in 0..50 {
                    taken += limiter.ask_at(place, 1, 1).unwrap().permits();
                }
            }
            clock.pass(idle * EACH);
            taken += take_all(limiter, &[0, 1, 2, 3], 1);
            let most = if kind == Kind::Steps && idle > 0 { 2_000 } else { 1_000 + idle };
            assert!(taken <= most.max(1_000), "{kind:?} {idle} {taken}");
        }
    });
}

#[test]
fn nothing_is_taken_by_a_reading_before_it_was_drawn() {
    with_each(QUOTA, 2, |kind, limiter, clock| {
        heat(limiter, 0, 1);
        heat(limiter, 1, 1);
        let _ = limiter.ask_at(0, 1, 1);
        let at = clock.next() + SECOND;
        clock.set(at);
        assert!(limiter.ask_at(0, 1, 1).unwrap().remaining() > 0);
        limiter.drain(1);
        // The clock of the second place is behind, by no more than a second.
        for behind in [SECOND, 300 * MS, 2 * MS, 1] {
            clock.set(at - behind);
            assert!(limiter.ask_at(1, 1, 1).is_err(), "{kind:?}");
        }
        clock.set(at);
        assert_eq!(limiter.ask_at(0, 1, 1).unwrap().remaining(), 15, "{kind:?}");
        assert_eq!(limiter.ask_at(0, 1, 15).unwrap().remaining(), 0, "{kind:?}");
        assert!(limiter.ask_at(0, 1, 1).is_err());
    });
}

#[test]
fn what_one_place_drew_is_good_for_another_from_that_reading_on() {
    with_each(QUOTA, 2, |kind, limiter, clock| {
        let at = clock.next() + SECOND;
        heat(limiter, 0, 1);
        let _ = limiter.ask_at(0, 1, 1);
        clock.set(at);
        let seated = limiter.ask_at(0, 1, 1).unwrap().remaining();
        limiter.drain(1);
        heat(limiter, 1, 1);
        clock.set(at + EACH / 2);
        for left in (0..seated).rev() {
            assert!(limiter.ask_at(1, 1, 1).is_ok(), "{kind:?} {left}");
        }
        assert!(limiter.ask_at(1, 1, 1).is_err(), "{kind:?}");
    });
}

#[test]
fn a_clock_that_steps_to_and_fro_brings_nothing_on_top() {
    with_each(QUOTA, 2, |kind, limiter, clock| {
        let origin = clock.next();
        let (mut taken, mut time) = (0, origin);
        for place in [0, 1] {
            heat(limiter, place, 1);
        }
        for turn in 0_u64..40_000 {
            time += 20_000;
            let behind =
                [0, 0, 1, MS, 400 * MS, SECOND][(turn.wrapping_mul(0x9E37_79B9) >> 7) as usize % 6];
            clock.set(time - behind.min(time - origin));
            let place = (turn / 3) as usize % 2;
            taken += limiter.ask_at(place, 1, 1).map_or(0, |grant| grant.permits());
        }
        let most = 1_000 + (time - origin) / EACH;
        assert!(taken <= most, "{kind:?} {taken}");
        assert!(taken > 0, "{kind:?} {taken} of {most}");
    });
}

#[test]
fn a_clock_before_the_beginning_is_one_at_the_beginning() {
    with_each(QUOTA, 2, |kind, limiter, clock| {
        let origin = clock.next();
        clock.set(origin - MS);
        heat(limiter, 0, 1);
        let mut taken = 0;
        for _ in 0..3_000 {
            taken += limiter.ask_at(0, 1, 1).map_or(0, |grant| grant.permits());
        }
        clock.set(origin);
        taken += take_all(limiter, &[0, 1], 1);
        assert!(taken <= 1_000, "{kind:?} {taken}");
    });
}

/// Permits that are left are good by the first reading of the call, but no longer by that of the
/// prepayment.
#[test]
fn what_is_past_when_more_is_drawn_is_not_granted_with_it() {
    with_each(QUOTA, 2, |kind, limiter, clock| {
        if kind == Kind::Steps {
            return;
        }
        heat(limiter, 0, 1);
        let _ = limiter.ask_at(0, 1, 1);
        assert_eq!(limiter.ask_at(0, 1, 1).unwrap().remaining(), 16);
        clock.set(clock.next() + 125 * EACH - EACH / 8);
        clock.step(EACH);
        let remaining = limiter.ask_at(0, 1, 20).unwrap().remaining();
        clock.step(0);
        // An eighth is passed over, and of that little is earned since.
        let drawn = SPARED - limiter.has(1);
        assert!(drawn >= 20 && remaining <= drawn - 20 + 5, "{kind:?}: {remaining} of {drawn}");
    });
}

#[test]
fn what_is_past_by_the_time_the_store_has_refused_is_not_taken_from_another_place() {
    let clock = Chosen::at(1_000 * SECOND);
    with(Kind::Keyed, QUOTA, 2, &clock, |limiter| {
        heat(limiter, 0, 1);
        heat(limiter, 1, 1);
        let at = clock.next();
        assert!(limiter.ask_at(1, 1, 1).is_ok() && limiter.ask_at(1, 1, 1).is_ok());
        // The third reading from now on is the store's, and the next is past.
        let step = EACH / 16;
        clock.set(at + 125 * EACH - 2 * step - step / 2);
        limiter.drain(1);
        clock.step(step);
        assert!(limiter.ask_at(0, 1, 1).is_err());
    });
}

#[test]
fn a_reading_that_is_a_whole_second_behind_leaves_the_seat_as_it_was() {
    let clock = Chosen::at(1_000 * SECOND);
    with(Kind::Keyed, quota!(1_000 / second, burst 10_000), 1, &clock, |limiter| {
        heat(limiter, 0, 1);
        let at = clock.next();
        (0..5).for_each(|_| assert!(limiter.ask_at(0, 1, 1).is_ok()));
        // Of another number than after a prepayment.
        let left = limiter.ask_at(0, 1, 1).unwrap().remaining();
        clock.set(at - SECOND);
        assert!(limiter.ask_at(0, 1, 1).is_ok());
        clock.set(at);
        assert_eq!(limiter.ask_at(0, 1, 1).unwrap().remaining(), left - 1);
    });
}
