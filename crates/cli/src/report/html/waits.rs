//! The distribution of the waits of a limiter's requests.

use std::time::Duration;

use maud::{Markup, html};
use sluicegate_replay::replay::Waits;

use super::ink;
use super::plot::bars::{Bar, Bars};
use super::{count, share};
use crate::report::text::shown;

/// The edges of the bars, in milliseconds, beside those of less than one.
const EDGES_MILLIS: [u64; 22] = [
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    30_000,
    60_000,
    300_000,
    1_200_000,
    3_600_000,
    14_400_000,
    43_200_000,
    86_400_000,
    604_800_000,
];

/// The edges of less than a millisecond, in nanoseconds.
const EDGES_NANOS: [u64; 3] = [1_000, 10_000, 100_000];

/// Returns a figure of the waits of `allowed` requests.
pub(super) fn figure(waits: &Waits, allowed: u64) -> Markup {
    let bars = bars(waits);
    let scale = if bars.is_log() { ", logarithmic" } else { "" };
    let text = format!(
        "Distribution of the waits of {allowed} requests: {} were delayed; half waited for at most {}, nine \
         of ten {}, 99 of 100 {}, the longest {}.",
        waits.delayed(),
        shown(waits.percentile(50)),
        shown(waits.percentile(90)),
        shown(waits.percentile(99)),
        shown(waits.longest()),
    );
    html! {
        figure {
            figcaption {
                strong { "Waits" } " "
                span.note { "number of requests" (scale) ", by how long they waited" }
                span.key {
                    span.allowed { "at once" }
                    @if waits.longer().is_some() {
                        span.delayed { "delayed" } span.denied { "for longer than the bound" }
                    } @else {
                        span.delayed { "delayed" }
                    }
                }
            }
            (bars.draw(&text))
            p {
                (count(waits.delayed())) " of " (count(allowed)) " requests (" (share(waits.delayed(), allowed))
                " %) were delayed. Half of all waited for at most " (time(waits.percentile(50))) ", 90 % "
                (time(waits.percentile(90))) ", 99 % " (time(waits.percentile(99))) ", and the longest "
                (time(waits.longest())) "."
                @if let Some((within, longer)) = waits.longer() {
                    " " (count(longer)) " waited for longer than " (shown(within)) "."
                }
            }
            p.note {
                "A request waits in a queue behind the earlier ones of its key until the limiter grants it. \
                 Percentiles are at most 0.8 % too long, and the edges of bars as exact."
            }
        }
    }
}

/// A wait for people, with its nanoseconds as data.
pub(super) fn time(wait: Duration) -> Markup {
    html! { data value=(wait.as_nanos()) { (shown(wait)) } }
}

fn bars(waits: &Waits) -> Bars {
    let within = waits.longer().map(|(within, _)| nanos(within));
    let mut edges: Vec<u64> = EDGES_NANOS.to_vec();
    edges.extend(EDGES_MILLIS.map(|millis| millis * 1_000_000));
    edges.extend(within.filter(|within| *within > 0));
    edges.sort_unstable();
    edges.dedup();
    // The first bar is of those that did not wait, the next of those up to the first edge.
    let mut counts = vec![0; edges.len() + 2];
    for (wait_nanos, count) in waits.counts() {
        let place = match wait_nanos {
            0 => 0,
            _ => 1 + edges.partition_point(|edge| *edge < wait_nanos),
        };
        counts[place] += count;
    }
    // Without the bars of the shortest waits and of the longest, if they are empty.
    let bound = within.map_or(0, |within| 2 + edges.partition_point(|edge| *edge < within));
    let last = counts.iter().rposition(|count| *count > 0).unwrap_or(0).max(bound);
    let first = counts.iter().skip(1).position(|count| *count > 0).map_or(last, |place| place + 1);
    let first = if bound > 0 { first.min(bound - 1) } else { first };
    let ink = |place: usize| match place {
        0 => ink::ALLOWED,
        _ if bound > 0 && place >= bound => ink::DENIED,
        _ => ink::DELAYED,
    };
    let from = |place: usize| match place {
        0 | 1 => "0".to_owned(),
        _ => shown(Duration::from_nanos(edges[place - 2])).replace(' ', ""),
    };
    let places: Vec<usize> =
        std::iter::once(0).chain(first.max(1)..=last.min(counts.len() - 1)).collect();
    let bars = places
        .iter()
        .map(|&place| Bar {
            from: if place == 1 { ">0".to_owned() } else { from(place) },
            rank: u8::from(place > 1 && !is_decade(edges[place - 2])),
            counts: [(counts[place], ink(place)), (0, ink(place))],
        })
        .collect();
    let lines = within
        .and_then(|within| {
            let index = places.iter().position(|place| *place == bound)?;
            Some((index, format!("bound {}", shown(Duration::from_nanos(within)))))
        })
        .into_iter()
        .collect();
    Bars { bars, lines }
}

/// Returns true for the longest round waits, whose numbers are written first.
fn is_decade(nanos: u64) -> bool {
    nanos.is_multiple_of(60_000_000_000) || nanos.to_string().trim_end_matches('0') == "1"
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn froms(waits: &Waits) -> Vec<(String, u64)> {
        bars(waits).bars.into_iter().map(|bar| (bar.from, bar.counts[0].0)).collect()
    }

    #[test]
    fn bars_are_of_waits_up_to_the_next_edge() {
        let mut waits = Waits::new(None);
        for wait in [0, 0, SECOND / 2, SECOND, 2 * SECOND, 3 * SECOND] {
            waits.record(wait);
        }
        let expected = [("0", 2), ("500ms", 1), ("1s", 1), ("2s", 1)];
        let found = froms(&waits);
        let found: Vec<(&str, u64)> = found.iter().map(|(from, n)| (from.as_str(), *n)).collect();
        // A wait of half a second is in the bar up to it.
        assert_eq!(found[0], expected[0]);
        assert_eq!(found.iter().map(|(_, count)| count).sum::<u64>(), 6);
        assert_eq!(found[1], ("200ms", 1));
    }

    #[test]
    fn a_bound_is_an_edge_and_a_line() {
        let mut waits = Waits::new(Some(Duration::from_millis(1500)));
        for wait in [0, SECOND, 3 * SECOND / 2, 2 * SECOND, u64::MAX] {
            waits.record(wait);
        }
        let drawn = bars(&waits);
        let (index, name) = &drawn.lines[0];
        assert_eq!((name.as_str(), drawn.bars[*index].from.as_str()), ("bound 1.5s", "1.5s"));
        let longer: u64 = drawn.bars[*index..].iter().map(|bar| bar.counts[0].0).sum();
        assert_eq!(longer, waits.longer().unwrap().1);
        assert!(drawn.bars[*index..].iter().all(|bar| bar.counts[0].1 == ink::DENIED));
    }

    #[test]
    fn no_waits_have_bars_too() {
        assert_eq!(bars(&Waits::new(None)).bars.iter().map(|bar| bar.counts[0].0).sum::<u64>(), 0);
        let mut waits = Waits::new(Some(Duration::MAX));
        waits.record(0);
        assert_eq!(bars(&waits).bars[0].counts[0].0, 1);
    }
}
