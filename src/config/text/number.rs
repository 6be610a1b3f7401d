//! Numbers as text: digits, which may be grouped.

use core::fmt;

/// The largest number of digits after a decimal point. With more, the period of a rate would exceed
/// a hundred years.
const MAX_FRACTION: usize = 18;

/// The number `digits / scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) digits: u64,
    /// The denominator, in lowest terms.
    pub(super) scale: u64,
}

impl Decimal {
    /// Reads a number with or without a decimal point.
    pub(super) fn of(text: &str) -> Result<Decimal, NotDecimal> {
        let text = text.trim();
        let Some((whole_part, fraction)) = text.split_once('.') else {
            let digits = whole(text).ok_or(NotDecimal::NotANumber)?;
            return Ok(Decimal { digits, scale: 1 });
        };
        let whole_part = whole(whole_part).ok_or(NotDecimal::NotANumber)?;
        if fraction.is_empty() || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(NotDecimal::NotANumber);
        }
        if fraction.len() > MAX_FRACTION {
            return Err(NotDecimal::TooManyDigits);
        }
        let scale = 10_u64.pow(fraction.len() as u32);
        let fraction = whole(fraction).ok_or(NotDecimal::NotANumber)?;
        let digits = whole_part.checked_mul(scale).and_then(|digits| digits.checked_add(fraction));
        let digits = digits.ok_or(NotDecimal::TooManyDigits)?;
        let common = common_divisor(digits, scale);
        Ok(Decimal { digits: digits / common, scale: scale / common })
    }

    /// Returns the smallest whole number that is not less.
    pub(super) const fn ceiling(self) -> u64 {
        self.digits.div_ceil(self.scale)
    }
}

/// Displays all digits, without zeros at the end.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.digits / self.scale)?;
        let mut rest = self.digits % self.scale;
        if rest > 0 {
            f.write_str(".")?;
        }
        // The scale divides a power of ten, so the digits come to an end.
        while rest > 0 {
            let tenths = u128::from(rest) * 10;
            write!(f, "{}", tenths / u128::from(self.scale))?;
            rest = (tenths % u128::from(self.scale)) as u64;
        }
        Ok(())
    }
}

/// The reason why a text is not a [`Decimal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotDecimal {
    NotANumber,
    /// It is a number with a decimal point, but not exact in 64 bits.
    TooManyDigits,
}

/// Reads a whole number. Returns `None` if it is not one, or is more than 2^64 - 1.
pub(super) fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_grouped = !text.starts_with('_') && !text.ends_with('_') && !text.contains("__");
    if text.is_empty() || !is_grouped {
        return None;
    }
    text.bytes().filter(|digit| *digit != b'_').try_fold(0_u64, |number, digit| {
        let digit = char::from(digit).to_digit(10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Returns the greatest common divisor of `a` and `b`, where `b` is not 0.
fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while a != 0 {
        (a, b) = (b % a, a);
    }
    b
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn whole_numbers_are_read_to_the_last_that_fits() {
        for (text, number) in
            [("0", 0), (" 7 ", 7), ("5_000", 5_000), ("18446744073709551615", u64::MAX)]
        {
            assert_eq!(whole(text), Some(number), "{text}");
        }
        let none = ["", " ", "-1", "+1", "1.5", "1e3", "_1", "1_", "1__0", "1 0", "1,000", "١"];
        for text in none.into_iter().chain(["18446744073709551616"]) {
            assert_eq!(whole(text), None, "{text}");
        }
    }

    #[test]
    fn decimals_are_exact_and_no_finer_than_they_have_to_be() {
        let read = |text| Decimal::of(text).map(|decimal| (decimal.digits, decimal.scale));
        assert_eq!(read("100"), Ok((100, 1)));
        assert_eq!(read("0.5"), Ok((1, 2)));
        assert_eq!(read("2.50"), Ok((5, 2)));
        assert_eq!(read("100.0"), Ok((100, 1)));
        assert_eq!(read("0.000000000000000001"), Ok((1, 10_u64.pow(18))));
        assert_eq!(read("0.0"), Ok((0, 1)));
        for text in ["0.", ".5", "1.2.3", "1.5_0", "1._5", "-0.5", "x.9999999999999999999"] {
            assert_eq!(read(text), Err(NotDecimal::NotANumber), "{text}");
        }
        for text in ["1.0000000000000000001", "99.999999999999999999", "20.000000000000000001"] {
            assert_eq!(read(text), Err(NotDecimal::TooManyDigits), "{text}");
        }
    }

    #[test]
    fn a_decimal_is_displayed_with_the_digits_that_it_was_read_from() {
        for text in ["0", "7", "0.5", "33.333", "0.001", "10.01", "9.223372036854775807"] {
            assert_eq!(Decimal::of(text).unwrap().to_string(), text);
        }
        assert_eq!(Decimal::of("5_000.250").unwrap().to_string(), "5000.25");
    }

    #[test]
    fn the_ceiling_of_a_decimal_is_the_number_itself_if_it_is_whole() {
        for (text, ceiling) in [("0.0", 0), ("0.001", 1), ("2.5", 3), ("3.0", 3), ("3", 3)] {
            assert_eq!(Decimal::of(text).unwrap().ceiling(), ceiling, "{text}");
        }
    }
}
