//! `sluicegate replay`.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use clap::Args;
use indicatif::HumanBytes;
use sluicegate_replay::log::{Merged, Source};
use sluicegate_replay::replay::{Options, Replay, check_levels};
use sluicegate_replay::warnings;

use super::inputs::{
    FormatArgs, progress, refuse_policies, refuse_same, show_skipped, sources, tell_formats,
};
use super::page_file::page_file;
use super::policies::load_all;
use super::{Failure, command, print, status};
use crate::console::tell;
use crate::policy::input::{PolicyArgs, size};
use crate::report::{Heading, Page, Summary};

pub(super) const AFTER_HELP: &str = "\
Logs are plain, gzip or zstd. Several are merged by time, whatever \
their order. Lines in no such format, or of more than 64 KiB, are skipped, counted and the first few \
shown. So are lines that are more than an hour ahead of most of the thousand lines after them. Lines \
out of order within a log are judged at the newest time seen so far, and counted as late, unless --reorder or --sort puts \
them in order. A client is an IPv4 \
address, or the /64 network of an IPv6 address, however it is spelled, unless the policy's key says other lengths: \
key = { client = { ipv6 = 128 } }. An IPv6 address that stands for an IPv4 address is that one. Of a list of \
addresses, such as that of X-Forwarded-For, the last is the client, or the one that --proxies says.

