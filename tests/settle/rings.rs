//! Estimates of windows of slots, against a list of charges.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::support::cases::cases;

const SLOT: Duration = Duration::from_millis(250);

/// Ten a second, in four slots and the one that has begun.
fn ring(clock: &ManualClock) -> SlidingWindow<&ManualClock> {
    SlidingWindow::with_slots(rate!(10 / second), 4, clock).unwrap()
}

fn left(limiter: &impl Limiter) -> u64 {
    limiter.peek(0).map_or(0, |grant| grant.remaining())
}

/// The reading of a caller that is held up may be from before that of the settlement.
#[test]
fn what_is_given_back_by_a_later_reading_is_there_for_an_earlier_one() {
    let clock = ManualClock::new();
    let ring = ring(&clock);
    let estimate = ring.try_acquire_settleable(6).unwrap();
    clock.advance(SLOT);
    assert_eq!(estimate.settle(1).unwrap().given_back(), 5);
    clock.rewind(SLOT);
    assert_eq!(left(&ring), 9);
    ring.try_acquire(9).unwrap();
    assert!(ring.try_acquire(1).is_err());
}

#[test]
fn a_ring_counts_as_far_as_its_word_goes_and_says_what_it_does_not() {
    let clock = ManualClock::new();
    let ring = ring(&clock).with_max_limit(1_000).unwrap();
    let unpaid = ring.try_acquire_settleable(3).unwrap().settle(u64::MAX).unwrap_err();
    let taken = unpaid.settled().taken_beyond();
    assert!(taken >= 997 && unpaid.permits() == u64::MAX - 3 - taken, "{taken}");
    assert_eq!(ring.try_acquire_settleable(0).unwrap().settle(1).unwrap_err().permits(), 1);
    clock.advance(SLOT * 4);
    assert_eq!(left(&ring), 0);
    clock.advance(SLOT);
    assert_eq!(left(&ring), 10);
}

#[test]
fn changes_of_the_limit_and_of_the_clock_keep_estimates() {
    let clock = ManualClock::at(Duration::from_secs(1_000).as_nanos() as u64);
    let ring = ring(&clock).with_max_limit(100).unwrap();
    let estimates = [3, 3, 4].map(|permits| ring.try_acquire_settleable(permits).unwrap());
    let [one, other, late] = estimates;
    ring.reconfigure(20).unwrap();
    assert_eq!(one.settle(0).unwrap().given_back(), 3);
    assert_eq!(left(&ring), 13);
    // Healed: time goes on from where it stood.
    clock.set_nanos(0);
    assert_eq!((left(&ring), ring.healed()), (13, 1));
    assert_eq!(other.settle(1).unwrap().given_back(), 2);
    assert_eq!(left(&ring), 15);
    assert_eq!(late.settle(6).unwrap().taken_beyond(), 2);
    assert_eq!(left(&ring), 13);
    clock.advance(Duration::from_secs(2));
    assert_eq!(left(&ring), 20);
}

#[test]
fn what_is_given_back_after_the_numbers_went_round_is_lost() {
    for bits in 30..=42 {
        let clock = ManualClock::new();
        // Few bits are left for the numbers of slots: for one of these, it is the same again.
        let ring = SlidingWindow::with_slots(rate!(10 / ms), 1, &clock).unwrap();
        let ring = ring.with_max_limit(2_000_000).unwrap();
        let estimate = ring.try_acquire_settleable(6).unwrap();
        for _ in 0..4 {
            clock.advance(Duration::from_millis(1 << (bits - 2)));
            ring.try_acquire(1).unwrap();
        }
        let before = left(&ring);
        assert_eq!(estimate.settle(0).unwrap().lost(), 6, "{bits}");
        assert_eq!(left(&ring), before);
    }
}

#[test]
fn a_receipt_and_an_estimate_are_given_back_in_any_order() {
    for receipt_first in [true, false] {
        let clock = ManualClock::new();
        let ring = ring(&clock);
        let estimate = ring.try_acquire_settleable(4).unwrap();
        let receipt = ring.try_acquire_revocable(3).unwrap();
        // The word stays as it was, so the receipt is good all the same.
        if receipt_first {
            assert!(receipt.give_back());
            assert_eq!(estimate.settle(0).unwrap().given_back(), 4);
        } else {
            assert_eq!(estimate.settle(0).unwrap().given_back(), 4);
            assert!(receipt.give_back());
        }
        assert!(ring.is_idle());
        assert_eq!(ring.count(), 0);
    }
}

#[test]
fn a_snapshot_has_what_was_kept() {
    let clock = ManualClock::new();
    let ring = ring(&clock);
    let estimate = ring.try_acquire_settleable(6).unwrap();
    clock.advance(SLOT);
    ring.try_acquire(2).unwrap();
    estimate.settle(1).unwrap();
    assert_eq!(ring.snapshot().permits(), 3);
    let mut other = self::ring(&clock);
    other.restore(&ring.snapshot(), Duration::ZERO);
    clock.advance(SLOT * 4);
    assert_eq!((left(&ring), left(&other)), (8, 8));
}

#[derive(Clone, Debug)]
enum Step {
    Take(u64),
    Settle(usize, u64),
    GiveBack(usize, u64),
    Revocable(u64),
    Reset,
    Advance(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..9_u64).prop_map(Step::Take),
        5 => (0..6_usize, 0..9_u64).prop_map(|(which, used)| Step::Settle(which, used)),
        2 => (0..6_usize, 0..5_u64).prop_map(|(which, permits)| Step::GiveBack(which, permits)),
        1 => (1..4_u64).prop_map(Step::Revocable),
        1 => Just(Step::Reset),
        5 => (0..700_u64).prop_map(Step::Advance),
    ]
}

