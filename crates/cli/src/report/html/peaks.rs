//! The distribution of the peaks of a limiter's keys.

use maud::{Markup, html};
use sluicegate_replay::replay::{Part, Peak, Peaks};

use super::ink;
use super::plot::bars::{Bar, Bars};
use super::plot::short;
use super::{count, share};

/// The most bars with edges that are close to each other.
const MOST_FINE: usize = 32;

/// The peaks of one part of a limiter, by their number of permits.
struct Spectrum<'a> {
    part: &'a Part,
    /// Rising.
    peaks: Vec<Peak>,
    /// The number of keys that each of them stands for.
    each: u64,
    is_stepped: bool,
}

/// Returns a figure for each part of the limiter. `unit` is that of permits.
pub(super) fn figures(peaks: &Peaks, unit: &str) -> Markup {
    html! {
        @for (index, part) in peaks.parts().iter().enumerate() {
            @let mut found: Vec<Peak> = peaks.of_part(index).collect();
            @let () = found.sort_by_key(|peak| peak.permits);
            @let spectrum = Spectrum {
                part, peaks: found, each: peaks.sampled(), is_stepped: peaks.is_stepped(index),
            };
            @if !spectrum.peaks.is_empty() { (spectrum.figure(unit)) }
        }
    }
}

impl Spectrum<'_> {
    fn figure(&self, unit: &str) -> Markup {
        let bars = self.bars();
        let scale = if bars.is_log() { ", logarithmic" } else { "" };
        html! {
            figure {
                figcaption {
                    strong { "Peaks of keys" @if let Some(name) = self.part.name() { ", " (name) } }
                    " " span.note { "number of keys" (scale) ", by their peak in " (unit) "" }
                    span.key { span.allowed { "within the limit" } span.denied { "over it" } }
                }
                (bars.draw(&self.text(unit)))
                (self.sentences(unit))
            }
        }
    }

    /// Says what the plot shows, with the figures as data.
    fn sentences(&self, unit: &str) -> Markup {
        let (keys, over) = self.keys();
        html! {
            p.peaks {
                @if self.each > 1 { "About " }
                (count(over)) " of " (count(keys)) " keys (" (share(over, keys)) " %) go over "
                (self.limit()) " " (unit) ". Half of the keys reach " (count(self.at(50)))
                " or less, 90 % " (count(self.at(90))) ", 99 % " (count(self.at(99)))
                ", and the highest " (count(self.at(100))) "."
            }
            p.note {
                (self.part.meaning()) " Denied requests count as well."
                @if self.each > 1 {
                    " An estimate: more keys than --tally-keys were seen, so one in "
                    (count(self.each)) " was measured, chosen by its hash."
                }
                @if self.is_stepped {
                    " Keys with more than 2,048 requests in the interval are measured over up to a thousandth \
                     more of it."
                }
            }
        }
    }

    fn text(&self, unit: &str) -> String {
        let (keys, over) = self.keys();
        format!(
            "Distribution of the peaks of {keys} keys in {unit}: half reach {} or less, nine of ten {}, the \
             highest {}. {over} of them go over {}.",
            self.at(50),
            self.at(90),
            self.at(100),
            self.limit(),
        )
    }

    fn limit(&self) -> String {
        let limits = self.part.limits().iter();
        let limits: Vec<String> =
            limits.map(|limit| indicatif::HumanCount(*limit).to_string()).collect();
        match limits.as_slice() {
            [one] => format!("the limit of {one}"),
            several => format!("the limit of their day ({})", several.join(", ")),
        }
    }

    /// Returns the number of keys, and that of keys over the limit.
    fn keys(&self) -> (u64, u64) {
        let over = self.peaks.iter().filter(|peak| peak.is_over).count() as u64;
        ((self.peaks.len() as u64).saturating_mul(self.each), over.saturating_mul(self.each))
    }

    /// Returns the peak that so many percent of the keys do not exceed.
    fn at(&self, percent: usize) -> u64 {
        let rank = (self.peaks.len() * percent).div_ceil(100).max(1);
        self.peaks.get(rank - 1).map_or(0, |peak| peak.permits)
    }

    fn bars(&self) -> Bars {
        let limits = self.part.limits();
        let least = self.at(0).min(limits.first().copied().unwrap_or(u64::MAX)).max(1);
        let most = self.at(100).max(limits.last().copied().unwrap_or(0)).max(1);
        let edges = edges(least, most, limits);
        let bars = edges.iter().enumerate().map(|(index, &from)| {
            let first = self.peaks.partition_point(|peak| index > 0 && peak.permits < from);
            let next = edges.get(index + 1).copied();
            let end =
                self.peaks.partition_point(|peak| next.is_none_or(|next| peak.permits < next));
            let here = &self.peaks[first..end];
            let over = here.iter().filter(|peak| peak.is_over).count() as u64;
            let within = here.len() as u64 - over;
            let scaled = |keys: u64| keys.saturating_mul(self.each);
            Bar {
                from: short(from),
                rank: rank(from),
                counts: [(scaled(within), ink::ALLOWED), (scaled(over), ink::DENIED)],
            }
        });
        let line = |limit: &u64| {
            let above = limit.saturating_add(1);
            (edges.partition_point(|edge| *edge < above), format!("limit: up to {}", short(*limit)))
        };
        Bars { bars: bars.collect(), lines: limits.iter().map(line).collect() }
    }
}

/// Returns 0 for a power of ten, 1 for twice or five times one, and 2 for any other number.
fn rank(number: u64) -> u8 {
    let digit = number / 10_u64.pow(number.checked_ilog10().unwrap_or(0));
    match digit {
        _ if short(number).trim_end_matches(char::is_alphabetic).trim_end_matches('0').len()
            > 1 =>
        {
            2
        }
        1 => 0,
        2 | 5 => 1,
        _ => 2,
    }
}

/// Returns the least permits of each bar: round numbers, and those just above a limit.
fn edges(least: u64, most: u64, limits: &[u64]) -> Vec<u64> {
    let fine = (0..19).flat_map(|power| {
        let ten = 10_u64.pow(power);
        [10, 15, 20, 30, 40, 50, 60, 80].map(|tenths| u128::from(ten) * tenths / 10)
    });
    let fine: Vec<u64> = fine.filter_map(|edge| u64::try_from(edge).ok()).collect();
    let ones = (1..=10).chain(fine.into_iter().filter(|edge| *edge > 10));
    let coarse: Vec<u64> = super::plot::axis::rounds().collect();
    let with_limits = |edges: Vec<u64>| {
        let above = limits.iter().map(|limit| limit.saturating_add(1));
        let mut edges: Vec<u64> = edges.into_iter().chain(above).collect();
        edges.sort_unstable();
        edges.dedup();
        let first = edges.partition_point(|edge| *edge <= least).saturating_sub(1);
        let end = edges.partition_point(|edge| *edge <= most).max(first + 1);
        edges[first..end.min(edges.len())].to_vec()
    };
    let fine = with_limits(ones.collect());
    if fine.len() <= MOST_FINE { fine } else { with_limits(coarse) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_begin_at_round_numbers_and_just_above_a_limit() {
        assert_eq!(edges(1, 5, &[3]), [1, 2, 3, 4, 5]);
        assert_eq!(edges(7, 30, &[12]), [7, 8, 9, 10, 13, 15, 20, 30]);
        assert_eq!(edges(1, 1, &[1]), [1]);
        let wide = edges(1, u64::MAX, &[u64::MAX]);
        assert!(wide.len() <= 60 && wide.is_sorted(), "{}", wide.len());
    }
}
