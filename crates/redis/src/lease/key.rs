//! A key with a lease.
//!
//! Grants are spent from a word, without a lock. A caller that finds too few permits there takes the key's lock, and is
//! denied by a denial that is remembered; or waits for the request that is on its way; or sets one off.

pub(crate) mod ask;
pub(crate) mod flight;

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sluicegate::{Denied, Grant};

use self::ask::Ask;
use self::flight::{Flight, Told, Waiter};
use super::denial::CachedDenial;
use super::lots::{Lot, Lots};
use super::size::LeaseSize;
use super::terms::LeaseTerms;
use super::word::{LeaseWord, Spent};
use crate::decision::Verb;

/// A key, its lease, and those who wait for the next one.
#[derive(Debug)]
pub(crate) struct LeasedKey {
    /// The name of the key on the server.
    pub(super) name: String,
    pub(super) word: LeaseWord,
    /// Permits below which the next lease is asked for before they are used up.
    pub(super) low_water: AtomicU64,
    /// Time of the last call.
    used_at: AtomicU64,
    /// Permits that the server had left when it last answered, and the time at which it will be full.
    pub(super) left_on_server: AtomicU64,
    pub(super) full_at: AtomicU64,
    slow: Mutex<Slow>,
}

/// The part behind the lock.
#[derive(Debug)]
pub(super) struct Slow {
    pub(super) size: LeaseSize,
    pub(super) lots: Lots,
    pub(super) denial: Option<CachedDenial>,
    /// Callers that came while a request was on its way.
    pub(super) late: VecDeque<Waiter>,
}

/// The outcome of a request that a lease is too small for at first.
#[derive(Debug)]
pub(crate) enum Entered {
    Answer(Result<Grant, Denied>),
    /// Another caller's request is on its way.
    Wait(oneshot::Receiver<Told>),
    /// The caller is to carry a request to the server.
    Lead(Flight, oneshot::Receiver<Told>),
    /// The key has no lease any more.
    Retired,
}

/// The outcome of a request that asks the lease alone.
#[derive(Debug)]
pub(crate) enum Tried {
    /// Granted. `is_low` tells that it is time to ask for the next lease.
    Granted {
        grant: Grant,
        is_low: bool,
    },
    Short,
    Retired,
}

// ORDERING: Relaxed throughout: times and estimates, which no permit depends on.
// MODEL: none; the permits are in the word.
impl LeasedKey {
    pub(crate) fn new(name: String, now: u64) -> LeasedKey {
        LeasedKey {
            name,
            word: LeaseWord::default(),
            low_water: AtomicU64::new(0),
            used_at: AtomicU64::new(now),
            left_on_server: AtomicU64::new(0),
            full_at: AtomicU64::new(now),
            slow: Mutex::new(Slow {
                size: LeaseSize::new(now),
                lots: Lots::default(),
                denial: None,
                late: VecDeque::new(),
            }),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Slow> {
        // No call that holds it panics half way: it calls nothing of the caller's.
        self.slow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all of `permits` from the lease, or none. Lock-free.
    #[inline]
    pub(crate) fn try_take(&self, permits: u64, now: u64, terms: &LeaseTerms) -> Tried {
        self.used_at.store(now, Relaxed);
        match self.word.spend(permits) {
            Spent::Taken { left, is_flying } => Tried::Granted {
                grant: self.grant(permits, left, now, terms),
                is_low: !is_flying && left < self.low_water.load(Relaxed),
            },
            Spent::Short => Tried::Short,
            Spent::Retired => Tried::Retired,
        }
    }

    /// Takes what is left in the lease, up to `permits`, if that is anything.
    pub(crate) fn take_up_to(&self, permits: u64, now: u64, terms: &LeaseTerms) -> Option<Grant> {
        loop {
            let some = self.word.left().min(permits);
            if some == 0 {
                return None;
            }
            if let Spent::Taken { left, .. } = self.word.spend(some) {
                return Some(self.grant(some, left, now, terms));
            }
        }
    }

    /// Returns the name of the key on the server.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns a grant that left `held` permits in the lease.
    pub(super) fn grant(&self, permits: u64, held: u64, now: u64, terms: &LeaseTerms) -> Grant {
        let reset_nanos = self.full_at.load(Relaxed).saturating_sub(now);
        let left = self.left_on_server.load(Relaxed).saturating_add(held);
        terms.grant(permits, left, Duration::from_nanos(reset_nanos))
    }

    /// Returns the permits left in the lease.
    pub(crate) fn left(&self) -> u64 {
        self.word.left()
    }

    /// Takes part in a request to the server, for at most [`LeaseTerms::largest`] permits.
    pub(crate) fn enter(self: &Arc<Self>, ask: Ask, now: u64, terms: &LeaseTerms) -> Entered {
        let mut slow = self.lock();
        if self.word.is_retired() {
            return Entered::Retired;
        }
        if self.word.is_flying() {
            let (waiter, receiver) = Waiter::new(ask);
            slow.late.push_back(waiter);
            return Entered::Wait(receiver);
        }
        // Others may spend on, but nobody adds any.
        let hand = self.word.take_all();
        if let Some(permits) = ask.of(hand) {
            self.word.add(hand - permits);
            return Entered::Answer(Ok(self.grant(permits, hand - permits, now, terms)));
        }
        let least = ask.least();
        let cached = slow.denial.as_ref();
        if let Some(denied) = cached.and_then(|denial| denial.answer(terms, least, hand, now)) {
            self.word.add(hand);
            return Entered::Answer(Err(denied));
        }
        let (waiter, receiver) = Waiter::new(ask);
        Entered::Lead(Flight::start(self, &mut slow, vec![waiter], hand, now, terms), receiver)
    }

    /// Sets off a request for the next lease, if it is time and none is on its way.
    pub(crate) fn ask_ahead(self: &Arc<Self>, now: u64, terms: &LeaseTerms) -> Option<Flight> {
        let mut slow = self.lock();
        let left = self.word.left();
        let is_low = left < self.low_water.load(Relaxed);
        if self.word.is_retired() || self.word.is_flying() || !is_low {
            return None;
        }
        Flight::ahead(self, &mut slow, left, now, terms)
    }

    /// Returns whether no call has come for so long.
    pub(crate) fn is_idle(&self, now: u64, nanos: u64) -> bool {
        now.saturating_sub(self.used_at.load(Relaxed)) >= nanos
    }

    /// Ends the lease, unless a request is on its way. Returns what can be given back of it, or the callers' way to wait.
    pub(crate) fn retire(&self) -> Result<Vec<Lot>, oneshot::Receiver<Told>> {
        let mut slow = self.lock();
        if self.word.is_flying() {
            // For nothing: is told when that request has landed.
            let (waiter, receiver) = Waiter::new(Ask { verb: Verb::Take, permits: 0 });
            slow.late.push_back(waiter);
            return Err(receiver);
        }
        let left = self.word.retire();
        Ok(slow.lots.take(left))
    }

    /// Forgets what the server said of the key, since it is begun anew there.
    pub(crate) fn forget(&self, now: u64, terms: &LeaseTerms) {
        let mut slow = self.lock();
        slow.denial = None;
        self.left_on_server.store(terms.limit.limit(), Relaxed);
        self.full_at.store(now, Relaxed);
    }
}
