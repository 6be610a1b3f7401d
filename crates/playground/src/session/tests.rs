//! Sessions without HTTP and without a wall clock.

mod edges;
mod examples;
mod random;
mod support;
mod waits;
