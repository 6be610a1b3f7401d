//! Limiters that have parts: several windows, and an `All`.

use std::mem::discriminant;

use sluicegate::Refill;

use super::words;
use crate::Kind;

/// Returns the old part that each new part goes on with: an equal one, or else one of the same algorithm. No old part is
/// returned twice.
pub(crate) fn match_parts<'a, L: Copy>(
    parts: &[Kind],
    old: impl Iterator<Item = (&'a Kind, L)>,
) -> Vec<Option<(&'a Kind, L)>> {
    let mut old: Vec<_> = old.map(Some).collect();
    let mut take = |is_alike: &dyn Fn(&Kind) -> bool| {
        let mut old = old.iter_mut();
        old.find(|part| part.is_some_and(|(kind, _)| is_alike(kind))).and_then(Option::take)
    };
    // Equal parts first, so that none of these is taken for a part that has changed.
    let equal: Vec<_> = parts.iter().map(|part| take(&|kind| kind == part)).collect();
    let matched = parts.iter().zip(equal).map(|(part, equal)| {
        equal.or_else(|| take(&|kind| discriminant(kind) == discriminant(part)))
    });
    matched.collect()
}

impl Kind {
    /// Describes the parts of the limiter: the windows of a `MultiWindow` and the limiters
    /// of an `All`, in the order of [`Denied::which`](sluicegate::Denied::which). Empty for
    /// any other.
    #[must_use]
    pub fn parts(&self) -> Vec<String> {
        match self {
            Kind::MultiWindow { limits, .. } => {
                limits.iter().map(|limit| words::in_any(*limit)).collect()
            }
            Kind::All(parts) => parts.iter().map(Kind::to_string).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns true if an idle key is the same as one that was never seen, so that a store may
    /// forget it. It is not if a bucket starts with less, or counts its periods from its start.
    #[must_use]
    pub fn is_new_when_full(&self) -> bool {
        match self {
            Kind::TokenBucket { quota, initial } => {
                quota.refill() == Refill::Smooth && *initial == quota.burst()
            }
            Kind::All(parts) => parts.iter().all(Kind::is_new_when_full),
            _ => true,
        }
    }

    /// Returns true if a request for more than one permit is always refused.
    pub(crate) fn takes_only_one(&self) -> bool {
        match self {
            Kind::SlidingLog(_) => true,
            Kind::All(parts) => parts.iter().any(Kind::takes_only_one),
            _ => false,
        }
    }
}
