//! The quota of a tier that is in force: one word, so that a call has all of one quota.
//!
//! ```text
//!  bit 63     56   55                 30   29                         0
//!     +-----------+----------------------+----------------------------+
//!     |           |    BURST (26 bits)   |  COST of a permit, in ticks |
//!     +-----------+----------------------+----------------------------+
//! ```
//!
//! The table's rate of ticks is fixed, so these two numbers say everything: the capacity is their
//! product, and the rate is that of the ticks divided by the cost.

use core::fmt;

use crate::bits::Field;
use crate::config::quota::Quota;
use crate::config::rate::Rate;
use crate::config::refill::Refill;
use crate::decision::forecast::Forecast;
use crate::decision::forecast::bucket::BucketForecast;
use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicWord, Word};

const COST: Field = Field::low(30);
const BURST: Field = COST.then(26);

/// The most ticks of a permit, and the largest burst, that the word holds.
pub(super) const MOST: (u64, u64) = (COST.max(), BURST.max());

/// One quota of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TierTerms {
    /// The ticks of a permit.
    pub(super) cost: i64,
    /// The ticks of the burst.
    pub(super) capacity: i64,
    /// The most permits that can be admitted at once.
    pub(super) burst: u64,
    pub(super) pace: Pace,
}

/// The rate of a table's ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// The ticks of a period.
    pub(super) gain: u64,
    pub(super) period_nanos: u64,
}

impl TierTerms {
    /// Creates the terms of a quota of `burst`, of which a permit takes `cost` ticks.
    #[inline]
    pub(super) fn new(cost: u64, burst: u64, pace: Pace) -> TierTerms {
        TierTerms { cost: cost as i64, capacity: (cost * burst) as i64, burst, pace }
    }

    /// Returns the forecast of a key that has `balance` left to spend.
    #[inline]
    pub(super) fn forecast(&self, balance: i64, elapsed_nanos: u64) -> Forecast {
        Forecast::Bucket(BucketForecast {
            balance,
            capacity: self.capacity as u64,
            token: self.cost as u64,
            gain: self.pace.gain,
            period_nanos: self.pace.period_nanos,
            time_nanos: elapsed_nanos,
            refill: Refill::Smooth,
            is_early: false,
            apart_nanos: 0,
        })
    }
}

/// The cost and the burst of a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CostAndBurst(u64);

impl CostAndBurst {
    fn of(terms: TierTerms) -> CostAndBurst {
        CostAndBurst(COST.put(terms.cost as u64) | BURST.put(terms.burst))
    }
}

impl Word for CostAndBurst {
    #[inline]
    fn from_bits(bits: u64) -> CostAndBurst {
        CostAndBurst(bits)
    }

    #[inline]
    fn to_bits(self) -> u64 {
        self.0
    }
}

/// A tier of a table: the quota in force.
pub(super) struct TierInForce {
    word: AtomicWord<CostAndBurst>,
    pace: Pace,
    /// The rate for which the table was made.
    made_for: Rate,
}

impl TierInForce {
    pub(super) fn new(terms: TierTerms, rate: Rate) -> TierInForce {
        let word = AtomicWord::new(CostAndBurst::of(terms));
        TierInForce { word, pace: terms.pace, made_for: rate }
    }

    /// Returns the terms in force. A call loads them once, and is decided by what it loaded.
    #[inline(always)]
    pub(super) fn terms(&self) -> TierTerms {
        // ORDERING: Relaxed. The word is all that there is to the terms, and no other word is read
        // or written by what it says: levels are ticks, whatever the terms. A call that a change
        // happens before sees it, or a later one, by coherence.
        // MODEL: `a_call_is_decided_by_one_quota_and_later_calls_by_the_new_one`.
        let CostAndBurst(word) = self.word.load(Relaxed);
        TierTerms::new(COST.get(word), BURST.get(word), self.pace)
    }

    /// Puts terms in force.
    pub(super) fn enforce(&self, terms: TierTerms) {
        // ORDERING: Relaxed, as in `terms`.
        // MODEL: `a_call_is_decided_by_one_quota_and_later_calls_by_the_new_one`.
        self.word.store(CostAndBurst::of(terms), Relaxed);
    }

    /// Returns the quota in force: as it was given if the table was made for its rate, otherwise
    /// with an equal rate, per second, minute, hour or day if it is a whole number of permits.
    pub(super) fn quota(&self) -> Quota {
        let terms = self.terms();
        let rate = if self.pace.cost(self.made_for) == Some(terms.cost as u64) {
            self.made_for
        } else {
            // A rate that was given once can be given in lowest terms.
            self.pace.rate(terms.cost as u64).unwrap_or(self.made_for)
        };
        let max_debt = terms.burst.min(Quota::MAX_DEBT);
        Quota::in_force(rate, terms.burst, Refill::Smooth, max_debt)
    }
}

impl fmt::Debug for TierInForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.terms().fmt(f)
    }
}
