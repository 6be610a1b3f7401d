//! Long random sequences of calls.

use proptest::collection::vec;
use proptest::prelude::*;

use super::replay::{Op, replay};
use crate::support::cases::cases;

fn op(limit: u64, length: u64) -> impl Strategy<Value = Op> {
    let permits = 1..=limit + 1;
    let within = 1..=limit;
    prop_oneof![
        3 => (0..2 * length).prop_map(Op::Advance),
        3 => permits.clone().prop_map(Op::Take),
        1 => within.clone().prop_map(Op::UpTo),
        4 => permits.clone().prop_map(Op::Reserve),
        1 => (permits, 0..3 * length).prop_map(|(permits, within)| Op::ReserveWithin(permits, within)),
        3 => (0..4_usize).prop_map(Op::Cancel),
        2 => within.clone().prop_map(Op::Estimate),
        2 => (0..3_usize).prop_map(Op::Settle),
        1 => (1..=3 * limit).prop_map(Op::Overdraw),
        1 => within.prop_map(Op::Limit),
        1 => Just(Op::Reset),
    ]
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn every_answer_is_that_of_the_reference(
        (limit, length, ops) in (1..9_u64, 5..25_u64).prop_flat_map(|(limit, length)| {
            (Just(limit), Just(length), vec(op(limit, length), 1..60))
        }),
        windows in 0..5_u64,
        part in 0..25_u64,
        start in 0..1_000_u64,
    ) {
        let ahead = windows * length + part % length + 1;
        replay(limit, (length, ahead), start, &ops);
    }
}
