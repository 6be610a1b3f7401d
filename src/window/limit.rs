//! A limit that can be changed while it is in use.

use crate::ConfigError;
use crate::sync::{AtomicWord, Ordering::Relaxed};

/// Permits per window, from 1 to what the limiter's word can count.
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

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        // ORDERING: Relaxed. One word on its own, and a decision reads it after
        // the state that it is for, which is loaded with Acquire: who finds what was
        // granted under a limit finds that limit, or a later one. If it changes
        // while the decision is made, then the decision came before the change:
        // nothing that others were granted in between can have been missed, because
        // the CAS that follows would fail.
        // MODEL: `a_lowered_limit_holds_for_whoever_comes_after`.
        self.permits.load(Relaxed)
    }

    pub(crate) fn set(&self, permits: u64) -> Result<(), ConfigError> {
        check(permits, self.max)?;
        // ORDERING: Relaxed, as in `get`. Publishes nothing but itself.
        // MODEL: `a_lowered_limit_holds_for_whoever_comes_after`.
        self.permits.store(permits, Relaxed);
        Ok(())
    }
}

const fn check(permits: u64, max: u64) -> Result<(), ConfigError> {
    if permits == 0 || permits > max {
        return Err(ConfigError::Limit { limit: permits, max });
    }
    Ok(())
}
