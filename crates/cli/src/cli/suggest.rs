//! `sluicegate suggest`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use bytesize::ByteSize;
use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use sluicegate_replay::log::{Merged, Source};
use sluicegate_replay::policy::Policy;
use sluicegate_replay::suggest::{
    Goal, Share, SuggestError, SuggestOptions, Vary, WHOLE, in_percent, suggest,
};
use sluicegate_replay::warnings;

use super::inputs::{
    FormatArgs, load, progress, refuse_policies, refuse_same, show_skipped, sources, tell_formats,
};
use super::page_file::page_file;
use super::{Failure, command, command_without, print, status};
use crate::console::tell;
use crate::policy::input::{PolicyArgs, size};
use crate::report::{Next, SuggestPage, write_findings};

pub(super) const AFTER_HELP: &str = "\
Example:
  sluicegate suggest --kind sliding_window --interval '1 minute' --at-least 99.5 access.log
      The least limit of a minute that never denies a request of 99.5 % of the clients.

  sluicegate suggest --kind token_bucket --burst 20 --interval '1 second' --vary rate access.log
      The least rate of a bucket that holds 20, in permits per second.

A key is untouched by a limit if none of its requests is denied. The limit of a bucket is its burst, \
and that of a GCRA its requests at once: rates and intervals stay as they are. A bucket that starts full \
still does; the capacity of a weighted log stays, unless it is the limit, as if left out. Each window of `multi_window` and each limiter of \
`all` is looked at as if it were alone. Every key is kept, with a limiter of its own: `store`, `max_keys` \
and `when_full` do not apply, and nor does a `penalty`, of which a warning reminds: `replay` obeys it. Keys with overrides are left out, and so are lines without a key that the policy \
denies or admits whatever the limit is; both are counted. A budget and a minimum interval have no \
single limit, and get no suggestion.

With --vary rate, the rate of token buckets and meters is searched for, in whole permits per their interval, \
and the burst stays; a longer interval makes finer steps. In JSON, \"vary\":\"rate\" comes before \"of\", and \
each \"limit\" is a rate. The highest rate is what the engine allows for that interval; where even that denies too \
much, because more than the burst comes at one instant, no rate is suggested.

The least limit of a key can be computed in one reading for token buckets and meters that start full and \
refill smoothly, GCRA, sliding logs and all windows but those from the first request. For these, weighted \
logs and other buckets, limits are replayed, sixteen in each reading, until the one found reaches the \
goal and the one below it does not. So they are for the share of requests. There a higher limit may deny \
more: with costs that differ, in estimated and slotted windows, and where limits are not computed. The \
report then says that a lower limit might do too. The logs are read several times, so standard input \
cannot be one of them.

