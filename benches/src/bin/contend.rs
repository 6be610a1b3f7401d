//! Measures the cost of a call to each limiter, beside its peers and the bare clocks.
//!
//! Every limiter, operation and thread count has a turn in each round, and the
//! rounds start at a different one each time, so that whatever else the machine does
//! affects all of them alike. A time is that of the slowest thread, over its own
//! calls. In some rounds each turn follows others in which single calls are timed, for the
//! percentiles and the worst call, and in which the threads are compared with each other.
//!
//! Limiters of many keys have their turns after the others. They have all their keys before
//! they are timed. Those of more than 131,072 keys are kept for all rounds.

use std::fs;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use sluicegate_benches::keyed::{self, Keyed, Skew};
use sluicegate_benches::latency;
use sluicegate_benches::machine::Machine;
use sluicegate_benches::page::{self, Page};
use sluicegate_benches::progress::Progress;
use sluicegate_benches::report::{self, Case, Line, Run, Style};
use sluicegate_benches::round::{self, Plan, Round};
use sluicegate_benches::subject::{self, Op, Subject, Visitor};
use sluicegate_benches::watch::{self, Seen, Sum, Watch};

/// Turns are watched in one of this many rounds, and in the first: millions of calls are enough
/// for a percentile, and the medians of times need the rounds more.
const WATCHED_ROUNDS: u32 = 2;

/// An explanation of the columns, below the help.
const COLUMNS: &str = "\
Columns, and fields of --json:
  ns          ns_per_op: time per call of the slowest thread, over its own calls; median of the rounds
  min..max    the least and the most of the rounds
  p50..p99.9  latency_ns: percentiles of single calls, one in 8, with the timer's own time
  worst, us   worst_ns: the longest of the calls that are timed in a turn; median of the turns, and
              in brackets the longest of all. What the system did meanwhile is in it
  Mops        mops: calls of all threads per microsecond
  time        over that of the limiter it is compared with; throughput: the same of Mops
  1 thread    throughput over that of the same limiter with one thread
  fairness    slowest_thread / fastest_thread: calls of the slowest thread over those of the
              fastest, all rounds together
  in 1 ms     fairness_1ms: the same in every millisecond of a turn; median, and in brackets the
              least. From two threads on
  machine     what it was measured on; turn_ms: length of a turn; pinned: threads bound to cores
              (only in --json)
  quiet       rounds in which no thread had to wait for a processor, of all
  excess      permits granted beyond burst + rate x time

Percentiles, worst calls and fairness are of turns of their own, in every 2nd round; those for
fairness last 10 ms or more. Stores of keys are not told how many will come, but for those that
are called so and the tables of fixed size (key_table).";

/// Times limiters under contention, in alternation.
#[derive(Debug, Parser)]
#[command(after_help = COLUMNS)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches, each of its own")]
struct Args {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Print tables in Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print the tables of earlier runs, saved with --json, and run nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "html"])]
    from: Vec<PathBuf>,
    /// Write a page of plots, too
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Only limiters whose name contains this
    #[arg(long, value_name = "SUBSTRING", default_value = "")]
    only: String,
    /// Operations to ask for
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Op::Allow, Op::Deny, Op::Insert])]
    op: Vec<Op>,
    /// Only limiters that keep keys apart
    #[arg(long, conflicts_with = "unkeyed")]
    keyed: bool,
    /// Only limiters without keys
    #[arg(long)]
    unkeyed: bool,
    /// Numbers of keys of the limiters that keep keys apart. Ten million take a minute to insert
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1_000, 100_000], value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    keys: Vec<u64>,
    /// Kinds of keys: numbers, or strings of 24 bytes
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = ["u64", "string"], default_values = ["u64", "string"])]
    key: Vec<String>,
    /// Spread of the calls over the keys. With `hot`, 95 in 100 are for one key, and a limiter without keys has turns, too
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Skew::Uniform])]
    spread: Vec<Skew>,
    /// Length of a turn, in milliseconds
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    ms: u64,
    /// Threads that share a limiter
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2], value_parser = threads)]
    threads: Vec<usize>,
    /// Number of rounds, in each of which every limiter has its turns
    #[arg(long, value_name = "K", default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Most times that a turn is repeated at once if a thread had to wait for a processor
    #[arg(long, value_name = "N", default_value_t = 3)]
    retries: u32,
    /// Bind each thread to a core of its own, as far as there are cores
    #[arg(long)]
    pin: bool,
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("nobody would ask".to_owned()),
        Ok(threads) => Ok(threads),
        Err(error) => Err(format!("{error}")),
    }
}

impl Args {
    fn style(&self) -> Style {
        if self.markdown { Style::Markdown } else { Style::Plain }
    }
}

/// A limiter, an operation and a number of threads that can be given turns.
trait Turns {
    /// Runs a turn in which calls are counted.
    fn count(&mut self, plan: Plan, round: u32) -> Round;

    /// Runs a turn that is watched. Returns the observations, and whether the turn was quiet.
    fn watch(&mut self, plan: Plan, round: u32, watch: Watch) -> (Seen, bool);
}

/// A limiter without keys, which is created anew for each turn.
struct Unkeyed<S> {
    op: Op,
    subject: PhantomData<S>,
}

impl<S: Subject> Turns for Unkeyed<S> {
    fn count(&mut self, plan: Plan, _: u32) -> Round {
        round::run::<S>(self.op, plan)
    }

    fn watch(&mut self, plan: Plan, _: u32, watch: Watch) -> (Seen, bool) {
        watch::run::<S>(self.op, plan, watch)
    }
}

impl Turns for Keyed {
    fn count(&mut self, plan: Plan, round: u32) -> Round {
        self.turn(plan, round)
    }

