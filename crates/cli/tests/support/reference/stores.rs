//! Stores that have no space: a key takes some while its limiter differs from a new one.

use std::collections::BTreeMap;

use sluicegate::keyed::WhenFull;
use sluicegate_replay::policy::{Kind, Room, Rule};

use super::Key;
use super::buckets::Bucket;
use super::ideal::Ideal;

/// Decisions of a store without space.
#[derive(Default)]
pub(super) struct Full {
    /// The number of requests.
    pub(super) requests: u64,
    /// The bucket that keys without space share.
    shared: Option<Bucket>,
}

/// Returns true if there is no space for a key that needs some: one that is granted nothing needs none.
pub(super) fn is_full(
    rule: &Rule,
    keys: &BTreeMap<Vec<String>, Key>,
    key: &[String],
    now: i128,
    permits: u64,
) -> bool {
    let Room::Exact { max_keys: Some(most) } = rule.store.room else { return false };
    let needs_space = |key: &Key| !key.ideal.is_idle(now);
    let kind: &Kind = rule.kind_of(key.join("\n").as_bytes());
    permits > 0
        && keys.len() >= most
        && !keys.get(key).is_some_and(needs_space)
        && Ideal::new(kind, now).fits(now, permits)
        && keys.values().filter(|key| needs_space(key)).count() >= most
}

impl Full {
    /// Decides about a request without space.
    pub(super) fn admits(&mut self, when_full: WhenFull, now: i128, permits: u64) -> bool {
        self.requests += 1;
        match when_full {
            WhenFull::Admit => true,
            WhenFull::Share(quota) => {
                let full = || Bucket::smooth(quota, quota.burst(), now);
                let shared = self.shared.get_or_insert_with(full);
                let fits = shared.fits(now, permits);
                if fits {
                    shared.take(now, permits);
                }
                fits
            }
            _ => false,
        }
    }
}
