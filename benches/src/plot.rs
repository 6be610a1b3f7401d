//! Plots, as vector graphics that stand alone.

pub mod axis;
pub(crate) mod ink;
pub mod lines;
pub mod ranges;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use self::ink::Ink;

/// Width of a plot of lines, in pixels.
pub const WIDTH: u32 = 600;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// The reason why drawing cannot fail: it is done in memory.
const DRAWN: &str = "a string takes what is drawn";

/// The size of what is written, in pixels.
const TEXT_SIZE: u32 = 12;

/// The origin of a limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// This project's.
    Ours,
    /// Another project's.
    Peer,
    /// No limiter: a bare clock, or the measurement alone.
    Clock,
}

impl Side {
    /// Returns the side of the limiter with that name.
    #[must_use]
    pub fn of(limiter: &str) -> Side {
        match limiter.split_once('/') {
            Some(("sluicegate", _)) => Side::Ours,
            Some(("clock" | "loop", _)) => Side::Clock,
            None if limiter == "loop" => Side::Clock,
            _ => Side::Peer,
        }
    }

    /// Returns the colour of the `index`th limiter of this side in a plot.
    fn ink(self, index: usize) -> Ink {
        match self {
            Side::Ours => ink::OURS[index % ink::OURS.len()],
            Side::Peer => ink::PEERS[index % ink::PEERS.len()],
            Side::Clock => ink::CLOCK,
        }
    }

    /// Returns the width of a line. Ours are thicker.
    fn stroke(self) -> u32 {
        if self == Side::Ours { 2 } else { 1 }
    }
}

/// Returns the name of a limiter beside its line. Ours are recognized by how they are drawn.
fn short(limiter: &str) -> &str {
    limiter.strip_prefix("sluicegate/").unwrap_or(limiter)
}

/// Returns the style of a limiter's name beside a point.
fn name_style(side: Side, ink: Ink, at: HPos) -> TextStyle<'static> {
    let weight = if side == Side::Ours { FontStyle::Bold } else { FontStyle::Normal };
    style(weight, ink, Pos::new(at, VPos::Center))
}

/// Returns the style of all other text.
fn text_style() -> TextStyle<'static> {
    style(FontStyle::Normal, ink::TEXT, Pos::new(HPos::Center, VPos::Center))
}

fn style(weight: FontStyle, ink: Ink, pos: Pos) -> TextStyle<'static> {
    let font = ("sans-serif", TEXT_SIZE, weight).into_font();
    TextStyle { font, color: ink.color().to_backend_color(), pos }
}

/// Returns a colour for each of the limiters of one plot.
fn inks<'a>(limiters: impl Iterator<Item = &'a str>) -> Vec<Ink> {
    let (mut ours, mut peers) = (0, 0);
    limiters
        .map(|limiter| {
            let side = Side::of(limiter);
            let next = if side == Side::Ours { &mut ours } else { &mut peers };
            let ink = side.ink(*next);
            *next += usize::from(side != Side::Clock);
            ink
        })
        .collect()
}

/// Moves `heights` apart so that no two are closer than `gap`, and each is as near
/// as that allows to where it was. They keep their order, and stay above
/// `floor`, which is the greatest height there is: heights grow downwards.
fn spread_out(heights: &[i32], gap: i32, floor: i32) -> Vec<i32> {
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_by_key(|&index| heights[index]);
    // Neighbours that are too close share their middle.
    let mut blocks: Vec<(i32, Vec<usize>)> = Vec::new();
    for index in order {
        let mut block = (heights[index], vec![index]);
        while let Some((top, members)) = blocks.pop() {
            let end = top + gap * members.len() as i32;
            if end <= block.0 {
                blocks.push((top, members));
                break;
            }
            let (count, more) = (members.len() as i32, block.1.len() as i32);
            let wanted = (top * count + (block.0 - gap * count) * more) / (count + more);
            block = (wanted, [members, block.1].concat());
        }
        let last = floor - gap * (block.1.len() as i32 - 1);
        block.0 = block.0.min(last);
        blocks.push(block);
    }
    let mut apart = vec![0; heights.len()];
    for (top, members) in blocks {
        for (place, index) in members.into_iter().enumerate() {
            apart[index] = top + gap * place as i32;
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_far_apart_stay_where_they_are() {
        assert_eq!(spread_out(&[50, 10, 90], 12, 200), [50, 10, 90]);
    }

    #[test]
    fn names_that_are_close_share_their_middle_and_keep_their_order() {
        assert_eq!(spread_out(&[51, 49], 12, 200), [56, 44]);
        assert_eq!(spread_out(&[40, 40, 40], 12, 200), [28, 40, 52]);
    }

    #[test]
    fn names_stay_above_the_floor() {
        assert_eq!(spread_out(&[98, 99], 12, 100), [88, 100]);
    }

    #[test]
    fn ours_is_what_is_called_so() {
        assert_eq!(Side::of("sluicegate/gcra"), Side::Ours);
        assert_eq!(Side::of("clock/quanta"), Side::Clock);
        assert_eq!(Side::of("tower-resilience/fixed"), Side::Peer);
        assert_eq!(Side::of("governor"), Side::Peer);
        assert_eq!(Side::of("loop"), Side::Clock);
        assert_eq!(Side::of("loop/u64/uniform"), Side::Clock);
    }
}
