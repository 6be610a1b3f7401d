//! Counts the bytes of memory that a key costs.
//!
//! Each limiter is filled in a process of its own, so that it cannot reuse memory that another
//! has freed. `asked` is what it has requested from the allocator and holds when all keys
//! are there; `at most` is the most that it held at any time, which is more if it moves its
//! keys when it grows. `resident` is the growth of the process as the system reports it: it
//! includes the allocator's own part and all rounding, and leaves out what was never written
//! to.

use std::process::{Command, ExitCode};

use clap::Parser;
use serde::{Deserialize, Serialize};
use sluicegate_benches::keyed::report::grouped;
use sluicegate_benches::keyed::{self, Key, Skew, Store, Visitor};
use sluicegate_benches::report::{self, Style};
use sluicegate_benches::subject::Op;
use sluicegate_benches::{held, memory, verdict};

#[global_allocator]
static ALLOCATOR: held::Counted = held::Counted;

/// Counts the bytes that a key costs.
#[derive(Debug, Parser)]
struct Args {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Print the table in Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Only limiters whose name contains this
    #[arg(long, value_name = "SUBSTRING", default_value = "")]
    only: String,
    /// Number of keys
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1_000_000], value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    keys: Vec<u64>,
    /// Kinds of keys: numbers, or strings of 24 bytes
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = ["u64", "string"], default_values = ["u64", "string"])]
    key: Vec<String>,
    /// Fill this one, in this process
    #[arg(long, hide = true)]
    alone: Option<String>,
}

/// The memory that a store of `keys` keys takes.
#[derive(Debug, Serialize, Deserialize)]
struct Bytes {
    limiter: String,
    key: String,
    keys: u64,
    asked: usize,
    at_most: usize,
    resident: Option<usize>,
}

struct Names(Vec<&'static str>);

impl<K: Key> Visitor<K> for Names {
    fn visit<S: Store<K>>(&mut self) {
        // A store with a row for batches of requests also has one for single requests.
        if S::takes(Op::Allow, Skew::Uniform) && S::AT_ONCE == 1 && S::NAME != "loop" {
            self.0.push(S::NAME);
        }
    }
}

/// Fills the limiter of that name.
struct Alone<'a> {
    limiter: &'a str,
    keys: u64,
    bytes: Option<Bytes>,
}

impl<K: Key> Visitor<K> for Alone<'_> {
    fn visit<S: Store<K>>(&mut self) {
        if S::NAME == self.limiter {
            self.bytes = Some(fill::<K, S>(self.keys));
        }
    }
}

fn fill<K: Key, S: Store<K>>(keys: u64) -> Bytes {
    // Creates what is made only once, such as a clock that has to be calibrated against another.
    drop(keep::<K, S>(1));
    let resident_before = memory::resident_kib();
    let before = held::restart();
    let store = keep::<K, S>(keys);
    let asked = held::bytes() - before;
    let at_most = held::most() - before;
    let resident = resident_before.zip(memory::resident_kib());
    drop(store);
    Bytes {
        limiter: S::NAME.to_owned(),
        key: K::NAME.to_owned(),
        keys,
        asked,
        at_most,
        resident: resident.map(|(before, after)| after.saturating_sub(before) as usize * 1_024),
    }
}

/// Returns a store of `keys` keys, each of which was asked for one permit.
fn keep<K: Key, S: Store<K>>(keys: u64) -> S {
    let store = S::new(keyed::limit(Op::Allow), keys);
    let admitted = (0..keys).filter(|index| store.try_one(&K::at(*index))).count() as u64;
    let is_right = keyed::are_all::<K, S>(admitted, keys);
    verdict::expect(S::NAME, is_right, format_args!("admitted {admitted} of {keys}"));
    store
}

fn main() -> ExitCode {
    let args = Args::parse();
    match args.alone.as_deref().map_or_else(|| all(&args), |limiter| alone(&args, limiter)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bytes: {message}");
            ExitCode::FAILURE
        }
    }
}

fn alone(args: &Args, limiter: &str) -> Result<(), String> {
    let mut alone = Alone { limiter, keys: args.keys[0], bytes: None };
    match args.key[0].as_str() {
        "u64" => keyed::visit_all::<u64>(&mut alone),
        _ => keyed::visit_all::<String>(&mut alone),
    }
    let bytes = alone.bytes.ok_or_else(|| format!("no limiter is called {limiter}"))?;
    println!("{}", serde_json::to_string(&bytes).expect("it is plain data"));
    Ok(())
}

/// Fills each limiter in a process of its own, one after another.
fn all(args: &Args) -> Result<(), String> {
    let mut all = Vec::new();
    for kind in &args.key {
        let mut names = Names(Vec::new());
        match kind.as_str() {
            "u64" => keyed::visit_all::<u64>(&mut names),
            _ => keyed::visit_all::<String>(&mut names),
        }
        for &keys in &args.keys {
            let wanted = names.0.iter().filter(|name| name.contains(&args.only));
            for name in wanted {
                let bytes = in_a_process(name, kind, keys)?;
                if args.json {
                    println!("{}", serde_json::to_string(&bytes).expect("it is plain data"));
                }
                all.push(bytes);
            }
        }
    }
    if !args.json {
        print(&all, if args.markdown { Style::Markdown } else { Style::Plain });
    }
    Ok(())
}

fn in_a_process(limiter: &str, kind: &str, keys: u64) -> Result<Bytes, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(this);
    command.args(["--alone", limiter, "--key", kind, "--keys", &keys.to_string()]);
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

#[expect(clippy::cast_precision_loss, reason = "they are shown to one digit")]
fn print(all: &[Bytes], style: Style) {
    let mut table = report::new_table(style);
    table.set_header(["limiter", "keys", "kind", "asked", "at most", "resident"]);
    for Bytes { limiter, key, keys, asked, at_most, resident } in all {
        let of_key = |bytes: usize| format!("{:.1}", bytes as f64 / *keys as f64);
        table.add_row([
            limiter.clone(),
            grouped(*keys),
            key.clone(),
            of_key(*asked),
            of_key(*at_most),
            resident.map_or_else(String::new, of_key),
        ]);
    }
    report::align(&mut table, &[0, 2]);
    println!("Bytes for each key:\n\n{table}");
}
