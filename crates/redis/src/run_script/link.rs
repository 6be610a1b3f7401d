//! A connection that is made when it is needed, and replaced when it no longer serves.
//!
//! | a request | what becomes of the connection |
//! |---|---|
//! | is answered, by a decision or by an error that concerns the request alone | it stays |
//! | is given up, or times out, and nothing was answered on the connection since it was sent | it is silent: it serves on until another one has taken its place |
//! | is answered by an error that all requests have to expect, such as `READONLY` | the same, since the address may lead to another server by now |
//! | finds that the connection has ended | it is dropped; requests wait for the next one, which is tried at once |
//! | finds that one of several parts has ended, a node of a cluster | it serves the other parts on; requests to this one wait for the next connection if that is tried at once |
//!
//! A task of its own makes the next connection, so that it does not matter who gives up waiting for it. It tries until
//! one is there, after pauses that double from [`FIRST_PAUSE`] to [`MAX_PAUSE`], each cut by up to a half at random, so
//! that machines which lost the server together do not come back together. While it pauses after an attempt that
//! failed, requests fail by the reason of that attempt.

#[cfg(test)]
mod tests;

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use redis::RedisResult;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use crate::error::StoreError;

/// The pause before a connection is replaced that has answered, and has not ended.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause before the next attempt.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// Makes a client of the crate `redis`, for one connection.
pub(super) type Make<T> = Box<dyn Fn() -> RedisResult<T> + Send + Sync>;

/// Makes connections.
pub(super) trait Connect: Send + Sync + 'static {
    /// A connection that its clones share.
    type Connection: Clone + Send + Sync + 'static;

    /// Parts of a connection that may be silent while others answer: nodes of a cluster. A connection of several
    /// parts is never dropped before it is replaced.
    const PARTS: usize;

    /// Makes a connection, and returns once the server has answered on it, or after a bounded time.
    fn connect(&self) -> impl Future<Output = RedisResult<Self::Connection>> + Send;
}

/// A connection whose clones are the same one, whichever it is.
pub(super) struct Link<C: Connect> {
    shared: Arc<Shared<C>>,
}

struct Shared<C: Connect> {
    connect: C,
    state: Mutex<State<C::Connection>>,
    /// Tells those that wait for a connection that there is one, or that an attempt has failed.
    changed: Notify,
}

struct State<T> {
    current: Option<T>,
    /// Number of the connection.
    number: u64,
    /// Answers on it, of each part.
    answers: Box<[u32]>,
    /// Its parts whose requests wait for the next one, which is being made without a pause: they have ended.
    ended: Box<[bool]>,
    /// The part because of which it was to be replaced the last time.
    cause: usize,
    /// Attempts to replace a connection in a row, none of which has led to one that answered.
    attempts: u32,
    is_connecting: bool,
    /// The failure of the last attempt, during the pause after it.
    failure: Option<StoreError>,
}

/// A request on its way. If it is dropped, the request has been given up.
pub(super) struct Sent<C: Connect> {
    shared: Arc<Shared<C>>,
    connection: C::Connection,
    number: u64,
    part: usize,
    /// Answers of the part when the request was sent.
    answers: u32,
    runtime: Handle,
    has_ended: bool,
}

/// Sign of life of a connection, by a request.
#[derive(Clone, Copy)]
enum Seen {
    Answer,
    Refusal,
    Silence,
    End,
}

impl<C: Connect> Link<C> {
    /// Creates a link without a connection, which is made at the first request.
    pub(super) fn new(connect: C) -> Link<C> {
        let state = State {
            current: None,
            number: 0,
            answers: vec![0; C::PARTS].into(),
            ended: vec![false; C::PARTS].into(),
            cause: 0,
            attempts: 0,
            is_connecting: false,
            failure: None,
        };
        let shared = Shared { connect, state: Mutex::new(state), changed: Notify::new() };
        Link { shared: Arc::new(shared) }
    }

    /// Returns a request to be sent on the current connection to one of its parts. Waits for a connection if there is
    /// none, or if the part has ended, as long as an attempt to make one takes.
    pub(super) async fn begin(&self, part: usize) -> Result<Sent<C>, StoreError> {
        let unreachable = |why: &'static str| StoreError::Unreachable(why.into());
        let runtime = Handle::try_current();
        let runtime = runtime.map_err(|_| unreachable("there is no runtime of tokio here"))?;
        let mut has_tried = false;
        loop {
            // It is notified from here on.
            let changed = self.shared.changed.notified();
            let starts = {
                let mut state = self.shared.lock();
                let connection = state.current.as_ref().filter(|_| !state.ended[part]);
                if let Some(connection) = connection {
                    return Ok(Sent {
                        connection: connection.clone(),
                        number: state.number,
                        part,
                        answers: state.answers[part],
                        shared: Arc::clone(&self.shared),
                        runtime,
                        has_ended: false,
                    });
                }
                if let Some(failure) = &mut state.failure {
                    return Err(failure.share());
                }
                let starts = state.starts_connecting();
                if starts && has_tried {
                    state.is_connecting = false;
                    return Err(unreachable("the runtime has ended"));
                }
                starts.then_some(state.attempts)
            };
            if let Some(attempts) = starts {
                has_tried = true;
                self.shared.connect(attempts, &runtime);
            }
            changed.await;
        }
    }
}

