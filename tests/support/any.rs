//! Anything that a limiter may be set up with or asked: strategies for proptest.
//!
//! Numbers are spread evenly over their sizes, not over their values, because
//! what is rare in a limiter (a period of a year, a burst of three) is a matter
//! of size.

use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::Union;
use sluicegate::Refill;
use sluicegate::bucket::Carry;

use super::ops::{Amount, LIFE_NANOS, Op, Setup, Shape, Step};
use super::reference::Held;

const SECOND: u64 = 1_000_000_000;

/// A number of any size up to `most`.
pub(crate) fn sized(most: u64) -> impl Strategy<Value = u64> + Clone {
    (0..=most.ilog2(), any::<u64>(), 0..8_u8).prop_map(move |(bits, number, edge)| {
        let top = (1 << bits) - 1 + (1_u64 << bits);
        match edge {
            0 => top.min(most),
            1 => (1 << bits).min(most),
            _ => (number & top).min(most),
        }
    })
}

/// Periods that people use, and any.
fn period() -> impl Strategy<Value = u64> + Clone {
    let usual = [1, 1_000, 1_000_000, SECOND, 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND];
    prop_oneof![
        3 => proptest::sample::select(usual.to_vec()),
        1 => (1..=31_u64).prop_map(|days| days * 86_400 * SECOND),
        1 => Just(LIFE_NANOS),
        3 => sized(LIFE_NANOS),
    ]
}

/// Rates from one in a hundred years to 2^31 a second.
pub(crate) fn rate() -> impl Strategy<Value = (u64, u64)> + Clone {
    let awkward = [
        (3, 2 * SECOND),
        (100, 60 * SECOND),
        (5_000, 3_600 * SECOND),
        (7_919, SECOND),
        (999_983, SECOND),
        (300_000_000, SECOND),
        (600_000_000, SECOND),
        (1_500_000_000, SECOND),
        (1 << 31, SECOND),
        (2, 1),
        (1, LIFE_NANOS),
        (1 << 32, LIFE_NANOS),
        (1 << 32, 2 * SECOND),
    ];
    prop_oneof![
        2 => proptest::sample::select(awkward.to_vec()),
        2 => (1..=2_u64, period()),
        4 => (sized(1 << 32), period()),
    ]
}

pub(crate) fn shape() -> impl Strategy<Value = Shape> + Clone {
    Union::new_weighted(Shape::ALL.map(|(weight, shape)| (weight, Just(shape))).into())
}

pub(crate) fn refill() -> impl Strategy<Value = Refill> + Clone {
    prop_oneof![3 => Just(Refill::Smooth), 2 => Just(Refill::Interval)]
}

/// Any setup of any shape.
pub(crate) fn setup() -> impl Strategy<Value = Setup> + Clone {
    let room = prop_oneof![1 => Just(1_u64), 2 => sized(16), 3 => sized(1 << 32)];
    let debt = prop_oneof![1 => Just(0_u64), 1 => sized(16), 2 => sized(1 << 32)];
    let initial = prop_oneof![2 => Just(u64::MAX), 1 => Just(0_u64), 2 => sized(1 << 32)];
    let tolerance = prop_oneof![
        1 => Just(0_u64),
        2 => (0..64_u64, -2..3_i64).prop_map(|(cells, more)| cells << 32 | (more + 2) as u64),
        2 => sized(LIFE_NANOS),
    ];
    (shape(), rate(), (room, tolerance), debt, initial, refill()).prop_map(
        |(shape, (permits, period_nanos), (room, tolerance), max_debt, initial, refill)| {
            let cells = shape == Shape::Cells;
            // A tolerance of so many intervals and a little more, in half of them.
            let (many, more) = (tolerance >> 32, tolerance & 0xffff_ffff);
            let whole = period_nanos.saturating_mul(many).saturating_add(more);
            let tolerance = if more < 5 && many < 64 { whole } else { tolerance };
            let room = if cells { tolerance } else { room };
            Setup { shape, permits, period_nanos, room, max_debt, initial, refill }
        },
    )
}

