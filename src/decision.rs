//! A limiter's answers, and the values that it hands out: grants and denials, forecasts, receipts,
//! leases, snapshots and histories.

#[cfg(feature = "alloc")]
pub(crate) mod all_or_none;
#[cfg(feature = "alloc")]
pub(crate) mod denial_cache;
pub(crate) mod denied;
pub(crate) mod forecast;
pub(crate) mod grant;
#[cfg(feature = "alloc")]
pub(crate) mod history;
pub mod lease;
pub(crate) mod offence;
#[cfg(feature = "alloc")]
mod overruled;
pub(crate) mod pieces;
pub(crate) mod receipt;
pub(crate) mod settled;
pub(crate) mod snapshot;
#[cfg(feature = "alloc")]
pub(crate) mod standing;
pub(crate) mod undo;
