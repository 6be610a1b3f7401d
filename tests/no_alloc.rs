//! No verb allocates, but for a snapshot of windows and a receipt of several
//! limiters. Counted by an allocator of our own, for the calling thread
//! only, because the test harness has threads too.

use std::hint::black_box;
use std::time::Duration;

use sluicegate::bucket::*;
use sluicegate::compose::{All, Counted};
use sluicegate::keyed::{HotKeys, Penalties};
use sluicegate::penalty::{PenaltyBox, PenaltyRule};
use sluicegate::settle::{AllOrNone, Receipt, Settle};
use sluicegate::window::*;
use sluicegate::*;

use crate::support::allocator::allocations;
use crate::support::limiters::{buckets, windows};

mod keys;
mod waiting;

fn every_verb(limiter: &TokenBucket<&ManualClock>) {
    for permits in [0, 1, 3, 10, u64::MAX] {
        for answer in [
            limiter.try_acquire(permits),
            limiter.try_acquire_up_to(permits),
            limiter.peek(permits),
            limiter.force(permits),
        ] {
            let _ = answer.map(|grant| (grant.reset_after(), grant.ready_after()));
            let _ = answer.map_err(|denied| denied.retry_after());
        }
    }
    limiter.clock().advance(Duration::from_millis(700));
    limiter.drain();
    limiter.reset();
    limiter.reconfigure(quota!(7 / minute), Carry::Scale);
    let saved = Snapshot::from_bytes(limiter.snapshot().to_bytes()).unwrap();
    limiter.restore(&saved, Duration::from_secs(5));
    limiter.reconfigure(quota!(10 / second).with_refill(Refill::Interval), Carry::Keep);
    let _ = (limiter.quota(), limiter.healed());
    // One that heals.
    limiter.clock().rewind(Duration::from_secs(3_600));
    let _ = limiter.try_acquire(1);
}

#[test]
fn no_verb_allocates() {
    let clock = ManualClock::at(86_400_000_000_000);
    assert!(allocations(|| drop(black_box(Box::new(1)))) == 1, "the counter counts");
    let made = allocations(|| {
        let limiter = TokenBucket::with_clock(quota!(10 / second), &clock);
        (0..10).for_each(|_| every_verb(&limiter));
        assert!(limiter.healed() > 0);
    });
    assert_eq!(made, 0);
}

#[test]
fn settling_does_not_allocate() {
    let clock = ManualClock::new();
    let bucket = SettleableBucket::with_clock(quota!(10 / second), &clock);
    let made = allocations(|| {
        for used in [0, 2, 4, 7, u64::MAX] {
            let early = bucket.try_acquire_settleable(4);
            let late = bucket.try_acquire_settleable(6);
            for estimate in [early, late].into_iter().flatten() {
                let _ = estimate.settle(used);
            }
            let _ = (bucket.try_acquire(3), bucket.try_acquire_up_to(9), bucket.drain());
            clock.advance(Duration::from_millis(700));
        }
    });
    assert_eq!(made, 0);

    let windows: [Box<dyn Settle + '_>; 3] = [
        Box::new(FixedWindow::with_clock(rate!(10 / second), &clock).unwrap()),
        Box::new(WindowFromFirst::with_clock(rate!(10 / second), &clock).unwrap()),
        Box::new(SlidingCounter::with_clock(rate!(10 / second), &clock).unwrap()),
    ];
    let made = allocations(|| {
        for used in [0, 2, 4, 7, u64::MAX] {
            for window in &windows {
                let early = window.try_acquire_settleable(4);
                clock.advance(Duration::from_millis(700));
                let late = window.try_acquire_settleable(6);
                for estimate in [early, late].into_iter().flatten() {
                    let _ = estimate.settle(used);
                }
            }
        }
    });
    assert_eq!(made, 0);
}

#[test]
fn grants_in_the_room_of_the_caller_are_kept_or_given_back_without_an_allocation() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(10 / second), &clock);
    let mut room = Vec::with_capacity(2);
    let made = allocations(|| {
        for second in [7, 3, 1] {
            let mut all = AllOrNone::from(std::mem::take(&mut room));
            let _ = all.add(bucket.try_acquire_revocable(4));
            let _ = all.add(bucket.try_acquire_revocable(second));
            room = all.keep();
            room.clear();
        }
    });
    assert_eq!((made, bucket.peek(0).unwrap().remaining()), (0, 2));
}

