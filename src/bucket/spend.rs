//! The loop that spends: all operations that raise the level by a cost.

use core::cell::Cell;

use crate::contention::{Contender, Pauses};
use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;
use crate::decision::lease::{Lease, Leased};
use crate::decision::receipt::Receipt;
use crate::decision::undo::Debit;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::Word;
use crate::time::clock::Clock;

use super::BucketCore;
use super::charge::{Charge, Refusal, Spend, all_of, all_there_is, into_debt, leaving, up_to};
use super::level::{Level, UNIT};
use super::reserved::ReservedCapacity;
use super::terms::Terms;

/// The result of one attempt.
enum Attempt {
    Spent(Spent),
    NotSpent(NotSpent),
    /// Not granted, because others wait in line; for the caller alone, there would have to be
    /// `wanted`.
    Behind {
        wanted: i64,
    },
    /// An answer from an impossible level, or at an impossible time.
    Impossible(Result<Spent, NotSpent>),
    /// No answer; the next attempt starts from the word found.
    Missed {
        found: Level,
        /// True if a CAS failed.
        has_lost: bool,
    },
}

/// A grant, and the word before and after it.
pub(crate) struct Spent {
    pub(super) grant: Grant,
    pub(super) seen: Level,
    pub(super) written: Level,
}

/// A refusal, and the limiter's state at that moment.
pub(crate) struct NotSpent {
    pub(crate) refusal: Refusal,
    pub(crate) forecast: Forecast,
}

impl<C: Clock, L: ReservedCapacity> BucketCore<C, L> {
    #[inline(always)]
    pub(crate) fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.spend::<true>(move |terms, balance| all_of(permits, terms, balance)).map(Spent::grant)
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

