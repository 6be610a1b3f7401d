//! Windows, whose times are whole microseconds.

mod counter;
mod fixed;
mod log;
mod slots;

pub(super) use self::counter::SlidingCounter;
pub(super) use self::fixed::FixedWindow;
pub(super) use self::log::SlidingLog;
pub(super) use self::slots::SlidingWindow;

use std::time::Duration;

use sluicegate::Rate;
use sluicegate::penalty::Standing;

use super::micros;
use super::reply::Reply;
use crate::error::LimitError;

/// The limit of a window, and its length.
#[derive(Clone, Copy, Debug)]
struct Window {
    limit: u64,
    micros: u64,
}

impl Window {
    fn new(limit: Rate) -> Result<Window, LimitError> {
        Ok(Window { limit: limit.permits(), micros: micros("window", limit.period())? })
    }
}

/// Reads the state of a script that looks its waits up: the permits that count, the time until none counts, and
/// until the request can be granted, both in microseconds.
fn standing(limit: u64, reply: &Reply) -> Option<Standing> {
    let &[used, reset, ..] = reply.state else { return None };
    Some(Standing::new(limit, u64::try_from(used).ok()?, micros_of(reset)?))
}

fn retry_after(reply: &Reply) -> Option<Duration> {
    let &[_, _, retry, ..] = reply.state else { return None };
    micros_of(retry)
}

fn micros_of(number: i64) -> Option<Duration> {
    Some(Duration::from_micros(u64::try_from(number).ok()?))
}
