//! That a table allocates nothing once it is made, however many keys come: counted by an
//! allocator of our own, for the calling thread only.

use sluicegate::keyed::WhenFull;
use sluicegate::settle::Receipt;
use sluicegate::*;

use super::{SECOND, builder, often};
use crate::support::allocator::allocations;

#[test]
fn no_verb_of_a_table_allocates_but_the_batch_that_returns_a_vector() {
    let clock = ManualClock::at(SECOND);
    let quota = quota!(10 / second);
    for when_full in [WhenFull::Deny, WhenFull::Admit, WhenFull::Share(quota)] {
        let table = builder(quota, &clock).tier(quota!(7 / second)).when_full(when_full);
        let table = table.memory(640).unwrap();
        let keys: Vec<u64> = (0..500).collect();
        let made = allocations(|| {
            for _ in 0..10 {
                for tier in [0, 1].map(|number| table.tier(number).unwrap()) {
                    for key in &keys {
                        for permits in [0, 1, 3, u64::MAX] {
                            let _ = tier.try_acquire(key, permits).map(|it| it.reset_after());
                            let _ = tier.try_acquire_up_to(key, permits).map_err(|it| it.which());
                            let _ = tier.peek(key, permits).map_err(|it| it.retry_after());
                            let receipt = tier.try_acquire_revocable(key, permits);
                            let _ = receipt.map(Receipt::give_back);
                        }
                    }
                    tier.try_acquire_batch_with(&keys, 1, |_, _| ());
                }
                for key in keys.iter().step_by(3) {
                    table.remove(key);
                }
                keys.iter().step_by(5).for_each(|key| table.reset(key));
                clock.advance_nanos(SECOND / 3);
                let _ = (table.sweep(), table.occupancy(), table.iter().count());
                let _ = (table.memory_bytes(), table.wrap_period(), table.quota());
            }
            assert!(table.full_events() > 0);
        });
        assert_eq!(made, 0);
        assert_eq!(allocations(|| drop(table.try_acquire_batch(&keys, 1))), 1);
    }
}

#[test]
fn a_table_is_as_large_after_a_million_keys_as_it_was_before() {
    let clock = ManualClock::at(SECOND);
    let table = builder(quota!(10 / second), &clock).keys(10_000).unwrap();
    let before = table.memory_bytes();
    let mut granted = 0_u64;
    let keys = often(1_000_000);
    let made = allocations(|| {
        for key in 0..keys {
            granted += u64::from(table.try_acquire(&key, 1).is_ok());
            if key % 8 == 0 {
                clock.advance_nanos(SECOND / 10_000);
            }
        }
    });
    assert_eq!((made, table.memory_bytes()), (0, before));
    // 80,000 keys a second, each of which is full after 100 ms.
    assert!(granted > keys - keys / 100, "{granted} of {keys}");
}
