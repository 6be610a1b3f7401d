//! The arguments, and the main program that connects the parts.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};

use crate::log::Source;
use crate::policy::commands::{CheckArgs, ExplainArgs};
use crate::policy::{self, LoadError, Policy, PolicyErrors};
use crate::replay::{Replay, SHOWN_SKIPPED};
use crate::report::{Heading, Summary};

const EXAMPLES: &str = "\
Examples:
  sluicegate
      Replay the bundled log against the bundled policy.
  sluicegate policy > policy.toml
      A commented policy to start from.
  sluicegate check policy.toml
      All its mistakes, or a line for each limiter.
  sluicegate replay --policy policy.toml access.log.1.gz access.log
      Replay your own logs against it.
  zcat *.gz | sluicegate replay --policy policy.toml --json --top 0
      Every key that was ever denied, as JSON.
  sluicegate replay --policy policy.toml --shape --shape-within 2s access.log
      The waits of requests that are delayed instead of being denied.";

const FORMATS: &str = "\
Logs are in common or combined log format, plain or gzip. Lines in no such format are skipped, \
counted and the first few shown. Lines out of order are judged at the newest time seen so far, \
and counted as late.

With --json, one object on one line:
  {\"lines\":N,\"skipped\":N,\"late\":N,\"limiters\":[
    {\"name\":S,\"keys\":N,\"allowed\":N,\"denied\":N,\"top_denied\":[
      {\"key\":S,\"denied\":N,\"allowed\":N}]}]}
Limiters of policy \"multi_window\" and \"all\" also have
    \"denied_by\":[{\"part\":S,\"denied\":N}]
for each of their windows or limiters; if several refused a line, it counts for the one that it \
would have had to wait for longest.
Limiters with `max_keys` also have
    \"store\":\"exact\",\"max_keys\":N,\"known\":N,\"full\":N
and those of store \"table\"
    \"store\":\"table\",\"memory_bytes\":N,\"occupancy\":{\"places\":N,\"live\":N,\"expired\":N},\"full\":N
where \"known\" is the most keys that were kept at a time, \"live\" are those not full at the end, \
and \"full\" are the lines whose key found no room, of which `when_full` decided.
With --shape, a request waits until its limiter grants it, in a queue behind the earlier ones of its \
key. \"allowed\" then are the requests that got through, at once or later, and \"denied\" those for which \
no wait was found: those for more than their limiter ever grants, those that would leave after the \
year 2554, and those of limiters in parts that put each other off a thousand times. Each key is kept: \
`store`, `max_keys` and `when_full` do not apply. A key takes about 800 bytes, more with a log or a \
large window, so 10 million of them take 8 GB. Limiters have, instead of a store,
    \"waits\":{\"delayed\":N,\"p50_nanos\":N,\"p90_nanos\":N,\"p99_nanos\":N,\"max_nanos\":N,\"longer\":N},
    \"top_delayed\":[{\"key\":S,\"delayed\":N,\"allowed\":N,\"max_nanos\":N}]
where percentiles are of all \"allowed\" requests, and at most 0.8 % too long; \"longer\" are those that \
waited for longer than --shape-within, if that is given.
\"lines\" are the lines judged, late ones among them, skipped ones not. Of each limiter, \"allowed\" \
and \"denied\" add up to the lines that its `match` lets through.

Exit status: 0 if the logs were replayed, whatever was denied or skipped; 1 if something could \
not be read or written, or sliding logs would take more than 4 GiB; 2 if an argument or the policy is wrong.";

/// Replay access logs against rate-limit policies.
///
/// Reports what a policy would have done to the traffic you really had: each
/// line of a log is put to each limiter of the policy at the line's own time.
/// Without a command, replays the bundled log against the bundled policy.
#[derive(Debug, Parser)]
#[command(name = "sluicegate", version, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Replay logs against a policy and report what it would have denied
    #[command(after_long_help = FORMATS)]
    Replay(ReplayArgs),
    /// Print the bundled policy, to start one's own from
    ///
    /// It has a limiter of every kind there is, with all of its fields, and explains what
    /// they mean.
    Policy,
    /// Check a policy: print all its mistakes, or its limiters
    Check(CheckArgs),
    /// Say what each limiter of a policy admits at most, and the memory that it takes
    Explain(ExplainArgs),
}

#[derive(Debug, Args)]
struct ReplayArgs {
    /// The policy: TOML, or by the end of its name YAML (.yaml, .yml) or JSON (.json); without it,
    /// the bundled one
    #[arg(long, short, value_name = "POLICY")]
    policy: Option<PathBuf>,
    /// Print one JSON object instead of the report
    #[arg(long)]
    json: bool,
    /// Number of the most denied keys to list per limiter, and with --shape of the most delayed
    /// ones; 0 is all
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Let requests wait instead of denying them, and report how long they do
    ///
    /// Each key has a queue, first come, first served. A request leaves it at the earliest
    /// time at which the limiter grants it.
    #[arg(long)]
    shape: bool,
    /// Count the requests that wait for longer than this, such as `2s` or `500ms`
    #[arg(long, value_name = "TIME", requires = "shape", value_parser = humantime::parse_duration)]
    shape_within: Option<Duration>,
    /// Replay the bundled log
    #[arg(long, conflicts_with = "logs")]
    sample: bool,
    /// The logs, oldest first; `-` or none is standard input
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,
}

/// A reason why the command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The policy is wrong.
    #[error(transparent)]
    Policy(#[from] PolicyErrors),
    /// Something could not be read or written.
    #[error("{what}: {error}")]
    Io {
        /// Name of the file or stream.
        what: String,
        /// The system's error.
        error: io::Error,
    },
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        match error {
            LoadError::Policy(errors) => Failure::Policy(errors),
            LoadError::Io { file, error } => Failure::Io { what: file, error },
        }
    }
}

impl Failure {
    fn io(what: impl ToString) -> impl FnOnce(io::Error) -> Failure {
        move |error| Failure::Io { what: what.to_string(), error }
    }

    /// Prints the error, and returns the exit status.
    #[must_use]
    pub fn report(&self) -> ExitCode {
        match self {
            // The reader of the report has closed it, having seen enough.
            Failure::Io { error, .. } if error.kind() == io::ErrorKind::BrokenPipe => {
                ExitCode::SUCCESS
            }
            Failure::Io { .. } => {
                anstream::eprintln!("error: {self}");
                ExitCode::from(1)
            }
            Failure::Policy(error) => {
                anstream::eprintln!("{}", error.in_colour());
                ExitCode::from(2)
            }
        }
    }
}

impl Cli {
    /// Carries out the command.
    ///
    /// # Errors
    ///
    /// [`Failure`], to be shown to the user.
    pub fn run(self) -> Result<(), Failure> {
        match self.command {
            None => ReplayArgs::of_sample().run(),
            Some(Command::Replay(args)) => args.run(),
            Some(Command::Policy) => print(policy::BUNDLED),
            Some(Command::Check(args)) => print(&args.run()?),
            Some(Command::Explain(args)) => print(&args.run()?),
        }
    }
}

fn print(text: &str) -> Result<(), Failure> {
    io::stdout().write_all(text.as_bytes()).map_err(Failure::io("standard output"))
}

impl ReplayArgs {
    fn of_sample() -> ReplayArgs {
        ReplayArgs {
            policy: None,
            json: false,
            top: 3,
            shape: false,
            shape_within: None,
            sample: true,
            logs: Vec::new(),
        }
    }

    fn run(self) -> Result<(), Failure> {
        let (name, policy) = self.policy()?;
        let sources = self.sources();
        let mut replay = if self.shape {
            Replay::shaped(policy, self.shape_within)
        } else {
            Replay::new(policy)
        };
        let started = Instant::now();
        read(&mut replay, &sources)?;
        let took = started.elapsed();
        show_skipped(&replay);

        let summary = Summary::new(&replay, self.top);
        let mut report = Vec::new();
        if self.json {
            summary.write_json(&mut report)
        } else {
            let logs = sources.iter().map(Source::to_string).collect();
            summary.write_text(&Heading { logs, policy: name, took }, &replay, &mut report)
        }
        .and_then(|()| anstream::stdout().write_all(&report))
        .map_err(Failure::io("standard output"))
    }

    fn policy(&self) -> Result<(String, Policy), Failure> {
        match &self.policy {
            None => {
                let name = "the bundled policy";
                Ok((name.to_owned(), Policy::parse(name, policy::BUNDLED)?))
            }
            Some(path) => {
                let name = path.display().to_string();
                Ok((name, Policy::load(path)?))
            }
        }
    }

    fn sources(&self) -> Vec<Source> {
        if self.sample {
            return vec![Source::Sample];
        }
        if self.logs.is_empty() {
            return vec![Source::Stdin];
        }
        let source = |path: &PathBuf| match path.as_os_str().as_encoded_bytes() {
            b"-" => Source::Stdin,
            _ => Source::File(path.clone()),
        };
        self.logs.iter().map(source).collect()
    }
}

fn read(replay: &mut Replay, sources: &[Source]) -> Result<(), Failure> {
    let progress = progress(sources);
    for source in sources {
        let name = source.to_string();
        if *source == Source::Stdin && io::stdin().is_terminal() {
            anstream::eprintln!("reading standard input");
        }
        source
            .open(&progress)
            .and_then(|log| replay.read(&name, log))
            .map_err(Failure::io(&name))?;
    }
    progress.finish_and_clear();
    Ok(())
}

/// Returns a progress bar on standard error, which draws nothing unless that is a terminal.
fn progress(sources: &[Source]) -> ProgressBar {
    let bytes: Option<u64> = sources.iter().map(Source::bytes).sum();
    let (bar, template) = match bytes {
        Some(bytes) => {
            (ProgressBar::new(bytes), "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}")
        }
        None => (ProgressBar::new_spinner(), "{spinner} {bytes} {bytes_per_sec}"),
    };
    bar.with_style(ProgressStyle::with_template(template).expect("the template is a constant"))
}

fn show_skipped(replay: &Replay) {
    for skipped in replay.first_skipped() {
        anstream::eprintln!("skipped {}:{}: {}", skipped.log, skipped.number, skipped.why);
    }
    if let Some(more @ 1..) = replay.skipped().checked_sub(SHOWN_SKIPPED as u64) {
        anstream::eprintln!("skipped {more} more lines");
    }
}
