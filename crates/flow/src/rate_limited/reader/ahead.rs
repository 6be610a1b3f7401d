//! Bytes that were read, and were not passed on yet.

/// A buffer of one chunk, which is filled when it is empty.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    bytes: Vec<u8>,
    from: usize,
    to: usize,
}

impl Ahead {
    /// Returns the bytes that are to be passed on.
    pub(super) fn left(&self) -> &[u8] {
        &self.bytes[self.from..self.to]
    }

    /// Returns space for a chunk of `length`. Only for an empty one.
    pub(super) fn space(&mut self, length: usize) -> &mut [u8] {
        (self.from, self.to) = (0, 0);
        self.bytes.resize(length, 0);
        &mut self.bytes
    }

    /// Notes that `read` bytes of the space were filled. Returns their number: no more than there is
    /// space for, whatever the inner reader says.
    pub(super) fn note_read(&mut self, read: usize) -> usize {
        self.to = read.min(self.bytes.len());
        self.to
    }

    /// Returns the next bytes that are to be passed on, at most `space`, which count as passed on.
    pub(super) fn take(&mut self, space: usize) -> &[u8] {
        let from = self.from;
        self.from += self.left().len().min(space);
        &self.bytes[from..self.from]
    }
}
