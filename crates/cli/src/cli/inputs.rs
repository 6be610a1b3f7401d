//! The logs and the policy that `replay` and `suggest` are given.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use jiff::SignedDuration;
use sluicegate_replay::crawlers::Crawlers;
use sluicegate_replay::log::{
    BadLine, Format, Merged, Order, SHOWN_SKIPPED, Source, Used, formats_help,
};
use sluicegate_replay::policy::{self, Policy};
use sluicegate_replay::replay::Pass;
use sluicegate_replay::warnings;

use super::Failure;
use crate::console::tell;
use crate::policy::input::{self, PolicyArgs};

/// The format of the logs, and the order of their lines.
#[derive(Debug, Args)]
pub(super) struct FormatArgs {
    /// Format of the logs, such as `combined`, `json`, `haproxy` or `alb`, or a pattern of nginx or Apache;
    /// `help` lists all of them
    ///
    /// Without it, the first lines of each log tell. A pattern is what the server's `log_format` or
    /// `LogFormat` has, or that whole directive. The help of `replay` has examples.
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    format: String,
    /// Names that fields have in the logs, such as `client=remote_addr,time=ts`
    ///
    /// The fields are client, user, time, date, `time_of_day`, request, method, path, status,
    /// bytes, referer and agent. Those that are left out keep their usual names.
    #[arg(long, value_name = "FIELD=NAME,...")]
    fields: Option<String>,
    /// Number of proxies that have added to a list of addresses, such as that of `X-Forwarded-For`
    ///
    /// The client is as many from the end: the last one if there is one proxy.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    proxies: u8,
    /// Put lines in order that are older than one before them by up to this, such as `5m`
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, conflicts_with = "sort")]
    reorder: Option<Duration>,
    /// Sort each log by time; all of its lines are kept in memory
    #[arg(long)]
    sort: bool,
    /// Networks by name, to tell which of the denied keys are known crawlers
    ///
    /// JSON as crawlers publish it, whose networks have the name of the file; or a name and its networks
    /// on each line. May be given several times.
    #[arg(long, value_name = "FILE")]
    crawlers: Vec<PathBuf>,
}

impl FormatArgs {
    pub(super) fn combined() -> FormatArgs {
        FormatArgs {
            format: "combined".to_owned(),
            fields: None,
            proxies: 1,
            reorder: None,
            sort: false,
            crawlers: Vec::new(),
        }
    }

    /// Returns the list of formats, if that is what was asked for.
    pub(super) fn help(&self) -> Option<String> {
        (self.format.trim() == "help").then(formats_help)
    }

    /// Reads the names of networks.
    pub(super) fn crawlers(&self) -> Result<Crawlers, Failure> {
        let mut files = Vec::new();
        for path in &self.crawlers {
            let text = fs::read_to_string(path).map_err(Failure::io(path.display()))?;
            files.push((path.as_path(), text));
        }
        Crawlers::of_files(files).map_err(Failure::Use)
    }

    /// Returns the arguments that read the logs in the same way.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
        };
        option("--format", (self.format != "auto").then(|| self.format.clone()));
        option("--fields", self.fields.clone());
        option("--proxies", (self.proxies != 1).then(|| self.proxies.to_string()));
        let reorder = self.reorder.map(|time| humantime::format_duration(time).to_string());
        option("--reorder", reorder);
        words.extend(self.sort.then(|| "--sort".to_owned()));
        for file in &self.crawlers {
            words.extend(["--crawlers".to_owned(), file.to_string_lossy().into_owned()]);
        }
        words
    }

    /// Returns the order of the lines.
    pub(super) fn order(&self) -> Order {
        match self.reorder {
            _ if self.sort => Order::Sorted,
            Some(window) => {
                Order::Within(SignedDuration::try_from(window).unwrap_or(SignedDuration::MAX))
            }
            None => Order::OfLog,
        }
    }

    /// Returns the format, with what a policy asks for.
    pub(super) fn format(&self, policy: &Policy) -> Result<Format, Failure> {
        let needs = policy.needs();
        let used = Used { status: needs.status(), bytes: needs.bytes, proxies: self.proxies };
        let format = Format::parse(&self.format, self.fields.as_deref())?;
        Ok(format.with_columns(&policy.named()).using(used))
    }
}

/// Reads a policy, or the bundled one. Returns its name too.
pub(super) fn load(
    path: Option<&Path>,
    read: &PolicyArgs,
    logs: &[Source],
) -> Result<(String, Policy), Failure> {
    let Some(path) = path else {
        let name = "the bundled policy";
        return Ok((name.to_owned(), Policy::parse(name, policy::DEMONSTRATION)?));
    };
    let is_stdin = input::is_stdin(path);
    if is_stdin && logs.contains(&Source::Stdin) {
        return Err(Failure::Use(
            "standard input is the policy, so it cannot be a log too; name the files of the logs"
                .to_owned(),
        ));
    }
    let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let policies = read.read(path)?;
    Ok((name, Policy::from(policies)))
}

