//! The bucket whose grants can be settled: what is not used of a grant is given back, whatever
//! others have taken since.
//!
//! The state is that of a [`BucketCore`], and four lots (see [`lots`]) on the line of its word.
//! Every unit that is earned has a *birthday*, its place on the level's axis, and a life: it is born
//! when the accrued count is there, and dies when the count is a capacity ahead. A grant takes the
//! oldest living units that the word has; what is given back keeps its birthday.
//!
//! ```text
//! acquire n   as a bucket does, by one CAS of the word. If that has too few, and is not in debt:
//!             claim what is lacking from the lots, the oldest first, by a CAS for each; then take the
//!             rest from the word, or, if there is no rest, see that the word is as it was.
//!             If one of these fails: put the claims back, and start again.
//! give back   cut the units off the receipt, the youngest first. If the word still is where the grant
//!             left it, lower it. Otherwise put them into the lots of their birthdays.
//! ```
//!
//! Progress: lock-free. A look at the word fails only because another call's CAS has succeeded. A
//! claim fails only because another call claimed, or gave back; and a call that gives its claims
//! back failed because of another one that got further. Giving back reads no clock.
//! Memory: that of a `BucketCore`, 48 bytes of it on the line of the word. Cost: an admission by the word is
//! that of a bucket, to the instruction; a denial reads the lots, too.
//!
//! # Why the bound holds
//!
//! **Theorem.** For any interleaving, and whatever value each call reads from the clock between its
//! start and its end, the units that are admitted in any span (s, t] of the clock, less those of
//! them that are given back and kept by somebody else, are at most `capacity + A(t) - A(s)`, and
//! `max_debt` more if debt is taken, as long as the limiter is not reset or healed.
//!
//! *Proof.* At any time each unit is in one place: free in the word, which is to say above the
//! level; free in a lot; held by a receipt or by a call in progress; or gone. It leaves the word by
//! a CAS of the word, and a lot by a CAS of the lot, so only once. It comes back to the word only if
//! the level is at the unit, so that all above it is free; and to a lot only from the call that held
//! it, which has cut it off its receipt before. So (1) no two admissions keep the same unit. (2) All
//! units in lots and receipts are at or below the level. (3) An admission at a reading `a` keeps
//! units above `a - capacity`: those of the word because of the clamp, those of lots because their
//! labels are, and a unit is no older than its label. (4) It keeps units up to `a`, or up to
//! `a + max_debt` if it is forced: those of the word because of the balance; those of lots because
//! the level, which they do not exceed, was seen to be at most `a` after they were claimed. By (3)
//! and (4) all that is kept of admissions in (s, t] is in `(A(s) - capacity, A(t) + max_debt]`, and by
//! (1) there are no more units than that. ∎
//!
//! The step model `settle` checks this, and that each of these conditions is needed.
//!
//! # Why a reserve is left
//!
//! A request that leaves a reserve looks at the word and the lots, and takes by a CAS of the word or sees it again as it was.
//! So nobody has taken from the word since the look. A call that has claimed from lots alone since then found the word
//! empty, by an earlier reading of the clock; it is later than this request, and would be granted as much then. So at the look
//! all permits of both were there together.
//!
//! # Live changes of the terms
//!
//! A change moves the word, so that the last step of every admission under the old terms fails, also
//! of one that took from lots alone. It makes all units up to the new level void (`before_change`):
//! what is in lots, or in receipts, is lost. That goes for every change: of the quota, of the balance
//! (also by a credit, which moves the level past every level from which it fell), and for a change
//! that is given up at its last step. A bucket that is healed is full, so that its level is a
//! capacity behind what is earned, and all that was given back is dead.
//!
//! # What is lost
//!
//! Units given back are honoured until their band begins to die, and from then on one is lost for
//! each one earned. A band is a quarter of the capacity. So what was taken when the bucket was
//! nearly empty is good for three quarters of the time in which the bucket fills, less the time in
//! which as much is earned as was given back. What was taken while the bucket was more than three
//! quarters full may be dead when it is given back. An older band is lost where a younger one needs
//! the lot: it is dying.
//!
//! The bands are those of the first terms. Under terms of another capacity (in units, which is to say
//! in the time in which the bucket fills) they are not quarters any more. If it fills in less time
//! than a band takes, most of what is given back is dead at once; if it fills in more, the lots hold
//! no more units than the first capacity had.

mod claim;
mod given_back;
mod lots;
#[cfg(feature = "wait")]
mod reserve;

