//! The permits of a lease by the grants of the server that they came from, so that they can be given back.

use std::collections::VecDeque;

/// The most grants that are told apart.
const MAX_LOTS: usize = 4;

/// Permits of one grant, with the description by which the server takes them back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lot {
    pub(crate) charged: Vec<i64>,
    pub(crate) permits: u64,
}

/// The lots of a key, the oldest first. Their permits may be more than are left: the oldest are spent first, and are
/// only struck out when the next ones come.
#[derive(Debug, Default)]
pub(super) struct Lots(VecDeque<Lot>);

impl Lots {
    /// Adds `permits` of a new grant, beside which `older` are left.
    pub(super) fn put(&mut self, older: u64, permits: u64, charged: Option<Vec<i64>>) {
        self.keep(older);
        if let Some(charged) = charged.filter(|_| permits > 0) {
            if self.0.len() == MAX_LOTS {
                self.0.pop_front();
            }
            self.0.push_back(Lot { charged, permits });
        }
    }

    /// Forgets all but the `left` youngest permits.
    fn keep(&mut self, left: u64) {
        let mut sum: u64 = self.0.iter().map(|lot| lot.permits).sum();
        while let Some(first) = self.0.front_mut().filter(|_| sum > left) {
            let spent = first.permits.min(sum - left);
            first.permits -= spent;
            sum -= spent;
            if first.permits == 0 {
                self.0.pop_front();
            }
        }
    }

    /// Takes the lots of the `left` permits.
    pub(super) fn take(&mut self, left: u64) -> Vec<Lot> {
        self.keep(left);
        std::mem::take(&mut self.0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(lots: &[Lot]) -> Vec<(i64, u64)> {
        lots.iter().map(|lot| (lot.charged[0], lot.permits)).collect()
    }

    #[test]
    fn the_youngest_permits_are_those_that_are_left() {
        let mut lots = Lots::default();
        lots.put(0, 5, Some(vec![1]));
        lots.put(2, 4, Some(vec![2]));
        assert_eq!(permits(&lots.take(5)), [(1, 1), (2, 4)]);
        assert_eq!(lots.take(5), []);
    }

    #[test]
    fn no_more_than_is_left_is_given_back_whatever_cannot_be() {
        let mut lots = Lots::default();
        for grant in 0..6 {
            lots.put(10 * grant, 10, (grant != 4).then(|| vec![grant as i64]));
        }
        assert_eq!(permits(&lots.take(1_000)), [(1, 10), (2, 10), (3, 10), (5, 10)]);
        lots.put(0, 10, Some(vec![7]));
        lots.put(3, 10, None);
        assert_eq!(permits(&lots.take(2)), [(7, 2)]);
    }
}
