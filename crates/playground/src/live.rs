//! A session in real time, while somebody looks.

use std::time::{Duration, Instant};

use sluicegate::TokenBucket;

use crate::session::{Cursor, Session};
use crate::setup::CheckedSetup;
use crate::wire::Frame;

/// A session, and the real time until which it has come. Its clock stands while nobody reads its events.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) session: Session,
    come_to: Instant,
    readers: usize,
    idle_since: Instant,
    slowed: bool,
    has_ended: bool,
}

impl Live {
    /// Most readers of the events of a session.
    pub(crate) const READERS: usize = 4;

    /// Longest time without a reader.
    const IDLE: Duration = Duration::from_secs(120);

    /// Most real time that passes for a session at once. A reader that is slower slows its clock.
    const STEP: Duration = Duration::from_millis(250);

    /// Most events of a session at once.
    const EVENTS: u64 = 1_000;

    pub(crate) fn new(setup: CheckedSetup, now: Instant) -> Live {
        let session = Session::new(setup);
        let (slowed, has_ended) = (false, false);
        Live { session, come_to: now, readers: 0, idle_since: now, slowed, has_ended }
    }

    /// Lets time pass until `now`, as far as `work` has tokens for its events.
    pub(crate) fn advance(&mut self, now: Instant, work: &TokenBucket) {
        let passed = now.saturating_duration_since(self.come_to).min(Live::STEP);
        self.come_to = now;
        let passed = if self.readers == 0 { Duration::ZERO } else { passed };
        let nanos = (passed.as_secs_f64() * self.session.speed() * 1e9) as u64;
        let until_nanos = self.session.now_nanos().saturating_add(nanos);
        let most = work.try_acquire_up_to(Live::EVENTS).map_or(0, |grant| grant.permits());
        let done = self.session.advance(until_nanos, most);
        work.credit(most - done);
        self.slowed = self.session.now_nanos() < until_nanos;
    }

    /// Returns what a reader has not been told, or `None` if there is nothing new and it was told not long ago.
    pub(crate) fn frame(&self, cursor: &mut Cursor, is_due: bool) -> Option<Frame> {
        (is_due || self.session.has_news(cursor)).then(|| self.session.frame(cursor, self.slowed))
    }

    /// Notes a reader, unless there are too many. Its time begins now.
    pub(crate) fn enter(&mut self, now: Instant, work: &TokenBucket) -> bool {
        self.advance(now, work);
        let has_room = self.readers < Live::READERS;
        self.readers += usize::from(has_room);
        has_room
    }

    pub(crate) fn leave(&mut self, now: Instant) {
        self.readers = self.readers.saturating_sub(1);
        self.idle_since = now;
    }

    /// Returns the time since which nobody reads its events.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        (self.readers == 0).then_some(self.idle_since)
    }

    /// Returns true if nobody has read its events for so long that it ends.
    pub(crate) fn is_forgotten(&self, now: Instant) -> bool {
        self.idle_since().is_some_and(|since| now.saturating_duration_since(since) >= Live::IDLE)
    }

    /// Ends it: readers are told nothing more.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }
}
