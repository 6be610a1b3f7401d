//! Waiting: timers, and all that sleeps until permits are there.

pub(crate) mod block_on;
pub(crate) mod timer;
