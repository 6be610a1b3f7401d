//! A client that always has something to send, and servers behind lines that delay each message by
//! another time, so that responses overtake each other. A server that tells its limit refuses nothing, and
//! most of its limit is used.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;
use sluicegate::{FixedWindow, Limiter, Quota, Rate, SlidingLog, SlidingWindow, TokenBucket};
use sluicegate_http::fields::{FieldVersion, FieldWriter, PolicyState, QuotaPolicy, ResetAs};

use super::*;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Bucket,
    FixedWindow,
    SlidingWindow,
    SlidingLog,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Message {
    Request,
    Response,
}

struct Server {
    limiter: Box<dyn Limiter>,
    writer: FieldWriter,
}

impl Server {
    fn new(kind: Kind, version: FieldVersion, limit: u64, seconds: u64, clock: &Clock) -> Server {
        let clock = Arc::clone(clock);
        let rate = Rate::new(limit, Duration::from_secs(seconds)).unwrap();
        let limiter: Box<dyn Limiter> = match kind {
            Kind::Bucket => Box::new(TokenBucket::with_clock(Quota::new(rate), clock)),
            Kind::FixedWindow => Box::new(FixedWindow::with_clock(rate, clock).unwrap()),
            Kind::SlidingWindow => Box::new(SlidingWindow::with_slots(rate, 10, clock).unwrap()),
            Kind::SlidingLog => Box::new(SlidingLog::with_clock(rate, clock).unwrap()),
        };
        let policy = QuotaPolicy::new(limit).per(Duration::from_secs(seconds));
        Server { limiter, writer: FieldWriter::new(version, [policy]).unwrap() }
    }

    /// Returns the response, and whether it is a refusal.
    fn answer(&self, now: SystemTime) -> (StatusCode, HeaderMap) {
        let mut headers = HeaderMap::new();
        let (status, state) = match self.limiter.try_acquire(1) {
            Ok(grant) => (StatusCode::OK, PolicyState::granted(&grant)),
            Err(denied) => (StatusCode::TOO_MANY_REQUESTS, PolicyState::denied(&denied)),
        };
        self.writer.write(&mut headers, &[state], now);
        (status, headers)
    }
}

/// The requests that were granted and refused until `end`.
struct Counts {
    granted: u64,
    refused: u64,
}

/// Sends as soon as it may. Each message takes one of the `delays`, in milliseconds.
fn run(server: &Server, clock: &Clock, delays: &[u64], end: Duration) -> Counts {
    let limits = ServerLimits::with_clock(Bounds::new(), Arc::clone(clock));
    let wall = |nanos| received() + Duration::from_nanos(nanos);
    let mut delay = delays.iter().cycle().map(|millis| millis * 1_000_000);
    let mut messages = BinaryHeap::new();
    let mut sendings = Vec::new();
    let mut responses = std::collections::HashMap::new();
    let mut counts = Counts { granted: 0, refused: 0 };
    let (mut now, end) = (0, end.as_nanos() as u64);
    while now < end {
        clock.set_nanos(now);
        let retry_at = loop {
            match limits.try_send() {
                Ok(sending) => {
                    messages.push(Reverse((
                        now + delay.next().unwrap(),
                        sendings.len(),
                        Message::Request,
                    )));
                    sendings.push(Some(sending));
                    assert!(sendings.len() < 20_000, "more than any of the servers could grant");
                }
                Err(no_turn) => break no_turn.retry_after.map(|wait| now + wait.as_nanos() as u64),
            }
        };
        let next = messages.peek().map(|Reverse((at, ..))| *at);
        if next.is_none_or(|next| retry_at.is_some_and(|retry_at| retry_at < next)) {
            now = retry_at.expect("a client with nothing on its way knows when to go on");
            continue;
        }
        let Some(Reverse((at, which, message))) = messages.pop() else { continue };
        now = at;
        clock.set_nanos(now);
        match message {
            Message::Request => {
                responses.insert(which, server.answer(wall(now)));
                messages.push(Reverse((now + delay.next().unwrap(), which, Message::Response)));
            }
            Message::Response => {
                let (status, headers) = responses.remove(&which).unwrap();
                *if status.is_success() { &mut counts.granted } else { &mut counts.refused } += 1;
                let fields = ResponseFields::parse(&headers, wall(now));
                sendings[which].take().unwrap().sync_with(status, &fields);
            }
        }
    }
    counts
}

fn any_version() -> impl Strategy<Value = FieldVersion> {
    prop::sample::select(vec![
        FieldVersion::Legacy(ResetAs::SecondsLeft),
        FieldVersion::Legacy(ResetAs::UnixTime),
        FieldVersion::Draft3,
        FieldVersion::Draft6,
        FieldVersion::Draft7,
        FieldVersion::Draft8,
    ])
}

fn any_kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![
        Kind::Bucket,
        Kind::FixedWindow,
        Kind::SlidingWindow,
        Kind::SlidingLog,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_server_that_tells_its_limit_refuses_nothing(
        kind in any_kind(),
        version in any_version(),
        limit in 1_u64..200,
        seconds in 1_u64..10,
        delays in prop::collection::vec(0_u64..400, 1..40),
    ) {
        let clock = Arc::new(ManualClock::new());
        let server = Server::new(kind, version, limit, seconds, &clock);
        let windows = 10;
        let end = Duration::from_secs(seconds * windows);
        let counts = run(&server, &clock, &delays, end);
        prop_assert_eq!(counts.refused, 0);
        prop_assert!(counts.granted >= windows / 4, "only {} of {}", counts.granted, limit * windows);
    }
}

/// The share of a limit that a client with a round trip of 100 ms uses.
#[test]
fn most_of_a_limit_is_used() {
    for kind in [Kind::Bucket, Kind::FixedWindow, Kind::SlidingWindow, Kind::SlidingLog] {
        for version in [FieldVersion::Draft7, FieldVersion::Draft8] {
            let clock = Arc::new(ManualClock::new());
            let server = Server::new(kind, version, 100, 10, &clock);
            let counts = run(&server, &clock, &[50], Duration::from_secs(200));
            assert_eq!(counts.refused, 0, "{kind:?} {version:?}");
            assert!(counts.granted >= 1_800, "{kind:?} {version:?}: {}", counts.granted);
        }
    }
}
