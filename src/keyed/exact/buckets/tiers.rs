//! The tier of a key: which of several quotas applies to it.

/// A way to find the tier of a key: [`OneTier`] or [`Tiers`]. It cannot be implemented
/// elsewhere.
pub trait Tier<K>: Numbers<K> {}

impl<K, T: Numbers<K>> Tier<K> for T {}

/// A function from keys to the numbers of their tiers.
pub trait Numbers<K> {
    /// The part of the number that is kept in the key's state.
    type Number: Number;

    /// Returns the number of the key's tier, of `tiers`.
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

/// One quota for all keys: the tiers of [`Buckets`](crate::keyed::Buckets) that name none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OneTier;

impl<K> Numbers<K> for OneTier {
    type Number = ();

    #[inline(always)]
    fn of(&self, _key: &K, _tiers: usize) {}
}

/// The quota whose number a function computes from the key.
///
/// # Examples
///
/// ```
/// use sluicegate::{Keyed, quota};
/// use sluicegate::keyed::TieredKeyed;
///
/// // Keys from 1,000 on have the second quota.
/// let quotas = [quota!(10 / hour), quota!(100 / hour)];
/// let limits = TieredKeyed::<u64>::tiered(quotas, |&id| usize::from(id >= 1_000))?;
/// assert!(limits.try_acquire(&7, 11).is_err());
/// assert!(limits.try_acquire(&1_000, 11).is_ok());
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tiers<F>(pub(super) F);

impl<K, F: Fn(&K) -> usize> Numbers<K> for Tiers<F> {
    type Number = u8;

    fn of(&self, key: &K, tiers: usize) -> u8 {
        // There are at most 64 tiers.
        (self.0)(key).min(tiers - 1) as u8
    }
}
