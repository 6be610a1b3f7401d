//! Numbers as text: digits, which may be grouped.

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
    /// Reads a number with or without a decimal point. Returns `None` if it is not a number or has
    /// too many digits.
    pub(super) fn of(text: &str) -> Option<Decimal> {
        let text = text.trim();
        let Some((whole_part, fraction)) = text.split_once('.') else {
            return Some(Decimal { digits: whole(text)?, scale: 1 });
        };
        if fraction.len() > MAX_FRACTION || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let scale = 10_u64.pow(fraction.len() as u32);
        let digits = whole(whole_part)?.checked_mul(scale)?.checked_add(whole(fraction)?)?;
        let common = common_divisor(digits, scale);
        Some(Decimal { digits: digits / common, scale: scale / common })
    }
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
        assert_eq!(read("100"), Some((100, 1)));
        assert_eq!(read("0.5"), Some((1, 2)));
        assert_eq!(read("2.50"), Some((5, 2)));
        assert_eq!(read("100.0"), Some((100, 1)));
        assert_eq!(read("0.000000000000000001"), Some((1, 10_u64.pow(18))));
        assert_eq!(read("0.0"), Some((0, 1)));
        for text in [
            "0.",
            ".5",
            "1.2.3",
            "1.5_0",
            "1.0000000000000000001",
            "1._5",
            "-0.5",
            "99.999999999999999999",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
