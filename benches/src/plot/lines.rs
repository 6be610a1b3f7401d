//! A figure against the number of threads or of keys, one line per limiter.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::{DRAWN, Side, TEXT_SIZE, WIDTH, axis, ink};
use crate::spread::Spread;

/// Height, in pixels.
const HEIGHT: u32 = 300;

/// The part of the width that the names take.
const NAMES: u32 = 180;

/// The least between the middles of two names.
const GAP: i32 = TEXT_SIZE as i32 + 3;

/// The distance between limiters at one number of threads, so that their bars
/// do not hide each other.
const STEP: f64 = 0.02;

/// One limiter's figures.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// The limiter.
    pub limiter: &'a str,
    /// The figures, each with its place from the left.
    pub points: Vec<(usize, Spread)>,
}

/// Draws `series` above the `places`, which are labels; each figure has a bar from the least to
/// the most. The page explains what the figures are.
///
/// # Panics
///
/// Never: it is drawn in memory.
#[must_use]
pub fn draw(places: &[String], series: &[Series<'_>], scale: axis::Scale) -> String {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area();
        draw_on(&root, places, series, scale).expect(DRAWN);
        root.present().expect(DRAWN);
    }
    svg
}

#[expect(clippy::cast_precision_loss, reason = "there are few threads and limiters")]
fn draw_on<'a>(
    root: &super::Area<'a>,
    labels: &[String],
    series: &[Series<'_>],
    scale: axis::Scale,
) -> super::Drawn<'a> {
    let figures = series.iter().flat_map(|line| &line.points);
    let axis = axis::Axis::of(scale, figures.flat_map(|(_, figure)| [figure.min, figure.max]));
    let places = axis::Marked::places(labels.len());
    let mut chart = ChartBuilder::on(root)
        .margin_top(TEXT_SIZE)
        .margin_right(NAMES)
        .x_label_area_size(2 * TEXT_SIZE)
        .y_label_area_size(4 * TEXT_SIZE)
        .build_cartesian_2d(places, axis.marked())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(ink::GRID.color())
        .light_line_style(TRANSPARENT)
        .axis_style(ink::GRID.color())
        .label_style(super::text_style())
        .x_label_formatter(&|place| label_at(labels, *place))
        .y_label_formatter(&|height| axis::label(axis.figure(*height)))
        .draw()?;

    let middle = (series.len() as f64 - 1.0) / 2.0;
    let inks = super::inks(series.iter().map(|line| line.limiter));
    let mut ends = Vec::new();
    for (index, (line, ink)) in series.iter().zip(&inks).enumerate() {
        let (side, color) = (Side::of(line.limiter), ink.color());
        let aside = (index as f64 - middle) * STEP;
        let at = |place: usize, figure: f64| (place as f64 + aside, axis.height(figure));
        let middles = || line.points.iter().map(|&(place, figure)| at(place, figure.median));
        chart.draw_series(LineSeries::new(middles(), color.stroke_width(side.stroke())))?;
        chart.draw_series(line.points.iter().map(|&(place, Spread { min, median, max })| {
            let (x, middle) = at(place, median);
            let (low, high) = (axis.height(min), axis.height(max));
            ErrorBar::new_vertical(x, low, middle, high, color.stroke_width(1), 5)
        }))?;
        for point in middles() {
            let marks = chart.plotting_area();
            if side == Side::Ours {
                marks.draw(&Circle::new(point, 4, color.filled()))?;
            } else {
                marks.draw(&Circle::new(point, 4, ink::PAPER.color().filled()))?;
                marks.draw(&Circle::new(point, 4, color.stroke_width(1)))?;
            }
        }
        ends.extend(middles().next_back().map(|point| (chart.backend_coord(&point), line, *ink)));
    }

    let heights: Vec<i32> = ends.iter().map(|((_, y), ..)| *y).collect();
    let apart = super::spread_out(&heights, GAP, HEIGHT as i32 - GAP);
    let left = (WIDTH - NAMES) as i32;
    for (((x, y), line, ink), height) in ends.into_iter().zip(apart) {
        let side = Side::of(line.limiter);
        let path = vec![(x + 6, y), (left - 4, height), (left + 4, height)];
        root.draw(&PathElement::new(path, ink.color().mix(0.5)))?;
        let style = super::name_style(side, ink, HPos::Left);
        root.draw(&Text::new(super::short(line.limiter).to_owned(), (left + 8, height), style))?;
    }
    Ok(())
}

/// Returns the label at a marked place.
fn label_at(labels: &[String], place: f64) -> String {
    labels.get(place.round().max(0.0) as usize).cloned().unwrap_or_default()
}
