//! Plots, drawn by plotters as vector graphics that belong to a page.

pub(super) mod axis;
pub(super) mod bars;
pub(super) mod curve;
pub(super) mod strip;
pub(super) mod times;

use maud::{Markup, PreEscaped, html};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use self::axis::{Counts, Marked};
use super::ink::{self, Ink};

/// The size of a plot, in the pixels of a phone.
const SIZE: (u32, u32) = (400, 200);

/// The size of numbers. (plotters writes them smaller by a quarter.)
const TEXT_SIZE: u32 = 16;

/// Width of a digit, about.
const DIGIT: i32 = 8;

/// The reason why drawing cannot fail: it is done in memory.
const DRAWN: &str = "a string takes what is drawn";

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type ErrorKind<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;
type Drawn<'a> = Result<(), ErrorKind<'a>>;
type Chart<'r, 's> = ChartContext<'r, SVGBackend<'s>, Cartesian2d<Marked, Marked>>;

/// Draws a plot with a text that says the same.
fn plot(text: &str, draw: impl for<'a> FnOnce(&Area<'a>) -> Drawn<'a>) -> Markup {
    plot_with(text, draw, || html! {})
}

/// Draws a plot, and then puts other elements over it.
fn plot_with(
    text: &str,
    draw: impl for<'a> FnOnce(&Area<'a>) -> Drawn<'a>,
    over: impl FnOnce() -> Markup,
) -> Markup {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        draw(&root).expect(DRAWN);
        root.present().expect(DRAWN);
    }
    html! {
        svg viewBox={ "0 0 " (SIZE.0) " " (SIZE.1) } role="img" aria-label=(text) {
            (PreEscaped(inside(&svg)))
            (over())
        }
    }
}

/// Makes a chart with marks on its axes, of which the lower has these labels, and draws the axes.
fn chart<'r, 's>(
    root: &'r Area<'s>,
    (above, right): (u32, u32),
    lower: Marked,
    counts: Counts,
    label: &dyn Fn(&f64) -> String,
) -> Result<Chart<'r, 's>, ErrorKind<'s>> {
    let mut chart = ChartBuilder::on(root)
        .margin_top(above)
        .margin_right(right)
        .x_label_area_size(TEXT_SIZE + 8)
        .y_label_area_size(44)
        .build_cartesian_2d(lower, counts.marked())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(ink::GRID.color())
        .light_line_style(TRANSPARENT)
        .axis_style(ink::GRID.color())
        .label_style(text_style(ink::TEXT, HPos::Center))
        .x_label_formatter(label)
        .y_label_formatter(&|height| short(counts.at(*height)))
        .draw()?;
    Ok(chart)
}

/// Returns the elements of a graphic without the one around them, which has a size of its own.
fn inside(svg: &str) -> &str {
    let start = svg.find('>').map_or(0, |end| end + 1);
    let end = svg.rfind("</svg>").unwrap_or(svg.len());
    svg.get(start..end).unwrap_or_default()
}

fn text_style(ink: Ink, across: HPos) -> TextStyle<'static> {
    let font = ("sans-serif", TEXT_SIZE).into_font();
    TextStyle { font, color: ink.color().to_backend_color(), pos: Pos::new(across, VPos::Center) }
}

/// Returns a number as an axis has it: with `k`, `M` and so on from a thousand on.
pub(super) fn short(number: u64) -> String {
    let units = [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    match units.into_iter().find(|(unit, _)| number >= *unit) {
        Some((unit, name)) if number.is_multiple_of(unit) => format!("{}{name}", number / unit),
        Some((unit, name)) => {
            let tenths = u128::from(number) * 10 / u128::from(unit);
            match tenths {
                100.. => format!("{}{name}", tenths / 10),
                _ => format!("{}.{}{name}", tenths / 10, tenths % 10),
            }
        }
        None => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_an_axis_are_short() {
        let texts = [0, 999, 1_000, 1_500, 20_000, 25_500, 3_000_000, 9_999_999_999].map(short);
        assert_eq!(texts, ["0", "999", "1k", "1.5k", "20k", "25k", "3M", "9.9G"]);
        assert_eq!(short(u64::MAX), "18446744T");
    }

    #[test]
    fn a_plot_has_a_text_and_no_size_or_style_of_its_own() {
        let markup = plot("<\"a\">", |root| {
            root.draw(&Rectangle::new([(0, 0), (9, 9)], ink::ALLOWED.color().filled()))
        });
        let svg = markup.into_string();
        assert!(svg.starts_with(
            "<svg viewBox=\"0 0 400 200\" role=\"img\" aria-label=\"&lt;&quot;a&quot;&gt;\">"
        ));
        assert!(svg.contains("fill=\"#1F6FEB\"") && svg.ends_with("</svg>"));
        assert!(!svg.contains("style=") && svg.matches("<svg").count() == 1, "{svg}");
    }
}
