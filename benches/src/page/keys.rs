//! Limiters that keep keys apart: a figure against the number of keys.

use maud::{Markup, html};

use super::figure;
use crate::keyed::report::{Topic, grouped};
use crate::plot::axis::Scale;
use crate::plot::lines::{self, Series};
use crate::report::Line;
use crate::spread::Spread;

pub(super) fn section(lines: &[Line], threads: &[usize]) -> Markup {
    let mut topics: Vec<Topic<'_>> = Vec::new();
    for topic in Topic::all(lines) {
        if !topics.iter().any(|other| is_drawn_with(*other, topic)) {
            topics.push(topic);
        }
    }
    html! {
        section #keys {
            h2 { "keys" }
            p {
                "Each key has the limit to itself. All keys are there before anything is timed, but those that "
                "are inserted. Calls are spread over all keys alike, or so that the kth key has 1 / k^0.99 of the "
                "calls of the first (" code { "zipf" } "), or 95 in 100 are for one key (" code { "hot" } "). "
                code { "loop" } " reads the next key and does no more: its time is in all others. "
                code { "pingora-limits" } " has counters that keys share, and so no keys to insert."
            }
            @for topic in topics {
                h3 {
                    (topic.op) ", " (topic.key)
                    @if topic.op != "insert" { ", " (topic.spread) }
                }
                div.pair {
                    @for &threads in threads {
                        @let plural = if threads == 1 { "" } else { "s" };
                        (figure(
                            &format!("Time per call of the slowest of {threads} thread{plural}: ns, logarithmic"),
                            &plot(lines, topic, threads, |line| line.ns_per_op),
                        ))
                    }
                }
            }
        }
    }
}

/// Returns whether two topics differ at most in the number of keys.
fn is_drawn_with(one: Topic<'_>, other: Topic<'_>) -> bool {
    Topic { keys: other.keys, ..one } == other
}

fn plot(lines: &[Line], topic: Topic<'_>, threads: usize, figure: fn(&Line) -> Spread) -> String {
    let of_plot: Vec<&Line> = lines
        .iter()
        .filter(|line| line.threads == threads)
        .filter(|line| Topic::of(line).is_some_and(|other| is_drawn_with(topic, other)))
        .collect();
    let mut keys: Vec<u64> = of_plot.iter().map(|line| line.keys).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut series: Vec<Series<'_>> = Vec::new();
    for line in of_plot {
        let store = line.of_keys.map_or(line.limiter, |of_keys| of_keys.store);
        let place = keys.iter().position(|keys| *keys == line.keys).unwrap_or_default();
        let point = (place, figure(line));
        match series.iter_mut().find(|series| series.limiter == store) {
            Some(series) => series.points.push(point),
            None => series.push(Series { limiter: store, points: vec![point] }),
        }
    }
    let labels: Vec<String> = keys.iter().map(|keys| format!("{} keys", grouped(*keys))).collect();
    lines::draw(&labels, &series, Scale::Log)
}
