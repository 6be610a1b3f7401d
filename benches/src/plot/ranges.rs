//! Percentiles, one row per limiter.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::axis::{Axis, Marked, Scale};
use super::{DRAWN, Side, TEXT_SIZE, WIDTH, ink};
use crate::latency::Latency;

/// Height of a row, in pixels.
const ROW: u32 = TEXT_SIZE + 6;

/// The part of the width that the names take.
const NAMES: u32 = 190;

/// Draws the percentiles of each limiter as three marks on a line, a filled one, a
/// grey one and a hollow one, against nanoseconds on a logarithmic axis.
///
/// # Panics
///
/// Never: it is drawn in memory.
#[must_use]
pub fn draw(rows: &[(&str, Latency)]) -> String {
    let mut svg = String::new();
    {
        let height = ROW * rows.len() as u32 + 3 * TEXT_SIZE;
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        draw_on(&root, rows).expect(DRAWN);
        root.present().expect(DRAWN);
    }
    svg
}

#[expect(clippy::cast_precision_loss, reason = "there are few limiters")]
fn draw_on<'a>(root: &super::Area<'a>, rows: &[(&str, Latency)]) -> super::Drawn<'a> {
    let axis = Axis::of(Scale::Log, rows.iter().flat_map(|(_, of)| [of.p50, of.p999]));
    let mut chart = ChartBuilder::on(root)
        .margin_top(TEXT_SIZE)
        .margin_right(2 * TEXT_SIZE)
        .x_label_area_size(2 * TEXT_SIZE)
        .y_label_area_size(NAMES)
        .build_cartesian_2d(axis.marked(), Marked::rows(rows.len()))?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .bold_line_style(ink::GRID.color())
        .light_line_style(TRANSPARENT)
        .axis_style(ink::GRID.color())
        .label_style(super::text_style())
        .x_label_formatter(&|place| time(axis.figure(*place)))
        .draw()?;

    let area = chart.plotting_area();
    for (index, (limiter, latency)) in rows.iter().enumerate() {
        // Each limiter has its name beside it, so the colour has only to show its side.
        let side = Side::of(limiter);
        let ink = side.ink(0);
        let color = ink.color();
        let at = |nanos: f64| (axis.height(nanos), index as f64 + 0.5);
        let Latency { p50, p99, p999, .. } = *latency;
        let line = vec![at(p50), at(p99), at(p999)];
        area.draw(&PathElement::new(line, color.stroke_width(side.stroke())))?;
        for (nanos, fill) in [(p50, color), (p99, ink::HALF.color()), (p999, ink::PAPER.color())] {
            area.draw(&Circle::new(at(nanos), 4, fill.filled()))?;
            area.draw(&Circle::new(at(nanos), 4, color.stroke_width(1)))?;
        }
        let (_, y) = chart.backend_coord(&at(p50));
        let style = super::name_style(side, ink, HPos::Right);
        let name = super::short(limiter).to_owned();
        root.draw(&Text::new(name, (NAMES as i32 - 8, y), style))?;
    }
    Ok(())
}

/// Formats a time in the unit that gives the shortest number.
fn time(nanos: f64) -> String {
    let (figure, unit) = match nanos.round() {
        nanos if nanos >= 1e6 => (nanos / 1e6, "ms"),
        nanos if nanos >= 1e3 => (nanos / 1e3, "µs"),
        nanos => (nanos, "ns"),
    };
    format!("{figure} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_unit_that_it_is_short_in() {
        let times = [10.0, 499.999_99, 1_000.0, 2e4, 5e6].map(time);
        assert_eq!(times, ["10 ns", "500 ns", "1 µs", "20 µs", "5 ms"]);
    }
}
