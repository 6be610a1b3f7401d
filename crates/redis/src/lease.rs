//! Leases: permits that a process takes from the server before they are used.

mod options;

pub use self::options::{LeaseError, LeaseOptions, LeaseOptionsBuilder, LeaseSplit};
