//! Policies: their files, what they say, and the limiters in force.

mod any_input;
mod attained;
mod bounds;
mod formats;
mod hierarchy;
mod memory;
mod mistakes;
mod registry;
mod registry_preempted;
mod registry_threads;
mod registry_waits;
mod registry_watch;
mod requests;
mod schema;
mod steady;
mod warnings;
