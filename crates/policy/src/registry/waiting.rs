//! Callers that wait for a named limiter, as long as its policy says.

use std::time::Duration;

use sluicegate::wait::AcquireError;
use sluicegate::{Denied, Grant, KeyedLimiter, Limiter, Wait};

use super::handle::{LimiterHandle, NO_KEY};
use super::in_line::Line;
use super::keyed_handle::KeyedHandle;
use super::shadow::{Pass, noted};
use super::slot::{Follower, HasLine};

/// A refusal of a caller that waits as long as its limiter's policy says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The permits are not there, and the policy lets nobody wait.
    #[error(transparent)]
    Denied(Denied),
    /// The line in front of the limiter refused: the permits come too late for the policy's `wait`, or
    /// are more than the limit.
    #[error(transparent)]
    Line(AcquireError),
    /// The file no longer names the limiter, so nobody waits for it any more.
    #[error(
        "limiter \"{}\" was removed from the file while callers waited: look it up again, or do without it",
        crate::escaped(name)
    )]
    Removed {
        /// Its name.
        name: String,
    },
}

impl WaitError {
    /// Returns the wait before it is worth asking again, or `None` if waiting alone will not help.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            WaitError::Denied(denied) => denied.retry_after(),
            WaitError::Line(
                AcquireError::TimedOut { retry_after } | AcquireError::LineFull { retry_after },
            ) => Some(*retry_after),
            WaitError::Line(_) | WaitError::Removed { .. } => None,
        }
    }
}

/// The beginning of a call that may wait.
enum Begun {
    Told(Result<Pass, WaitError>),
    /// It is to stand in line, for so many permits.
    Stand(u64),
}

impl<L: HasLine> Follower<L> {
    /// Begins a call, which tries by `pass` if nobody may wait: also while the penalty of the key runs.
    fn begin(
        &self,
        (name, key): (&str, &[u8]),
        permits: Option<u64>,
        pass: impl FnOnce() -> Result<Pass, Denied>,
    ) -> Begun {
        let (terms, is_penalized) = self.decide(|in_force| {
            let permits = permits.unwrap_or(in_force.terms.cost);
            (in_force.terms, in_force.penalty_left(key, permits).is_some())
        });
        if terms.waits && !is_penalized && !self.place().is_removed() {
            return Begun::Stand(permits.unwrap_or(terms.cost));
        }
        Begun::Told(pass().map_err(|denied| {
            if self.place().is_removed() && self.place().policy().wait.is_some() {
                WaitError::Removed { name: name.to_owned() }
            } else {
                WaitError::Denied(denied)
            }
        }))
    }

    /// Returns the answer to a caller that stood in line. One that was sent away because terms have
    /// changed tries by `pass`, if these let everybody through.
    fn end(
        &self,
        (name, key): (&str, &[u8]),
        answer: Result<Grant, AcquireError>,
        pass: impl FnOnce() -> Result<Pass, Denied>,
    ) -> Result<Pass, WaitError> {
        match answer {
            Ok(grant) => Ok(Pass::granted(grant)),
            Err(AcquireError::TimedOut { .. }) if self.place().is_removed() => {
                Err(WaitError::Removed { name: name.to_owned() })
            }
            Err(_) if self.terms().is_shadow => pass().map_err(WaitError::Denied),
            Err(error) => {
                if let Some(offenders) = self.offenders() {
                    offenders.note_line(key, &error);
                }
                Err(WaitError::Line(error))
            }
        }
    }
}

