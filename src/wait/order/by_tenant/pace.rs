//! Permits divided by a weight, exactly.

use core::cmp::Ordering;

/// The permits that somebody of a weight has been granted, divided by the weight: `whole + part / weight`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    whole: u128,
    /// Less than the weight.
    part: u32,
    /// Not 0.
    weight: u32,
}

impl Pace {
    pub(super) const ZERO: Pace = Pace { whole: 0, part: 0, weight: 1 };

    /// Returns the pace after `permits` more.
    pub(super) fn plus(self, permits: u64) -> Pace {
        let weight = u128::from(self.weight);
        let parts = u128::from(self.part) + u128::from(permits);
        Pace {
            // Not within reach of any number of grants.
            whole: self.whole.saturating_add(parts / weight),
            part: (parts % weight) as u32,
            ..self
        }
    }

    /// Returns the pace without `permits` of it, or the least one.
    pub(super) fn minus(self, permits: u64) -> Pace {
        let weight = u128::from(self.weight);
        let parts = u128::from(permits);
        let (whole, part) = (parts / weight, (parts % weight) as u32);
        let borrows = part > self.part;
        match self.whole.checked_sub(whole + u128::from(borrows)) {
            Some(whole) => {
                let more = if borrows { self.weight } else { 0 };
                // The sum may be above 2^32 on its way, but the result is less than the weight.
                let part = u64::from(self.part) + u64::from(more) - u64::from(part);
                Pace { whole, part: part as u32, ..self }
            }
            None => Pace { whole: 0, part: 0, ..self },
        }
    }

    /// Returns the least pace of somebody of `weight` that is no less.
    pub(super) fn rounded_up(self, weight: u32) -> Pace {
        let parts = u64::from(self.part) * u64::from(weight);
        let part = parts.div_ceil(u64::from(self.weight)) as u32;
        if part == weight {
            Pace { whole: self.whole.saturating_add(1), part: 0, weight }
        } else {
            Pace { whole: self.whole, part, weight }
        }
    }
}

impl Ord for Pace {
    fn cmp(&self, other: &Pace) -> Ordering {
        let parts = |one: &Pace, other: &Pace| u64::from(one.part) * u64::from(other.weight);
        self.whole.cmp(&other.whole).then_with(|| parts(self, other).cmp(&parts(other, self)))
    }
}

impl PartialOrd for Pace {
    fn partial_cmp(&self, other: &Pace) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Pace {}

impl PartialEq for Pace {
    fn eq(&self, other: &Pace) -> bool {
        self.cmp(other).is_eq()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(permits: u64, weight: u32) -> Pace {
        Pace::ZERO.rounded_up(weight).plus(permits)
    }

    #[test]
    fn paces_compare_as_fractions_do() {
        assert_eq!(of(2, 4), of(3, 6));
        assert!(of(1, 3) < of(2, 5) && of(7, 2) > of(10, 3));
        let most = u32::MAX;
        assert!(of(u64::from(most) - 1, most) < of(1, 1));
        assert!(of(1, most) > of(1, most - 1).minus(1));
    }

    #[test]
    fn sums_and_differences_are_exact() {
        for weight in [1, 2, 7, u32::MAX] {
            for (more, less) in [(5, 3), (u64::MAX, 1), (u64::MAX, u64::MAX), (20, 13)] {
                let pace = of(9, weight).plus(more);
                assert_eq!(pace.minus(less), of(9, weight).plus(more - less), "{weight}: {more}");
            }
        }
        assert_eq!(of(3, 2).minus(4), Pace::ZERO);
    }

    #[test]
    fn rounding_up_adds_less_than_a_permit() {
        for permits in 0..40 {
            for (from, to) in [(7, 3), (3, 7), (1, 5), (6, 4), (4, u32::MAX), (u32::MAX, 1)] {
                let (pace, rounded) = (of(permits, from), of(permits, from).rounded_up(to));
                assert!(
                    rounded >= pace && rounded.minus(1) < pace.plus(u64::from(pace == Pace::ZERO))
                );
            }
        }
    }
}
