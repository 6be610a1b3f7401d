//! Pure rules: which limiters a call needs, and when a turn comes.

use super::*;

impl Pair {
    pub(super) fn is(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    pub(super) fn permits(&self, who: usize) -> i8 {
        match self.visits[who] {
            Visit::Both { permits, .. }
            | Visit::One(_, permits)
            | Visit::Try(_, permits)
            | Visit::Force(_, permits) => permits,
        }
    }

    pub(super) fn needs(&self, who: usize) -> u8 {
        match self.visits[who] {
            Visit::Both { .. } => BOTH,
            Visit::One(line, _) | Visit::Try(line, _) | Visit::Force(line, _) => 1 << line,
        }
    }

    /// The only limiter of a call, or the first.
    pub(super) fn own(&self, who: usize) -> usize {
        self.needs(who).trailing_zeros() as usize
    }

    pub(super) fn is_polled(&self, who: usize) -> bool {
        self.visits[who] != Visit::Both { permits: self.permits(who), is_polled: false }
    }

    /// The level after the head is granted, and the instant of its turn, if that has come.
    pub(super) fn turn(
        &self,
        state: &State,
        line: usize,
        word: Bucket,
        who: usize,
        now: i8,
    ) -> Option<(i8, i8)> {
        let since = state.since[line];
        let level = word.level.max(since - self.cap) + self.permits(who);
        (level <= now).then_some((level, level.max(since)))
    }

    pub(super) fn charge(
        &self,
        state: &mut State,
        line: usize,
        instant: i8,
        permits: i8,
    ) -> Option<String> {
        state.replay[line] = state.replay[line].max(instant - self.cap) + permits;
        if let Some(without) = state.without.as_mut().filter(|_| line == 0) {
            *without = (*without).max(instant - self.cap) + permits;
        }
        state.admitted[line][instant as usize] += permits;
        let admitted = &state.admitted[line];
        let exceeds = |first: usize| {
            let mut sum = 0;
            admitted[first..].iter().enumerate().any(|(span, units)| {
                sum += units;
                sum > self.cap + span as i8 + self.slack
            })
        };
        (0..INSTANTS).any(exceeds).then(|| format!("{BOUND}: {admitted:?} of limiter {line}"))
    }
}
