//! The number of cases that a property is tried on.

use proptest::test_runner::{Config, FileFailurePersistence, RngSeed};

/// A quarter of so many cases, the same each time; or all of them, others each time, if `FULL_TESTS` is set; or as
/// many as `PROPTEST_CASES` asks for.
pub(crate) fn cases(full: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let asked = asked.or(std::env::var_os("FULL_TESTS").map(|_| full));
    let persistence = FileFailurePersistence::WithSource("regressions");
    Config {
        cases: if cfg!(miri) { 2 } else { asked.unwrap_or(full.div_ceil(4)) },
        rng_seed: if asked.is_some() { RngSeed::Random } else { RngSeed::Fixed(0) },
        failure_persistence: (!cfg!(miri)).then(|| Box::new(persistence) as _),
        ..Config::default()
    }
}
