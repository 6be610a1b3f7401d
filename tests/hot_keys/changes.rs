//! Changes: nothing that was prepaid before one can be taken after it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use sluicegate::bucket::Carry;
use sluicegate::keyed::{Buckets, HotKeys};
use sluicegate::*;

use super::chosen::Chosen;
use super::subject::{Hot, heat, take_all, with_each};
use super::{EACH, Open, QUOTA, SECOND, SPARED};

const PLACES: [usize; 4] = [0, 1, 2, 3];

/// Has each place prepay: so many are taken, and more than 16 lie in the seats.
fn draw_everywhere(limiter: &dyn Hot) -> u64 {
    let mut taken = 0;
    for place in PLACES {
        heat(limiter, place, 1);
        for _ in 0..3 {
            taken += limiter.ask_at(place, 1, 1).map_or(0, |grant| grant.permits());
        }
    }
    taken
}

/// Returns whether what can be had now is at most a burst, and at least a burst without what is
/// passed over.
fn is_one_burst(limiter: &dyn Hot) -> bool {
    (SPARED..=1_000).contains(&take_all(limiter, &PLACES, 1))
}

#[test]
fn a_key_that_is_reset_or_removed_has_nothing_on_top() {
    with_each(QUOTA, 4, |kind, limiter, clock| {
        for round in 0..4 {
            draw_everywhere(limiter);
            if round % 2 == 0 {
                limiter.reset_key(1);
            } else {
                assert!(limiter.remove(1), "{kind:?}");
            }
            assert_eq!(limiter.has(1), 1_000, "{kind:?}");
            assert!(is_one_burst(limiter), "{kind:?} {round}");
            clock.pass(SECOND / 2);
        }
    });
}

#[test]
fn a_change_takes_back_even_if_it_panics() {
    let clock = Chosen::at(0);
    let panics = |change: fn(&KeyTable<u64, Open, &Chosen>)| {
        let table = KeyTable::builder_with(QUOTA, Open::default(), &clock).memory(640).unwrap();
        let limiter = HotKeys::with_places(table, 4).unwrap();
        draw_everywhere(&limiter);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            limiter.update(|table| {
                change(table);
                panic!("half way");
            })
        }));
        assert!(panicked.is_err());
        limiter
    };
    assert!(is_one_burst(&panics(|table| table.reset(&1))));
    // With an empty store, only the seats could have something to give.
    let emptied = panics(|table| assert!(table.try_acquire_up_to(&1, u64::MAX).is_ok()));
    assert_eq!(take_all(&emptied, &PLACES, 1), 0);
}

#[test]
fn a_change_takes_back_what_was_drawn_for_all_keys() {
    with_each(QUOTA, 1, |kind, limiter, _| {
        // Some of them in seats of their own.
        for key in 0..16 {
            for _ in 0..70 {
                assert!(limiter.ask_at(0, key, 1).is_ok());
            }
        }
        let has: Vec<u64> = (0..16).map(|key| limiter.has(key)).collect();
        limiter.touch();
        for key in 0..16 {
            // What was in the seat is lost, and what is passed over on the first prepayment is not
            // more than an eighth.
            let all = take_all(limiter, &[0], key);
            assert!(all <= has[key as usize], "{kind:?} {key}");
            assert!(all >= has[key as usize].min(SPARED), "{kind:?} {key}");
        }
    });
}

/// Prepaid permits have been paid for, so a debt needs no change for the bound's sake. But only a change
/// keeps them from being granted beside the debt.
#[test]
fn a_debt_behind_seats_keeps_the_bound_and_stops_them_only_within_a_change() {
    for is_within_a_change in [false, true] {
        let clock = Chosen::at(SECOND);
        let keyed = Keyed::with_clock(QUOTA, &clock);
        let limiter = HotKeys::with_places(keyed, 4).unwrap();
        let taken = draw_everywhere(&limiter);
        let left = limiter.has(1);
        let forced = if is_within_a_change {
            limiter.update(|keyed| keyed.force(&1, left + 5)).unwrap()
        } else {
            limiter.store().force(&1, left + 5).unwrap()
        };
        assert_eq!(forced.balance(), -5);
        let more = take_all(&limiter, &PLACES, 1);
        assert!(taken + forced.permits() + more <= 1_000 + 5);
        assert_eq!(more == 0, is_within_a_change, "{more} from seats");
    }
}

#[test]
fn a_change_of_terms_leaves_nothing_of_the_old() {
    for (burst, least) in [(10, 10), (100, 87), (5_000, 1)] {
        for carry in [Carry::Keep, Carry::Reset, Carry::Scale] {
            let clock = Chosen::at(SECOND);
            let keyed = Keyed::with_clock(QUOTA, &clock);
            let limiter = HotKeys::with_places(keyed, 4).unwrap();
            let taken = draw_everywhere(&limiter);
            let quota = QUOTA.with_burst(burst).unwrap();
            limiter.update(|keyed| keyed.reconfigure(quota, carry));
            let has = limiter.has(1);
            assert!(has <= burst && taken > 0);
            let all = take_all(&limiter, &PLACES, 1);
            assert!(all <= has && all >= least.min(has), "{burst} {carry:?} {all} of {has}");
            assert_eq!(
                limiter.ask_at(0, 1, burst + 1),
                Err(Denied::TooLarge { limit: burst, which: 0 })
            );
            clock.pass(burst * EACH);
            assert!(limiter.ask_at(0, 1, burst).is_ok(), "{burst} {carry:?}");
        }
    }
}

