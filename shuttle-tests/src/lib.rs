//! Crowds of callers under a seeded scheduler: too many for every interleaving to be explored.
//!
//! With `--cfg sluicegate_shuttle` a crowd runs once for each schedule, of which half are drawn at
//! random, and half have few preemptions at random places. A schedule follows from its seed, so a
//! failure can be repeated. Without the cfg the same closure runs on real threads. `ci/shuttle.sh`
//! runs them.

mod crowd;
mod schedule;
mod time;

pub use self::crowd::{intents, look};
pub use self::schedule::{check, random};
pub use self::time::{Alarm, Alarms, SimulatedTime};

#[cfg(sluicegate_shuttle)]
pub use shuttle::{sync, thread};
#[cfg(not(sluicegate_shuttle))]
pub use std::{sync, thread};
