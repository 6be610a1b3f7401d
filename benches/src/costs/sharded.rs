//! The costs of a sharded limiter, and of its leases.

use sluicegate_counted::bucket::Carry;
use sluicegate_counted::sharded::Shard;
use sluicegate_counted::{Grant, Quota, Sharded, quota};

use super::{Cost, CountingClock, count_all};

/// The shards of each limiter here.
const SHARDS: usize = 4;

/// Far from the limit even when each shard has refilled as much as it may.
const MANY: Quota = quota!(1_000_000 / second);

/// So near the limit that no shard ever refills.
const FEW: Quota = quota!(2 / second);

/// The most that a shard takes in one refill.
const MOST: u64 = 1_024;

const THERE: &str = "there are permits";

type Counted<'a> = Sharded<&'a CountingClock>;

fn sharded(quota: Quota, clock: &CountingClock) -> Counted<'_> {
    Sharded::builder(quota)
        .shards(SHARDS)
        .clock(clock)
        .build()
        .expect("the number of shards is in range")
}

/// The costs of every verb.
pub(super) fn all(clock: &CountingClock) -> Vec<Cost> {
    [admissions(clock), denials(clock), leases(clock), others(clock)].concat()
}

/// Spends what `shard` has left after `grant`.
fn use_up(shard: &Shard<'_, &CountingClock>, grant: Grant) {
    let left = grant.remaining();
    assert!(left == 0 || shard.try_acquire(left).is_ok_and(|grant| grant.remaining() == 0));
}

fn admissions(clock: &CountingClock) -> Vec<Cost> {
    let limiter = sharded(MANY, clock);
    let shard = limiter.shard(0);
    let cost = |name, verb: &dyn Fn()| count_all(clock, "sharded", name, verb);
    let admit = || assert!(shard.try_acquire(1).is_ok());
    let mut costs = vec![
        cost("try_acquire, admitted by a first draw", &admit),
        cost("try_acquire, admitted from its shard", &admit),
    ];
    // What a refill leaves is reported with the next grant.
    use_up(&shard, shard.try_acquire(1).expect(THERE));
    costs.push(cost("try_acquire, admitted by a draw of twice as much", &admit));
    loop {
        let left = shard.try_acquire(1).expect(THERE);
        use_up(&shard, left);
        // One for this grant, and one for the grant that refilled.
        if left.remaining() + 2 == MOST {
            break;
        }
        admit();
    }
    costs.push(cost("try_acquire, admitted by a draw of as much", &admit));

    let limiter = sharded(FEW, clock);
    costs.push(cost("try_acquire, admitted near the limit", &|| {
        assert!(limiter.shard(0).try_acquire(1).is_ok());
    }));

    let limiter = sharded(MANY, clock);
    assert!(limiter.shard(1).try_acquire(1).is_ok());
    empty_root(&limiter);
    costs.push(cost("try_acquire, admitted from another's shard", &|| {
        assert!(limiter.shard(0).try_acquire(1).is_ok());
    }));
    costs
}

/// Takes all but what other shards than the last one hold.
fn empty_root(limiter: &Counted<'_>) {
    let elsewhere: u64 = 16 - 1;
    let rest = limiter.peek(0).expect(THERE).remaining() - elsewhere;
    assert!(limiter.shard(SHARDS - 1).try_acquire(rest).is_ok());
}

/// Counts denials. The first refusal of a request is noted beside the shard's tokens; only the
/// next ones are denials that write nothing, so only those are called denials.
fn denials(clock: &CountingClock) -> Vec<Cost> {
    let limiter = sharded(FEW, clock);
    let shard = limiter.shard(0);
    let cost = |name, verb: &dyn Fn()| count_all(clock, "sharded", name, verb);
    let deny = || assert!(shard.try_acquire(1).is_err());
    assert!(shard.try_acquire(2).is_ok());
    let mut costs = vec![
        cost("try_acquire, first refused", &deny),
        cost("try_acquire, denied again", &deny),
        cost("try_acquire_up_to, denied again", &|| assert!(shard.try_acquire_up_to(1).is_err())),
        cost("peek, denied", &|| assert!(limiter.peek(1).is_err())),
        cost("try_acquire, denied as too large", &|| assert!(shard.try_acquire(9).is_err())),
    ];

    let limiter = sharded(MANY, clock);
    let shard = limiter.shard(0);
    assert!(shard.try_acquire(1).is_ok());
    empty_root(&limiter);
    assert!(shard.try_acquire(15).is_ok());
    costs.push(cost("try_acquire, first refused, and room given back", &|| {
        assert!(shard.try_acquire(1).is_err());
    }));
    costs
}

