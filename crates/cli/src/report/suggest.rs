//! The report of suggested limits.

use std::io::{self, Write};

use comfy_table::{Attribute, Cell, Color, Table};
use indicatif::HumanCount;

use super::text::{BOLD, DENIED, DIM, align_right, header, percent, section, width, write_table};
use crate::log::printable;
use crate::suggest::{Findings, Share, Suggestion, WHOLE};

/// Columns of the longest bar.
const BAR: u64 = 24;

/// The parts of a column, from an eighth to the whole of it.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

impl Findings {
    /// Writes the report, in colours.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written to.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let width = width();
        let goal = format!("{} % of the {}", share(self.untouched_percent), word(self.of));
        for limiter in &self.limiters {
            limiter.write(out, &goal, self.of, width)?;
        }
        for without in &self.without {
            section(out, &without.name, "")?;
            writeln!(out, "  no suggestion: {}", without.why)?;
        }
        let [lines, skipped] = [self.lines, self.skipped].map(HumanCount);
        writeln!(out, "\n{DIM}{lines} lines, {skipped} skipped{DIM:#}")?;
        for warning in &self.warnings {
            writeln!(out, "{DENIED}warning{DENIED:#}: {warning}")?;
        }
        Ok(())
    }
}

impl Suggestion {
    fn write(&self, out: &mut impl Write, goal: &str, of: Share, width: u16) -> io::Result<()> {
        let now = self.present.map_or_else(String::new, |_| format!(", now {}", self.policy));
        section(out, &self.name, &now)?;
        if self.requests == 0 {
            let without = self.lacking.map_or(0, |lacking| lacking.denied + lacking.admitted);
            return match without {
                0 => writeln!(out, "  no request in the logs"),
                _ => writeln!(out, "  no request in the logs has a key"),
            };
        }
        let number = if self.interval.is_some() { "rate" } else { "limit" };
        let per = self.interval.as_ref().map_or(String::new(), |time| format!(" per {time}"));
        match self.suggested {
            Some(limit) => writeln!(
                out,
                "  {BOLD}{}{per}{BOLD:#} is the least {number} that leaves at least {goal} untouched: it may hit \
                 {} of {}",
                HumanCount(limit),
                HumanCount(self.may_hit),
                HumanCount(match of {
                    Share::Keys => self.keys,
                    Share::Requests => self.requests,
                }),
            )?,
            None if self.is_least => {
                writeln!(out, "  no {number} that it can have leaves {goal} untouched")?;
            }
            None => writeln!(out, "  no {number} was found that leaves {goal} untouched")?,
        }
        if !self.is_least && self.suggested.is_some() {
            let what = match of {
                Share::Keys => "hit more keys",
                Share::Requests => "deny more requests",
            };
            writeln!(
                out,
                "  {DIM}(found by search: the {number} below it does not; a higher {number} of this kind can \
                 {what}, so a lower one might do too){DIM:#}"
            )?;
        }
        if let Some(gap) = self.gap {
            let [from, to, keys] = [gap.from, gap.to, gap.keys_hit].map(HumanCount);
            writeln!(out, "  limits from {from} to {to} all hit the same {keys} keys")?;
        }
        if self.overridden > 0 {
            let count = HumanCount(self.overridden);
            writeln!(out, "  {DIM}{count} requests of keys with overrides are left out{DIM:#}")?;
        }
        if let Some(lacking) = self.lacking {
            let without = lacking.denied + lacking.admitted;
            if without > 0 {
                let count = HumanCount(without);
                writeln!(out, "  {DIM}{count} requests without a key are left out{DIM:#}")?;
            }
        }
        self.write_curve(out, width)?;
        self.write_hit(out, width)
    }

    fn write_curve(&self, out: &mut impl Write, width: u16) -> io::Result<()> {
        let mut table = Table::new();
        let number =
            self.interval.as_ref().map_or("limit".to_owned(), |time| format!("per {time}"));
        table.set_header(
            [
                number.as_str(),
                "",
                "keys hit",
                "%",
                "denied",
                "%",
                "their traffic %",
                "denied, to scale",
            ]
            .map(header),
        );
        let most = self.curve.iter().map(|point| point.denied).max().unwrap_or(0);
        for point in &self.curve {
            let is_suggested = self.suggested == Some(point.limit);
            let mark = match (is_suggested, self.present == Some(point.limit)) {
                (true, true) => "suggested, now",
                (true, false) => "suggested",
                (false, true) => "now",
                (false, false) => "",
            };
            let weight = if is_suggested { Attribute::Bold } else { Attribute::Reset };
            table.add_row([
                Cell::new(HumanCount(point.limit)).add_attribute(weight),
                Cell::new(mark).add_attribute(weight),
                Cell::new(HumanCount(point.keys_hit)),
                Cell::new(percent(point.keys_hit, self.keys)),
                Cell::new(HumanCount(point.denied)).fg(Color::Red),
                Cell::new(percent(point.denied, self.requests)),
                Cell::new(percent(point.requests_of_hit, self.requests)),
                Cell::new(bar(point.denied, most)).fg(Color::Red),
            ]);
        }
        align_right(&mut table, 0..1);
        align_right(&mut table, 2..7);
        write_table(out, table, width)
    }

    fn write_hit(&self, out: &mut impl Write, width: u16) -> io::Result<()> {
        if self.hit.is_empty() {
            return Ok(());
        }
        let mut table = Table::new();
        table.set_header(["hit", "denied", "of", "needs", "first seen", "last seen"].map(header));
        for key in &self.hit {
            let time = |time: jiff::Timestamp| time.strftime("%F %T").to_string();
            let mut row = comfy_table::Row::from([
                Cell::new(printable(&key.key)),
                Cell::new(HumanCount(key.denied)).fg(Color::Red),
                Cell::new(HumanCount(key.requests)),
                Cell::new(key.least_limit.map_or_else(String::new, |n| HumanCount(n).to_string())),
                Cell::new(time(key.first)),
                Cell::new(time(key.last)),
            ]);
            row.max_height(1);
            table.add_row(row);
        }
        align_right(&mut table, 1..4);
        write_table(out, table, width)
    }
}

/// Returns a bar, visible even if it is tiny beside the longest.
fn bar(count: u64, most: u64) -> String {
    let eighths = (u128::from(count) * u128::from(8 * BAR)).div_ceil(u128::from(most.max(1)));
    let (whole, rest) = (eighths as usize / 8, eighths as usize % 8);
    let end = rest.checked_sub(1).map(|part| EIGHTHS[part]);
    std::iter::repeat_n(EIGHTHS[7], whole).chain(end).collect()
}

fn word(of: Share) -> &'static str {
    match of {
        Share::Keys => "keys",
        Share::Requests => "requests",
    }
}

/// Returns millionths as a number of percent.
fn share(parts: u64) -> String {
    let (whole, decimals) = (parts * 100 / WHOLE, parts * 100 % WHOLE);
    let text = format!("{whole}.{:04}", decimals / 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
