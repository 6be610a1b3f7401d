//! The report of `contend`: one line per limiter, operation and thread count.

use serde::{Deserialize, Deserializer, Serialize};

use crate::keyed::Skew;
use crate::round::Round;
use crate::spread::Spread;
use crate::subject::Op;
use crate::watch::{Fairness, Figures, Worst};

mod tables;

pub use self::tables::{Style, align, new_table, table, tables};

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// The limiter.
    #[serde(deserialize_with = "name")]
    pub limiter: Name,
    /// The operation that it was asked for.
    pub op: String,
    /// The number of threads that ask.
    pub threads: usize,
    /// The number of keys that it kept apart: one, for a limiter that has none.
    pub keys: u64,
    /// Time per call of the slowest thread, over the rounds that were quiet, or
    /// over all of them if fewer than three were.
    pub ns_per_op: Spread,
    /// Calls of all threads per microsecond: the middle of the same rounds.
    pub mops: f64,
    /// The same, with the least and the most.
    pub mops_spread: Spread,
    /// The times of single calls and how evenly the threads got on, from turns of their own.
    #[serde(flatten)]
    pub watched: Figures,
    /// Permits granted in all rounds.
    pub admitted: u64,
    /// Permits that might have been granted.
    pub bound: u64,
    /// Permits granted beyond the bound of their round.
    pub excess: u64,
    /// Calls of the thread that made the most, in all rounds.
    pub fastest_thread: u64,
    /// Calls of the thread that made the fewest, in all rounds.
    pub slowest_thread: u64,
    /// All rounds.
    pub rounds: usize,
    /// The rounds in which no thread had to wait for a processor.
    pub quiet: usize,
    /// The limiter that it is compared with.
    #[serde(deserialize_with = "name")]
    pub baseline: Name,
    /// The keys, if it has any.
    #[serde(flatten)]
    pub of_keys: Option<OfKeys>,
    /// The run that it was measured in. Lines of earlier versions have none.
    #[serde(flatten)]
    pub run: Option<Run>,
}

/// The run of `contend` that a line was measured in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The machine.
    pub machine: String,
    /// The length of a turn, in milliseconds.
    pub turn_ms: u64,
    /// True if each thread was bound to a core.
    pub pinned: bool,
}

/// The keys of a limiter that keeps them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfKeys {
    /// The number of keys, which is a figure of all lines.
    #[serde(skip)]
    pub keys: u64,
    /// The limiter's name, without what follows.
    #[serde(deserialize_with = "name")]
    pub store: Name,
    /// The kind of keys.
    #[serde(deserialize_with = "name")]
    pub key: Name,
    /// The spread of the calls over them.
    pub spread: Skew,
}

/// A name. One that is read is kept for as long as the program runs.
type Name = &'static str;

fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
    String::deserialize(from).map(|name| &*name.leak())
}

/// One limiter, one operation and a number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The limiter.
    pub limiter: &'static str,
    /// The limiter that it is compared with.
    pub baseline: &'static str,
    /// The operation that it is asked for.
    pub op: Op,
    /// The number of threads that ask.
    pub threads: usize,
    /// The keys, if it has any.
    pub of_keys: Option<OfKeys>,
}

impl Line {
    /// Summarizes `rounds` as a line.
    ///
    /// # Panics
    ///
    /// If there are none.
    #[must_use]
    pub fn of(case: Case, rounds: &[Round], watched: Figures) -> Line {
        let Case { limiter, baseline, op, threads, of_keys } = case;
        let quiet: Vec<&Round> = rounds.iter().filter(|round| round.is_quiet()).collect();
        let timed = if quiet.len() < 3 { rounds.iter().collect() } else { quiet.clone() };
        let sum = |count: fn(&Round) -> u64| rounds.iter().map(count).sum();
        let mops = Spread::of(timed.iter().map(|round| round.mops));
        Line {
            limiter,
            op: op.to_string(),
            threads,
            keys: of_keys.map_or(1, |of_keys| of_keys.keys),
            ns_per_op: Spread::of(timed.iter().map(|round| round.ns_per_op)),
            mops: mops.median,
            mops_spread: mops,
            watched,
            admitted: sum(|round| round.admitted),
            bound: sum(|round| round.bound),
            excess: sum(Round::excess),
            fastest_thread: sum(|round| round.most_calls),
            slowest_thread: sum(|round| round.fewest_calls),
            rounds: rounds.len(),
            quiet: quiet.len(),
            baseline,
            of_keys,
            run: None,
        }
    }

