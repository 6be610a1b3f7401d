//! A request for a lease, from its start to the server's answer.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use sluicegate::{Denied, Grant};

use super::super::denial::CachedDenial;
use super::super::terms::LeaseTerms;
use super::ask::Ask;
use super::{LeasedKey, Slow};
use crate::error::StoreError;
use crate::limit::reply::Reply;

/// A request for a lease. A key has at most one at a time.
///
/// It asks for what the callers need that wait for it, and for the next lease. They count as granted when the server
/// decides; what is left of it afterwards is the lease. So it holds no more than `room` then, which was free when
/// the request started and is still.
///
/// Its answer is an answer to each of these callers, a grant or a denial. Callers that come while it is on its way are counted
/// in the next one, if what is left does not suffice for them. So none waits for more than two.
///
/// If it is dropped before it has landed, its callers try again.
#[derive(Debug)]
pub(crate) struct Flight {
    key: Arc<LeasedKey>,
    /// The callers whose needs are counted in it.
    counted: Vec<Waiter>,
    /// Permits of the last lease: left, but too few for the first of the callers.
    hand: u64,
    /// The most permits by which the lease may grow.
    room: u64,
    /// Permits that are asked for, and those without which nothing is taken.
    permits: u64,
    least: u64,
    sent: u64,
    has_landed: bool,
}

// ORDERING: Relaxed throughout: estimates, which no permit depends on.
// MODEL: none; the permits are in the word.
impl Flight {
    /// Starts a request for callers that need more than the `hand`.
    pub(in crate::lease) fn start(
        key: &Arc<LeasedKey>,
        slow: &mut Slow,
        counted: Vec<Waiter>,
        hand: u64,
        now: u64,
        terms: &LeaseTerms,
    ) -> Flight {
        let size = slow.size.next(now, terms.most);
        let sum = counted.iter().fold(0_u64, |sum, waiter| sum.saturating_add(waiter.ask.permits));
        // What suffices for one of them is taken, or that one would have to ask again.
        let fewest = counted.iter().map(|waiter| waiter.ask.least()).min().unwrap_or(1);
        let least = fewest.saturating_sub(hand).max(1);
        let permits = sum.saturating_sub(hand).saturating_add(size);
        let permits = permits.min(terms.limit.limit()).max(least);
        key.word.set_flying();
        let key = Arc::clone(key);
        // The whole lease is in the hand.
        let room = terms.most;
        Flight { key, counted, hand, room, permits, least, sent: now, has_landed: false }
    }

    /// Starts a request for a lease alone, of which `left` permits are left, and may be spent meanwhile.
    pub(in crate::lease) fn ahead(
        key: &Arc<LeasedKey>,
        slow: &mut Slow,
        left: u64,
        now: u64,
        terms: &LeaseTerms,
    ) -> Option<Flight> {
        let size = slow.size.next(now, terms.most);
        let room = size.min(terms.most.saturating_sub(left)).min(terms.limit.limit());
        if room == 0 {
            return None;
        }
        key.word.set_flying();
        Some(Flight {
            key: Arc::clone(key),
            counted: Vec::new(),
            hand: 0,
            room,
            permits: room,
            least: 1,
            sent: now,
            has_landed: false,
        })
    }

    /// Returns the name of the key on the server.
    pub(crate) fn name(&self) -> &str {
        &self.key.name
    }

    pub(crate) fn permits(&self) -> u64 {
        self.permits
    }

    pub(crate) fn least(&self) -> u64 {
        self.least
    }

    /// Hands the answer out. Returns the next request, if callers are left that it did not suffice for and that were
    /// not counted in it.
    pub(crate) fn land(
        mut self,
        answer: Result<Vec<i64>, StoreError>,
        now: u64,
        terms: &LeaseTerms,
    ) -> Option<Flight> {
        self.has_landed = true;
        match answer.and_then(|numbers| self.granted(terms, numbers)) {
            Ok((granted, numbers)) => self.distribute(granted, numbers, now, terms),
            Err(error) => {
                self.fail(error, now, terms);
                None
            }
        }
    }

    /// Reads the number of permits granted.
    fn granted(
        &self,
        terms: &LeaseTerms,
        numbers: Vec<i64>,
    ) -> Result<(u64, Vec<i64>), StoreError> {
        let reply = Reply::new(&numbers);
        let granted = reply.map(|reply| u64::try_from(reply.granted).unwrap_or(0));
        let is_known = reply.is_some_and(|reply| terms.limit.terms().standing(&reply).is_some());
        match granted.filter(|&granted| is_known && granted <= self.permits) {
            Some(granted) => Ok((granted, numbers)),
            None => Err(StoreError::Reply { script: terms.limit.script().name(), reply: numbers }),
        }
    }

