//! Exhaustive tests at eight bits, and random ones of the lots beside a set of units.

use std::collections::BTreeSet;
use std::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

bands!(Tiny, u8, i8, 1);

impl Tiny {
    /// The labels of a lot, oldest first.
    fn labels(self, index: usize, lot: u8) -> Vec<u8> {
        let start = self.start(index, lot);
        (1..=lot.wrapping_sub(start)).map(|unit| start.wrapping_add(unit)).collect()
    }
}

#[test]
fn a_lot_tells_its_band_and_how_many_of_its_units_are_free() {
    for width in 2..=32 {
        let bands = Tiny { width };
        for start in (0..=u8::MAX).step_by(width.into()) {
            let index = bands.lot_of(start.wrapping_add(1));
            for free in 0..=bands.most(start) {
                let lot = start.wrapping_add(free);
                assert_eq!(bands.start(index, lot), start, "{width} {start} {free}");
                for top in bands.labels(index, lot) {
                    assert_eq!((bands.lot_of(top), bands.start_of(top)), (index, start));
                    assert_eq!(bands.in_band(top, u8::MAX), top.wrapping_sub(start));
                }
            }
        }
    }
}

/// Also where the axis wraps.
#[test]
fn units_that_are_put_into_a_lot_have_labels_no_younger_than_they_are() {
    for width in 2..=25 {
        let bands = Tiny { width };
        for top in 0..=u8::MAX {
            let (index, all) = (bands.lot_of(top), bands.in_band(top, u8::MAX));
            let start = top.wrapping_sub(all);
            for units in 1..=all {
                let lot = bands.with(start, top, units).unwrap();
                assert_eq!(bands.start(index, lot), start);
                assert_eq!(lot.wrapping_sub(start), units.min(bands.most(start)));
                for (place, label) in bands.labels(index, lot).into_iter().enumerate() {
                    let unit = top.wrapping_sub(units).wrapping_add(1 + place as u8);
                    assert!(unit.wrapping_sub(label) as i8 >= 0);
                }
            }
        }
    }
}

#[test]
fn a_lot_adds_up_what_is_of_its_band_drops_what_is_older_and_refuses_what_is_younger() {
    for width in 2..=25 {
        let bands = Tiny { width };
        for top in 0..=u8::MAX {
            let (index, start) = (bands.lot_of(top), bands.start_of(top));
            let most = bands.most(start);
            for free in 0..=most {
                let found = start.wrapping_add(free);
                let next = start.wrapping_add((free + 1).min(most));
                assert_eq!(bands.with(found, top, 1), Some(next));
            }
            let round = width * LOTS as u8;
            for free in 0..=width {
                let older = start.wrapping_sub(round);
                if older < start {
                    let found = older + free;
                    assert_eq!(bands.start(index, found), older);
                    assert_eq!(bands.with(found, top, 1), Some(start.wrapping_add(1.min(most))));
                }
                let younger = start.wrapping_add(round);
                if younger > start && free <= bands.most(younger) {
                    assert_eq!(bands.with(younger + free, top, 1), None);
                }
            }
        }
    }
}

#[test]
fn a_label_is_alive_after_the_dead_and_up_to_the_level() {
    for width in [2, 3, 8, 13] {
        let bands = Tiny { width };
        for lot in 0..=u8::MAX {
            let index = bands.lot_of(lot);
            for behind in 0..40_u8 {
                let level = lot.wrapping_add(behind);
                for ahead in -40..=40_i8 {
                    let dead = level.wrapping_add_signed(ahead);
                    let is_alive = |label: &&u8| label.wrapping_sub(dead) as i8 > 0;
                    let alive = bands.labels(index, lot).iter().filter(is_alive).count();
                    assert_eq!(usize::from(bands.alive((index, lot), dead, level)), alive);
                }
                let ahead = lot.wrapping_sub(behind + 1);
                assert_eq!(bands.alive((index, lot), lot.wrapping_sub(64), ahead), 0);
            }
        }
    }
}

/// Units of a bucket of 24, in lots of 6.
const CAPACITY: u64 = 24;

fn seen(level: u64, accrued: u64, void: u64) -> Seen {
    let [level, accrued, void] = [level, accrued, void].map(|units| units.wrapping_mul(UNIT));
    Seen { level, accrued, capacity: CAPACITY * UNIT, void }
}

