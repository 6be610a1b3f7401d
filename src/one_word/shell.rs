//! The core's atomics: one loop that spends, and one that changes the terms.

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::decision::{Denied, Grant, Outlook, Shortfall};
use crate::sync::{
    AtomicWord, Backoff,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
    fence,
};
use crate::{Clock, Snapshot};

use super::change::{Carry, Holding};
use super::level::{Level, UNIT};
use super::slots::Slots;
use super::terms::Terms;

/// A limiter whose state is one word.
pub(crate) struct OneWord<C> {
    word: CachePadded<AtomicWord<Level>>,
    slots: Slots,
    clock: C,
    /// 1 while a call changes the terms: the others wait for it. No other verb
    /// looks at it.
    changing: AtomicWord<u64>,
    healed: AtomicWord<u64>,
}

/// What a verb makes of the terms and of what there is to spend.
type Charge = Result<Spend, Refusal>;

/// Spend `cost` half-units and grant `permits`.
struct Spend {
    permits: u64,
    cost: i64,
}

enum Refusal {
    /// Not until there are `wanted` half-units.
    Wait { wanted: i64 },
    /// Not ever.
    TooLarge,
}

/// A refusal, and the limiter as it stood.
struct Refused {
    refusal: Refusal,
    outlook: Outlook,
}

impl<C: Clock> OneWord<C> {
    /// A limiter on `terms` that holds `initial` tokens.
    pub(crate) fn new(terms: Terms, initial: u64, clock: C) -> OneWord<C> {
        let balance = initial.saturating_mul(terms.token).min(terms.capacity) as i64;
        let terms = Terms {
            origin_nanos: clock.now_nanos(),
            base: Level::ZERO.accrued_at(balance),
            ..terms
        };
        OneWord {
            word: CachePadded::new(AtomicWord::new(Level::ZERO)),
            slots: Slots::new(terms),
            clock,
            changing: AtomicWord::new(0),
            healed: AtomicWord::new(0),
        }
    }

    pub(crate) fn clock(&self) -> &C {
        &self.clock
    }

    /// How often an impossible level was healed.
    pub(crate) fn healed(&self) -> u64 {
        // ORDERING: Relaxed. A statistic; nothing is decided by it.
        // MODEL: `an_impossible_level_is_healed_once`.
        self.healed.load(Relaxed)
    }

    // === Spending ===

