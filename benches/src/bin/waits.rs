//! Measures tasks that wait for a limiter: wake-ups, time on a processor, memory and lateness.
//!
//! Each turn is a process of its own, so that no limiter uses memory or threads that another has
//! left. The limiters take turns in each round; the figures are medians of the rounds.

use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::Parser;
use sluicegate_benches::held;
use sluicegate_benches::machine::Machine;
use sluicegate_benches::progress::Progress;
use sluicegate_benches::results;
use sluicegate_benches::waiting::{self, Outcome, Paced, PacedVisitor, Plan};

#[global_allocator]
static ALLOCATOR: held::Counted = held::Counted;

/// Lets tasks wait for each limiter.
#[derive(Debug, Parser)]
struct Args {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Only limiters whose name contains this
    #[arg(long, value_name = "SUBSTRING", default_value = "")]
    only: String,
    /// Numbers of tasks that wait at a time
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 100, 10_000], value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    waiters: Vec<u64>,
    /// Permits per second
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: u32,
    /// Length of a turn in milliseconds, after a fifth of it to warm up
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(10..=600_000))]
    ms: u64,
    /// Turns of each limiter and number of tasks
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rounds: u32,
    /// Let tasks wait for this one, in this process
    #[arg(long, hide = true)]
    alone: Option<String>,
}

impl Args {
    fn plan(&self, waiters: u64) -> Plan {
        let time = Duration::from_millis(self.ms);
        let interval = Duration::from_secs(1) / self.rate;
        Plan { waiters: waiters as usize, interval, time, warm_up: time / 5 }
    }
}

struct Names(Vec<&'static str>);

impl PacedVisitor for Names {
    fn visit<S: Paced>(&mut self) {
        self.0.push(S::NAME);
    }
}

struct Alone<'a> {
    limiter: &'a str,
    plan: Plan,
    outcome: Option<Outcome>,
}

impl PacedVisitor for Alone<'_> {
    fn visit<S: Paced>(&mut self) {
        if S::NAME == self.limiter {
            self.outcome = Some(waiting::run::<S>(self.plan));
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    match args.alone.as_deref().map_or_else(|| all(&args), |limiter| alone(&args, limiter)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("waits: {message}");
            ExitCode::FAILURE
        }
    }
}

fn alone(args: &Args, limiter: &str) -> Result<(), String> {
    let mut alone = Alone { limiter, plan: args.plan(args.waiters[0]), outcome: None };
    waiting::visit_all(&mut alone);
    let outcome = alone.outcome.ok_or_else(|| format!("no limiter is called {limiter}"))?;
    println!("{}", json(&outcome));
    Ok(())
}

fn all(args: &Args) -> Result<(), String> {
    let mut names = Names(Vec::new());
    waiting::visit_all(&mut names);
    names.0.retain(|name| name.contains(&args.only));
    if names.0.is_empty() {
        return Err(format!("no limiter's name contains {}", args.only));
    }
    if !args.json {
        println!("{}\n", Machine::this());
    }
    let progress = Progress::new(args.rounds, names.0.len() * args.waiters.len());
    let cases: Vec<(u64, &'static str)> = args
        .waiters
        .iter()
        .flat_map(|&count| names.0.iter().map(move |&name| (count, name)))
        .collect();
    let mut turns = vec![Vec::new(); cases.len()];
    for round in 1..=args.rounds {
        for (&(waiters, name), turns) in cases.iter().zip(&mut turns) {
            turns.push(in_a_process(args, name, waiters)?);
            progress.end_turn(name);
        }
        progress.end_round(round);
    }
    progress.end();
    let lines = turns.iter().filter_map(|turns| Outcome::median(turns)).map(|line| json(&line));
    let lines = lines.collect::<Vec<_>>().join("\n");
    if args.json {
        println!("{lines}");
    } else {
        println!("{}", results::waits(&lines).map_err(|error| error.to_string())?);
    }
    Ok(())
}

fn in_a_process(args: &Args, limiter: &str, waiters: u64) -> Result<Outcome, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(this);
    command.args(["--alone", limiter, "--waiters", &waiters.to_string()]);
    command.args(["--rate", &args.rate.to_string(), "--ms", &args.ms.to_string()]);
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

fn json(outcome: &Outcome) -> String {
    serde_json::to_string(outcome).expect("it is plain data")
}
