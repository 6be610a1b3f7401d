//! Texts within the output of `Debug`.

use core::fmt;

/// A value whose `Debug` is its `Display`, in quotes. Nothing is escaped: for texts of this crate
/// only.
pub(crate) struct Quoted<T>(pub(crate) T);

impl<T: fmt::Display> fmt::Debug for Quoted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}
