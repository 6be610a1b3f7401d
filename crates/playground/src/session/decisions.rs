//! The latest decisions of a side.

use std::collections::VecDeque;

use crate::bounds;
use crate::wire::Decision;

/// The latest decisions, numbered from 0. It forgets the oldest.
#[derive(Debug, Default)]
pub(super) struct DecisionLog {
    latest: VecDeque<Decision>,
    pushed: u64,
}

impl DecisionLog {
    pub(super) fn push(&mut self, decision: Decision) {
        if self.latest.len() == bounds::DECISIONS {
            self.latest.pop_front();
        }
        self.latest.push_back(decision);
        self.pushed += 1;
    }

    /// Returns the number of decisions so far.
    pub(super) fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Returns the latest `most` of the decisions after the first `seen`, and the number of those before
    /// them.
    pub(super) fn after(&self, seen: u64, most: usize) -> (Vec<Decision>, u64) {
        let unseen = self.pushed.saturating_sub(seen);
        let told = self.latest.len().min(most).min(unseen.try_into().unwrap_or(usize::MAX));
        let decisions = self.latest.iter().skip(self.latest.len() - told).cloned().collect();
        (decisions, unseen - told as u64)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_forgets_the_oldest() {
        let mut log = DecisionLog::default();
        for n in 0..3 * bounds::DECISIONS {
            let decision =
                json!({ "n": n, "at": 0.0, "key": "a", "cost": 1, "outcome": "granted" });
            log.push(serde_json::from_value(decision).unwrap());
        }
        assert_eq!((log.latest.len(), log.pushed()), (bounds::DECISIONS, 1_500));
        let (told, dropped) = log.after(0, usize::MAX);
        assert_eq!((told.len(), told[0].n, dropped), (500, 1_000, 1_000));
        assert_eq!(log.after(1_500, usize::MAX), (Vec::new(), 0));
    }
}
