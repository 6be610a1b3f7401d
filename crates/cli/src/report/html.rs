//! The reports as pages that need nothing beside themselves.
//!
//! The figures of a page are those of the [`Summary`], or the findings, that the other reports are made of. What
//! comes from a log or a policy is text in it, never markup, and the page forbids its reader's browser to load
//! anything. Its size is bounded: by the limiters of the policy, whatever the number of keys and of lines.

mod common;
mod document;
mod ink;
mod keys;
mod levels;
mod limiter;
mod peaks;
mod plot;
mod suggest;
mod waits;

use indicatif::HumanCount;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use sluicegate_replay::log::printable;
use sluicegate_replay::replay::Replay;

use self::document::Document;
use self::limiter::Section;
pub use self::suggest::SuggestPage;
use super::json::Summary;
use super::seen::Stamps;
use super::text::{self, Heading, percent};

/// The report of a replay as a page.
#[derive(Debug)]
pub struct Page<'a> {
    /// The facts about the run.
    pub heading: &'a Heading,
    /// The command line.
    pub command: String,
    /// The text of the policy.
    pub policy: String,
    /// The counts.
    pub summary: &'a Summary,
    /// The replay that they were collected from.
    pub replay: &'a Replay,
}

impl Page<'_> {
    /// Returns the page in HTML.
    #[must_use]
    pub fn html(&self) -> String {
        let logs = self.heading.logs.join(", ");
        let sections = Section::all(&self.summary.limiters, self.replay);
        let document =
            Document { title: format!("sluicegate replay: {}", printable(&logs)), script: "" };
        document.html(&html! {
            a.skip href="#results" { "Skip to the results" }
            header { (self.header(&logs)) }
            nav aria-label="Limiters" { (links(&sections, self.summary.hierarchy.is_some())) }
            main id="results" {
                (self.warnings())
                @if !sections.is_empty() {
                    (self.limiters(&sections))
                    (over_time(&sections))
                }
                @if let Some(hierarchy) = &self.summary.hierarchy {
                    (levels::section(hierarchy, Stamps::within(self.replay.pass().span())))
                }
                @for section in &sections { (section.section()) }
                (policy(&self.heading.policy, &self.policy))
            }
        })
    }

    fn header(&self, logs: &str) -> Markup {
        let Summary { lines, skipped, late, outliers, .. } = self.summary;
        html! {
            h1 { "Replay of " (HumanCount(*lines)) " requests" }
            ul.verdicts {
                @for (name, verdict) in self.summary.verdicts(self.replay) { li { strong { (name) } " " (verdict) } }
            }
            dl {
                dt { "Logs" } dd { (printable(logs)) }
                dt { "Policy" } dd { a href="#policy" { (printable(&self.heading.policy)) } }
                @if let Some((first, last)) = self.replay.pass().span() {
                    dt { "Span" }
                    dd {
                        time datetime=(first) { (stamp(first)) } " to " time datetime=(last) { (stamp(last)) } " UTC, "
                        (text::lasted(first, last))
                    }
                }
                dt { "Lines" }
                dd {
                    (count(*lines)) " judged, " (count(*skipped)) " skipped, " (count(*late)) " late, "
                    (count(*outliers)) " set aside"
                }
                dt { "Stamps" } dd { (text::stamps(self.replay)) }
                dt { "Command" } dd { code { (printable(&self.command)) } }
                @if let Some(next) = &self.heading.next {
                    dt { "Next" }
                    @for line in next.lines() { dd { (printable(line.trim_start())) } }
                }
            }
        }
    }

    fn warnings(&self) -> Markup {
        warnings(&self.summary.warnings, self.summary.incomplete)
    }

    fn limiters(&self, sections: &[Section<'_>]) -> Markup {
        let are_shaped = self.summary.limiters.iter().any(|limiter| limiter.waits.is_some());
        html! {
            section aria-labelledby="limiters" {
                h2 id="limiters" { "Limiters" }
                table.summary {
                    caption {
                        "Each limiter judges every request that its " code { "match" } " lets through, whatever the \
                         others decide."
                        @if are_shaped { " Requests wait instead of being denied." }
                    }
                    thead { tr {
                        th scope="col" { "limiter" } th scope="col" { "keys" } th scope="col" { "keys hit" }
                        th scope="col" { "allowed" }
                        @if are_shaped { th scope="col" { "delayed" } }
                        th scope="col" { "denied" } th scope="col" { "denied %" }
                    } }
                    tbody { @for section in sections { tr {
                        th scope="row" {
                            a href={ "#" (section.id()) } { (section.name()) }
                            span.policy { (section.judge.rule().kind) }
                        }
                        td {
                            @if !section.judge.is_exact() { span.note { "about " } }
                            (count(section.limiter.keys as u64))
                        }
                        td { (count(section.limiter.keys_hit as u64)) }
                        td { (count(section.limiter.allowed)) }
                        @if let Some(waits) = &section.limiter.waits { td { (count(waits.waits.delayed)) } }
                        td { (count(section.limiter.denied)) }
                        td { (share(section.limiter.denied, section.judged())) }
                    } } }
                }
            }
        }
    }
}

