//! A limit that can be changed while it is in use.

use core::fmt;

use crate::config::error::ConfigError;
use crate::config::rate::Rate;
use crate::config::text::quoted::Quoted;
use crate::sync::AtomicWord;
use crate::sync::Ordering::Relaxed;
use crate::time::units::NANOS_PER_SECOND;

/// Permits per window, from 1 to the most that the limiter's word can count.
#[derive(Debug)]
pub(crate) struct Limit {
    permits: AtomicWord<u64>,
    max: u64,
}

impl Limit {
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if it is not from 1 to `max`.
    pub(crate) fn new(permits: u64, max: u64) -> Result<Limit, ConfigError> {
        check(permits, max)?;
        Ok(Limit { permits: AtomicWord::new(permits), max })
    }

    /// Returns the largest limit that can be set.
    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        // ORDERING: Relaxed. It is one word on its own, and a decision reads it after
        // the state that it applies to, which is loaded with Acquire: a caller that sees
        // permits granted under a limit sees that limit, or a later one. If the limit
        // changes during the decision, then the decision came before the change: it cannot
        // have missed anything that others were granted in between, because the CAS that
        // follows would fail.
        // MODEL: `a_lowered_limit_holds_for_whoever_comes_after`.
        self.permits.load(Relaxed)
    }

    /// Sets the limit of a window that can be made for more by `with_max_limit`.
    ///
    /// # Errors
    ///
    /// As for [`set`](Limit::set), but [`ConfigError::NewLimit`] if it is above the most.
    pub(crate) fn raise(&self, permits: u64) -> Result<(), ConfigError> {
        if permits > self.max {
            return Err(ConfigError::NewLimit { limit: permits, max: self.max });
        }
        self.set(permits)
    }

    /// Sets the limit.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if it is not from 1 to the most.
    pub(crate) fn set(&self, permits: u64) -> Result<(), ConfigError> {
        check(permits, self.max)?;
        // ORDERING: Relaxed, as in `get`. It publishes nothing but itself.
        // MODEL: `a_lowered_limit_holds_for_whoever_comes_after`.
        self.permits.store(permits, Relaxed);
        Ok(())
    }
}

/// Returns a limit of `permits` in a window of `window_nanos`, to be displayed.
pub(crate) fn per_window(permits: u64, window_nanos: u64) -> impl fmt::Display {
    Rate::trusted(permits, window_nanos)
}

/// Adds a limit, and the permits that count if they are known, to the output of `Debug`.
pub(crate) fn show(
    shown: &mut fmt::DebugStruct<'_, '_>,
    (limit, window_nanos): (u64, u64),
    used: Option<u64>,
) {
    shown.field("limit", &Quoted(per_window(limit, window_nanos)));
    show_remaining(shown, used.map(|used| limit.saturating_sub(used)));
}

/// Adds the permits that remain, if they are known, to the output of `Debug`.
pub(crate) fn show_remaining(shown: &mut fmt::DebugStruct<'_, '_>, remaining: Option<u64>) {
    match remaining {
        Some(remaining) => shown.field("remaining", &remaining),
        None => shown.field("remaining", &format_args!("unknown")),
    };
}

/// Checks the largest limit that a window of `window_nanos` with the present `limit` is to
/// have room for.
///
/// # Errors
///
/// [`ConfigError::MaxLimit`] if it is less than `limit`, or above the highest [`Rate`].
pub(crate) fn check_max(max_limit: u64, limit: u64, window_nanos: u64) -> Result<(), ConfigError> {
    let fastest = u128::from(Rate::MAX_PER_SECOND) * u128::from(window_nanos);
    let fastest = fastest / u128::from(NANOS_PER_SECOND);
    let most = u64::try_from(fastest).unwrap_or(u64::MAX).min(Rate::MAX_PERMITS).max(limit);
    check_between(max_limit, limit, most)
}

/// # Errors
///
/// [`ConfigError::MaxLimit`] if `max_limit` is not from `least` to `most`.
pub(crate) const fn check_between(
    max_limit: u64,
    least: u64,
    most: u64,
) -> Result<(), ConfigError> {
    if max_limit < least || max_limit > most {
        return Err(ConfigError::MaxLimit { max_limit, least, most });
    }
    Ok(())
}

const fn check(permits: u64, max: u64) -> Result<(), ConfigError> {
    if permits == 0 || permits > max {
        return Err(ConfigError::Limit { limit: permits, max });
    }
    Ok(())
}