With --json, one object on one line:
  {\"lines\":N,\"skipped\":N,\"of\":S,\"untouched_percent\":N,\"limiters\":[
    {\"name\":S,\"policy\":S,\"keys\":N,\"requests\":N,\"present\":N or null,\"suggested\":N or null,
     \"suggested_policy\":S or null,\"may_hit\":N,
     \"is_least\":B,\"gap\":{\"from\":N,\"to\":N,\"keys_hit\":N},\"overridden\":N,\"knee\":N or null,\"is_by_client\":B,
     \"curve\":[{\"limit\":N,\"keys_hit\":N,\"denied\":N,\"requests_of_hit\":N}],
     \"hit\":[{\"key\":S,\"denied\":N,\"requests\":N,\"least_limit\":N,\"first\":S,\"last\":S,
       \"mostly\":{\"agent\":S,\"agents\":N,\"path\":S,\"paths\":N,\"looks\":S,\"network\":S}}]}],
   \"policy\":S,\"without\":[{\"name\":S,\"why\":S}],\"warnings\":[S],\"failures\":[S]}
where limiters of which lines lack a value also have \"lacking\", as in `replay --json`, \"may_hit\" is the most keys, or requests, that the suggested limit was allowed to hit, \"gap\", if there is one, \
are the limits in the widest gap between the least limits of keys (those above it are likely the abusers), \
\"requests_of_hit\" are all requests of the keys that a limit hits, and \"least_limit\", if it can be \
computed, is the least that leaves a key untouched. \"policy\" is the text to paste, \"knee\" the limit above \
which a higher one spares few more keys, and \"mostly\" has the most frequent user agent and path of the requests \
that a key would be denied, the numbers of distinct ones, at most 64, and its \"network\", if --crawlers names it.";

#[derive(Debug, Args)]
pub(super) struct SuggestArgs {
    /// The policy whose limits are searched for: TOML, or by the end of its name YAML (.yaml, .yml)
    /// or JSON (.json); without it and --kind, the bundled one; `-` is standard input
    #[arg(long, short, value_name = "POLICY", conflicts_with = "kind")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    read: PolicyArgs,
    /// A kind of limiter instead of a policy
    #[arg(long, value_name = "KIND", requires = "interval")]
    kind: Option<KindName>,
    /// The interval of --kind, such as `1 minute`; of a calendar window `day`, `month` and so on
    #[arg(long, value_name = "TIME", requires = "kind")]
    interval: Option<String>,
    /// The tokens that a bucket of --kind earns in each interval: 1 unless it is given
    #[arg(long, value_name = "N", requires = "kind", value_parser = permits())]
    amount: Option<u64>,
    /// The burst of a bucket of --kind, for `--vary rate`
    #[arg(long, value_name = "N", requires = "kind", value_parser = permits())]
    burst: Option<u64>,
    /// The number to search for
    #[arg(long, value_name = "WHAT", default_value = "limit")]
    vary: VaryName,
    /// The field that is the key of --kind, such as `user`
    #[arg(long, value_name = "FIELD", requires = "kind", default_value = "client")]
    key: String,
    /// The share that the limit has to leave untouched, in percent
    #[arg(long, value_name = "PERCENT", default_value = "99", value_parser = percent)]
    at_least: u64,
    /// The things of which it is a share
    #[arg(long, value_name = "WHAT", default_value = "keys")]
    of: ShareName,
    /// Print one JSON object instead of the report
    #[arg(long)]
    json: bool,
    /// Also write the report to FILE, as a page for browsers; a file of this name is replaced
    ///
    /// The page needs nothing beside itself. A line on the curve of each limiter can be moved, and the keys that the
    /// limit there hits are marked.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Number of the most denied keys to list per limiter; 0 is all
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: usize,
    /// Judge each line at the beginning of its second, instead of spreading the lines of a second
    #[arg(long)]
    as_stamped: bool,
    /// The most memory that the keys of all limiters may take, estimated
    #[arg(long, value_name = "SIZE", default_value = "4 GiB", value_parser = size)]
    max_memory: ByteSize,
    /// Read the bundled log
    #[arg(long, conflicts_with = "logs")]
    sample: bool,
    #[command(flatten)]
    format: FormatArgs,
    /// The logs, in any order
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,
}

/// The number that is searched for, as the option names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum VaryName {
    /// The limit: of a bucket its burst
    Limit,
    /// The rate of a bucket, in permits per its interval; the burst stays
    Rate,
}

impl From<VaryName> for Vary {
    fn from(name: VaryName) -> Vary {
        match name {
            VaryName::Limit => Vary::Limit,
            VaryName::Rate => Vary::Rate,
        }
    }
}

/// The things of which a share is meant, as the option names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ShareName {
    /// Keys of which no request is denied
    Keys,
    /// Requests that are not denied
    Requests,
}

impl From<ShareName> for Share {
    fn from(name: ShareName) -> Share {
        match name {
            ShareName::Keys => Share::Keys,
            ShareName::Requests => Share::Requests,
        }
    }
}

/// The kinds of limiters that are made from arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum KindName {
    TokenBucket,
    Meter,
    Gcra,
    FixedWindow,
    SlidingWindow,
    SlidingCounter,
    SlidingLog,
    CalendarWindow,
}

