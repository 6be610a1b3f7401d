//! One limit for several who matter differently.

pub(crate) mod leaving;

pub use self::leaving::Leaving;
