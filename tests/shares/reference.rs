//! Shares in exact numbers: a bucket for all, and two for each tenant, which are never removed.

use sluicegate::share::{Share, ShareGrant};
use sluicegate::{Denied, Quota};

/// Parts of a permit: all rates of the tests earn whole parts in a nanosecond.
pub(super) const PART: i128 = 40_000_000;

/// A bucket that counts in parts of a permit.
#[derive(Clone, Debug)]
pub(super) struct Exact {
    quota: Quota,
    held: i128,
    at_nanos: u64,
}

impl Exact {
    fn new(quota: Quota, at_nanos: u64) -> Exact {
        Exact { quota, held: i128::from(quota.burst()) * PART, at_nanos }
    }

    fn pass(&mut self, now_nanos: u64) {
        let rate = self.quota.rate();
        let per_nano = i128::from(rate.permits()) * PART / rate.period().as_nanos() as i128;
        assert_eq!(per_nano * rate.period().as_nanos() as i128, i128::from(rate.permits()) * PART);
        let earned = i128::from(now_nanos - self.at_nanos) * per_nano;
        self.held = (self.held + earned).min(i128::from(self.quota.burst()) * PART);
        self.at_nanos = now_nanos;
    }

    fn holds(&self, permits: u64) -> bool {
        i128::from(permits) * PART <= self.held
    }

    /// Whole permits that one who leaves `kept` may take.
    fn above(&self, kept: u64) -> u64 {
        ((self.held / PART) as u64).saturating_sub(kept)
    }

    fn take(&mut self, permits: u64) {
        self.held -= i128::from(permits) * PART;
    }

    fn change(&mut self, quota: Quota) {
        self.held = self.held.min(i128::from(quota.burst()) * PART);
        self.quota = quota;
    }

    /// Nanoseconds until it holds so many, `None` if it never does.
    fn wait(&self, permits: u64) -> Option<u128> {
        let rate = self.quota.rate();
        if permits > self.quota.burst() {
            return None;
        }
        let missing = (i128::from(permits) * PART - self.held).max(0) as u128;
        let per_nano = u128::from(rate.permits()) * PART as u128 / rate.period().as_nanos();
        Some(missing.div_ceil(per_nano))
    }
}

#[derive(Clone, Debug)]
struct Tenant {
    assured: Exact,
    ceiling: Option<Exact>,
}

#[derive(Clone, Debug)]
struct Group {
    share: Share,
    /// The last is a tenant that never asks: one that holds as much is idle.
    tenants: Vec<Tenant>,
}

#[derive(Clone, Debug)]
pub(super) struct Reference {
    common: Exact,
    groups: Vec<Group>,
    kept: u64,
}

/// An answer: which, what remains, or the wait in nanoseconds (`None` for ever).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Assured(u64),
    Borrowed(u64),
    Refused(Option<u128>),
    /// Refused while another tenant has the place: with a wait that the reference does not know.
    Full,
}

impl Answer {
    pub(super) fn of(answer: Result<ShareGrant, Denied>) -> Answer {
        match answer {
            Ok(ShareGrant::Assured(grant)) => Answer::Assured(grant.remaining()),
            Ok(ShareGrant::Borrowed(grant)) => Answer::Borrowed(grant.remaining()),
            Err(Denied::Full { .. }) => Answer::Full,
            Err(denied) => Answer::Refused(denied.retry_after().map(|wait| wait.as_nanos())),
        }
    }
}

impl Reference {
    pub(super) fn new(quota: Quota, shares: &[Share], tenants: usize, now_nanos: u64) -> Reference {
        let groups = shares.iter().map(|&share| {
            let ceiling = share.ceiling().map(|ceiling| Exact::new(ceiling, now_nanos));
            let tenant = Tenant { assured: Exact::new(share.assured(), now_nanos), ceiling };
            Group { share, tenants: vec![tenant; tenants + 1] }
        });
        Reference {
            common: Exact::new(quota, now_nanos),
            groups: groups.collect(),
            kept: kept_of(shares),
        }
    }

    fn pass(&mut self, now_nanos: u64) {
        self.common.pass(now_nanos);
        for tenant in self.groups.iter_mut().flat_map(|group| &mut group.tenants) {
            tenant.assured.pass(now_nanos);
            if let Some(ceiling) = &mut tenant.ceiling {
                ceiling.pass(now_nanos);
            }
        }
    }

    pub(super) fn change(&mut self, quota: Quota, shares: &[Share], now_nanos: u64) {
        self.pass(now_nanos);
        for (group, &share) in self.groups.iter_mut().zip(shares) {
            for tenant in &mut group.tenants {
                // A burst that is lowered cuts off, one that is raised adds nothing.
                tenant.assured.change(share.assured());
                if let (Some(bucket), Some(ceiling)) = (&mut tenant.ceiling, share.ceiling()) {
                    bucket.change(ceiling);
                }
            }
            group.share = share;
        }
        self.common.change(quota);
        self.kept = kept_of(shares);
    }

    pub(super) fn ask(&mut self, group: usize, who: usize, permits: u64, now_nanos: u64) -> Answer {
        self.pass(now_nanos);
        let kept = self.kept;
        let common_wait = self.common.wait(permits.saturating_add(kept));
        let Some(group) = self.groups.get_mut(group) else {
            return lend(&mut self.common, permits, kept).unwrap_or(Answer::Refused(common_wait));
        };
        let idle = group.tenants.last().unwrap().assured.held;
        let others = group.tenants.iter().filter(|tenant| tenant.assured.held != idle).count();
        let tenant = &mut group.tenants[who];
        let has_place = tenant.assured.held != idle || others < group.share.tenants();
        if permits == 0 {
            return Answer::Assured(u64::try_from(tenant.assured.held / PART).unwrap());
        }
        if tenant.assured.holds(permits) && has_place {
            tenant.assured.take(permits);
            if let Some(ceiling) = &mut tenant.ceiling {
                ceiling.take(permits);
                assert!(ceiling.held >= 0, "the ceiling is in debt");
            }
            self.common.take(permits);
            assert!(self.common.held >= 0, "the common bucket is in debt");
            return Answer::Assured((tenant.assured.held / PART) as u64);
        }
        let own_burst = group.share.assured().burst();
        let below = permits.saturating_add(own_burst);
        let ceiling_wait = tenant.ceiling.as_ref().map_or(Some(0), |ceiling| ceiling.wait(below));
        let is_below = tenant.ceiling.as_ref().is_none_or(|ceiling| ceiling.holds(below));
        if is_below && let Some(answer) = lend(&mut self.common, permits, kept) {
            let (Some(ceiling), Answer::Borrowed(left)) = (&mut tenant.ceiling, answer) else {
                return answer;
            };
            ceiling.take(permits);
            return Answer::Borrowed(left.min(ceiling.above(own_burst)));
        }
        let borrows = common_wait.zip(ceiling_wait).map(|(one, other)| one.max(other));
        if !has_place && tenant.assured.holds(permits) {
            return Answer::Full;
        }
        let own = tenant.assured.wait(permits);
        Answer::Refused(match (own, borrows) {
            (Some(own), Some(borrows)) => Some(own.min(borrows)),
            (own, borrows) => own.or(borrows),
        })
    }
}

fn lend(common: &mut Exact, permits: u64, kept: u64) -> Option<Answer> {
    if permits > 0 && !common.holds(permits.saturating_add(kept)) {
        return None;
    }
    common.take(permits);
    Some(Answer::Borrowed(common.above(kept)))
}

fn kept_of(shares: &[Share]) -> u64 {
    shares.iter().map(|share| share.assured().burst() * share.tenants() as u64).sum()
}
