//! The lines before the limiters of a registry: they ask whatever limiter is in force.

use std::sync::Arc;

use sluicegate::compose::Counted;
use sluicegate::keyed::QueuedKeys;
use sluicegate::settle::Receipt;
use sluicegate::wait::{LineLimits, Queued};
use sluicegate::{Denied, Grant, KeyedLimiter, Limiter, Wait};

use super::keys::{Keys, each_store};
use super::limiter_of_kind::LimiterOfKind;
use super::place::Place;
use super::slot::HasLine;
use crate::SharedClock;

/// The limiter that is in force in a place, as the line before it asks it.
#[derive(Debug)]
pub(super) struct Current<L>(pub(super) Arc<Place<L>>);

impl<L: Clone> Current<L> {
    fn with<T>(&self, mut call: impl FnMut(&L) -> T) -> T {
        self.0.decide(|in_force| call(&in_force.limiter))
    }
}

/// The line of a limiter without keys. Counts the answers to callers that may wait, and their waits.
pub(super) type Line = Counted<Queued<Current<LimiterOfKind>, SharedClock>>;

impl HasLine for LimiterOfKind {
    type Line = Line;

    fn is_plain(&self) -> bool {
        true
    }

    #[inline(always)]
    fn has_waiters(line: &Self::Line) -> bool {
        line.limiter().has_waiters()
    }

    fn set_limits(line: &Self::Line, limits: LineLimits) {
        line.line().set_limits(limits);
    }

    fn poke(line: &Self::Line) {
        line.limiter().update(|_| ());
    }

    fn limit(&self, _: &[u8]) -> u64 {
        self.peek(0).map_or(0, |grant| grant.limit())
    }
}

impl HasLine for Keys {
    type Line = QueuedKeys<Current<Keys>, [u8], SharedClock>;

    fn is_plain(&self) -> bool {
        !matches!(self, Keys::Common(_))
    }

    #[inline(always)]
    fn has_waiters(line: &Self::Line) -> bool {
        line.lines() > 0
    }

    fn set_limits(line: &Self::Line, limits: LineLimits) {
        line.set_line_limits(limits);
    }

    fn poke(line: &Self::Line) {
        line.update(|_| ());
    }

    fn limit(&self, key: &[u8]) -> u64 {
        each_store!(self, store => store.peek(key, 0)).map_or(0, |grant| grant.limit())
    }
}

impl Limiter for Current<LimiterOfKind> {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.with(|limiter| limiter.try_acquire(permits))
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.with(|limiter| limiter.try_acquire_up_to(permits))
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.with(|limiter| limiter.peek(permits))
    }

    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.with(|limiter| limiter.peek_ahead(permits))
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.try_acquire(permits).map(Receipt::spent)
    }

    fn reset(&self) {
        self.with(Limiter::reset);
    }

    fn is_idle(&self) -> bool {
        self.with(Limiter::is_idle)
    }

    fn healed(&self) -> u64 {
        self.with(Limiter::healed)
    }
}

impl KeyedLimiter<[u8]> for Current<Keys> {
    fn try_acquire(&self, key: &[u8], permits: u64) -> Result<Grant, Denied> {
        self.with(|keys| keys.try_acquire(key, permits))
    }

    fn try_acquire_up_to(&self, key: &[u8], permits: u64) -> Result<Grant, Denied> {
        self.with(|keys| keys.try_acquire_up_to(key, permits))
    }

    fn try_acquire_batch_with(
        &self,
        keys: &mut dyn Iterator<Item = &[u8]>,
        permits: u64,
        answer: &mut dyn FnMut(usize, Result<Grant, Denied>),
    ) {
        let batch: Vec<&[u8]> = keys.collect();
        let answers = self.with(|keys| keys.try_acquire_batch(&batch, permits));
        answers.into_iter().enumerate().for_each(|(index, own)| answer(index, own));
    }

    fn peek(&self, key: &[u8], permits: u64) -> Result<Grant, Denied> {
        self.with(|keys| each_store!(keys, store => store.peek(key, permits)))
    }

    fn reset(&self, key: &[u8]) {
        self.with(|keys| each_store!(keys, store => store.reset(key)));
    }

    fn remove(&self, key: &[u8]) -> bool {
        self.with(|keys| each_store!(keys, store => store.remove(key)))
    }

    fn len(&self) -> usize {
        self.with(|keys| each_store!(keys, store => store.len()))
    }

    fn sweep(&self) -> usize {
        self.with(|keys| each_store!(keys, store => store.sweep()))
    }

    fn memory_bytes(&self) -> usize {
        self.with(|keys| each_store!(keys, store => store.memory_bytes()))
    }

    fn healed(&self) -> u64 {
        self.with(|keys| each_store!(keys, store => store.healed()))
    }
}
