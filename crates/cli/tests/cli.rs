//! The tests of the command, in one program: each program more would be linked with all that the command is made of.

mod any_log;
mod command;
mod levels;
#[cfg(target_os = "linux")]
mod memory;
mod reference;
mod support;