/// A window of the reference: its limit, the length of its slots in ticks, and how many count.
#[derive(Clone, Copy)]
struct Shape {
    limit: u64,
    ticks: u64,
    slots: u64,
}

struct Reference<'s> {
    shapes: &'s [Shape],
    /// Ticks and permits of all that counts.
    charges: Vec<(u64, u64)>,
    resets: u64,
}

#[derive(Clone, Copy)]
struct Charge {
    tick: u64,
    resets: u64,
    permits: u64,
}

impl Reference<'_> {
    fn used(&self, shape: Shape, now: u64) -> u64 {
        let counts =
            |&&(tick, _): &&(u64, u64)| now / shape.ticks - tick / shape.ticks < shape.slots;
        self.charges.iter().filter(counts).map(|&(_, permits)| permits).sum()
    }

    fn left(&self, now: u64) -> u64 {
        let left =
            self.shapes.iter().map(|&shape| shape.limit.saturating_sub(self.used(shape, now)));
        left.min().unwrap()
    }

    fn give_back(&mut self, charge: &mut Charge, permits: u64, now: u64) -> u64 {
        let permits = permits.min(charge.permits);
        charge.permits -= permits;
        let counts = |shape: &Shape| now / shape.ticks - charge.tick / shape.ticks < shape.slots;
        if charge.resets < self.resets || !self.shapes.iter().any(counts) {
            return 0;
        }
        let mut rest = permits;
        for (_, kept) in self.charges.iter_mut().filter(|&&mut (tick, _)| tick == charge.tick) {
            let less = rest.min(*kept);
            *kept -= less;
            rest -= less;
        }
        assert_eq!(rest, 0);
        permits
    }

    /// Returns the least number of ticks after which there is room.
    fn wait(&self, permits: u64, now: u64) -> u64 {
        (0..100).find(|&ticks| self.left(now + ticks) >= permits).unwrap()
    }
}

fn replay<L: Settle>(limiter: &L, clock: &ManualClock, shapes: &[Shape], steps: Vec<Step>) {
    let tick_nanos = SLOT.as_nanos() as u64;
    let mut reference = Reference { shapes, charges: Vec::new(), resets: 0 };
    let least = shapes.iter().map(|shape| shape.limit).min().unwrap();
    let mut open: Vec<(Estimate<'_>, Charge)> = Vec::new();
    for step in steps {
        let now = clock.now_nanos() / tick_nanos;
        match step {
            Step::Take(permits) => match limiter.try_acquire_settleable(permits) {
                Ok(estimate) => {
                    assert!(permits == 0 || permits <= reference.left(now));
                    reference.charges.push((now, permits));
                    let charge = Charge { tick: now, resets: reference.resets, permits };
                    open.push((estimate, charge));
                }
                Err(denied) if permits > least => assert!(denied.retry_after().is_none()),
                Err(denied) => {
                    let ticks = reference.wait(permits, now);
                    assert!(ticks > 0, "{permits} denied");
                    let wait_nanos = (now + ticks) * tick_nanos - clock.now_nanos();
                    assert_eq!(denied.retry_after(), Some(Duration::from_nanos(wait_nanos)));
                }
            },
            Step::Settle(which, used) if which < open.len() => {
                let (estimate, mut charge) = open.remove(which);
                let settled = estimate.settle(used).unwrap();
                let rest = charge.permits.saturating_sub(used);
                let more = used.saturating_sub(charge.permits);
                let given_back = reference.give_back(&mut charge, rest, now);
                reference.charges.push((now, more));
                let got = (settled.given_back(), settled.lost(), settled.taken_beyond());
                assert_eq!(got, (given_back, rest - given_back, more));
            }
            Step::GiveBack(which, permits) if which < open.len() => {
                let (estimate, charge) = &mut open[which];
                let given_back = reference.give_back(charge, permits, now);
                assert_eq!(estimate.give_back(permits), given_back);
            }
            Step::Settle(..) | Step::GiveBack(..) => {}
            Step::Revocable(permits) => {
                if let Ok(receipt) = limiter.try_acquire_revocable(permits) {
                    assert!(receipt.give_back());
                }
            }
            Step::Reset => {
                limiter.reset();
                reference.charges.clear();
                reference.resets += 1;
            }
            Step::Advance(millis) => clock.advance(Duration::from_millis(millis)),
        }
        let now = clock.now_nanos() / tick_nanos;
        assert_eq!(left(limiter), reference.left(now));
    }
}

const TEN: Shape = Shape { limit: 10, ticks: 1, slots: 5 };

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn a_ring_settles_as_a_list_of_charges_does(steps in vec(step(), 1..80)) {
        let clock = ManualClock::new();
        replay(&ring(&clock), &clock, &[TEN], steps);
    }

    #[test]
    fn a_compact_ring_settles_as_a_list_of_charges_does(steps in vec(step(), 1..80)) {
        let clock = ManualClock::new();
        // As many places as slots.
        let ring = SlidingWindow::compact(rate!(10 / 750 ms), 3, &clock).unwrap();
        replay(&ring, &clock, &[Shape { slots: 4, ..TEN }], steps);
    }

    #[test]
    fn several_windows_settle_as_a_list_of_charges_does(steps in vec(step(), 1..80)) {
        let clock = ManualClock::new();
        let limits = [rate!(10 / second), rate!(17 / 2 seconds)];
        let windows = MultiWindow::with_slots(limits, 4, &clock).unwrap();
        replay(&windows, &clock, &[TEN, Shape { limit: 17, ticks: 2, slots: 5 }], steps);
    }
}
