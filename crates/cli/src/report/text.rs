//! The report for people: at most 100 columns, in colours that the output stream
//! may remove again.

mod common;
mod levels;
mod penalties;
mod section;
mod steady;
mod stores;
mod timelines;
mod waits;

use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use comfy_table::{Cell, Color, Row, Table};
use indicatif::HumanCount;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sluicegate_policy::time_in_words;
use sluicegate_replay::log::printable;
use sluicegate_replay::replay::{self, Replay};

use self::section::{Section, name_cell};
pub(super) use self::section::{align_right, header, section, write_table};
use self::timelines::write_timelines;
pub(super) use self::waits::shown;
use super::fold::columns;
use super::json::{LimiterSummary, Summary};
use super::key_summary::KeySummary;
use super::profile::in_short;
use super::seen::Stamps;

/// The greatest width of the report.
const MAX_WIDTH: u16 = 100;

/// The least width of the report, however narrow the terminal is.
const MIN_WIDTH: u16 = 60;

/// The least width at which keys have the times at which they were seen.
const SEEN_WIDTH: u16 = 90;

/// The most limiters of which a report has a sentence.
const MOST_VERDICTS: usize = 6;

pub(super) const DENIED: Style = AnsiColor::Red.on_default();
pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const BOLD: Style = Style::new().bold();

/// The facts about the run itself.
#[derive(Clone, Debug)]
pub struct Heading {
    /// Names of the logs.
    pub logs: Vec<String>,
    /// Name of the policy.
    pub policy: String,
    /// Wall-clock time from the first byte read to the last decision.
    pub took: Duration,
    /// True if only the limiters and the warnings are wanted.
    pub brief: bool,
    /// The command that comes next, if one does.
    pub next: Option<String>,
}

impl Heading {
    /// Returns the names of the logs, or that of the first and the number of others.
    fn logs_in_short(&self) -> String {
        match self.logs.as_slice() {
            [first, _, rest @ ..] if !rest.is_empty() => {
                format!("{first} and {} more", rest.len() + 1)
            }
            few => few.join(", "),
        }
    }
}

impl Summary {
    /// Writes the report, in colours.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written to.
    pub fn write_text(
        &self,
        heading: &Heading,
        replay: &Replay,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let width = width();
        self.write_answer(heading, replay, out, width)?;
        self.write_heading(heading, replay, out)?;
        if !heading.brief {
            let stamps = (width >= SEEN_WIDTH).then(|| Stamps::within(replay.pass().span()));
            for section in [
                self.parts(),
                self.tenants(),
                self.classes(),
                self.stores(replay),
                self.penalties(replay),
                self.waits(replay),
            ] {
                section.write(out, width)?;
            }
            write_timelines(out, replay, width)?;
            self.delayed(stamps).write(out, width)?;
            if !self.limiters.is_empty() {
                self.write_top(stamps, out, width)?;
            }
            self.top_of_levels().write(out, width)?;
        }
        // What matters most is last, next to the prompt.
        self.write_levels(out, width)?;
        for section in
            [self.all_limiters(replay), self.stamped(), self.steady(replay), self.warned()]
        {
            section.write(out, width)?;
        }
        let Some(next) = &heading.next else { return Ok(()) };
        write!(out, "\n{DIM}next{DIM:#}     ")?;
        match next.split_once(": ") {
            Some((what, command)) if next.len() + 9 > usize::from(width) => {
                writeln!(out, "{what}:\n         {command}")
            }
            _ => writeln!(out, "{next}"),
        }
    }

    /// Writes what was asked, and the answer in a sentence for each limiter.
    fn write_answer(
        &self,
        heading: &Heading,
        replay: &Replay,
        out: &mut impl Write,
        width: u16,
    ) -> io::Result<()> {
        let [logs, policy] =
            [heading.logs_in_short(), heading.policy.clone()].map(|name| printable(&name));
        writeln!(out, "{DIM}asked{DIM:#}    what would {policy} have denied of {logs}?")?;
        let verdicts = self.verdicts(replay);
        let more = verdicts.len().saturating_sub(MOST_VERDICTS);
        let mut table = Table::new();
        for (name, verdict) in verdicts.into_iter().take(MOST_VERDICTS) {
            table.add_row([name_cell(&name, 0), Cell::new(verdict)]);
        }
        if !table.is_empty() {
            writeln!(out, "{DIM}verdict{DIM:#}")?;
            write_table(out, table, width)?;
        }
        if more > 0 {
            writeln!(out, "  and {more} limiters more, in the table below")?;
        }
        writeln!(out)
    }

