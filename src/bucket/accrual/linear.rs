//! Accrual in proportion to time, exact and without a division.
//!
//! Dividing by the period is multiplying by its reciprocal, rounded up:
//! `M = ceil(gain * 2^126 / period)`, 128 bits in two words, and `A(t) = floor(t * M / 2^126)`.
//!
//! **Theorem.** `floor(t * M / 2^126) = floor(t * gain / period)` for every
//! `t < 2^62`, if `period <= 2^62` and `gain < 4 * period`.
//!
//! *Proof.* Let `M = (gain * 2^126 + e) / period` with `0 <= e < period`. Then
//! `t * M / 2^126 = t * gain / period + t * e / (period * 2^126)`. The first term is at least
//! `1 / period` below the next integer. The second is less than `1 / period`, because
//! `t * e < 2^62 * 2^62`. So the sum has the same floor. `gain < 4 * period` makes `M` fit 128
//! bits. ∎
//!
//! After Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (PLDI
//! 1994), with the numerator folded in. The same source is also compiled for a word of 8 bits, so
//! that a test can try every value.

macro_rules! linear {
    ($(#[$doc:meta])* $Linear:ident, $word:ident, $double:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $Linear {
            /// The upper word of `M`.
            pub(crate) high: $word,
            /// The lower word of `M`.
            pub(crate) low: $word,
        }

        impl $Linear {
            /// Number of bits of `M` below the binary point.
            const SHIFT: u32 = 2 * $word::BITS - 2;

            /// Number of those bits that one step of a long division yields.
            const HALF: u32 = Self::SHIFT / 2;

            /// Longest time that earns.
            pub(crate) const MAX_ELAPSED: $word = $word::MAX >> 2;

            /// Longest period.
            pub(crate) const MAX_PERIOD: $word = 1 << ($word::BITS - 2);

            /// Creates an accrual of `gain` units in each `period`.
            pub(crate) const fn new(gain: $word, period: $word) -> $Linear {
                debug_assert!(period > 0 && period <= Self::MAX_PERIOD);
                debug_assert!(gain / 4 < period);
                // Long division of gain * 2^SHIFT, half of the zeros at a time.
                let (gain, period) = (gain as $double, period as $double);
                let mut quotient = gain / period;
                let mut remainder = gain % period;
                let mut half = 0;
                while half < 2 {
                    quotient = (quotient << Self::HALF) | ((remainder << Self::HALF) / period);
                    remainder = (remainder << Self::HALF) % period;
                    half += 1;
                }
                if remainder > 0 {
                    quotient += 1;
                }
                $Linear { high: (quotient >> $word::BITS) as $word, low: quotient as $word }
            }

            /// Returns the units earned in `elapsed`, modulo the word; time beyond
            /// [`MAX_ELAPSED`](Self::MAX_ELAPSED) earns nothing more.
            #[inline]
            pub(crate) const fn units(self, elapsed: $word) -> $word {
                self.units_within(if elapsed > Self::MAX_ELAPSED {
                    Self::MAX_ELAPSED
                } else {
                    elapsed
                })
            }

            /// Returns the same for a time that is known to be in range.
            #[inline]
            pub(crate) const fn units_within(self, elapsed: $word) -> $word {
                debug_assert!(elapsed <= Self::MAX_ELAPSED);
                // SHIFT is two bits short of two words. Shifting the time by those two bits makes
                // the result the upper of the product's three words.
                let elapsed = (elapsed << 2) as $double;
                let low = elapsed * self.low as $double;
                let product = (elapsed * self.high as $double) + (low >> $word::BITS);
                (product >> $word::BITS) as $word
            }
        }
    };
}

linear!(
    /// `A(t) = floor(t * gain / period)`, stored as a reciprocal.
    Linear, u64, u128
);

#[cfg(test)]
mod tests {
    use super::*;

    linear!(Tiny, u8, u16);

    #[test]
    fn the_reciprocal_is_exact_for_every_value_of_a_small_word() {
        for period in 1..=Tiny::MAX_PERIOD {
            for gain in 0..=u8::MAX {
                if u16::from(gain) >= 4 * u16::from(period) {
                    break;
                }
                let linear = Tiny::new(gain, period);
                for elapsed in 0..=u8::MAX {
                    let time = elapsed.min(Tiny::MAX_ELAPSED);
                    let exact = u16::from(time) * u16::from(gain) / u16::from(period);
                    assert_eq!(linear.units(elapsed), exact as u8, "{elapsed} * {gain} / {period}");
                }
            }
        }
    }

    #[test]
    fn the_reciprocal_is_exact_at_the_ends_of_the_full_word() {
        let ends = |top: u64| [1, 2, 3, 7, top / 3, top / 2, top - 1, top];
        for period in ends(Linear::MAX_PERIOD) {
            let most = u64::try_from(4 * u128::from(period) - 1).unwrap_or(u64::MAX);
            for gain in ends(most.max(2)).into_iter().filter(|&gain| gain <= most) {
                let linear = Linear::new(gain, period);
                for elapsed in ends(u64::MAX) {
                    let time = elapsed.min(Linear::MAX_ELAPSED);
                    let exact = u128::from(time) * u128::from(gain) / u128::from(period);
                    assert_eq!(
                        linear.units(elapsed),
                        exact as u64,
                        "{elapsed} * {gain} / {period}"
                    );
                }
            }
        }
    }
}
