//! Offences that a program reports, and penalties that it ends.

use std::time::Duration;

use sluicegate::Denied;
use sluicegate::penalty::Offence;

use super::handle::{LimiterHandle, NO_KEY};
use super::keyed_handle::KeyedHandle;
use super::slot::{Follower, HasLine};

/// A reason for which an offence was not noted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OffenceError {
    /// The policy has no penalty.
    #[error(
        "limiter \"{}\" has no `penalty` in its policy: offences lead to nothing",
        crate::escaped(name)
    )]
    NoPenalty {
        /// Name of the limiter.
        name: String,
    },
    /// The store remembers as many offenders as it may, and the key is none of them.
    #[error(transparent)]
    Full(Denied),
}

impl<L: HasLine> Follower<L> {
    fn offend(&self, name: &str, key: &[u8], offences: u64) -> Result<Offence, OffenceError> {
        match self.offenders() {
            Some(offenders) => offenders.offend(key, offences).map_err(OffenceError::Full),
            None => Err(OffenceError::NoPenalty { name: name.to_owned() }),
        }
    }
}

/// Offences against the `penalty` of the policy.
///
/// Requests that the limit refuses are noted by the handle, if the policy says that they are offences.
/// Answers are the caller's to report: [`Penalty::is_offence`](crate::Penalty::is_offence) tells which are.
impl LimiterHandle {
    /// Counts a number of `offences`, and begins a penalty if they are enough. Lock-free, but waits for a
    /// change of the terms in progress.
    ///
    /// # Errors
    ///
    /// [`OffenceError::NoPenalty`] if the policy has none.
    pub fn offend(&self, offences: u64) -> Result<Offence, OffenceError> {
        self.limiter.offend(&self.name, NO_KEY, offences)
    }

    /// Ends a penalty, and forgets all offences. Returns whether a penalty was running.
    #[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn pardon(&self) -> bool {
        self.limiter.offenders().is_some_and(|offenders| offenders.clear(NO_KEY))
    }

    /// Returns the time that is left of the penalty, or `None` if none runs.
    #[must_use]
    pub fn penalty_left(&self) -> Option<Duration> {
        self.limiter.offenders()?.left(NO_KEY)
    }
}

/// Offences against the `penalty` of the policy: see [`LimiterHandle::offend`], which is the same without
/// keys.
///
/// # Examples
///
/// ```
/// use sluicegate_policy::{Policies, Registry};
///
/// let registry = Registry::new(Policies::from_toml("p.toml", r#"
/// [limiters.log-ins]
/// policy = "fixed_window"
/// limit = 100
/// interval = "1 minute"
/// penalty = { offences = 3, within = "10 minutes", refuse_for = "1 hour", by = { status = 401 } }
/// "#)?)?;
/// let log_ins = registry.keyed("log-ins")?;
/// for _ in 0..3 {
///     assert!(log_ins.try_acquire("192.0.2.7", 1).is_ok()); // and the answer is 401
///     log_ins.offend("192.0.2.7", 1)?;
/// }
/// assert!(log_ins.try_acquire("192.0.2.7", 1).is_err());
/// assert!(log_ins.penalty_left("192.0.2.7").is_some());
/// assert!(log_ins.try_acquire("192.0.2.8", 1).is_ok());
/// assert!(log_ins.pardon("192.0.2.7"));
/// assert!(log_ins.try_acquire("192.0.2.7", 1).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl KeyedHandle {
    /// Counts a number of `offences` of the key, and begins its penalty if they are enough. Takes a lock of
    /// one part of the store of offenders, shared if the key is known there; allocates if it is not.
    ///
    /// # Errors
    ///
    /// * [`OffenceError::NoPenalty`] if the policy has none.
    /// * [`OffenceError::Full`] if there is no space for another offender.
    pub fn offend(
        &self,
        key: &(impl AsRef<[u8]> + ?Sized),
        offences: u64,
    ) -> Result<Offence, OffenceError> {
        self.keys.offend(&self.name, key.as_ref(), offences)
    }

    /// Ends the penalty of the key, and forgets its offences. Returns whether a penalty was running.
    pub fn pardon(&self, key: &(impl AsRef<[u8]> + ?Sized)) -> bool {
        self.keys.offenders().is_some_and(|offenders| offenders.clear(key.as_ref()))
    }

    /// Returns the time that is left of the penalty of the key, or `None` if none runs.
    #[must_use]
    pub fn penalty_left(&self, key: &(impl AsRef<[u8]> + ?Sized)) -> Option<Duration> {
        self.keys.offenders()?.left(key.as_ref())
    }

    /// Returns the keys whose penalty runs, each with the time that is left of it. Visits all offenders;
    /// allocates.
    #[must_use]
    pub fn penalized(&self) -> Vec<(Vec<u8>, Duration)> {
        self.keys.offenders().map(|offenders| offenders.penalized()).unwrap_or_default()
    }
}
