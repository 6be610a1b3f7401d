//! Calls in tasks.

use std::sync::Arc;

use sluicegate::Grant;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::key::LeasedKey;
use super::key::flight::{Flight, Told};
use super::limiter::{GiveBack, LeasedLimiter, Next, Shared, Sweep};
use crate::decision::{Decision, Verb};
use crate::error::{StoreError, TryAcquireError};
use crate::run_script::{Run, RunScript};

/// Requests to give back that are on their way at the same time.
const GIVE_BACKS_AT_ONCE: usize = 64;

/// # For callers in tasks
///
/// Requests for leases are tasks of their own, and so is the look for idle keys: these methods must be called within a runtime of
/// tokio that has its timer enabled. (Outside, calls that need a lease find the server unreachable, and what would be given
/// back is lost.)
impl<R: RunScript + 'static> LeasedLimiter<R> {
    /// Takes all of `permits` for the key, or none. A request for 0 permits is always granted.
    ///
    /// Waits for the server only if the key's lease has too few permits. Does not allocate, and takes no lock, if it has enough,
    /// but for the call that asks for the next lease ahead.
    ///
    /// # Errors
    ///
    /// The same as for [`RedisLimiter::try_acquire`](crate::RedisLimiter::try_acquire), with the part of the limit that is shared.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, a request that is on its way goes on, and its permits go to others, or into the lease. The
    /// permits of a request that asks the server on its own may be lost.
    pub async fn try_acquire(&self, key: &str, permits: u64) -> Result<Grant, TryAcquireError> {
        match self.take(key, permits) {
            Some(grant) => Ok(grant),
            None => self.decide(Verb::Take, key, permits).await?.result(),
        }
    }

    /// Takes as many of `permits` as are available for the key, at least one: as many as its lease has, if that is enough,
    /// and what the server has besides.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](LeasedLimiter::try_acquire) of one permit.
    ///
    /// # Cancel safety
    ///
    /// The same as for [`try_acquire`](LeasedLimiter::try_acquire).
    pub async fn try_acquire_up_to(
        &self,
        key: &str,
        permits: u64,
    ) -> Result<Grant, TryAcquireError> {
        match self.take(key, permits) {
            Some(grant) => Ok(grant),
            None => self.decide(Verb::UpTo, key, permits).await?.result(),
        }
    }

    /// Returns the answer that [`try_acquire`](LeasedLimiter::try_acquire) would give. Takes nothing. Asks the server.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](LeasedLimiter::try_acquire).
    pub async fn peek(&self, key: &str, permits: u64) -> Result<Grant, TryAcquireError> {
        self.decide(Verb::Peek, key, permits).await?.result()
    }

    /// Does what `verb` says, and tells whether the limit has answered or the fallback.
    ///
    /// # Errors
    ///
    /// The same as for [`RedisLimiter::decide`](crate::RedisLimiter::decide).
    ///
    /// # Cancel safety
    ///
    /// The same as for [`try_acquire`](LeasedLimiter::try_acquire).
    pub async fn decide(
        &self,
        verb: Verb,
        key: &str,
        permits: u64,
    ) -> Result<Decision, TryAcquireError> {
        if verb != Verb::Peek
            && let Some(grant) = self.take(key, permits)
        {
            return Ok(Decision::of_server(Ok(grant)));
        }
        let mut has_led = false;
        loop {
            let receiver = match self.shared.ask(verb, key, permits) {
                Next::Answer(answer) => return answer,
                Next::Direct => return self.ask_directly(verb, key, permits).await,
                Next::Wait(receiver) => receiver,
                Next::Lead(flight, receiver) => {
                    has_led = true;
                    self.fly(flight);
                    receiver
                }
            };
            match self.told(receiver).await {
                Some(Ok(answer)) => return Ok(Decision::of_server(answer)),
                Some(Err(failure)) => {
                    return self.shared.limiter.decision((verb, key, permits), Err(failure));
                }
                // The request has been dropped before it was answered, with its runtime. If that is this call's own
                // runtime, it would drop the next one too.
                None if has_led => {
                    let failure = "the runtime of the request has ended".into();
                    let failure = Err(StoreError::Disconnected(failure));
                    return self.shared.limiter.decision((verb, key, permits), failure);
                }
                None => {}
            }
        }
    }

    /// Makes the limiter of the key full, by forgetting it on the server. Leases stay as they are, here and elsewhere: until they
    /// are used up, they are what the limit reserves for them.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::Key`] and [`TryAcquireError::Store`].
    pub async fn reset(&self, key: &str) -> Result<(), TryAcquireError> {
        self.shared.limiter.reset(key).await?;
        let now = self.shared.now();
        self.shared.keys.with(key, |leased| leased.forget(now, &self.shared.terms));
        Ok(())
    }

    /// Gives the permits back of keys that no call has come for within the expiry. A task does that too, in each half of the
    /// expiry.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the permits may have been given back, may yet be, or are lost.
    pub async fn give_back_idle(&self) {
        self.end_leases(self.shared.keys.idle(self.shared.now())).await;
    }

    /// Gives all permits back, and waits until the server has them. Afterwards each call asks the server.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the permits may have been given back, may yet be, or are lost. No key gets a lease
    /// in any case.
    pub async fn shutdown(&self) {
        // Once more for a key that got its lease meanwhile.
        for _ in 0..2 {
            self.end_leases(self.shared.keys.close()).await;
        }
    }

    /// Takes permits from the lease of the key, if it has as many.
    #[inline]
    fn take(&self, key: &str, permits: u64) -> Option<Grant> {
        let (grant, is_low) = self.shared.try_take(key, permits)?;
        if is_low && let Some(flight) = self.shared.ask_ahead(key) {
            self.fly(flight);
        }
        Some(grant)
    }

    /// Waits for an answer; `None` if none will come.
    async fn told(
        &self,
        mut receiver: oneshot::Receiver<Told>,
    ) -> Option<Result<Result<Grant, sluicegate::Denied>, StoreError>> {
        loop {
            match receiver.await.ok()? {
                Told::Answer(answer) => return Some(Ok(answer)),
                Told::Failed(failure) => return Some(Err(failure)),
                Told::Lead(flight, own) => {
                    self.fly(flight);
                    receiver = own;
                }
            }
        }
    }

    async fn ask_directly(
        &self,
        verb: Verb,
        key: &str,
        permits: u64,
    ) -> Result<Decision, TryAcquireError> {
        let held = self.shared.held_for(verb, key, permits);
        let asked = permits.saturating_sub(held);
        let decision = self.shared.limiter.decide(verb, key, asked).await?;
        Ok(self.shared.beside_lease((verb, key, permits), held, decision))
    }

    /// Sends a request for a lease, and those that follow from it, in a task of its own.
    fn fly(&self, flight: Flight) {
        let Ok(runtime) = Handle::try_current() else {
            let error = StoreError::Unreachable("not called within a runtime of tokio".into());
            flight.land(Err(error), self.shared.now(), &self.shared.terms);
            return;
        };
        let limiter = self.clone();
        runtime.spawn(async move {
            let shared = &*limiter.shared;
            let mut next = Some(flight);
            while let Some(flight) = next {
                let answer = shared.limiter.send(&shared.request(&flight)).await;
                next = flight.land(answer, shared.now(), &shared.terms);
            }
            limiter.sweep();
        });
    }

    /// Ends the leases of idle keys from now on, until there are no others, by a task of its own; unless there is one.
    fn sweep(&self) {
        let Some(sweep) = Sweep::begin(&self.shared) else { return };
        let pause = self.shared.keys.sweep_pause();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(shared) = sweep.shared() else { return };
                let limiter = LeasedLimiter { shared };
                limiter.give_back_idle().await;
                if limiter.shared.keys.ends_to_sweep() {
                    return sweep.end();
                }
            }
        });
    }

    /// Ends leases and gives back what is left of them, several at a time.
    async fn end_leases(&self, keys: Vec<(Box<str>, Arc<LeasedKey>)>) {
        let mut running = JoinSet::new();
        for (key, leased) in keys {
            let give_backs = loop {
                match self.shared.retire(&key, &leased) {
                    Ok(give_backs) => break give_backs,
                    // When the request has landed that is on its way.
                    Err(landed) => drop(landed.await),
                }
            };
            for give_back in give_backs {
                // Without a runtime nobody sends it: the permits are lost, as they are if the server is away.
                let Ok(runtime) = Handle::try_current() else { continue };
                if running.len() == GIVE_BACKS_AT_ONCE {
                    running.join_next().await;
                }
                running.spawn_on(send(Arc::clone(&self.shared), give_back), &runtime);
            }
        }
        while running.join_next().await.is_some() {}
    }
}

async fn send<R: RunScript>(shared: Arc<Shared<R>>, give_back: GiveBack) {
    let (request, keys) = give_back.request(&shared);
    let arguments = request.arguments();
    let run = Run { script: request.script(), keys: &keys, arguments: &arguments };
    let answer = shared.limiter.runner().run(run).await;
    shared.was_given_back(answer);
}
