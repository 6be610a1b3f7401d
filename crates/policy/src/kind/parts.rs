//! Parts of an `All` that changes.

use std::mem::discriminant;

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
