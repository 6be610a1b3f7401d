//! Turns beyond the limit of a limiter, as a log has them. No atomics here, and no clock.
//!
//! A log of `N` permits grants the permit number `S` of those in line, `S > N`, when the permit
//! number `S - N` no longer counts: a window after that was granted. All permits of a request are
//! granted at once. So the last of those in line is due a window after the caller whose request has
//! the permit number `S - N`, and that one, if need be, a window after another; until there is one whose
//! permits are, with those ahead of it, no more than `N`: the limiter tells its turn.
//!
//! A fixed window is the same with its length for the log's window. A bucket in line for which callers
//! want a permit each is too, with the time in which it fills.

use alloc::vec::Vec;

/// Returns the permits that are wanted up to a caller that is within `limit`, and the number of
/// periods after it at which the last of those who want `sizes` is due. A caller that wants more than
/// `limit` holds nobody up.
pub(super) fn periods_ahead(limit: u64, sizes: &mut dyn Iterator<Item = u64>) -> (u64, u64) {
    let within = sizes.filter(|size| *size <= limit);
    let ends: Vec<u64> = within
        .scan(0_u64, |sum, size| {
            *sum = sum.saturating_add(size);
            Some(*sum)
        })
        .collect();
    let mut end = ends.last().copied().unwrap_or(0);
    let mut periods = 0;
    while end > limit {
        let before = end - limit;
        let found = ends[ends.partition_point(|end| *end < before)];
        // A sum at the end of the numbers says nothing.
        end = if found < end { found } else { limit };
        periods += 1;
    }
    (end, periods)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(limit: u64, sizes: &[u64]) -> (u64, u64) {
        periods_ahead(limit, &mut sizes.iter().copied())
    }

    #[test]
    fn a_sum_within_the_limit_is_left_to_the_limiter() {
        assert_eq!(of(10, &[]), (0, 0));
        assert_eq!(of(10, &[7, 3]), (10, 0));
        assert_eq!(of(0, &[0]), (0, 0));
    }

    #[test]
    fn callers_that_want_one_permit_go_a_period_after_the_one_a_limit_ahead() {
        let ones = [1; 35];
        assert_eq!(of(10, &ones[..11]), (1, 1));
        assert_eq!(of(10, &ones[..20]), (10, 1));
        assert_eq!(of(10, &ones), (5, 3));
    }

    #[test]
    fn a_request_is_granted_at_once_and_whole() {
        // The second one waits for all six of the first, as none of them goes alone.
        assert_eq!(of(10, &[6, 6]), (6, 1));
        assert_eq!(of(10, &[6, 6, 3]), (6, 1));
        assert_eq!(of(10, &[6, 6, 3, 9]), (6, 2));
        assert_eq!(of(10, &[10, 10, 10]), (10, 2));
    }

    #[test]
    fn a_caller_that_is_refused_holds_nobody_up() {
        assert_eq!(of(10, &[11, 5, 12, 6]), (5, 1));
        assert_eq!(of(0, &[3, 4]), (0, 0));
    }

    #[test]
    fn sums_at_the_end_of_the_numbers_end() {
        let large = u64::MAX / 2;
        assert_eq!(of(large, &[large; 9]), (large, 2));
        assert_eq!(of(u64::MAX - 1, &[u64::MAX - 1, 5]), (u64::MAX - 1, 1));
        assert_eq!(of(u64::MAX - 1, &[u64::MAX - 1; 4]).1, 1);
    }
}
