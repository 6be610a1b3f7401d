//! The word of a concurrency limit and its transitions. No atomics here.
//!
//! ```text
//!  bit 63 62                  32 31                   0
//!     +--+----------------------+----------------------+
//!     |G |   LIMIT (31 bits)    |  IN_FLIGHT (32 bits) |
//!     +--+----------------------+----------------------+
//!      GATE: 1 while callers stand in line
//! ```
//!
//! | from                  | `admitted(n)` | `granted(n, h)` | `with_limit(m)` | `with_gate(h)` | `ended(n)`, subtracted |
//! |-----------------------|---------------|-----------------|-----------------|----------------|------------------------|
//! | (0, l, i), i + n <= l | (0, l, i + n) | (h, l, i + n)   | (0, m, i)       | (h, l, i)      | (0, l, i - n)          |
//! | (1, l, i), i + n <= l | none          | (h, l, i + n)   | (1, m, i)       | (h, l, i)      | (1, l, i - n)          |
//! | (g, l, i), i + n > l  | none          | none            | (g, m, i)       | (h, l, i)      | (g, l, i - n)          |
//!
//! The count in flight is the sum of the permits of all guards that have not ended, so subtracting
//! those of one of them never borrows from the limit. It is never more than the largest limit so
//! far. `granted` is for those in line, and `admitted` for all others.

use std::fmt;

use crate::sync::AtomicU64;

/// Closed, 1, while callers stand in line: nobody else is admitted then.
const GATE: u64 = 1 << 63;

/// Position of the limit, above the permits in flight.
const LIMIT_FROM: u32 = 32;

/// The largest limit.
pub(super) const MAX: u64 = (1 << 31) - 1;

/// The atomic word of a limit.
pub(super) struct LimitWord {
    pub(super) word: AtomicU64,
}

impl LimitWord {
    pub(super) fn new(limit: u64) -> LimitWord {
        LimitWord { word: AtomicU64::new(Tally::idle(limit).to_bits()) }
    }
}

/// A limit, and the permits that are in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally(u64);

impl Tally {
    /// The number to be subtracted from a word whose gate is closed, to open it.
    pub(super) const OPENED: u64 = GATE;

    #[inline]
    pub(super) const fn from_bits(bits: u64) -> Tally {
        Tally(bits)
    }

    #[inline]
    pub(super) const fn to_bits(self) -> u64 {
        self.0
    }

    /// Returns the word of a limit that has admitted nothing. A limit above [`MAX`] is taken as
    /// that.
    pub(super) const fn idle(limit: u64) -> Tally {
        Tally((if limit < MAX { limit } else { MAX }) << LIMIT_FROM)
    }

    #[inline]
    pub(super) const fn limit(self) -> u64 {
        (self.0 & !GATE) >> LIMIT_FROM
    }

    #[inline]
    pub(super) const fn in_flight(self) -> u64 {
        self.0 & u32::MAX as u64
    }

    /// Returns whether callers stand in line.
    #[inline]
    pub(super) const fn is_gated(self) -> bool {
        self.0 & GATE != 0
    }

    /// Returns the word with `permits` more in flight, or `None` if they are beyond the limit, or
    /// if callers stand in line.
    #[inline]
    pub(super) const fn admitted(self, permits: u64) -> Option<Tally> {
        // The gate is the sign: a limit behind a closed one is negative here. And a limit that was
        // lowered may be less than what is in flight.
        let limit = self.0 as i64 >> LIMIT_FROM;
        let available = limit - self.in_flight() as i64;
        if available < 0 || permits > available as u64 {
            return None;
        }
        Some(Tally(self.0 + permits))
    }

    /// Returns the word with `permits` more in flight, for the first in line, and the gate closed
    /// if there are others behind it; `None` if they are beyond the limit.
    pub(super) fn granted(self, permits: u64, has_others: bool) -> Option<Tally> {
        self.with_gate(false).admitted(permits).map(|next| next.with_gate(has_others))
    }

