//! A limiter of any kind, shared, without a pointer to a table of methods.
//!
//! A decision is a `match`, so that a bucket's first attempt can be inlined into the caller, as if it
//! had called the bucket itself.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::bucket::*;
use sluicegate::calendar::*;
use sluicegate::compose::All;
use sluicegate::settle::Receipt;
use sluicegate::window::*;
use sluicegate::{Denied, Grant, Limiter};

use crate::SharedClock;
use crate::kind::limiter_types;

/// Evaluates the first expression for the types that have it, and else the second.
macro_rules! when {
    (balance bucket, $has:expr, $lacks:expr) => {
        $has
    };
    (history window, $has:expr, $lacks:expr) => {
        $has
    };
    (history windows, $has:expr, $lacks:expr) => {
        $has
    };
    (limit window, $has:expr, $lacks:expr) => {
        $has
    };
    (inlined inlined, $has:expr, $lacks:expr) => {
        $has
    };
    ($of:ident $kind:ident, $has:expr, $lacks:expr) => {
        $lacks
    };
}

macro_rules! limiter_of_kind {
    ($(($Name:ident, $Limiter:ty, $kind:ident, $call:ident))*) => {
        /// A limiter of one of the kinds of a policy. A clone is the same limiter.
        #[derive(Clone, Debug)]
        pub(crate) enum LimiterOfKind {
            $($Name(Arc<$Limiter>),)*
        }

        $(impl From<$Limiter> for LimiterOfKind {
            fn from(limiter: $Limiter) -> Self {
                LimiterOfKind::$Name(Arc::new(limiter))
            }
        })*

        /// Evaluates `$body` with `$limiter`, whatever its kind.
        macro_rules! each_kind {
            ($of:expr, $limiter:ident => $body:expr) => {
                match $of {
                    $(LimiterOfKind::$Name($limiter) => $body,)*
                }
            };
        }

        #[expect(unused_variables, reason = "not every type has each of these")]
        impl LimiterOfKind {
            /// Returns the permits that a window still counts, and when they were granted; `None` for
            /// limiters that are not windows.
            pub(super) fn history(&self) -> Option<History> {
                match self {
                    $(LimiterOfKind::$Name(limiter) => {
                        when!(history $kind, Some(limiter.snapshot()), None)
                    })*
                }
            }

            /// Returns the balance of a bucket; `None` for limiters that are none.
            pub(super) fn balance(&self) -> Option<Snapshot> {
                match self {
                    $(LimiterOfKind::$Name(limiter) => {
                        when!(balance $kind, Some(limiter.snapshot()), None)
                    })*
                }
            }

            /// Gives a bucket the balance of another, at most to full, and returns true; or returns false
            /// if it is no bucket.
            pub(super) fn set_balance(&self, balance: &Snapshot) -> bool {
                match self {
                    $(LimiterOfKind::$Name(limiter) => when!(
                        balance $kind,
                        {
                            limiter.restore(balance, Duration::ZERO);
                            true
                        },
                        false
                    ),)*
                }
            }

            /// Changes the limit of a window that has one, and returns true; or returns false if it cannot.
            pub(super) fn set_limit(&self, limit: u64) -> bool {
                match self {
                    $(LimiterOfKind::$Name(limiter) => {
                        when!(limit $kind, limiter.reconfigure(limit).is_ok(), false)
                    })*
                }
            }

            /// Takes all of `permits` or none, and returns what `then` makes of the answer.
            ///
            /// The kinds that are called most are inlined into the caller whatever their size: what it
            /// does not ask of the answer is then never computed. For that, each hands over its answer
            /// by itself: where several ways come together, the whole of it would have to be there.
            #[inline(always)]
            pub(super) fn try_acquire_then<T>(
                &self,
                permits: u64,
                then: impl Fn(Result<Grant, Denied>) -> T,
            ) -> T {
                match self {
                    $(LimiterOfKind::$Name(limiter) => when!(
                        inlined $call,
                        then(<$Limiter>::try_acquire(limiter, permits)),
                        then(self.try_acquire_elsewhere(permits))
                    ),)*
                }
            }
        }
    };
}

limiter_types!(limiter_of_kind);

impl LimiterOfKind {
    /// Returns the limiter, to be taken for one of a type.
    pub(super) fn to_any(&self) -> Arc<dyn Any + Send + Sync> {
        each_kind!(self, limiter => Arc::clone(limiter) as Arc<dyn Any + Send + Sync>)
    }

    /// Returns the permits that the limiter counts, and when they were granted: for a bucket those that
    /// are missing, as if they had been granted now; for an `All` those of the part that counts most.
    pub(super) fn counted(&self) -> History {
        if let LimiterOfKind::All(all) = self {
            let parts = all.limiters().iter().map(LimiterOfKind::counted);
            return parts.max_by_key(History::permits).unwrap_or_default();
        }
        self.history().unwrap_or_else(|| {
            let used =
                self.peek(0).map_or(0, |grant| grant.limit().saturating_sub(grant.remaining()));
            History::new([(Duration::ZERO, used)])
        })
    }

    /// Takes `permits`, or as many of them as there are.
    pub(super) fn charge(&self, permits: u64) {
        // Fewer, if the old limiter had a larger limit: then this one is empty, which is right.
        let _ = self.try_acquire_up_to(permits);
    }

    /// Takes all of `permits` or none, of any kind.
    #[inline(never)]
    fn try_acquire_elsewhere(&self, permits: u64) -> Result<Grant, Denied> {
        each_kind!(self, limiter => limiter.try_acquire(permits))
    }
}

impl Limiter for LimiterOfKind {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        each_kind!(self, limiter => limiter.try_acquire(permits))
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        each_kind!(self, limiter => limiter.try_acquire_up_to(permits))
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        each_kind!(self, limiter => limiter.peek(permits))
    }

    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        each_kind!(self, limiter => Limiter::peek_ahead(&**limiter, permits))
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        each_kind!(self, limiter => limiter.try_acquire_revocable(permits))
    }

    fn reset(&self) {
        each_kind!(self, limiter => limiter.reset());
    }

    fn is_idle(&self) -> bool {
        each_kind!(self, limiter => Limiter::is_idle(&**limiter))
    }

    fn healed(&self) -> u64 {
        each_kind!(self, limiter => Limiter::healed(&**limiter))
    }
}

/// Returns an answer if it counts. Both kinds of answers by themselves, so that neither has to be there as
/// a whole for that.
#[inline(always)]
pub(super) fn if_counts(
    answer: Result<Grant, Denied>,
    counts: impl Fn() -> bool,
) -> Option<Result<Grant, Denied>> {
    match answer {
        Ok(grant) if counts() => Some(Ok(grant)),
        Err(denied) if counts() => Some(Err(denied)),
        _ => None,
    }
}
