//! The `sluicegate` command.

use std::process::ExitCode;

use sluicegate_cli::cli::Cli;

fn main() -> ExitCode {
    match Cli::from_args().map(Cli::run) {
        Ok(Ok(status)) | Err(status) => status,
        Ok(Err(failure)) => failure.report(),
    }
}