    /// Returns the word with the gate closed, or open.
    pub(super) fn with_gate(self, is_closed: bool) -> Tally {
        Tally(self.0 & !GATE | if is_closed { GATE } else { 0 })
    }

    /// Returns the word with another limit, and the same permits in flight and the same gate.
    #[inline]
    pub(super) const fn with_limit(self, limit: u64) -> Tally {
        let gate = self.0 & GATE;
        Tally(gate | Tally::idle(limit).0 | self.in_flight())
    }

    /// Returns the number to be subtracted from the word when `permits` in flight end.
    #[inline]
    pub(super) const fn ended(permits: u64) -> u64 {
        permits
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tally")
            .field("limit", &self.limit())
            .field("in_flight", &self.in_flight())
            .field("is_gated", &self.is_gated())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The amounts at every edge of the fields.
    const AMOUNTS: [u64; 9] = [0, 1, 2, MAX - 1, MAX, MAX + 1, u32::MAX as u64, 1 << 32, u64::MAX];

    #[test]
    fn a_word_says_what_was_put_into_it() {
        for (limit, permits) in AMOUNTS.into_iter().flat_map(|limit| AMOUNTS.map(|n| (limit, n))) {
            let idle = Tally::idle(limit);
            assert_eq!((idle.limit(), idle.in_flight()), (limit.min(MAX), 0));
            let Some(taken) = idle.admitted(permits) else {
                assert!(permits > limit.min(MAX), "{permits} of {limit}");
                continue;
            };
            assert!(permits <= limit.min(MAX), "{permits} of {limit}");
            assert_eq!((taken.limit(), taken.in_flight()), (limit.min(MAX), permits));
            for next in AMOUNTS {
                let changed = taken.with_limit(next);
                assert_eq!((changed.limit(), changed.in_flight()), (next.min(MAX), permits));
                assert_eq!(Tally(changed.0 - Tally::ended(permits)), Tally::idle(next));
            }
        }
    }

    #[test]
    fn nothing_is_admitted_beyond_a_limit_that_was_lowered_below_what_is_in_flight() {
        let lowered = Tally::idle(5).admitted(5).unwrap().with_limit(2);
        assert_eq!((lowered.limit(), lowered.in_flight()), (2, 5));
        for permits in [1, 2, u64::MAX] {
            assert_eq!(lowered.admitted(permits), None);
        }
        let three_ended = Tally(lowered.0 - Tally::ended(3));
        assert_eq!(three_ended.admitted(1), None);
        let four_ended = Tally(three_ended.0 - Tally::ended(1));
        assert_eq!(four_ended.admitted(1).unwrap().in_flight(), 2);
    }

    #[test]
    fn at_a_closed_gate_only_the_first_in_line_is_granted_permits() {
        for (limit, permits) in AMOUNTS.into_iter().flat_map(|limit| AMOUNTS.map(|n| (limit, n))) {
            let open = Tally::idle(limit);
            let closed = open.with_gate(true);
            assert_eq!((closed.limit(), closed.in_flight()), (open.limit(), 0));
            assert!(closed.is_gated() && !open.is_gated());
            assert_eq!((closed.with_gate(false), open.with_gate(false)), (open, open));
            assert_eq!(Tally(closed.0 - Tally::OPENED), open);
            assert_eq!(closed.admitted(permits), None);
            for has_others in [false, true] {
                let granted = open.admitted(permits).map(|next| next.with_gate(has_others));
                assert_eq!(closed.granted(permits, has_others), granted);
                assert_eq!(open.granted(permits, has_others), granted);
            }
            let changed = closed.granted(permits, true).unwrap_or(closed).with_limit(7);
            assert!(changed.is_gated() && changed.limit() == 7);
            let ended = Tally(changed.0 - Tally::ended(changed.in_flight()));
            assert_eq!(ended, Tally::idle(7).with_gate(true));
        }
    }
}