impl<T> State<T> {
    /// Returns true if a task is to be started that makes the next connection: there is none.
    fn starts_connecting(&mut self) -> bool {
        !std::mem::replace(&mut self.is_connecting, true)
    }
}

impl<C: Connect> Clone for Link<C> {
    fn clone(&self) -> Link<C> {
        Link { shared: Arc::clone(&self.shared) }
    }
}

impl<C: Connect> fmt::Debug for Link<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("Link")
            .field("number", &state.number)
            .field("is_connected", &state.current.is_some())
            .field("attempts", &state.attempts)
            .finish_non_exhaustive()
    }
}

impl<C: Connect> Sent<C> {
    pub(super) fn connection(&self) -> C::Connection {
        self.connection.clone()
    }

    /// Notes what the answer shows of the connection, and returns it.
    pub(super) fn end(mut self, answer: RedisResult<Vec<i64>>) -> Result<Vec<i64>, StoreError> {
        self.has_ended = true;
        let answer = answer.map_err(StoreError::from);
        self.note(match &answer {
            Err(StoreError::TimedOut) => Seen::Silence,
            Err(StoreError::Unreachable(_) | StoreError::Disconnected(_)) => Seen::End,
            Err(error) if error.is_of_server() => Seen::Refusal,
            _ => Seen::Answer,
        });
        answer
    }

    fn note(&self, seen: Seen) {
        let mut state = self.shared.lock();
        // Others have replaced it by now.
        if state.number != self.number {
            return;
        }
        let is_end = matches!(seen, Seen::End);
        let cause = state.cause;
        let answers = &mut state.answers[self.part];
        match seen {
            Seen::Answer => {
                *answers = answers.wrapping_add(1);
                return;
            }
            // It is slow, or the network has lost one packet.
            Seen::Silence if *answers != self.answers => return,
            _ => {}
        }
        // Not by the answers of other parts, or a node that is away would have it replaced again and again.
        if std::mem::take(answers) > 0 || state.answers[cause] > 0 {
            state.attempts = 0;
        }
        if is_end && C::PARTS == 1 {
            state.current = None;
        }
        if !state.starts_connecting() {
            // The attempt for another part is one without a pause if that waits for it.
            state.ended[self.part] |= is_end && state.ended.contains(&true);
            return;
        }
        // One that has answered and was then ended is replaced without a pause.
        let before = state.attempts;
        state.attempts = before.saturating_add(1);
        state.cause = self.part;
        state.ended[self.part] = is_end && before == 0;
        let attempts = if is_end { before } else { state.attempts };
        drop(state);
        self.shared.connect(attempts, &self.runtime);
    }
}

impl<C: Connect> Drop for Sent<C> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.note(Seen::Silence);
        }
    }
}

impl<C: Connect> Shared<C> {
    fn lock(&self) -> MutexGuard<'_, State<C::Connection>> {
        // No panic could leave a state half written.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the task that makes the next connection. A runtime that has ended drops it at once.
    fn connect(self: &Arc<Self>, attempts: u32, runtime: &Handle) {
        runtime.spawn(Connecting(Arc::downgrade(self)).run(pause(attempts)));
    }
}

/// The task that makes the next connection. Ends when there is one, or when nobody can ask for it any more.
struct Connecting<C: Connect>(Weak<Shared<C>>);

impl<C: Connect> Connecting<C> {
    async fn run(self, mut wait: Duration) {
        loop {
            tokio::time::sleep(wait).await;
            let Some(shared) = self.0.upgrade() else { return };
            shared.lock().failure = None;
            let connected = shared.connect.connect().await;
            let mut state = shared.lock();
            // If there is none, they go on by the old one, since a part alone may be away.
            state.ended.fill(false);
            match connected {
                Ok(connection) => {
                    state.current = Some(connection);
                    state.number += 1;
                    state.answers.fill(0);
                    return;
                }
                Err(error) => {
                    state.attempts = state.attempts.saturating_add(1);
                    state.failure = Some(not_sent(error));
                    wait = pause(state.attempts);
                }
            }
            drop(state);
            shared.changed.notify_waiters();
        }
    }
}

/// Also when the runtime ends, and the task with it: then the next request starts another one on its own runtime.
impl<C: Connect> Drop for Connecting<C> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.upgrade() {
            let mut state = shared.lock();
            state.is_connecting = false;
            state.failure = None;
            drop(state);
            shared.changed.notify_waiters();
        }
    }
}

/// Returns the failure of requests that wait for a connection, which have taken nothing.
fn not_sent(error: redis::RedisError) -> StoreError {
    match StoreError::from(error) {
        StoreError::Disconnected(source) => StoreError::Unreachable(source),
        error @ StoreError::Unreachable(_) => error,
        error if error.is_of_server() && !error.may_have_taken() => error,
        error => StoreError::Unreachable(Box::new(error)),
    }
}

/// Returns the pause before an attempt: none before the first.
fn pause(attempts: u32) -> Duration {
    let Some(doublings) = attempts.checked_sub(1) else { return Duration::ZERO };
    let longest = FIRST_PAUSE.saturating_mul(1 << doublings.min(16)).min(MAX_PAUSE);
    let half = longest / 2;
    // Each has random keys.
    let random = RandomState::new().hash_one(()) as u32;
    half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
}