    /// Returns the name of the store for a limiter with keys, and else that of the limiter.
    #[must_use]
    pub fn store(&self) -> &'static str {
        self.of_keys.map_or(self.limiter, |of_keys| of_keys.store)
    }

    /// Reads a line as `--json` prints it.
    ///
    /// # Errors
    ///
    /// If it is not one.
    pub fn from_json(text: &str) -> serde_json::Result<Line> {
        let mut line: Line = serde_json::from_str(text)?;
        if let Some(of_keys) = &mut line.of_keys {
            of_keys.keys = line.keys;
        }
        Ok(line)
    }

    /// Returns its throughput over that of the same limiter with the same operation and one
    /// thread, if that is among `all`. A line of one thread has none.
    #[must_use]
    pub fn speed_up(&self, all: &[Line]) -> Option<f64> {
        let is_alone = |other: &&Line| {
            other.threads == 1
                && (other.limiter, &other.op, other.keys) == (self.limiter, &self.op, self.keys)
        };
        let alone = all.iter().find(is_alone).filter(|_| self.threads > 1)?;
        Some(self.mops / alone.mops)
    }

    /// Formats its worst call in microseconds for tables: the median of the turns, and the most of
    /// all.
    #[must_use]
    pub fn worst(&self) -> String {
        let micros = |nanos: f64| {
            let micros = nanos / 1e3;
            if micros < 9.95 { format!("{micros:.1}") } else { format!("{micros:.0}") }
        };
        let text = |Worst { median, max }| format!("{} ({})", micros(median), micros(max));
        self.watched.worst_ns.map_or_else(String::new, text)
    }

    /// Formats its fairness in a millisecond for tables: the median, and the least of all.
    #[must_use]
    pub fn fairness(&self) -> String {
        let text = |Fairness { median, min }| format!("{median:.2} ({min:.2})");
        self.watched.fairness_1ms.map_or_else(String::new, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_an_even_number_is_between_the_two() {
        let spread = Spread::of([4.0, 1.0, 2.0, 3.0]);
        assert!((spread.median - 2.5).abs() < 1e-9);
        assert!((Spread::of([5.0, 1.0, 2.0]).median - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_speed_up_is_against_one_thread_of_the_same() {
        let round = Round {
            ns_per_op: 10.0,
            mops: 100.0,
            most_calls: 1,
            fewest_calls: 1,
            admitted: 1,
            bound: 1,
            queued: 0.0,
        };
        let line = |limiter, threads, mops| {
            let (baseline, op, of_keys) = ("governor", Op::Allow, None);
            let case = Case { limiter, baseline, op, threads, of_keys };
            Line::of(case, &[Round { mops, ..round }], Figures::default())
        };
        let lines = [line("a", 1, 100.0), line("b", 1, 10.0), line("b", 2, 15.0)];
        assert!((lines[2].speed_up(&lines).expect("there is b alone") - 1.5).abs() < 1e-9);
        assert!(lines[0].speed_up(&lines).is_none() && lines[2].speed_up(&lines[..1]).is_none());
    }

    #[test]
    fn the_worst_and_the_fairness_are_in_the_table_and_in_the_json() {
        let round = Round {
            ns_per_op: 10.0,
            mops: 100.0,
            most_calls: 1,
            fewest_calls: 1,
            admitted: 1,
            bound: 1,
            queued: 0.0,
        };
        let (baseline, op, of_keys) = ("governor", Op::Allow, None);
        let case = Case { limiter: "a", baseline, op, threads: 2, of_keys };
        let watched = Figures {
            latency_ns: None,
            worst_ns: Some(Worst { median: 4_321.0, max: 54_321.0 }),
            fairness_1ms: Some(Fairness { median: 0.954, min: 0.25 }),
        };
        let line = Line::of(case, &[round], watched);
        let text = table(&[&line], &[], Style::Markdown).to_string();
        assert!(text.contains(" 4.3 (54) |") && text.contains(" 0.95 (0.25) |"), "{text}");
        let json = serde_json::to_value(&line).expect("a line is plain data");
        assert_eq!(json["worst_ns"]["median"], 4_321.0);
        assert_eq!(json["worst_ns"]["max"], 54_321.0);
        assert_eq!(json["fairness_1ms"]["median"], 0.954);
        assert_eq!(json["fairness_1ms"]["min"], 0.25);
        let run = Run { machine: "abacus".to_owned(), turn_ms: 20, pinned: true };
        let told = Line { run: Some(run.clone()), ..line };
        let told = serde_json::to_value(&told).expect("a line is plain data");
        assert_eq!((&told["machine"], &told["pinned"]), (&"abacus".into(), &true.into()));
        let told = Line::from_json(&told.to_string()).expect("it has just been written");
        assert_eq!(told.run, Some(run));
        let read = Line::from_json(&json.to_string()).expect("it has just been written");
        assert_eq!(read.run, None);
        assert_eq!(table(&[&read], &[], Style::Markdown).to_string(), text);
        // The fields that other tools read.
        let fields = ["limiter", "op", "threads", "keys", "mops", "admitted", "bound", "excess"];
        assert!(fields.iter().all(|field| json.get(field).is_some()), "{json}");
        let spread = ["min", "median", "max"];
        assert!(spread.iter().all(|field| json["ns_per_op"].get(field).is_some()), "{json}");

        let alone = Line::of(Case { threads: 1, ..case }, &[round], Figures::default());
        let json = serde_json::to_value(&alone).expect("a line is plain data");
        assert!(json["worst_ns"].is_null() && json["fairness_1ms"].is_null());
    }
}