impl KindName {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Returns true for a bucket: it has a burst, and earns an amount.
    fn is_bucket(self) -> bool {
        matches!(self, KindName::TokenBucket | KindName::Meter)
    }

    /// Returns the fields of the limiter in a policy.
    fn fields(self, interval: &str, amount: u64, burst: u64) -> String {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let interval = text(interval);
        let name = text(&self.name());
        let rate =
            format!("limit = {burst}\nrate = {{ amount = {amount}, interval = {interval} }}");
        match self {
            KindName::TokenBucket => format!("policy = {name}\n{rate}"),
            KindName::Meter => format!("policy = \"leaky_bucket\"\nmode = \"meter\"\n{rate}"),
            KindName::Gcra => {
                format!("policy = {name}\ninterval = {interval}\ntolerance = \"0 s\"")
            }
            KindName::CalendarWindow => format!("policy = {name}\nlimit = 1\nevery = {interval}"),
            KindName::FixedWindow => {
                format!("policy = {name}\nlimit = 1\ninterval = {interval}\nstart = \"first\"")
            }
            _ => format!("policy = {name}\nlimit = 1\ninterval = {interval}"),
        }
    }
}

impl SuggestArgs {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        if let Some(help) = self.format.help() {
            return print(help.as_bytes());
        }
        if self.logs.is_empty() && !self.sample {
            return Err(Failure::Use(
                "no log is given: name the files, or read the bundled one by --sample".to_owned(),
            ));
        }
        let policy = self.policy()?;
        let format = self.format.format(&policy)?;
        let sources = sources(self.sample, &self.logs);
        refuse_policies(&sources)?;
        refuse_same(&sources)?;
        if sources.contains(&Source::Stdin) {
            return Err(Failure::Use(
                "`-` is standard input, which can be read only once, and `suggest` reads its logs \
                 several times; name files"
                    .to_owned(),
            ));
        }
        let is_stream = |log: &&Source| {
            matches!(log, Source::File(path) if path.exists() && !path.is_dir())
                && log.bytes().is_none()
        };
        if let Some(log) = sources.iter().find(is_stream) {
            return Err(Failure::Use(format!(
                "`{log}` is a pipe or a device, which can be read only once, and `suggest` reads its \
                 logs several times; write it to a file first"
            )));
        }
        let crawlers = self.format.crawlers()?;
        let policies = self.policy.iter().map(PathBuf::as_path);
        let page_file = page_file(self.html.as_deref(), &sources, policies)?;
        let options = SuggestOptions {
            goal: Goal { of: self.of.into(), untouched: self.at_least },
            vary: self.vary.into(),
            as_stamped: self.as_stamped,
            max_memory_bytes: self.max_memory.as_u64(),
            top: self.top,
            has_present: self.kind.is_none(),
            ..SuggestOptions::default()
        };
        let mut bars = Vec::new();
        let found = suggest(&policy, &options, &mut || {
            let bar = progress(&sources);
            let logs = Merged::open_as(&format, self.format.order(), &sources, &bar);
            if let (true, Ok(logs)) = (bars.is_empty(), &logs) {
                tell_formats(logs);
            }
            bars.push(bar);
            logs
        });
        for bar in bars {
            bar.finish_and_clear();
        }
        let (mut findings, pass) = found.map_err(|error| match error {
            SuggestError::Open(what, error) => Failure::Io { what, error },
            SuggestError::Memory(error) => Failure::Memory(error),
        })?;
        findings.name_networks(&crawlers);
        show_skipped(&pass);
        if let Some(error) = warnings::no_client(&pass, &policy.needs()) {
            return Err(Failure::Use(error));
        }
        for error in &findings.failures {
            tell(&format_args!("error: {error}"));
        }
        let logs: Vec<String> = sources.iter().map(Source::to_string).collect();
        let page_written = page_file.map_or(Ok(()), |file| {
            let page = SuggestPage { logs: logs.clone(), command: command(), findings: &findings };
            file.write(&page.html())
        });
        let mut report = Vec::new();
        if self.json {
            for warning in &findings.warnings {
                tell(&format_args!("warning: {warning}"));
            }
            serde_json::to_writer(&mut report, &findings)
                .map_err(std::io::Error::from)
                .and_then(|()| writeln!(report))
        } else {
            let stamped = self.as_stamped.then(|| "--as-stamped".to_owned());
            let words = self.format.words().into_iter().chain(stamped).chain(logs);
            let next =
                Next { command: command_without("--at-least"), logs: shell_words::join(words) };
            write_findings(&findings, (!self.sample).then_some(&next), &mut report)
        }
        .and_then(|()| anstream::stdout().write_all(&report))
        .map_err(Failure::io("standard output"))?;
        page_written?;
        Ok(status::after_logs(findings.failures.is_empty(), &pass))
    }

    fn policy(&self) -> Result<Policy, Failure> {
        let (Some(kind), Some(interval)) = (self.kind, &self.interval) else {
            let loaded = load(self.policy.as_deref(), &self.read, &[]);
            return loaded.map(|(_, policy)| policy);
        };
        for (option, number) in [("--amount", self.amount), ("--burst", self.burst)] {
            if let (Some(number), false) = (number, kind.is_bucket()) {
                let kind = kind.name();
                return Err(Failure::Use(format!(
                    "`{option} {number}` is of a bucket (token_bucket, meter); {kind} has only a limit and an interval"
                )));
            }
        }
        if let (Some(burst), true) = (self.burst, self.vary == VaryName::Limit) {
            return Err(Failure::Use(format!(
                "`--burst {burst}` is for `--vary rate`, which keeps it; without that, the burst is what is searched for"
            )));
        }
        let key = serde_json::Value::from(self.key.as_str());
        // Others would be one key that has most requests, and would decide the limit.
        let key = match self.key.as_str() {
            "user" | "referer" | "agent" => format!("{{ field = {key}, missing = \"admit\" }}"),
            _ => key.to_string(),
        };
        let fields = kind.fields(interval, self.amount.unwrap_or(1), self.burst.unwrap_or(1));
        let name = serde_json::Value::from(format!("per-{}", self.key));
        let text = format!("[[limiter]]\nname = {name}\nkey = {key}\n{fields}\n");
        let parsed = Policy::parse("the arguments", &text);
        parsed.map_err(|errors| {
            // The places are those of a text that the user has not seen.
            let wrong = errors.iter().map(|error| {
                let meant = error.did_you_mean().map(|name| format!("; did you mean `{name}`?"));
                format!("{}: {}{}", error.message(), error.expected(), meant.unwrap_or_default())
            });
            let wrong = wrong.collect::<Vec<_>>().join("; ");
            Failure::Use(format!("--kind {} --interval '{interval}': {wrong}", kind.name()))
        })
    }
}

/// Returns a parser of the permits that a bucket can have.
fn permits() -> RangedU64ValueParser<u64> {
    RangedU64ValueParser::new().range(1..=1 << 32)
}

/// Reads a share in percent, as millionths.
fn percent(text: &str) -> Result<u64, String> {
    let why = || format!("`{text}` is not a share from 0 to 100 percent, with at most 4 decimals");
    let (number, is_percent) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (text, false),
    };
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(decimals) || decimals.len() > 4 {
        return Err(why());
    }
    let share: u64 = format!("{whole}{decimals:0<4}").parse().map_err(|_| why())?;
    if whole == "0" && share > 0 && !is_percent {
        let hundredfold = in_percent(share * 100);
        return Err(format!(
            "`{text}` is less than 1 percent; write `{hundredfold}` for {hundredfold} percent, or `{text}%` if it \
             is meant"
        ));
    }
    if share <= WHOLE { Ok(share) } else { Err(why()) }
}
