//! Limiters that a limit can ask.

use sluicegate::{KeyedLimiter, Limiter};

use super::refusal::RefusalReason;
use super::take::{All, Take, Taken, ask_after_look, looked};
use crate::client_address::ClientKey;
use crate::fields::PolicyState;

/// Limiters that a [`Limit`](super::Limit) can ask, for keys of the form `Q`: [`All`] for one that all
/// requests share, [`ClientKey`] and `str` for stores of keys.
///
/// | argument | requests |
/// |---|---|
/// | any [`Limiter`] or [`KeyedLimiter`] | take permits, or are refused |
/// | a [`WaitUpTo`](super::WaitUpTo) | wait in line for their permits |
/// | a [`Settled`](super::Settled) | take an estimate, which is settled when the response is known |
/// | a [`Remote`](super::Remote) | are decided elsewhere, such as in a database |
/// | a `ByPolicy` (feature `policy`) | cost, wait and are penalized as the policy of a registry says |
/// | a [`ByShare`](super::ByShare) or a [`ByPriority`](super::ByPriority) | have a share of a limit, or leave a reserve to others |
/// | a [`Penalized`](super::Penalized) | are refused for a time after a number of offences |
/// | a [`Concurrency`](super::Concurrency) | hold a place in flight until the response has ended |
///
/// It cannot be implemented elsewhere: a limiter of your own implements [`Limiter`] or [`KeyedLimiter`].
pub trait LimitBy<Q: ?Sized>: Take<Q> {}

impl<Q: ?Sized, T: Take<Q> + ?Sized> LimitBy<Q> for T {}

impl<L: Limiter + 'static> Take<All> for L {
    fn try_take(&self, _: &All, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        match self.try_acquire(permits) {
            Ok(grant) => Ok(Taken::spent(&grant)),
            Err(denied) => Err(RefusalReason::Denied(denied)),
        }
    }

    fn is_spent_at_once(&self) -> bool {
        true
    }

    fn try_spend(&self, _: &All, permits: u64) -> Result<(), RefusalReason> {
        self.try_acquire(permits).map(drop).map_err(RefusalReason::Denied)
    }

    fn try_take_revocable(&self, _: &All, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        let receipt = self.try_acquire_revocable(permits);
        receipt.map(Taken::revocable).map_err(RefusalReason::Denied)
    }

    fn look(&self, _: &All, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        looked(self.peek(permits))
    }

    fn note_refused_look(&self, key: &All, permits: u64, _: &RefusalReason) {
        ask_after_look(self, key, permits);
    }
}

/// Implements the trait for the stores of one form of keys.
macro_rules! stores {
    ($Key:ty) => {
        impl<S: KeyedLimiter<$Key> + 'static> Take<$Key> for S {
            fn try_take(&self, key: &$Key, permits: u64) -> Result<Taken<'_>, RefusalReason> {
                match self.try_acquire(key, permits) {
                    Ok(grant) => Ok(Taken::spent(&grant)),
                    Err(denied) => Err(RefusalReason::Denied(denied)),
                }
            }

            fn is_spent_at_once(&self) -> bool {
                true
            }

            fn try_spend(&self, key: &$Key, permits: u64) -> Result<(), RefusalReason> {
                self.try_acquire(key, permits).map(drop).map_err(RefusalReason::Denied)
            }

            fn try_take_revocable(
                &self,
                key: &$Key,
                permits: u64,
            ) -> Result<Taken<'_>, RefusalReason> {
                let receipt = self.try_acquire_revocable(key, permits);
                receipt.map(Taken::revocable).map_err(RefusalReason::Denied)
            }

            fn look(
                &self,
                key: &$Key,
                permits: u64,
            ) -> Result<PolicyState<'static>, RefusalReason> {
                looked(self.peek(key, permits))
            }

            fn note_refused_look(&self, key: &$Key, permits: u64, _: &RefusalReason) {
                ask_after_look(self, key, permits);
            }
        }
    };
}

stores!(ClientKey);
stores!(str);
