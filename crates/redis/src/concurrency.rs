//! Limits of what is in flight at the same time, on all machines together.

mod call;
mod held;
mod holder;

use std::time::{Duration, Instant};

use sluicegate::Denied;

pub use self::held::Held;

use self::call::Call;
use crate::error::{LimitError, StoreError, TryAcquireError};
use crate::key_space::KeySpace;
use crate::limit::packed;
use crate::run_script::{Run, RunScript, RunScriptBlocking};
use crate::script::{CONCURRENCY, RESET};

/// The largest limit.
const MAX_LIMIT: u64 = 1 << 32;

/// The shortest and the longest time for which permits are held.
const HOLD: [Duration; 2] = [Duration::from_millis(1), Duration::from_secs(7 * 86_400)];

/// A limit of the permits that are in flight at the same time, for each key, on all machines together.
///
/// A holder gives its permits back by [`leave`](Held::leave). If it cannot, because its machine has crashed, they come
/// back after the time for which they are held; a holder that needs longer prolongs it by [`renew`](Held::renew).
///
/// # Accuracy
///
/// Whenever permits are granted, those held by then, they included, are at most the limit. That counts a holder until
/// its time is over: one that goes on for longer without renewing is in flight beside those that got its permits.
/// If the clock of the server jumps forward, times are over earlier by so much; if it is set back by more than a
/// second, all permits are held from then on for their time at most. A server that has lost its data grants the whole
/// limit once more.
///
/// # Examples
///
/// ```no_run
/// # #[cfg(feature = "async")]
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use sluicegate_redis::{Async, KeySpace, RedisConcurrency};
///
/// let client = redis::Client::open("redis://127.0.0.1/")?;
/// let (keys, hold) = (KeySpace::new("app:exports")?, Duration::from_secs(30));
/// let exports = RedisConcurrency::new(3, hold, keys, Async::new(client))?;
///
/// let mut held = exports.enter("tenant:7", 1).await?;
/// // ... a part of the work, for less than 30 seconds
/// held.renew().await?;
/// // ... the rest
/// held.leave().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RedisConcurrency<R> {
    limit: u64,
    hold_micros: u64,
    keys: KeySpace,
    kind: String,
    runner: R,
}

impl<R> RedisConcurrency<R> {
    /// Creates a limit of `limit` permits in flight for each of the `keys`, each held for at most `hold`. Sends
    /// nothing.
    ///
    /// Limits with the same `hold` and the same space of keys are the same, on whatever machines they are.
    ///
    /// # Errors
    ///
    /// [`LimitError::Concurrency`] unless `limit` is from 1 to 2^32, and [`LimitError::Hold`] unless `hold` is whole
    /// microseconds from a millisecond to a week.
    pub fn new(
        limit: u64,
        hold: Duration,
        keys: KeySpace,
        runner: R,
    ) -> Result<RedisConcurrency<R>, LimitError> {
        if limit == 0 || limit > MAX_LIMIT {
            return Err(LimitError::Concurrency { limit, most: MAX_LIMIT });
        }
        let [least, most] = HOLD;
        if hold < least || hold > most || !hold.subsec_nanos().is_multiple_of(1_000) {
            return Err(LimitError::Hold { hold, least, most });
        }
        // Checked: at most a week.
        let hold_micros = hold.as_micros() as u64;
        let kind = format!("cc{hold_micros}");
        Ok(RedisConcurrency { limit, hold_micros, keys, kind, runner })
    }

    /// Returns the largest number of permits in flight.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the time for which permits are held.
    pub fn hold(&self) -> Duration {
        Duration::from_micros(self.hold_micros)
    }

    /// Returns the client that runs the script.
    pub fn runner(&self) -> &R {
        &self.runner
    }

