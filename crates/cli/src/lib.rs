//! The parts of the `sluicegate` command, which replays access logs against a
//! rate-limit policy in virtual time: `sluicegate-replay` does, and the command talks with its user.
//!
//! | module | task |
//! |---|---|
//! | [`policy`] | reads a policy file, and reports its mistakes |
//! | [`report`] | prints the results |
//! | [`cli`] | reads the arguments, and connects the parts |

pub mod cli;
mod console;
pub mod policy;
pub mod report;
