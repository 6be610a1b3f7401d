//! The end of a line, as far as it can be foreseen.

/// The last turn of a line, and what the limiter's word will be after it, if nothing happens but
/// that those in line are granted what they want.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastTurn {
    pub(crate) due_nanos: u64,
    /// `None` if the limiter does not tell.
    pub(crate) word: Option<u64>,
}
