//! Bars of counts, beside each other in the order of what they are counts of.

use maud::Markup;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::axis::{Counts, Marked};
use super::{DIGIT, SIZE, TEXT_SIZE, ink, text_style};
use crate::report::html::ink::Ink;

/// A bar, or two beside each other if both have a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::report::html) struct Bar {
    /// The number at its left edge.
    pub(in crate::report::html) from: String,
    /// The least is written first, if there is no space for all.
    pub(in crate::report::html) rank: u8,
    /// The counts, with their colours.
    pub(in crate::report::html) counts: [(u64, Ink); 2],
}

/// Bars, and lines between some of them.
#[derive(Clone, Debug)]
pub(in crate::report::html) struct Bars {
    pub(in crate::report::html) bars: Vec<Bar>,
    /// Lines, each at the left edge of a bar or at the end, with their names.
    pub(in crate::report::html) lines: Vec<(usize, String)>,
}

impl Bars {
    fn axis(&self) -> Counts {
        let counts = self.bars.iter().flat_map(|bar| bar.counts.map(|(count, _)| count));
        Counts::seen(counts.max().unwrap_or(0))
    }

    /// Returns true if the heights are logarithmic.
    pub(in crate::report::html) fn is_log(&self) -> bool {
        matches!(self.axis(), Counts::Log(_))
    }

    /// Draws the bars. `text` says the same.
    #[expect(clippy::cast_precision_loss, reason = "there are few bars")]
    pub(in crate::report::html) fn draw(&self, text: &str) -> Markup {
        let axis = self.axis();
        let count = self.bars.len();
        let labels = self.labels();
        let marks = labels.iter().map(|index| *index as f64).collect();
        super::plot(text, |root| {
            let margins = (TEXT_SIZE + 6, 12);
            let lower = Marked::new(0.0..count as f64, marks);
            let chart =
                super::chart(root, margins, lower, axis, &|edge| self.from(edge.round() as usize))?;
            let area = chart.plotting_area();
            for (index, bar) in self.bars.iter().enumerate() {
                let shown = bar.counts.iter().filter(|(count, _)| *count > 0);
                let width = 0.8 / shown.clone().count().max(1) as f64;
                for (place, (count, ink)) in shown.enumerate() {
                    let left = index as f64 + 0.1 + width * place as f64;
                    let corners = [(left, axis.height(0)), (left + width, axis.height(*count))];
                    area.draw(&Rectangle::new(corners, ink.color().filled()))?;
                }
            }
            let mut taken = i32::MIN;
            for (index, name) in &self.lines {
                let edge = *index as f64;
                let top = axis.marked();
                let ends = vec![
                    (edge, axis.height(0)),
                    (edge, plotters::coord::ranged1d::Ranged::range(&top).end),
                ];
                area.draw(&PathElement::new(ends, ink::TEXT.color().stroke_width(2)))?;
                let (x, _) = chart.backend_coord(&(edge, axis.height(0)));
                let width = DIGIT * name.len() as i32;
                let is_left = x + width > SIZE.0 as i32;
                let (at, across) = if is_left { (x + 4, HPos::Right) } else { (x - 4, HPos::Left) };
                let start = if is_left { x - width } else { x };
                if start > taken {
                    let style = text_style(ink::TEXT, across);
                    root.draw(&Text::new(name.clone(), (at, TEXT_SIZE as i32 / 2 + 2), style))?;
                    taken = start + width;
                }
            }
            Ok(())
        })
    }

    fn from(&self, index: usize) -> String {
        self.bars.get(index).map(|bar| bar.from.clone()).unwrap_or_default()
    }

    /// Returns the bars whose numbers have space: the rounder ones first, then from the left.
    fn labels(&self) -> Vec<usize> {
        let width = (SIZE.0 - 56) as usize / self.bars.len().max(1);
        let mut order: Vec<usize> = (0..self.bars.len()).collect();
        order.sort_by_key(|index| self.bars[*index].rank);
        let half = |index: usize| DIGIT as usize * self.bars[index].from.chars().count() / 2;
        let mut labels: Vec<usize> = Vec::new();
        for index in order {
            let is_free = |other: &usize| {
                other.abs_diff(index) * width > half(*other) + half(index) + DIGIT as usize / 2
            };
            if labels.iter().all(is_free) {
                labels.push(index);
            }
        }
        labels.sort_unstable();
        labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounder_numbers_are_written_first_and_none_over_another() {
        let bar = |from: u64| Bar {
            from: from.to_string(),
            rank: u8::from(!from.is_multiple_of(10)),
            counts: [(1, ink::ALLOWED), (0, ink::DENIED)],
        };
        let labels =
            |end: u64| Bars { bars: (1..end).map(bar).collect(), lines: Vec::new() }.labels();
        assert_eq!(labels(8), [0, 1, 2, 3, 4, 5, 6]);
        let written: Vec<usize> = labels(45).into_iter().map(|index| index + 1).collect();
        assert!([10, 20, 30, 40].iter().all(|round| written.contains(round)), "{written:?}");
        assert!(written.is_sorted() && written.len() < 20, "{written:?}");
    }
}
