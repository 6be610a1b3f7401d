//! One limit for several who matter differently.

pub use crate::limiter::leaving::Leaving;
