//! Bit fields of a `u64` word, laid out from the low end up.

/// A run of adjacent bits inside a `u64` word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    shift: u32,
    bits: u32,
}

impl Field {
    /// Returns the field made of the `bits` lowest bits.
    pub(crate) const fn low(bits: u32) -> Field {
        assert!(bits > 0 && bits <= u64::BITS);
        Field { shift: 0, bits }
    }

    /// Returns the field of `bits` bits directly above this one.
    pub(crate) const fn then(self, bits: u32) -> Field {
        let shift = self.end();
        assert!(bits > 0 && shift + bits <= u64::BITS, "the fields overflow the word");
        Field { shift, bits }
    }

    /// Returns the largest value that the field holds.
    #[inline]
    pub(crate) const fn max(self) -> u64 {
        u64::MAX >> (u64::BITS - self.bits)
    }

    /// Returns the number of bits in the field.
    pub(crate) const fn bits(self) -> u32 {
        self.bits
    }

    /// Returns the position of the field's lowest bit.
    pub(crate) const fn start(self) -> u32 {
        self.shift
    }

    /// Returns the position directly above the field's highest bit.
    pub(crate) const fn end(self) -> u32 {
        self.shift + self.bits
    }

    /// Returns the distance from `from` forward to `to`, both modulo the field's size; negative if
    /// the way back is shorter.
    #[inline]
    pub(crate) const fn ahead(self, to: u64, from: u64) -> i64 {
        let unused = u64::BITS - self.bits;
        (to.wrapping_sub(from) << unused) as i64 >> unused
    }

    /// Reads the field out of `word`.
    #[inline]
    pub(crate) const fn get(self, word: u64) -> u64 {
        (word >> self.shift) & self.max()
    }

    /// Returns `value`, modulo the field's size, shifted to the field's position in a word.
    #[inline]
    pub(crate) const fn wrap(self, value: u64) -> u64 {
        (value & self.max()) << self.shift
    }

    /// Returns `value` shifted to the field's position in a word.
    #[inline]
    pub(crate) const fn put(self, value: u64) -> u64 {
        debug_assert!(value <= self.max());
        value << self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_the_shorter_way_round() {
        let three = LOW.then(3);
        assert_eq!([three.ahead(1, 7), three.ahead(7, 1), three.ahead(4, 0)], [2, -2, -4]);
        assert_eq!(Field::low(64).ahead(0, u64::MAX), 1);
    }

    const LOW: Field = Field::low(1);
    const MIDDLE: Field = LOW.then(31);
    const HIGH: Field = MIDDLE.then(32);

    #[test]
    fn fields_fill_the_word_and_do_not_leak_into_each_other() {
        assert_eq!(HIGH.end(), u64::BITS);
        let word = LOW.put(1) | HIGH.put(HIGH.max());
        assert_eq!((LOW.get(word), MIDDLE.get(word), HIGH.get(word)), (1, 0, HIGH.max()));
        let word = MIDDLE.put(MIDDLE.max());
        assert_eq!((LOW.get(word), MIDDLE.get(word), HIGH.get(word)), (0, MIDDLE.max(), 0));
    }
}
