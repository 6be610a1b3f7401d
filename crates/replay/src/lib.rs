#![doc = include_str!("../README.md")]
//!
//! # Parts
//!
//! | module | task |
//! |---|---|
//! | [`log`] | reads the lines of an access log |
//! | [`policy`] | a policy as logs are judged by it |
//! | [`replay`] | asks the engine about every line, at that line's time |
//! | [`suggest`] | finds the least limits that leave most keys untouched |
//! | [`crawlers`] | names networks |
//! | [`warnings`] | reasons for which counts may mislead |

pub mod crawlers;
pub mod log;
pub mod policy;
pub mod replay;
pub mod suggest;
pub mod warnings;
