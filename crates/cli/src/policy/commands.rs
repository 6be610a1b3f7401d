//! `sluicegate check` and `sluicegate explain`: what a policy file says, before any log is replayed.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use sluicegate_policy::{LimiterPolicy, escaped, time_in_words};

use super::input::{InputError, PolicyArgs};
use super::levels;
use crate::report::fold::{columns, folded};

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Policy file: .yaml, .yml or .json; anything else is TOML; `-` is standard input
    #[arg(value_name = "POLICY", required_unless_present = "schema")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    read: PolicyArgs,
    /// Print the JSON Schema of policies, for editors
    #[arg(long, conflicts_with = "policy")]
    schema: bool,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Policy file: .yaml, .yml or .json; anything else is TOML; `-` is standard input
    #[arg(value_name = "POLICY")]
    policy: PathBuf,
    #[command(flatten)]
    read: PolicyArgs,
}

impl CheckArgs {
    /// Returns the text to print. Prints warnings on standard error.
    ///
    /// # Errors
    ///
    /// [`InputError`] if the policy cannot be read, or has mistakes.
    pub fn run(&self) -> Result<String, InputError> {
        let Some(path) = self.policy.as_ref().filter(|_| !self.schema) else {
            return Ok(sluicegate_policy::json_schema());
        };
        let policies = self.read.read(path)?;
        let mut text = String::from("ok\n");
        for level in policies.hierarchy() {
            let _ = writeln!(text, "  {}", in_columns(&levels::line(level), 2));
        }
        for limiter in policies.limiters() {
            let _ = writeln!(text, "  {}", in_columns(&line(limiter), 2));
        }
        Ok(text)
    }
}

impl ExplainArgs {
    /// Returns the text to print. Prints warnings on standard error.
    ///
    /// # Errors
    ///
    /// [`InputError`] if the policy cannot be read, or has mistakes.
    pub fn run(&self) -> Result<String, InputError> {
        let policies = self.read.read(&self.policy)?;
        let of_levels = policies.hierarchy().iter();
        let of_levels = of_levels.map(|level| (levels::line(level), levels::explain(level)));
        let of_limiters = policies.limiters().iter();
        let of_limiters = of_limiters.map(|limiter| (line(limiter), limiter.explain()));
        let texts = of_levels.chain(of_limiters).map(|(line, sentences)| {
            let mut text = format!("{}\n", in_columns(&line, 0));
            for sentence in sentences {
                let _ = writeln!(text, "  {}", in_columns(&sentence, 2));
            }
            text
        });
        Ok(texts.collect::<Vec<_>>().join("\n"))
    }
}

/// Breaks a text that begins at `column` into the columns of the terminal, if there is one.
fn in_columns(text: &str, column: usize) -> String {
    columns().map_or_else(|| text.to_owned(), |width| folded(text, column, 4, width))
}

/// Returns a limiter in one line.
fn line(limiter: &LimiterPolicy) -> String {
    let key: Vec<String> = limiter.key.iter().map(ToString::to_string).collect();
    let by = match key.join(" and ") {
        all if all == "all" => "one limiter for all requests".to_owned(),
        parts => format!("by {parts}"),
    };
    let mut line = format!("{}, {by}: {}", escaped(&limiter.name), limiter.kind);
    match limiter.overrides.len() {
        0 => {}
        1 => line += "; 1 key has other numbers",
        keys => {
            let _ = write!(line, "; {keys} keys have other numbers");
        }
    }
    if let Some(penalty) = &limiter.penalty {
        let _ = write!(line, "; penalty: {penalty}");
    }
    if let Some(wait) = limiter.wait {
        let _ = write!(line, "; requests wait up to {}", time_in_words(wait));
    }
    if limiter.shadow {
        line += "; shadow: only counts what it would deny";
    }
    line
}
