//! Outcomes of an attempt on a counter's word. No atomics here.

use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;
use crate::window_counts::WindowCounts;

/// An answer, or the reason for another attempt.
pub(super) enum Attempt {
    Answered(Result<Granted, Denied>),
    Missed(Miss),
}

/// Reasons why an attempt gave no answer.
pub(super) enum Miss {
    /// The word is further ahead of the clock than any caller can have left it.
    TooFarAhead,
    /// A CAS failed.
    LostRace,
    /// A starved caller is announced.
    OthersFirst,
    /// Callers wait in line.
    AtTheGate,
}

/// A grant, with the word before and after it.
pub(super) struct Granted {
    pub(super) grant: Grant,
    pub(super) seen: u64,
    pub(super) written: u64,
}

impl Granted {
    #[inline(always)]
    pub(super) fn grant(self) -> Grant {
        self.grant
    }
}

/// The result of asking at a gate that was closed.
pub(super) enum AtTheGate {
    /// It is open now.
    Opened {
        now_nanos: u64,
    },
    Answered(Result<Granted, Denied>),
}

/// Returns the denial of `permits`, which `counted` has no room for.
#[inline(always)]
pub(super) fn refused(permits: u64, counted: WindowCounts) -> Denied {
    if permits > counted.limit {
        return Denied::TooLarge { limit: counted.limit, which: 0 };
    }
    let forecast = Forecast::Window(counted);
    Denied::Wait(Shortfall { wanted: permits as i64, forecast, which: 0 })
}
