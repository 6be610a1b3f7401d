//! Models of capacity that is reserved and released while a bucket fills. What is checked, over
//! every interleaving: when the clock has moved on, callers that ask from then on get no
//! more than the burst, wherever tokens and capacity are in transit at that instant. (Names
//! here call reserved capacity *room*, and a refill of a shard a *draw*.)
//!
//! The clock is the same for all: a permit is spent from a shard without a reading, so
//! the spans are those of the true time.

use sluicegate::{Clock, Quota, quota};
use sluicegate_loom_tests::shards::{fill, rest, sharded};
use sluicegate_loom_tests::{SECOND, TrueClock, check, race};

type Sharded = sluicegate::Sharded<TrueClock>;

/// Too few for a shard to refill.
const EIGHT: Quota = quota!(1 / second, burst 8);

/// A shard refills by four, and then no more.
const FEW: Quota = quota!(1 / second, burst 32);

/// A shard refills by eight of all 64, seven of 56, and six of 55.
const MANY: Quota = quota!(1 / second, burst 64);

/// A time at which every limiter here is full again.
const LATE: u64 = 1_000 * SECOND;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Move the clock.
    Set(u64),
    /// Ask the shard for so many.
    Ask(usize, u64),
    /// Lease up to so many by way of the shard, and give them back.
    Lease(usize, u64),
    /// Lease up to so many, move the clock, and only then spend them.
    SpendAt(usize, u64, u64),
    Reset,
    /// Credit so many, before the clock has moved.
    Credit(u64),
}

use Step::{Ask, Credit, Lease, Reset, Set, SpendAt};

/// Does as the steps say; the permits granted to calls that began when the clock had
/// moved.
fn act(limiter: &Sharded, steps: &'static [Step]) -> u64 {
    let mut late = 0;
    for &step in steps {
        match step {
            Set(nanos) => limiter.clock().set(nanos),
            Ask(index, permits) => {
                let is_late = limiter.clock().now_nanos() > 0;
                let granted = limiter.shard(index).try_acquire(permits);
                late += granted.map_or(0, |grant| if is_late { grant.permits() } else { 0 });
            }
            Lease(index, permits) => drop(limiter.shard(index).lease(permits)),
            SpendAt(index, permits, nanos) => {
                let Ok(mut lease) = limiter.shard(index).lease(permits) else { continue };
                limiter.clock().set(nanos);
                let held = lease.left();
                assert!(lease.spend(held));
                late += held;
            }
            Reset => limiter.reset(),
            Credit(permits) => limiter.credit(permits),
        }
    }
    late
}

