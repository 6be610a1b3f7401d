//! The colours of the plots, each for a light page and for a dark one.
//!
//! A plot is drawn in the light ones. The page replaces them where the reader prefers a dark page,
//! by a rule for each.

use std::fmt::Write as _;

use plotters::style::RGBColor;

/// One colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ink {
    light: RGBColor,
    dark: RGBColor,
}

impl Ink {
    const fn new(light: u32, dark: u32) -> Ink {
        Ink { light: rgb(light), dark: rgb(dark) }
    }

    /// Returns the colour to draw with.
    pub(super) const fn color(self) -> RGBColor {
        self.light
    }
}

const fn rgb(hex: u32) -> RGBColor {
    RGBColor((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

/// Numbers beside an axis, and limits.
pub(super) const TEXT: Ink = Ink::new(0x3d_444d, 0xc3_cad3);

/// Axes, and the lines that lead to them.
pub(super) const GRID: Ink = Ink::new(0xd7_dce1, 0x39_414a);

/// Requests that were admitted at once, and keys that a limit leaves alone.
pub(super) const ALLOWED: Ink = Ink::new(0x1f_6feb, 0x4f_97f5);

/// Requests that were denied, and keys that go over a limit.
pub(super) const DENIED: Ink = Ink::new(0xcf_4a12, 0xff_8552);

/// Requests that waited.
pub(super) const DELAYED: Ink = Ink::new(0xb0_7d00, 0xe3_b341);

const ALL: [Ink; 5] = [TEXT, GRID, ALLOWED, DENIED, DELAYED];

/// Returns the rules that replace the light colours by the dark ones.
pub(super) fn dark_rules() -> String {
    let mut rules = String::new();
    for Ink { light, dark } in ALL {
        for property in ["fill", "stroke"] {
            let (from, to) = (hex(light), hex(dark));
            let _ = writeln!(rules, "svg [{property}=\"{from}\"] {{ {property}: {to}; }}");
        }
    }
    rules
}

/// Returns a colour as the plots have it.
fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_of_a_plot_has_a_dark_one_of_its_own() {
        for (index, ink) in ALL.iter().enumerate() {
            assert!(ALL[..index].iter().all(|other| other.light != ink.light), "{ink:?}");
            assert!(dark_rules().contains(&format!("[fill=\"{}\"]", hex(ink.light))));
        }
    }
}
