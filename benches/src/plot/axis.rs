//! An axis of figures.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Starts at 0.
    Linear,
    /// Equal ratios are equally far apart.
    Log,
}

/// An axis that some figures fit on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
}

/// The smallest figure on a logarithmic axis: a timer has no smaller step.
const LEAST: f64 = 0.01;

/// Factor that leaves some space above the greatest figure.
const ROOM: f64 = 1.06;

impl Axis {
    pub(crate) fn of(scale: Scale, figures: impl IntoIterator<Item = f64>) -> Axis {
        let figures = figures.into_iter().filter(|figure| figure.is_finite());
        let none = (f64::INFINITY, 0.0_f64);
        let (least, most) =
            figures.fold(none, |(least, most), figure| (least.min(figure), most.max(figure)));
        let most = most.max(LEAST * 10.0);
        match scale {
            Scale::Linear => Axis { scale, low: 0.0, high: most * ROOM },
            Scale::Log => {
                let low = least.clamp(LEAST, most / 2.0) / ROOM;
                Axis { scale, low, high: most * ROOM }
            }
        }
    }

    /// Returns the position of a figure on the axis.
    pub(crate) fn height(self, figure: f64) -> f64 {
        match self.scale {
            Scale::Linear => figure,
            Scale::Log => figure.max(self.low).log10(),
        }
    }

    /// Returns the axis in the form that plotters needs, marked at round figures.
    pub(crate) fn marked(self) -> Marked {
        let figures = match self.scale {
            Scale::Linear => steps(self.high),
            Scale::Log => rounds(self.low, self.high),
        };
        let marks = figures.into_iter().map(|figure| self.height(figure)).collect();
        Marked { range: self.height(self.low)..self.height(self.high), marks }
    }

    /// Returns the figure at the position `height`.
    pub(crate) fn figure(self, height: f64) -> f64 {
        match self.scale {
            Scale::Linear => height,
            Scale::Log => 10.0_f64.powf(height),
        }
    }
}

/// A range with its marks. (plotters' own axes choose marks themselves, and a
/// logarithmic one has none between the powers of ten.)
#[derive(Clone, Debug)]
pub(crate) struct Marked {
    range: Range<f64>,
    marks: Vec<f64>,
}

impl Marked {
    /// Returns a range of `count` places, each marked, with space beside the outer ones.
    #[expect(clippy::cast_precision_loss, reason = "they are few")]
    pub(crate) fn places(count: usize) -> Marked {
        let range = -0.2..count as f64 - 0.8;
        Marked { range, marks: (0..count).map(|place| place as f64).collect() }
    }

    /// Returns a range of `count` rows from the top, without marks.
    #[expect(clippy::cast_precision_loss, reason = "they are few")]
    pub(crate) fn rows(count: usize) -> Marked {
        Marked { range: count as f64..0.0, marks: Vec::new() }
    }
}

impl Ranged for Marked {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let share = (value - self.range.start) / (self.range.end - self.range.start);
        first + (share * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl From<Marked> for Range<f64> {
    fn from(marked: Marked) -> Range<f64> {
        marked.range
    }
}

/// Formats a figure with as many digits as it needs.
pub(crate) fn label(figure: f64) -> String {
    let short = |figure: f64| format!("{}", (figure * 100.0).round() / 100.0);
    match figure {
        huge if huge >= 999_999.0 => format!("{} M", short(huge / 1e6)),
        large if large >= 9_999.0 => format!("{} k", short(large / 1e3)),
        small => short(small),
    }
}

/// Multiples of 1, 2 or 5 times a power of ten, up to `high`.
fn steps(high: f64) -> Vec<f64> {
    let power = 10.0_f64.powf((high / 4.0).log10().floor());
    let wide_enough = |factor: &f64| high / (factor * power) <= 6.0;
    let step = power * [1.0, 2.0, 5.0].into_iter().find(wide_enough).unwrap_or(10.0);
    let count = (high / step) as u32;
    (0..=count).map(|count| f64::from(count) * step).collect()
}

/// The figures from `low` to `high` that are 1, 2 or 5 times a power of ten, or
/// only the powers if those are enough.
fn rounds(low: f64, high: f64) -> Vec<f64> {
    let is_wide = (high / low).log10() > 3.0;
    let factors: &[f64] = if is_wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let powers = low.log10().floor() as i32..=high.log10().floor() as i32;
    powers
        .flat_map(|power| factors.iter().map(move |factor| factor * 10.0_f64.powi(power)))
        .filter(|figure| (low..=high).contains(figure))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_a_linear_axis_are_round_and_begin_at_0() {
        assert_eq!(steps(10.5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(steps(420.0), [0.0, 100.0, 200.0, 300.0, 400.0]);
        assert_eq!(steps(0.5).len(), 6);
    }

    #[test]
    fn marks_of_a_logarithmic_axis_are_round() {
        let marks: Vec<String> = rounds(8.0, 130.0).into_iter().map(label).collect();
        assert_eq!(marks, ["10", "20", "50", "100"]);
        let marks: Vec<String> = rounds(5.0, 2e6).into_iter().map(label).collect();
        assert_eq!(marks, ["10", "100", "1000", "10 k", "100 k", "1 M"]);
    }

    #[test]
    fn every_figure_is_on_the_axis() {
        for scale in [Scale::Linear, Scale::Log] {
            for figures in [vec![], vec![0.0], vec![3.0], vec![0.0, 1e9], vec![12.0, 12.5]] {
                let axis = Axis::of(scale, figures.iter().copied());
                let range = axis.marked().range;
                assert!(range.start < range.end, "{scale:?} {figures:?}");
                let is_on = |figure: &f64| range.contains(&axis.height(*figure));
                assert!(figures.iter().all(is_on), "{scale:?} {figures:?}");
            }
        }
    }
}
