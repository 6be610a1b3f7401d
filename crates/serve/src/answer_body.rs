//! Answers that clients have not taken yet: how many bytes there are, and since when nothing was taken of one.
//!
//! A client of HTTP/2 can leave its window closed, so an answer waits in memory while the connection itself is fine. Each
//! answer is passed on in pieces; a piece counts until it was written to the connection.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, sleep};

/// Most bytes of a piece.
const PIECE_BYTES: usize = 64 << 10;

/// Most bytes of answers that a connection may leave untaken before its next request is refused.
const CONNECTION_BYTES: usize = 1 << 20;

/// The answers of one connection that its client has not taken yet.
#[derive(Debug)]
pub(crate) struct Untaken {
    /// Bytes of the answers of all connections.
    all: Arc<AtomicUsize>,
    most: usize,
    own: Mutex<Own>,
}

#[derive(Debug, Default)]
struct Own {
    bytes: usize,
    next: u64,
    answers: HashMap<u64, Answer>,
}

#[derive(Debug)]
struct Answer {
    bytes: usize,
    /// The last time that the client has taken something; `None` while there is nothing to take.
    since: Option<Instant>,
    /// Pieces that are not written yet.
    pieces: usize,
}

impl Untaken {
    /// Returns the answers of a connection that has none yet. `all` are the bytes of all connections, of which there may be
    /// `most`.
    pub(crate) fn new(all: &Arc<AtomicUsize>, most: usize) -> Arc<Untaken> {
        Arc::new(Untaken { all: Arc::clone(all), most, own: Mutex::default() })
    }

    /// Returns true if there is space for another answer.
    pub(crate) fn has_space(&self) -> bool {
        self.all.load(Relaxed) < self.most && self.lock().bytes < CONNECTION_BYTES
    }

    /// Waits until nothing was taken of an answer for `longest`, and at most for half as long again.
    pub(crate) async fn stalled(&self, longest: Duration) {
        loop {
            sleep(longest / 2).await;
            let is_late = |since: Instant| since.elapsed() >= longest;
            if self.lock().answers.values().filter_map(|answer| answer.since).any(is_late) {
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut Answer)) {
        let mut own = self.lock();
        let Some(answer) = own.answers.get_mut(&number) else { return };
        let before = answer.bytes;
        change(answer);
        let after = answer.bytes;
        own.bytes = own.bytes + after - before;
        drop(own);
        if after > before {
            self.all.fetch_add(after - before, Relaxed);
        } else {
            self.all.fetch_sub(before - after, Relaxed);
        }
    }
}

/// An answer until it is taken or dropped: its body and its pieces have it.
#[derive(Debug)]
struct Entry {
    untaken: Arc<Untaken>,
    number: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.untaken.change(self.number, |answer| answer.bytes = 0);
        self.untaken.lock().answers.remove(&self.number);
    }
}

/// A piece of an answer until it is written to the connection.
struct Piece {
    bytes: Bytes,
    entry: Arc<Entry>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.entry.untaken.change(self.entry.number, |answer| {
            answer.bytes -= self.bytes.len();
            answer.pieces -= 1;
            answer.since = Some(Instant::now());
        });
    }
}

/// The body of an answer, whose bytes are counted until the client has taken them.
#[derive(Debug)]
pub(crate) struct AnswerBody {
    body: Body,
    entry: Arc<Entry>,
    /// Bytes that were counted before they came.
    counted: usize,
    /// The rest of a part of the body.
    rest: Bytes,
}

impl AnswerBody {
    pub(crate) fn new(body: Body, untaken: &Arc<Untaken>) -> AnswerBody {
        let counted = body.size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
        let counted = counted.unwrap_or(0);
        let since = Some(Instant::now());
        let mut own = untaken.lock();
        let number = own.next;
        own.next += 1;
        own.answers.insert(number, Answer { bytes: 0, since, pieces: 0 });
        drop(own);
        untaken.change(number, |answer| answer.bytes = counted);
        let entry = Arc::new(Entry { untaken: Arc::clone(untaken), number });
        AnswerBody { body, entry, counted, rest: Bytes::new() }
    }

    /// Returns the next piece of the rest.
    fn piece(&mut self) -> Frame<Bytes> {
        let bytes = self.rest.split_to(self.rest.len().min(PIECE_BYTES));
        let uncounted = bytes.len().saturating_sub(self.counted);
        self.counted = self.counted.saturating_sub(bytes.len());
        self.change(|answer| {
            answer.bytes += uncounted;
            answer.pieces += 1;
            answer.since = Some(Instant::now());
        });
        Frame::data(Bytes::from_owner(Piece { bytes, entry: Arc::clone(&self.entry) }))
    }

    fn change(&self, change: impl FnOnce(&mut Answer)) {
        self.entry.untaken.change(self.entry.number, change);
    }
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        if !this.rest.is_empty() {
            return Poll::Ready(Some(Ok(this.piece())));
        }
        let polled = Pin::new(&mut this.body).poll_frame(context);
        if polled.is_pending() {
            // The service has nothing to send: its client is not late, unless pieces are left.
            this.change(|answer| answer.since = answer.since.filter(|_| answer.pieces > 0));
        }
        Poll::Ready(match ready!(polled) {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(bytes) if bytes.is_empty() => Some(Ok(Frame::data(bytes))),
                Ok(bytes) => {
                    this.rest = bytes;
                    Some(Ok(this.piece()))
                }
                Err(frame) => Some(Ok(frame)),
            },
            other => other,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, of_body) = (self.rest.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(of_body.lower().saturating_add(rest));
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn bytes_count_until_they_are_taken_and_an_answer_that_is_left_is_told() {
        let all = Arc::new(AtomicUsize::new(0));
        let untaken = Untaken::new(&all, 300_000);
        let mut body = AnswerBody::new(Body::from(vec![7; 100_000]), &untaken);
        assert_eq!((all.load(Relaxed), body.size_hint().exact()), (100_000, Some(100_000)));
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!((first.len(), all.load(Relaxed)), (PIECE_BYTES, 100_000));
        drop(first);
        assert_eq!(all.load(Relaxed), 100_000 - PIECE_BYTES);
        let limit = Duration::from_secs(10);
        let stalled = tokio::time::timeout(9 * limit / 10, untaken.stalled(limit)).await;
        assert!(stalled.is_err(), "it was told too early");
        untaken.stalled(limit).await;
        // A client that takes a piece is not late.
        let rest = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(body.is_end_stream());
        drop(body);
        assert_eq!(all.load(Relaxed), 100_000 - PIECE_BYTES, "the last piece is not written");
        untaken.stalled(limit).await;
        drop(rest);
        assert_eq!((all.load(Relaxed), untaken.lock().answers.len()), (0, 0));
        let more = [(); 3].map(|()| AnswerBody::new(Body::from(vec![7; 100_000]), &untaken));
        assert!(!untaken.has_space() && !Untaken::new(&all, 300_000).has_space());
        drop(more);
        assert!(untaken.has_space());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_is_not_late_while_the_service_has_nothing_to_send() {
        let untaken = Untaken::new(&Arc::default(), 1_000);
        let (_sender, channel) = http_body_util::channel::Channel::<Bytes>::new(1);
        let mut body = AnswerBody::new(Body::new(channel), &untaken);
        let limit = Duration::from_secs(10);
        let (mut polls, mut stalls) = (Box::pin(body.frame()), Box::pin(untaken.stalled(limit)));
        let both = async {
            tokio::select! {
                _ = &mut polls => "sent",
                () = &mut stalls => "stalled",
            }
        };
        assert!(tokio::time::timeout(100 * limit, both).await.is_err());
    }
}
