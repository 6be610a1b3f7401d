//! Reservations that stand in line, beside waiters that leave, are late, or are never polled.

use super::scenes::{holds, scene};
use super::*;

use Op::{Burst, Close, Force, Reset, Try};

#[test]
fn a_reservation_that_stands_in_line_keeps_the_order_and_the_bound() {
    holds(&scene![acquire(1), booked(1), Try(1)], 46_000);
    holds(&scene![dropped(2), booked(1), Try(1)], 58_000);
    holds(&scene![dropped(1), cancelled(2), Try(2)], 60_000);
    holds(&scene![dropped(1), booked(1), acquire(1)].run(3).exact(), 61_000);
    holds(&scene![acquire(1).until(1), booked(2), acquire(1)].run(3).exact(), 32_000);
}

#[test]
fn a_reservation_behind_a_waiter_that_nobody_polls_comes_at_its_instant() {
    holds(&scene![unpolled(1), booked(1), Try(1)], 18_000);
    holds(&scene![unpolled(1), booked(1), acquire(1)].exact(), 54_000);
}

#[test]
fn a_reservation_in_the_line_bears_force_changes_and_a_close() {
    holds(&scene![dropped(1), booked(2), Force(1)].slack(1), 71_000);
    holds(&scene![dropped(2), booked(1), Reset].run(3), 67_000);
    holds(&scene![acquire(1), booked(2), Burst(1)].run(3), 30_000);
    holds(&scene![dropped(1), cancelled(2), Close, Try(1)].run(2).exact(), 58_000);
}
