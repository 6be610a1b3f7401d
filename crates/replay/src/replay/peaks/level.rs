//! The level of one key in one part of a limiter: it rises by requests, and falls with time.

use std::ops::Range;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use sluicegate::calendar::Calendar;

use super::trail::Trail;

/// The way in which a level falls again.
#[derive(Clone, Debug)]
pub(super) enum Fall {
    /// By so many permits in each period, little by little.
    Drain { permits: u64, period_nanos: u64 },
    /// By so many permits at the end of each period since the key's first request.
    Steps { permits: u64, period_nanos: u64 },
    /// To nothing at the end of each period since 1970.
    Epoch { period_nanos: u64 },
    /// To nothing after a period that begins with a request.
    First { period_nanos: u64 },
    /// To nothing at the end of each window of a calendar.
    Calendar(Days),
    /// By each request that is a period old.
    Sliding { period_nanos: u64 },
}

/// The windows of a calendar, of which the newest is kept, and their limits.
#[derive(Clone, Debug)]
pub(super) struct Days {
    pub(super) calendar: Calendar,
    /// The limits of windows that begin on Monday, Tuesday and so on.
    pub(super) amounts: [u64; 7],
    pub(super) zone: TimeZone,
    newest: Range<u64>,
    limit: u64,
}

/// The level of a key, in the unit of its part.
#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    now: u128,
    pub(super) peak: u128,
    pub(super) is_over: bool,
    is_begun: bool,
    /// The time of the newest request.
    at_nanos: u64,
    /// The start of the present window, or the time of the first request.
    start_nanos: u64,
    trail: Option<Box<Trail>>,
}

impl Level {
    /// Lets the level fall until `now_nanos`, and then rise by a request. `limit` is that of the part,
    /// unless the calendar has another.
    pub(super) fn raise(&mut self, fall: &mut Fall, permits: u64, now_nanos: u64, limit: u128) {
        let mut limit = limit;
        if !self.is_begun {
            (self.is_begun, self.at_nanos, self.start_nanos) = (true, now_nanos, now_nanos);
        }
        let wide = |number: u64| u128::from(number);
        let elapsed = wide(now_nanos.saturating_sub(self.at_nanos));
        let mut rise = wide(permits);
        match fall {
            Fall::Drain { permits: drained, period_nanos } => {
                self.now = self.now.saturating_sub(elapsed * wide(*drained));
                rise *= wide(*period_nanos);
            }
            Fall::Steps { permits: returned, period_nanos } => {
                let ended = |nanos: u64| (nanos - self.start_nanos) / *period_nanos;
                let periods = ended(now_nanos) - ended(self.at_nanos);
                self.now = self.now.saturating_sub(wide(periods) * wide(*returned));
            }
            Fall::Epoch { period_nanos } => {
                self.begin(now_nanos - now_nanos % *period_nanos);
            }
            Fall::First { period_nanos } => {
                if now_nanos - self.start_nanos >= *period_nanos {
                    self.begin(now_nanos);
                }
            }
            Fall::Calendar(days) => {
                days.reach(now_nanos);
                limit = wide(days.limit);
                self.begin(days.newest.start);
            }
            Fall::Sliding { period_nanos } => {
                let trail = self.trail.get_or_insert_default();
                self.now = trail.push(permits, now_nanos, *period_nanos);
                rise = 0;
            }
        }
        self.now = self.now.saturating_add(rise);
        self.at_nanos = now_nanos;
        self.peak = self.peak.max(self.now);
        self.is_over |= permits > 0 && self.now > limit;
    }

    /// Begins the window that starts then, unless it is the present one.
    fn begin(&mut self, start_nanos: u64) {
        if start_nanos != self.start_nanos {
            (self.start_nanos, self.now) = (start_nanos, 0);
        }
    }

    pub(super) fn is_stepped(&self) -> bool {
        self.trail.as_ref().is_some_and(|trail| trail.is_stepped)
    }

    pub(super) fn trail_bytes(&self) -> usize {
        self.trail.as_ref().map_or(0, |trail| size_of::<Trail>() + trail.bytes())
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Level>() + self.trail_bytes()
    }
}

impl Days {
    pub(super) fn new(calendar: Calendar, amounts: [u64; 7], zone: TimeZone) -> Days {
        Days { calendar, amounts, zone, newest: 0..0, limit: 0 }
    }

    /// Makes the window of that time the newest one.
    fn reach(&mut self, now_nanos: u64) {
        if self.newest.contains(&now_nanos) {
            return;
        }
        let Range { start, end } = self.calendar.window(Duration::from_nanos(now_nanos));
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.newest = nanos(start)..nanos(end);
        let start = Timestamp::from_nanosecond(i128::from(now_nanos)).unwrap_or(Timestamp::MAX);
        let weekday = start.to_zoned(self.zone.clone()).weekday();
        self.limit = self.amounts[weekday.to_monday_zero_offset() as usize];
    }
}
