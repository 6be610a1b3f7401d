//! All that was admitted, and when, by a clock that never goes back: the truth that
//! bounds are held against.

/// The admissions since the last reset.
#[derive(Debug, Default)]
pub(crate) struct Admissions {
    now: u64,
    /// When, how many, and which of all.
    made: Vec<(u64, u64, usize)>,
    count: usize,
}

impl Admissions {
    /// Time passes.
    pub(crate) fn pass(&mut self, nanos: u64) {
        self.now += nanos;
    }

    pub(crate) fn add(&mut self, permits: u64) {
        self.made.push((self.now, permits, self.count));
        self.count += 1;
    }

    /// Number of admissions so far, which is the number of the next one.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The one of this number was never there.
    pub(crate) fn take_back(&mut self, number: usize) {
        self.made.retain(|made| made.2 != number);
    }

    /// Forgets what was admitted: it bounds nothing any more.
    pub(crate) fn clear(&mut self) {
        self.made.clear();
    }

    /// The permits of the last `span` nanoseconds, now included and the one that long
    /// ago not.
    pub(crate) fn within(&self, span: u64) -> u64 {
        let young = self.made.iter().filter(|made| self.now - made.0 < span);
        young.map(|made| made.1).sum()
    }

    /// The most permits in any `span` nanoseconds.
    pub(crate) fn most_in(&self, span: u64) -> u64 {
        let until = |last: &(u64, u64, usize)| {
            let inside = |made: &&(u64, u64, usize)| made.0 <= last.0 && last.0 - made.0 < span;
            self.made.iter().filter(inside).map(|made| made.1).sum()
        };
        self.made.iter().map(until).max().unwrap_or(0)
    }

    /// The most permits in one of the windows of `span` nanoseconds that follow each
    /// other from the origin of a clock that was started at `start`.
    pub(crate) fn most_aligned(&self, start: u64, span: u64) -> u64 {
        let window = |made: &(u64, u64, usize)| (start + made.0) / span;
        let of_the_same = |one: &(u64, u64, usize)| {
            let same = self.made.iter().filter(|made| window(made) == window(one));
            same.map(|made| made.1).sum()
        };
        self.made.iter().map(of_the_same).max().unwrap_or(0)
    }
}