    fn write_heading(
        &self,
        heading: &Heading,
        replay: &Replay,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut line =
            |name: &str, text: &dyn Display| writeln!(out, "  {DIM}{name:<7}{DIM:#} {text}");
        line(if heading.logs.len() > 2 { "logs" } else { "log" }, &heading.logs_in_short())?;
        line("policy", &heading.policy)?;
        if let Some((first, last)) = replay.pass().span() {
            let [from, to] = [first, last]
                .map(|time| time.to_zoned(TimeZone::UTC).strftime("%F %T").to_string());
            line("span", &format!("{from} to {to} UTC, {}", lasted(first, last)))?;
        }
        let [lines, skipped, late] = [self.lines, self.skipped, self.late].map(HumanCount);
        line("lines", &format!("{lines} judged, {skipped} skipped, {late} late"))?;
        line("stamps", &stamps(replay))?;
        let of_levels = self.hierarchy.as_ref().map_or(0, |levels| levels.allowed + levels.denied);
        let of_limiters: u64 =
            self.limiters.iter().map(|limiter| limiter.allowed + limiter.denied).sum();
        let decisions = of_limiters + of_levels;
        let per_second = u128::from(decisions) * 1_000_000_000 / heading.took.as_nanos().max(1);
        line(
            "speed",
            &format!(
                "{} decisions in {:.3} s, {} a second, reading included",
                HumanCount(decisions),
                heading.took.as_secs_f64(),
                HumanCount(u64::try_from(per_second).unwrap_or(u64::MAX)),
            ),
        )
    }

    fn all_limiters(&self, replay: &Replay) -> Section {
        let names = ["limiter", "policy", "keys", "hit", "allowed", "denied", "denied %"];
        let mut section = Section::new("limiters", "", names, 2..7);
        for (limiter, judge) in self.limiters.iter().zip(replay.judges()) {
            section.table.add_row([
                name_cell(&limiter.name, 0),
                Cell::new(&judge.rule().kind),
                Cell::new(HumanCount(limiter.keys as u64)),
                Cell::new(HumanCount(limiter.keys_hit as u64)).fg(Color::Red),
                Cell::new(HumanCount(limiter.allowed)).fg(Color::Green),
                Cell::new(HumanCount(limiter.denied)).fg(Color::Red),
                Cell::new(percent(limiter.denied, limiter.allowed + limiter.denied)),
            ]);
        }
        section
    }

    /// Returns what limiters of a short time would have done at the stamps themselves.
    fn stamped(&self) -> Section {
        let names = ["limiter", "denied %, spread", "denied %, as stamped"];
        let note = ", whose lines the log does not place within theirs";
        let mut section = Section::new("limiters of a few seconds", note, names, 1..3);
        for limiter in &self.limiters {
            let Some(stamped) = limiter.as_stamped else { continue };
            section.table.add_row([
                name_cell(&limiter.name, 0),
                Cell::new(percent(limiter.denied, limiter.allowed + limiter.denied)),
                Cell::new(percent(stamped.denied, stamped.allowed + stamped.denied)),
            ]);
        }
        section
    }

    fn warned(&self) -> Section {
        let mut section = Section::new("warnings", "", [], 0..0);
        for warning in &self.warnings {
            section.table.add_row([Cell::new(printable(warning)).fg(Color::Yellow)]);
        }
        section
    }

    /// Returns the refusals by each of several windows or limiters.
    fn parts(&self) -> Section {
        let names = ["limiter", "denied by", "denied", "denied %"];
        let mut section = Section::new("limiters of several parts", "", names, 2..4);
        // Where lines wait, hardly anything is denied.
        let is_told = |limiter: &&LimiterSummary| limiter.waits.is_none() || limiter.denied > 0;
        for limiter in self.limiters.iter().filter(is_told) {
            for (place, part) in limiter.denied_by.iter().enumerate() {
                section.table.add_row([
                    name_cell(&limiter.name, place),
                    Cell::new(&part.part),
                    Cell::new(HumanCount(part.denied)).fg(Color::Red),
                    Cell::new(percent(part.denied, limiter.allowed + limiter.denied)),
                ]);
            }
        }
        section
    }

