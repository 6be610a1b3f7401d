//! Axes with marks where they are wanted.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

/// A range with its marks. (plotters' own axes choose marks themselves.)
#[derive(Clone, Debug)]
pub(super) struct Marked {
    range: Range<f64>,
    marks: Vec<f64>,
}

impl Marked {
    pub(super) fn new(range: Range<f64>, marks: Vec<f64>) -> Marked {
        Marked { range, marks }
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

/// An axis of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    /// Starts at 0.
    Linear(u64),
    /// Equal ratios are equally far apart, and a count of 1 is still seen.
    Log(u64),
}

/// The height of the foot of a logarithmic axis, below that of a count of 1.
const FOOT: f64 = -0.25;

impl Counts {
    /// Returns an axis on which each count up to that one is seen.
    pub(super) fn seen(most: u64) -> Counts {
        if most <= 12 { Counts::Linear(most) } else { Counts::Log(most) }
    }

    /// Returns the position of a count.
    #[expect(clippy::cast_precision_loss, reason = "a position of a few hundred pixels")]
    pub(super) fn height(self, count: u64) -> f64 {
        match self {
            Counts::Linear(_) => count as f64,
            Counts::Log(_) if count == 0 => FOOT,
            Counts::Log(_) => (count as f64).log10(),
        }
    }

    /// Returns the axis with marks at round counts.
    pub(super) fn marked(self) -> Marked {
        let top = match self {
            Counts::Linear(most) => self.height(most.max(1)) * 1.08,
            Counts::Log(most) => self.height(most) + 0.12,
        };
        let marks = self.marks().into_iter().map(|count| self.height(count)).collect();
        Marked::new(self.height(0)..top, marks)
    }

    /// Returns the count at a mark.
    pub(super) fn at(self, height: f64) -> u64 {
        match self {
            Counts::Linear(_) => height.round() as u64,
            Counts::Log(_) => 10.0_f64.powf(height).round() as u64,
        }
    }

    fn marks(self) -> Vec<u64> {
        match self {
            Counts::Linear(most) => {
                let most = most.max(1);
                let step = rounds().find(|step| most / step <= 4).unwrap_or(most);
                (0..=most / step).map(|count| count * step).collect()
            }
            Counts::Log(most) => {
                let tens = (0..20).map(|power| 10_u64.pow(power)).take_while(|ten| *ten <= most);
                let tens: Vec<u64> = tens.collect();
                let skip = tens.len().div_ceil(5);
                tens.into_iter().step_by(skip.max(1)).collect()
            }
        }
    }
}

/// Returns 1, 2, 5, 10, 20 and so on.
pub(in crate::report::html) fn rounds() -> impl Iterator<Item = u64> {
    (0..19).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_few() {
        assert_eq!(Counts::Linear(0).marks(), [0, 1]);
        assert_eq!(Counts::Linear(9).marks(), [0, 2, 4, 6, 8]);
        assert_eq!(Counts::Linear(1439).marks(), [0, 500, 1000]);
        assert_eq!(Counts::Log(1500).marks(), [1, 10, 100, 1000]);
        assert_eq!(
            Counts::Log(u64::MAX).marks(),
            [1, 10_000, 100_000_000, 1_000_000_000_000, 10_000_000_000_000_000]
        );
    }

    #[test]
    fn a_mark_is_read_back() {
        for axis in [Counts::Linear(1439), Counts::Log(123_456)] {
            for count in axis.marks().into_iter().filter(|count| *count > 0) {
                assert_eq!(axis.at(axis.height(count)), count);
            }
        }
    }
}
