//! Replays logs by the definitions of the limiters, in rational numbers and
//! without the engine, and prints the JSON that the command must print for
//! `--json --top 0`, but for what that says of stores, of limiters as stamped, and in warnings:
//!
//! ```text
//! cargo run --release -p sluicegate-cli --example slow_reference -- --policy POLICY.toml [--as-stamped] LOG...
//! ```

use std::error::Error;
use std::fs;
use std::io;
use std::path::PathBuf;

use clap::Parser;
use indicatif::ProgressBar;
use sluicegate_replay::log::Source;
use sluicegate_replay::policy::Policy;

#[path = "../tests/support/reference.rs"]
mod reference;

#[derive(Parser)]
struct Args {
    #[arg(long)]
    policy: PathBuf,
    #[arg(long)]
    as_stamped: bool,
    #[arg(required = true)]
    logs: Vec<PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let text = fs::read_to_string(&args.policy)?;
    let policy = Policy::parse(&args.policy.display().to_string(), &text)?;
    let logs: Vec<_> = args
        .logs
        .into_iter()
        .map(|path| Source::File(path).open(&ProgressBar::hidden()))
        .collect::<Result<_, _>>()?;
    reference::replay(&policy, logs, args.as_stamped)?.0.write_json(&mut io::stdout())?;
    Ok(())
}
