//! Setups and calls of every size.

use proptest::collection::vec;
use proptest::prelude::*;

use super::ops::{Amount, LIFE_NANOS, Op, Step};
use super::setup::{Kind, Setup};

const SECOND: u64 = 1_000_000_000;
/// A hundred of them are the longest window.
const YEAR: u64 = 31_557_600 * SECOND;

/// A number of any size up to `most`.
fn sized(most: u64) -> impl Strategy<Value = u64> + Clone {
    (0..=most.ilog2(), any::<u64>())
        .prop_map(move |(bits, number)| (number & (u64::MAX >> (63 - bits))).min(most))
}

fn window() -> impl Strategy<Value = u64> + Clone {
    let usual = [1, 2, 64, 1_000, 1_000_000, SECOND, 60 * SECOND, 86_400 * SECOND];
    prop_oneof![
        2 => 1..200_u64,
        2 => proptest::sample::select(usual.to_vec()),
        2 => sized(1 << 45).prop_map(|nanos| nanos.max(1)),
        1 => sized(1 << 58).prop_map(|nanos| nanos.max(1)),
    ]
}

fn kind() -> impl Strategy<Value = Kind> + Clone {
    proptest::sample::select(Kind::ALL)
}

/// Those that bound every window.
pub(crate) fn sliding() -> impl Strategy<Value = Kind> + Clone {
    let bounds = |kind: &Kind| !matches!(kind, Kind::Fixed | Kind::FromFirst | Kind::Counter);
    kind().prop_filter("bounds every window", bounds)
}

/// Those on a ring.
pub(crate) fn ring() -> impl Strategy<Value = Kind> + Clone {
    let is_on_a_ring = |kind: &Kind| matches!(kind, Kind::Sliding | Kind::Compact | Kind::Multi);
    kind().prop_filter("on a ring", is_on_a_ring)
}

/// Those whose windows begin anew.
pub(crate) fn stepping() -> impl Strategy<Value = Kind> + Clone {
    prop_oneof![Just(Kind::Fixed), Just(Kind::FromFirst)]
}

/// Those that take a grant back, and grant more than single permits.
pub(crate) fn revocable() -> impl Strategy<Value = Kind> + Clone {
    kind().prop_filter("takes back", |kind| !matches!(kind, Kind::Log | Kind::Weighted))
}

/// Any setup of these kinds.
pub(crate) fn setup_of(
    kind: impl Strategy<Value = Kind> + Clone,
) -> impl Strategy<Value = Setup> + Clone {
    let limit = prop_oneof![4 => 1..=9_u64, 1 => sized(1_000).prop_map(|limit| limit.max(1))];
    let slots = prop_oneof![3 => 1..=9_u32, 1 => Just(60_u32)];
    (kind, vec((limit, window()), 1..=3), slots, 0..20_u64).prop_map(
        |(kind, mut limits, slots, room)| {
            if kind != Kind::Multi {
                limits.truncate(1);
            }
            let shortest = limits.iter().map(|limit| limit.1).min().unwrap_or(1);
            for (permits, nanos) in &mut limits {
                // The word has to count the slots of the shortest in the longest.
                *nanos = (*nanos).min(shortest.saturating_mul(1 << 36));
                *permits = (*permits).min(nanos.saturating_mul(2)); // the highest rate
                if kind == Kind::Log {
                    *permits = (*permits).min(40);
                }
            }
            // A log of requests may have less room than its limit.
            let capacity = match (kind, room) {
                (Kind::Weighted, 0..9) => room + 1,
                _ => limits[0].0 + room / 4,
            };
            Setup { kind, limits, slots, capacity }
        },
    )
}

pub(crate) fn setup() -> impl Strategy<Value = Setup> + Clone {
    setup_of(kind())
}

/// Setups of windows of up to a century, few permits, and numbers of slots that leave the
/// bits for the ticks of all the years.
pub(crate) fn long_setup() -> impl Strategy<Value = Setup> + Clone {
    let length = prop_oneof![
        1 => proptest::sample::select(vec![SECOND, 60 * SECOND, 86_400 * SECOND]),
        4 => (1..=100_u64).prop_map(|years| years * YEAR),
        2 => sized(100 * YEAR).prop_map(|nanos| nanos.max(SECOND)),
    ];
    let lengths = vec(length, 3);
    (setup_of(kind()), lengths).prop_map(|(mut setup, lengths)| {
        for (limit, length) in setup.limits.iter_mut().zip(lengths) {
            limit.1 = length;
        }
        setup
    })
}

