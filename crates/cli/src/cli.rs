//! The arguments, and the main program that connects the parts.

mod completions;
mod inputs;
mod man;
mod page_file;
mod policies;
#[cfg(feature = "redis")]
mod redis;
mod replay;
#[cfg_attr(not(feature = "serve"), path = "cli/serve_left_out.rs")]
mod serve;
mod status;
mod suggest;

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use clap::{Parser, Subcommand};
use sluicegate_replay::log::{FormatError, HeaderError};
use sluicegate_replay::policy::{self, LoadError, PolicyErrors};
use sluicegate_replay::replay::TooMuchMemory;

use self::completions::CompletionsArgs;
use self::man::ManArgs;
#[cfg(feature = "redis")]
use self::redis::RedisCommandArgs;
use self::replay::ReplayArgs;
use self::serve::ServeArgs;
use self::status::{UNREADABLE, WRONG_USE};
use self::suggest::SuggestArgs;
use crate::console::tell;
use crate::policy::commands::{CheckArgs, ExplainArgs};
use crate::policy::input::InputError;

const EXAMPLES: &str = "\
Examples:
  sluicegate
      Replay the bundled log against the bundled policy.
  sluicegate policy > policy.toml
      A policy to start from; with --all, a limiter of every kind.
  sluicegate check policy.toml
      All its mistakes, or a line for each limiter.
  sluicegate replay --policy policy.toml access.log.1.gz access.log
      Replay your own logs against it.
  zcat *.gz | sluicegate replay --policy policy.toml --json --top 0
      Every key that was ever denied, as JSON.
  sluicegate replay --policy policy.toml --html report.html access.log
      The same as a page for browsers, with plots.
  sluicegate replay --policy policy.toml --shape --shape-within 2s access.log
      The waits of requests that are delayed instead of being denied.
  sluicegate serve
      A page on which every algorithm can be tried: http://localhost:8080.
  sluicegate serve --policy policy.toml
      Decisions over HTTP, for gateways: http://localhost:8080/openapi.json.
  sluicegate suggest --policy policy.toml access.log
      The least limits that leave 99 % of the keys untouched, and whom they hit.";

/// Replay access logs against rate-limit policies.
///
/// Reports what a policy would have done to the traffic you really had: each
/// line of a log is put to each limiter of the policy at the line's own time.
/// Without a command, replays the bundled log against the bundled policy.
#[derive(Debug, Parser)]
#[command(name = "sluicegate", version)]
#[command(after_help = EXAMPLES, after_long_help = status::after(EXAMPLES, status::OF_ALL))]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Replay logs against a policy and report what it would have denied
    #[command(after_long_help = status::after(replay::AFTER_HELP, status::OF_LOGS))]
    Replay(ReplayArgs),
    /// Find the least limits that leave most keys or requests of a log untouched
    #[command(after_long_help = status::after(suggest::AFTER_HELP, status::OF_LOGS))]
    Suggest(SuggestArgs),
    /// Print the bundled policy, to start one's own from
    ///
    /// It has four limiters. With --all, it has one of every kind there is, with all of its fields, and
    /// explains what they mean.
    #[command(after_long_help = status::after("", status::OF_TEXTS))]
    Policy {
        /// Print a limiter of every kind
        #[arg(long)]
        all: bool,
    },
    /// Check a policy file and list its errors, or its limiters if it is valid
    #[command(after_long_help = status::after("", status::OF_POLICIES))]
    Check(CheckArgs),
    /// Explain the most that each limiter of a policy can admit, and the memory that it takes
    #[command(after_long_help = status::after("", status::OF_POLICIES))]
    Explain(ExplainArgs),
    /// Serve a page to try limiters on, and the limiters of a policy over HTTP
    #[command(after_long_help = status::after(serve::AFTER_HELP, status::OF_SERVICE))]
    Serve(ServeArgs),
    #[cfg(feature = "redis")]
    /// Show or reset the key of a limiter that a Redis or Valkey server keeps
    #[command(after_long_help = status::after(redis::AFTER_HELP, status::OF_KEYS))]
    Redis(RedisCommandArgs),
    /// Print a script that completes the arguments of this command in a shell
    #[command(after_long_help = status::after(completions::AFTER_HELP, status::OF_TEXTS))]
    Completions(CompletionsArgs),
    /// Print a page of the manual, or write all of them to a directory
    #[command(after_long_help = status::after(man::AFTER_HELP, status::OF_TEXTS))]
    Man(ManArgs),
}

