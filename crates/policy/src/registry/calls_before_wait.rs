//! Calls before a wait: a denial by which the caller begins to wait is not its answer, and does not count.

use sluicegate::settle::Receipt;
use sluicegate::{KeyedLimiter, Limiter};

use super::before_wait::BeforeWait;
use super::handle::{LimiterHandle, NO_KEY};
use super::in_line::Line;
use super::keyed_handle::KeyedHandle;
use super::keys::Keys;
use super::shadow::{Pass, noted};

/// Calls by callers that wait if they are denied.
impl LimiterHandle {
    /// Does the same as [`try_pass_with`](LimiterHandle::try_pass_with) for a caller that waits for the permits if they are
    /// denied, by [`acquire_with`](LimiterHandle::acquire_with), which then counts as its only call.
    ///
    /// # Errors
    ///
    /// [`BeforeWait`], which tells whether a wait may help.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_policy::{BeforeWait, Policies, Registry};
    ///
    /// let registry = Registry::new(Policies::from_toml("p.toml", r#"
    /// limiters.a = { policy = "fixed_window", key = "all", limit = 2, interval = "1 day", wait = "1 s" }
    /// "#)?)?.counted();
    /// let handle = registry.limiter("a")?;
    /// assert!(handle.try_before_wait(2).is_ok());
    /// assert!(matches!(handle.try_before_wait(1), Err(BeforeWait::Later(_))));
    /// assert!(matches!(handle.try_before_wait(3), Err(BeforeWait::Refused(_))));
    /// let counts = registry.statistics()[0].counts.unwrap();
    /// assert_eq!((counts.granted, counts.denied), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_before_wait(&self, permits: u64) -> Result<Pass, BeforeWait> {
        if let Some(own) = self.limiter.plain() {
            let answer = own.limiter.try_acquire_then(permits, |answer| answer);
            if self.limiter.is_still_plain() {
                let answer = answer.map(Pass::granted);
                return answer.map_err(|denied| BeforeWait::of(own.terms, denied));
            }
        }
        // Not of the line with counts: the answer is counted here.
        let ask_line = |line: &Line, permits| line.limiter().try_acquire(permits);
        self.limiter.pass_or_wait(NO_KEY, permits, Limiter::try_acquire, ask_line)
    }

    /// Does the same, and returns a [`Receipt`]: it gives back as much as that of
    /// [`try_acquire_revocable`](Limiter::try_acquire_revocable).
    ///
    /// # Errors
    ///
    /// The same as for [`try_before_wait`](LimiterHandle::try_before_wait).
    pub fn try_before_wait_revocable(&self, permits: u64) -> Result<Receipt<'_>, BeforeWait> {
        if let Some(own) = self.limiter.own()
            && own.penalty_left(NO_KEY, permits).is_none()
        {
            let receipt = own.limiter.try_acquire_revocable(permits);
            if self.limiter.is_still_own() {
                return self.limiter.counted_receipt(own, NO_KEY, permits, receipt);
            }
        }
        // What is loaded for this call cannot outlive it.
        self.try_before_wait(permits).map(|pass| Receipt::spent(pass.grant()))
    }
}

/// Calls by callers that wait if they are denied: see [`LimiterHandle::try_before_wait`], which is the same without
/// keys.
impl KeyedHandle {
    /// Does the same as [`try_pass_with`](KeyedHandle::try_pass_with) for a caller that waits for the permits if they are
    /// denied, by [`acquire_with`](KeyedHandle::acquire_with), which then counts as its only call.
    ///
    /// # Errors
    ///
    /// [`BeforeWait`], which tells whether a wait may help.
    pub fn try_before_wait(
        &self,
        key: &(impl AsRef<[u8]> + ?Sized),
        permits: u64,
    ) -> Result<Pass, BeforeWait> {
        let key = key.as_ref();
        if let Some(own) = self.keys.plain() {
            let answer = own.limiter.try_acquire_then(key, permits, |answer| answer);
            if self.keys.is_still_plain() {
                let answer = answer.map(Pass::granted);
                return answer.map_err(|denied| BeforeWait::of(own.terms, denied));
            }
        }
        let mut source = None;
        let pass = self.keys.pass_or_wait(
            key,
            permits,
            |keys, permits| noted(keys.try_acquire_told(key, permits), &mut source),
            |line, permits| line.try_acquire(key, permits),
        )?;
        Ok(pass.of(source))
    }

    /// Does the same, and returns a [`Receipt`]: it gives back as much as that of
    /// [`try_acquire_revocable`](sluicegate::KeyedLimiter::try_acquire_revocable).
    ///
    /// # Errors
    ///
    /// The same as for [`try_before_wait`](KeyedHandle::try_before_wait).
    pub fn try_before_wait_revocable(
        &self,
        key: &(impl AsRef<[u8]> + ?Sized),
        permits: u64,
    ) -> Result<Receipt<'_>, BeforeWait> {
        let key = key.as_ref();
        if let Some(own) = self.keys.own()
            && let Keys::Table(table) = &own.limiter
            && own.penalty_left(key, permits).is_none()
        {
            let receipt = table.try_acquire_revocable(key, permits);
            if self.keys.is_still_own() {
                return self.keys.counted_receipt(own, key, permits, receipt);
            }
        }
        self.try_before_wait(key, permits).map(|pass| Receipt::spent(pass.grant()))
    }
}
