//! The properties that fuzzing checks, on a few thousand inputs that are the same each time.
//!
//! * Every list of operations is answered as the slow reference answers it.
//! * No setup panics, and each that is refused says which field is wrong.
//!
//! An input that fuzzing found is replayed by putting its bytes into `FOUND`.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::support::{decode, ops, setups};

const INPUTS: u64 = if cfg!(miri) { 4 } else { 3_000 };

/// Inputs that once failed.
const FOUND: &[&[u8]] = &[];

fn inputs() -> impl Iterator<Item = Vec<u8>> {
    let random = (0..INPUTS).map(|seed| {
        let mut random = SmallRng::seed_from_u64(seed);
        (0..random.random_range(0..240)).map(|_| random.random()).collect()
    });
    FOUND.iter().map(|found| found.to_vec()).chain(random)
}

#[test]
fn every_list_of_operations_is_answered_as_the_reference_does() {
    for input in inputs() {
        let (setup, start_nanos, ops) = decode::decode(&input);
        ops::replay(setup, start_nanos, &ops);
    }
}

#[test]
fn no_setup_panics_and_each_refusal_names_its_field() {
    for input in inputs() {
        setups::check(&input);
    }
}