    pub(crate) fn call(
        &self,
        name: String,
        verb: &str,
        permits: u64,
        holder: &str,
        time: &str,
    ) -> Call {
        let texts = [verb, &permits.to_string(), time].map(|text| text.as_bytes().to_vec());
        let [verb, permits_text, time] = texts;
        let terms = packed(&[self.limit, self.hold_micros]);
        let arguments = [terms, verb, permits_text, time, holder.as_bytes().to_vec()];
        Call { name, arguments, permits, sent: Instant::now() }
    }

    /// Prepares to look, or to enter as `holder`.
    fn asking(
        &self,
        verb: &str,
        key: &str,
        permits: u64,
        holder: &str,
    ) -> Result<Call, TryAcquireError> {
        if permits > self.limit {
            return Err(Denied::TooLarge { limit: self.limit, which: 0 }.into());
        }
        Ok(self.call(self.keys.name(&self.kind, key)?, verb, permits, holder, ""))
    }

    fn held(
        &self,
        call: Call,
        holder: String,
        reply: &[i64],
    ) -> Result<Held<'_, R>, TryAcquireError> {
        let permits = call.answer(self.limit, reply)??;
        let until = call.sent.checked_add(self.hold());
        Ok(Held { concurrency: self, name: call.name, holder, permits, until })
    }
}

impl<R: RunScript> RedisConcurrency<R> {
    /// Takes all of `permits` for the key, or none, and holds them.
    ///
    /// # Errors
    ///
    /// * [`TryAcquireError::Denied`] if too many are in flight. The
    ///   [`retry_after`](sluicegate::Denied::retry_after) of it is the time after which enough permits are there even
    ///   if no holder leaves or renews; they may come back earlier.
    /// * [`TryAcquireError::Key`] if the key is too long, and [`TryAcquireError::Store`] if the server does not answer:
    ///   if it has got the request all the same, the permits come back when their time is over.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the permits may be held, until their time is over.
    pub async fn enter(&self, key: &str, permits: u64) -> Result<Held<'_, R>, TryAcquireError> {
        let holder = holder::new();
        // Nobody holds nothing.
        let verb = if permits == 0 { "peek" } else { "enter" };
        let call = self.asking(verb, key, permits, &holder)?;
        let reply = self.send(&call).await?;
        self.held(call, holder, &reply)
    }

    /// Returns the number of permits in flight for the key.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::Key`] and [`TryAcquireError::Store`].
    pub async fn in_flight(&self, key: &str) -> Result<u64, TryAcquireError> {
        let call = self.asking("peek", key, 0, "")?;
        Ok(Call::in_flight(&self.send(&call).await?)?)
    }

    /// Forgets all holders of the key. What they do is still in flight, so others are admitted beside them.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::Key`] and [`TryAcquireError::Store`].
    pub async fn reset(&self, key: &str) -> Result<(), TryAcquireError> {
        let name = self.keys.name(&self.kind, key)?;
        self.runner.run(Run { script: &RESET, keys: &[&name], arguments: &[] }).await?;
        Ok(())
    }

    async fn send(&self, call: &Call) -> Result<Vec<i64>, StoreError> {
        let (keys, arguments) = ([call.name()], call.arguments());
        let run = Run { script: &CONCURRENCY, keys: &keys, arguments: &arguments };
        self.runner.run(run).await
    }
}

impl<R: RunScriptBlocking> RedisConcurrency<R> {
    /// Does the same as [`enter`](RedisConcurrency::enter). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`enter`](RedisConcurrency::enter).
    pub fn enter_blocking(&self, key: &str, permits: u64) -> Result<Held<'_, R>, TryAcquireError> {
        let holder = holder::new();
        let verb = if permits == 0 { "peek" } else { "enter" };
        let call = self.asking(verb, key, permits, &holder)?;
        let reply = self.send_blocking(&call)?;
        self.held(call, holder, &reply)
    }

    fn send_blocking(&self, call: &Call) -> Result<Vec<i64>, StoreError> {
        let (keys, arguments) = ([call.name()], call.arguments());
        let run = Run { script: &CONCURRENCY, keys: &keys, arguments: &arguments };
        self.runner.run_blocking(run)
    }
}
