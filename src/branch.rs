//! A word to the compiler about branches.

/// `condition`, in a branch that the compiler must not turn into a conditional
/// move: the processor is to guess it and go on, not to wait for it.
#[inline(always)]
pub(crate) fn guess(condition: bool) -> bool {
    if !condition {
        unlikely();
    }
    condition
}

/// A call that is never worth a place in the straight path.
#[cold]
fn unlikely() {}
