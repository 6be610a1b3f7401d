//! The number of cases that a property is tried on.

use proptest::test_runner::{Config, FileFailurePersistence, RngSeed};

/// So many cases, the same each time; or as many as the environment asks for in
/// `PROPTEST_CASES`, others each time: then what is new is worth a failure.
pub(crate) fn cases(few: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let persistence = FileFailurePersistence::WithSource("regressions");
    Config {
        cases: if cfg!(miri) { 2 } else { asked.unwrap_or(few) },
        rng_seed: if asked.is_some() { RngSeed::Random } else { RngSeed::Fixed(0) },
        failure_persistence: (!cfg!(miri)).then(|| Box::new(persistence) as _),
        ..Config::default()
    }
}
