//! Sessions without HTTP and without a wall clock.

mod edges;
mod examples;
mod fields;
mod random;
mod streams;
mod support;
mod waits;
