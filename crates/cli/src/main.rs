//! The `sluicegate` command.

use std::process::ExitCode;

use clap::Parser;
use sluicegate_cli::cli::Cli;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
