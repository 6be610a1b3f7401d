//! Counters of answers: by kind, and in permits.
//!
//! A call for one permit is the most frequent one, and takes a single addition: its grant is counted in
//! `GRANTED_ONE`, as a call and as a permit. Any other takes a second one, for the permits.

use core::fmt;

use crate::config::quota::Quota;
use crate::counters::StripedCounters;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
#[cfg(feature = "wait")]
use crate::wait::error::AcquireError;

#[cfg(feature = "wait")]
use super::waits::{WaitCounters, WaitCounts};

/// Grants of one permit.
const GRANTED_ONE: usize = 0;
/// Grants of another number of permits, and these permits.
const GRANTED_OTHER: usize = 1;
const PERMITS_OTHER: usize = 2;
/// Denials, by kind.
const RATE: usize = 3;
const TOO_LARGE: usize = 4;
const LEASED: usize = 5;
const NO_SPACE: usize = 6;
const TIMED_OUT: usize = 7;
const LINE_FULL: usize = 8;
const EVICTED: usize = 9;
const CLOSED: usize = 10;
/// Permits of denials beyond one for each.
const DENIED_MORE: usize = 11;
const GIVEN_BACK: usize = 12;
const LOST: usize = 13;
const TAKEN_BEYOND: usize = 14;
const UNPAID: usize = 15;

/// Counters of the answers of a limiter, of a store of keys, or of anything that answers with a [`Grant`] or
/// a [`Denied`]; those of a [`Counted`](super::Counted).
///
/// Each thread counts on a cache line of its own: one addition for a request of one permit, two for any
/// other. As an [`Observe`](crate::keyed::Observe), they count the decisions of a `Keyed` or of a `KeyTable`.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use sluicegate::{KeyTable, quota};
/// use sluicegate::compose::AnswerCounters;
///
/// let counters = Arc::new(AnswerCounters::new());
/// let users = KeyTable::<u64>::builder(quota!(1 / hour)).observer(Arc::clone(&counters)).keys(1_000)?;
/// assert_eq!([7, 7, 8].map(|user| users.try_acquire(&user, 1).is_ok()), [true, false, true]);
/// let counts = counters.counts();
/// assert_eq!((counts.granted, counts.denied, counts.permits), (2, 1, 2));
/// assert_eq!((counters.denials().rate, counters.denials().permits), (1, 1));
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
pub struct AnswerCounters {
    words: StripedCounters<16>,
    #[cfg(feature = "wait")]
    waits: WaitCounters,
}

/// The sums of a [`Counted`](super::Counted).
///
/// # Examples
///
/// ```
/// use sluicegate::{Limiter, TokenBucket, quota};
/// use sluicegate::compose::Counted;
///
/// let limiter = Counted::new(TokenBucket::new(quota!(10 / hour)));
/// let _ = (limiter.try_acquire(7), limiter.try_acquire(7));
/// let counts = limiter.counts();
/// assert_eq!((counts.granted, counts.permits, counts.denied), (1, 7, 1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Counts {
    /// Calls that were granted.
    pub granted: u64,
    /// Calls that were denied, for whatever reason.
    pub denied: u64,
    /// Permits that were granted.
    pub permits: u64,
}

/// The denials of a [`Counted`](super::Counted) by kind, and what they asked for.
///
/// The last four kinds are refusals of callers that wait (`AcquireError`).
///
/// # Examples
///
/// ```
/// use sluicegate::{Limiter, TokenBucket, quota};
/// use sluicegate::compose::Counted;
///
/// let limiter = Counted::new(TokenBucket::new(quota!(10 / hour)));
/// let _ = (limiter.try_acquire(10), limiter.try_acquire(1), limiter.try_acquire(11));
/// let denials = limiter.denials();
/// assert_eq!((denials.rate, denials.too_large, denials.total()), (1, 1, 2));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DenialCounts {
    /// The permits were not there: [`Denied::Wait`].
    pub rate: u64,
    /// More than the limiter ever grants: [`Denied::TooLarge`], also to callers that wait.
    pub too_large: u64,
    /// Leases held the permits: [`Denied::Leased`].
    pub leased: u64,
    /// The store had no space for the key: [`Denied::Full`].
    pub no_space: u64,
    /// The permits would have come after the deadline.
    pub timed_out: u64,
    /// The line had no room.
    pub line_full: u64,
    /// The caller gave way to a newer one.
    pub evicted: u64,
    /// The line was closed.
    pub closed: u64,
    /// Permits that were asked for in vain: of one refusal at least 1, and at most
    /// [`Quota::MAX_BURST`](crate::Quota::MAX_BURST), so that no caller turns the sum back.
    pub permits: u64,
}

