//! Permits that are held.

use std::time::Instant;

use super::RedisConcurrency;
use super::call::Call;
use crate::error::{RenewError, StoreError};
use crate::run_script::{RunScript, RunScriptBlocking};

/// Permits that are held on a server, until they are given back or their time is over.
///
/// If it is dropped, the permits come back when their time is over.
#[derive(Debug)]
#[must_use = "holds permits until it leaves, or until their time is over"]
pub struct Held<'a, R> {
    pub(super) concurrency: &'a RedisConcurrency<R>,
    pub(super) name: String,
    pub(super) holder: String,
    pub(super) permits: u64,
    pub(super) until: Option<Instant>,
}

impl<R> Held<'_, R> {
    /// Returns the number of permits.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Returns the instant from which others may hold the permits, unless they are renewed before; nothing if the clock
    /// has none that late.
    ///
    /// It counts from the time at which the last request was sent: so it is earlier than the server's.
    #[must_use]
    pub fn until(&self) -> Option<Instant> {
        self.until
    }

    fn calling(&self, verb: &str) -> Call {
        self.concurrency.call(self.name.clone(), verb, self.permits, &self.holder, "")
    }

    fn renewed(&mut self, call: &Call, reply: &[i64]) -> Result<(), RenewError> {
        call.answer(self.concurrency.limit, reply)?.map_err(|_| RenewError::Expired)?;
        self.until = call.sent.checked_add(self.concurrency.hold());
        Ok(())
    }

    fn left(&self, call: &Call, reply: &[i64]) -> Result<bool, StoreError> {
        Ok(call.answer(self.concurrency.limit, reply)?.is_ok_and(|permits| permits > 0))
    }
}

impl<R: RunScript> Held<'_, R> {
    /// Holds the permits from now on for the whole time again.
    ///
    /// # Errors
    ///
    /// [`RenewError::Expired`] if the time was over before, and [`RenewError::Store`] if the server does not answer:
    /// the permits may be held until the time that there was, or longer.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the time may have been prolonged, or may yet be.
    pub async fn renew(&mut self) -> Result<(), RenewError> {
        if self.permits == 0 {
            return Ok(());
        }
        let call = self.calling("renew");
        let reply = self.concurrency.send(&call).await?;
        self.renewed(&call, &reply)
    }

    /// Gives the permits back. Returns false if their time was over before, so that others may have held them.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the server does not answer. Then they come back at the latest when their time is over.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, they may have come back; they do at the latest when their time is over.
    pub async fn leave(self) -> Result<bool, StoreError> {
        if self.permits == 0 {
            return Ok(true);
        }
        let call = self.calling("leave");
        let reply = self.concurrency.send(&call).await?;
        self.left(&call, &reply)
    }
}

impl<R: RunScriptBlocking> Held<'_, R> {
    /// Does the same as [`renew`](Held::renew). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`renew`](Held::renew).
    pub fn renew_blocking(&mut self) -> Result<(), RenewError> {
        if self.permits == 0 {
            return Ok(());
        }
        let call = self.calling("renew");
        let reply = self.concurrency.send_blocking(&call)?;
        self.renewed(&call, &reply)
    }

    /// Does the same as [`leave`](Held::leave). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`leave`](Held::leave).
    pub fn leave_blocking(self) -> Result<bool, StoreError> {
        if self.permits == 0 {
            return Ok(true);
        }
        let call = self.calling("leave");
        let reply = self.concurrency.send_blocking(&call)?;
        self.left(&call, &reply)
    }
}
