//! The events of a session, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Path, State};
use axum::response::sse::{Event, Sse};
use futures_util::stream::{self, Stream};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::Playground;
use super::refused::Refused;
use crate::live::Live;
use crate::session::Cursor;
use crate::sessions::{self, SharedLive};
use crate::shared::Shared;

/// Time between two frames, if there is something new.
const TICK: Duration = Duration::from_millis(50);

/// Longest time between two frames.
const QUIET: Duration = Duration::from_secs(1);

/// Sends frames. They are made when the connection takes them: a reader that is slow misses decisions, and
/// is told how many, but nothing waits for it.
pub(super) async fn events(
    State(shared): Playground,
    Path(name): Path<String>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refused> {
    let live = shared.sessions.get(&name, Instant::now()).ok_or_else(Refused::no_such_session)?;
    let reader = Reader::new(shared, live)?;
    Ok(Sse::new(stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    })))
}

/// A reader of events. The session counts it until it is dropped.
struct Reader {
    shared: Arc<Shared>,
    live: SharedLive,
    cursor: Cursor,
    ticks: Interval,
    told: Option<Instant>,
    closed: watch::Receiver<bool>,
}

impl Reader {
    fn new(shared: Arc<Shared>, live: SharedLive) -> Result<Reader, Refused> {
        if !sessions::lock(&live).enter(Instant::now()) {
            return Err(Refused::too_many_readers(Live::READERS));
        }
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let closed = shared.closed.subscribe();
        Ok(Reader { shared, live, cursor: Cursor::default(), ticks, told: None, closed })
    }

    /// Returns the next event, or `None` at the end of the session.
    async fn next(&mut self) -> Option<Event> {
        loop {
            tokio::select! {
                // The playground is closed, or gone.
                _ = self.closed.wait_for(|is_closed| *is_closed) => return None,
                _ = self.ticks.tick() => {}
            }
            let now = Instant::now();
            let is_due = self.told.is_none_or(|told| now.saturating_duration_since(told) >= QUIET);
            let has_time = self.shared.work_time.is_there().is_ok();
            // A page hears something each second, if only that its clock stands.
            if !has_time && !is_due {
                continue;
            }
            let mut live = sessions::lock(&self.live);
            if live.has_ended() {
                return None;
            }
            let event = self.shared.work_time.spend(|| {
                if has_time {
                    live.advance(now);
                } else {
                    live.stand(now);
                }
                let frame = live.frame(&mut self.cursor, is_due)?;
                drop(live);
                // A frame has numbers and texts, which JSON has.
                Some(Event::default().event("frame").json_data(&frame).ok())
            });
            if let Some(event) = event {
                self.told = Some(now);
                return event;
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        sessions::lock(&self.live).leave(Instant::now());
    }
}