    #[inline]
    pub(crate) fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        Ok(self.spend::<true>(|terms, balance| all_of(permits, terms, balance))?)
    }

    pub(crate) fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        Ok(self.spend::<false>(|terms, balance| all_of(permits, terms, balance))?)
    }

    pub(crate) fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        Ok(self.spend::<true>(|terms, balance| {
            // If there is nothing, it is the first permit that is refused.
            let there = terms.permits_in(balance).max(1);
            all_of(permits.min(there), terms, balance)
        })?)
    }

    pub(crate) fn force(&self, permits: u64) -> Result<Grant, Denied> {
        Ok(self.spend::<true>(|terms, balance| {
            let deepest = terms.deepest();
            let most = (terms.capacity as i64).saturating_sub(deepest);
            match i64::try_from(u128::from(permits) * u128::from(terms.token)) {
                Ok(cost) if cost == 0 || balance.saturating_sub(cost) >= deepest => {
                    Ok(Spend { permits, cost })
                }
                Ok(cost) if cost <= most => {
                    Err(Refusal::Wait { wanted: deepest.saturating_add(cost) })
                }
                _ => Err(Refusal::TooLarge),
            }
        })?)
    }

    pub(crate) fn drain(&self) -> Grant {
        self.spend::<true>(|terms, balance| {
            Ok(Spend { permits: terms.permits_in(balance), cost: balance.max(0) })
        })
        .unwrap_or_else(|refused| Grant { permits: 0, outlook: refused.outlook })
    }

    /// The one loop: spends what `charge` says, by one CAS, if `SPEND`.
    #[inline]
    fn spend<const SPEND: bool>(
        &self,
        charge: impl Fn(&Terms, i64) -> Charge,
    ) -> Result<Grant, Refused> {
        let mut now_nanos = self.clock.now_nanos();
        let mut may_heal = true;
        let backoff = Backoff::new();
        // ORDERING: Acquire. The level names the slot of its terms; this makes
        // the stores that filled the slot visible. Pairs with the CAS in
        // `change_locked`. A stale level is harmless: the CAS below fails on it,
        // and a denial looks again.
        // MODEL: `terms_are_never_mixed`.
        let mut seen = self.word.load(Acquire);
        loop {
            let terms = self.slots.named_by(seen);
            let accrued = terms.accrued(now_nanos);
            let balance = seen.balance(accrued, terms.capacity);
            let charged = charge(&terms, balance);
            match charged {
                Ok(Spend { permits, cost }) if SPEND && cost > 0 => {
                    let left = balance - cost;
                    let next = Level::leaving(left, accrued);
                    // ORDERING: AcqRel on success. Acquire and Release, so that
                    // what one admitted caller did before it asked is visible to
                    // the next one; and Release for the argument in
                    // `Slots::named_by`. The bound itself needs neither: the
                    // word's CASes have one order under any ordering.
                    // Acquire on failure, because the level found may name the
                    // other slot, as for the load above.
                    // MODEL: `never_admits_more_than_the_bound`,
                    // `terms_are_never_mixed`.
                    match self.word.compare_exchange_weak(seen, next, AcqRel, Acquire) {
                        Ok(_) => {
                            return Ok(Grant { permits, outlook: terms.outlook(left, now_nanos) });
                        }
                        // Lost the race. Decide again from what the winner left,
                        // a little later, so that it can go on; the clock is not
                        // read again.
                        Err(found) => {
                            seen = found;
                            backoff.spin();
                            continue;
                        }
                    }
                }
                _ => {}
            }
            // Nothing to write, so no CAS vouches for the terms.
            if let Err(found) = self.still(seen) {
                seen = found;
                continue;
            }
            match charged {
                Ok(Spend { permits, cost }) => {
                    let outlook = terms.outlook(balance.saturating_sub(cost), now_nanos);
                    return Ok(Grant { permits, outlook });
                }
                Err(_) if balance < 0 && balance < terms.floor() && may_heal && self.heal() => {
                    may_heal = false;
                    now_nanos = self.clock.now_nanos();
                    // ORDERING: Acquire, as for the load above.
                    // MODEL: `an_impossible_level_is_healed_once`.
                    seen = self.word.load(Acquire);
                }
                Err(refusal) => {
                    return Err(Refused { refusal, outlook: terms.outlook(balance, now_nanos) });
                }
            }
        }
    }

    /// Whether the word is still `seen`, so that the terms it named are not a
    /// mixture; the word as it is now if not.
    #[inline]
    fn still(&self, seen: Level) -> Result<(), Level> {
        // ORDERING: an Acquire fence, so that the look at the word comes after
        // the loads of the terms. Pairs with the Release stores in
        // `Slots::prepare`: had one of them been seen, so would be the CAS before
        // them that moved the word on.
        // MODEL: `a_denial_is_never_from_mixed_terms`.
        fence(Acquire);
        // ORDERING: Acquire, because the caller goes on with the level found.
        // MODEL: `a_denial_is_never_from_mixed_terms`.
        let found = self.word.load(Acquire);
        if found == seen { Ok(()) } else { Err(found) }
    }

    // === Changing the terms ===

    pub(crate) fn reset(&self) {
        self.change(|terms, _| (*terms, Holding::full(terms)));
    }

    pub(crate) fn reconfigure(&self, new: &Terms, carry: Carry) {
        self.change(|old, holding| (*new, holding.carried(old, new, carry)));
    }

    pub(crate) fn restore(&self, snapshot: &Snapshot, away_nanos: u64) {
        self.change(|terms, _| (*terms, Holding::restored(snapshot, away_nanos, terms)));
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let (terms, holding) = self.look();
        holding.snapshot(&terms)
    }

    pub(crate) fn terms(&self) -> Terms {
        self.look().0
    }

    /// The tokens that are missing to full, a part of one counted whole.
    pub(crate) fn level(&self) -> u64 {
        let (terms, holding) = self.look();
        terms.capacity.saturating_add_signed(holding.balance.saturating_neg()).div_ceil(terms.token)
    }

    /// The terms in force and what is held under them.
    fn look(&self) -> (Terms, Holding) {
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `a_denial_is_never_from_mixed_terms`.
        let mut seen = self.word.load(Acquire);
        loop {
            let terms = self.slots.named_by(seen);
            let holding = Holding::of(seen, &terms, self.clock.now_nanos());
            match self.still(seen) {
                Ok(()) => return (terms, holding),
                Err(found) => seen = found,
            }
        }
    }

    /// Puts the terms and the holding that `next` makes of the present ones in
    /// force, at one instant.
    fn change(&self, next: impl Fn(&Terms, Holding) -> (Terms, Holding)) {
        let backoff = Backoff::new();
        while !self.lock() {
            backoff.snooze();
        }
        self.change_locked(|terms, holding| Some(next(terms, holding)));
        self.unlock();
    }

    /// As `change`, for the holder of the lock. `None` leaves all as it is.
    fn change_locked(&self, next: impl Fn(&Terms, Holding) -> Option<(Terms, Holding)>) -> bool {
        let backoff = Backoff::new();
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `terms_are_never_mixed`.
        let mut seen = self.word.load(Acquire);
        loop {
            // The clock is read after the level. With an earlier reading, what was
            // admitted in between would look like a debt, and to clamp that would
            // be to forgive it.
            let now_nanos = self.clock.now_nanos();
            let old = self.slots.named_by(seen);
            let Some((terms, holding)) = next(&old, Holding::of(seen, &old, now_nanos)) else {
                return false;
            };
            let successor = seen.successor();
            self.slots.prepare(successor, holding.starting(terms, successor, now_nanos));
            // ORDERING: Release publishes the slot's stores to whoever loads the
            // successor. Acquire orders this before the stores of the next change,
            // which go into the slot that is now out of force; see
            // `Slots::named_by`. On failure Acquire, as in `spend`.
            // MODEL: `terms_are_never_mixed`, `a_change_keeps_the_bound`.
            match self.word.compare_exchange(seen, successor, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(found) => {
                    seen = found;
                    backoff.spin();
                }
            }
        }
    }

    /// Starts again from full if the level is further ahead of the clock than any
    /// call can have put it. Whether it is worth asking again.
    #[cold]
    #[inline(never)]
    fn heal(&self) -> bool {
        // Somebody is changing the terms: the answer stands as it is.
        if !self.lock() {
            return false;
        }
        // The caller read the clock before the level, and may have been held up
        // in between, so what it saw may be legal. `change_locked` reads them in
        // the order in which a level that is too far ahead is a fault.
        let healed = self.change_locked(|terms, holding| {
            (holding.balance < terms.floor()).then(|| (*terms, Holding::full(terms)))
        });
        if healed {
            // ORDERING: Relaxed, as in `healed`.
            // MODEL: `an_impossible_level_is_healed_once`.
            self.healed.fetch_add(1, Relaxed);
        }
        self.unlock();
        true
    }

    fn lock(&self) -> bool {
        // ORDERING: Acquire, so that the stores of this change to a slot come
        // after those of the last one. Pairs with `unlock`.
        // MODEL: `two_changes_leave_one_of_them`.
        self.changing.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    }

    fn unlock(&self) {
        // ORDERING: Release; pairs with `lock`.
        // MODEL: `two_changes_leave_one_of_them`.
        self.changing.store(0, Release);
    }
}

impl<C> fmt::Debug for OneWord<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneWord")
            .field("word", &self.word)
            .field("healed", &self.healed)
            .finish_non_exhaustive()
    }
}

/// All of `permits` or none.
#[inline]
fn all_of(permits: u64, terms: &Terms, balance: i64) -> Charge {
    match terms.cost(permits) {
        Some(cost) if balance >= cost || cost == 0 => Ok(Spend { permits, cost }),
        Some(wanted) => Err(Refusal::Wait { wanted }),
        None => Err(Refusal::TooLarge),
    }
}

impl From<Refused> for Denied {
    #[inline]
    fn from(Refused { refusal, outlook }: Refused) -> Denied {
        match refusal {
            Refusal::Wait { wanted } => {
                Denied::Wait(Shortfall { wanted: wanted / UNIT as i64, outlook })
            }
            Refusal::TooLarge => Denied::TooLarge { limit: outlook.limit() },
        }
    }
}
