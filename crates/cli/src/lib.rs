//! The parts of the `sluicegate` command, which replays access logs against a
//! rate-limit policy in virtual time.
//!
//! | module | task |
//! |---|---|
//! | [`log`] | reads the lines of an access log |
//! | [`policy`] | reads a policy file, and reports its mistakes |
//! | [`replay`] | asks the engine about every line, at that line's time |
//! | [`report`] | prints the results |
//! | [`suggest`] | finds the least limits that leave most keys untouched |
//! | [`crawlers`] | names networks |
//! | `warnings` | reasons for which counts may mislead |
//! | [`cli`] | reads the arguments, and connects the parts |

pub mod cli;
mod console;
pub mod crawlers;
pub mod log;
pub mod policy;
pub mod replay;
pub mod report;
pub mod suggest;
mod warnings;