    fn distribute(
        mut self,
        granted: u64,
        numbers: Vec<i64>,
        now: u64,
        terms: &LeaseTerms,
    ) -> Option<Flight> {
        let key = Arc::clone(&self.key);
        let slow = &mut *key.lock();
        let charged = Reply::new(&numbers).and_then(|reply| terms.limit.terms().charged(&reply));
        self.note_standing(&numbers, now, terms);
        let is_short = granted < self.permits;
        // Of what it granted a part, it has nothing left.
        let least = if granted == 0 { self.least } else { 1 };
        let denial = CachedDenial::new(numbers, least, self.sent, now);

        let mut left = self.hand + granted;
        let (mut next, counted) = (Vec::new(), mem::take(&mut self.counted));
        let of_counted = |permits, left: u64| denial.of_counted(terms, permits, left, now);
        self.hand_out(counted, &mut next, &mut left, of_counted, now, terms);
        slow.denial = is_short.then_some(denial);
        if is_short {
            slow.size.was_short();
        }
        // What the callers did not use is the lease. If some have gone, it may be more than fits: lost.
        left = left.min(self.room);
        let fresh = left.min(granted);
        let older = left - fresh + key.word.left();
        slow.lots.put(older, fresh, charged);
        if !slow.late.is_empty() {
            left += key.word.take_all();
            let late = mem::take(&mut slow.late);
            let denial = slow.denial.as_ref();
            let of_late = |permits, left: u64| denial?.answer(terms, permits, left, now);
            self.hand_out(late, &mut next, &mut left, of_late, now, terms);
        }
        // The next one is asked for when a quarter is left; not while the server has less than is asked for.
        let low_water = if is_short { 0 } else { self.room.min(left).div_ceil(4) };
        key.low_water.store(low_water, Relaxed);
        if next.is_empty() {
            key.word.add(left);
            key.word.clear_flying();
            return None;
        }
        Some(Flight::start(&key, slow, next, left, now, terms))
    }

    /// Answers callers, first come first served, from `left` permits, or by a denial. Those for whom the server has to be
    /// asked become the `rest`.
    fn hand_out(
        &self,
        waiters: impl IntoIterator<Item = Waiter>,
        rest: &mut Vec<Waiter>,
        left: &mut u64,
        denial: impl Fn(u64, u64) -> Option<Denied>,
        now: u64,
        terms: &LeaseTerms,
    ) {
        for waiter in waiters {
            // First come, first served: nobody passes one that waits on.
            let share = if rest.is_empty() { waiter.ask.of(*left) } else { None };
            if let Some(permits) = share {
                *left -= permits;
                let grant = self.key.grant(permits, *left, now, terms);
                if waiter.tell(Told::Answer(Ok(grant))).is_err() {
                    // Has gone, and did not get them.
                    *left += permits;
                }
                continue;
            }
            match denial(waiter.ask.least(), *left) {
                // If it has gone, it needs no answer.
                Some(denied) => drop(waiter.tell(Told::Answer(Err(denied)))),
                None => rest.push(waiter),
            }
        }
    }

    fn note_standing(&self, numbers: &[i64], now: u64, terms: &LeaseTerms) {
        let reply = Reply::new(numbers);
        let standing = reply.and_then(|reply| terms.limit.terms().standing(&reply));
        if let Some(standing) = standing {
            let left = standing.limit.saturating_sub(standing.used);
            self.key.left_on_server.store(left, Relaxed);
            let reset_nanos = u64::try_from(standing.reset_after.as_nanos()).unwrap_or(u64::MAX);
            self.key.full_at.store(now.saturating_add(reset_nanos), Relaxed);
        }
    }

    /// Answers all callers without the server: from what is left of the last lease, or by the failure.
    fn fail(&mut self, mut error: StoreError, now: u64, terms: &LeaseTerms) {
        let key = Arc::clone(&self.key);
        let mut slow = key.lock();
        let mut left = self.hand + key.word.take_all();
        let late = mem::take(&mut slow.late);
        for waiter in mem::take(&mut self.counted).into_iter().chain(late) {
            let share = waiter.ask.of(left);
            let told = match share {
                Some(permits) => Told::Answer(Ok(key.grant(permits, left - permits, now, terms))),
                None => Told::Failed(error.share()),
            };
            if waiter.tell(told).is_ok() {
                left -= share.unwrap_or(0);
            }
        }
        key.word.add(left);
        key.word.clear_flying();
    }

    /// Makes one of the callers carry the request; returns it if they have all gone.
    pub(crate) fn hand_over(mut self) -> Option<Flight> {
        while !self.counted.is_empty() {
            let waiter = self.counted.remove(0);
            let (same, receiver) = Waiter::new(waiter.ask);
            self.counted.insert(0, same);
            match waiter.tell(Told::Lead(self, receiver)) {
                Ok(()) => return None,
                Err(Told::Lead(back, _)) => {
                    self = back;
                    self.counted.remove(0);
                }
                Err(_) => unreachable!("the message comes back as it was"),
            }
        }
        Some(self)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.has_landed {
            // Their callers find no answer, and ask again.
            let mut slow = self.key.lock();
            self.counted.clear();
            slow.late.clear();
            self.key.word.add(self.hand);
            self.key.word.clear_flying();
        }
    }
}

/// The message to a caller that waits.
#[derive(Debug)]
pub(crate) enum Told {
    Answer(Result<Grant, Denied>),
    /// The server did not answer.
    Failed(StoreError),
    /// The caller is to carry the next request to the server, and waits on for its own answer.
    Lead(Flight, oneshot::Receiver<Told>),
}

/// A caller that waits, as those who answer it see it.
#[derive(Debug)]
pub(in crate::lease) struct Waiter {
    pub(in crate::lease) ask: Ask,
    answer: oneshot::Sender<Told>,
}

impl Waiter {
    pub(in crate::lease) fn new(ask: Ask) -> (Waiter, oneshot::Receiver<Told>) {
        let (answer, receiver) = oneshot::channel();
        (Waiter { ask, answer }, receiver)
    }

    /// Tells the caller; returns the message if the caller has gone.
    pub(in crate::lease) fn tell(self, told: Told) -> Result<(), Told> {
        self.answer.send(told).map_err(oneshot::SendError::into_inner)
    }
}
