//! Clients that keep to the limits of servers: what they learn from responses, and the layer.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, StatusCode};
use sluicegate::ManualClock;
use sluicegate_http::fields::ResponseFields;
use sluicegate_http::outgoing::{Bounds, Sending, ServerLimits};

mod bounds;
mod layer;
mod limits;
mod loopback;
mod order;
mod retries;
mod simulated;
mod turns;

type Clock = Arc<ManualClock>;
type Limits = ServerLimits<Clock>;

const SECOND: Duration = Duration::from_secs(1);

/// The instant at which responses arrive, by the clock of the client.
fn received() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

fn limits_with(bounds: Bounds) -> (Clock, Limits) {
    let clock = Arc::new(ManualClock::new());
    (Arc::clone(&clock), ServerLimits::with_clock(bounds, clock))
}

/// The limits of a server that has told nothing, and whose requests are not counted at first.
fn limits() -> (Clock, Limits) {
    limits_with(Bounds::new().start(1_000))
}

fn fields(lines: &[(&str, &str)]) -> ResponseFields {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
    }
    ResponseFields::parse(&headers, received())
}

trait Answered {
    fn ok(self, lines: &[(&str, &str)]);
    fn refused(self, lines: &[(&str, &str)]);
    fn with(self, status: u16, lines: &[(&str, &str)]);
}

impl Answered for Sending<'_, Clock> {
    fn ok(self, lines: &[(&str, &str)]) {
        self.with(200, lines);
    }

    fn refused(self, lines: &[(&str, &str)]) {
        self.with(429, lines);
    }

    fn with(self, status: u16, lines: &[(&str, &str)]) {
        self.sync_with(StatusCode::from_u16(status).unwrap(), &fields(lines));
    }
}

/// Returns the requests that are let through now, at most 1,000. They stay on their way.
fn let_through(limits: &Limits) -> Vec<Sending<'_, Clock>> {
    (0..1_000).map_while(|_| limits.try_send().ok()).collect()
}

/// Returns the wait in whole seconds and the part of one.
fn wait(limits: &Limits) -> Option<Duration> {
    limits.try_send().unwrap_err().retry_after
}
