//! Handles of limiters that are divided by keys.

use std::fmt;
use std::sync::Arc;

use sluicegate::settle::Receipt;
use sluicegate::{Denied, Grant, KeyedLimiter};

use super::keys::Keys;
use super::limiter_of_kind::if_counts;
use super::shadow::{Pass, ShadowCounts, noted};
use super::slot::{Follower, Slot};
use crate::LimiterPolicy;

/// A named limiter of a [`Registry`](super::Registry) that limits each key by itself.
///
/// A key is text or bytes. [`LimiterPolicy::subject`] makes that of a request by the policy's key
/// expression; a program that makes its own joins several fields by a byte that none of them contains.
/// The handle is a [`KeyedLimiter`] of `str` and of `[u8]`.
///
/// **Cost.** A decision loads one word more than that of the store, as for a
/// [`LimiterHandle`](super::LimiterHandle). A store with limits for each key
/// ([`Keyed`](sluicegate::Keyed)) takes a lock of its own, shared, in one of 128 parts; a table takes
/// none.
///
/// # Examples
///
/// ```
/// use sluicegate_policy::{Policies, Registry};
///
/// let registry = Registry::new(Policies::from_toml("p.toml", r#"
/// [limiters.logins]
/// policy = "sliding_window"
/// key = "user"
/// limit = 3
/// interval = "1 hour"
/// overrides.robot = { limit = 100 }
/// "#)?)?;
/// let logins = registry.keyed("logins")?;
/// assert_eq!(logins.try_acquire("ada", 1)?.remaining(), 2);
/// assert_eq!(logins.try_acquire("robot", 1)?.remaining(), 99);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct KeyedHandle {
    pub(super) name: Arc<str>,
    pub(super) keys: Follower<Keys>,
}

