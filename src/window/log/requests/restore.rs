//! The permits that count, to be restored elsewhere.

use alloc::vec::Vec;
use core::iter::repeat_n;

use crate::decision::history::History;
use crate::time::clock::Clock;

use super::super::count::Count;
use super::super::dates::Dates;
use super::RequestLog;

impl<C: Clock, N: Count> RequestLog<C, N> {
    pub(crate) fn snapshot(&self) -> History {
        self.read(|view| {
            let mut before = self.counted(view.gone);
            let spent = (view.gone + 1..view.head.number).map(|number| {
                let permits = self.count.difference(self.counted(number), before);
                before = self.counted(number);
                (Dates::age_nanos(self.at(number), view.now_nanos), permits)
            });
            History::of(spent.collect::<Vec<_>>())
        })
    }

    pub(crate) fn restore(&mut self, history: &History, away_nanos: u64) {
        let room = (self.ring.places() - N::MORE_PLACES) as usize;
        let spent = history
            .after(away_nanos)
            .filter(|&(age_nanos, _)| age_nanos < self.dates.window_nanos());
        let spent: Vec<_> = if N::IS_OF_PERMITS { singles(spent, room) } else { spent.collect() };
        // Entries for which there is no room are counted with the next ones.
        let (early, late) = spent.split_at(spent.len().saturating_sub(room));
        let early = early.iter().fold(0, |sum: u64, &(_, permits)| sum.saturating_add(permits));
        // If there are more permits than can be counted, the latest count for longest.
        let mut most = self.count.max_difference();
        let mut counted: Vec<_> = late
            .iter()
            .rev()
            .map(|&(age_nanos, permits)| {
                let permits = permits.min(most);
                most -= permits;
                (age_nanos, permits)
            })
            .collect();
        counted.reverse();
        let now_nanos = self.ring.now_nanos();
        let date = |age_nanos: u64| self.dates.first(now_nanos.wrapping_sub(age_nanos));
        let mut sum = early.min(most);
        let entries: Vec<_> = counted
            .iter()
            .map(|&(age_nanos, permits)| {
                sum += permits;
                date(age_nanos) | self.count.part(sum)
            })
            .collect();
        let oldest = late.first().map_or(0, |&(age_nanos, _)| age_nanos);
        let before = self.dates.before(now_nanos.wrapping_sub(oldest));
        self.ring.rewrite(before, entries.into_iter());
    }
}

/// Returns an entry for each permit, of the `most` latest: they count for longest.
fn singles(spent: impl DoubleEndedIterator<Item = (u64, u64)>, most: usize) -> Vec<(u64, u64)> {
    let of_each = |(age_nanos, permits): (u64, u64)| {
        repeat_n((age_nanos, 1), permits.min(most as u64) as usize)
    };
    let mut latest: Vec<_> = spent.rev().flat_map(of_each).take(most).collect();
    latest.reverse();
    latest
}
