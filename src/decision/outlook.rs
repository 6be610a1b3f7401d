//! A limiter as it stood at one decision, and what time alone will do to it.

use core::time::Duration;

use super::Counted;
use crate::{Refill, time};

/// What a decision tells of its limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    Accrued(Accrued),
    Counted(Counted),
    #[cfg(feature = "alloc")]
    Windowed(Windowed),
}

/// Of a limiter that earns.
///
/// In units of the limiter, as they were when it decided; everything that takes
/// a division waits until somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accrued {
    /// What was there to spend after the decision; less than 0 is a debt.
    pub(crate) balance: i64,
    pub(crate) capacity: u64,
    pub(crate) token: u64,
    /// Units that one period earns.
    pub(crate) gain: u64,
    pub(crate) period_nanos: u64,
    /// Time since the accrual's origin, phase included.
    pub(crate) time_nanos: u64,
    pub(crate) refill: Refill,
}

/// Of a limiter that knows when each permit stops to count, and has looked it up.
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Windowed {
    pub(crate) limit: u64,
    /// Permits that count now; more than the limit if that was lowered.
    pub(crate) used: u64,
    /// Until nothing counts any more.
    pub(crate) reset_nanos: u64,
    /// Until what was refused can be granted; 0 in a grant.
    pub(crate) retry_nanos: u64,
}

impl Outlook {
    /// Whole permits there to take.
    pub(crate) fn remaining(&self) -> u64 {
        match self {
            Outlook::Accrued(accrued) => {
                u64::try_from(accrued.balance).unwrap_or(0) / accrued.token
            }
            Outlook::Counted(counted) => counted.limit.saturating_sub(counted.used()),
            #[cfg(feature = "alloc")]
            Outlook::Windowed(window) => window.limit.saturating_sub(window.used),
        }
    }

    /// The most that can be granted at once.
    pub(crate) fn limit(&self) -> u64 {
        match self {
            Outlook::Accrued(accrued) => accrued.capacity / accrued.token,
            Outlook::Counted(counted) => counted.limit,
            #[cfg(feature = "alloc")]
            Outlook::Windowed(window) => window.limit,
        }
    }

    /// How long until the limiter is full.
    pub(crate) fn reset_after(&self) -> Duration {
        match self {
            Outlook::Accrued(accrued) => accrued.wait_for(accrued.capacity as i64),
            Outlook::Counted(counted) => Duration::from_nanos(counted.wait_nanos(counted.limit)),
            #[cfg(feature = "alloc")]
            Outlook::Windowed(window) => Duration::from_nanos(window.reset_nanos),
        }
    }

    /// How long until a debt is repaid. A window knows none.
    pub(crate) fn ready_after(&self) -> Duration {
        match self {
            Outlook::Accrued(accrued) => accrued.wait_for(0),
            Outlook::Counted(_) => Duration::ZERO,
            #[cfg(feature = "alloc")]
            Outlook::Windowed(_) => Duration::ZERO,
        }
    }

    /// How long until there is what was `wanted`: a balance, or permits.
    pub(crate) fn retry_after(&self, wanted: i64) -> Duration {
        match self {
            Outlook::Accrued(accrued) => accrued.wait_for(wanted),
            Outlook::Counted(counted) => Duration::from_nanos(counted.wait_nanos(wanted as u64)),
            #[cfg(feature = "alloc")]
            Outlook::Windowed(window) => Duration::from_nanos(window.retry_nanos),
        }
    }

    /// How many permits are missing to what was `wanted`, a part of one counted
    /// whole.
    pub(crate) fn missing(&self, wanted: i64) -> u64 {
        match self {
            Outlook::Accrued(accrued) => {
                let missing = i128::from(wanted) - i128::from(accrued.balance);
                u64::try_from(missing).unwrap_or(0).div_ceil(accrued.token)
            }
            Outlook::Counted(counted) => {
                counted.used().saturating_add(wanted as u64).saturating_sub(counted.limit)
            }
            #[cfg(feature = "alloc")]
            Outlook::Windowed(window) => {
                window.used.saturating_add(wanted as u64).saturating_sub(window.limit)
            }
        }
    }
}

impl Accrued {
    /// The least wait after which the balance is `wanted` or more, if nobody
    /// else takes any.
    fn wait_for(&self, wanted: i64) -> Duration {
        let Ok(missing @ 1..) = u64::try_from(i128::from(wanted) - i128::from(self.balance)) else {
            return Duration::ZERO;
        };
        let missing = u128::from(missing);
        let (gain, period) = (u128::from(self.gain), u128::from(self.period_nanos));
        let now = u128::from(self.time_nanos);
        // No product here reaches 2^127: times and gains are below 2^64, what is
        // missing and a period below 2^62.
        time::duration(match self.refill {
            // Of the unit that comes next, `pending / period` is there already.
            Refill::Smooth => {
                let pending = now % period * gain % period;
                (missing * period - pending).div_ceil(gain)
            }
            Refill::Interval => (now / period + missing.div_ceil(gain)) * period - now,
        })
    }
}
