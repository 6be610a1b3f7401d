//! The part of the report for people on requests that waited.

use std::io::{self, Write};
use std::time::Duration;

use comfy_table::{Attribute, Cell, Color, Table};
use indicatif::HumanCount;
use sluicegate_policy::time_in_words;
use sluicegate_replay::log::printable;
use sluicegate_replay::replay::Replay;

use super::{SEEN, add_seen, align_right, has_seen, header, percent, section, write_table};
use crate::report::json::Summary;
use crate::report::seen::Stamps;

impl Summary {
    /// Writes how long requests waited, if they did instead of being refused.
    pub(super) fn write_waits(
        &self,
        replay: &Replay,
        out: &mut impl Write,
        width: u16,
    ) -> io::Result<()> {
        let waits: Vec<_> = replay.judges().iter().filter_map(|judge| judge.waits()).collect();
        let Some(within) = waits.first().map(|waits| waits.longer()) else { return Ok(()) };
        let within = within.map(|(within, _)| format!("over {}", time_in_words(within)));
        let mut table = Table::new();
        let mut names = vec!["limiter", "delayed", "delayed %", "p50", "p90", "p99", "longest"];
        names.extend(within.as_deref());
        table.set_header(names.into_iter().map(header));
        for (limiter, waits) in self.limiters.iter().zip(waits) {
            let [p50, p90, p99] = [50, 90, 99].map(|percent| waits.percentile(percent));
            let mut row = vec![
                Cell::new(&limiter.name).add_attribute(Attribute::Bold),
                Cell::new(HumanCount(waits.delayed())).fg(Color::Yellow),
                Cell::new(percent(waits.delayed(), limiter.allowed)),
            ];
            row.extend([p50, p90, p99, waits.longest()].map(|wait| Cell::new(shown(wait))));
            row.extend(waits.longer().map(|(_, longer)| Cell::new(HumanCount(longer))));
            table.add_row(row);
        }
        align_right(&mut table, 1..8);
        section(out, "waits", ", each key has a queue")?;
        write_table(out, table, width)
    }

    /// Writes the keys that were delayed the most, if requests waited.
    pub(super) fn write_delayed(
        &self,
        replay: &Replay,
        out: &mut impl Write,
        width: u16,
    ) -> io::Result<()> {
        let stamps = has_seen(width).then(|| Stamps::within(replay.span()));
        let mut table = Table::new();
        let mut names = vec!["limiter", "key", "delayed", "of", "delayed %", "longest"];
        names.extend(stamps.iter().flat_map(|_| ["first seen", "last seen"]));
        table.set_header(names.into_iter().map(header));
        for limiter in &self.limiters {
            let delayed = limiter.waits.iter().flat_map(|waits| &waits.top_delayed);
            for (place, key) in delayed.enumerate() {
                let mut row = comfy_table::Row::from([
                    Cell::new(if place == 0 { limiter.name.as_str() } else { "" })
                        .add_attribute(Attribute::Bold),
                    Cell::new(printable(&key.key)),
                    Cell::new(HumanCount(key.delayed)).fg(Color::Yellow),
                    Cell::new(HumanCount(key.allowed)),
                    Cell::new(percent(key.delayed, key.allowed)),
                    Cell::new(shown(Duration::from_nanos(key.max_nanos))),
                ]);
                add_seen(&mut row, stamps, [key.first_seen, key.last_seen]);
                row.max_height(1);
                table.add_row(row);
            }
        }
        if table.is_empty() {
            return Ok(());
        }
        align_right(&mut table, 2..8);
        section(out, "most delayed", if stamps.is_some() { SEEN } else { "" })?;
        write_table(out, table, width)
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
