//! The programs of `examples/` and the pages that quote them.

mod output;
mod policies;
mod recipes;
mod serve;
mod support;