#[test]
fn penalties_do_not_allocate() {
    let clock = ManualClock::at(86_400_000_000_000);
    let second = Duration::from_secs(1);
    let rule = PenaltyRule::new(rate!(3 / minute), second).unwrap();
    let every_verb = |penalties: &PenaltyBox<&ManualClock>| {
        let _ = (penalties.offend(2), penalties.try_acquire(1), penalties.peek(0));
        let _ = (penalties.offend(1), penalties.try_acquire(1), penalties.offend(1));
        let _ = penalties.try_acquire(1).map_err(|denied| denied.retry_after());
        penalties.reconfigure(rule.doubled_up_to(9 * second, 60 * second).unwrap());
        clock.rewind(Duration::from_secs(3_600));
        let _ = (penalties.penalize_for(second), penalties.is_idle(), penalties.rule());
        let _ = (penalties.clear(), penalties.healed());
    };
    let made = allocations(|| {
        let penalties = PenaltyBox::with_clock(rule, &clock);
        (0..10).for_each(|_| every_verb(&penalties));
        assert!(penalties.healed() > 0);
    });
    assert_eq!(made, 0);

    {
        let keyed = Keyed::<String, _>::with(Penalties::with_clock(rule, &clock));
        keyed.offend("ada", 1).unwrap();
        let made = allocations(|| {
            for key in ["ada", "bob", "eve"] {
                let _ = (keyed.try_acquire(key, 1), keyed.peek(key, 1), keyed.clear(key));
                let _ = keyed.offend("ada", 1);
            }
        });
        assert_eq!((made, keyed.len()), (0, 1));
    }
}

/// Takes any text, and keeps none.
struct Anywhere;

impl std::fmt::Write for Anywhere {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        black_box(text);
        Ok(())
    }
}

#[test]
fn a_limiter_is_shown_without_an_allocation() {
    use std::fmt::{Debug, Write};

    let clock = ManualClock::at(86_400_000_000_000);
    let (quota, limit, tenth) =
        (quota!(10 / second), rate!(10 / minute), Duration::from_millis(100));
    let check = |limiter: &dyn Debug| {
        let made = allocations(|| {
            write!(Anywhere, "{limiter:?} {limiter:#?}").unwrap();
        });
        assert_eq!(made, 0, "{limiter:?}");
    };
    macro_rules! check_buckets {
        ($((
            $Kind:ident, $name:literal, $Bucket:ident,
            |$quota:ident, $clock:ident| $make:block, $change:expr
        ))*) => {$({
            let ($quota, $clock) = (quota, &clock);
            check(&$make);
        })*};
    }
    macro_rules! check_windows {
        ($((
            $Kind:ident, $name:literal, $Window:ident,
            |$limit:ident, $slots:ident, $entries:ident, $clock:ident| $make:block,
            $state:expr, $facts:tt
        ))*) => {$({
            let ($limit, $slots, $entries, $clock) = (limit, 6, limit.permits(), &clock);
            check(&$make.unwrap());
        })*};
    }
    buckets!(check_buckets);
    windows!(check_windows);
    check(&MultiWindow::with_slots([limit, rate!(99 / day)], 6, &clock).unwrap());
    check(&Sharded::builder(quota).shards(4).clock(&clock).build().unwrap());
    check(&PenaltyBox::with_clock(PenaltyRule::new(limit, tenth).unwrap(), &clock));
    check(&Counted::new(TokenBucket::with_clock(quota, &clock)));
    #[cfg(feature = "keyed")]
    check(&Keyed::<u64>::new(quota));
    let table = KeyTable::<u64>::with_memory(quota, 640).unwrap();
    check(&HotKeys::with_places(table, 2).unwrap());
}

/// The verbs of every limiter, and what its answers can be asked.
fn every_common_verb(limiter: &dyn Limiter) {
    for permits in [0, 1, 2, 3, 10, u64::MAX] {
        for answer in [
            limiter.try_acquire(permits),
            limiter.try_acquire_up_to(permits),
            limiter.peek(permits),
        ] {
            let _ = answer.map(|grant| (grant.reset_after(), grant.remaining()));
            let _ = answer.map_err(|denied| (denied.retry_after(), denied.which()));
        }
    }
    limiter.reset();
}

/// Does all that a limiter can on `$clock` but to make a snapshot. What concerns one
/// of its windows takes `$which`, if it has several.
macro_rules! every_verb_of_a_window {
    ($clock:ident, $limiter:expr, $($which:expr)?) => {{
        let limiter = $limiter.unwrap();
        let made = allocations(|| {
            for _ in 0..10 {
                every_common_verb(&limiter);
                let _ = limiter.try_acquire(1);
                // New slots, and an idle time.
                for nanos in [70_000_000, 700_000_000, 3_600_000_000_000] {
                    $clock.advance_nanos(nanos);
                    let _ = limiter.try_acquire(1);
                    let _ = limiter.count($($which)?);
                }
                for give_back in [true, false] {
                    let receipt = limiter.try_acquire_revocable(1);
                    let _ = receipt.map(|receipt| give_back && receipt.give_back());
                }
                for limit in [2, 3] {
                    limiter.reconfigure($($which,)? limit).unwrap();
                }
                // One that heals.
                $clock.rewind(Duration::from_secs(1_800));
                let _ = limiter.try_acquire(1);
            }
            assert!(limiter.healed() > 0);
        });
        assert_eq!(made, 0, "{limiter:?}");
    }};
}