/// Returns the logs that arguments name.
pub(super) fn sources(sample: bool, logs: &[PathBuf]) -> Vec<Source> {
    if sample {
        return vec![Source::Sample];
    }
    if logs.is_empty() {
        return vec![Source::Stdin];
    }
    let source = |path: &PathBuf| match path.as_os_str().as_encoded_bytes() {
        b"-" => Source::Stdin,
        _ => Source::File(path.clone()),
    };
    logs.iter().map(source).collect()
}

/// Refuses logs whose names are those of policies, which are easily given without their option.
pub(super) fn refuse_policies(logs: &[Source]) -> Result<(), Failure> {
    let is_policy = |path: &Path| {
        let end = path.extension().unwrap_or_default();
        ["toml", "yaml", "yml"].iter().any(|policy| end.eq_ignore_ascii_case(policy))
    };
    match logs.iter().find(|log| matches!(log, Source::File(path) if is_policy(path))) {
        None => Ok(()),
        Some(log) => Err(Failure::Use(format!(
            "`{log}` is a policy by its name, and logs are wanted here; a policy is given by \
             `--policy {log}`"
        ))),
    }
}

/// A file, whatever its path is.
#[derive(PartialEq, Eq, Hash)]
enum Place {
    /// Its device and number, which hard links share.
    #[cfg(unix)]
    Node(u64, u64),
    Path(PathBuf),
}

impl Place {
    fn of(path: &Path) -> Place {
        #[cfg(unix)]
        if let Ok(file) = path.metadata() {
            use std::os::unix::fs::MetadataExt;
            return Place::Node(file.dev(), file.ino());
        }
        Place::Path(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
    }
}

/// Refuses logs that are given twice, also by another path or as a hard link, whose requests would count twice.
pub(super) fn refuse_same(logs: &[Source]) -> Result<(), Failure> {
    let mut seen = HashMap::new();
    for log in logs {
        let place = match log {
            Source::File(path) => Place::of(path),
            Source::Stdin => Place::Path(PathBuf::from("-")),
            Source::Sample => continue,
        };
        if let Some(first) = seen.insert(place, log) {
            let other = if first == log { String::new() } else { format!(", also as `{first}`") };
            return Err(Failure::Use(format!(
                "`{log}` is given twice{other}: its requests would count twice"
            )));
        }
    }
    Ok(())
}

/// Returns a progress bar on standard error, which draws nothing unless that is a terminal.
pub(super) fn progress(sources: &[Source]) -> ProgressBar {
    let bytes: Option<u64> = sources.iter().map(Source::bytes).sum();
    let (bar, template) = match bytes {
        Some(bytes) => {
            (ProgressBar::new(bytes), "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}")
        }
        None => (ProgressBar::new_spinner(), "{spinner} {bytes} {bytes_per_sec}"),
    };
    bar.with_style(ProgressStyle::with_template(template).expect("the template is a constant"))
}

/// Tells the formats that were found by the first lines, but for the usual one.
pub(super) fn tell_formats(logs: &Merged) {
    let mut formats: Vec<(&str, Vec<&str>)> = Vec::new();
    for (log, format) in logs.formats() {
        match formats.iter_mut().find(|(known, _)| known == format) {
            Some((_, logs)) => logs.push(log),
            None => formats.push((format, vec![log])),
        }
    }
    for (format, logs) in formats {
        match &*logs {
            [log] => tell(&format_args!("reading {log} as {format}")),
            [log, ..] => {
                tell(&format_args!("reading {log} and {} more as {format}", logs.len() - 1));
            }
            [] => {}
        }
    }
}

/// Shows the first lines that were skipped, and how to read them if all of them are in another format.
pub(super) fn show_skipped(pass: &Pass) {
    let first = pass.first_skipped();
    for skipped in first {
        tell(&format_args!("skipped {}:{}: {}", skipped.log, skipped.number, skipped.why));
    }
    if let Some(more @ 1..) = pass.skipped().checked_sub(SHOWN_SKIPPED as u64) {
        tell(&format_args!("skipped {} more lines", HumanCount(more)));
    }
    if pass.lines() > 0 {
        return;
    }
    if first.iter().any(|skipped| matches!(skipped.why, BadLine::NoTime(_))) {
        tell(&warnings::no_time(pass.names()));
    }
    if first.iter().any(|skipped| skipped.why == BadLine::Format) {
        tell(
            &"help: if the log is in another format, name it by --format, of which `--format help` has a list, or \
              write a pattern",
        );
    }
}
