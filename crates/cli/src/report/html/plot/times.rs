//! Requests over time.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::Markup;
use plotters::prelude::*;
use sluicegate_replay::replay::Bin;

use super::axis::{Counts, Marked};
use super::{DIGIT, SIZE, TEXT_SIZE, ink};

/// Columns of time, of equal width.
#[derive(Clone, Debug)]
pub(in crate::report::html) struct Times {
    pub(in crate::report::html) first: Timestamp,
    pub(in crate::report::html) columns: Vec<Bin>,
    pub(in crate::report::html) width_nanos: u64,
}

/// Steps between marks, in seconds.
const STEPS: [i64; 24] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
    86_400, 172_800, 604_800, 1_209_600, 2_592_000, 7_776_000, 31_536_000,
];

/// The most marks on an axis.
const MOST_MARKS: i64 = 4;

impl Times {
    /// Returns the time that all columns cover.
    pub(in crate::report::html) fn length(&self) -> Duration {
        Duration::from_nanos(self.width_nanos.saturating_mul(self.columns.len() as u64))
    }

    /// Draws what was allowed at once, and on top of it what was delayed and what was denied. `text` says the same.
    pub(in crate::report::html) fn draw(&self, text: &str) -> Markup {
        let most = self.columns.iter().map(|bin| bin.allowed + bin.denied).max().unwrap_or(0);
        let axis = Counts::Linear(most);
        let (marks, format) = self.marks();
        let places = marks.iter().map(|mark| self.place(*mark)).collect();
        super::plot(text, |root| {
            let margins = (TEXT_SIZE / 2, 3 * DIGIT as u32);
            let lower = Marked::new(0.0..self.end(), places);
            let chart =
                super::chart(root, margins, lower, axis, &|place| self.label(*place, format))?;
            let area = chart.plotting_area();
            let steps = [
                (ink::ALLOWED, self.outline(|_| 0, at_once)),
                (ink::DELAYED, self.outline(at_once, |bin| bin.allowed)),
                (ink::DENIED, self.outline(|bin| bin.allowed, |bin| bin.allowed + bin.denied)),
            ];
            for (ink, outlines) in steps {
                for outline in outlines {
                    let points: Vec<_> =
                        outline.into_iter().map(|(x, count)| (x, axis.height(count))).collect();
                    area.draw(&Polygon::new(points, ink.color().filled()))?;
                }
            }
            Ok(())
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "there are few columns")]
    fn end(&self) -> f64 {
        self.columns.len().max(1) as f64
    }

    /// Returns the outlines of what lies between two counts, one for each run of columns in which
    /// there is something.
    #[expect(clippy::cast_precision_loss, reason = "there are few columns")]
    fn outline(&self, low: fn(&Bin) -> u64, high: fn(&Bin) -> u64) -> Vec<Vec<(f64, u64)>> {
        let columns: Vec<(usize, &Bin)> = self.columns.iter().enumerate().collect();
        let edges = |(index, bin): (usize, &Bin), height: fn(&Bin) -> u64| {
            [(index as f64, height(bin)), (index as f64 + 1.0, height(bin))]
        };
        columns
            .chunk_by(|(_, one), (_, next)| (low(one) < high(one)) == (low(next) < high(next)))
            .filter(|run| low(run[0].1) < high(run[0].1))
            .map(|run| {
                let above = run.iter().flat_map(|column| edges(*column, high));
                let below = run.iter().rev().flat_map(|column| {
                    let [left, right] = edges(*column, low);
                    [right, left]
                });
                above.chain(below).collect()
            })
            .collect()
    }

    /// Returns round times within the columns, and the format that tells them apart.
    fn marks(&self) -> (Vec<Timestamp>, &'static str) {
        let first = self.first.as_second();
        let seconds = i64::try_from(
            u128::from(self.width_nanos) * self.columns.len() as u128 / 1_000_000_000,
        );
        let seconds = seconds.unwrap_or(i64::MAX).max(1);
        let fits = |step: &&i64| seconds / **step < MOST_MARKS;
        let step = STEPS.iter().find(fits).copied().unwrap_or(seconds / MOST_MARKS + 1);
        let start = first.div_euclid(step) + i64::from(first.rem_euclid(step) > 0);
        let marks = (start..)
            .map(|count| count.saturating_mul(step))
            .take_while(|at| *at <= first.saturating_add(seconds))
            .filter_map(|at| Timestamp::from_second(at).ok())
            .take(MOST_MARKS as usize + 1)
            .collect();
        let format = match step {
            ..60 => "%T",
            60..86_400 => "%H:%M",
            86_400..2_592_000 => "%d %b",
            _ => "%b %Y",
        };
        (marks, format)
    }

    /// Returns the position of a time, in columns.
    #[expect(clippy::cast_precision_loss, reason = "a position of a few hundred pixels")]
    fn place(&self, at: Timestamp) -> f64 {
        at.duration_since(self.first).as_secs_f64() / (self.width_nanos as f64 / 1e9)
    }

    #[expect(clippy::cast_precision_loss, reason = "marks are round")]
    fn label(&self, place: f64, format: &str) -> String {
        let seconds =
            (place * (self.width_nanos as f64 / 1e9)) + self.first.as_duration().as_secs_f64();
        let at = Timestamp::from_second(seconds.round() as i64).unwrap_or(Timestamp::MAX);
        at.to_zoned(TimeZone::UTC).strftime(format).to_string()
    }
}

fn at_once(bin: &Bin) -> u64 {
    bin.allowed - bin.delayed
}

/// The most columns that are drawn.
pub(in crate::report::html) const MOST_COLUMNS: usize = (SIZE.0 / 5) as usize;