#[test]
fn no_verb_of_a_window_allocates() {
    let clock = ManualClock::at(86_400_000_000_000);
    let rate = rate!(3 / second);
    macro_rules! every_window {
        ($((
            $Kind:ident, $name:literal, $Window:ident,
            |$limit:ident, $slots:ident, $entries:ident, $clock:ident| $make:block,
            $state:expr, $facts:tt
        ))*) => {$({
            let ($limit, $slots, $entries, $clock) = (rate, 10, rate.permits(), &clock);
            every_verb_of_a_window!(clock, $make,);
        })*};
    }
    windows!(every_window);
    every_verb_of_a_window!(clock, SlidingWindow::compact(rate, 10, &clock),);
    let rates = [rate, rate!(9 / minute)];
    every_verb_of_a_window!(clock, MultiWindow::with_slots(rates, 10, &clock), 0);
}

#[test]
fn several_limiters_allocate_for_a_receipt_only() {
    let clock = ManualClock::at(86_400_000_000_000);
    let bucket = TokenBucket::with_clock(quota!(10 / second), &clock);
    let window = FixedWindow::with_clock(rate!(12 / minute), &clock).unwrap();
    let sliding = SlidingWindow::with_slots(rate!(14 / minute), 60, &clock).unwrap();
    let all = All::new([&bucket as &dyn Limiter, &window, &sliding]).unwrap();
    let made = allocations(|| {
        for _ in 0..10 {
            every_common_verb(&all);
            clock.advance_nanos(700_000_000);
        }
    });
    assert_eq!(made, 0);
    let made = allocations(|| assert!(all.try_acquire_revocable(1).unwrap().give_back()));
    assert_eq!(made, 1);
}

#[test]
fn no_verb_of_shards_and_leases_allocates() {
    let clock = ManualClock::at(86_400_000_000_000);
    let limiter = Sharded::builder(quota!(1_000 / second)).shards(4).clock(&clock).build().unwrap();
    // A thread that has no number yet takes one, which may need room in a list.
    let _ = limiter.try_acquire(1);
    let made = allocations(|| {
        for _ in 0..10 {
            for index in 0..4 {
                every_common_verb(&limiter.shard(index));
                drop(limiter.shard(index).lease(300));
                let _ = limiter.lease(5).map(|mut lease| lease.spend(3));
                let receipt = limiter.try_acquire_revocable(2);
                let _ = receipt.map(Receipt::give_back);
            }
            every_common_verb(&limiter);
            // Draws, and then denials, which are remembered.
            for permits in [1, 700].into_iter().flat_map(|permits| [permits; 1_500]) {
                let _ = limiter.try_acquire(permits);
            }
            limiter.reconfigure(quota!(700 / minute), Carry::Scale);
            let saved = Snapshot::from_bytes(limiter.snapshot().to_bytes()).unwrap();
            limiter.restore(&saved, Duration::from_secs(5));
            limiter.reconfigure(quota!(1_000 / second), Carry::Reset);
            // One that heals.
            let _ = limiter.try_acquire(900);
            clock.rewind(Duration::from_secs(1_800));
            let _ = limiter.try_acquire(500);
            clock.advance(Duration::from_secs(3_600));
        }
        assert!(limiter.healed() > 0);
    });
    assert_eq!(made, 0);
}

#[test]
fn no_lease_of_one_word_allocates() {
    let clock = ManualClock::at(86_400_000_000_000);
    let bucket = TokenBucket::with_clock(quota!(10 / second), &clock);
    let made = allocations(|| {
        for _ in 0..10 {
            let _ = bucket.lease(5).map(|mut lease| lease.spend(3));
            drop(bucket.lease(u64::MAX));
        }
    });
    assert_eq!(made, 0);
}

#[test]
#[cfg(feature = "quanta")]
fn no_clock_allocates_once_it_is_made() {
    let bucket = TokenBucket::new(quota!(10 / second));
    let made = allocations(|| {
        for _ in 0..20 {
            let _ = bucket.try_acquire(1);
        }
    });
    assert_eq!(made, 0);
}