    fn watch(&mut self, plan: Plan, round: u32, watch: Watch) -> (Seen, bool) {
        Keyed::watch(self, plan, round, watch)
    }
}

/// A case, and its results.
struct Entry {
    case: Case,
    turns: Box<dyn Turns>,
    rounds: Vec<Round>,
    seen: Sum,
}

impl Entry {
    fn new(case: Case, turns: impl Turns + 'static) -> Entry {
        Entry { case, turns: Box::new(turns), rounds: Vec::new(), seen: Sum::default() }
    }
}

/// Collects the cases that the arguments ask for.
struct Cases<'a> {
    args: &'a Args,
    entries: Vec<Entry>,
}

impl Visitor for Cases<'_> {
    fn visit<S: Subject>(&mut self) {
        if !S::NAME.contains(&self.args.only) {
            return;
        }
        for &op in self.args.op.iter().filter(|op| S::OPS.contains(op)) {
            for &threads in &self.args.threads {
                let (limiter, baseline) = (S::NAME, S::BASELINE);
                let case = Case { limiter, baseline, op, threads, of_keys: None };
                let turns = Unkeyed::<S> { op, subject: PhantomData };
                self.entries.push(Entry::new(case, turns));
            }
        }
    }
}

fn main() -> ExitCode {
    let mut args = Args::parse();
    args.threads.sort_unstable();
    args.threads.dedup();
    if !args.from.is_empty() {
        return print_saved(&args);
    }
    let machine = Machine::this();
    let mut entries = entries(&args);

    let progress = Progress::new(args.rounds, entries.len());
    for round in 1..=args.rounds {
        run_round(&args, round, &mut entries, &progress);
        progress.end_round(round);
    }
    progress.end();

    let nanos_per_tick = latency::nanos_per_tick();
    let run = Run { machine: machine.to_string(), turn_ms: args.ms, pinned: args.pin };
    let line = |entry: &Entry| {
        let line = Line::of(entry.case, &entry.rounds, entry.seen.figures(nanos_per_tick));
        Line { run: Some(run.clone()), ..line }
    };
    let lines: Vec<Line> = entries.iter().map(line).collect();
    if args.json {
        for line in &lines {
            println!("{}", serde_json::to_string(line).expect("a line is plain data"));
        }
    } else {
        println!("Machine: {machine}.\n{}", how(&args));
        print!("{}", report::tables(&lines, args.style()));
    }
    let Some(file) = &args.html else { return ExitCode::SUCCESS };
    let (keyed, lines): (Vec<Line>, Vec<Line>) =
        lines.into_iter().partition(|line| line.of_keys.is_some());
    let page = Page {
        machine: machine.to_string(),
        command: page::command_line(std::env::args()),
        how: how(&args),
        threads: &args.threads,
        lines: &lines,
        keyed: &keyed,
    };
    if let Err(error) = fs::write(file, page.html()) {
        eprintln!("contend: cannot write {}: {error}", file.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Prints the tables of the lines that the files have.
fn print_saved(args: &Args) -> ExitCode {
    let mut lines = Vec::new();
    for file in &args.from {
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("contend: cannot read {}: {error}", file.display());
                return ExitCode::FAILURE;
            }
        };
        for (number, line) in text.lines().enumerate() {
            match Line::from_json(line) {
                Ok(line) => lines.push(line),
                Err(error) => {
                    let number = number + 1;
                    eprintln!("contend: {}, line {number}: {error}", file.display());
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    print!("{}", report::tables(&lines, args.style()));
    ExitCode::SUCCESS
}

/// All cases that `args` ask for: limiters without keys, and then those that have some.
fn entries(args: &Args) -> Vec<Entry> {
    let mut cases = Cases { args, entries: Vec::new() };
    if !args.keyed {
        subject::visit_all(&mut cases);
    }
    let mut entries = cases.entries;
    if !args.unkeyed {
        let wanted = keyed::Wanted {
            only: &args.only,
            kinds: &args.key,
            keys: &args.keys,
            ops: &args.op,
            skews: &args.spread,
            threads: &args.threads,
        };
        entries.extend(keyed::all(wanted).into_iter().map(|keyed| Entry::new(keyed.case, keyed)));
    }
    entries
}

/// Gives every case its turn, from a different one each round.
fn run_round(args: &Args, round: u32, entries: &mut [Entry], progress: &Progress) {
    let count = entries.len();
    let first = round as usize * count / args.rounds as usize;
    for index in 0..count {
        let Entry { case, turns, rounds, seen } = &mut entries[(first + index) % count];
        let time = Duration::from_millis(args.ms);
        let plan = Plan { threads: case.threads, time, is_pinned: args.pin };
        // Watched turns come first, so that the next report of a store includes their admissions.
        if round % WATCHED_ROUNDS == 1 {
            for watch in Watch::all(case.threads) {
                let again =
                    (0..=args.retries).map(|_| turns.watch(watch.plan(plan), round, *watch));
                // Keeps the first quiet turn, or else the last one.
                seen.add(until_quiet(again));
            }
        }
        for _ in 0..=args.retries {
            let done = turns.count(plan, round);
            rounds.push(done);
            if done.is_quiet() {
                break;
            }
        }
        progress.end_turn(case.limiter);
    }
}

fn until_quiet(turns: impl Iterator<Item = (Seen, bool)>) -> Seen {
    let mut last = Seen::default();
    for (seen, is_quiet) in turns {
        last = seen;
        if is_quiet {
            break;
        }
    }
    last
}

fn how(args: &Args) -> String {
    format!(
        "{} rounds of {} ms each{}, in alternation; single calls timed, one in {}, and threads compared in every {}nd round.",
        args.rounds,
        args.ms,
        if args.pin { ", threads bound to cores" } else { "" },
        latency::EVERY,
        WATCHED_ROUNDS,
    )
}
