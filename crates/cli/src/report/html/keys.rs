//! The keys of a limiter that were denied or delayed most.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use maud::{Markup, html};
use sluicegate_replay::log::printable;
use sluicegate_replay::replay::{Judge, Profile};

use super::waits::time;
use super::{count, share};
use crate::report::json::LimiterSummary;
use crate::report::key_summary::KeySummary;
use crate::report::profile::in_short;
use crate::report::seen::Stamps;
use crate::report::waits::DelayedSummary;

/// The most keys that are listed, whatever --top says.
pub(super) const MOST_KEYS: usize = 100;

/// The most characters of a key that are shown.
const MOST_CHARS: usize = 160;

/// Returns the tables of a limiter's keys.
pub(super) fn tables(
    limiter: &LimiterSummary,
    judge: &Judge,
    stamps: Stamps,
    unit: &str,
) -> Markup {
    let delayed = limiter.waits.as_ref().map_or(&[][..], |waits| &waits.top_delayed);
    html! {
        @if !delayed.is_empty() { (delayed_table(limiter, delayed, judge, stamps)) }
        @if !limiter.top_denied.is_empty() { (denied_table(limiter, judge, stamps, unit)) }
        @if delayed.is_empty() && limiter.top_denied.is_empty() {
            p { @if limiter.waits.is_some() { "No request waited or was denied." } @else { "Nothing was denied." } }
        }
    }
}

fn denied_table(limiter: &LimiterSummary, judge: &Judge, stamps: Stamps, unit: &str) -> Markup {
    let listed = &limiter.top_denied[..limiter.top_denied.len().min(MOST_KEYS)];
    let all = judge.tallies().filter(|(_, tally)| tally.denied > 0).count();
    let peaks = peaks(listed, judge);
    html! {
        table.keys {
            caption {
                strong { "Most denied keys" } " " (listing(listed.len(), all, judge))
                @if peaks.is_some() { span.note { " Peaks are in " (unit) "." } }
            }
            thead { tr {
                (key_header())
                th scope="col" { "denied" } th scope="col" { "of" } th scope="col" { "denied %" }
                @if peaks.is_some() { th scope="col" { "peak" } }
            } }
            tbody { @for key in listed { (denied_row(key, peaks.as_ref(), stamps)) } }
        }
    }
}

pub(super) fn denied_row(
    key: &KeySummary,
    peaks: Option<&HashMap<String, u64>>,
    stamps: Stamps,
) -> Markup {
    let all = key.allowed + key.denied;
    html! {
        tr {
            (key_cell(&key.key, [key.first_seen, key.last_seen], key.profile.as_ref(), stamps))
            td { (count(key.denied)) @if key.denied_error > 0 { " to " (count(key.denied + key.denied_error)) } }
            td { (count(all)) }
            td { (share(key.denied, all)) }
            @if let Some(peaks) = peaks {
                td { @match peaks.get(&key.key) { Some(peak) => (count(*peak)), None => span.note { "–" } } }
            }
        }
    }
}

fn delayed_table(
    limiter: &LimiterSummary,
    delayed: &[DelayedSummary],
    judge: &Judge,
    stamps: Stamps,
) -> Markup {
    let listed = &delayed[..delayed.len().min(MOST_KEYS)];
    let all = judge.tallies().filter(|(_, tally)| tally.delayed > 0).count();
    html! {
        table.keys {
            caption { strong { "Most delayed keys" } " " (listing(listed.len(), all, judge)) }
            thead { tr {
                (key_header())
                th scope="col" { "delayed" } th scope="col" { "of" } th scope="col" { "delayed %" }
                th scope="col" { "longest" }
            } }
            tbody { @for key in listed { tr {
                (key_cell(&key.key, [key.first_seen, key.last_seen], None, stamps))
                td { (count(key.delayed)) }
                td { (count(key.allowed)) }
                td { (share(key.delayed, key.allowed)) }
                td { (time(Duration::from_nanos(key.max_nanos))) }
            } } }
        }
        @if limiter.denied > 0 { p.note { "Denied are requests for which no wait was found." } }
    }
}

pub(super) fn key_header() -> Markup {
    html! { th scope="col" { "key, " span.note { "first and last seen" } } }
}

pub(super) fn key_cell(
    key: &str,
    [first, last]: [Timestamp; 2],
    profile: Option<&Profile>,
    stamps: Stamps,
) -> Markup {
    html! {
        th scope="row" {
            span.name { (cut(key)) }
            span.seen {
                time datetime=(first) { (stamps.of(first)) } " – " time datetime=(last) { (stamps.of(last)) }
            }
            @if let Some(profile) = profile {
                span.seen { "mostly " (cut(&in_short(profile))) }
            }
        }
    }
}

/// Says how many keys are listed.
fn listing(listed: usize, all: usize, judge: &Judge) -> Markup {
    html! {
        span.note {
            (count(listed as u64)) " of " @if !judge.is_exact() { "at least " } (count(all as u64))
            ", times in UTC."
            @if !judge.is_exact() {
                " Estimates: more keys than --tally-keys were seen, so a key may have been denied more often, and \
                 seen earlier."
            }
        }
    }
}

/// Returns the peaks of the listed keys, if the limiter has one limit.
fn peaks(listed: &[KeySummary], judge: &Judge) -> Option<HashMap<String, u64>> {
    let peaks = judge.peaks().filter(|peaks| peaks.parts().len() == 1)?;
    let mut found: HashMap<String, u64> = HashMap::new();
    for (key, of_parts) in peaks.of_keys() {
        if let (true, [peak]) = (listed.iter().any(|listed| listed.key == key), of_parts.as_slice())
        {
            let most = found.entry(key).or_default();
            *most = peak.permits.max(*most);
        }
    }
    Some(found)
}

/// Returns a key as it is shown: plain, and not too long.
pub(super) fn cut(key: &str) -> String {
    let mut text = printable(key);
    if let Some((end, _)) = text.char_indices().nth(MOST_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    if text.is_empty() { "(empty)".to_owned() } else { text }
}
