//! Which of several quotas is a key's.

/// How the tier of a key is found: [`OneTier`] or [`Tiers`]. It cannot be implemented
/// elsewhere.
pub trait Tier<K>: Numbers<K> {}

impl<K, T: Numbers<K>> Tier<K> for T {}

/// What numbers the tier of a key.
pub trait Numbers<K> {
    /// What is kept of it in the key's state.
    type Number: Number;

    /// The number of a key, of so many.
    fn of(&self, key: &K, tiers: usize) -> Self::Number;
}

/// The number of a tier.
pub trait Number: Copy + Send + Sync {
    fn place(self) -> usize;
}

impl Number for () {
    #[inline(always)]
    fn place(self) -> usize {
        0
    }
}

impl Number for u8 {
    #[inline(always)]
    fn place(self) -> usize {
        usize::from(self)
    }
}

/// One quota for all keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OneTier;

impl<K> Numbers<K> for OneTier {
    type Number = ();

    #[inline(always)]
    fn of(&self, _key: &K, _tiers: usize) {}
}

/// The quota whose number a function makes of the key.
#[derive(Clone, Copy, Debug)]
pub struct Tiers<F>(pub(super) F);

impl<K, F: Fn(&K) -> usize> Numbers<K> for Tiers<F> {
    type Number = u8;

    fn of(&self, key: &K, tiers: usize) -> u8 {
        // At most 64 of them.
        (self.0)(key).min(tiers - 1) as u8
    }
}
