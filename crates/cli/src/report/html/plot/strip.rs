//! Shares over time as a strip of colours, which is stretched to the width that there is.

use maud::{Markup, PreEscaped, html};
use plotters::backend::DrawingBackend;
use plotters::prelude::SVGBackend;
use plotters::style::Color;
use sluicegate_replay::replay::Bin;

use super::{DRAWN, ink, inside};

/// The steps of a share.
const STEPS: u64 = 5;

/// Draws a cell for each column: the stronger, the larger the share that was delayed or denied. `text` says the
/// same.
pub(in crate::report::html) fn draw(columns: &[Bin], text: &str) -> Markup {
    let mut svg = String::new();
    {
        let mut backend = SVGBackend::with_string(&mut svg, (columns.len() as u32, 1));
        let mut from = 0;
        for run in columns.chunk_by(|one, next| step(one) == step(next)) {
            let (left, right) = (from, from + run.len() as i32);
            from = right;
            let fill = match step(&run[0]) {
                None => continue,
                Some(0) => ink::ALLOWED.color().mix(0.35),
                #[expect(clippy::cast_precision_loss, reason = "there are few steps")]
                Some(step) => ink::DENIED.color().mix(0.2 + 0.8 * step as f64 / STEPS as f64),
            };
            backend.draw_rect((left, 0), (right, 1), &fill, true).expect(DRAWN);
        }
        backend.present().expect(DRAWN);
    }
    html! {
        svg.strip viewBox={ "0 0 " (columns.len()) " 1" } preserveAspectRatio="none" role="img" aria-label=(text) {
            (PreEscaped(inside(&svg)))
        }
    }
}

/// Returns the step of a share that was delayed or denied, from 0, which is nothing; `None` if nothing was judged.
fn step(bin: &Bin) -> Option<u64> {
    let all = u128::from(bin.allowed) + u128::from(bin.denied);
    let steps = ((u128::from(bin.denied) + u128::from(bin.delayed)) * u128::from(STEPS))
        .div_ceil(all.max(1));
    (all > 0).then_some(steps as u64)
}
