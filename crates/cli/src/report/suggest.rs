//! The report of suggested limits.

use std::io::{self, Write};

use comfy_table::{Attribute, Cell, Color, Table};
use indicatif::HumanCount;
use sluicegate_replay::log::printable;
use sluicegate_replay::suggest::{Findings, Point, Share, Suggestion, WHOLE, in_percent};

use super::fold::folded;
use super::profile::in_short;
use super::text::{BOLD, DENIED, DIM, align_right, header, percent, section, width, write_table};

/// Columns of the longest bar, and the width of a report in which it has space for them.
const BAR: u64 = 24;
const BAR_WIDTH: u16 = 100;

/// The reminder that an address may be many people.
pub(super) const CAUTION: [&str; 4] = [
    "An address is not a person: an office of 200 behind one address, each with",
    "10 requests a minute, is one key with 2,000, and a bot may be one with 3,000.",
    "Many user agents speak for an office, one for a program. Give addresses that",
    "you know an override, or limit by user.",
];

/// The parts of a column, from an eighth to the whole of it.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// The parts of the command that comes next.
#[derive(Debug)]
pub struct Next {
    /// The command that found the limits, without a share that it may have asked for.
    pub command: String,
    /// The logs that were searched, and the options by which they were read, as a shell takes them.
    pub logs: String,
}

/// A limit far below the one that was found, which hits only the few keys that stand out.
pub(super) struct Knee {
    pub(super) limit: HumanCount,
    keys_hit: HumanCount,
    keys: HumanCount,
    /// The requests of these keys, in percent of all.
    requests: String,
    /// The share to ask for, in percent.
    share: String,
}

impl Knee {
    /// Returns what it would have done, and how to ask for it.
    pub(super) fn does(&self) -> String {
        let Knee { keys_hit, keys, requests, share, .. } = self;
        format!(
            "the knee, would hit {keys_hit} of {keys} keys, which send {requests} % of the requests: --at-least {share}"
        )
    }
}

/// Writes the report, in colours, and what to do `next` if that is wanted.
///
/// # Errors
///
/// If `out` cannot be written to.
pub fn write_findings(
    findings: &Findings,
    next: Option<&Next>,
    out: &mut impl Write,
) -> io::Result<()> {
    let width = width();
    let [lines, skipped] = [findings.lines, findings.skipped].map(HumanCount);
    writeln!(out, "{DIM}asked{DIM:#}  {}", asked(findings))?;
    writeln!(out, "{DIM}of{DIM:#}     {lines} lines ({skipped} skipped)")?;
    for limiter in &findings.limiters {
        write_limiter(limiter, out, findings, width)?;
    }
    for without in &findings.without {
        section(out, &without.name, "")?;
        let why = format!("no suggestion: {}", without.why);
        writeln!(out, "  {}", folded(&why, 2, 2, width))?;
    }
    if !findings.policy.is_empty() {
        section(out, "policy to paste", "")?;
        writeln!(out, "{}", findings.policy.trim_end())?;
    }
    let warnings = all_warnings(findings);
    if !warnings.is_empty() {
        writeln!(out)?;
    }
    for warning in &warnings {
        let warning = printable(warning);
        writeln!(out, "{DENIED}warning{DENIED:#}: {}", folded(&warning, 9, 2, width))?;
    }
    let Some(next) = next.filter(|_| !findings.policy.is_empty()) else { return Ok(()) };
    write!(out, "\n{DIM}next{DIM:#}   ")?;
    let knee =
        |limiter: &Suggestion| Some((printable(&limiter.name), knee_below(limiter, findings)?));
    if let Some((name, knee)) = findings.limiters.iter().find_map(knee) {
        let Knee { keys_hit, keys, share, .. } = knee;
        let refuses = format!(
            "{name} refuses nobody; a limit at the knee refuses {keys_hit} of {keys} keys:"
        );
        write!(
            out,
            "{}\n       {} --at-least {share}\n       or else ",
            folded(&refuses, 7, 7, width),
            next.command
        )?;
    }
    writeln!(
        out,
        "save the policy as limits.toml, and see whom it refuses, and when:\n       \
         sluicegate replay --policy limits.toml --html report.html {}",
        next.logs
    )
}

/// Returns the logs that could not be read to their end, and the warnings.
pub(super) fn all_warnings(findings: &Findings) -> Vec<String> {
    let unread = findings.failures.iter().map(|failure| format!("not all was read: {failure}"));
    unread.chain(findings.warnings.iter().cloned()).collect()
}