impl KeyedHandle {
    pub(super) fn new(name: &Arc<str>, slot: &Arc<Slot<Keys>>) -> Self {
        KeyedHandle { name: Arc::clone(name), keys: slot.follower() }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the policy in force. The caller applies its key and its filter, and its cost where that
    /// depends on the request. Wait-free; does not allocate.
    #[must_use]
    pub fn policy(&self) -> Arc<LimiterPolicy> {
        self.keys.place().policy()
    }

    /// Returns the counts of all keys while the policy has `shadow`. Wait-free; may be out of date.
    #[must_use]
    pub fn shadow_counts(&self) -> ShadowCounts {
        self.keys.place().shadow.counts()
    }

    /// Returns the permits that can be lent now, to all tenants together; `None` if the policy is not of shares. Reads
    /// the clock.
    #[must_use]
    pub fn lendable(&self) -> Option<u64> {
        self.keys.place().in_force().limiter.common()?.lendable()
    }

    /// Takes the store in force for the handle's own, so that its calls cost least. Without effect if
    /// it was not replaced.
    pub fn refresh(&mut self) {
        self.keys.refresh();
    }

    /// Takes all of `permits` for the key, or none. A request for 0 permits is always granted.
    ///
    /// Reads the clock once. Allocates for a new key, unless the store is a table. Waits for other
    /// calls only as [`Keyed`](sluicegate::Keyed) does.
    ///
    /// # Errors
    ///
    /// [`Denied`], which tells whether to retry, and when.
    #[inline(always)]
    pub fn try_acquire(
        &self,
        key: &(impl AsRef<[u8]> + ?Sized),
        permits: u64,
    ) -> Result<Grant, Denied> {
        let key = key.as_ref();
        let if_counts = |answer| if_counts(answer, || self.keys.is_still_plain());
        if let Some(own) = self.keys.plain()
            && let Some(answer) = own.limiter.try_acquire_then(key, permits, if_counts)
        {
            return answer;
        }
        // Taken apart here: see `LimiterHandle::try_acquire`.
        self.pass(key, Some(permits)).map(|pass| pass.grant())
    }

    #[cold]
    #[inline(never)]
    fn try_elsewhere(&self, key: &[u8], permits: u64) -> Result<Grant, Denied> {
        self.pass(key, Some(permits)).map(|pass| pass.grant())
    }

    /// Takes the permits of the policy's `cost` for the key, or none, and tells whether the call would
    /// have been denied if it were not for `shadow`. Otherwise the same as
    /// [`try_acquire`](KeyedHandle::try_acquire), and as
    /// [`LimiterHandle::try_pass`](super::LimiterHandle::try_pass).
    ///
    /// # Errors
    ///
    /// [`Denied`]; never with `shadow`.
    #[inline]
    pub fn try_pass(&self, key: &(impl AsRef<[u8]> + ?Sized)) -> Result<Pass, Denied> {
        let key = key.as_ref();
        let if_counts = |answer| if_counts(answer, || self.keys.is_still_plain());
        if let Some(own) = self.keys.plain()
            && let Some(answer) = own.limiter.try_acquire_then(key, own.terms.cost, if_counts)
        {
            return answer.map(Pass::granted);
        }
        self.pass(key, None)
    }

    /// Does the same as [`try_pass`](KeyedHandle::try_pass) for so many permits.
    ///
    /// # Errors
    ///
    /// The same as for [`try_pass`](KeyedHandle::try_pass).
    pub fn try_pass_with(
        &self,
        key: &(impl AsRef<[u8]> + ?Sized),
        permits: u64,
    ) -> Result<Pass, Denied> {
        self.pass(key.as_ref(), Some(permits))
    }

    /// Takes as many of `permits` as are available for the key, at least one. Otherwise the same as
    /// [`try_acquire`](KeyedHandle::try_acquire). With `shadow` it takes as many, and grants all: one that
    /// would be granted fewer counts as denied.
    ///
    /// # Errors
    ///
    /// [`Denied`] if not even one permit is available.
    pub fn try_acquire_up_to(
        &self,
        key: &(impl AsRef<[u8]> + ?Sized),
        permits: u64,
    ) -> Result<Grant, Denied> {
        let key = key.as_ref();
        let pass = self.keys.pass_up_to(
            key,
            permits,
            |keys, permits| keys.try_acquire(key, permits),
            |keys, permits| keys.try_acquire_up_to(key, permits),
            |line, permits| line.try_acquire_up_to(key, permits),
        )?;
        Ok(pass.grant())
    }

    /// Returns the answer that [`try_acquire`](KeyedHandle::try_acquire) would give. Takes nothing.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](KeyedHandle::try_acquire).
    pub fn peek(&self, key: &(impl AsRef<[u8]> + ?Sized), permits: u64) -> Result<Grant, Denied> {
        self.peek_pass(key, permits).map(|pass| pass.grant())
    }

    /// Returns the answer that [`try_pass_with`](KeyedHandle::try_pass_with) would give: it tells whether the call
    /// would be denied, if it were not for `shadow`. Takes and counts nothing.
    ///
    /// # Errors
    ///
    /// The same as for [`try_pass`](KeyedHandle::try_pass).
    pub fn peek_pass(
        &self,
        key: &(impl AsRef<[u8]> + ?Sized),
        permits: u64,
    ) -> Result<Pass, Denied> {
        let key = key.as_ref();
        let mut source = None;
        let pass = self.keys.look(
            key,
            permits,
            |keys, permits| noted(keys.peek_told(key, permits), &mut source),
            |line, permits| line.peek(key, permits),
        )?;
        Ok(pass.of(source))
    }

    /// Counts a denial that a look at a key has told, as if the permits had been asked for: in the statistics, and as an
    /// offence if the policy says so of refusals. For callers that ask several limiters and look at all of them first.
    pub fn note_denial(&self, key: &(impl AsRef<[u8]> + ?Sized), permits: u64, denied: &Denied) {
        let key = key.as_ref();
        let own = self.keys.place().in_force();
        // Before the denial may begin a penalty, which is no affair of a class.
        if let Some(common) = own.limiter.common()
            && own.penalty_left(key, permits).is_none()
        {
            common.note_denial(key, permits, denied);
        }
        self.keys.note_look(key, permits, denied);
    }

    /// Counts a request for so many permits that the caller has denied, since it has no value of the key and the policy
    /// says so: [`Subject::Denied`](crate::Subject::Denied). The limiter is not asked, so it cannot know of it. Not to be
    /// called with `shadow`, which denies nothing.
    pub fn count_missing_key(&self, permits: u64) {
        self.keys.place().count_missing_key(permits);
    }
}

impl KeyedHandle {
    fn batch(&self, batch: &[&[u8]], permits: u64) -> Vec<Result<Grant, Denied>> {
        let answers = self.keys.decide(|in_force| {
            let is_plain = !in_force.terms.is_shadow
                && in_force.offenders.is_none()
                && !self.keys.has_waiters(in_force.terms);
            is_plain.then(|| (in_force.terms, in_force.limiter.try_acquire_batch(batch, permits)))
        });
        let counted = answers.map(|(terms, answers)| {
            for answer in &answers {
                self.keys.place().count(terms, permits, answer.as_ref());
            }
            answers
        });
        counted
            .unwrap_or_else(|| batch.iter().map(|key| self.try_elsewhere(key, permits)).collect())
    }
}

/// Writes the trait for keys of type `$Key`, whose bytes `$bytes` returns.
macro_rules! keyed_limiter {
    ($Key:ty, $bytes:expr) => {
        impl KeyedLimiter<$Key> for KeyedHandle {
            #[inline]
            fn try_acquire(&self, key: &$Key, permits: u64) -> Result<Grant, Denied> {
                let key = $bytes(key);
                if let Some(own) = self.keys.plain() {
                    // The whole answer is needed, so it is cheapest to look once, where all ways come together.
                    let answer = own.limiter.try_acquire_then(key, permits, |answer| answer);
                    if self.keys.is_still_plain() {
                        return answer;
                    }
                }
                self.try_elsewhere(key, permits)
            }

            fn try_acquire_up_to(&self, key: &$Key, permits: u64) -> Result<Grant, Denied> {
                KeyedHandle::try_acquire_up_to(self, key, permits)
            }

            /// Receipts cannot give anything back, unless the store is a table that was not replaced
            /// since the handle was made or refreshed; nor with `shadow`, or while callers wait.
            fn try_acquire_revocable(
                &self,
                key: &$Key,
                permits: u64,
            ) -> Result<Receipt<'_>, Denied> {
                if let Some(own) = self.keys.own()
                    && let Keys::Table(table) = &own.limiter
                    && own.penalty_left($bytes(key), permits).is_none()
                {
                    let receipt = table.try_acquire_revocable($bytes(key), permits);
                    if self.keys.is_still_own() {
                        self.keys.count_receipt(own, $bytes(key), permits, &receipt);
                        return receipt;
                    }
                }
                self.try_acquire(key, permits).map(Receipt::spent)
            }

            /// The store's, if nobody waits for any key, and no `shadow` lets calls through; otherwise one
            /// key after the other. Allocates.
            fn try_acquire_batch_with(
                &self,
                keys: &mut dyn Iterator<Item = &$Key>,
                permits: u64,
                answer: &mut dyn FnMut(usize, Result<Grant, Denied>),
            ) {
                let batch: Vec<&[u8]> = keys.map($bytes).collect();
                for (index, own) in self.batch(&batch, permits).into_iter().enumerate() {
                    answer(index, own);
                }
            }

            fn peek(&self, key: &$Key, permits: u64) -> Result<Grant, Denied> {
                KeyedHandle::peek(self, key, permits)
            }

            /// Makes the key full, and ends its penalty. The share of a tenant is not made full, since others rely on
            /// theirs; the bucket of all classes is.
            fn reset(&self, key: &$Key) {
                self.pardon(key);
                self.keys.line().reset($bytes(key));
            }

            /// Forgets the key, and its offences.
            fn remove(&self, key: &$Key) -> bool {
                self.pardon(key);
                self.keys.line().remove($bytes(key))
            }

            fn len(&self) -> usize {
                self.keys.line().len()
            }

            fn sweep(&self) -> usize {
                self.keys.line().sweep()
            }

            fn memory_bytes(&self) -> usize {
                self.keys.line().memory_bytes()
            }

            fn healed(&self) -> u64 {
                self.keys.line().healed()
            }
        }
    };
}

keyed_limiter!([u8], |key| key);
keyed_limiter!(str, str::as_bytes);

/// A clone has the store in force for its own, as if it was [refreshed](KeyedHandle::refresh).
impl Clone for KeyedHandle {
    fn clone(&self) -> Self {
        KeyedHandle { name: Arc::clone(&self.name), keys: self.keys.clone() }
    }
}

/// Shows the name and the terms.
impl fmt::Debug for KeyedHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.policy().kind.to_string();
        f.debug_struct("KeyedHandle").field("name", &self.name).field("kind", &kind).finish()
    }
}
