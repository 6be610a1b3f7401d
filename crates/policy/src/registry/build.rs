//! Limiters of a kind, which start full or with what another limiter has used.
//!
//! | old | new | carried |
//! |---|---|---|
//! | bucket | bucket | the balance, up to the new burst |
//! | any | window | the grants that the old one counts, and when they were made; those that a bucket misses as if they were made now |
//! | any | bucket | as many permits as the old one counts, as if they were used now |
//! | any | `all` | to each part: from an equal part, the same limiter; from one of the same algorithm, or else from the whole, as above |

use std::sync::Arc;
use std::time::Duration;

use sluicegate::bucket::*;
use sluicegate::calendar::*;
use sluicegate::compose::All;
use sluicegate::window::*;

use super::clocks::Clocks;
use super::limiter_of_kind::LimiterOfKind;
use crate::kind::{limiter_of, match_parts};
use crate::{Kind, Unbuildable};

/// The factor by which the limit of a window from the first request can be raised in place. Its
/// resolution is coarser by the same factor: 2 us for a limit of 100.
const FROM_FIRST_ROOM: u64 = 16;

/// A limiter, the kind that it is of, and what is to be carried over to another.
pub(super) struct Before<'a> {
    kind: &'a Kind,
    limiter: &'a LimiterOfKind,
    counted: History,
}

impl<'a> Before<'a> {
    /// Describes a limiter that has counted nothing but what it still knows.
    pub(super) fn new(kind: &'a Kind, limiter: &'a LimiterOfKind) -> Self {
        Before { kind, limiter, counted: limiter.counted() }
    }

    /// Describes a limiter that has taken the place of others, with all that is `counted`.
    pub(super) fn with(self, counted: History) -> Self {
        Before { counted, ..self }
    }
}

impl Clocks {
    /// Creates a limiter of `kind`, without the padding of a hot word if it is that of a `key`.
    pub(super) fn limiter(
        &self,
        kind: &Kind,
        is_of_key: bool,
        from: Option<&Before<'_>>,
    ) -> Result<LimiterOfKind, Unbuildable> {
        let clock = &self.elapsed;
        /// Returns a window, with the history restored.
        macro_rules! restored {
            ($window:expr) => {{
                let mut window = $window;
                if let Some(before) = from {
                    window.restore(&before.counted, Duration::ZERO);
                }
                return Ok(LimiterOfKind::from(window));
            }};
        }
        macro_rules! bucket {
            ($bucket:expr) => {
                LimiterOfKind::from($bucket)
            };
        }
        macro_rules! all {
            ($parts:expr) => {
                return self.all($parts, is_of_key, from)
            };
        }
        let limiter = match kind {
            // One that takes over what was used has begun before.
            Kind::TokenBucket { quota, .. } if from.is_some() => {
                LimiterOfKind::from(TokenBucket::with_clock(*quota, clock.clone()))
            }
            Kind::WindowFromFirst(limit) => {
                // Room for a larger limit, so that it can be raised in place.
                let most = limit.permits().saturating_mul(FROM_FIRST_ROOM);
                let window = || WindowFromFirst::with_clock(*limit, clock.clone());
                if let Ok(roomy) = window()?.with_max_limit(most) {
                    restored!(roomy)
                }
                restored!(window()?)
            }
            Kind::SlidingWindow { limit, slots } if !is_of_key => {
                restored!(SlidingWindow::with_slots(*limit, *slots, clock.clone())?)
            }
            kind => {
                limiter_of!(kind, clock.clone(), self.unix.clone(), bucket, restored, all)
            }
        };
        if let Some(Before { limiter: old, counted, .. }) = from
            && !old.balance().is_some_and(|balance| limiter.set_balance(&balance))
        {
            limiter.charge(counted.permits());
        }
        Ok(limiter)
    }

    fn all(
        &self,
        parts: &[Kind],
        is_of_key: bool,
        from: Option<&Before<'_>>,
    ) -> Result<LimiterOfKind, Unbuildable> {
        let (kinds, limiters) = match from {
            Some(Before { kind: Kind::All(kinds), limiter: LimiterOfKind::All(all), .. }) => {
                (&kinds[..], all.limiters())
            }
            _ => (&[][..], &[][..]),
        };
        let matched = match_parts(parts, kinds.iter().zip(limiters));
        let limiters: Result<Vec<_>, Unbuildable> = parts
            .iter()
            .zip(matched)
            .map(|(part, old)| match old {
                Some((kind, limiter)) if kind == part => Ok(limiter.clone()),
                old => {
                    let alike = old.map(|(kind, limiter)| Before::new(kind, limiter));
                    self.limiter(part, is_of_key, alike.as_ref().or(from))
                }
            })
            .collect();
        Ok(LimiterOfKind::All(Arc::new(All::new(limiters?)?)))
    }
}
