//! A session in real time, while somebody looks.

use std::time::{Duration, Instant};

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

    /// Lets time pass until `now`, but for no more than a number of events.
    pub(crate) fn advance(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.come_to).min(Live::STEP);
        self.come_to = now;
        let passed = if self.readers == 0 { Duration::ZERO } else { passed };
        let nanos = (passed.as_secs_f64() * self.session.speed() * 1e9) as u64;
        let until_nanos = self.session.now_nanos().saturating_add(nanos);
        self.session.advance(until_nanos, Live::EVENTS / self.session.work_of_event());
        self.slowed = self.session.now_nanos() < until_nanos;
    }

    /// Lets no time pass until `now`, as the sessions have too much to do.
    pub(crate) fn stand(&mut self, now: Instant) {
        self.come_to = now;
        self.slowed = self.readers > 0 && self.session.speed() > 0.0;
    }

    /// Returns what a reader has not been told, or `None` if there is nothing new and it was told not long ago.
    pub(crate) fn frame(&self, cursor: &mut Cursor, is_due: bool) -> Option<Frame> {
        (is_due || self.session.has_news(cursor)).then(|| self.session.frame(cursor, self.slowed))
    }

    /// Notes a reader, unless there are too many. Its time begins now.
    pub(crate) fn enter(&mut self, now: Instant) -> bool {
        self.advance(now);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::command::CheckedStream;

    fn live(speed: f64, now: Instant) -> Live {
        let setup = json!({ "sides": [{ "algorithm": "gcra" }], "speed": speed });
        let setup = serde_json::from_value(setup).unwrap();
        Live::new(CheckedSetup::new(&setup).unwrap(), now)
    }

    fn at_millis(live: &Live) -> u64 {
        live.session.now_nanos() / 1_000_000
    }

    #[test]
    fn time_passes_at_its_speed_while_somebody_reads_and_no_further_at_once_than_a_step() {
        let began = Instant::now();
        let after = |millis| began + Duration::from_millis(millis);
        let mut live = live(10.0, began);
        live.advance(after(1_000));
        assert_eq!(at_millis(&live), 0);
        assert!(live.enter(after(1_000)));
        live.advance(after(1_100));
        assert_eq!(at_millis(&live), 1_000);
        // A reader that comes back after a minute has missed nothing.
        live.advance(after(61_100));
        assert_eq!(at_millis(&live), 3_500);
        live.session.set_speed(0.0);
        live.advance(after(61_200));
        assert_eq!((at_millis(&live), live.slowed), (3_500, false));
    }

    fn busy(sides: usize, speed: f64, began: Instant) -> Live {
        let stream = json!({ "streams": [{ "key": "a", "per_second": 1_000 }] });
        let stream = CheckedStream::all(&serde_json::from_value(stream).unwrap()).unwrap();
        let setup = json!({ "sides": vec![json!({ "algorithm": "gcra" }); sides], "speed": speed });
        let setup = serde_json::from_value(setup).unwrap();
        let mut live = Live::new(CheckedSetup::new(&setup).unwrap(), began);
        assert!(live.enter(began));
        live.session.set_streams(stream).unwrap();
        live
    }

    #[test]
    fn a_session_stands_at_its_last_event_if_there_are_too_many_and_four_sides_have_half_as_many() {
        let began = Instant::now();
        for (sides, requests) in [(1, 1_000), (2, 1_000), (3, 500), (4, 500)] {
            let mut live = busy(sides, 100.0, began);
            live.advance(began + Duration::from_millis(100));
            // The first is at 0.
            assert_eq!((at_millis(&live), live.slowed), (requests - 1, true));
            let frame = live.frame(&mut Cursor::default(), false).unwrap();
            let totals = frame.sides[sides - 1].totals;
            assert_eq!((totals.granted + totals.refused, frame.slowed), (requests, true));
        }
    }

    #[test]
    fn time_for_which_a_session_stands_is_lost_and_the_page_is_told() {
        let began = Instant::now();
        let after = |millis| began + Duration::from_millis(millis);
        let mut live = busy(1, 1.0, began);
        live.stand(after(100));
        assert_eq!((at_millis(&live), live.slowed), (0, true));
        live.advance(after(150));
        assert_eq!((at_millis(&live), live.slowed), (50, false));
        live.session.set_speed(0.0);
        live.stand(after(200));
        assert!(!live.slowed, "it stands in any case");
    }

    #[test]
    fn it_is_forgotten_two_minutes_after_its_last_reader() {
        let began = Instant::now();
        let after = |secs| began + Duration::from_secs(secs);
        let mut live = live(1.0, began);
        assert!(!live.is_forgotten(after(119)) && live.is_forgotten(after(120)));
        assert!(live.enter(after(60)) && live.enter(after(60)));
        live.leave(after(70));
        assert!(!live.is_forgotten(after(1_000)));
        live.leave(after(80));
        assert!(!live.is_forgotten(after(199)) && live.is_forgotten(after(200)));
    }
}