impl Counts {
    /// Returns the sums of these and of `other`, modulo 2^64.
    #[must_use]
    pub fn merged(self, other: Counts) -> Counts {
        Counts {
            granted: self.granted.wrapping_add(other.granted),
            denied: self.denied.wrapping_add(other.denied),
            permits: self.permits.wrapping_add(other.permits),
        }
    }
}

impl DenialCounts {
    /// Returns the sums of these and of `other`, modulo 2^64.
    #[must_use]
    pub fn merged(self, other: DenialCounts) -> DenialCounts {
        DenialCounts {
            rate: self.rate.wrapping_add(other.rate),
            too_large: self.too_large.wrapping_add(other.too_large),
            leased: self.leased.wrapping_add(other.leased),
            no_space: self.no_space.wrapping_add(other.no_space),
            timed_out: self.timed_out.wrapping_add(other.timed_out),
            line_full: self.line_full.wrapping_add(other.line_full),
            evicted: self.evicted.wrapping_add(other.evicted),
            closed: self.closed.wrapping_add(other.closed),
            permits: self.permits.wrapping_add(other.permits),
        }
    }

    /// Returns the number of denials of all kinds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.kinds().into_iter().map(|(_, count)| count).fold(0, u64::wrapping_add)
    }

    /// Returns the kinds with their names, such as `("rate", 12)`: those of the fields.
    #[must_use]
    pub fn kinds(&self) -> [(&'static str, u64); 8] {
        [
            ("rate", self.rate),
            ("too_large", self.too_large),
            ("leased", self.leased),
            ("no_space", self.no_space),
            ("timed_out", self.timed_out),
            ("line_full", self.line_full),
            ("evicted", self.evicted),
            ("closed", self.closed),
        ]
    }
}

/// The permits that settlements have moved: see [`Settled`](crate::settle::Settled) and
/// [`Unpaid`](crate::settle::Unpaid).
///
/// # Examples
///
/// ```
/// use sluicegate::quota;
/// use sluicegate::bucket::SettleableBucket;
/// use sluicegate::compose::Counted;
/// use sluicegate::settle::Settle;
///
/// let tokens = Counted::new(SettleableBucket::new(quota!(10_000 / hour)));
/// tokens.try_acquire_settleable(4_000)?.settle(2_500)?;
/// assert_eq!(tokens.settled().given_back, 1_500);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SettledCounts {
    /// Permits of estimates that were given back.
    pub given_back: u64,
    /// Permits of estimates that were not used, and came back too late.
    pub lost: u64,
    /// Permits that were taken beyond estimates.
    pub taken_beyond: u64,
    /// Permits that were used and could not be charged.
    pub unpaid: u64,
}

impl AnswerCounters {
    /// Returns counters of 0, with a slot for each thread that the machine runs at once: a pair of
    /// cache lines each. Allocates.
    #[must_use]
    pub fn new() -> AnswerCounters {
        AnswerCounters::with_slots(0)
    }

    /// Returns counters of 0 with so many `slots`: see
    /// [`StripedCounters::with_slots`].
    #[must_use]
    pub fn with_slots(slots: usize) -> AnswerCounters {
        AnswerCounters {
            words: StripedCounters::with_slots(slots),
            #[cfg(feature = "wait")]
            waits: WaitCounters::new(),
        }
    }

    /// Counts the `answer` to a request for `permits`, of as many as it grants. Wait-free; does not
    /// allocate.
    #[inline(always)]
    pub fn count(&self, permits: u64, answer: Result<&Grant, &Denied>) {
        match answer {
            Ok(grant) => self.count_grant(grant.permits()),
            Err(denied) => self.count_denial(permits, denied),
        }
    }

    /// Counts the answer to a request for all of `permits` or none. Their number, unlike that of a grant, is
    /// often one that the compiler knows.
    #[inline(always)]
    pub(crate) fn count_whole(&self, permits: u64, denied: Option<&Denied>) {
        match denied {
            None => self.count_grant(permits),
            Some(denied) => self.count_denial(permits, denied),
        }
    }

    /// Counts a grant of `permits`.
    #[inline(always)]
    pub(crate) fn count_grant(&self, permits: u64) {
        let slot = self.words.slot();
        if permits == 1 {
            return slot.add(GRANTED_ONE, 1);
        }
        slot.add(GRANTED_OTHER, 1);
        slot.add(PERMITS_OTHER, permits);
    }