/// A reason why the command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The policy is wrong.
    #[error(transparent)]
    Policy(#[from] PolicyErrors),
    /// The policy is in another format than it was taken for.
    #[error("{0}")]
    PolicyFormat(PolicyErrors),
    /// The format of the logs is wrong.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The policy would take more memory than it may.
    #[error(transparent)]
    Memory(#[from] TooMuchMemory),
    /// Arguments do not fit together.
    #[error("{0}")]
    Use(String),
    /// Something could not be read or written.
    #[error("{what}: {error}")]
    Io {
        /// Name of the file or stream.
        what: String,
        /// The system's error.
        error: io::Error,
    },
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Failure {
        match error {
            InputError::Load(LoadError::Policy(errors)) => Failure::Policy(errors),
            InputError::Load(LoadError::Io { file, error }) => Failure::Io { what: file, error },
            InputError::Guessed(errors) => Failure::PolicyFormat(errors),
            InputError::Contradiction { .. } => Failure::Use(error.to_string()),
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
            Failure::Io { error, .. } => {
                tell(&format_args!("error: {self}"));
                ExitCode::from(if HeaderError::is(error) { WRONG_USE } else { UNREADABLE })
            }
            Failure::Memory(_) | Failure::Use(_) | Failure::Format(_) => {
                tell(&format_args!("error: {self}"));
                ExitCode::from(WRONG_USE)
            }
            Failure::PolicyFormat(errors) => {
                tell(&errors.in_colour());
                tell(&format_args!(
                    "  = help: for YAML or JSON, say `--policy-format yaml` or `--policy-format json`"
                ));
                ExitCode::from(WRONG_USE)
            }
            Failure::Policy(error) => {
                tell(&error.in_colour());
                ExitCode::from(WRONG_USE)
            }
        }
    }
}

impl Cli {
    /// Reads the arguments of the program.
    ///
    /// # Errors
    ///
    /// The exit status, after help or an error was shown.
    pub fn from_args() -> Result<Cli, ExitCode> {
        Cli::try_parse().map_err(|error| {
            let printed = error.print();
            if error.use_stderr() {
                if error.kind() == ErrorKind::InvalidSubcommand {
                    tell_of_replay(&error);
                }
                return ExitCode::from(WRONG_USE);
            }
            // Help and the version are what was asked for.
            let printed = printed.map_err(Failure::io("standard output"));
            printed.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS)
        })
    }

    /// Carries out the command, and returns the exit status.
    ///
    /// # Errors
    ///
    /// [`Failure`], to be shown to the user.
    pub fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            None => ReplayArgs::of_sample().run(),
            Some(Command::Replay(args)) => args.run(),
            Some(Command::Suggest(args)) => args.run(),
            Some(Command::Policy { all: false }) => print(policy::DEMONSTRATION.as_bytes()),
            Some(Command::Policy { all: true }) => print(policy::EVERY_KIND.as_bytes()),
            Some(Command::Check(args)) => print(args.run()?.as_bytes()),
            Some(Command::Explain(args)) => print(args.run()?.as_bytes()),
            Some(Command::Serve(args)) => args.run(),
            #[cfg(feature = "redis")]
            Some(Command::Redis(args)) => args.run(),
            Some(Command::Completions(args)) => print(&args.script()),
            Some(Command::Man(args)) => print(&args.page()?),
        }
    }
}

/// Tells how a log is replayed, unless a command is misspelt.
fn tell_of_replay(error: &clap::Error) {
    let logs: Vec<_> = std::env::args_os().skip(1).collect();
    let is_file = logs.first().is_some_and(|log| Path::new(log).exists());
    if is_file || error.get(ContextKind::SuggestedSubcommand).is_none() {
        let logs = logs.join(OsStr::new(" "));
        tell(&format_args!("To replay a log: sluicegate replay {}", logs.display()));
    }
}

/// Returns the command line, as a shell takes it.
fn command() -> String {
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    format!("sluicegate {}", shell_words::join(args))
}

/// Returns the command line without an option and its value.
fn command_without(option: &str) -> String {
    let mut args = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned());
    let mut kept = vec!["sluicegate".to_owned()];
    while let Some(arg) = args.next() {
        if arg == option {
            args.next();
        } else if arg.strip_prefix(option).is_none_or(|rest| !rest.starts_with('=')) {
            kept.push(arg);
        }
    }
    shell_words::join(kept)
}

fn print(text: &[u8]) -> Result<ExitCode, Failure> {
    let printed = io::stdout().write_all(text);
    printed.map(|()| ExitCode::SUCCESS).map_err(Failure::io("standard output"))
}
