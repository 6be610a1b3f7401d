//! A hint to the compiler about branches.

/// Returns `condition` through a branch that the compiler must not turn into a conditional move, so
/// that the processor predicts it instead of waiting for it.
#[inline(always)]
pub(crate) fn guess(condition: bool) -> bool {
    if !condition {
        unlikely();
    }
    condition
}

/// A cold call, which the compiler keeps out of the straight path.
#[cold]
fn unlikely() {}
