//! Exact fractions of 128 bits: a product that may need 256 bits, divided, and lowest terms.

/// Returns `a * b / divisor`, rounded down, and the remainder.
///
/// The quotient has to fit into 128 bits, and the divisor into 127.
pub(crate) fn mul_div(a: u128, b: u128, divisor: u128) -> (u128, u128) {
    debug_assert!(divisor > 0 && divisor >> 127 == 0);
    let (high, low) = product(a, b);
    if high == 0 {
        return (low / divisor, low % divisor);
    }
    debug_assert!(high < divisor, "the quotient overflows");
    // By hand, a bit of the quotient at a time: only rates of many digits come here.
    (0..u128::BITS).rev().fold((0, high), |(quotient, rest), bit| {
        let rest = rest << 1 | (low >> bit & 1);
        let goes_in = rest >= divisor;
        (quotient << 1 | u128::from(goes_in), if goes_in { rest - divisor } else { rest })
    })
}

/// Returns the greatest number that divides both, or the one that is not 0.
pub(crate) fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Returns the high and the low 128 bits of `a * b`.
fn product(a: u128, b: u128) -> (u128, u128) {
    const HALF: u32 = 64;
    let halves = |value: u128| (value >> HALF, u128::from(value as u64));
    let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
    let low = a_low * b_low;
    // No sum overflows: (2^64 - 1)^2 + 2 * (2^64 - 1) = 2^128 - 1.
    let middle = a_high * b_low + (low >> HALF);
    let (carry, middle) = halves(middle);
    let middle = a_low * b_high + middle;
    (a_high * b_high + carry + (middle >> HALF), middle << HALF | u128::from(low as u64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The product by hand, a bit of `b` at a time.
    fn added_up(a: u128, b: u128) -> (u128, u128) {
        (0..u128::BITS).rev().fold((0, 0), |(high, low), bit| {
            let (high, low) = (high << 1 | low >> 127, low << 1);
            let (low, carries) = low.overflowing_add(if b >> bit & 1 == 1 { a } else { 0 });
            (high + u128::from(carries), low)
        })
    }

    fn of_any_length() -> impl Strategy<Value = u128> {
        (any::<u128>(), 0..128_u32).prop_map(|(bits, shift)| bits >> shift)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 8 } else { 2_000 },
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn a_quotient_is_that_of_numbers_of_any_length(
            a in of_any_length(),
            b in of_any_length(),
            divisor in of_any_length(),
        ) {
            let (high, low) = product(a, b);
            prop_assert_eq!((high, low), added_up(a, b));
            let divisor = (divisor >> 1).max(high.saturating_add(1));
            prop_assume!(divisor >> 127 == 0);
            let (quotient, rest) = mul_div(a, b, divisor);
            prop_assert!(rest < divisor);
            let (back_high, back_low) = added_up(quotient, divisor);
            let (back_low, carries) = back_low.overflowing_add(rest);
            prop_assert_eq!((back_high + u128::from(carries), back_low), (high, low));
        }
    }

    #[test]
    fn the_largest_numbers_overflow_nothing() {
        const MAX: u128 = u128::MAX;
        assert_eq!(product(MAX, MAX), (MAX - 1, 1));
        let divisor = (1 << 127) - 1;
        assert_eq!(mul_div(divisor, divisor - 1, divisor), (divisor - 1, 0));
        assert_eq!(mul_div(divisor - 1, divisor - 1, divisor), (divisor - 2, 1));
        assert_eq!(mul_div(0, MAX, 1), (0, 0));
        assert_eq!(mul_div(1, MAX, 1), (MAX, 0));
    }
}