/// Readings from which a clock may start: anywhere, both ends included.
pub(crate) fn start() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![
        2 => Just(0_u64),
        2 => sized(u64::MAX),
        1 => any::<u64>(),
        1 => (0..1_000_000_u64).prop_map(|left| u64::MAX - left),
    ]
}

pub(crate) fn amount() -> impl Strategy<Value = Amount> + Clone {
    prop_oneof![
        2 => (0..4_u64).prop_map(Amount::Exactly),
        2 => sized(1 << 33).prop_map(Amount::Exactly),
        1 => proptest::sample::select(vec![u64::MAX, u64::MAX - 1, 1 << 62, 1 << 61])
            .prop_map(Amount::Exactly),
        4 => (-1..=1_i8).prop_map(Amount::There),
        2 => (-1..=1_i8).prop_map(Amount::Limit),
        1 => (-1..=1_i8).prop_map(Amount::Deepest),
    ]
}

/// Steps of a clock that goes on: none, one nanosecond, idle years.
pub(crate) fn forward() -> impl Strategy<Value = Step> + Clone {
    prop_oneof![
        1 => Just(Step::Nanos(0)),
        2 => (1..4_u64).prop_map(Step::Nanos),
        2 => sized(10 * SECOND).prop_map(Step::Nanos),
        1 => sized(LIFE_NANOS).prop_map(Step::Nanos),
        3 => (0..1_024_u16).prop_map(Step::Parts),
        4 => (amount(), -1..=1_i8).prop_map(|(amount, more)| Step::Ready(amount, more)),
    ]
}

fn back() -> impl Strategy<Value = Step> + Clone {
    prop_oneof![
        3 => sized(SECOND).prop_map(Step::Back),
        1 => (0..3_u64).prop_map(|more| Step::Back(SECOND - 1 + more)),
        2 => sized(LIFE_NANOS).prop_map(Step::Back),
    ]
}

/// Operations that take from a limiter or ask it, while its clock goes on.
pub(crate) fn plain_op() -> impl Strategy<Value = Op> + Clone {
    prop_oneof![
        6 => amount().prop_map(Op::TryAcquire),
        3 => amount().prop_map(Op::UpTo),
        1 => Just(Op::Drain),
        2 => amount().prop_map(Op::Peek),
        1 => (0..24_u8, sized(2_000)).prop_map(|(times, nanos)| Op::Poll { times, nanos }),
        10 => forward().prop_map(Op::Move),
    ]
}

/// All that can be done to a limiter and its clock.
pub(crate) fn op() -> impl Strategy<Value = Op> + Clone {
    let carry =
        proptest::sample::select(vec![Carry::Keep, Carry::Scale, Carry::Reset, Carry::Empty]);
    let [number, token, phase, part] = [(); 4].map(|()| sized(u64::MAX));
    let held = (any::<bool>(), number, token, phase, part).prop_map(
        |(negative, balance, token, phase_nanos, part)| {
            let balance = balance as i64;
            let balance = if negative { balance.wrapping_neg() } else { balance };
            Held { balance, token, phase_nanos, part }
        },
    );
    let away = prop_oneof![
        4 => sized(LIFE_NANOS).prop_map(Duration::from_nanos),
        1 => Just(Duration::MAX),
    ];
    prop_oneof![
        16 => plain_op(),
        4 => amount().prop_map(Op::Force),
        2 => amount().prop_map(Op::Credit),
        1 => Just(Op::Reset),
        2 => (setup(), carry.clone()).prop_map(|(setup, carry)| Op::Reconfigure(setup, carry)),
        2 => (sized(1 << 33), sized(1 << 33), carry)
            .prop_map(|(room, max_debt, carry)| Op::Resize { room, max_debt, carry }),
        1 => Just(Op::Snapshot),
        1 => sized(LIFE_NANOS).prop_map(|away_nanos| Op::Restore { away_nanos }),
        1 => (held, away).prop_map(|(held, away)| Op::RestoreAny(held, away)),
        2 => back().prop_map(Op::Move),
    ]
}
