//! The counts of limiters that all keys have in common: of each tenant, and of each class.

use std::cmp::Reverse;

use indicatif::HumanCount;
use serde::Serialize;
use sluicegate_policy::Kind;
use sluicegate_replay::replay::Tally;

/// The counts of tenants that share a limit: of the keys whose counts were kept, if not all were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SharesSummary {
    /// Tenants.
    pub tenants: usize,
    /// Lines that were admitted within the shares of their tenants.
    pub assured: u64,
    /// Lines that were admitted with permits that were lent.
    pub borrowed: u64,
    /// Lines that were refused.
    pub denied: u64,
    /// The tenants with the most lines, by falling number and then by name.
    pub top: Vec<TenantSummary>,
}

/// The counts of one tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TenantSummary {
    /// The key.
    pub tenant: String,
    /// Lines that were admitted within its share.
    pub assured: u64,
    /// Lines that were admitted with permits that were lent to it.
    pub borrowed: u64,
    /// Lines that were refused.
    pub denied: u64,
}

/// The counts of one class: of the keys whose counts were kept, if not all were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClassSummary {
    /// The name.
    pub class: String,
    /// Permits that it leaves to others.
    pub reserve: u64,
    /// Lines that were admitted.
    pub allowed: u64,
    /// Lines that were refused.
    pub denied: u64,
}

impl SharesSummary {
    /// Returns the counts of the tenants, with the `top` of them, or all if that is 0. `None` if keys are no tenants.
    #[must_use]
    pub fn new<'t>(
        kind: &Kind,
        keys: impl Iterator<Item = (String, &'t Tally)>,
        top: usize,
    ) -> Option<SharesSummary> {
        let Kind::Shares { .. } = kind else { return None };
        let mut tenants: Vec<TenantSummary> = keys
            .map(|(tenant, tally)| {
                let Tally { allowed, borrowed, denied, .. } = *tally;
                TenantSummary { tenant, assured: allowed - borrowed, borrowed, denied }
            })
            .collect();
        tenants
            .sort_by(|a, b| (Reverse(a.lines()), &a.tenant).cmp(&(Reverse(b.lines()), &b.tenant)));
        let sum = |of: fn(&TenantSummary) -> u64| tenants.iter().map(of).sum();
        let summary = SharesSummary {
            tenants: tenants.len(),
            assured: sum(|tenant| tenant.assured),
            borrowed: sum(|tenant| tenant.borrowed),
            denied: sum(|tenant| tenant.denied),
            top: Vec::new(),
        };
        if top > 0 {
            tenants.truncate(top);
        }
        Some(SharesSummary { top: tenants, ..summary })
    }

    /// Returns the counts of the tenants that are not listed, if there are any.
    pub(super) fn others(&self) -> Option<TenantSummary> {
        let count = self.tenants - self.top.len();
        let sum = |of: fn(&TenantSummary) -> u64| self.top.iter().map(of).sum::<u64>();
        (count > 0).then(|| TenantSummary {
            tenant: match count {
                1 => "1 other".to_owned(),
                _ => format!("{} others", HumanCount(count as u64)),
            },
            assured: self.assured - sum(|tenant| tenant.assured),
            borrowed: self.borrowed - sum(|tenant| tenant.borrowed),
            denied: self.denied - sum(|tenant| tenant.denied),
        })
    }
}

impl TenantSummary {
    /// Returns the number of its lines.
    pub(super) fn lines(&self) -> u64 {
        self.assured + self.borrowed + self.denied
    }
}

impl ClassSummary {
    /// Returns the counts of each class, in the order of the policy. Empty if keys tell no class.
    #[must_use]
    pub fn all<'t>(
        kind: &Kind,
        keys: impl Iterator<Item = (String, &'t Tally)>,
    ) -> Vec<ClassSummary> {
        let Kind::Priorities { classes, .. } = kind else { return Vec::new() };
        let none = |class: &sluicegate_policy::ClassPolicy| ClassSummary {
            class: class.name.clone(),
            reserve: class.reserve,
            allowed: 0,
            denied: 0,
        };
        let mut summaries: Vec<ClassSummary> = classes.iter().map(none).collect();
        for (key, tally) in keys {
            let Some(class) = kind.class_of(key.as_bytes()) else { continue };
            if let Some(own) = summaries.iter_mut().find(|own| own.class == class.name) {
                own.allowed += tally.allowed;
                own.denied += tally.denied;
            }
        }
        summaries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tenants_that_are_not_listed_are_counted_in_words() {
        let tenant =
            TenantSummary { tenant: "acme".to_owned(), assured: 2, borrowed: 0, denied: 1 };
        let others = |tenants| {
            let top = vec![tenant.clone()];
            SharesSummary { tenants, assured: 5, borrowed: 1, denied: 2, top }.others()
        };
        assert_eq!(others(1), None);
        let other =
            TenantSummary { tenant: "1 other".to_owned(), assured: 3, borrowed: 1, denied: 1 };
        assert_eq!(others(2), Some(other.clone()));
        for (tenants, named) in [(3, "2 others"), (1_744, "1,743 others")] {
            let other = TenantSummary { tenant: named.to_owned(), ..other.clone() };
            assert_eq!(others(tenants), Some(other));
        }
    }
}
