//! Logs of single permits, and limits that change.

use super::*;

pub(super) fn log(
    slots: u8,
    limit: u8,
    window: i8,
    run: i8,
    programs: [&'static [Op]; THREADS],
) -> Log {
    Log { is_single: true, capacity: slots, ..super::log(limit, window, run, programs) }
}

fn full_ring() -> Log {
    log(2, 2, 2, 4, [&[Take(1), Take(1)], &[Take(1), Take(1)], &[]])
}

fn resets() -> Log {
    log(2, 1, 2, 2, [&[Take(1), Reset, Take(1)], &[Take(1), Reset], &[]])
}

/// One thread can be held up while another goes round the ring.
fn a_lap() -> Log {
    log(3, 2, 1, 2, [&[Take(1)], &[Take(1), Take(1), Take(1), Take(1)], &[]])
}

#[test]
fn no_window_holds_more_than_the_limit_and_denials_are_right() {
    holds(&full_ring(), 100_000);
    holds(&a_lap(), 30_000);
    holds(&log(1, 1, 2, 4, [&[Take(1)], &[Take(1)], &[Take(1)]]), 500_000);
    holds(&log(2, 1, 2, 4, [&[Take(1), Take(1)], &[Take(1), Take(1)], &[]]), 70_000);
    holds(&log(2, 1, 1, 2, [&[Take(1), Take(1)], &[Take(1)], &[Take(1)]]), 300_000);
}

#[test]
fn what_was_admitted_before_a_reset_does_not_count() {
    holds(&resets(), 10_000);
    holds(&log(1, 1, 2, 2, [&[Take(1), Reset, Take(1)], &[Take(1), Reset], &[]]), 10_000);
    holds(&log(1, 1, 2, 1, [&[Take(1), Reset, Take(1)], &[Reset], &[Take(1)]]), 40_000);
}

#[test]
fn a_take_is_held_to_a_limit_that_was_in_force_during_it() {
    holds(&log(2, 1, 2, 3, [&[Take(1), Take(1)], &[Take(1), Take(1)], &[Limit(2)]]), 100_000);
    holds(&log(2, 2, 2, 3, [&[Take(1), Take(1)], &[Take(1), Take(1)], &[Limit(1)]]), 200_000);
}

#[test]
fn every_mutant_of_a_log_of_single_permits_is_caught() {
    use Mutant::*;

    for (mutant, log, fault) in [
        (NoParity, full_ring(), "3 of 2 admitted"),
        (DenyUnchecked, a_lap(), "room throughout"),
        (HeadFirst, by_instants(full_ring()), "3 of 2 admitted"),
        (PlainStore, full_ring(), "3 of 2 admitted"),
        (TimesGoBack, full_ring(), "room throughout"),
        (HeadNotRechecked, by_instants(a_lap()), "3 of 2 admitted"),
        (OwnTime, full_ring(), "room throughout"),
        (ResetStoresHead, resets(), "room throughout"),
        (ResetDoesNotHelp, resets(), "room throughout"),
    ] {
        let trace = explore(&Log { mutant: Some(mutant), ..log });
        let trace = trace.expect_err(&format!("{mutant:?}"));
        assert!(trace.fault.contains(fault), "{mutant:?}: {trace:?}");
    }
}

#[test]
fn without_the_last_look_at_the_head_even_a_full_ring_admits_too_many() {
    let log = by_instants(log(1, 1, 1, 3, [&[Take(1)], &[Take(1), Take(1), Take(1)], &[]]));
    holds(&log, 30_000);
    let trace = explore(&Log { mutant: Some(Mutant::HeadNotRechecked), ..log }).unwrap_err();
    assert!(trace.fault.contains("2 of 1 admitted"), "{trace:?}");
}

/// A slot that is written over and over within one instant never holds the same value again.
#[test]
fn a_lap_of_one_bit_suffices_even_if_resets_come_at_one_instant() {
    let one: &[Op] = &[Take(1), Reset, Take(1), Reset, Take(1)];
    let two: &[Op] = &[Take(1), Take(1), Reset, Take(1), Take(1), Reset, Take(1), Take(1)];
    for log in [log(1, 1, 2, 0, [one, &[Take(1)], &[]]), log(2, 2, 2, 0, [two, &[Take(1)], &[]])] {
        holds(&log, 500);
        let trace = explore(&Log { mutant: Some(Mutant::DateOfOverIgnored), ..log });
        let trace = trace.unwrap_err();
        assert!(trace.fault.contains("admitted"), "{trace:?}");
    }
    holds(&log(1, 1, 2, 1, [one, &[Take(1), Take(1)], &[]]), 500);
    holds(&log(2, 2, 2, 1, [two, &[Take(1), Reset, Take(1)], &[]]), 500);
}

/// Dates that are ahead of the clock let nothing leave a window early but one that is
/// as short as they can be apart.
#[test]
fn dates_ahead_of_the_clock_cut_only_a_window_of_one_tick_short() {
    let takes: &[Op] = &[Take(1), Take(1), Take(1), Take(1), Take(1)];
    let ahead = |window| by_instants(log(2, 2, window, 1, [takes, &[Reset, Reset], &[]]));
    holds(&ahead(2), 10_000);
    let trace = explore(&ahead(1)).unwrap_err();
    assert!(trace.fault.contains("3 of 2 admitted"), "{trace:?}");
}
