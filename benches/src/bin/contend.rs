//! What one limiter costs its callers, beside its peers and the bare clocks.
//!
//! Every limiter, operation and thread count has a turn in each round, and the
//! rounds start at a different one each time, so what else the machine does
//! falls on all of them alike. A time is that of the slowest thread, over its own
//! calls.

use std::time::{Duration, Instant};

use clap::Parser;
use sluicegate_benches::machine::Machine;
use sluicegate_benches::report::{self, Line, Style};
use sluicegate_benches::round::{self, Plan, Round};
use sluicegate_benches::subject::{self, Op, Subject, Visitor};

/// Times limiters under contention, in alternation.
#[derive(Debug, Parser)]
struct Args {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Print the tables of docs/benchmarks.md
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Only limiters whose name contains this
    #[arg(long, value_name = "SUBSTRING", default_value = "")]
    only: String,
    /// What to ask of them
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Op::Allow, Op::Deny])]
    op: Vec<Op>,
    /// How long a turn lasts, in milliseconds
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    ms: u64,
    /// Threads that share a limiter
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    threads: Vec<usize>,
    /// How many turns each of them has
    #[arg(long, value_name = "K", default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How often a turn is repeated at once if a thread had to wait for a processor
    #[arg(long, value_name = "N", default_value_t = 3)]
    retries: u32,
    /// Bind each thread to a core of its own
    #[arg(long)]
    pin: bool,
}

/// One limiter, asked one thing by some threads, and what came of it.
struct Case {
    limiter: &'static str,
    baseline: &'static str,
    op: Op,
    threads: usize,
    run: fn(Op, Plan) -> Round,
    rounds: Vec<Round>,
}

/// Collects the cases that the arguments ask for.
struct Cases<'a> {
    args: &'a Args,
    cases: Vec<Case>,
}

impl Visitor for Cases<'_> {
    fn visit<S: Subject>(&mut self) {
        if !S::NAME.contains(&self.args.only) {
            return;
        }
        for &op in self.args.op.iter().filter(|op| S::OPS.contains(op)) {
            for &threads in &self.args.threads {
                self.cases.push(Case {
                    limiter: S::NAME,
                    baseline: S::BASELINE,
                    op,
                    threads,
                    run: round::run::<S>,
                    rounds: Vec::new(),
                });
            }
        }
    }
}

fn main() {
    let args = Args::parse();
    let machine = Machine::this();
    let mut cases = Cases { args: &args, cases: Vec::new() };
    subject::visit_all(&mut cases);
    let mut cases = cases.cases;

    let began = Instant::now();
    for round in 1..=args.rounds {
        run_round(&args, round, &mut cases);
        eprintln!("round {round} of {}: {:.1} s", args.rounds, began.elapsed().as_secs_f64());
    }

    let lines: Vec<Line> = cases
        .iter()
        .map(|case| Line::of(case.limiter, case.baseline, case.op, case.threads, &case.rounds))
        .collect();
    if args.json {
        for line in &lines {
            println!("{}", serde_json::to_string(line).expect("a line is plain data"));
        }
    } else {
        print(&args, &machine, &lines);
    }
}

/// Gives every case its turn, from a different one each round.
fn run_round(args: &Args, round: u32, cases: &mut [Case]) {
    let count = cases.len();
    let first = round as usize * count / args.rounds as usize;
    for index in 0..count {
        let case = &mut cases[(first + index) % count];
        let plan = Plan {
            threads: case.threads,
            time: Duration::from_millis(args.ms),
            is_pinned: args.pin,
        };
        for _ in 0..=args.retries {
            let round = (case.run)(case.op, plan);
            case.rounds.push(round);
            if round.is_quiet() {
                break;
            }
        }
    }
}

fn print(args: &Args, machine: &Machine, lines: &[Line]) {
    println!("Machine: {machine}.");
    println!(
        "{} rounds of {} ms each{}, in alternation.",
        args.rounds,
        args.ms,
        if args.pin { ", threads bound to cores" } else { "" }
    );
    let style = if args.markdown { Style::Markdown } else { Style::Plain };
    for op in &args.op {
        for &threads in &args.threads {
            let name = op.to_string();
            let of_table = |line: &&Line| line.op == name && line.threads == threads;
            let lines: Vec<&Line> = lines.iter().filter(of_table).collect();
            let plural = if threads == 1 { "" } else { "s" };
            println!("\n### {op}, {threads} thread{plural}\n\n{}", report::table(&lines, style));
        }
    }
}
