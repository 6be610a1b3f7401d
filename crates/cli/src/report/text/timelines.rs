//! Bars of the lines over time.

use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indicatif::HumanCount;
use sluicegate_policy::time_in_words;
use sluicegate_replay::replay::{Bin, Judge, Replay};

use super::{BOLD, DENIED, DIM, section};

/// Columns of a timeline that are taken by its name and its peak.
const AROUND_TIMELINE: u16 = 40;

const ALLOWED: Style = AnsiColor::Green.on_default();

/// A space, and then eighths of a block.
const TICKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Writes what each limiter allowed and denied over time, as rows of bars.
pub(super) fn write_timelines(out: &mut impl Write, replay: &Replay, width: u16) -> io::Result<()> {
    let Some((first, last)) = replay.pass().span() else { return Ok(()) };
    let until_nanos = u64::try_from(last.duration_since(first).as_nanos()).unwrap_or(u64::MAX);
    let most = usize::from(width.saturating_sub(AROUND_TIMELINE));
    let drawn: Vec<(&Judge, Vec<Bin>, u64)> = replay
        .judges()
        .iter()
        .map(|judge| {
            let (columns, width_nanos) = judge.timeline().columns(until_nanos, most);
            (judge, columns, width_nanos)
        })
        .collect();
    let Some((.., width_nanos)) = drawn.first() else { return Ok(()) };
    let column = Duration::from_nanos(*width_nanos);
    section(out, "over time", &format!(", {} a column", time_in_words(column)))?;
    for (judge, columns, _) in drawn {
        let highest = columns.iter().map(|bin| bin.allowed.max(bin.denied)).max().unwrap_or(0);
        if highest == 0 {
            continue;
        }
        let name: String = judge.rule().name.chars().take(14).collect();
        let mut row = |name: &str, what: &str, style: Style, count: fn(&Bin) -> u64| {
            let bars: String = columns.iter().map(|bin| tick(count(bin), highest)).collect();
            let peak = HumanCount(columns.iter().map(count).max().unwrap_or(0));
            writeln!(
                out,
                "  {BOLD}{name:<14}{BOLD:#} {what:<7} {style}{bars}{style:#} {DIM}max {peak}{DIM:#}"
            )
        };
        // Requests that wait are counted when they come, not when they are let through.
        let what = if judge.waits().is_some() { "came" } else { "allowed" };
        row(&name, what, ALLOWED, |bin| bin.allowed)?;
        if judge.denied() > 0 {
            row("", "denied", DENIED, |bin| bin.denied)?;
        }
    }
    Ok(())
}

/// Returns a bar for `count`, visible even if it is tiny beside the highest.
fn tick(count: u64, highest: u64) -> char {
    let full = (TICKS.len() - 1) as u128;
    TICKS[(u128::from(count) * full).div_ceil(u128::from(highest.max(1))) as usize]
}
