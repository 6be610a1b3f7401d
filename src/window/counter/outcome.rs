//! Outcomes of an attempt on a tally's word. No atomics here.

use crate::decision::counted::Counted;
use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;

/// An answer, or none.
pub(super) enum Attempt {
    Answered(Result<Granted, Denied>),
    Missed(Miss),
}

/// Why an attempt came to no answer.
pub(super) enum Miss {
    /// The word is further ahead of the clock than any caller can have left it.
    TooFarAhead,
    /// A CAS failed.
    LostRace,
    /// A starved caller is announced.
    OthersFirst,
}

/// A grant, and the word before and after it.
pub(super) struct Granted {
    pub(super) grant: Grant,
    pub(super) seen: u64,
    pub(super) written: u64,
}

/// The denial of `permits`, for which there is no room in what is `counted`.
#[inline(always)]
pub(super) fn refused(permits: u64, counted: Counted) -> Denied {
    if permits > counted.limit {
        return Denied::TooLarge { limit: counted.limit, which: 0 };
    }
    let forecast = Forecast::Counted(counted);
    Denied::Wait(Shortfall { wanted: permits as i64, forecast, which: 0 })
}
