//! The sharded limiter. What is checked here, of random calls by all shards, with leases
//! open, and changes between them:
//!
//! * In no span is more admitted than the burst and what was earned in it, or credited; permits of
//!   a lease are admitted when they are spent.
//! * A credit adds all that the burst has space for, beside leases.
//! * While nothing can have been cut off, what is there is what a token bucket would
//!   have, to the unit; and it never is more.
//! * From what is there every answer follows as a token bucket's: the decision, the
//!   permits, the wait. A request is refused only if there is too little in all, with the
//!   reserve that it leaves.
//! * Nothing is lost between the root, the shards and the leases.
//! * After an idle time three quarters of the burst are there at least, and after a
//!   denial all of it.
//!
//! `PROPTEST_CASES` deepens it.

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::bucket::Carry;
use sluicegate::*;

use self::pair::{Op, Pair};
use crate::support::any;
use crate::support::cases::cases;
use crate::support::ops::{self, Amount, Setup, Shape, Step};

mod denials;
mod draws;
mod edges;
mod pair;
mod races;
mod room;
mod waits;

fn setup() -> impl Strategy<Value = Setup> + Clone {
    // From bursts that are never split to those that are drawn from in full measure.
    let room = prop_oneof![
        1 => 1..=16_u64,
        4 => 16..=4_096_u64,
        3 => any::sized((1 << 32) - 1),
    ];
    let initial = prop_oneof![3 => Just(u64::MAX), 1 => Just(0_u64), 1 => any::sized(1 << 32)];
    (any::rate(), room, initial, any::refill()).prop_map(
        |((permits, period_nanos), room, initial, refill)| {
            let shape = Shape::Bucket;
            Setup { shape, permits, period_nanos, room, max_debt: 0, initial, refill }
        },
    )
}

fn shards() -> impl Strategy<Value = usize> + Clone {
    proptest::sample::select(vec![1_usize, 2, 4, 8])
}

/// Requests that leave a reserve: of one permit or more, most of them near what is there.
fn leaving() -> impl Strategy<Value = Op> + Clone {
    let amount = prop_oneof![1 => Just(Amount::Exactly(1)), 1 => any::amount()];
    let reserve = (0..=17_u64, 0..=1_u64);
    (0..9_usize, amount, reserve, any::<bool>()).prop_map(
        |(shard, amount, (parts, more), is_look)| Op::Leaving {
            shard,
            amount,
            parts,
            more,
            is_look,
        },
    )
}

/// Operations that take permits, while the clock goes on.
fn plain_op() -> impl Strategy<Value = Op> + Clone {
    // Most requests are for one permit: these are what shards are for.
    let amount = prop_oneof![2 => Just(Amount::Exactly(1)), 1 => any::amount()];
    let shard = 0..9_usize;
    prop_oneof![
        10 => (shard.clone(), amount).prop_map(|(shard, amount)| Op::Acquire { shard, amount }),
        3 => (shard, any::amount()).prop_map(|(shard, amount)| Op::UpTo { shard, amount }),
        4 => leaving(),
        2 => any::amount().prop_map(Op::Peek),
        8 => any::forward().prop_map(Op::Move),
    ]
}

fn op() -> impl Strategy<Value = Op> + Clone {
    let carry =
        proptest::sample::select(vec![Carry::Keep, Carry::Scale, Carry::Reset, Carry::Empty]);
    prop_oneof![
        20 => plain_op(),
        4 => (0..9_usize, any::amount()).prop_map(|(shard, amount)| Op::Lease { shard, amount }),
        4 => (0..4_usize, 0..20_u64).prop_map(|(lease, parts)| Op::Spend { lease, parts }),
        3 => (0..4_usize).prop_map(|lease| Op::Drop { lease }),
        1 => Just(Op::Reset),
        2 => any::amount().prop_map(Op::Credit),
        2 => (setup(), carry).prop_map(|(setup, carry)| Op::Reconfigure(setup, carry)),
        1 => Just(Op::Save),
        1 => any::sized(ops::LIFE_NANOS).prop_map(|away_nanos| Op::Restore { away_nanos }),
        2 => any::sized(999_999_999).prop_map(|nanos| Op::Back { nanos }),
    ]
}

/// Makes a limiter with `shards` shards, or, for 0, with as many as suit the machine.
fn sharded<C: Clock>(quota: Quota, shards: usize, clock: C) -> Sharded<C> {
    match shards {
        0 => Sharded::with_clock(quota, clock),
        shards => Sharded::builder(quota).shards(shards).clock(clock).build().unwrap(),
    }
}

fn limiter(setup: Setup, shards: usize, clock: &ManualClock) -> Sharded<&ManualClock> {
    sharded(setup.quota(), shards, clock).starting_with(setup.initial()).unwrap()
}

proptest! {
    #![proptest_config(cases(1_200))]

    #[test]
    fn every_answer_follows_from_what_is_there_and_that_from_what_was_earned(
        setup in setup(),
        shards in shards(),
        start_nanos in any::start(),
        ops in vec(op(), 1..60),
    ) {
        let clock = ManualClock::at(start_nanos);
        let limiter = limiter(setup, shards, &clock);
        let mut pair = Pair::new(setup, &limiter);
        for &op in &ops {
            pair.apply(op);
        }
    }
}

/// The root of this limiter tells a full bucket from a debt for 18 years. The shard has capacity for a permit
/// that is spent, so a permit is cut off, which nobody writes down.
#[test]
fn a_root_that_is_not_written_for_eighteen_years_is_asked_only_as_long_as_it_can_tell() {
    let setup = Setup {
        shape: Shape::Bucket,
        permits: 512,
        period_nanos: (1 << 57) - 1,
        room: 2_048,
        max_debt: 0,
        initial: u64::MAX,
        refill: Refill::Smooth,
    };
    let clock = ManualClock::new();
    let limiter = limiter(setup, 1, &clock);
    let mut pair = Pair::new(setup, &limiter);
    pair.apply(Op::Acquire { shard: 0, amount: Amount::Exactly(1) });
    for _ in 0..2 {
        pair.apply(Op::Move(Step::Nanos(ops::LIFE_NANOS)));
        pair.apply(Op::Peek(Amount::Exactly(0)));
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn less_than_a_quarter_of_the_burst_is_missing_after_an_idle_time(
        setup in setup(),
        shards in shards(),
        start_nanos in 0..=u64::MAX / 2,
        ops in vec(plain_op(), 1..60),
    ) {
        let clock = ManualClock::at(start_nanos);
        let limiter = limiter(setup, shards, &clock);
        let mut pair = Pair::new(setup, &limiter);
        for &op in &ops {
            pair.apply(op);
        }
        if pair.idle() {
            let burst = limiter.quota().burst();
            let there = limiter.peek(0).unwrap().remaining();
            prop_assert!(4 * there >= 3 * burst, "{there} of {burst}");
        }
    }

    #[test]
    fn nothing_of_the_burst_is_missing_after_a_denial_and_an_idle_time(
        setup in setup(),
        shards in shards(),
        start_nanos in 0..=u64::MAX / 2,
        ops in vec(op(), 1..40),
    ) {
        let clock = ManualClock::at(start_nanos);
        let limiter = limiter(setup, shards, &clock);
        let mut pair = Pair::new(setup, &limiter);
        for &op in &ops {
            pair.apply(op);
        }
        pair.drop_leases();
        pair.exhaust();
        if !pair.is_blurred() && pair.idle() {
            let there = limiter.peek(0).unwrap().remaining();
            prop_assert_eq!(there, limiter.quota().burst());
        }
    }
}
