//! The page of suggested limits: a curve for each limiter, a line on it that can be moved, and the keys that the limit at
//! the line hits.

use indicatif::HumanCount;
use maud::{Markup, html};
use sluicegate_replay::log::printable;
use sluicegate_replay::suggest::{Findings, HitKey, Point, Suggestion};

use super::document::Document;
use super::keys::{key_cell, key_header};
use super::plot::curve::Curve;
use super::{count, share, warnings};
use crate::report::seen::Stamps;
use crate::report::suggest::{CAUTION, all_warnings, asked, knee_below, marks, says, verdict};

/// The findings of a search as a page.
#[derive(Debug)]
pub struct SuggestPage<'a> {
    /// The logs that were read.
    pub logs: Vec<String>,
    /// The command line.
    pub command: String,
    /// The findings.
    pub findings: &'a Findings,
}

impl SuggestPage<'_> {
    /// Returns the page in HTML.
    #[must_use]
    pub fn html(&self) -> String {
        let logs = self.logs.join(", ");
        let title = format!("sluicegate suggest: {}", printable(&logs));
        let Findings { lines, skipped, limiters, without, policy, failures, .. } = self.findings;
        Document { title, script: include_str!("suggest.js") }.html(&html! {
            a.skip href="#results" { "Skip to the results" }
            header {
                h1 { "Limits for " (HumanCount(*lines)) " requests" }
                dl {
                    dt { "Logs" } dd { (printable(&logs)) }
                    dt { "Asked" } dd { (asked(self.findings)) }
                    dt { "Lines" } dd { (count(*lines)) " judged, " (count(*skipped)) " skipped" }
                    dt { "Command" } dd { code { (printable(&self.command)) } }
                }
            }
            nav aria-label="Limiters" { ul {
                @for (index, limiter) in limiters.iter().enumerate() {
                    li { a href={ "#limiter-" (index + 1) } { (printable(&limiter.name)) } }
                }
                @if !policy.is_empty() { li { a href="#policy" { "policy to paste" } } }
            } }
            main id="results" {
                (warnings(&all_warnings(self.findings), !failures.is_empty()))
                @for (index, limiter) in limiters.iter().enumerate() { (section(index, limiter, self.findings)) }
                @for without in without {
                    section { h2 { (printable(&without.name)) } p { "No suggestion: " (without.why) "." } }
                }
                @if !policy.is_empty() {
                    section aria-labelledby="policy" {
                        h2 id="policy" { "Policy to paste" }
                        p { "With the suggested numbers, whatever the lines above are moved to." }
                        pre tabindex="0" { "\n" (policy) }
                    }
                }
            }
        })
    }
}

fn section(index: usize, limiter: &Suggestion, findings: &Findings) -> Markup {
    let id = format!("limiter-{}", index + 1);
    html! {
        section.suggestion id=(id) aria-labelledby={ (id) "-heading" } {
            h2 id={ (id) "-heading" } { (printable(&limiter.name)) }
            @if let Some(policy) = &limiter.suggested_policy { p.policy { (printable(policy)) } }
            @if limiter.requests == 0 {
                p { "No request in the logs has a key." }
            } @else {
                @let (number, does) = verdict(limiter, findings);
                p { strong { (number) } " " (does) "." }
                @if let Some(knee) = knee_below(limiter, findings) { p { strong { (knee.limit) } ", " (knee.does()) "." } }
                (choice(&id, limiter))
                (keys(limiter))
                @if limiter.is_by_client && !limiter.hit.is_empty() { p.note { (CAUTION.join(" ")) } }
            }
        }
    }
}

/// Returns the curve, the slider that moves its line, and the points as a table.
fn choice(id: &str, limiter: &Suggestion) -> Markup {
    let number =
        limiter.interval.as_ref().map_or("limit".to_owned(), |time| format!("rate per {time}"));
    let at = |limit: Option<u64>| limiter.curve.iter().position(|point| Some(point.limit) == limit);
    let chosen = at(limiter.suggested).or(at(limiter.knee)).unwrap_or(0);
    let says = |point: &Point| format!("{}: {}.", HumanCount(point.limit), says(limiter, point));
    let first = limiter.curve.get(chosen).map(says).unwrap_or_default();
    let text = format!("Keys hit by each {number}. {first}");
    let (curve, places) = Curve { points: &limiter.curve, chosen }.draw(&text);
    html! {
        figure {
            figcaption {
                strong { "Keys hit" } " " span.note { "number of keys of which a request would have been denied, by the " (number) }
            }
            (curve)
            p.slider hidden {
                label for={ (id) "-line" } { (number) }
                input type="range" id={ (id) "-line" } min="0" max=(limiter.curve.len().saturating_sub(1)) step="1" value=(chosen);
            }
            p aria-live="polite" class="says" { (first) }
        }
        table.points {
            caption { "Each point of the curve. \"Their traffic\" are all requests of the keys that are hit." }
            thead { tr {
                th scope="col" { (number) } th scope="col" { "keys hit" } th scope="col" { "%" }
                th scope="col" { "denied" } th scope="col" { "%" } th scope="col" { "their traffic %" }
            } }
            tbody { @for (place, (point, x)) in limiter.curve.iter().zip(places).enumerate() {
                tr data-limit=(point.limit) data-x=(x) data-says=(says(point))
                    aria-current=[(place == chosen).then_some("true")] {
                    th scope="row" {
                        (count(point.limit))
                        @let marks = marks(limiter, point.limit);
                        @if !marks.is_empty() { span.note { (marks) } }
                    }
                    td { (count(point.keys_hit)) }
                    td { (share(point.keys_hit, limiter.keys)) }
                    td { (count(point.denied)) }
                    td { (share(point.denied, limiter.requests)) }
                    td { (share(point.requests_of_hit, limiter.requests)) }
                }
            } }
        }
    }
}

/// Returns the keys that need most, or those that the suggested limit hits, if what they need is not known.
fn keys(limiter: &Suggestion) -> Markup {
    let listed = &limiter.neediest;
    let are_computed = listed.iter().any(|key| key.least_limit.is_some());
    let times = || listed.iter().flat_map(|key| [key.first, key.last]);
    let stamps = Stamps::within(times().min().zip(times().max()));
    html! {
        @if !listed.is_empty() {
            table.keys {
                caption {
                    strong { @if are_computed { "Keys by the least limit that spares them" } @else { "Keys hit" } } " "
                    span.note {
                        (count(listed.len() as u64)) " of " (count(limiter.keys)) ", times in UTC. "
                        @if are_computed {
                            "Marked keys are hit by the limit at the line; \"denied\" is by the suggested limit."
                        } @else {
                            "By the suggested number, wherever the line is."
                        }
                    }
                }
                thead { tr {
                    (key_header())
                    @if are_computed { th scope="col" { "needs" } }
                    th scope="col" { "denied" } th scope="col" { "of" }
                } }
                tbody { @for key in listed { (row(key, limiter, are_computed, stamps)) } }
            }
        }
    }
}

fn row(key: &HitKey, limiter: &Suggestion, are_computed: bool, stamps: Stamps) -> Markup {
    let is_hit = match (key.least_limit, limiter.suggested) {
        (Some(need), Some(limit)) => need > limit,
        _ => key.denied > 0,
    };
    html! {
        tr data-needs=[key.least_limit] class=[is_hit.then_some("hit")] {
            (key_cell(&key.key, [key.first, key.last], key.profile.as_ref(), stamps))
            @if are_computed {
                td { @match key.least_limit { Some(need) => (count(need)), None => span.note { "–" } } }
            }
            td { (count(key.denied)) }
            td { (count(key.requests)) }
        }
    }
}