fn write_limiter(
    limiter: &Suggestion,
    out: &mut impl Write,
    findings: &Findings,
    width: u16,
) -> io::Result<()> {
    let now = limiter.present.map_or_else(String::new, |_| format!(", now {}", limiter.policy));
    section(out, &limiter.name, &folded(&now, limiter.name.chars().count(), 2, width))?;
    if limiter.requests == 0 {
        let without = limiter.lacking.map_or(0, |lacking| lacking.denied + lacking.admitted);
        return match without {
            0 => writeln!(out, "  no request in the logs"),
            _ => writeln!(out, "  no request in the logs has a key"),
        };
    }
    write_verdict(limiter, out, findings, width)?;
    if let Some(gap) = limiter.gap {
        let [from, to] = [gap.from, gap.to].map(HumanCount);
        let keys = match gap.keys_hit {
            1 => "key".to_owned(),
            keys => format!("{} keys", HumanCount(keys)),
        };
        writeln!(out, "  limits from {from} to {to} all hit the same {keys}")?;
    }
    if let Some(knee) = knee_below(limiter, findings) {
        let limit = knee.limit.to_string();
        let does = folded(&knee.does(), limit.len() + 4, 2, width);
        writeln!(out, "  {BOLD}{limit}{BOLD:#}, {does}")?;
    }
    if limiter.overridden > 0 {
        let count = HumanCount(limiter.overridden);
        writeln!(out, "  {DIM}{count} requests of keys with overrides are left out{DIM:#}")?;
    }
    if let Some(lacking) = limiter.lacking {
        let without = lacking.denied + lacking.admitted;
        if without > 0 {
            let count = HumanCount(without);
            writeln!(out, "  {DIM}{count} requests without a key are left out{DIM:#}")?;
        }
    }
    write_curve(limiter, out, width)?;
    write_hit(limiter, out, width)?;
    write_caution(limiter, out)
}

/// Returns the number that was found, and what it does.
pub(super) fn verdict(limiter: &Suggestion, findings: &Findings) -> (String, String) {
    let goal = goal(findings);
    let number = if limiter.interval.is_some() { "rate" } else { "limit" };
    let per = limiter.interval.as_ref().map_or(String::new(), |time| format!(" per {time}"));
    match limiter.suggested {
        Some(limit) => (
            format!("{}{per}", HumanCount(limit)),
            format!("is the least {number} that leaves at least {goal} untouched"),
        ),
        None if limiter.is_least => {
            (format!("no {number}"), format!("that it can have leaves {goal} untouched"))
        }
        None => (format!("no {number}"), format!("was found that leaves {goal} untouched")),
    }
}

/// Writes the number that was found, and what it would have done.
fn write_verdict(
    limiter: &Suggestion,
    out: &mut impl Write,
    findings: &Findings,
    width: u16,
) -> io::Result<()> {
    let (number, does) = verdict(limiter, findings);
    let does = folded(&does, number.len() + 3, 2, width);
    writeln!(out, "  {BOLD}{number}{BOLD:#} {does}")?;
    if let Some(policy) = &limiter.suggested_policy {
        writeln!(out, "  {DIM}{}{DIM:#}", folded(policy, 2, 2, width))?;
    }
    let suggested = limiter.curve.iter().find(|point| limiter.suggested == Some(point.limit));
    if let Some(point) = suggested {
        writeln!(out, "  {}", folded(&says(limiter, point), 2, 2, width))?;
    }
    if limiter.is_least || limiter.suggested.is_none() {
        return Ok(());
    }
    let number = if limiter.interval.is_some() { "rate" } else { "limit" };
    let what = match findings.of {
        Share::Keys => "hit more keys",
        Share::Requests => "deny more requests",
    };
    writeln!(
        out,
        "  {DIM}(found by search: the {number} below it does not; a higher {number} of this kind can\n  \
         {what}, so a lower one might do too){DIM:#}"
    )
}

/// Returns the knee, if the number that was found is far above it: among few keys, a share of nearly all of them is
/// all of them, abusers included.
pub(super) fn knee_below(limiter: &Suggestion, findings: &Findings) -> Option<Knee> {
    let at = |limit: u64| limiter.curve.iter().find(|point| point.limit == limit);
    let (suggested, knee) = (limiter.suggested.and_then(at)?, limiter.knee.and_then(at)?);
    if knee.limit >= suggested.limit || suggested.keys_hit > 0 || findings.of != Share::Keys {
        return None;
    }
    let spared = (limiter.keys - knee.keys_hit) * WHOLE / limiter.keys;
    // The roundest share of which these keys are the rest.
    let steps = [10_000, 1_000, 100, 10, 1].map(|step| spared / step * step);
    let is_it = |share: &u64| limiter.keys * (WHOLE - share) / WHOLE == knee.keys_hit;
    let share = steps.into_iter().find(is_it).unwrap_or(spared);
    Some(Knee {
        limit: HumanCount(knee.limit),
        keys_hit: HumanCount(knee.keys_hit),
        keys: HumanCount(limiter.keys),
        requests: percent(knee.requests_of_hit, limiter.requests),
        share: in_percent(share),
    })
}

