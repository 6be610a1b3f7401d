//! The section of one limiter.

use std::cmp::Reverse;
use std::time::Duration;

use jiff::Timestamp;
use maud::{Markup, html};
use sluicegate_policy::time_in_words;
use sluicegate_replay::log::printable;
use sluicegate_replay::policy::Cost;
use sluicegate_replay::replay::{Bin, Judge, Replay};

use super::plot::times::{MOST_COLUMNS, Times};
use super::{common, count, keys, peaks, share, stamp, waits};
use crate::report::json::LimiterSummary;
use crate::report::seen::Stamps;

/// A limiter, its counts, and its columns of time.
pub(super) struct Section<'a> {
    pub(super) index: usize,
    pub(super) limiter: &'a LimiterSummary,
    pub(super) judge: &'a Judge,
    pub(super) times: Option<Times>,
    pub(super) stamps: Stamps,
}

impl<'a> Section<'a> {
    /// Returns the sections of all limiters, in the order of the policy.
    pub(super) fn all(limiters: &'a [LimiterSummary], replay: &'a Replay) -> Vec<Section<'a>> {
        let stamps = Stamps::within(replay.pass().span());
        let pairs = limiters.iter().zip(replay.judges()).enumerate();
        pairs
            .map(|(index, (limiter, judge))| {
                let times = replay.pass().span().map(|span| times(judge, span));
                Section { index, limiter, judge, times, stamps }
            })
            .collect()
    }

    pub(super) fn id(&self) -> String {
        format!("limiter-{}", self.index + 1)
    }

    pub(super) fn name(&self) -> String {
        printable(&self.limiter.name)
    }

    /// Returns the number of requests that it judged.
    pub(super) fn judged(&self) -> u64 {
        self.limiter.allowed + self.limiter.denied
    }

    /// Returns the number of requests that were delayed or denied.
    pub(super) fn held_up(&self) -> u64 {
        let delayed = self.limiter.waits.as_ref().map_or(0, |waits| waits.waits.delayed);
        self.limiter.denied + delayed
    }

    pub(super) fn section(&self) -> Markup {
        let heading = format!("{}-heading", self.id());
        html! {
            section id=(self.id()) aria-labelledby=(heading) {
                h2 id=(heading) { (self.name()) }
                p.policy { (self.judge.rule().kind) ", by " (self.key()) }
                @if self.judged() == 0 {
                    p { "It judged no request." }
                } @else {
                    div.figures {
                        @if let Some(times) = &self.times { (time_figure(times, self.judge.waits().is_some())) }
                        @if let Some(waits) = self.judge.waits() {
                            (waits::figure(waits, self.limiter.allowed))
                        }
                        @if let Some(peaks) = self.judge.peaks() { (peaks::figures(peaks, self.unit())) }
                    }
                    (self.overrides())
                    (self.parts())
                    @if let Some(shares) = &self.limiter.shares { (common::tenants(shares)) }
                    @if !self.limiter.classes.is_empty() { (common::classes(&self.limiter.classes)) }
                    (self.penalty())
                    (self.as_stamped())
                    (keys::tables(self.limiter, self.judge, self.stamps, self.unit()))
                }
            }
        }
    }

    fn key(&self) -> String {
        let names: Vec<String> = self.judge.rule().key.iter().map(ToString::to_string).collect();
        match names.join(" and ").as_str() {
            "all" => "nothing: one limiter for all requests".to_owned(),
            names => names.to_owned(),
        }
    }

    /// Returns the word for what a request takes.
    fn unit(&self) -> &'static str {
        match self.judge.rule().cost {
            Cost(sluicegate_policy::Cost::Permits(1)) => "requests",
            Cost(sluicegate_policy::Cost::Bytes) => "bytes",
            Cost(_) => "permits",
        }
    }

    fn overrides(&self) -> Markup {
        html! {
            @match self.judge.rule().overrides.len() {
                0 => {}
                1 => p.note { "One key has numbers of its own, and no peak here." }
                keys => p.note { (keys) " keys have numbers of their own, and no peak here." }
            }
        }
    }

    fn parts(&self) -> Markup {
        html! {
            @if !self.limiter.denied_by.is_empty() && self.limiter.denied > 0 {
                table {
                    caption {
                        strong { "Denials by part" } " "
                        span.note { "If several denied a request, it counts for the one with the longest wait." }
                    }
                    thead { tr {
                        th scope="col" { "part" } th scope="col" { "denied" } th scope="col" { "denied %" }
                    } }
                    tbody { @for part in &self.limiter.denied_by { tr {
                        th scope="row" { (part.part) }
                        td { (count(part.denied)) }
                        td { (share(part.denied, self.judged())) }
                    } } }
                }
            }
        }
    }

    fn penalty(&self) -> Markup {
        let counts = self.limiter.penalty.zip(self.judge.rule().penalty.as_ref());
        html! {
            @if let Some((counts, penalty)) = counts {
                p {
                    "Penalty: " (penalty.to_string()) ". " (count(counts.offences)) " offences began "
                    (count(counts.penalties)) " penalties, which denied " (count(counts.denied)) " requests ("
                    (share(counts.denied, self.judged())) " %)."
                }
            }
        }
    }

    fn as_stamped(&self) -> Markup {
        html! {
            @if let Some(stamped) = self.limiter.as_stamped {
                p {
                    "It counts in times about as short as those between the stamps of the log: if all requests had \
                     come at their stamps, instead of being spread, it would have denied " (count(stamped.denied))
                    " (" (share(stamped.denied, stamped.allowed + stamped.denied)) " %)."
                }
            }
        }
    }
}

fn times(judge: &Judge, (first, last): (Timestamp, Timestamp)) -> Times {
    let until_nanos = u64::try_from(last.duration_since(first).as_nanos()).unwrap_or(u64::MAX);
    let (columns, width_nanos) = judge.timeline().columns(until_nanos, MOST_COLUMNS);
    Times { first, columns, width_nanos }
}

fn time_figure(times: &Times, is_shaped: bool) -> Markup {
    let width = time_in_words(Duration::from_nanos(times.width_nanos));
    html! {
        figure {
            figcaption {
                strong { "Over time" } " " span.note { "requests in each " (width) ", UTC" }
                span.key {
                    @if is_shaped {
                        span.allowed { "allowed at once" } span.delayed { "delayed" }
                    } @else {
                        span.allowed { "allowed" }
                    }
                    span.denied { "denied" }
                }
            }
            (times.draw(&text(times, &width, is_shaped)))
        }
    }
}

/// Says what the plot of a limiter over time shows.
fn text(times: &Times, width: &str, is_shaped: bool) -> String {
    let all = |bin: &Bin| bin.allowed + bin.denied;
    let busiest = times.columns.iter().map(all).max().unwrap_or(0);
    let start = |index: usize| {
        let after = times.width_nanos.saturating_mul(index as u64);
        stamp(times.first.saturating_add(Duration::from_nanos(after)).unwrap_or(Timestamp::MAX))
    };
    let worst = |what: &str, count: fn(&Bin) -> u64| {
        let columns = times.columns.iter().map(count).enumerate();
        match columns.max_by_key(|(index, count)| (*count, Reverse(*index))) {
            Some((index, most @ 1..)) => {
                format!("; the most {what} are {most}, from {} on", start(index))
            }
            _ => format!("; none is {what}"),
        }
    };
    let delayed = if is_shaped { worst("delayed", |bin| bin.delayed) } else { String::new() };
    let denied = worst("denied", |bin| bin.denied);
    format!("Requests in each {width}, from {} on: up to {busiest}{delayed}{denied}.", start(0))
}
