//! Measures ten thousand threads on one limiter: the share that each gets, and its cost.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use sluicegate_benches::crowd::{self, Outcome, Percentiles, Plan, TooFew};
use sluicegate_benches::report::{self, Style};
use sluicegate_benches::subject::{self, Subject, Visitor};

/// The limiters that are asked unless others are named.
const LIMITERS: [&str; 3] = ["sluicegate/token_bucket", "sluicegate/sharded", "governor"];

/// Threads of a smaller crowd that runs first, to warm up.
const FEW: usize = 16;

/// Time in which the shares of that crowd are earned.
const WARM_UP: Duration = Duration::from_millis(50);

/// Lets a crowd of threads ask one limiter until each has had its share.
#[derive(Debug, Parser)]
struct Args {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Full names of the limiters
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_values_t = LIMITERS.map(str::to_owned))]
    limiter: Vec<String>,
    /// Number of threads
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    threads: u64,
    /// Time in which all shares together are earned, in milliseconds
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    ms: u64,
    /// Permits that each thread wants
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    share: u64,
    /// Number of those times after which a thread gives up
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    patience: u32,
    /// The stack of each thread, in KiB
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(16..=1_048_576))]
    stack: u64,
}

struct Crowds<'a> {
    limiters: &'a [String],
    plan: Plan,
    outcomes: Vec<Result<Outcome, TooFew>>,
}

impl Visitor for Crowds<'_> {
    fn visit<S: Subject>(&mut self) {
        if self.limiters.iter().any(|limiter| limiter == S::NAME) {
            // What the process does only once does not count as growth in the next run.
            let few = Plan { threads: FEW, time: WARM_UP, patience: 1, ..self.plan };
            let outcome = crowd::run::<S>(few).and_then(|_| crowd::run::<S>(self.plan));
            self.outcomes.push(outcome);
        }
    }
}

struct Names(Vec<&'static str>);

impl Visitor for Names {
    fn visit<S: Subject>(&mut self) {
        // A clock would grant without end.
        if !S::NAME.starts_with("clock/") {
            self.0.push(S::NAME);
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("crowd: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let mut names = Names(Vec::new());
    subject::visit_all(&mut names);
    if let Some(unknown) = args.limiter.iter().find(|name| !names.0.contains(&name.as_str())) {
        return Err(format!("no limiter is called {unknown}; there are {}", names.0.join(", ")));
    }
    let plan = Plan {
        threads: args.threads as usize,
        stack: args.stack as usize * 1_024,
        share: args.share,
        time: Duration::from_millis(args.ms),
        patience: args.patience,
    };
    if !plan.is_in_range() {
        return Err(format!("{} permits in {} ms are too many", plan.permits(), args.ms));
    }
    let mut crowds = Crowds { limiters: &args.limiter, plan, outcomes: Vec::new() };
    subject::visit_all(&mut crowds);
    for outcome in crowds.outcomes {
        let outcome = outcome.map_err(|error| format!("{error}: {}", error.cause))?;
        if args.json {
            println!("{}", serde_json::to_string(&outcome).expect("it is plain data"));
        } else {
            print(args, &outcome);
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "it is shown to two digits")]
fn print(args: &Args, outcome: &Outcome) {
    let Outcome { limiter, threads, share, admitted, bound, excess, calls, .. } = outcome;
    println!("\n### {limiter}, {threads} threads\n");
    println!("{share} permits each, all of them earned in {} ms.\n", args.ms);
    let mut table = report::new_table(Style::Plain);
    table.set_header(["per thread", "min", "p1", "p50", "p99", "max"]);
    let mut row = |name: &str, of: Percentiles| {
        let figures = [of.min, of.p1, of.p50, of.p99, of.max].map(|figure| format!("{figure:.0}"));
        table.add_row([name.to_owned()].into_iter().chain(figures));
    };
    row("permits", outcome.admitted_per_thread);
    row("calls", outcome.calls_per_thread);
    if let Some(busy) = outcome.busy_us {
        row("us on a processor", busy);
    }
    row("ms until served", outcome.ms_until_served);
    report::align(&mut table, &[0]);
    println!("{table}\n");
    println!("got none      {}, and less than their share {}", outcome.got_none, outcome.got_less);
    let granted = *admitted as f64 / *calls as f64 * 100.0;
    println!("calls         {calls}, of which {granted:.2} % were admitted");
    println!("admitted      {admitted} of at most {bound}: excess {excess}");
    if let (Some(resident), Some(growth)) = (outcome.resident_kib, outcome.growth_kib) {
        println!("memory        {resident} KiB with all threads up, {growth:+} at the end");
    }
}
