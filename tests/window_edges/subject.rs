//! Every limiter of windows, behind one trait.

use std::time::Duration;

use sluicegate::window::*;
use sluicegate::*;

use crate::support::limiters::windows;

/// The methods that all limiters of windows have besides the verbs.
pub(crate) trait Window: Limiter {
    fn limit(&self) -> u64;
    fn max_limit(&self) -> u64;
    fn count(&self) -> u64;
    fn reconfigure(&self, limit: u64) -> Result<(), ConfigError>;
    fn snapshot(&self) -> History;
    fn restore(&mut self, history: &History, away: Duration);
}

macro_rules! window {
    ($Limiter:ty) => {
        impl Window for $Limiter {
            fn limit(&self) -> u64 {
                <$Limiter>::limit(self)
            }

            fn max_limit(&self) -> u64 {
                <$Limiter>::max_limit(self)
            }

            fn count(&self) -> u64 {
                <$Limiter>::count(self)
            }

            fn reconfigure(&self, limit: u64) -> Result<(), ConfigError> {
                <$Limiter>::reconfigure(self, limit)
            }

            fn snapshot(&self) -> History {
                <$Limiter>::snapshot(self)
            }

            fn restore(&mut self, history: &History, away: Duration) {
                <$Limiter>::restore(self, history, away);
            }
        }
    };
}

/// By its first window.
impl Window for MultiWindow<&ManualClock> {
    fn limit(&self) -> u64 {
        self.windows().next().unwrap().0
    }

    fn max_limit(&self) -> u64 {
        MultiWindow::max_limit(self)
    }

    fn count(&self) -> u64 {
        MultiWindow::count(self, 0)
    }

    /// All windows alike, so that the others do not hide the first.
    fn reconfigure(&self, limit: u64) -> Result<(), ConfigError> {
        (0..self.windows().len()).try_for_each(|which| MultiWindow::reconfigure(self, which, limit))
    }

    fn snapshot(&self) -> History {
        MultiWindow::snapshot(self)
    }

    fn restore(&mut self, history: &History, away: Duration) {
        MultiWindow::restore(self, history, away);
    }
}

/// The bound on what a span of the window's length may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The limit, wherever it begins.
    Any,
    /// The limit only where it begins with the limiter's own windows or slots.
    Own,
}

type Make =
    for<'clock> fn(Rate, &'clock ManualClock) -> Result<Box<dyn Window + 'clock>, ConfigError>;

/// A limiter of the table.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) make: Make,
    pub(crate) bound: Bound,
    /// The parts that its window moves on by; 1 if it is in one piece.
    slots: u64,
    /// True if its windows follow one another on the clock.
    is_aligned: bool,
    /// The windows that a permit may count for.
    windows: u64,
    /// The ticks of its dates: 2^(b + 1) ns for a limit of b bits and this many less.
    tick_bits: Option<u32>,
    /// True if it grants one permit at a time.
    pub(crate) is_unit: bool,
}

const KIND: Kind = Kind {
    name: "",
    make: |_, _| unreachable!(),
    bound: Bound::Any,
    slots: 1,
    is_aligned: false,
    windows: 1,
    tick_bits: None,
    is_unit: false,
};

/// Defines the table: the windows of the list, and rings with another set-up.
macro_rules! table {
    ($((
        $Kind:ident, $name:literal, $Window:ident,
        |$limit:ident, $slots:ident, $entries:ident, $clock:ident| $make:block,
        |$now:ident, $most:ident, $length:ident, $parts:ident, $places:ident| $state:block,
        { $($fact:ident: $value:expr),* }
    ))*) => {
        $(window!($Window<&ManualClock>);)*

        pub(crate) const KINDS: &[Kind] = &[
            $(Kind {
                name: stringify!($Window),
                make: |$limit, $clock| {
                    let ($slots, $entries) = (60, $limit.permits());
                    Ok(Box::new($make?))
                },
                $($fact: $value,)*
                ..KIND
            },)*
            Kind {
                name: "SlidingWindow of one slot",
                make: |limit, clock| Ok(Box::new(SlidingWindow::with_slots(limit, 1, clock)?)),
                ..KIND
            },
            Kind {
                name: "SlidingWindow, compact",
                make: |limit, clock| Ok(Box::new(SlidingWindow::compact(limit, 7, clock)?)),
                slots: 7,
                ..KIND
            },
            Kind {
                name: "MultiWindow",
                make: |limit, clock| Ok(Box::new(MultiWindow::with_slots([limit; 2], 60, clock)?)),
                slots: 60,
                ..KIND
            },
        ];
    };
}

windows!(table);
window!(SlidingWindow<&ManualClock, Compact>);

impl Kind {
    /// # Panics
    ///
    /// If the limiter cannot be made.
    pub(crate) fn of<'clock>(
        &self,
        limit: Rate,
        clock: &'clock ManualClock,
    ) -> Box<dyn Window + 'clock> {
        (self.make)(limit, clock).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// The longest that a permit counts, if threads' clocks agree.
    pub(crate) fn longest(&self, limit: Rate) -> Duration {
        let window_nanos = limit.period().as_nanos() as u64;
        let Kind { slots, is_aligned, windows, tick_bits, is_unit, .. } = *self;
        let nanos = match tick_bits {
            // A window of one nanosecond lasts two.
            _ if is_unit => window_nanos.max(2),
            _ if is_aligned => windows * window_nanos,
            Some(fewer) => {
                let bits = u64::BITS - limit.permits().leading_zeros();
                window_nanos + ((2 << bits) >> fewer)
            }
            // A slot is rounded up, and they all are as long.
            None => (slots + 1) * window_nanos.div_ceil(slots),
        };
        Duration::from_nanos(nanos)
    }

    /// The same after the clock was set back, and time goes on from where it stood: that
    /// is known to a slot, or to a nanosecond of a log.
    pub(crate) fn longest_after_set_back(&self, limit: Rate) -> Duration {
        let Kind { slots, is_aligned, tick_bits, is_unit, .. } = *self;
        let slot_nanos = match tick_bits {
            _ if is_aligned => 0,
            None if !is_unit => (limit.period().as_nanos() as u64).div_ceil(slots),
            _ => 1,
        };
        self.longest(limit) + Duration::from_nanos(slot_nanos)
    }

    /// Takes `permits` one by one, or together where that can be.
    ///
    /// # Panics
    ///
    /// If they are not all granted.
    pub(crate) fn take(&self, window: &dyn Window, permits: u64) {
        let (times, each) = if self.is_unit { (permits, 1) } else { (1, permits) };
        for _ in 0..times {
            let taken = window.try_acquire(each).map(|grant| grant.permits());
            assert_eq!(taken, Ok(each), "{}", self.name);
        }
    }
}

/// Takes all there is; how much it was.
pub(crate) fn drain(window: &dyn Window) -> u64 {
    window.try_acquire_up_to(u64::MAX).map_or(0, |grant| grant.permits())
}

/// The wait for `permits`, after it was seen to be the least that suffices.
///
/// # Panics
///
/// If it is not, or if there is no need to wait.
pub(crate) fn least_wait(window: &dyn Limiter, permits: u64, clock: &ManualClock) -> Duration {
    let now_nanos = clock.now_nanos();
    let wait = window.peek(permits).unwrap_err().retry_after().unwrap();
    clock.set_nanos(now_nanos + wait.as_nanos() as u64 - 1);
    assert!(window.peek(permits).is_err(), "{wait:?} is too long");
    clock.advance_nanos(1);
    assert!(window.peek(permits).is_ok(), "{wait:?} is too short");
    clock.set_nanos(now_nanos);
    wait
}
