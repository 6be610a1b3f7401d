//! The schedules that a crowd runs under.

use rand::SeedableRng as _;
use rand::rngs::SmallRng;

/// Runs of each crowd, unless the environment variable `SCHEDULES` has another number.
const SCHEDULES: usize = 400;

fn schedules() -> usize {
    std::env::var("SCHEDULES").map_or(SCHEDULES, |number| {
        number.parse().expect("SCHEDULES is the number of runs of each crowd")
    })
}

/// Runs `crowd` under as many schedules as are wanted.
///
/// # Panics
///
/// If it does under one of them, or if all of its threads wait.
#[cfg(sluicegate_shuttle)]
pub fn check(crowd: impl Fn() + Copy + Send + Sync + 'static) {
    use shuttle::scheduler::{PctScheduler, RandomScheduler};
    use shuttle::{Config, MaxSteps, Runner};

    let mut config = Config::new();
    config.stack_size = 1 << 18;
    config.max_steps = MaxSteps::FailAfter(10_000_000);
    let half = schedules().div_ceil(2);
    let seed = 0x51_01_CE;
    Runner::new(RandomScheduler::new_from_seed(seed, half), config.clone()).run(crowd);
    Runner::new(PctScheduler::new_from_seed(seed, 3, half), config).run(crowd);
}

/// Runs `crowd` on real threads as often as it would run under a scheduler.
#[cfg(not(sluicegate_shuttle))]
pub fn check(crowd: impl Fn() + Copy + Send + Sync + 'static) {
    for _ in 0..schedules() {
        crowd();
    }
}

/// Returns a random generator for what a crowd does, seeded differently in each run.
#[must_use]
pub fn random() -> SmallRng {
    SmallRng::seed_from_u64(seed())
}

#[cfg(sluicegate_shuttle)]
fn seed() -> u64 {
    use shuttle::rand::RngCore as _;

    shuttle::rand::thread_rng().next_u64()
}

#[cfg(not(sluicegate_shuttle))]
fn seed() -> u64 {
    rand::random()
}
