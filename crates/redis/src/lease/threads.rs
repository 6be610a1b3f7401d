//! Calls on threads.

use std::sync::Arc;
use std::thread;

use sluicegate::{Denied, Grant};

use super::key::LeasedKey;
use super::key::flight::{Flight, Told};
use super::limiter::{LeasedLimiter, Next, Sweep};
use crate::decision::{Decision, Verb};
use crate::error::{StoreError, TryAcquireError};
use crate::run_script::{Run, RunScriptBlocking};

/// # For callers on threads
///
/// A thread looks for idle keys, from the first lease on until there is none.
impl<R: RunScriptBlocking + 'static> LeasedLimiter<R> {
    /// Does the same as [`try_acquire`](LeasedLimiter::try_acquire). Blocks while it waits for the server.
    ///
    /// # Errors
    ///
    /// The same as for [`RedisLimiter::try_acquire`](crate::RedisLimiter::try_acquire), with the part of the limit that is shared.
    pub fn try_acquire_blocking(&self, key: &str, permits: u64) -> Result<Grant, TryAcquireError> {
        match self.take_blocking(key, permits) {
            Some(grant) => Ok(grant),
            None => self.decide_blocking(Verb::Take, key, permits)?.result(),
        }
    }

    /// Does the same as [`try_acquire_up_to`](LeasedLimiter::try_acquire_up_to). Blocks while it waits for the server.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire_blocking`](LeasedLimiter::try_acquire_blocking) of one permit.
    pub fn try_acquire_up_to_blocking(
        &self,
        key: &str,
        permits: u64,
    ) -> Result<Grant, TryAcquireError> {
        match self.take_blocking(key, permits) {
            Some(grant) => Ok(grant),
            None => self.decide_blocking(Verb::UpTo, key, permits)?.result(),
        }
    }

    /// Does the same as [`peek`](LeasedLimiter::peek). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire_blocking`](LeasedLimiter::try_acquire_blocking).
    pub fn peek_blocking(&self, key: &str, permits: u64) -> Result<Grant, TryAcquireError> {
        self.decide_blocking(Verb::Peek, key, permits)?.result()
    }

    /// Does the same as [`decide`](LeasedLimiter::decide). Blocks while it waits for the server.
    ///
    /// # Errors
    ///
    /// The same as for [`RedisLimiter::decide`](crate::RedisLimiter::decide).
    pub fn decide_blocking(
        &self,
        verb: Verb,
        key: &str,
        permits: u64,
    ) -> Result<Decision, TryAcquireError> {
        if verb != Verb::Peek
            && let Some(grant) = self.take_blocking(key, permits)
        {
            return Ok(Decision::of_server(Ok(grant)));
        }
        loop {
            let receiver = match self.shared.ask(verb, key, permits) {
                Next::Answer(answer) => return answer,
                Next::Direct => {
                    let held = self.shared.held_for(verb, key, permits);
                    let asked = permits.saturating_sub(held);
                    let decision = self.shared.limiter.decide_blocking(verb, key, asked)?;
                    return Ok(self.shared.beside_lease((verb, key, permits), held, decision));
                }
                Next::Wait(receiver) => receiver,
                Next::Lead(flight, receiver) => {
                    self.fly_blocking(flight);
                    receiver
                }
            };
            match self.told_blocking(receiver) {
                Some(Ok(answer)) => return Ok(Decision::of_server(answer)),
                Some(Err(failure)) => {
                    return self.shared.limiter.decision((verb, key, permits), Err(failure));
                }
                // The thread that carried the request has panicked.
                None => {}
            }
        }
    }

    /// Does the same as [`reset`](LeasedLimiter::reset). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`reset`](LeasedLimiter::reset).
    pub fn reset_blocking(&self, key: &str) -> Result<(), TryAcquireError> {
        self.shared.limiter.reset_blocking(key)?;
        let now = self.shared.now();
        self.shared.keys.with(key, |leased| leased.forget(now, &self.shared.terms));
        Ok(())
    }

    /// Does the same as [`give_back_idle`](LeasedLimiter::give_back_idle). Blocks until the server has the permits.
    pub fn give_back_idle_blocking(&self) {
        self.end_leases_blocking(self.shared.keys.idle(self.shared.now()));
    }

    /// Does the same as [`shutdown`](LeasedLimiter::shutdown). Blocks until the server has the permits.
    pub fn shutdown_blocking(&self) {
        // Once more for a key that got its lease meanwhile.
        for _ in 0..2 {
            self.end_leases_blocking(self.shared.keys.close());
        }
    }

    /// Takes permits from the lease of the key, if it has as many.
    #[inline]
    fn take_blocking(&self, key: &str, permits: u64) -> Option<Grant> {
        let (grant, is_low) = self.shared.try_take(key, permits)?;
        if is_low && let Some(flight) = self.shared.ask_ahead(key) {
            self.fly_blocking(flight);
        }
        Some(grant)
    }

    fn told_blocking(
        &self,
        mut receiver: oneshot::Receiver<Told>,
    ) -> Option<Result<Result<Grant, Denied>, StoreError>> {
        loop {
            match receiver.recv().ok()? {
                Told::Answer(answer) => return Some(Ok(answer)),
                Told::Failed(failure) => return Some(Err(failure)),
                Told::Lead(flight, own) => {
                    self.fly_blocking(flight);
                    receiver = own;
                }
            }
        }
    }

    /// Carries a request for a lease to the server. Leaves the next one to one of the callers that wait for it.
    fn fly_blocking(&self, flight: Flight) {
        let shared = &*self.shared;
        let mut next = Some(flight);
        while let Some(flight) = next {
            let answer = shared.limiter.send_blocking(&shared.request(&flight));
            let following = flight.land(answer, shared.now(), &shared.terms);
            next = following.and_then(Flight::hand_over);
        }
        self.sweep_on_a_thread();
    }

    /// Ends the leases of idle keys from now on, until there are no others, on a thread of its own; unless somebody does.
    fn sweep_on_a_thread(&self) {
        let Some(sweep) = Sweep::begin(&self.shared) else { return };
        let pause = self.shared.keys.sweep_pause();
        let run = move || {
            loop {
                thread::sleep(pause);
                let Some(shared) = sweep.shared() else { return };
                let limiter = LeasedLimiter { shared };
                limiter.give_back_idle_blocking();
                if limiter.shared.keys.ends_to_sweep() {
                    return sweep.end();
                }
            }
        };
        // Without a thread, the next request tries again.
        let _ = thread::Builder::new().name("sluicegate-leases".to_owned()).spawn(run);
    }

    fn end_leases_blocking(&self, keys: Vec<(Box<str>, Arc<LeasedKey>)>) {
        let shared = &*self.shared;
        for (key, leased) in keys {
            let give_backs = loop {
                match shared.retire(&key, &leased) {
                    Ok(give_backs) => break give_backs,
                    // When the request has landed that is on its way; carries the next one, if it is told to.
                    Err(landed) => drop(self.told_blocking(landed)),
                }
            };
            for give_back in give_backs {
                let (request, keys) = give_back.request(shared);
                let arguments = request.arguments();
                let run = Run { script: request.script(), keys: &keys, arguments: &arguments };
                shared.was_given_back(shared.limiter.runner().run_blocking(run));
            }
        }
    }
}
