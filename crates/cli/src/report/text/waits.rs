//! The part of the report for people on requests that waited.

use std::time::Duration;

use comfy_table::{Cell, Color, Row};
use indicatif::HumanCount;
use sluicegate_policy::time_in_words;
use sluicegate_replay::log::printable;
use sluicegate_replay::replay::Replay;

use super::{Section, add_seen, name_cell, percent, seen_names, seen_note};
use crate::report::json::Summary;
use crate::report::seen::Stamps;

impl Summary {
    /// Returns how long requests waited, if they did instead of being refused.
    pub(super) fn waits(&self, replay: &Replay) -> Section {
        let waits: Vec<_> = replay.judges().iter().filter_map(|judge| judge.waits()).collect();
        let within = waits.first().and_then(|waits| waits.longer());
        let within = within.map(|(within, _)| format!("over {}", time_in_words(within)));
        let names = ["limiter", "delayed", "delayed %", "p50", "p90", "p99", "longest"];
        let names = names.into_iter().chain(within.as_deref());
        let mut section = Section::new("waits", ", each key has a queue", names, 1..8);
        for (limiter, waits) in self.limiters.iter().zip(waits) {
            let [p50, p90, p99] = [50, 90, 99].map(|percent| waits.percentile(percent));
            let mut row = vec![
                name_cell(&limiter.name, 0),
                Cell::new(HumanCount(waits.delayed())).fg(Color::Yellow),
                Cell::new(percent(waits.delayed(), limiter.allowed)),
            ];
            row.extend([p50, p90, p99, waits.longest()].map(|wait| Cell::new(shown(wait))));
            row.extend(waits.longer().map(|(_, longer)| Cell::new(HumanCount(longer))));
            section.table.add_row(row);
        }
        section
    }

    /// Returns the keys that were delayed the most, with the times at which they were seen if there are `stamps`.
    pub(super) fn delayed(&self, stamps: Option<Stamps>) -> Section {
        let names = ["limiter", "key", "delayed", "of", "delayed %", "longest"].into_iter();
        let names = names.chain(seen_names(stamps));
        let mut section = Section::new("most delayed", seen_note(stamps), names, 2..8);
        for limiter in &self.limiters {
            let delayed = limiter.waits.iter().flat_map(|waits| &waits.top_delayed);
            for (place, key) in delayed.enumerate() {
                let mut row = Row::from([
                    name_cell(&limiter.name, place),
                    Cell::new(printable(&key.key)),
                    Cell::new(HumanCount(key.delayed)).fg(Color::Yellow),
                    Cell::new(HumanCount(key.allowed)),
                    Cell::new(percent(key.delayed, key.allowed)),
                    Cell::new(shown(Duration::from_nanos(key.max_nanos))),
                ]);
                add_seen(&mut row, stamps, [key.first_seen, key.last_seen]);
                row.max_height(1);
                section.table.add_row(row);
            }
        }
        section
    }
}

/// Returns a wait as a person reads it: rounded up to three digits, from a minute on to whole seconds,
/// from an hour on to minutes, and from a day on to hours.
pub(in crate::report) fn shown(wait: Duration) -> String {
    const MINUTE: u128 = 60 * 1_000_000_000;
    const HOUR: u64 = 3_600;
    const DAY: u64 = 24 * HOUR;
    let nanos = wait.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    let unit = 10_u128.pow(nanos.ilog10().saturating_sub(2));
    let rounded = nanos.div_ceil(unit) * unit;
    if rounded < MINUTE {
        return format!("{:?}", Duration::from_nanos(u64::try_from(rounded).unwrap_or(u64::MAX)));
    }
    let seconds = u64::try_from(nanos.div_ceil(1_000_000_000)).unwrap_or(u64::MAX);
    let unit = match seconds {
        0..HOUR => 1,
        HOUR..DAY => 60,
        _ => HOUR,
    };
    let rounded = seconds.div_ceil(unit).saturating_mul(unit);
    time_in_words(Duration::from_secs(rounded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_shown_as_people_read_them_and_never_too_short() {
        let texts = [
            (0, "0s"),
            (7, "7ns"),
            (999, "999ns"),
            (1_001, "1.01µs"),
            (1_234_567, "1.24ms"),
            (59_900_000_000, "59.9s"),
            (59_900_000_001, "1m"),
            (60_000_000_001, "1m 1s"),
            (72_900_000_000, "1m 13s"),
            (3_600_000_000_000, "1h"),
            (3_600_000_000_001, "1h 1m"),
            (86_399_000_000_000, "1 day"),
            (86_400_000_000_000, "1 day"),
            (86_400_000_000_001, "1 day 1h"),
        ];
        for (nanos, text) in texts {
            assert_eq!(shown(Duration::from_nanos(nanos)), text, "{nanos}");
        }
        assert!(!shown(Duration::MAX).is_empty());
    }
}