    #[inline(always)]
    pub(super) fn count_denial(&self, permits: u64, denied: &Denied) {
        let kind = match denied {
            Denied::Wait(_) => RATE,
            Denied::TooLarge { .. } => TOO_LARGE,
            Denied::Leased { .. } => LEASED,
            Denied::Full { .. } => NO_SPACE,
        };
        self.count_refusal(permits, kind);
    }

    #[inline(always)]
    fn count_refusal(&self, permits: u64, kind: usize) {
        let slot = self.words.slot();
        slot.add(kind, 1);
        if permits > 1 {
            slot.add(DENIED_MORE, permits.min(Quota::MAX_BURST) - 1);
        }
    }

    /// Counts the answer to a caller that asked for `permits` and has `waited` so long for it in line;
    /// `None` if it was answered at once. Wait-free; allocates for the first that has waited.
    #[cfg(feature = "wait")]
    pub fn count_acquired(
        &self,
        permits: u64,
        answer: &Result<Grant, AcquireError>,
        waited: Option<core::time::Duration>,
    ) {
        if let Some(waited) = waited {
            self.waits.add(waited);
        }
        match answer {
            Ok(grant) => self.count_grant(grant.permits()),
            Err(error) => self.count_unacquired(permits, error),
        }
    }

    #[cfg(feature = "wait")]
    pub(super) fn count_unacquired(&self, permits: u64, error: &AcquireError) {
        let kind = match error {
            AcquireError::TooLarge { .. } => TOO_LARGE,
            AcquireError::TimedOut { .. } => TIMED_OUT,
            AcquireError::LineFull { .. } => LINE_FULL,
            AcquireError::Evicted => EVICTED,
            AcquireError::Closed => CLOSED,
        };
        self.count_refusal(permits, kind);
    }

    /// Counts permits of an estimate that came back: those `given_back`, and those `lost`.
    pub(crate) fn count_given_back(&self, given_back: u64, lost: u64) {
        self.words.add(GIVEN_BACK, given_back);
        self.words.add(LOST, lost);
    }

    /// Counts permits that were used beyond an estimate: those `taken`, and those `unpaid`.
    pub(crate) fn count_beyond(&self, taken: u64, unpaid: u64) {
        self.words.add(TAKEN_BEYOND, taken);
        self.words.add(UNPAID, unpaid);
    }

    /// Returns the sums of all slots, modulo 2^64.
    ///
    /// Wait-free; does not allocate; reads no clock; writes nothing.
    ///
    /// While other threads count, the three are not those of one instant. Each is at least the number of
    /// calls that had returned before this one began, and at most the number of those that were answered
    /// before it returns. None ever falls.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let ones = self.words.sum(GRANTED_ONE);
        Counts {
            granted: ones.wrapping_add(self.words.sum(GRANTED_OTHER)),
            denied: (RATE..=CLOSED).map(|kind| self.words.sum(kind)).fold(0, u64::wrapping_add),
            permits: ones.wrapping_add(self.words.sum(PERMITS_OTHER)),
        }
    }

    /// Returns the denials by kind, as [`counts`](AnswerCounters::counts) does.
    #[must_use]
    pub fn denials(&self) -> DenialCounts {
        let sum = |kind| self.words.sum(kind);
        let counts = DenialCounts {
            rate: sum(RATE),
            too_large: sum(TOO_LARGE),
            leased: sum(LEASED),
            no_space: sum(NO_SPACE),
            timed_out: sum(TIMED_OUT),
            line_full: sum(LINE_FULL),
            evicted: sum(EVICTED),
            closed: sum(CLOSED),
            permits: 0,
        };
        DenialCounts { permits: counts.total().wrapping_add(sum(DENIED_MORE)), ..counts }
    }

    /// Returns the permits that settlements have moved, as [`counts`](AnswerCounters::counts) does.
    #[must_use]
    pub fn settled(&self) -> SettledCounts {
        SettledCounts {
            given_back: self.words.sum(GIVEN_BACK),
            lost: self.words.sum(LOST),
            taken_beyond: self.words.sum(TAKEN_BEYOND),
            unpaid: self.words.sum(UNPAID),
        }
    }

    /// Returns the waits of the callers that stood in line, whatever they were told. Allocates nothing.
    #[cfg(feature = "wait")]
    #[must_use]
    pub fn waits(&self) -> WaitCounts {
        self.waits.counts()
    }
}

impl Default for AnswerCounters {
    fn default() -> Self {
        AnswerCounters::new()
    }
}

/// Shows the sums.
impl fmt::Debug for AnswerCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { granted, denied, permits } = self.counts();
        f.debug_struct("AnswerCounters")
            .field("granted", &granted)
            .field("denied", &denied)
            .field("permits", &permits)
            .finish_non_exhaustive()
    }
}
