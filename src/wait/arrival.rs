//! The time for which a caller may stand in a line that bounds the wait.

/// The arrival of a caller in line, and its own deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    from_nanos: u64,
    /// The last instant of the clock if it has none.
    own_nanos: u64,
}

impl Arrival {
    /// Returns the stay of a caller that comes at `from_nanos`, with its own deadline if it has one.
    pub(crate) fn new(from_nanos: u64, own_nanos: Option<u64>) -> Arrival {
        Arrival { from_nanos, own_nanos: own_nanos.unwrap_or(u64::MAX) }
    }

    /// Returns the end of its time in a line where none may stand for longer than `longest_nanos`; with
    /// the largest number, its own deadline.
    pub(crate) fn deadline(self, longest_nanos: u64) -> u64 {
        if longest_nanos == u64::MAX {
            return self.own_nanos;
        }
        // The last instant of the clock would mean no deadline.
        let end_nanos = self.own_nanos.min(self.from_nanos.saturating_add(longest_nanos));
        end_nanos.min(self.from_nanos.max(u64::MAX - 1))
    }
}
