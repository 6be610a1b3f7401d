//! Counts the atomic operations and clock readings of each verb. Fails if a denial writes.

use std::process::ExitCode;

use clap::Parser;
use sluicegate_benches::costs::{self, Cost};
use sluicegate_benches::report::Style;

const LEGEND: &str = "\
Counted on a build of the same source that counts every atomic operation, for a call that nobody
interferes with. `shared` is loads of the word that callers write; `terms` is loads of the rate,
the burst and so on, which callers only read and each processor has a copy of. The two are told
apart by their number: the terms are always read eight words at a time. For windows, `shared` is
all loads: the word, the limit, boundaries or entries. So it is for what is sharded, and there most are of lines that one thread alone writes:
  from its shard     the shard's word (1 load, 1 RMW), and two words that only a change writes
  by a draw          RMWs: of the shard 1, and 1 more to take what room it had; of the root 1, and
                     1 to lend new room; 1 counts that tokens can be found again
  near the limit     1 RMW, of the root
  first refused      1 RMW and all stores: of the shard's memory, on lines of its own, which is written
                     if it holds no such denial yet. More, if room is given back
  denied again       all loads but two are of the same line: those count what has come back
A read-modify-write is a compare-and-swap or an addition; the two more of a change are the lock that
changes take, and its release is one of the stores.";

/// Counts the atomic operations of every verb.
#[derive(Debug, Parser)]
struct Args {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Print the table in Markdown, as it stands in docs/benchmarks.md
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let costs = costs::all();
    if args.json {
        for cost in &costs {
            println!("{}", serde_json::to_string(cost).expect("a cost is plain data"));
        }
    } else {
        let style = if args.markdown { Style::Markdown } else { Style::Plain };
        println!("{}\n\n{LEGEND}", costs::table(&costs, style));
    }

    let writers: Vec<&Cost> =
        costs.iter().filter(|cost| cost.is_denial() && !cost.is_read_only()).collect();
    for cost in &writers {
        eprintln!("{}: {} writes", cost.limiter, cost.verb);
    }
    if writers.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
