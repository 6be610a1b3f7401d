//! Decimal numbers, scaled to whole ones without an error of rounding.

/// The most digits that are read, beside noughts at the beginning: as many as 128 bits hold.
const MOST_DIGITS: usize = 38;

/// Digits of a number that can be multiplied by any of 64 bits.
const ROOMY_DIGITS: usize = 19;

/// A number that was rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scaled {
    pub(super) whole: u64,
    /// True if it was less before that.
    pub(super) is_more: bool,
}

/// Returns `number * times / per`, rounded up; the highest number if it is higher. `None` if the text
/// is not a number of digits, with or without a fraction, an exponent and an `s` for seconds (`1.5`, `2e3`, `0.029s`),
/// or is negative.
pub(super) fn scaled(text: &[u8], times: u64, per: u64) -> Option<Scaled> {
    let exact = |whole: u64| Scaled { whole, is_more: false };
    let text = std::str::from_utf8(text).ok()?.trim_ascii();
    let text = text.strip_suffix('s').unwrap_or(text);
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let digits = format!("{whole}{}", fraction.trim_end_matches('0'));
    let exponent = i64::from(exponent) - fraction.trim_end_matches('0').len() as i64;
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() || times == 0 {
        return Some(exact(0));
    }
    // All digits if there is room for them and the factor, or else as many as there always is.
    let (mantissa, cut, is_cut) = [MOST_DIGITS, ROOMY_DIGITS]
        .into_iter()
        .find_map(|most| {
            let (mantissa, cut, is_cut) = rounded_up(digits, most)?;
            Some((mantissa.checked_mul(u128::from(times))?, cut, is_cut))
        })
        .unwrap_or((u128::MAX, 0, false));
    let exponent = exponent + cut;
    let power = |exponent: i64| 10_u128.checked_pow(u32::try_from(exponent).unwrap_or(u32::MAX));
    let divided = |number: u128, by: u128| (number.div_ceil(by), !number.is_multiple_of(by));
    let (scaled, is_more) = if exponent >= 0 {
        let factor = power(exponent);
        let number = factor.and_then(|factor| mantissa.checked_mul(factor));
        number.map_or((u128::MAX, false), |number| divided(number, u128::from(per.max(1))))
    } else {
        let divisor = power(-exponent).and_then(|power| power.checked_mul(u128::from(per.max(1))));
        // If the divisor is too large, the number is less than one, but not nothing.
        divisor.map_or((1, true), |divisor| divided(mantissa, divisor))
    };
    let rounded = |whole| Scaled { whole, is_more: is_more || is_cut };
    Some(u64::try_from(scaled).map_or(exact(u64::MAX), rounded))
}

/// Returns the first digits as a number, rounded up, the number of those that were cut off, and whether any of these was
/// not nought.
fn rounded_up(digits: &str, most: usize) -> Option<(u128, i64, bool)> {
    let (kept, cut) = digits.split_at(digits.len().min(most));
    let is_more = cut.bytes().any(|digit| digit != b'0');
    let number = kept.parse::<u128>().ok()?.checked_add(u128::from(is_more))?;
    Some((number, cut.len() as i64, is_more))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_scaled_and_rounded_up() {
        for (text, times, per, permits) in [
            ("7", 1, 1, 7),
            ("0", 1, 1, 0),
            ("0.000", 1000, 1, 0),
            ("0.123", 1000, 1, 123),
            ("0.1234", 1000, 1, 124),
            ("0.1230", 1000, 1, 123),
            ("1", 1, 1000, 1),
            ("1000", 1, 1000, 1),
            ("1001", 1, 1000, 2),
            ("1.5e3", 1, 1, 1500),
            ("1.5E-3", 1000, 1, 2),
            ("1e-40", 1, 1, 1),
            ("1e400", 1, 1, u64::MAX),
            ("18446744073709551615", 1, 1, u64::MAX),
            ("18446744073709551616", 1, 1, u64::MAX),
            ("99999999999999999999999999999999999999999", 1, 1, u64::MAX),
            ("123456789012345678", 1, 1, 123_456_789_012_345_678),
            ("1.0000000000000000000000000000000000000000001", 1, 1, 2),
            ("1234567890123456789", 1, 1, 1_234_567_890_123_456_789),
            ("0.1234567890123456789012345678901234567", u64::MAX, u64::MAX, 1),
            (" 12 ", 1, 1, 12),
            ("007", 1, 1, 7),
            ("5", 0, 1, 0),
            ("0.029s", 1000, 1, 29),
            ("2s", 1, 1, 2),
        ] {
            let found = scaled(text.as_bytes(), times, per).map(|found| found.whole);
            assert_eq!(found, Some(permits), "{text} {times} {per}");
        }
    }

    #[test]
    fn what_was_rounded_up_is_told() {
        for (text, times, per, is_more) in [
            ("0.2", 1, 1, true),
            ("0.2", 10, 1, false),
            ("0.20", 5, 1, false),
            ("3.000", 1, 1, false),
            ("0", 1, 1, false),
            ("1e-40", 1, 1, true),
            ("1e400", 1, 1, false),
            ("7", 1, 2, true),
            ("1.0000000000000000000000000000000000000000001", 1, 1, true),
            ("18446744073709551616.5", 1, 1, false),
        ] {
            let found = scaled(text.as_bytes(), times, per).map(|found| found.is_more);
            assert_eq!(found, Some(is_more), "{text} {times} {per}");
        }
    }

    #[test]
    fn other_texts_are_not_numbers() {
        for text in [
            "", "-", "-1", "+1", "1,5", "0.1, 0.2", "true", ".5", "1e", "e3", "0x1f", "\u{661}",
            "s", "1ms", "1ss",
        ] {
            assert_eq!(scaled(text.as_bytes(), 1, 1), None, "{text}");
        }
    }
}
