//! Models of shares: a common bucket, and one for each tenant. What is checked, over every interleaving:
//!
//! * no tenant is refused its share, and nothing is granted beyond the bound or lost: the common bucket holds what is
//!   not granted, or owes what is;
//! * a place is one tenant's at a time, and one that is free is found;
//! * what is borrowed beside a change leaves what the new shares need, of the common bucket and of a ceiling;
//! * what was done before a grant is seen after the next, whoever has them.

#![cfg(sluicegate_loom)]

use sluicegate::share::{Share, ShareGrant, Shares};
use sluicegate::{Denied, Quota, quota};
use sluicegate_loom_tests::tables::Plain;
use sluicegate_loom_tests::{Admission, Arc, Ledger, SECOND, TestClock, check, race};

struct Tenants {
    shares: Shares<u64, Arc<TestClock>, Plain>,
    clock: Arc<TestClock>,
}

/// When all begins.
const NOW: u64 = 10 * SECOND;

/// A group that there is not, whose tenants only borrow.
const NONE: usize = 9;

/// A part of a race.
#[derive(Clone, Copy, Debug)]
enum Act {
    Ask {
        group: usize,
        tenant: u64,
        permits: u64,
    },
    /// Changes the shares, and then sets the clock on by a second.
    Change {
        quota: Quota,
        share: Share,
    },
}

use self::Act::{Ask, Change};

fn tenants(quota: Quota, shares: &[Share]) -> Arc<Tenants> {
    TestClock::run_ahead(0);
    let clock = Arc::new(TestClock::new());
    clock.set(NOW);
    let plain = Plain::default();
    let shares = Shares::with_hasher(quota, shares.iter().copied(), Arc::clone(&clock), plain);
    Arc::new(Tenants { shares: shares.unwrap(), clock })
}

/// The admission of each ask, and whether it is assured.
type Events = Vec<(Admission, bool)>;

fn event(answer: Result<ShareGrant, Denied>) -> (Admission, bool) {
    let is_assured = answer.is_ok_and(ShareGrant::is_assured);
    (Admission::of(answer.map(ShareGrant::grant)), is_assured)
}

fn play(Tenants { shares, clock }: &Tenants, acts: &[Act]) -> Events {
    let mut events = Vec::new();
    for act in acts {
        match *act {
            Ask { group, tenant, permits } => {
                events.push(event(shares.try_acquire(group, &tenant, permits)));
            }
            Change { quota, share } => {
                shares.reconfigure(quota, [share]).unwrap();
                clock.set(NOW + SECOND);
            }
        }
    }
    events
}

/// Permits in the common bucket, negative for a debt: what may be borrowed, and what is kept.
fn balance(Tenants { shares, .. }: &Tenants) -> i64 {
    let share = shares.share(0).unwrap();
    let kept = share.assured().burst() * share.tenants() as u64;
    let lent = match shares.peek(NONE, &0, 0) {
        Ok(granted) => granted.grant().balance(),
        Err(denied) => denied.balance().unwrap(),
    };
    lent + kept as i64
}

const ONE: Quota = quota!(1 / second, burst 1);

#[test]
fn tenants_at_the_same_time_have_their_shares_and_all_together_the_bound() {
    let both = Share::new(ONE).with_tenants(2);
    let ask = |tenant, permits| Ask { group: 0, tenant, permits };
    let borrow = Ask { group: NONE, tenant: 0, permits: 2 };
    // Of two shards, and of one.
    for other in [1, 2] {
        check(3, move || {
            let tenants = tenants(quota!(2 / second, burst 4), &[both]);
            let parts = [vec![ask(0, 1), ask(0, 1)], vec![ask(other, 1)], vec![borrow]];
            let events = race(&tenants, parts, |tenants, acts| play(tenants, &acts));
            assert!(events[0][0].1 && events[1][0].1, "a share was refused: {events:?}");
            let ledger: Ledger = events.iter().flatten().map(|event| event.0).collect();
            assert_eq!(balance(&tenants), 4 - ledger.total() as i64, "{events:?}");
        });
    }
}

