//! The same limiter at the times that the log has, beside that at times spread over a second.
//!
//! A log of whole seconds does not say when within its second a line came. That matters to limiters
//! that count in times as short: for them both figures are told.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::{ManualClock, Quota, Rate};

use super::keys::{Keys, keys};
use super::offenders::Offenders;
use crate::log::Line;
use crate::policy::{Kind, Rule};

/// A limiter whose time is up to so many stamps long is judged in both ways.
const SHORT_STAMPS: u32 = 5;

/// A limiter whose lines all come at the beginning of their second.
#[derive(Debug, Default)]
pub(super) struct Stamped {
    store: Option<Box<dyn Keys>>,
    offenders: Option<Offenders>,
    /// Lines that it admitted, and that it refused.
    pub(super) allowed: u64,
    pub(super) denied: u64,
}

impl Stamped {
    pub(super) fn judge(
        &mut self,
        rule: &Rule,
        line: &Line<'_>,
        key: &[u8],
        permits: u64,
        clock: &Arc<ManualClock>,
    ) {
        if let Some(penalty) = &rule.penalty {
            let offenders = self.offenders.get_or_insert_with(|| Offenders::new(penalty, clock));
            if offenders.denial(key, permits).is_some() {
                self.denied += 1;
                return;
            }
        }
        let store = self.store.get_or_insert_with(|| keys(rule, clock));
        let decision = store.try_acquire(key, permits).decision;
        if let Some(offenders) = &mut self.offenders {
            offenders.note(key, line, &decision);
        }
        match decision {
            Ok(_) => self.allowed += 1,
            Err(_) => self.denied += 1,
        }
    }
}

/// Returns true if a limiter's time is about as short as the time between stamps.
pub(super) fn is_short(kind: &Kind, resolution: Duration) -> bool {
    shortest(kind) <= resolution * SHORT_STAMPS
}

/// Returns the shortest time over which a limiter counts.
fn shortest(kind: &Kind) -> Duration {
    let refill = |quota: &Quota| {
        let rate = quota.rate();
        let nanos = rate.period().as_nanos() * u128::from(quota.burst());
        Duration::from_nanos(u64::try_from(nanos / u128::from(rate.permits())).unwrap_or(u64::MAX))
    };
    if let Some(quota) = kind.quota() {
        return refill(quota);
    }
    match kind {
        Kind::Shares { quota, .. } | Kind::Priorities { quota, .. } => refill(quota),
        Kind::Gcra { interval, tolerance } => interval.saturating_add(*tolerance),
        Kind::LeakyMinInterval(rate) => refill(&Quota::new(*rate)).min(rate.period()),
        Kind::MultiWindow { limits, .. } => {
            limits.iter().map(|limit| limit.period()).min().unwrap_or(Duration::MAX)
        }
        Kind::All(parts) => parts.iter().map(shortest).min().unwrap_or(Duration::MAX),
        _ => kind.window().map_or(Duration::MAX, Rate::period),
    }
}
