//! Kinds whose keys have one limiter in common: groups of tenants, and classes of requests.

use std::fmt;

use indicatif::HumanCount;
use sluicegate::share::{Priorities, PriorityClass, Share};
use sluicegate::{Clock, ConfigError, Quota, TokenBucket};

use super::{Kind, words};

/// Tenants that have equal shares of a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareGroup {
    /// The keys of its tenants, each of which has a place of its own. Empty for the group of all others.
    pub tenants: Vec<String>,
    /// The share of each tenant, with the number of places.
    pub share: Share,
}

/// A class of requests, and the permits that it leaves to the classes before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassPolicy {
    /// The name, which answers tell.
    pub name: String,
    /// The keys of its requests.
    pub values: Vec<String>,
    /// The permits that have to remain when a request of the class is granted.
    pub reserve: u64,
}

impl Kind {
    /// Returns true if all keys have one limiter in common, so that a key has none by itself.
    #[must_use]
    pub fn is_common(&self) -> bool {
        matches!(self, Kind::Shares { .. } | Kind::Priorities { .. })
    }

    /// Returns the class of a key: that which has it among its values, or else the last one. `None` for a limiter
    /// without classes.
    #[must_use]
    pub fn class_of(&self, key: &[u8]) -> Option<&ClassPolicy> {
        self.classes().get(self.class_index(key)?)
    }

    /// Returns the classes; none for a limiter without them.
    pub(crate) fn classes(&self) -> &[ClassPolicy] {
        let Kind::Priorities { classes, .. } = self else { return &[] };
        classes
    }

    /// Returns the index of the class of a key.
    pub(crate) fn class_index(&self, key: &[u8]) -> Option<usize> {
        let has_key = |class: &ClassPolicy| class.values.iter().any(|own| own.as_bytes() == key);
        let classes = self.classes();
        classes.iter().position(has_key).or(classes.len().checked_sub(1))
    }

    /// Returns the quota that tenants share, and the permits of it that are never lent: the sum of all assured bursts.
    /// `None` unless the policy is of shares.
    #[must_use]
    pub fn shared_quota(&self) -> Option<(Quota, u64)> {
        let Kind::Shares { quota, groups } = self else { return None };
        Some((*quota, kept(groups)))
    }

    /// Returns the kind with its keys as `spelled` writes them.
    pub(crate) fn with_keys(mut self, spelled: impl Fn(&str) -> String) -> Kind {
        self.keys_mut().for_each(|key| *key = spelled(key));
        self
    }

    fn keys_mut(&mut self) -> Box<dyn Iterator<Item = &mut String> + '_> {
        match self {
            Kind::Shares { groups, .. } => {
                Box::new(groups.iter_mut().flat_map(|group| &mut group.tenants))
            }
            Kind::Priorities { classes, .. } => {
                Box::new(classes.iter_mut().flat_map(|class| &mut class.values))
            }
            _ => Box::new(std::iter::empty()),
        }
    }
}

/// Returns the limiter of these classes.
pub(crate) fn priorities<C: Clock + Send + Sync>(
    quota: Quota,
    classes: &[ClassPolicy],
    clock: C,
) -> Result<Priorities<TokenBucket<C>>, ConfigError> {
    let classes = classes.iter().map(|ClassPolicy { name, reserve, .. }| PriorityClass {
        name: name.clone().into(),
        reserve: *reserve,
    });
    Priorities::new(TokenBucket::with_clock(quota, clock), classes)
}

/// Returns the sum of all assured bursts: the permits that are never lent.
pub(crate) fn kept(groups: &[ShareGroup]) -> u64 {
    Share::sum_of_bursts(groups.iter().map(|group| &group.share))
}

/// Returns the most permits that a tenant may ever be granted at once, assured or lent.
pub(super) fn most_of_groups(quota: Quota, groups: &[ShareGroup]) -> u64 {
    groups.iter().map(|group| most_of_group(quota, groups, group)).max().unwrap_or(0)
}

/// Returns the most permits that a tenant of one of the groups may ever be granted at once, assured or lent.
pub(crate) fn most_of_group(quota: Quota, groups: &[ShareGroup], group: &ShareGroup) -> u64 {
    let lent = quota.burst().saturating_sub(kept(groups));
    let own = group.share.assured().burst();
    let below = |ceiling: Quota| ceiling.burst().saturating_sub(own);
    own.max(group.share.ceiling().map_or(lent, |ceiling| lent.min(below(ceiling))))
}

/// Writes the limit for all, and that of each group.
pub(super) fn write_shares(
    quota: Quota,
    groups: &[ShareGroup],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(f, "shares of {}", words::burst(quota))?;
    for group in groups {
        write!(f, "; {group}: {}", words::burst(group.share.assured()))?;
        if let Some(ceiling) = group.share.ceiling() {
            write!(f, ", at most {}", words::burst(ceiling))?;
        }
    }
    Ok(())
}

/// Writes the limit, and the reserve of each class.
pub(super) fn write_classes(
    quota: Quota,
    classes: &[ClassPolicy],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(f, "priorities: {}", words::burst(quota))?;
    for (place, class) in classes.iter().enumerate() {
        let name = crate::escaped(&class.name);
        write!(f, "{} {name}", if place == 0 { ";" } else { "," })?;
        if class.reserve > 0 {
            write!(f, " leaves {}", HumanCount(class.reserve))?;
        }
    }
    Ok(())
}

/// Names the tenants: the only one, the first of several, or the number of others.
impl fmt::Display for ShareGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tenants[..] {
            [] if self.share.tenants() == 1 => f.write_str("one other"),
            [] => write!(f, "each of {} others", HumanCount(self.share.tenants() as u64)),
            [only] => f.write_str(&crate::escaped(only)),
            [first, second] => {
                write!(f, "each of {} and {}", crate::escaped(first), crate::escaped(second))
            }
            [first, others @ ..] => {
                write!(f, "each of {} and {} more", crate::escaped(first), others.len())
            }
        }
    }
}