    fn write_top(
        &self,
        stamps: Option<Stamps>,
        out: &mut impl Write,
        width: u16,
    ) -> io::Result<()> {
        let names = ["limiter", "key", "denied", "of", "denied %"].into_iter();
        let names = names.chain(seen_names(stamps)).chain(["mostly"]);
        let numbers = 2..if stamps.is_some() { 7 } else { 5 };
        let mut top = Section::new("most denied", seen_note(stamps), names, numbers);
        for limiter in &self.limiters {
            for (place, key) in limiter.top_denied.iter().enumerate() {
                top.table.add_row(top_row(name_cell(&limiter.name, place), key, stamps));
            }
        }
        if top.table.is_empty() {
            section(out, top.title, top.note)?;
            return writeln!(out, "  nothing was denied");
        }
        top.write(out, width)
    }
}

/// Returns the time between the first stamp and the last, in words.
pub(super) fn lasted(first: Timestamp, last: Timestamp) -> String {
    let lasted = Duration::try_from(last.duration_since(first)).unwrap_or_default();
    // Of a long time, seconds and their fractions say nothing.
    let unit_seconds = match lasted.as_secs() {
        0..60 => return time_in_words(lasted),
        60..3_600 => 1,
        3_600..172_800 => 60,
        _ => 3_600,
    };
    let rounded = lasted.as_secs() / unit_seconds * unit_seconds;
    time_in_words(Duration::from_secs(rounded))
}

/// Returns the kind of the stamps, and the times at which their lines were judged, in words.
pub(super) fn stamps(replay: &Replay) -> String {
    let (stamps, length) = match replay.pass().resolution() {
        replay::RESOLUTION => ("whole seconds".to_owned(), "1 s".to_owned()),
        finer => (format!("finer than a second, to {finer:?}"), format!("{finer:?}")),
    };
    if replay.options().as_stamped {
        format!("{stamps}; all lines come at the beginning of their {length}")
    } else {
        format!("{stamps}; lines are spread evenly over their {length}")
    }
}

/// Returns the columns of the report.
pub(super) fn width() -> u16 {
    columns().map_or(MAX_WIDTH, |columns| columns.clamp(MIN_WIDTH, MAX_WIDTH))
}

/// Returns the names of the columns of the times at which keys were seen.
fn seen_names(stamps: Option<Stamps>) -> impl Iterator<Item = &'static str> {
    stamps.into_iter().flat_map(|_| ["first seen", "last seen"])
}

fn seen_note(stamps: Option<Stamps>) -> &'static str {
    if stamps.is_some() { ", seen in UTC" } else { "" }
}

/// Adds the times at which a key was seen first and last.
fn add_seen(row: &mut Row, stamps: Option<Stamps>, seen: [Timestamp; 2]) {
    for cell in stamps.iter().flat_map(|stamps| seen.map(|stamp| Cell::new(stamps.of(stamp)))) {
        row.add_cell(cell);
    }
}

fn top_row(name: Cell, key: &KeySummary, stamps: Option<Stamps>) -> Row {
    let all = key.allowed + key.denied;
    let mut row = Row::from([
        name,
        Cell::new(printable(&key.key)),
        Cell::new(HumanCount(key.denied)).fg(Color::Red),
        Cell::new(HumanCount(all)),
        Cell::new(percent(key.denied, all)),
    ]);
    add_seen(&mut row, stamps, [key.first_seen, key.last_seen]);
    row.add_cell(Cell::new(key.profile.as_ref().map_or_else(String::new, in_short)));
    row.max_height(2);
    row
}

pub(super) fn percent(part: u64, whole: u64) -> String {
    let whole = u128::from(whole.max(1));
    let tenths = (u128::from(part) * 1000 + whole / 2) / whole;
    format!("{}.{}", tenths / 10, tenths % 10)
}