/// Says what a limit would have done.
pub(super) fn says(limiter: &Suggestion, point: &Point) -> String {
    if point.keys_hit == 0 {
        return "it would have denied nothing".to_owned();
    }
    format!(
        "it would have hit {} of {} keys, and denied {} of {} requests ({} %)",
        HumanCount(point.keys_hit),
        HumanCount(limiter.keys),
        HumanCount(point.denied),
        HumanCount(limiter.requests),
        percent(point.denied, limiter.requests),
    )
}

/// Returns what is to be said of a limit of the curve.
pub(super) fn marks(limiter: &Suggestion, limit: u64) -> String {
    let marks =
        [(limiter.suggested, "suggested"), (limiter.present, "now"), (limiter.knee, "knee")];
    let marks = marks.into_iter().filter(|(of, _)| *of == Some(limit)).map(|(_, mark)| mark);
    marks.collect::<Vec<_>>().join(", ")
}

fn write_curve(limiter: &Suggestion, out: &mut impl Write, width: u16) -> io::Result<()> {
    let mut table = Table::new();
    let number = limiter.interval.as_ref().map_or("limit".to_owned(), |time| format!("per {time}"));
    let has_bars = width >= BAR_WIDTH;
    let mut names = vec![number.as_str(), "", "keys hit", "%", "denied", "%", "their traffic %"];
    names.extend(has_bars.then_some("denied, to scale"));
    table.set_header(names.into_iter().map(header));
    let most = limiter.curve.iter().map(|point| point.denied).max().unwrap_or(0);
    for point in &limiter.curve {
        let is_suggested = limiter.suggested == Some(point.limit);
        let weight = if is_suggested { Attribute::Bold } else { Attribute::Reset };
        let mut cells = vec![
            Cell::new(HumanCount(point.limit)).add_attribute(weight),
            Cell::new(marks(limiter, point.limit)).add_attribute(weight),
            Cell::new(HumanCount(point.keys_hit)),
            Cell::new(percent(point.keys_hit, limiter.keys)),
            Cell::new(HumanCount(point.denied)).fg(Color::Red),
            Cell::new(percent(point.denied, limiter.requests)),
            Cell::new(percent(point.requests_of_hit, limiter.requests)),
        ];
        cells.extend(has_bars.then(|| Cell::new(bar(point.denied, most)).fg(Color::Red)));
        table.add_row(cells);
    }
    align_right(&mut table, 0..1);
    align_right(&mut table, 2..7);
    write_table(out, table, width)
}

fn write_hit(limiter: &Suggestion, out: &mut impl Write, width: u16) -> io::Result<()> {
    if limiter.hit.is_empty() {
        return Ok(());
    }
    let has_both = width >= BAR_WIDTH;
    let mut table = Table::new();
    let mut names = vec!["hit", "denied", "of", "needs", "first seen, UTC"];
    names.extend(has_both.then_some("last seen, UTC"));
    names.push("mostly");
    table.set_header(names.into_iter().map(header));
    for key in &limiter.hit {
        let time = |time: jiff::Timestamp| time.strftime("%F %T").to_string();
        let mut cells = vec![
            Cell::new(printable(&key.key)),
            Cell::new(HumanCount(key.denied)).fg(Color::Red),
            Cell::new(HumanCount(key.requests)),
            Cell::new(key.least_limit.map_or_else(String::new, |n| HumanCount(n).to_string())),
            Cell::new(time(key.first)),
        ];
        cells.extend(has_both.then(|| Cell::new(time(key.last))));
        cells.push(Cell::new(key.profile.as_ref().map_or_else(String::new, in_short)));
        let mut row = comfy_table::Row::from(cells);
        row.max_height(1);
        table.add_row(row);
    }
    align_right(&mut table, 1..4);
    write_table(out, table, width)
}

/// Writes that an address may be many people.
fn write_caution(limiter: &Suggestion, out: &mut impl Write) -> io::Result<()> {
    if !limiter.is_by_client || limiter.hit.is_empty() {
        return Ok(());
    }
    CAUTION.iter().try_for_each(|line| writeln!(out, "  {DIM}{line}{DIM:#}"))
}

/// Returns a bar, visible even if it is tiny beside the longest.
fn bar(count: u64, most: u64) -> String {
    let eighths = (u128::from(count) * u128::from(8 * BAR)).div_ceil(u128::from(most.max(1)));
    let (whole, rest) = (eighths as usize / 8, eighths as usize % 8);
    let end = rest.checked_sub(1).map(|part| EIGHTHS[part]);
    std::iter::repeat_n(EIGHTHS[7], whole).chain(end).collect()
}

/// Says what was asked.
pub(super) fn asked(findings: &Findings) -> String {
    let number = if findings.vary.is_limit() { "limit" } else { "rate" };
    format!("the least {number} that leaves {} untouched", goal(findings))
}

fn goal(findings: &Findings) -> String {
    let things = match findings.of {
        Share::Keys => "keys",
        Share::Requests => "requests",
    };
    format!("{} % of the {things}", in_percent(findings.untouched_percent))
}
