//! The number of cases that a property is tried on.

use std::time::{Duration, SystemTime};

use proptest::test_runner::{Config, FileFailurePersistence, RngSeed};

const DAY: Duration = Duration::from_secs(86_400);

/// An eighth of so many cases, but at most a thousand, others each day; or all of them, others each time, if `FULL_TESTS`
/// is set; or as many as `PROPTEST_CASES` asks for. A case that fails is shown with its seed, and kept in a file.
pub(crate) fn cases(full: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let asked = asked.or(std::env::var_os("FULL_TESTS").map(|_| full));
    let today = || SystemTime::UNIX_EPOCH.elapsed().unwrap().div_duration_f64(DAY) as u64;
    let persistence = FileFailurePersistence::WithSource("regressions");
    Config {
        cases: if cfg!(miri) { 2 } else { asked.unwrap_or(full.div_ceil(8).min(1_000)) },
        // Miri tells no date.
        rng_seed: if cfg!(miri) || asked.is_some() {
            RngSeed::Random
        } else {
            RngSeed::Fixed(today())
        },
        failure_persistence: (!cfg!(miri)).then(|| Box::new(persistence) as _),
        ..Config::default()
    }
}
