//! Admissions and refusals over time, in fixed memory.

/// The most bins.
const MAX_BINS: usize = 2048;

const SECOND_NANOS: u64 = 1_000_000_000;

/// The times that a bin covers, in seconds: each divides the next. After the last they double.
const WIDTHS: [u64; 11] = [1, 5, 15, 60, 300, 900, 3_600, 10_800, 43_200, 86_400, 604_800];

/// The times that a column covers, in seconds. After the last they double.
const COLUMN_WIDTHS: [u64; 21] = [
    1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_200, 1_800, 3_600, 7_200, 10_800, 21_600,
    43_200, 86_400, 604_800,
];

/// Admissions and refusals over time.
///
/// Starts with a bin per second. If a time needs more than the most bins, they are joined to wider
/// ones, so that a log of any length fits.
#[derive(Clone, Debug)]
pub struct Timeline {
    width_nanos: u64,
    bins: Vec<Bin>,
}

/// The decisions in a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Lines that were admitted.
    pub allowed: u64,
    /// Lines among them that had to wait.
    pub delayed: u64,
    /// Lines that were refused.
    pub denied: u64,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline { width_nanos: SECOND_NANOS, bins: Vec::new() }
    }
}

impl Timeline {
    /// Counts an admission after a wait, or a refusal (`None`).
    pub fn record(&mut self, at_nanos: u64, wait_nanos: Option<u64>) {
        let bin = self.cover(at_nanos);
        match wait_nanos {
            None => bin.denied += 1,
            Some(wait_nanos) => {
                bin.allowed += 1;
                bin.delayed += u64::from(wait_nanos > 0);
            }
        }
    }

    /// Returns the bin for that time. Creates it and all bins before it if they are missing.
    fn cover(&mut self, at_nanos: u64) -> &mut Bin {
        while at_nanos / self.width_nanos >= MAX_BINS as u64 {
            let wider = widths(&WIDTHS).find(|width| *width > self.width_nanos).unwrap_or(u64::MAX);
            self.bins = joined(&self.bins, (wider / self.width_nanos) as usize);
            self.width_nanos = wider;
        }
        let index = (at_nanos / self.width_nanos) as usize;
        if index >= self.bins.len() {
            self.bins.resize(index + 1, Bin::default());
        }
        &mut self.bins[index]
    }

    /// Returns the time from 0 to `until_nanos` as at most `most` columns of equal
    /// width, and that width in nanoseconds: a round time.
    ///
    /// Two timelines give columns of the same width for the same arguments.
    #[must_use]
    pub fn columns(&self, until_nanos: u64, most: usize) -> (Vec<Bin>, u64) {
        let mut whole = self.clone();
        whole.cover(until_nanos);
        let bins = |width: u64| (width / whole.width_nanos) as usize;
        let fits = |width: &u64| {
            width.is_multiple_of(whole.width_nanos)
                && whole.bins.len().div_ceil(bins(*width)) <= most.max(1)
        };
        let width_nanos = widths(&COLUMN_WIDTHS).find(fits).unwrap_or(u64::MAX);
        (joined(&whole.bins, bins(width_nanos)), width_nanos)
    }
}

/// Returns times in nanoseconds: the given seconds, and then doubles of the last.
fn widths(seconds: &[u64]) -> impl Iterator<Item = u64> {
    let last = seconds.last().copied().unwrap_or(1);
    let doubles = std::iter::successors(last.checked_mul(2), |width| width.checked_mul(2));
    seconds.iter().copied().chain(doubles).map_while(|width| width.checked_mul(SECOND_NANOS))
}

/// Joins the bins, `count` at a time.
fn joined(bins: &[Bin], count: usize) -> Vec<Bin> {
    bins.chunks(count)
        .map(|chunk| Bin {
            allowed: chunk.iter().map(|bin| bin.allowed).sum(),
            delayed: chunk.iter().map(|bin| bin.delayed).sum(),
            denied: chunk.iter().map(|bin| bin.denied).sum(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = SECOND_NANOS;

    #[test]
    fn columns_are_of_equal_width_and_lose_nothing() {
        let mut timeline = Timeline::default();
        for second in 0..120 {
            timeline.record(second * SECOND, (second % 3 != 0).then(|| second % 3 - 1));
        }
        let (columns, width_nanos) = timeline.columns(119 * SECOND, 64);
        assert_eq!((columns.len(), width_nanos), (60, 2 * SECOND));
        assert!(columns.iter().all(|bin| bin.allowed + bin.denied == 2));
        assert_eq!(columns.iter().map(|bin| bin.denied).sum::<u64>(), 40);
        assert_eq!(columns.iter().map(|bin| bin.delayed).sum::<u64>(), 40);
    }

    #[test]
    fn columns_are_round_times_however_long_the_log_is() {
        assert!(WIDTHS.is_sorted_by(|one, next| next > one && next.is_multiple_of(*one)));
        for days in [1, 3, 4, 10, 40, 400, 4_000] {
            let (columns, width_nanos) = Timeline::default().columns(days * 86_400 * SECOND, 80);
            assert!((20..=80).contains(&columns.len()), "{days} days: {}", columns.len());
            let seconds = width_nanos / SECOND;
            let is_round = COLUMN_WIDTHS.contains(&seconds) || seconds.is_multiple_of(604_800);
            assert!(is_round, "{days} days: {seconds} s");
        }
    }

    #[test]
    fn a_long_log_makes_the_bins_wider() {
        let mut timeline = Timeline::default();
        timeline.record(0, Some(0));
        timeline.record(u64::MAX, None);
        assert!(timeline.bins.len() <= MAX_BINS);
        let (columns, _) = timeline.columns(u64::MAX, 10);
        assert_eq!(columns[0], Bin { allowed: 1, ..Bin::default() });
        assert_eq!(columns[columns.len() - 1], Bin { denied: 1, ..Bin::default() });
    }

    #[test]
    fn timelines_of_one_span_have_the_same_columns() {
        let (mut early, mut late) = (Timeline::default(), Timeline::default());
        early.record(3 * SECOND, Some(0));
        late.record(100_000 * SECOND, Some(0));
        let widths = [&early, &late].map(|timeline| {
            let (columns, width_nanos) = timeline.columns(100_000 * SECOND, 70);
            (columns.len(), width_nanos)
        });
        assert_eq!(widths[0], widths[1]);
    }
}
