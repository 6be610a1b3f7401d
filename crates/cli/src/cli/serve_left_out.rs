//! `sluicegate serve` in a build without the service.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

use super::Failure;

pub(super) const AFTER_HELP: &str = "\
This build of the command has no service. To build one that has it: cargo run --release --features serve -- serve, \
or cargo install --path crates/cli --features serve.";

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// Arguments of the service, which are not read
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<OsString>,
}

impl ServeArgs {
    /// Tells how to get the service.
    #[expect(clippy::unused_self, reason = "called as its counterpart is")]
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        Err(Failure::Use(AFTER_HELP.to_owned()))
    }
}