/// Operations that take from a limiter or ask it, years apart.
pub(crate) fn slow_op() -> impl Strategy<Value = Op> + Clone {
    let years = prop_oneof![4 => sized(20 * YEAR), 1 => sized(146 * YEAR)];
    prop_oneof![
        8 => (1..4_u64).prop_map(|permits| Op::Take(Amount::Exactly(permits))),
        2 => amount().prop_map(Op::UpTo),
        2 => amount().prop_map(Op::Peek),
        5 => years.prop_map(|nanos| Op::Move(Step::Nanos(nanos))),
        3 => forward().prop_map(Op::Move),
    ]
}

/// Readings from which a clock may start.
pub(crate) fn start() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![1 => Just(0), 1 => 1..1_000_u64, 2 => sized(1 << 61)]
}

fn amount() -> impl Strategy<Value = Amount> + Clone {
    prop_oneof![
        6 => (0..4_u64).prop_map(Amount::Exactly),
        1 => sized(u64::MAX).prop_map(Amount::Exactly),
        1 => Just(Amount::Exactly(u64::MAX)),
        3 => (-1..=1_i8).prop_map(Amount::There),
        1 => (-1..=1_i8).prop_map(Amount::Limit),
    ]
}

fn forward() -> impl Strategy<Value = Step> + Clone {
    prop_oneof![
        1 => Just(Step::Nanos(0)),
        2 => (1..4_u64).prop_map(Step::Nanos),
        1 => sized(LIFE_NANOS / 8).prop_map(Step::Nanos),
        4 => (0..48_u16).prop_map(Step::Parts),
        1 => (48..160_u16).prop_map(Step::Parts),
        2 => (1..9_u8, -1..=1_i8).prop_map(|(parts, more)| Step::Boundary(parts, more)),
        3 => (amount(), -1..=1_i8).prop_map(|(amount, more)| Step::Ready(amount, more)),
    ]
}

fn back() -> impl Strategy<Value = Step> + Clone {
    prop_oneof![
        3 => sized(SECOND).prop_map(Step::Back),
        1 => (0..4_u64).prop_map(|more| Step::Back(SECOND - 1 + more)),
        2 => (2..6 * SECOND).prop_map(Step::Back),
        2 => sized(LIFE_NANOS).prop_map(Step::Back),
    ]
}

/// Operations that take from a limiter or ask it, while its clock goes on.
pub(crate) fn plain_op() -> impl Strategy<Value = Op> + Clone {
    prop_oneof![
        6 => amount().prop_map(Op::Take),
        2 => amount().prop_map(Op::UpTo),
        2 => amount().prop_map(Op::Peek),
        8 => forward().prop_map(Op::Move),
    ]
}

/// Also what gives back, and a clock that is set back.
pub(crate) fn faulty_op() -> impl Strategy<Value = Op> + Clone {
    prop_oneof![
        18 => plain_op(),
        4 => amount().prop_map(Op::Revocable),
        2 => Just(Op::GiveBack(0)),
        1 => any::<usize>().prop_map(Op::GiveBack),
        2 => back().prop_map(Op::Move),
    ]
}

/// All that can be done to a limiter and its clock.
pub(crate) fn op() -> impl Strategy<Value = Op> + Clone {
    let limit = prop_oneof![4 => 0..12_u64, 1 => sized(u64::MAX)];
    let away = prop_oneof![2 => Just(0), 1 => sized(1 << 40)];
    let spent = vec((sized(1 << 45), 0..5_u64), 0..6);
    prop_oneof![
        24 => faulty_op(),
        1 => Just(Op::Reset),
        1 => (any::<usize>(), limit).prop_map(|(which, limit)| Op::Reconfigure(which, limit)),
        1 => away.prop_map(|away_nanos| Op::Replace { away_nanos }),
        1 => spent.prop_map(Op::ReplaceBy),
    ]
}

/// A call of several limiters, and its permits.
pub(crate) fn several_op() -> impl Strategy<Value = (Op, u64)> + Clone {
    let permits = prop_oneof![4 => 0..4_u64, 1 => 0..12_u64, 1 => Just(u64::MAX)];
    prop_oneof![
        3 => permits.prop_map(|permits| (Op::Take(Amount::Exactly(permits)), permits)),
        1 => (0..4_u64).prop_map(|permits| (Op::Peek(Amount::Exactly(permits)), permits)),
        1 => (0..4_u64).prop_map(|permits| (Op::Revocable(Amount::Exactly(permits)), permits)),
    ]
}

pub(crate) fn forward_nanos() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![1 => Just(0), 3 => sized(1 << 45)]
}