Most logs have whole seconds. The lines of a second are spread evenly over it, in their order; with \
--as-stamped all of them come at its beginning. How they really came cannot be seen in such a log: for \
limiters that count over 5 seconds or less (5 times the time between the log's stamps), both figures are told. Lines with one finer stamp are spread in the same way, over a millisecond for example.

Formats:
  --format help
      The list of those that have names, such as combined, haproxy, traefik, alb or cloudflare, and of the prefixes that \
may be before the lines, such as syslog. Without --format, the first 30 lines of each log tell.
  --format 'cri json'
      A prefix, and the format of what follows it on each line.
  --format '$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent'
      A pattern of nginx: the string of its `log_format`, or that whole directive. Of several stamps \
$msec is used before $time_iso8601 before $time_local. Other variables are passed over.
  --format '%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"'
      A pattern of Apache: the string of its `LogFormat`, with or without backslashes, or that whole \
directive. %{sec}t, %{msec}t, %{usec}t, %{msec_frac}t, %{usec_frac}t and the format of strftime in \
%{...}t are read, in UTC unless it has a zone.
  --format '$http_x_real_ip [$time_local] $status' --fields client=http_x_real_ip
      A field of the pattern in place of the usual one; of Apache, as in client=%{X-Real-IP}i.
  --format json --fields client=request.remote_ip,time=ts
      An object on each line. A point leads into an object; of an array the first value is taken.
  --format csv --fields 'client=Source IP'
      Columns by the names in the first line, which commas, semicolons or tabs separate. Values in \
quotes end on their line.
  --format w3c
      The extended log format, by its `#Fields:`; its times are in UTC, and without a date that of `#Date:`.
  --format ltsv
      label:value, separated by tabs.
Headers and columns that a policy names, as in key = { header = \"x-api-key\" } or cost = { column = \
\"tokens\" }, are read from all formats but the common and combined one. A header has the name that servers give it, such as \
http_x_api_key, %{X-Api-Key}i, cs(x-api-key) or request.headers.x-api-key, or its own; a column has its \
name alone, which in json may be a path such as org.id, and in patterns of nginx is that of the variable.
Times of json, csv, w3c and ltsv are RFC 3339 or those of the common format (in UTC without a zone), or numbers: seconds since 1970 with \
or without a fraction, milliseconds from 10^11 on, microseconds from 10^14, nanoseconds from 10^17. \
Fields that --fields leaves out have their usual names, such as client, remote_addr or c-ip; in these \
formats an empty value is an absent one. Fields that a log lacks are `-`.

With --json, one object on one line:
  {\"lines\":N,\"skipped\":N,\"late\":N,\"limiters\":[
    {\"name\":S,\"keys\":N,\"keys_hit\":N,\"allowed\":N,\"denied\":N,\"top_denied\":[
      {\"key\":S,\"denied\":N,\"allowed\":N,\"first_seen\":S,\"last_seen\":S,
       \"mostly\":{\"agent\":S,\"agents\":N,\"path\":S,\"paths\":N,\"looks\":S,\"network\":S}}]}]}
where \"first_seen\" and \"last_seen\" are the stamps of a key's first and last line, in RFC 3339; a late line \
has the newest stamp before it. \"keys_hit\" are the keys of which a line was denied, and \"mostly\" has the most \
frequent user agent and path of what a key was denied, the numbers of distinct ones, at most 64, and its \"network\", if --crawlers names it.
Limiters of policy \"multi_window\" and \"all\" also have
    \"denied_by\":[{\"part\":S,\"denied\":N}]
for each of their windows or limiters; if several refused a line, it counts for the one that it \
would have had to wait for longest.
Limiters of policy \"shares\" also have
    \"shares\":{\"tenants\":N,\"assured\":N,\"borrowed\":N,\"denied\":N,\"top\":[
      {\"tenant\":S,\"assured\":N,\"borrowed\":N,\"denied\":N}]}
for the lines that were admitted within the shares of their tenants, with permits that were lent, or not at all, and the \
--top tenants with the most lines; and those of policy \"priorities\"
    \"classes\":[{\"class\":S,\"reserve\":N,\"allowed\":N,\"denied\":N}]
Limiters with `max_keys` also have
    \"store\":\"exact\",\"max_keys\":N,\"known\":N,\"full\":N
and those of store \"table\"
    \"store\":\"table\",\"memory_bytes\":N,\"occupancy\":{\"places\":N,\"live\":N,\"expired\":N},\"full\":N
where \"known\" is the most keys that were kept at a time, \"live\" are those not full at the end, \
and \"full\" are the lines whose key found no room, of which `when_full` decided.
Limiters that count over 5 times the time between stamps or less also have, unless --as-stamped or --shape is given,
    \"as_stamped\":{\"allowed\":N,\"denied\":N}
Limiters of which lines lack a value also have
    \"lacking\":{\"denied\":N,\"admitted\":N,\"shared\":N,\"no_address\":N,\"no_cost\":N,\"rounded\":N}
for lines without a key, which were denied, were admitted or share one, as the policy says; for clients that \
are not addresses, where the key is the network; for lines without the number that is their cost; and for those whose \
cost has a fraction and was rounded up.
A policy with a hierarchy also has
    \"hierarchy\":{\"allowed\":N,\"denied\":N,\"no_key\":N,\"no_amount\":N,\"levels\":[
      {\"name\":S,\"policy\":S,\"keys\":N,\"denied\":N,\"top_denied\":[...]}]}
for lines that passed all levels or were denied by one. A name in the `key` of a level is that of a field, such as \
client or user, or else of a column; one in `counts` is that of a column, or bytes. Lines without a value of \
a key are not judged (\"no_key\"), and an amount that is missing or no number is 0 (\"no_amount\"). A line that several \
levels deny counts for the one that it would have had to wait for longest.
If there were more keys than --tally-keys, \"keys\" is an estimate (its standard error is 0.8 %), and \
limiters have
    \"tally\":{\"max_keys\":N,\"denied_error\":N}
where \"denied_error\" is the most denials that a key may have had which is not listed. Each key of \
\"top_denied\" then has a \"denied_error\" too: it may have been denied so many times more, and seen earlier. \"allowed\" and \
\"denied\" of limiters are always exact.
The object also has \"outliers\", the skipped lines that were far ahead of others, \"misplaced\", the lines \
late by more than a minute, \"stamps\":{\"resolution_nanos\":N,\"spread\":B}, and, if there are any, \
\"warnings\":[S] and \"incomplete\":true, if not all could be read.
With --shape, a request waits until its limiter grants it, in a queue behind the earlier ones of its \
key. \"allowed\" then are the requests that got through, at once or later, and \"denied\" those for which \
no wait was found: those for more than their limiter ever grants, those that would leave after the \
year 2554, and those of limiters in parts that put each other off a thousand times. Each key is kept: \
`store`, `max_keys` and `when_full` do not apply. A key takes about 800 bytes, more with a log or a \
large window, so 10 million of them take 8 GB. Limiters have, instead of a store,
    \"waits\":{\"delayed\":N,\"p50_nanos\":N,\"p90_nanos\":N,\"p99_nanos\":N,\"max_nanos\":N,\"longer\":N},
    \"top_delayed\":[{\"key\":S,\"delayed\":N,\"allowed\":N,\"max_nanos\":N,\"first_seen\":S,\"last_seen\":S}]
where percentiles are of all \"allowed\" requests, and at most 0.8 % too long; \"longer\" are those that \
waited for longer than --shape-within, if that is given.
\"lines\" are the lines judged, late ones among them, skipped ones not. Of each limiter, \"allowed\" \
and \"denied\" add up to the lines that its `match` lets through.";

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct ReplayArgs {
    /// The policy: TOML, or by the end of its name YAML (.yaml, .yml) or JSON (.json); without it,
    /// the bundled one; `-` is standard input
    ///
    /// May be given several times, to compare policies on the same lines. The name of each limiter
    /// then begins with that of its file.
    #[arg(long, short, value_name = "POLICY")]
    policy: Vec<PathBuf>,
    #[command(flatten)]
    read: PolicyArgs,
    #[command(flatten)]
    format: FormatArgs,
    /// Print one JSON object instead of the report
    #[arg(long)]
    json: bool,
    /// Also write the report to FILE, as a page for browsers; a file of this name is replaced
    ///
    /// The page needs nothing beside itself. It shows what the report does, requests over time, and
    /// the distribution of the peaks of keys, with the limit: the most that a key asked for in a
    /// window, or the least burst of a bucket that would have let all of its requests through.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
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
    /// Judge each line at the beginning of its second, instead of spreading the lines of a second
    #[arg(long)]
    as_stamped: bool,
    /// Print the table of limiters and the warnings only
    #[arg(long)]
    brief: bool,
    /// The most keys of a limiter whose counts are kept; with more, counts of keys are estimates
    #[arg(long, value_name = "N", default_value_t = Options::default().tally_keys)]
    tally_keys: usize,
    /// The most memory that the keys of all limiters may take, estimated
    #[arg(long, value_name = "SIZE", default_value = "4 GiB", value_parser = size)]
    max_memory: ByteSize,
    /// Replay the bundled log
    #[arg(long, conflicts_with = "logs")]
    sample: bool,
    /// The logs, in any order; `-` or none is standard input
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,
}

impl ReplayArgs {
    pub(super) fn of_sample() -> ReplayArgs {
        let options = Options::default();
        ReplayArgs {
            policy: Vec::new(),
            read: PolicyArgs::default(),
            format: FormatArgs::combined(),
            json: false,
            html: None,
            top: 1,
            shape: false,
            shape_within: None,
            as_stamped: false,
            brief: true,
            tally_keys: options.tally_keys,
            max_memory: ByteSize::b(options.max_memory_bytes),
            sample: true,
            logs: Vec::new(),
        }
    }

    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        if let Some(help) = self.format.help() {
            return print(help.as_bytes());
        }
        let sources = self.sources();
        refuse_policies(&sources)?;
        refuse_same(&sources)?;
        let (name, policy) = load_all(&self.policy, &self.read, &sources)?;
        let format = self.format.format(&policy)?;
        let crawlers = self.format.crawlers()?;
        let options = self.options();
        options.check_policy(&policy)?;
        check_levels(&policy.hierarchy).map_err(Failure::Use)?;
        if self.shape && !policy.hierarchy.is_empty() {
            tell(&"warning: --shape is for limiters: the levels of the hierarchy deny at once");
        }
        for (rule, bytes) in options.too_roomy(&policy) {
            tell(&format_args!(
                "warning: limiter \"{}\" would take {} if it had `max_keys` keys",
                rule.name,
                HumanBytes(bytes)
            ));
        }
        let policies = self.policy.iter().map(PathBuf::as_path);
        let page_file = page_file(self.html.as_deref(), &sources, policies)?;
        let policy_text = policy.text.clone();
        let started = Instant::now();
        if sources.contains(&Source::Stdin) && io::stdin().is_terminal() {
            tell(&"reading standard input");
        }
        let progress = progress(&sources);
        let mut logs = Merged::open_as(&format, self.format.order(), &sources, &progress)
            .map_err(|(what, error)| Failure::Io { what, error })?;
        tell_formats(&logs);
        let mut replay = Replay::with_options(policy, options);
        let done = replay.read(&mut logs);
        progress.finish_and_clear();
        let took = started.elapsed();
        show_skipped(replay.pass());

        let mut errors: Vec<String> =
            logs.failures().iter().map(|(log, error)| format!("{log}: {error}")).collect();
        errors.extend(done.err().map(|error| error.to_string()));
        let failed = errors.len();
        for error in &errors {
            tell(&format_args!("error: {error}"));
        }
        if let Some(error) = warnings::no_client(replay.pass(), replay.needs()) {
            return Err(Failure::Use(error));
        }
        let mut summary = Summary::new(&replay, self.top, errors);
        summary.name_networks(&crawlers);
        let logs = sources.iter().map(Source::to_string).collect();
        let heading = Heading { logs, policy: name, took, brief: self.brief, next: self.next() };
        let page_written = page_file.map_or(Ok(()), |file| {
            let (summary, replay) = (&summary, &replay);
            let page = Page {
                heading: &heading,
                command: command(),
                policy: policy_text,
                summary,
                replay,
            };
            file.write(&page.html())
        });
        let mut report = Vec::new();
        if self.json {
            for warning in &summary.warnings[failed..] {
                tell(&format_args!("warning: {warning}"));
            }
            summary.write_json(&mut report)
        } else {
            summary.write_text(&heading, &replay, &mut report)
        }
        .and_then(|()| anstream::stdout().write_all(&report))
        .map_err(Failure::io("standard output"))?;
        page_written?;
        Ok(status::after_logs(failed == 0, replay.pass()))
    }

    /// Returns the command that comes next.
    fn next(&self) -> Option<String> {
        let is_stdin = self.logs.is_empty() || self.logs.iter().any(|log| log.as_os_str() == "-");
        if self.sample {
            return self.policy.is_empty().then(|| {
                "your own log: sluicegate suggest --kind sliding_window --interval '1 minute' access.log".to_owned()
            });
        }
        let policy = match self.policy.as_slice() {
            [] => "this policy in a file, to change its numbers: sluicegate policy > limits.toml"
                .to_owned(),
            [policy] if self.html.is_some() => {
                let policy = policy.to_string_lossy();
                let with = |words: &[&str]| {
                    let words = words.iter().map(|word| (*word).to_owned());
                    shell_words::join(
                        words.chain([policy.clone().into_owned()]).chain(self.read.words()),
                    )
                };
                format!(
                    "put it in force: {}\n         the most that it admits: {}",
                    with(&["sluicegate", "serve", "--policy"]),
                    with(&["sluicegate", "explain"]),
                )
            }
            [policy] if !is_stdin && !crate::policy::input::is_stdin(policy) => {
                let logs = self.logs.iter().map(|log| log.to_string_lossy());
                let words =
                    ["sluicegate", "replay", "--html", "report.html", "--policy"].map(Into::into);
                let format = self.format.words().into_iter().map(Into::into);
                let read = self.read.words().into_iter().map(Into::into);
                let counted = self.counting_words().into_iter().map(Into::into);
                let words = words.into_iter().chain([policy.to_string_lossy()]);
                let words = words.chain(read).chain(format).chain(counted).chain(logs);
                format!("when and whom, with plots: {}", shell_words::join(words))
            }
            _ => return None,
        };
        Some(policy)
    }

    /// Returns the arguments that change what is counted.
    fn counting_words(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        words.extend(self.shape.then(|| "--shape".to_owned()));
        let within = self.shape_within.map(|time| humantime::format_duration(time).to_string());
        words.extend(within.into_iter().flat_map(|time| ["--shape-within".to_owned(), time]));
        words.extend(self.as_stamped.then(|| "--as-stamped".to_owned()));
        words
    }

    fn options(&self) -> Options {
        Options {
            shape: self.shape,
            shape_within: self.shape_within,
            as_stamped: self.as_stamped,
            tally_keys: self.tally_keys,
            peaks: self.html.is_some(),
            max_memory_bytes: self.max_memory.as_u64(),
        }
    }

    fn sources(&self) -> Vec<Source> {
        sources(self.sample, &self.logs)
    }
}
