//! Limits against the keys that they hit, with a line at one of them that can be moved.

use std::cell::RefCell;

use maud::{Markup, html};
use plotters::prelude::*;
use sluicegate_replay::suggest::Point;

use super::axis::{Counts, Marked, rounds};
use super::{DIGIT, TEXT_SIZE, ink, short};

/// The most marks on the axis of limits.
const MOST_MARKS: usize = 6;

/// The curve through these points, of which there is at least one, in rising order of their limits.
pub(in crate::report::html) struct Curve<'a> {
    pub(in crate::report::html) points: &'a [Point],
    /// The place of the point at which the line is at first.
    pub(in crate::report::html) chosen: usize,
}

impl Curve<'_> {
    /// Draws the curve. Returns the positions of its points across, in units of the plot, too. `text` says what is seen.
    pub(in crate::report::html) fn draw(&self, text: &str) -> (Markup, Vec<i32>) {
        let most = self.points.iter().map(|point| point.keys_hit).max().unwrap_or(0);
        let axis = Counts::seen(most);
        let (low, high) = self.ends();
        let range = across(low)..across(high).max(across(low) + 0.1);
        let marks = marks(low, high).into_iter().map(across).collect();
        let seen = RefCell::new((Vec::new(), 0..0));
        let draw = super::plot_with(
            text,
            |root| {
                let margins = (TEXT_SIZE / 2, 3 * DIGIT as u32);
                let lower = Marked::new(range, marks);
                let chart = super::chart(root, margins, lower, axis, &|place| {
                    short(10.0_f64.powf(*place).round() as u64)
                })?;
                let places: Vec<_> = self.places(axis).collect();
                let area = chart.plotting_area();
                let foot = axis.height(0);
                let under = places.first().map(|(x, _)| (*x, foot)).into_iter();
                let under = under.chain(places.iter().copied());
                let under = under.chain(places.last().map(|(x, _)| (*x, foot)));
                area.draw(&Polygon::new(
                    under.collect::<Vec<_>>(),
                    ink::DENIED.color().mix(0.25).filled(),
                ))?;
                area.draw(&PathElement::new(places.clone(), ink::DENIED.color().stroke_width(2)))?;
                for place in &places {
                    area.draw(&Circle::new(*place, 3, ink::DENIED.color().filled()))?;
                }
                let x = places.iter().map(|place| chart.backend_coord(place).0);
                *seen.borrow_mut() = (x.collect(), area.get_pixel_range().1);
                Ok(())
            },
            || {
                let (places, heights) = &*seen.borrow();
                let x = places.get(self.chosen).copied().unwrap_or(0);
                html! { line.chosen x1=(x) x2=(x) y1=(heights.start) y2=(heights.end) {} }
            },
        );
        (draw, seen.into_inner().0)
    }

    fn ends(&self) -> (u64, u64) {
        let limit = |point: Option<&Point>| point.map_or(1, |point| point.limit.max(1));
        (limit(self.points.first()), limit(self.points.last()))
    }

    fn places(&self, axis: Counts) -> impl Iterator<Item = (f64, f64)> {
        self.points
            .iter()
            .map(move |point| (across(point.limit.max(1)), axis.height(point.keys_hit)))
    }
}

/// Returns the position of a limit: equal ratios are equally far apart.
#[expect(clippy::cast_precision_loss, reason = "a position of a few hundred pixels")]
fn across(limit: u64) -> f64 {
    (limit as f64).log10()
}

/// Returns the round limits from one to another that are marked.
fn marks(low: u64, high: u64) -> Vec<u64> {
    let within = |number: &u64| (low..=high).contains(number);
    let all: Vec<u64> = rounds().filter(within).collect();
    let tens: Vec<u64> =
        all.iter().copied().filter(|mark| 10_u64.pow(mark.ilog10()) == *mark).collect();
    match (all.len(), tens.len()) {
        (0, _) => vec![low],
        (..=MOST_MARKS, _) => all,
        (_, count) => tens.into_iter().step_by(count.div_ceil(MOST_MARKS)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::SIZE;
    use super::*;

    #[test]
    fn marks_are_round_limits_between_the_ends() {
        assert_eq!(marks(1, 50), [1, 2, 5, 10, 20, 50]);
        assert_eq!(marks(3, 4_400), [10, 100, 1_000]);
        assert_eq!(marks(13, 17), [13]);
        assert!(marks(1, u64::MAX).len() <= MOST_MARKS);
    }

    #[test]
    fn the_line_is_at_the_chosen_point_within_the_plot() {
        let point = |limit, keys_hit| Point { limit, keys_hit, ..Point::default() };
        let points = [point(1, 30), point(10, 4), point(100, 0)];
        let (drawn, places) = Curve { points: &points, chosen: 1 }.draw("text");
        assert!(places.is_sorted() && places.len() == 3, "{places:?}");
        assert!(places[0] > 0 && places[2] < SIZE.0 as i32, "{places:?}");
        assert!((places[1] - i32::midpoint(places[0], places[2])).abs() <= 1, "{places:?}");
        let line = format!("<line class=\"chosen\" x1=\"{0}\" x2=\"{0}\"", places[1]);
        assert!(drawn.into_string().contains(&line), "{line}");
    }
}
