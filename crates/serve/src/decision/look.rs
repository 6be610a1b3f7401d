//! Looks at limiters for several checks of one question, each with those before it.

use std::collections::HashMap;

use sluicegate::{Denied, ManualClock, Quota, TokenBucket};

use super::answer::{Answer, Share};
use super::ask::{Ask, RefusedLook};
use super::side_by_side::side_by_side;

/// An answer, with the refusal that can be [noted](Ask::note_refusal).
type Look<'l> = (Answer<'l>, Option<RefusedLook>);

/// Returns the answers to several checks, and takes nothing. Those that are asked of servers are asked side by side.
///
/// A limiter is looked at for the sum of what its key is asked for so far, since its limit is for them together. The tenants
/// of a limiter with shares are looked at as they would be asked one after the other: see [`Shared`].
pub(crate) async fn look_at_all<'a, 'l: 'a>(
    asks: impl Iterator<Item = &'a Ask<'l>> + Clone,
) -> Vec<Look<'l>> {
    let mut sums = HashMap::<_, u64>::new();
    let looks = side_by_side(asks.clone().map(|ask| {
        let sum = sums.entry(ask.limiter_and_key()).or_default();
        *sum = sum.saturating_add(ask.permits());
        let permits = *sum;
        async move {
            match ask.limiter().policy().kind.shared_quota() {
                Some(quota) => Err(quota),
                None => Ok(ask.look_for(permits).await),
            }
        }
    }));
    let mut all = Vec::new();
    let mut shared = Shared::default();
    for (ask, look) in asks.zip(looks.await) {
        all.push(match look {
            Ok(look) => look,
            Err(quota) => shared.look(ask, quota).await,
        });
    }
    all
}

/// The permits that tenants are asked for so far.
///
/// A tenant has permits of its share while that lasts; what is lent to it or to others, and what is taken of
/// shares, is lent to nobody after it.
#[derive(Default)]
struct Shared<'a> {
    /// By limiter and tenant.
    sums: HashMap<(&'a str, &'a [u8]), Sum>,
    /// The permits of all tenants, by limiter.
    tenants: HashMap<&'a str, u64>,
}

/// The permits of a tenant.
#[derive(Clone, Copy, Default)]
struct Sum {
    own: u64,
    lent: u64,
}

impl<'a> Shared<'a> {
    /// Looks for a tenant. The `quota` is that of all tenants, with the permits that are kept of it.
    async fn look<'l>(&mut self, ask: &'a Ask<'l>, quota: (Quota, u64)) -> Look<'l> {
        let permits = ask.permits();
        let sum = self.sums.entry(ask.limiter_and_key()).or_default();
        let own = sum.own.saturating_add(permits);
        let of_all = self.tenants.entry(ask.limiter().name()).or_default();
        let (answer, denied) = ask.look_for(own).await;
        if answer.share == Some(Share::Assured) {
            sum.own = own;
            *of_all = of_all.saturating_add(permits);
            return (answer, denied);
        }
        // The share has too little, so a look for more tells what is lent, below the ceiling.
        let whole = own.saturating_add(sum.lent);
        let (answer, denied) = ask.look_for(whole).await;
        // Denied, or else the share has grown since.
        let (Some(Share::Borrowed), Some(left)) = (answer.share, answer.remaining) else {
            return (answer, denied);
        };
        let with_all = of_all.saturating_add(permits);
        // A server tells what this tenant can borrow, which its ceiling may make less.
        let lendable = ask.lendable().unwrap_or(left.saturating_add(whole));
        match lent(quota, lendable, with_all) {
            Ok(()) => {
                sum.lent = sum.lent.saturating_add(permits);
                *of_all = with_all;
                (answer, denied)
            }
            Err(denied) => ask.refused_look(denied),
        }
    }
}

/// Answers whether so many permits can be lent while as many as `lendable` are there above the `kept` ones.
///
/// Asks a bucket like theirs, which tells the wait to one permit's time.
fn lent((quota, kept): (Quota, u64), lendable: u64, permits: u64) -> Result<(), Denied> {
    let common = TokenBucket::with_clock(quota, ManualClock::new());
    common.try_acquire(quota.burst().saturating_sub(lendable.saturating_add(kept)))?;
    common.peek_leaving(permits, kept).map(drop)
}
