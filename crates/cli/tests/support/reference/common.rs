//! A bucket that all keys have in common: shares of tenants, and classes with reserves.

use std::collections::BTreeMap;

use sluicegate::Quota;
use sluicegate_replay::policy::Kind;

use super::buckets::Bucket;

/// The bucket of all keys, and those of tenants.
pub(super) struct Common {
    kind: Kind,
    all: Bucket,
    /// The share of each tenant that was granted something of it.
    own: BTreeMap<String, Bucket>,
    ceilings: BTreeMap<String, Bucket>,
}

/// A grant: whether its permits were lent.
pub(super) struct Granted {
    pub(super) is_borrowed: bool,
}

impl Common {
    /// Returns the bucket of all keys, if they have one in common.
    pub(super) fn new(kind: &Kind, now: i128) -> Option<Common> {
        let (Kind::Shares { quota, .. } | Kind::Priorities { quota, .. }) = kind else {
            return None;
        };
        let all = full(*quota, now);
        Some(Common { kind: kind.clone(), all, own: BTreeMap::new(), ceilings: BTreeMap::new() })
    }

    pub(super) fn judge(&mut self, key: &str, now: i128, permits: u64) -> Option<Granted> {
        match self.kind.clone() {
            Kind::Priorities { classes, .. } => {
                let has_key = |values: &[String]| values.iter().any(|value| value == key);
                let class = classes.iter().find(|class| has_key(&class.values));
                let class = class.or(classes.last()).unwrap();
                (permits == 0 || self.all.fits(now, permits + class.reserve)).then(|| {
                    self.all.take(now, permits);
                    Granted { is_borrowed: false }
                })
            }
            Kind::Shares { groups, .. } => {
                let names = |key: &str| {
                    groups.iter().position(|group| group.tenants.iter().any(|own| own == key))
                };
                let others = groups.iter().position(|group| group.tenants.is_empty());
                let group = names(key).or(others);
                let kept: u64 = groups
                    .iter()
                    .map(|group| group.share.assured().burst() * group.share.tenants() as u64)
                    .sum();
                let Some(group) = group else { return self.borrow(now, permits, kept) };
                if permits == 0 {
                    return Some(Granted { is_borrowed: false });
                }
                let share = groups[group].share;
                self.own.retain(|_, bucket| !bucket.is_idle(now));
                let is_of_group = |tenant: &&String| names(tenant).or(others) == Some(group);
                let has_place = self.own.contains_key(key)
                    || self.own.keys().filter(is_of_group).count() < share.tenants();
                let ceiling = share.ceiling().map(|quota| {
                    self.ceilings.entry(key.to_owned()).or_insert_with(|| full(quota, now))
                });
                let mut own = self.own.remove(key).unwrap_or_else(|| full(share.assured(), now));
                if has_place && own.fits(now, permits) {
                    own.take(now, permits);
                    self.own.insert(key.to_owned(), own);
                    self.all.take(now, permits);
                    if let Some(ceiling) = ceiling {
                        ceiling.take(now, permits);
                    }
                    return Some(Granted { is_borrowed: false });
                }
                if has_place {
                    self.own.insert(key.to_owned(), own);
                }
                let fits = |ceiling: &Bucket| ceiling.fits(now, permits + share.assured().burst());
                if !ceiling.is_none_or(|ceiling| fits(ceiling)) {
                    return None;
                }
                let granted = self.borrow(now, permits, kept)?;
                self.ceilings
                    .get_mut(key)
                    .into_iter()
                    .for_each(|ceiling| ceiling.take(now, permits));
                Some(granted)
            }
            _ => unreachable!("it has one of these kinds"),
        }
    }

    fn borrow(&mut self, now: i128, permits: u64, kept: u64) -> Option<Granted> {
        (permits == 0 || self.all.fits(now, permits + kept)).then(|| {
            self.all.take(now, permits);
            Granted { is_borrowed: true }
        })
    }
}

fn full(quota: Quota, now: i128) -> Bucket {
    Bucket::smooth(quota, quota.burst(), now)
}
