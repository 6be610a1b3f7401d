//! The colours of the plots, each for a light page and for a dark one.
//!
//! A plot is drawn in the light ones. The page replaces them where the reader
//! prefers a dark page, by a rule for each, so that a plot taken out of its page is
//! still right.

use std::fmt::Write as _;

use plotters::style::RGBColor;

/// One colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ink {
    light: RGBColor,
    dark: RGBColor,
}

impl Ink {
    const fn new(light: u32, dark: u32) -> Ink {
        Ink { light: rgb(light), dark: rgb(dark) }
    }

    /// Returns the colour to draw with.
    pub(crate) const fn color(self) -> RGBColor {
        self.light
    }
}

const fn rgb(hex: u32) -> RGBColor {
    RGBColor((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

/// Text and axes.
pub(crate) const TEXT: Ink = Ink::new(0x3d_444d, 0xb8_c0ca);

/// Lines that lead from a figure to the axis, and from a point to its name.
pub(crate) const GRID: Ink = Ink::new(0xe1_e4e8, 0x30_363d);

/// Bare clocks and the measurement alone.
pub(crate) const CLOCK: Ink = Ink::new(0x8b_949e, 0x7d_8590);

/// The page behind a hollow mark.
pub(crate) const PAPER: Ink = Ink::new(0xff_ffff, 0x0d_1117);

/// Within a mark that is neither full nor hollow.
pub(crate) const HALF: Ink = Ink::new(0xc4_c9d0, 0x56_5e68);

/// The limiters of this project: cool.
pub(crate) const OURS: [Ink; 7] = [
    Ink::new(0x09_5fd6, 0x58_a6ff),
    Ink::new(0x00_8577, 0x2d_d4bf),
    Ink::new(0x6f_42c1, 0xbb_92ff),
    Ink::new(0x2f_8f2f, 0x6f_d46f),
    Ink::new(0x0a_8fc7, 0x56_ccf2),
    Ink::new(0x3b_3fa8, 0x93_9bff),
    Ink::new(0x4f_7f3a, 0xa5_d37f),
];

/// The peers: warm.
pub(crate) const PEERS: [Ink; 7] = [
    Ink::new(0xd9_380f, 0xff_7b54),
    Ink::new(0xb0_7a00, 0xe8_b93e),
    Ink::new(0xc2_1d64, 0xff_7eb6),
    Ink::new(0x8a_4f1d, 0xd0_a06a),
    Ink::new(0xa3_1515, 0xff_9492),
    Ink::new(0xd0_6a1c, 0xff_b068),
    Ink::new(0x94_3a8a, 0xe0_8fd6),
];

/// The rules that replace the light colours by the dark ones.
pub(crate) fn dark_rules() -> String {
    let mut rules = String::new();
    for Ink { light, dark } in [TEXT, GRID, CLOCK, PAPER, HALF].into_iter().chain(OURS).chain(PEERS)
    {
        for property in ["fill", "stroke"] {
            let (from, to) = (hex(light), hex(dark));
            writeln!(rules, "svg [{property}=\"{from}\"] {{ {property}: {to}; }}")
                .expect("a string takes what is written");
        }
    }
    rules
}

/// Formats a colour as the plots write it.
fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_colours_are_replaced_as_one() {
        let all: Vec<Ink> =
            [TEXT, GRID, CLOCK, PAPER, HALF].into_iter().chain(OURS).chain(PEERS).collect();
        for (index, ink) in all.iter().enumerate() {
            assert!(all[..index].iter().all(|other| other.light != ink.light), "{ink:?}");
        }
    }

    #[test]
    fn a_colour_is_written_as_a_plot_writes_it() {
        assert_eq!(hex(TEXT.light), "#3D444D");
    }
}