    /// Takes what `charge` decides, with a receipt.
    #[inline(always)]
    fn revocable(&self, charge: impl Fn(&Terms, i64) -> Charge) -> Result<Receipt<'_>, Denied> {
        let granted = self.spend::<true>(charge)?;
        let (before, after) = (granted.seen.to_bits(), granted.written.to_bits());
        Ok(Receipt::new(granted.grant, &*self.line, Debit::Word { before, after }))
    }

    pub(crate) fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.spend::<false>(move |terms, balance| all_of(permits, terms, balance)).map(Spent::grant)
    }

    #[inline(always)]
    pub(crate) fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        let charge = move |terms: &Terms, balance| leaving(permits, reserve, terms, balance);
        self.spend::<true>(charge).map(Spent::grant)
    }

    pub(crate) fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        let charge = move |terms: &Terms, balance| leaving(permits, reserve, terms, balance);
        self.spend::<false>(charge).map(Spent::grant)
    }

    pub(crate) fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.spend::<true>(move |terms, balance| up_to(permits, terms, balance)).map(Spent::grant)
    }

    pub(crate) fn lease(&self, permits: u64) -> Result<Lease<'_>, Denied> {
        self.lease_by(|terms, balance| up_to(permits, terms, balance))
    }

    pub(crate) fn lease_exact(&self, permits: u64) -> Result<Lease<'_>, Denied> {
        if permits > Lease::MAX {
            // Even if that many are available.
            let limit = self.peek(0)?.limit().min(Lease::MAX);
            return Err(Denied::TooLarge { limit, which: 0 });
        }
        self.lease_by(|terms, balance| all_of(permits, terms, balance))
    }

    /// Takes what `charge` decides, for a lease.
    #[inline(always)]
    fn lease_by(&self, charge: impl Fn(&Terms, i64) -> Charge) -> Result<Lease<'_>, Denied> {
        let token = Cell::new(0);
        let granted = self.spend::<true>(|terms, balance| {
            token.set(terms.token);
            charge(terms, balance)
        })?;
        let (written, token) = (granted.written.to_bits(), token.get());
        Ok(Lease::new(granted.grant, &*self.line, Leased::Level { written, token }))
    }

    pub(crate) fn force(&self, permits: u64) -> Result<Grant, Denied> {
        let granted = self.spend::<true>(move |terms, balance| into_debt(permits, terms, balance));
        granted.map(Spent::grant)
    }

    pub(crate) fn drain(&self) -> Grant {
        let now_nanos = self.clock.now_nanos();
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `never_admits_more_than_the_bound`, `terms_are_never_mixed`.
        let seen = self.line.word.load(Acquire);
        let drained =
            self.spend_from::<true>((seen, Pauses::new()), now_nanos, 0, |terms, balance| {
                Ok(all_there_is(terms, balance))
            });
        match drained {
            Ok(granted) => granted.grant,
            Err(NotSpent { forecast, .. }) => Grant { permits: 0, forecast },
        }
    }

    /// Spends what `charge` decides, if `SPEND`. Inlined up to the first attempt, so that parts of
    /// the answer that the caller does not use are not computed.
    #[inline(always)]
    pub(crate) fn spend<const SPEND: bool>(
        &self,
        charge: impl Fn(&Terms, i64) -> Charge,
    ) -> Result<Spent, Denied> {
        self.spend_by::<SPEND>(self.clock.now_nanos(), charge)
    }

    /// Does the same by a reading of the clock.
    #[inline(always)]
    pub(crate) fn spend_by<const SPEND: bool>(
        &self,
        now_nanos: u64,
        charge: impl Fn(&Terms, i64) -> Charge,
    ) -> Result<Spent, Denied> {
        // Not by `spend_at`: there the answers of the first attempts and that of the loop share their memory,
        // so every call would compute and store the whole answer, used or not (40 of 80 instructions).
        match self.first_attempts::<SPEND>(now_nanos, &charge) {
            Ok(answer) => answer.map_err(Denied::from),
            Err(start) => {
                self.spend_from::<SPEND>(start, now_nanos, 0, charge).map_err(Denied::from)
            }
        }
    }

    /// Does the same, and tells more of a refusal.
    #[inline(always)]
    pub(super) fn spend_at<const SPEND: bool>(
        &self,
        now_nanos: u64,
        charge: impl Fn(&Terms, i64) -> Charge,
    ) -> Result<Spent, NotSpent> {
        match self.first_attempts::<SPEND>(now_nanos, &charge) {
            Ok(answer) => answer,
            Err(start) => self.spend_from::<SPEND>(start, now_nanos, 0, charge),
        }
    }

    /// Makes first attempts, until one has an answer or the loop has to go on from where they end.
    #[inline(always)]
    fn first_attempts<const SPEND: bool>(
        &self,
        now_nanos: u64,
        charge: &impl Fn(&Terms, i64) -> Charge,
    ) -> Result<Result<Spent, NotSpent>, (Level, Pauses)> {
        // ORDERING: Acquire. The level names the slot of its terms; this makes the stores that
        // filled the slot visible. Pairs with the CAS in `change_locked`. A stale level is
        // harmless: the CAS in `attempt` fails on it, and a denial loads the word again.
        // MODEL: `terms_are_never_mixed`.
        let mut seen = self.line.word.load(Acquire);
        let mut pauses = Pauses::new();
        loop {
            match self.attempt::<SPEND>(seen, now_nanos, 0, charge, None) {
                Attempt::Spent(granted) => return Ok(Ok(granted)),
                Attempt::NotSpent(refused) => return Ok(Err(refused)),
                Attempt::Impossible(answer) => return Ok(answer),
                Attempt::Behind { .. } => return Err((seen, pauses)),
                // Decide again from the word that the winner left; the clock is not read again.
                Attempt::Missed { has_lost: true, .. } if pauses.may_try_again() => {
                    seen = self.look_again();
                }
                Attempt::Missed { found, .. } => return Err((found, pauses)),
            }
        }
    }

    /// The loop. Starts from the word as it was `seen` by a first attempt that had these `pauses`. The
    /// caller's `own` permits of the reserved capacity have only just been reserved.
    #[inline(never)]
    pub(crate) fn spend_from<const SPEND: bool>(
        &self,
        (mut seen, pauses): (Level, Pauses),
        mut now_nanos: u64,
        own: u64,
        charge: impl Fn(&Terms, i64) -> Charge,
    ) -> Result<Spent, NotSpent> {
        let mut contender = Contender::after(Some(&self.line.contention), pauses);
        if contender.is_announced() {
            seen = self.look_again();
        }
        let mut may_heal = true;
        loop {
            match self.attempt::<SPEND>(seen, now_nanos, own, &charge, Some(&mut contender)) {
                Attempt::Spent(granted) => return Ok(granted),
                Attempt::NotSpent(refused) => return Err(refused),
                Attempt::Impossible(_) if may_heal && self.heal() => {
                    may_heal = false;
                    self.poke();
                    now_nanos = self.clock.now_nanos();
                    // ORDERING: Acquire, as in `spend`.
                    // MODEL: `a_change_right_after_a_healing_is_seen_whole`.
                    seen = self.line.word.load(Acquire);
                }
                Attempt::Impossible(answer) => return answer,
                Attempt::Behind { wanted } => match self.ask_at_the_gate(wanted, now_nanos) {
                    Ok((found, now)) => (seen, now_nanos) = (found, now),
                    Err(refused) => return Err(refused),
                },
                Attempt::Missed { found, has_lost } => {
                    seen = found;
                    // Readers do not contend, so only a lost race is worth a pause.
                    if has_lost {
                        contender.lost_race();
                        seen = self.look_again();
                    }
                }
            }
        }
    }

    /// Loads the word again after a lost race or a step back: others have moved it on.
    pub(super) fn look_again(&self) -> Level {
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `a_caller_that_paused_is_told_of_the_terms_in_force`.
        self.line.word.load(Acquire)
    }

    /// Makes one attempt on the word as it was `seen`, with one CAS if there is anything to spend.
    ///
    /// The first attempt has no `contender` yet, and leaves rare cases to the next one: stepped
    /// accrual, a clock that went back, a debt, a request that is too large, a starved caller. That
    /// keeps its code short enough to be inlined.
    #[inline(always)]
    fn attempt<const SPEND: bool>(
        &self,
        seen: Level,
        now_nanos: u64,
        own: u64,
        charge: &impl Fn(&Terms, i64) -> Charge,
        contender: Option<&mut Contender<'_>>,
    ) -> Attempt {
        let is_first = contender.is_none();
        let terms = match self.slots.named_by_open(seen) {
            Some(terms) => terms,
            None if is_first => return Attempt::Missed { found: seen, has_lost: false },
            None => self.slots.named_by(seen),
        };
        let accrued = match terms.accrued_simply(now_nanos) {
            Some(accrued) => accrued,
            None if is_first => return Attempt::Missed { found: seen, has_lost: false },
            None => terms.accrued(now_nanos),
        };
        let capacity = self.line.reserved.left_of(&terms, own);
        let open = if is_first { seen } else { seen.with_gate(false) };
        let balance = open.balance(accrued, capacity);
        let mut charged = charge(&terms, balance);
        let is_gated = !is_first && seen.is_gated();
        if is_gated && !matches!(charged, Ok(Spend::Some { is_forced: true, .. })) {
            // What there is belongs to those in line.
            let would_spend = matches!(charged, Ok(Spend::Some { .. }));
            charged = charge(&terms, balance.min(0));
            match charged {
                Err(Refusal::Wait { wanted }) => return Attempt::Behind { wanted },
                Ok(_) if would_spend => return Attempt::Behind { wanted: 0 },
                _ => {}
            }
        }
        if let Ok(Spend::Some { permits, cost, .. }) = charged
            && SPEND
        {
            let others_first = match contender {
                Some(contender) => contender.has_stepped_back(),
                None => self.line.contention.is_announced(),
            };
            if others_first {
                let found = if is_first { seen } else { self.look_again() };
                return Attempt::Missed { found, has_lost: false };
            }
            let next = open.spend(cost, accrued, capacity);
            let next = if is_gated { next.with_gate(true) } else { next };
            // ORDERING: AcqRel on success. Acquire and Release, so that the actions of one admitted
            // caller before its request are visible to the next one; and Release for the argument
            // in `TermSlots::named_by`. The bound itself needs neither: the word's CASes have one
            // order under any ordering. Relaxed on failure: the word is loaded again.
            // MODEL: `never_admits_more_than_the_bound`, `terms_are_never_mixed`,
            // `a_granted_caller_sees_what_those_before_it_did`.
            return match self.line.word.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => {
                    let forecast = terms.forecast(balance - cost, now_nanos);
                    let grant = Grant { permits, forecast };
                    Attempt::Spent(Spent { grant, seen, written: next })
                }
                Err(found) => Attempt::Missed { found, has_lost: true },
            };
        }
        if is_first && (balance < 0 || matches!(charged, Err(Refusal::TooLarge { .. }))) {
            return Attempt::Missed { found: seen, has_lost: false };
        }
        // No CAS follows to validate the terms, so re-check the word.
        if let Err(found) = self.still(seen) {
            return Attempt::Missed { found, has_lost: false };
        }
        let (permits, cost) = match charged {
            Ok(Spend::Nothing) | Err(_) => (0, 0),
            Ok(Spend::Some { permits, cost, .. }) => (permits, cost),
        };
        let forecast = terms.forecast(balance - cost, now_nanos);
        let answer = match charged {
            Ok(_) => Ok(Spent { grant: Grant { permits, forecast }, seen, written: seen }),
            Err(refusal) => Err(NotSpent { refusal, forecast }),
        };
        match answer {
            _ if !is_first && terms.is_impossible(balance, now_nanos) => {
                Attempt::Impossible(answer)
            }
            Ok(granted) => Attempt::Spent(granted),
            Err(refused) => Attempt::NotSpent(refused),
        }
    }
}

impl Spent {
    #[inline(always)]
    pub(crate) fn grant(self) -> Grant {
        self.grant
    }
}

impl From<NotSpent> for Denied {
    #[inline(always)]
    fn from(NotSpent { refusal, forecast, .. }: NotSpent) -> Denied {
        match refusal {
            Refusal::Wait { wanted } => {
                Denied::Wait(Shortfall { wanted: wanted / UNIT as i64, forecast, which: 0 })
            }
            Refusal::TooLarge { limit } => Denied::TooLarge { limit, which: 0 },
        }
    }
}