#[test]
fn a_place_is_one_tenants_at_a_time() {
    let share = Share::new(ONE);
    let ask = |tenant| Ask { group: 0, tenant, permits: 1 };
    check(2, move || {
        let tenants = tenants(quota!(1 / second, burst 2), &[share]);
        let parts = [ask(0), ask(2), ask(4)].map(|ask| vec![ask]);
        let events = race(&tenants, parts, |tenants, acts| play(tenants, &acts));
        let assured = events.iter().flatten().filter(|event| event.1).count();
        let ledger: Ledger = events.iter().flatten().map(|event| event.0).collect();
        assert_eq!(assured, 1, "{events:?}");
        assert!(ledger.total() <= 2 && balance(&tenants) >= 0, "{events:?}");
    });
}

#[test]
fn a_place_that_is_free_is_found_by_each_tenant_that_comes() {
    let share = Share::new(ONE).with_tenants(2);
    let ask = |tenant| Ask { group: 0, tenant, permits: 1 };
    // Both places are of one shard or of two, and so are the tenants that come.
    for (known, new) in [([0, 1], [2, 3]), ([0, 2], [1, 3]), ([0, 1], [2, 4])] {
        check(2, move || {
            let tenants = tenants(quota!(2 / second, burst 2), &[share]);
            let granted = play(&tenants, &known.map(ask));
            assert!(granted.iter().all(|event| event.1), "{granted:?}");
            tenants.clock.set(NOW + SECOND);
            let parts = new.map(|tenant| vec![ask(tenant)]);
            let events = race(&tenants, parts, |tenants, acts| play(tenants, &acts));
            let has_place = |event: &(Admission, bool)| event.1;
            assert!(events.iter().flatten().all(has_place), "a share was refused: {events:?}");
        });
    }
}

/// The shares after a change, and what a tenant borrows meanwhile.
fn leaves_enough(quota: Quota, before: Share, after: Share, borrows: Act, bound: Quota) {
    check(2, move || {
        let tenants = tenants(quota, &[before]);
        let change = Change { quota, share: after };
        let parts = [vec![change], vec![borrows]];
        let mut events: Events = race(&tenants, parts, |tenants, acts| play(tenants, &acts))
            .into_iter()
            .flatten()
            .collect();
        let burst = after.assured().burst();
        events.extend(play(&tenants, &[Ask { group: 0, tenant: 0, permits: burst }]));
        assert!(events.last().unwrap().1, "the new share was refused: {events:?}");
        Ledger::from_iter(events.iter().map(|event| event.0)).assert_bounded(bound, 0);
        assert!(balance(&tenants) >= 0, "{events:?}");
    });
}

/// A burst that was raised by 1 has been earned a second later.
#[test]
fn what_is_borrowed_beside_a_change_leaves_what_the_new_shares_need() {
    let quota = quota!(1 / second, burst 3);
    let (before, after) = (Share::new(ONE), Share::new(quota!(1 / second, burst 2)));
    leaves_enough(quota, before, after, Ask { group: NONE, tenant: 0, permits: 2 }, quota);
}

#[test]
fn what_is_borrowed_below_a_ceiling_beside_a_change_leaves_what_the_new_share_needs() {
    let ceiling = quota!(1 / second, burst 4);
    let before = Share::new(ONE).with_ceiling(ceiling);
    let after = Share::new(quota!(1 / second, burst 2)).with_ceiling(ceiling);
    let borrows = Ask { group: 0, tenant: 0, permits: 3 };
    leaves_enough(quota!(10 / second, burst 20), before, after, borrows, ceiling);
}

#[test]
fn what_was_done_before_a_grant_is_seen_after_the_next_of_another_tenant() {
    use std::sync::atomic::Ordering::Relaxed;

    use sluicegate::model::Atomic;

    check(3, || {
        let share = Share::new(ONE).with_tenants(2);
        let tenants = tenants(quota!(2 / second, burst 4), &[share]);
        let shared = Arc::new((tenants, [Atomic::new(0), Atomic::new(0)]));
        // One of its share, and one that borrows.
        let parts = [(0, 0), (1, NONE)];
        let remaining = race(&shared, parts, |(tenants, done), (who, group)| {
            done[who].store(1, Relaxed);
            let granted = tenants.shares.try_acquire(group, &(who as u64), 1).unwrap();
            if let ShareGrant::Borrowed(grant) = granted
                && grant.remaining() == 0
            {
                assert_eq!(done[1 - who].load(Relaxed), 1, "the first was not seen");
            }
            granted.grant().remaining()
        });
        assert!(remaining[1] <= 1);
    });
}