fn leases(clock: &CountingClock) -> Vec<Cost> {
    let limiter = sharded(MANY, clock);
    let shard = limiter.shard(0);
    let name = "sharded";
    let mut held = None;
    let mut costs = vec![count_all(clock, name, "lease, from the root", || {
        held = shard.lease(100).ok();
    })];
    let mut lease = held.take().expect(THERE);
    assert_eq!(lease.left(), 100);
    costs.push(count_all(clock, name, "lease: spend", || assert!(lease.spend(1))));
    costs.push(count_all(clock, name, "lease: dropped, with permits left", || drop(lease)));

    costs.push(count_all(clock, name, "lease, from its shard", || held = shard.lease(99).ok()));
    let mut lease = held.take().expect(THERE);
    assert!(lease.spend(99));
    costs.push(count_all(clock, name, "lease: dropped, used up", || drop(lease)));
    costs
}

fn others(clock: &CountingClock) -> Vec<Cost> {
    let limiter = sharded(MANY, clock);
    let cost = |name, verb: &dyn Fn()| count_all(clock, "sharded", name, verb);
    let drawn = |name, verb: &dyn Fn()| {
        assert!(limiter.shard(0).try_acquire(1).is_ok());
        cost(name, verb)
    };
    vec![
        cost("peek", &|| assert!(limiter.peek(1).is_ok())),
        cost("try_acquire of 0", &|| assert!(limiter.shard(0).try_acquire(0).is_ok())),
        cost("snapshot", &|| assert!(limiter.snapshot().remaining() > 0)),
        cost("reset, of empty shards", &|| limiter.reset()),
        drawn("reset, of one shard", &|| limiter.reset()),
        drawn("reconfigure, of one shard", &|| limiter.reconfigure(MANY, Carry::Keep)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn the(verb: &str) -> Cost {
        let costs = all(&CountingClock::default());
        costs.into_iter().find(|cost| cost.limiter == "sharded" && cost.verb == verb).expect(verb)
    }

    #[test]
    fn a_permit_of_the_shard_is_one_read_modify_write_and_no_reading_of_a_clock() {
        let Cost { clock_reads, loads, stores, rmws, .. } =
            the("try_acquire, admitted from its shard");
        // One load is of the shard's word; the others read the quota that a grant reports.
        assert_eq!((clock_reads, loads, stores, rmws), (0, 3, 0, 1));
    }

    #[test]
    fn a_permit_of_a_lease_is_nothing() {
        let Cost { clock_reads, loads, stores, rmws, .. } = the("lease: spend");
        assert_eq!((clock_reads, loads, stores, rmws), (0, 0, 0, 0));
    }

    #[test]
    fn a_draw_is_at_most_five_read_modify_writes() {
        for draw in [
            "try_acquire, admitted by a first draw",
            "try_acquire, admitted by a draw of twice as much",
            "try_acquire, admitted by a draw of as much",
        ] {
            let cost = the(draw);
            assert!(cost.rmws <= 5 && cost.stores == 0 && cost.clock_reads <= 2, "{cost:?}");
        }
    }

    #[test]
    fn near_the_limit_an_admission_is_that_of_a_single_word() {
        let Cost { clock_reads, stores, rmws, .. } = the("try_acquire, admitted near the limit");
        assert_eq!((clock_reads, stores, rmws), (1, 0, 1));
    }

    #[test]
    fn a_first_refusal_is_noted_beside_its_shard_and_the_next_only_reads_that() {
        let first = the("try_acquire, first refused");
        // A lock word is taken, and a refusal of eleven words written; then it is freed.
        assert_eq!((first.rmws, first.stores), (1, 12));
        let again = the("try_acquire, denied again");
        assert!(again.is_read_only());
        // The word of the shard; the number of times that tokens came back or the limiter was
        // changed, and that of healings of the root; and the denial cache, with its lock word
        // before and after.
        assert_eq!((again.clock_reads, again.loads), (1, 17));
    }
}