#[test]
fn a_key_that_changes_its_tier_has_what_that_tier_allows() {
    let clock = Chosen::at(SECOND);
    let quotas = [quota!(1_000 / second), quota!(100 / second)];
    let tier = std::sync::atomic::AtomicUsize::new(0);
    let of = |_: &u64| tier.load(std::sync::atomic::Ordering::Relaxed);
    let buckets = Buckets::tiered_with_clock(quotas, of, &clock).unwrap();
    let limiter = HotKeys::with_places(Keyed::with(buckets), 4).unwrap();
    draw_everywhere(&limiter);
    tier.store(1, std::sync::atomic::Ordering::Relaxed);
    limiter.update(|keyed| keyed.reassign(&1, Carry::Keep));
    let all = take_all(&limiter, &PLACES, 1);
    assert!((80..=100).contains(&all), "{all}");
    limiter.update(|keyed| keyed.reconfigure_tier(1, quota!(200 / second), Carry::Reset)).unwrap();
    let all = take_all(&limiter, &PLACES, 1);
    assert!((175..=200).contains(&all), "{all}");
}

#[test]
fn into_store_gives_the_store_without_what_was_drawn() {
    let clock = Chosen::at(SECOND);
    let keyed = Keyed::with_clock(QUOTA, &clock);
    let limiter = HotKeys::with_places(keyed, 4).unwrap();
    let taken = draw_everywhere(&limiter);
    let has = limiter.has(1);
    assert!(has + taken < SPARED);
    let keyed = limiter.into_store();
    assert_eq!(keyed.try_acquire_up_to(&1, u64::MAX).unwrap().permits(), has);
    assert!(keyed.try_acquire(&1, 1).is_err());
    keyed.reset(&1);
    assert_eq!(keyed.peek(&1, 0).unwrap().remaining(), 1_000);
}

#[test]
fn what_a_receipt_gives_back_is_there_once_the_last_denial_is_over() {
    let clock = Chosen::at(SECOND);
    let table = KeyTable::builder_with(QUOTA, Open::default(), &clock).memory(640).unwrap();
    let limiter = HotKeys::with_places(table, 1).unwrap();
    heat(&limiter, 0, 1);
    let receipt = limiter.store().try_acquire_revocable(&1, 1_000).unwrap();
    let wait = limiter.ask_at(0, 1, 1).unwrap_err().retry_after().unwrap();
    assert!(receipt.give_back());
    clock.pass(wait.as_nanos() as u64);
    assert!(limiter.ask_at(0, 1, 900).is_ok());
    limiter.reset_key(1);
    let receipt = limiter.store().try_acquire_revocable(&1, 1_000).unwrap();
    assert!(limiter.ask_at(0, 1, 1).is_err());
    assert!(limiter.update(|_| receipt.give_back()));
    assert!(limiter.ask_at(0, 1, 900).is_ok());
    // One that comes after a prepayment, or before one, takes nothing of that back.
    limiter.reset_key(1);
    let receipt = limiter.store().try_acquire_revocable(&1, 500).unwrap();
    assert!(limiter.ask_at(0, 1, 1).is_ok());
    assert!(!receipt.give_back());
    clock.pass(600 * EACH);
    let all = take_all(&limiter, &[0], 1);
    assert!(all <= 1_000, "{all}");
}

/// A clock that stands, and does something at one of its readings.
#[derive(Default)]
struct Meddling {
    readings: AtomicU64,
    at: AtomicU64,
    what: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Clock for Meddling {
    fn now_nanos(&self) -> u64 {
        if self.readings.fetch_add(1, Relaxed) + 1 == self.at.load(Relaxed) {
            self.what.get().unwrap()();
        }
        SECOND
    }
}

type Meddled = HotKeys<KeyTable<u64, Open, Arc<Meddling>>>;

/// A limiter of which key 0 is hot, changed at the reading that is told to the clock.
fn changed_under_way() -> (Arc<Meddling>, Arc<Meddled>) {
    let clock = Arc::new(Meddling::default());
    let table = KeyTable::builder_with(QUOTA, Open::default(), Arc::clone(&clock));
    let limiter = Arc::new(HotKeys::with_places(table.memory(640).unwrap(), 1).unwrap());
    let meddler = Arc::downgrade(&limiter);
    let what = move || meddler.upgrade().unwrap().update(|_| ());
    assert!(clock.what.set(Box::new(what)).is_ok());
    heat(&*limiter, 0, 1);
    assert!(limiter.ask_at(0, 1, 1).is_ok());
    (clock, limiter)
}

#[test]
fn a_change_takes_back_what_is_in_the_hand_of_a_call_under_way() {
    // At the reading of the seat, of the prepayment, of the store; and after the call.
    for reading in 1..=4 {
        let (clock, limiter) = changed_under_way();
        assert_eq!(limiter.ask_at(0, 1, 1).unwrap().remaining(), 16);
        limiter.drain(1);
        clock.at.store(clock.readings.load(Relaxed) + reading, Relaxed);
        assert!(limiter.ask_at(0, 1, 20).is_err());
        assert_eq!(take_all(&*limiter, &[0], 1), 0, "{reading}");
    }
}

/// There is nothing in the seat, but a prepayment for it is under way.
#[test]
fn a_change_takes_back_what_is_being_drawn_for_an_empty_seat() {
    let (clock, limiter) = changed_under_way();
    while limiter.ask_at(0, 1, 1).unwrap().remaining() > 0 {}
    // The first reading is that of the seat, the second that of the prepayment.
    clock.at.store(clock.readings.load(Relaxed) + 2, Relaxed);
    assert!(limiter.ask_at(0, 1, 1).is_ok());
    limiter.drain(1);
    assert_eq!(take_all(&*limiter, &[0], 1), 0);
}
