//! Looks at limiters for several checks of one question, each with those before it.

use std::collections::HashMap;

use sluicegate::{Denied, ManualClock, Quota, TokenBucket};

use super::answer::{Answer, Share};
use super::ask::{Ask, RefusedLook};

/// The permits that the checks of a question ask for so far.
///
/// A limiter is looked at for the sum of what its key is asked for, since its limit is for them together. The tenants of a
/// limiter with shares are looked at as they would be asked one after the other: a tenant has permits of its share
/// while that lasts, and what is lent to it or to others, and what is taken of shares, is lent to nobody after it.
#[derive(Default)]
pub(crate) struct Sums<'a> {
    /// By limiter and key.
    sums: HashMap<(&'a str, &'a [u8]), Sum>,
    /// The permits of all tenants, by limiter.
    tenants: HashMap<&'a str, u64>,
}

/// The permits of a key.
#[derive(Clone, Copy, Default)]
struct Sum {
    /// Permits of the tenant's share; all of them for a limiter without shares.
    own: u64,
    lent: u64,
}

impl<'a> Sums<'a> {
    /// Returns the answer to a check after those before it, and takes nothing; with the refusal that can be
    /// [noted](Ask::note_refusal).
    pub(crate) async fn look<'l>(&mut self, ask: &'a Ask<'l>) -> (Answer<'l>, Option<RefusedLook>) {
        let permits = ask.permits();
        let sum = self.sums.entry(ask.limiter_and_key()).or_default();
        let own = sum.own.saturating_add(permits);
        let Some(shared) = ask.limiter().policy().kind.shared_quota() else {
            sum.own = own;
            return ask.look_for(own).await;
        };
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
        match lent(shared, lendable, with_all) {
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