/// Returns the section of warnings, if there are any.
fn warnings(warnings: &[String], is_incomplete: bool) -> Markup {
    html! {
        @if !warnings.is_empty() {
            section.warnings aria-labelledby="warnings" {
                h2 id="warnings" { "Warnings" }
                @if is_incomplete { p { strong { "Not all of the logs were judged." } } }
                ul { @for warning in warnings { li { (with_code(warning)) } } }
            }
        }
    }
}

/// Returns a text with its words in backticks as code.
fn with_code(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    let are_pairs = parts.len() % 2 == 1;
    html! {
        @if are_pairs {
            @for (place, part) in parts.iter().enumerate() {
                @if place % 2 == 1 { code { (printable(part)) } } @else { (printable(part)) }
            }
        } @else { (printable(text)) }
    }
}

/// Returns the section of the policy, folded.
fn policy(name: &str, text: &str) -> Markup {
    html! {
        section aria-labelledby="policy" {
            h2 id="policy" { "Policy" }
            details {
                summary { (printable(name)) ", as it was read" }
                // A line break at the start of such an element is not shown.
                pre tabindex="0" { "\n" (text) }
            }
        }
    }
}

fn links(sections: &[Section<'_>], has_levels: bool) -> Markup {
    html! {
        ul {
            @if has_levels { li { a href="#levels" { "levels" } } }
            @for section in sections { li { a href={ "#" (section.id()) } { (section.name()) } } }
            li { a href="#policy" { "policy" } }
        }
    }
}

/// Returns the shares that several limiters denied over time, below each other.
fn over_time(sections: &[Section<'_>]) -> Markup {
    let [first, _, ..] = sections else { return html! {} };
    let Some(times) = &first.times else { return html! {} };
    let are_shaped = sections.iter().any(|section| section.limiter.waits.is_some());
    let what = if are_shaped { "delayed or denied" } else { "denied" };
    let last = times.first.saturating_add(times.length()).unwrap_or(Timestamp::MAX);
    html! {
        section aria-labelledby="over-time" {
            h2 id="over-time" { "Over time, side by side" }
            table.strips {
                caption {
                    "The share of requests that was " (what) ", from " (stamp(times.first)) " to " (stamp(last)) " UTC. "
                    span.key {
                        span.none { "none" } span.some { "some" } span.denied { "all" }
                    }
                }
                thead { tr {
                    th scope="col" { "limiter" } th.strip scope="col" { "over time" } th scope="col" { (what) " %" }
                } }
                tbody { @for section in sections { tr {
                    th scope="row" { (section.name()) }
                    td.strip {
                        @if let Some(times) = &section.times { (plot::strip::draw(&times.columns, &strip_text(section))) }
                    }
                    td { (share(section.held_up(), section.judged())) }
                } } }
            }
        }
    }
}

fn strip_text(section: &Section<'_>) -> String {
    let columns = section.times.as_ref().map_or(&[][..], |times| &times.columns);
    let held_up = columns.iter().filter(|bin| bin.denied + bin.delayed > 0).count();
    format!("Some in {held_up} of {} columns of time.", columns.len())
}

/// A count for people, and as data.
fn count(count: u64) -> Markup {
    html! { data value=(count) { (HumanCount(count)) } }
}

/// A part of a whole, in percent.
fn share(part: u64, whole: u64) -> Markup {
    html! { (percent(part, whole)) }
}

fn stamp(stamp: Timestamp) -> String {
    stamp.to_zoned(TimeZone::UTC).strftime("%F %T").to_string()
}
