//! The parts of the `sluicegate` command, which replays access logs against a
//! rate-limit policy in virtual time.
//!
//! | module | what it does |
//! |---|---|
//! | [`log`] | reads the lines of an access log |
//! | [`policy`] | reads a policy file, and says what is wrong with it |
//! | [`replay`] | asks the engine about every line, at that line's time |
//! | [`report`] | prints what came of it |
//! | [`cli`] | the arguments, and how the parts are put together |

pub mod cli;
pub mod log;
pub mod policy;
pub mod replay;
pub mod report;