use core::cell::Cell;
use core::fmt;

use crate::config::error::ConfigError;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::lease::Lease;
use crate::decision::pieces::Pieces;
use crate::decision::receipt::Receipt;
use crate::decision::snapshot::Snapshot;
use crate::decision::undo::Debit;
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
use crate::decision::undo::Undo;
use crate::settle::estimate::detached::Detached;
use crate::settle::estimate::{Estimate, Hold, Settles};
use crate::sync::Word;
use crate::time::clock::Clock;

use super::BucketCore;
use super::carry::Carry;
use super::charge::{Charge, Refusal, Spend, all_of, all_there_is, leaving, up_to};
use super::spend::{NotSpent, Spent};
use super::terms::Terms;

use self::given_back::GivenBack;

/// A bucket whose grants can be settled.
pub(crate) struct SettleCore<C> {
    bucket: BucketCore<C, GivenBack>,
}

/// A grant, and what it took.
pub(crate) struct Taken {
    grant: Grant,
    pieces: Pieces,
    /// Quarter-units of a permit.
    token: u64,
}

impl<C: Clock + Sync> SettleCore<C> {
    pub(crate) fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
        let Taken { grant, pieces, token } =
            self.take(move |terms, balance| all_of(permits, terms, balance))?;
        Ok(Estimate::new(grant, self, Hold::Units { pieces, token }))
    }

    pub(crate) fn take_up(&self, slot: &mut Option<Detached>) -> Option<Estimate<'_>> {
        Detached::attach(slot, self)
    }
}

impl<C: Clock + Sync> Settles for SettleCore<C> {
    fn give_back(&self, hold: &mut Hold, permits: u64) -> u64 {
        let Hold::Units { pieces, token } = hold else { return 0 };
        // They were granted at this price, so the product does not overflow.
        let cut = pieces.cut(permits.wrapping_mul(*token));
        let lost = self.bucket.line.take_back(cut);
        // A permit of which a part is lost is lost.
        permits.saturating_sub(lost.div_ceil((*token).max(1)))
    }

    fn take_beyond(&self, _: &mut Hold, permits: u64) -> u64 {
        self.force_up_to(permits)
    }
}

impl<C: Clock> SettleCore<C> {
    pub(crate) fn new(terms: Terms, clock: C) -> SettleCore<C> {
        SettleCore { bucket: BucketCore::new(terms, clock) }
    }

    pub(crate) fn starting_with(self, tokens: u64) -> Result<SettleCore<C>, ConfigError> {
        Ok(SettleCore { bucket: self.bucket.starting_with(tokens)? })
    }

