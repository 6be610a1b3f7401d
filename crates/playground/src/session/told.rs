//! Readers: what they are told.

use super::Session;
use super::play::Playing;
use super::streams::Running;
use crate::bounds;
use crate::units;
use crate::wire::Frame;

/// A reader's place in a session: the events up to it were told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cursor {
    version: u64,
    sides: [SidePlace; bounds::SIDES],
}

/// A reader's place among the decisions of a side.
#[derive(Clone, Copy, Debug, Default)]
struct SidePlace {
    /// The side, which may have gone since.
    id: u64,
    seen: u64,
}

impl Session {
    /// Returns true if there is something to tell a reader, but for the time.
    pub(crate) fn has_news(&self, cursor: &Cursor) -> bool {
        cursor.version != self.version
    }

    /// Returns the events after a reader's place, and moves that.
    pub(crate) fn frame(&self, cursor: &mut Cursor, slowed: bool) -> Frame {
        cursor.version = self.version;
        let most = bounds::DECISIONS / self.sides.len().max(1);
        let mut dropped = 0;
        let mut sides = Vec::new();
        for (side, place) in self.sides.iter().zip(&mut cursor.sides) {
            let seen = if place.id == side.id() { place.seen } else { 0 };
            let (frame, left_out) = side.frame(seen, most);
            *place = SidePlace { id: side.id(), seen: side.decided() };
            dropped += left_out;
            sides.push(frame);
        }
        Frame {
            run: self.run,
            at: units::seconds(self.now_nanos()),
            speed: self.setup.speed,
            slowed,
            streams: self.streams.iter().map(Running::shown).collect(),
            scenario: self.scenario.as_ref().map(Playing::progress),
            sides,
            dropped,
        }
    }
}