/// Checks that no more than the burst is granted late, in the race or after it. Of that,
/// what is `prepared` is held for ever.
fn late_is_bounded<const N: usize>(
    preemptions: usize,
    (quota, prepare): (Quota, fn(&Sharded) -> u64),
    programs: [&'static [Step]; N],
) {
    check(preemptions, move || {
        let limiter = sharded(quota, TrueClock::new());
        let held = prepare(&limiter);
        let late = race(&limiter, programs, act);
        let left = rest(&limiter);
        let all = held + late.iter().sum::<u64>() + left;
        assert!(all <= quota.burst(), "{all}: {held}, {late:?} and {left}");
    });
}

/// The root fills up again while four are on their way out of it.
#[test]
fn room_is_known_before_tokens_are_drawn_into_it() {
    let full = (FEW, (|_| 0) as fn(&Sharded) -> u64);
    for late in [&[Set(LATE), Ask(1, 32)][..], &[Set(LATE), Ask(1, 29), Ask(1, 3)]] {
        late_is_bounded(2, full, [&[Ask(0, 1)], late]);
        late_is_bounded(2, full, [&[Lease(0, 4)], late]);
    }
}

/// Eight are in a shard, in as much reserved capacity, and the root is not full.
fn eight_in_a_shard(limiter: &Sharded) -> u64 {
    let lease = limiter.shard(0).lease(8).unwrap();
    assert_eq!(act(limiter, &[Ask(1, 9)]), 0);
    assert_eq!(lease.left(), 8);
    0
}

/// They are spent late, and leave their capacity behind. Then it is refilled, or released
/// after a grant from elsewhere.
#[test]
fn room_given_back_was_empty() {
    let prepared = (MANY, eight_in_a_shard as fn(&Sharded) -> u64);
    late_is_bounded(2, prepared, [&[Ask(0, 1), Ask(0, 1)], &[Set(LATE), Ask(0, 8)]]);
    late_is_bounded(3, prepared, [&[Ask(0, 1)], &[Ask(0, 1), Set(LATE), Ask(0, 7)]]);
    late_is_bounded(2, prepared, [&[Ask(1, 50)], &[Set(LATE), Ask(0, 8)]]);
    late_is_bounded(1, prepared, [&[Ask(0, 1)], &[Ask(0, 8)], &[Set(LATE), Ask(1, 50)]]);
    // There is less of it than a refill takes, so none is released.
    let prepare = |limiter: &Sharded| {
        fill(limiter, 0, 4);
        0
    };
    late_is_bounded(2, (MANY, prepare), [&[Ask(0, 1)], &[Set(LATE), Ask(0, 4)]]);
}

/// The same for a lease, which refills it.
#[test]
fn room_that_a_lease_is_drawn_into_was_empty() {
    let prepared = (MANY, eight_in_a_shard as fn(&Sharded) -> u64);
    late_is_bounded(2, prepared, [&[Lease(0, 8)], &[Set(LATE), Ask(0, 8)]]);
}

/// Four of the eight are in a shard, and three held for ever.
fn one_is_left(limiter: &Sharded) -> u64 {
    fill(limiter, 0, 4);
    std::mem::forget(limiter.shard(1).lease(3).unwrap());
    assert_eq!(act(limiter, &[Ask(1, 1)]), 0);
    3
}

/// A denial that finds so little left that nothing is refilled gives back all reserved capacity
/// that is empty.
#[test]
fn a_denial_gives_back_room_that_was_empty() {
    let prepared = (EIGHT, one_is_left as fn(&Sharded) -> u64);
    late_is_bounded(3, prepared, [&[Ask(1, 6)], &[Set(LATE), Ask(0, 4)]]);
    late_is_bounded(3, prepared, [&[Ask(0, 6)], &[Set(LATE), Ask(0, 4)]]);
    // Some is empty from the first.
    let prepare = |limiter: &Sharded| one_is_left(limiter) + act(limiter, &[Ask(0, 1)]);
    late_is_bounded(3, (EIGHT, prepare), [&[Ask(1, 6)], &[Set(LATE), Ask(0, 3)]]);
}

/// Two are refused at once, and both would release the same capacity.
#[test]
fn empty_room_is_given_back_once() {
    let prepare = |limiter: &Sharded| one_is_left(limiter) + act(limiter, &[Ask(0, 1)]);
    late_is_bounded(2, (EIGHT, prepare), [&[Ask(0, 6)], &[Ask(1, 6), Set(LATE)]]);
}

/// Room is not given back for what the root was before others drew from it.
#[test]
fn room_is_given_back_for_the_word_and_the_room_of_one_instant() {
    let prepare = |limiter: &Sharded| {
        fill(limiter, 0, 4);
        0
    };
    let quota = quota!(1 / second, burst 12);
    let draw: &[Step] = &[Lease(1, 4), Set(2 * SECOND), Ask(0, 4)];
    late_is_bounded(2, (quota, prepare), [&[Ask(1, 12)], draw]);
}

/// Room of after a reset is not given back for what the root was before it.
#[test]
fn room_is_given_back_by_a_look_that_is_no_older() {
    let empty = (EIGHT, (|limiter| act(limiter, &[Ask(1, 8)])) as fn(&Sharded) -> u64);
    let anew: &[Step] = &[Reset, Lease(0, 4), Set(2 * SECOND), Ask(0, 4)];
    late_is_bounded(2, empty, [&[Ask(1, 8)], anew]);
    late_is_bounded(1, empty, [&[Ask(0, 8)], anew]);
}

/// Permits credited beside calls that move capacity are not there once more when that capacity comes
/// back later.
#[test]
fn a_credit_beside_room_that_moves_is_within_the_burst() {
    let full = (FEW, (|_| 0) as fn(&Sharded) -> u64);
    late_is_bounded(2, full, [&[Credit(8), Set(LATE), Ask(1, 32)], &[Ask(0, 1)]]);
    let eight = (MANY, eight_in_a_shard as fn(&Sharded) -> u64);
    late_is_bounded(2, eight, [&[Credit(64), Set(LATE), Ask(0, 8)], &[Ask(0, 1)]]);
    late_is_bounded(1, eight, [&[Credit(64), Set(LATE), Ask(1, 50)], &[Lease(0, 8)]]);
    let four = (FEW, four_were_spent as fn(&Sharded) -> u64);
    late_is_bounded(1, four, [&[Credit(32), Set(LATE), Ask(0, 32)], &[Ask(1, 28)]]);
}

/// Checks that of several credits at once nothing is lost, and nothing is there twice.
#[test]
fn credits_add_up() {
    for others in [&[Ask(0, 1), Ask(0, 1)][..], &[Lease(1, 4)], &[Credit(3)]] {
        check(2, move || {
            let limiter = sharded(FEW, TrueClock::new());
            four_were_spent(&limiter);
            // Eight are left.
            assert!(limiter.shard(1).try_acquire(20).is_ok());
            race(&limiter, [&[Credit(5)] as &[Step], others], act);
            let added = match others {
                [Credit(more)] => 5 + more,
                others => 5 - others.iter().filter(|step| matches!(step, Ask(..))).count() as u64,
            };
            assert_eq!(rest(&limiter), 8 + added);
        });
    }
}

/// Room of a lease is given back by a look at the time when it was empty.
#[test]
fn a_lease_that_is_spent_late_gives_back_room_that_was_empty() {
    let full = (FEW, (|_| 0) as fn(&Sharded) -> u64);
    let lease: &[Step] = &[SpendAt(0, 8, LATE)];
    late_is_bounded(2, full, [lease, &[Ask(1, 24)]]);
    late_is_bounded(2, full, [lease, &[Ask(1, 32)]]);
    late_is_bounded(2, full, [lease, &[SpendAt(1, 8, LATE)]]);
}

/// A shard was refilled by four, and they were spent; then the root filled up, but for their
/// capacity.
fn four_were_spent(limiter: &Sharded) -> u64 {
    let late = act(limiter, &[Ask(0, 1), Ask(0, 1), Ask(0, 1), Ask(0, 1)]);
    assert_eq!(late, 0);
    0
}

/// The root records what it has cut off before it gets reserved capacity back: beside refills, and
/// while the clock moves.
#[test]
fn a_root_is_cut_beside_draws() {
    let prepared = (FEW, four_were_spent as fn(&Sharded) -> u64);
    late_is_bounded(3, prepared, [&[Set(LATE), Ask(0, 32)], &[Ask(1, 28)]]);
    late_is_bounded(2, prepared, [&[Ask(0, 32)], &[Set(LATE), Ask(1, 28)]]);
    late_is_bounded(1, prepared, [&[Set(LATE), Ask(0, 32)], &[Ask(0, 1), Ask(1, 20)]]);
    late_is_bounded(2, prepared, [&[Set(LATE), Ask(0, 32)], &[Ask(1, 32)]]);
    late_is_bounded(1, prepared, [&[Ask(0, 32)], &[Set(LATE), Ask(1, 8)], &[Ask(1, 20)]]);
}

/// A caller that is refused the whole burst, and asks again after the wait that it was given, has
/// it as soon as it is earned: the capacity that is missing has come back.
#[test]
fn a_denial_of_the_burst_keeps_its_word() {
    let others: [&'static [Step]; 3] = [&[Ask(1, 1)], &[Ask(0, 1)], &[Ask(0, 32)]];
    for other in others {
        check(1, move || {
            let limiter = sharded(FEW, TrueClock::new());
            four_were_spent(&limiter);
            limiter.clock().set(LATE);
            let granted: u64 = race(&limiter, [&[Ask(1, 32)] as &[Step], other], act).iter().sum();
            // By then the four of the capacity and what was granted are earned.
            let earned = LATE + (4 + granted) * SECOND;
            while let Err(denied) = limiter.shard(1).try_acquire(32) {
                let now = limiter.clock().now_nanos();
                assert!(now < earned, "refused at {now} ns");
                let wait = denied.retry_after().unwrap().as_nanos();
                limiter.clock().set(now + u64::try_from(wait).unwrap());
            }
        });
    }
}