fn kept(words: [u64; LOTS], seen: Seen) -> u64 {
    Lots::new(Bands::of(CAPACITY * UNIT), words, seen).units() / UNIT
}

/// Units given back one by one, and the lots that they are in.
fn given(units: &BTreeSet<u64>, origin: u64) -> [u64; LOTS] {
    let bands = Bands::of(CAPACITY * UNIT);
    let before = origin.wrapping_mul(UNIT).wrapping_sub(CAPACITY * UNIT);
    let mut words = core::array::from_fn(|index| before.wrapping_add(bands.empty(index)));
    if origin == 0 {
        words = core::array::from_fn(|index| bands.empty(index));
    }
    for &unit in units {
        let top = origin.wrapping_add(unit).wrapping_mul(UNIT);
        let lot = bands.lot_of(top);
        if let Some(word) = bands.with(words[lot], top, UNIT) {
            words[lot] = word;
        }
    }
    words
}

proptest! {
    /// The i-th label of a band is no younger than its i-th unit, so as many units as are said to be
    /// alive are. And those are lost only whose band is dying, free as a whole, or reused.
    #[test]
    fn no_more_units_are_alive_than_are_within_their_lives(
        units in vec(1..=60_u64, 0..40), ahead in 0..=24_u64, origin in prop::sample::select(
            &[0, 1_000, 5, u64::MAX / UNIT - 30, u64::MAX / UNIT - 61][..]),
    ) {
        let units: BTreeSet<u64> = units.into_iter().collect();
        let words = given(&units, origin);
        let level = 60;
        let accrued = level + ahead;
        let dead = accrued - CAPACITY;
        let kept = kept(words, seen(origin + level, origin + accrued, origin));
        let alive = units.iter().filter(|&&unit| unit > dead).count() as u64;
        prop_assert!(kept <= alive, "{kept} of {alive}");
        if origin % 6 == 0 && origin < u64::MAX / 8 {
            // Whole bands that are not dying.
            let whole = units.iter().filter(|&&unit| (unit - 1) / 6 * 6 >= dead).count() as u64;
            prop_assert!(kept >= whole, "{kept} of {whole}");
        }
    }

    /// Beside trying one amount after the other.
    #[test]
    fn what_is_lacking_is_the_least_that_has_to_be_earned(
        units in vec(1..=60_u64, 0..40), ahead in -20..=24_i64, wanted in 1..=CAPACITY,
        void in 0..=60_u64,
    ) {
        let units: BTreeSet<u64> = units.into_iter().collect();
        let words = given(&units, 0);
        let at = |earned: u64| seen(60, 60_u64.saturating_add_signed(ahead) + earned, void);
        let all = |earned: u64| {
            let seen = at(earned);
            let balance = seen.accrued.wrapping_sub(seen.level) as i64 / UNIT as i64;
            let balance = balance.min(CAPACITY as i64);
            (balance >= 0).then(|| balance as u64 + kept(words, seen))
        };
        let least = (0..200).find(|&earned| all(earned).is_some_and(|all| all >= wanted)).unwrap();
        let lots = Lots::new(Bands::of(CAPACITY * UNIT), words, at(0));
        prop_assert_eq!(lots.lacking(wanted * UNIT), least * UNIT);
        // Nor is there ever more than the capacity.
        prop_assert!(all(least).unwrap() <= CAPACITY);
    }
}

#[test]
fn nothing_is_taken_from_lots_in_debt() {
    let units = (40..60).collect();
    let words = given(&units, 0);
    assert!(kept(words, seen(60, 60, 0)) > 0);
    assert_eq!(kept(words, seen(60, 59, 0)), 0);
}

#[test]
fn a_new_bucket_has_nothing_in_its_lots() {
    for capacity in [1, 2, 3, 7, 1 << 60] {
        let capacity = capacity * UNIT;
        let bands = Bands::of(capacity);
        assert!(bands.width * LOTS as u64 >= capacity && bands.width.is_multiple_of(UNIT));
        let seen = Seen { level: 0, accrued: capacity, capacity, void: 0 };
        let words = core::array::from_fn(|index| bands.empty(index));
        let lots = Lots::new(bands, words, seen);
        assert_eq!((lots.units(), lots.lacking(capacity)), (0, 0));
    }
}