/// Callers that wait, in one fair line of the name's own: first come, first served, threads and tasks
/// alike. The line stays when the terms change, or another limiter takes the place.
///
/// * A caller waits for at most the policy's `wait`. If its permits would come later, it is refused at
///   once. If nobody may wait (`wait = "refuse"`, which is the default), it is granted its permits or
///   refused at once.
/// * While anybody waits, [`try_acquire`](LimiterHandle::try_acquire) overtakes nobody.
/// * With `shadow` nobody waits, and nobody is refused.
/// * A caller whose penalty runs is refused at once. One that stands in line when it begins keeps its place.
///
/// **Changes.** When the terms change, those in line keep their places, and are granted their permits by
/// the new terms: at once, if these have them now. Each has the new `wait`, from when it came. Whoever is
/// too late by that is refused with [`AcquireError::TimedOut`], and with [`WaitError::Removed`] if the
/// name was removed. With `shadow` all are let through. Nothing is charged to anybody who is refused. A
/// caller that stands in line wants as many permits as when it came: a new `cost` is for calls that begin
/// after the change.
///
/// **Cancel safety.** A caller that is dropped leaves the line, and has taken nothing, unless its permits
/// were granted since it was last polled: then they are spent.
impl LimiterHandle {
    /// Takes the permits of the policy's `cost`, and blocks the thread until they are there, for at most
    /// the policy's `wait`.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; a caller that is refused has taken nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_policy::{Policies, Registry, WaitError};
    ///
    /// let registry = Registry::new(Policies::from_toml("p.toml", r#"
    /// [limiters.calls]
    /// policy = "token_bucket"
    /// key = "all"
    /// limit = 2
    /// rate = { amount = 1, interval = "5 ms" }
    /// wait = "1 s"
    /// "#)?)?;
    /// let calls = registry.limiter("calls")?;
    /// calls.acquire_blocking_with(2)?;
    /// // Blocks for 5 ms.
    /// calls.acquire_blocking()?;
    /// // Blocks for no time at all.
    /// assert!(matches!(calls.acquire_blocking_with(3), Err(WaitError::Line(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acquire_blocking(&self) -> Result<Pass, WaitError> {
        self.wait_for(None)
    }

    /// Does the same as [`acquire_blocking`](LimiterHandle::acquire_blocking) for so many permits.
    ///
    /// # Errors
    ///
    /// The same as for [`acquire_blocking`](LimiterHandle::acquire_blocking).
    pub fn acquire_blocking_with(&self, permits: u64) -> Result<Pass, WaitError> {
        self.wait_for(Some(permits))
    }

    /// Does the same as [`acquire_blocking`](LimiterHandle::acquire_blocking) for a task: the future is ready when
    /// there is an answer. Its place in line is that of its first poll.
    ///
    /// # Errors
    ///
    /// The same as for [`acquire_blocking`](LimiterHandle::acquire_blocking).
    pub async fn acquire(&self) -> Result<Pass, WaitError> {
        self.ready_for(None, None).await
    }

    /// Does the same as [`acquire`](LimiterHandle::acquire) for so many permits.
    ///
    /// # Errors
    ///
    /// The same as for [`acquire`](LimiterHandle::acquire).
    pub async fn acquire_with(&self, permits: u64) -> Result<Pass, WaitError> {
        self.ready_for(Some(permits), None).await
    }

    /// Does the same as [`acquire_with`](LimiterHandle::acquire_with), and waits for no longer than
    /// `longest`, if that is less than the policy's `wait`.
    ///
    /// # Errors
    ///
    /// The same as for [`acquire`](LimiterHandle::acquire).
    pub async fn acquire_within(&self, permits: u64, longest: Duration) -> Result<Pass, WaitError> {
        self.ready_for(Some(permits), Some(longest)).await
    }

    fn wait_for(&self, permits: Option<u64>) -> Result<Pass, WaitError> {
        match self.limiter.begin((&self.name, NO_KEY), permits, || self.pass(permits)) {
            Begun::Told(answer) => answer,
            Begun::Stand(permits) => {
                let answer = self.limiter.line().acquire_blocking(permits);
                self.limiter.end((&self.name, NO_KEY), answer, || self.pass(Some(permits)))
            }
        }
    }

    async fn ready_for(
        &self,
        permits: Option<u64>,
        longest: Option<Duration>,
    ) -> Result<Pass, WaitError> {
        match self.limiter.begin((&self.name, NO_KEY), permits, || self.pass(permits)) {
            Begun::Told(answer) => answer,
            Begun::Stand(permits) => {
                let mut waiting = self.limiter.line().acquire(permits);
                if let Some(longest) = longest {
                    waiting = waiting.timeout(longest);
                }
                let answer = waiting.await;
                self.limiter.end((&self.name, NO_KEY), answer, || self.pass(Some(permits)))
            }
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn pass(&self, permits: Option<u64>) -> Result<Pass, Denied> {
        // Not of the line with counts: the answer is counted here.
        let ask_line = |line: &Line, permits| line.limiter().try_acquire(permits);
        self.limiter.pass(NO_KEY, permits, Limiter::try_acquire, ask_line)
    }
}

/// Callers that wait for a key, in one fair line for each: see
/// [`LimiterHandle`](LimiterHandle#method.acquire), which is the same without keys.
impl KeyedHandle {
    /// Takes the permits of the policy's `cost` for the key, and blocks the thread until they are there,
    /// for at most the policy's `wait`.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; a caller that is refused has taken nothing.
    pub fn acquire_blocking(&self, key: &(impl AsRef<[u8]> + ?Sized)) -> Result<Pass, WaitError> {
        self.wait_for(key.as_ref(), None)
    }

    /// Does the same as [`acquire_blocking`](KeyedHandle::acquire_blocking) for so many permits.
    ///
    /// # Errors
    ///
    /// The same as for [`acquire_blocking`](KeyedHandle::acquire_blocking).
    pub fn acquire_blocking_with(
        &self,
        key: &(impl AsRef<[u8]> + ?Sized),
        permits: u64,
    ) -> Result<Pass, WaitError> {
        self.wait_for(key.as_ref(), Some(permits))
    }

    /// Does the same as [`acquire_blocking`](KeyedHandle::acquire_blocking) for a task. Its place in line is that
    /// of its first poll.
    ///
    /// # Errors
    ///
    /// The same as for [`acquire_blocking`](KeyedHandle::acquire_blocking).
    pub async fn acquire(
        &self,
        key: &(impl AsRef<[u8]> + Sync + ?Sized),
    ) -> Result<Pass, WaitError> {
        self.ready_for(key.as_ref(), None, None).await
    }

    /// Does the same as [`acquire`](KeyedHandle::acquire) for so many permits.
    ///
    /// # Errors
    ///
    /// The same as for [`acquire`](KeyedHandle::acquire).
    pub async fn acquire_with(
        &self,
        key: &(impl AsRef<[u8]> + Sync + ?Sized),
        permits: u64,
    ) -> Result<Pass, WaitError> {
        self.ready_for(key.as_ref(), Some(permits), None).await
    }

    /// Does the same as [`acquire_with`](KeyedHandle::acquire_with), and waits for no longer than
    /// `longest`, if that is less than the policy's `wait`.
    ///
    /// # Errors
    ///
    /// The same as for [`acquire`](KeyedHandle::acquire).
    pub async fn acquire_within(
        &self,
        key: &(impl AsRef<[u8]> + Sync + ?Sized),
        permits: u64,
        longest: Duration,
    ) -> Result<Pass, WaitError> {
        self.ready_for(key.as_ref(), Some(permits), Some(longest)).await
    }

    fn wait_for(&self, key: &[u8], permits: Option<u64>) -> Result<Pass, WaitError> {
        match self.keys.begin((&self.name, key), permits, || self.pass(key, permits)) {
            Begun::Told(answer) => answer,
            Begun::Stand(permits) => {
                let answer = self.keys.line().acquire_blocking(key, permits);
                self.count(permits, &answer);
                self.keys.end((&self.name, key), answer, || self.pass(key, Some(permits)))
            }
        }
    }

    async fn ready_for(
        &self,
        key: &[u8],
        permits: Option<u64>,
        longest: Option<Duration>,
    ) -> Result<Pass, WaitError> {
        match self.keys.begin((&self.name, key), permits, || self.pass(key, permits)) {
            Begun::Told(answer) => answer,
            Begun::Stand(permits) => {
                let mut waiting = self.keys.line().acquire(key, permits);
                if let Some(longest) = longest {
                    waiting = waiting.timeout(longest);
                }
                let answer = waiting.await;
                self.count(permits, &answer);
                self.keys.end((&self.name, key), answer, || self.pass(key, Some(permits)))
            }
        }
    }

    /// Counts the answer to a caller that may have stood in line, if answers are counted.
    fn count(&self, permits: u64, answer: &Result<Grant, AcquireError>) {
        if let Some(answers) = self.keys.place().answers.get() {
            answers.count_acquired(permits, answer, None);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn pass(&self, key: &[u8], permits: Option<u64>) -> Result<Pass, Denied> {
        // That of the last decision: those before it are void.
        let mut source = None;
        let pass = self.keys.pass(
            key,
            permits,
            |keys, permits| noted(keys.try_acquire_told(key, permits), &mut source),
            |line, permits| line.try_acquire(key, permits),
        )?;
        Ok(pass.of(source))
    }
}
