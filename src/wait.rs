//! Waiting: timers, and all that sleeps until permits are there.

pub(crate) mod timer;
