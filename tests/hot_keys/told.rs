//! Observers are told of each call, set-ups out of range are refused, nothing is allocated, and
//! the keys can be shared, shown and looked up in any borrowed form.

use std::hint::black_box;

use sluicegate::keyed::{Buckets, HotKeys};
use sluicegate::*;

use super::chosen::Chosen;
use super::subject::{Hot, take_all, with_each};
use super::{MS, Open, QUOTA, SECOND};
use crate::support::allocator::allocations;
use crate::support::observer::Told;

#[test]
fn no_call_for_a_known_key_allocates_hot_or_not() {
    assert_eq!(allocations(|| drop(black_box(Box::new(1)))), 1, "the counter counts");
    with_each(QUOTA, 4, |kind, limiter, clock| {
        for key in 0..20 {
            let _ = limiter.ask_at(0, key, 1);
        }
        let made = allocations(|| {
            for turn in 0..5_000 {
                for permits in [1, 1, 0, 30, u64::MAX] {
                    let _ = limiter.ask_at(turn, 1, permits).map(|grant| grant.reset_after());
                    let denied = limiter.ask_at(turn % 2, turn as u64 % 20, permits);
                    let _ = denied.map_err(|denied| denied.retry_after());
                }
                clock.pass(MS);
                if turn % 100 == 0 {
                    limiter.touch();
                    limiter.reset_key(2);
                }
            }
            assert!(limiter.has_seat(1));
        });
        assert_eq!(made, 0, "{kind:?}");
    });
}

fn ask_for_everything(limiter: &dyn Hot, told: &Told<u64>) {
    let mut expected = Vec::new();
    for turn in 0..3_000_u64 {
        let permits = [1, 1, 3, 40, 1_001, u64::MAX][(turn * turn / 7 % 6) as usize];
        let (place, key) = ((turn / 100) as usize, 1 + (turn % 11) / 10);
        let answer = limiter.ask_at(place, key, permits);
        expected.push((key, permits, answer));
    }
    assert!(limiter.has_seat(1));
    take_all(limiter, &[0], 1);
    let mut told = told.0.lock().unwrap();
    told.truncate(expected.len());
    assert_eq!(*told, expected);
    assert!(told.iter().filter(|told| told.2.is_ok()).count() > 100);
}

#[test]
fn an_observer_is_told_of_each_call_once() {
    let clock = Chosen::at(SECOND);
    let told = Told::<u64>::default();
    let table = KeyTable::builder_with(QUOTA, Open::default(), &clock).observer(&told);
    ask_for_everything(&HotKeys::with_places(table.memory(640).unwrap(), 2).unwrap(), &told);
    let told = Told::<u64>::default();
    let buckets = Buckets::with_clock(QUOTA, &clock);
    let keyed = Keyed::<u64, _>::builder(buckets).observer(&told).build().unwrap();
    ask_for_everything(&HotKeys::with_places(keyed, 2).unwrap(), &told);
}

#[test]
fn there_are_from_1_to_256_places_of_2_kib() {
    let table = || KeyTable::<u64>::with_memory(QUOTA, 640).unwrap();
    for places in [0, 257, usize::MAX] {
        let error = HotKeys::with_places(table(), places).unwrap_err();
        assert_eq!(error, ConfigError::Places { places });
    }
    for (asked, places) in [(1, 1), (2, 2), (3, 4), (129, 256), (256, 256)] {
        let limiter = HotKeys::with_places(table(), asked).unwrap();
        assert_eq!((limiter.places(), limiter.memory_bytes()), (places, 2_048 * places));
        // Counted round.
        for index in [0, places - 1, places, usize::MAX] {
            assert!(limiter.place(index).try_acquire(&1, 1).is_ok());
        }
    }
    assert!(HotKeys::new(table()).places().is_power_of_two());
}

#[test]
fn it_can_be_shared_and_shown() {
    fn shared<T: Send + Sync>(_: &T) {}
    let limiter = HotKeys::with_places(KeyTable::<str>::with_memory(QUOTA, 640).unwrap(), 2);
    let limiter = limiter.unwrap();
    shared(&limiter);
    for _ in 0..100 {
        assert!(limiter.try_acquire("ada", 1).is_ok());
    }
    assert!(limiter.is_hot("ada") && !limiter.is_hot("bob"));
    let text = format!("{limiter:?} {:?}", limiter.place(7));
    assert!(text.starts_with("HotKeys { store: "), "{text}");
    assert!(text.contains("places: 2 } "), "{text}");
    assert!(text.ends_with("HotPlace { index: 7, .. }"), "{text}");
}

#[test]
fn keys_are_looked_up_by_what_they_are_borrowed_as() {
    let limiter = HotKeys::new(Keyed::<String>::new(quota!(1_000 / hour)));
    let granted = (0..2_000).filter(|_| limiter.try_acquire("ada", 1).is_ok()).count();
    assert!((875..=1_000).contains(&granted), "{granted}");
    assert!(limiter.is_hot("ada") && !limiter.is_hot("bob"));
    assert!(limiter.try_acquire("bob", 1_000).is_ok());
}
