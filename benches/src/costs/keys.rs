//! The costs of a table of keys, and of seats for the hot ones.

use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasherDefault;
use std::time::Duration;

use sluicegate_counted::keyed::HotKeys;
use sluicegate_counted::{KeyTable, Quota, quota};

use super::{Cost, CountingClock, count_all};

/// A fixed hasher, so that a key is always in the same line.
type Hasher = BuildHasherDefault<DefaultHasher>;

type Counted<'a> = KeyTable<u64, Hasher, &'a CountingClock>;

const FEW: Quota = quota!(2 / second);

/// Enough for a seat to prepay.
const MANY: Quota = quota!(1_000_000 / second);

const KEY: u64 = 7;

fn table(quota: Quota, clock: &CountingClock) -> Counted<'_> {
    let builder = KeyTable::builder_with(quota, Hasher::default(), clock);
    builder.keys(100).expect("the number of keys is in range")
}

/// The costs of every verb.
pub(super) fn all(clock: &CountingClock) -> Vec<Cost> {
    [tables(clock), seats(clock)].concat()
}

fn tables(clock: &CountingClock) -> Vec<Cost> {
    let table = table(FEW, clock);
    let cost = |name, verb: &dyn Fn()| count_all(clock, "key_table", name, verb);
    let admit = || assert!(table.try_acquire(&KEY, 1).is_ok());
    vec![
        cost("try_acquire, admitted as a new key", &admit),
        cost("try_acquire, admitted", &admit),
        cost("try_acquire, denied", &|| assert!(table.try_acquire(&KEY, 1).is_err())),
        cost("try_acquire, denied as too large", &|| assert!(table.try_acquire(&KEY, 9).is_err())),
        cost("try_acquire of 0", &|| assert!(table.try_acquire(&KEY, 0).is_ok())),
        cost("peek, denied", &|| assert!(table.peek(&KEY, 1).is_err())),
        cost("reset", &|| table.reset(&KEY)),
    ]
}

/// Counts the verbs for hot keys. The first refusal is noted beside the seat, and only the next
/// ones are called denials.
fn seats(clock: &CountingClock) -> Vec<Cost> {
    let limiter = HotKeys::with_places(table(MANY, clock), 4).expect("four are in range");
    let cost = |name, verb: &dyn Fn()| count_all(clock, "hot_keys", name, verb);
    let place = limiter.place(0);
    let admit = || assert!(place.try_acquire(&KEY, 1).is_ok());
    admit();
    let mut costs = vec![cost("try_acquire, admitted without a seat", &admit)];
    while !limiter.is_hot(&KEY) {
        admit();
    }
    costs.push(cost("try_acquire, admitted by a draw", &admit));
    costs.push(cost("try_acquire, admitted from its seat", &admit));
    clock.advance(Duration::from_millis(1));
    while limiter.store().try_acquire(&KEY, 1).is_ok() {}
    while place.try_acquire(&KEY, 1).is_ok() {}
    costs.push(cost("try_acquire, denied again", &|| assert!(place.try_acquire(&KEY, 1).is_err())));
    costs
}