    #[inline(always)]
    pub(crate) fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.spend(move |terms, balance| all_of(permits, terms, balance))
    }

    #[inline(always)]
    pub(crate) fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.spend(move |terms, balance| leaving(permits, reserve, terms, balance))
    }

    #[inline(always)]
    fn spend(&self, charge: impl Fn(&Terms, i64) -> Charge + Copy) -> Result<Grant, Denied> {
        let now_nanos = self.bucket.clock.now_nanos();
        match self.bucket.spend_at::<true>(now_nanos, charge) {
            Ok(spent) => Ok(spent.grant()),
            Err(refused) => self.ask_lots(refused, now_nanos, charge).map(|taken| taken.grant),
        }
    }

    fn take(&self, charge: impl Fn(&Terms, i64) -> Charge + Copy) -> Result<Taken, Denied> {
        let now_nanos = self.bucket.clock.now_nanos();
        let token = Cell::new(0);
        let spent = self.bucket.spend_at::<true>(now_nanos, |terms, balance| {
            token.set(terms.token);
            charge(terms, balance)
        });
        match spent {
            Ok(Spent { grant, written, .. }) => {
                let token = token.get();
                // What is granted fits the capacity, so the product does not overflow.
                let units = grant.permits().wrapping_mul(token);
                let pieces = Pieces::of_word(written.with_gate(false).to_bits(), units);
                Ok(Taken { grant, pieces, token })
            }
            Err(refused) => self.ask_lots(refused, now_nanos, charge),
        }
    }

    /// Tries again with what is in the lots, unless the word `refused` for good.
    #[cold]
    #[inline(never)]
    fn ask_lots(
        &self,
        refused: NotSpent,
        now_nanos: u64,
        charge: impl Fn(&Terms, i64) -> Charge,
    ) -> Result<Taken, Denied> {
        if matches!(refused.refusal, Refusal::TooLarge { .. }) {
            return Err(refused.into());
        }
        self.spend_with_lots::<true>(now_nanos, charge).map_err(Denied::from)
    }

    pub(crate) fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.revocable(move |terms, balance| all_of(permits, terms, balance))
    }

    pub(crate) fn try_acquire_leaving_revocable(
        &self,
        permits: u64,
        reserve: u64,
    ) -> Result<Receipt<'_>, Denied> {
        self.revocable(move |terms, balance| leaving(permits, reserve, terms, balance))
    }

    fn revocable(
        &self,
        charge: impl Fn(&Terms, i64) -> Charge + Copy,
    ) -> Result<Receipt<'_>, Denied> {
        let Taken { grant, pieces, .. } = self.take(charge)?;
        Ok(Receipt::new(grant, &*self.bucket.line, Debit::Units(pieces)))
    }

    pub(crate) fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.look(move |terms, balance| all_of(permits, terms, balance))
    }

    pub(crate) fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.look(move |terms, balance| leaving(permits, reserve, terms, balance))
    }

    fn look(&self, charge: impl Fn(&Terms, i64) -> Charge) -> Result<Grant, Denied> {
        let now_nanos = self.bucket.clock.now_nanos();
        let taken = self.spend_with_lots::<false>(now_nanos, charge).map_err(Denied::from)?;
        Ok(taken.grant)
    }

    pub(crate) fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        let now_nanos = self.bucket.clock.now_nanos();
        let charge = move |terms: &Terms, balance| up_to(permits, terms, balance);
        let taken = self.spend_with_lots::<true>(now_nanos, charge).map_err(Denied::from)?;
        Ok(taken.grant)
    }

    pub(crate) fn drain(&self) -> Grant {
        let now_nanos = self.bucket.clock.now_nanos();
        let charge = |terms: &Terms, balance| Ok(all_there_is(terms, balance));
        match self.spend_with_lots::<true>(now_nanos, charge) {
            Ok(taken) => taken.grant,
            Err(NotSpent { forecast, .. }) => Grant { permits: 0, forecast },
        }
    }

    /// Takes `permits`: first what there is, then as many as the debt may be deep. Returns how many.
    fn force_up_to(&self, permits: u64) -> u64 {
        let there = self.try_acquire_up_to(permits).map_or(0, |grant| grant.permits());
        let permits = permits - there;
        if permits == 0 {
            return there;
        }
        let spent = self.bucket.spend::<true>(move |terms, balance| {
            let room = balance.saturating_sub(terms.deepest());
            let permits = permits.min(terms.permits_in(room));
            Ok(match terms.cost(permits) {
                Some(cost) if cost > 0 => Spend::Some { permits, cost, is_forced: true },
                _ => Spend::Nothing,
            })
        });
        there + spent.map_or(0, |spent| spent.grant().permits())
    }

    pub(crate) fn force(&self, permits: u64) -> Result<Grant, Denied> {
        self.bucket.force(permits)
    }

    pub(crate) fn credit(&self, permits: u64) {
        self.bucket.credit(permits);
    }

    pub(crate) fn lease(&self, permits: u64) -> Result<Lease<'_>, Denied> {
        self.bucket.lease(permits)
    }

    pub(crate) fn lease_exact(&self, permits: u64) -> Result<Lease<'_>, Denied> {
        self.bucket.lease_exact(permits)
    }

    #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
    pub(crate) fn line(&self) -> &dyn Undo {
        self.bucket.line()
    }

    pub(crate) fn reset(&self) {
        self.bucket.reset();
    }

    pub(crate) fn reconfigure(&self, new: &Terms, carry: Carry) {
        self.bucket.reconfigure(new, carry, 0);
    }

    pub(crate) fn snapshot(&self, outside: u64) -> Snapshot {
        self.bucket.snapshot(outside)
    }

    pub(crate) fn restore(&self, snapshot: &Snapshot, away_nanos: u64) {
        self.bucket.restore(snapshot, away_nanos);
    }

    pub(crate) fn has_line(&self) -> bool {
        self.bucket.has_line()
    }

    pub(crate) fn healed(&self) -> u64 {
        self.bucket.healed()
    }

    pub(crate) fn clock(&self) -> &C {
        self.bucket.clock()
    }

    pub(crate) fn terms(&self) -> Terms {
        self.bucket.terms()
    }

    pub(crate) fn shown(&self) -> (Terms, u64) {
        self.bucket.shown()
    }
}

impl<C> fmt::Debug for SettleCore<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bucket.fmt(f)
    }
}
