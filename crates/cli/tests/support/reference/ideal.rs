//! A limiter of any kind, and the part of it that refuses.

use num_rational::BigRational;
use sluicegate::Refill;
use sluicegate_replay::policy::Kind;

use super::buckets::Bucket;
use super::days::Days;
use super::windows::{Counts, Window};
use super::{nanos, whole};

/// Longer than any limiter takes to be full again, and short enough for a
/// calendar.
const FOR_EVER_NANOS: i128 = 1 << 66;

pub(super) enum Ideal {
    Bucket(Bucket),
    Window(Window),
    /// Several windows over the same grants.
    Windows(Vec<Window>),
    All(Vec<Ideal>),
}

impl Ideal {
    pub(super) fn new(kind: &Kind, now: i128) -> Ideal {
        match kind {
            Kind::TokenBucket { quota, initial } if quota.refill() == Refill::Interval => {
                Ideal::Bucket(Bucket::interval(*quota, *initial, now))
            }
            Kind::TokenBucket { quota, initial } => {
                Ideal::Bucket(Bucket::smooth(*quota, *initial, now))
            }
            Kind::Gcra { interval, tolerance } => Ideal::Bucket(Bucket::Gcra {
                arrival: now,
                interval: nanos(*interval),
                tolerance: nanos(*tolerance),
            }),
            Kind::LeakyMeter(quota) => Ideal::Bucket(Bucket::meter(*quota, now)),
            Kind::LeakyMinInterval(rate) => Ideal::Bucket(Bucket::apart(*rate)),
            Kind::FixedWindow(limit) => Ideal::Window(Window::new(
                limit.permits(),
                Counts::Epoch { length: nanos(limit.period()) },
            )),
            Kind::WindowFromFirst(limit) => Ideal::Window(Window::from_first(*limit)),
            Kind::SlidingWindow { limit, slots } => Ideal::Window(Window::sliding(*limit, *slots)),
            Kind::SlidingCounter(limit) => Ideal::Window(Window::new(
                limit.permits(),
                Counts::Weighted { length: nanos(limit.period()) },
            )),
            Kind::SlidingLog(limit) => Ideal::Window(Window::log(*limit)),
            Kind::WeightedLog { limit, capacity } => {
                Ideal::Window(Window::weighted_log(*limit, *capacity))
            }
            Kind::MultiWindow { limits, slots } => Ideal::Windows(Window::several(limits, *slots)),
            Kind::CalendarWindow { limit, calendar } => {
                Ideal::Window(Window::new(*limit, Counts::Calendar(Days::of_calendar(calendar))))
            }
            Kind::Budget { amounts, zone } => {
                let days = Days::of_budget(*amounts, zone);
                Ideal::Window(Window::new(days.most().unwrap(), Counts::Calendar(days)))
            }
            // That of no key: see `Common`.
            Kind::Shares { quota, .. } | Kind::Priorities { quota, .. } => {
                Ideal::Bucket(Bucket::smooth(*quota, quota.burst(), now))
            }
            Kind::All(parts) => {
                Ideal::All(parts.iter().map(|part| Ideal::new(part, now)).collect())
            }
        }
    }

    /// Returns true if there are `permits` at `now`, which is not before the last grant.
    pub(super) fn fits(&self, now: i128, permits: u64) -> bool {
        match self {
            Ideal::Bucket(bucket) => bucket.fits(now, permits),
            Ideal::Window(window) => window.fits(now, permits),
            Ideal::Windows(windows) => windows.iter().all(|window| window.fits(now, permits)),
            Ideal::All(parts) => parts.iter().all(|part| part.fits(now, permits)),
        }
    }

    pub(super) fn take(&mut self, now: i128, permits: u64) {
        match self {
            Ideal::Bucket(bucket) => bucket.take(now, permits),
            Ideal::Window(window) => window.take(now, permits),
            // All windows share their grants.
            Ideal::Windows(windows) => windows[0].take(now, permits),
            Ideal::All(parts) => parts.iter_mut().for_each(|part| part.take(now, permits)),
        }
    }

    /// Returns true if it is as a new one would be.
    pub(super) fn is_idle(&self, now: i128) -> bool {
        match self {
            Ideal::Bucket(bucket) => bucket.is_idle(now),
            Ideal::Window(window) => window.is_idle(now),
            Ideal::Windows(windows) => windows.iter().all(|window| window.is_idle(now)),
            Ideal::All(parts) => parts.iter().all(|part| part.is_idle(now)),
        }
    }

    /// Returns the part that refuses. Of several, it is the one with the longest wait, and of
    /// those with equal waits the first. If some never grant so many permits, it is the one of
    /// them with the lowest limit.
    pub(super) fn refused_by(&self, now: i128, permits: u64) -> Option<usize> {
        let fits: Vec<bool> = match self {
            Ideal::Bucket(_) | Ideal::Window(_) => return None,
            Ideal::Windows(windows) => {
                windows.iter().map(|window| window.fits(now, permits)).collect()
            }
            Ideal::All(parts) => parts.iter().map(|part| part.fits(now, permits)).collect(),
        };
        if let [only] = (0..fits.len()).filter(|part| !fits[*part]).collect::<Vec<_>>()[..] {
            return Some(only);
        }
        let refusals: Vec<Option<Refusal>> = match self {
            Ideal::Bucket(_) | Ideal::Window(_) => return None,
            Ideal::Windows(windows) => {
                windows.iter().map(|window| Refusal::of_window(window, now, permits)).collect()
            }
            Ideal::All(parts) => parts.iter().map(|part| part.refusal(now, permits)).collect(),
        };
        let mut worst: Option<(usize, &Refusal)> = None;
        for (part, refusal) in refusals.iter().enumerate() {
            let Some(refusal) = refusal else { continue };
            let is_worse = match worst {
                None => true,
                Some((_, Refusal::Wait(before))) => match refusal {
                    Refusal::Wait(wait) => wait > before,
                    Refusal::Never { .. } => true,
                },
                Some((_, Refusal::Never { limit: before })) => {
                    matches!(refusal, Refusal::Never { limit } if limit < before)
                }
            };
            if is_worse {
                worst = Some((part, refusal));
            }
        }
        worst.map(|(part, _)| part)
    }

    pub(super) fn refusal(&self, now: i128, permits: u64) -> Option<Refusal> {
        match self {
            Ideal::Bucket(bucket) => {
                let fits = |wait| bucket.fits(now + wait, permits);
                Refusal::first(fits, bucket.limit(), permits)
            }
            Ideal::Window(window) => Refusal::of_window(window, now, permits),
            Ideal::Windows(windows) => {
                let worst = self.refused_by(now, permits)?;
                Refusal::of_window(&windows[worst], now, permits)
            }
            Ideal::All(parts) => parts[self.refused_by(now, permits)?].refusal(now, permits),
        }
    }
}

/// The refusal of a request by one part.
pub(super) enum Refusal {
    /// Until so many nanoseconds have passed.
    Wait(i128),
    Never {
        limit: BigRational,
    },
}

impl Refusal {
    fn of_window(window: &Window, now: i128, permits: u64) -> Option<Refusal> {
        let fits = |wait| window.fits(now + wait, permits);
        let limit = match window.counts {
            Counts::Log { most: None, .. } => whole(1),
            _ => whole(window.limit),
        };
        if let Counts::Calendar(days) = &window.counts
            && days.has_amounts()
            && !fits(0)
            && whole(permits) <= limit
        {
            // It may fit tomorrow, and not fit on the day after.
            let mut day = now;
            while !window.fits(day, permits) {
                day = days.next_day(day);
            }
            return Some(Refusal::Wait(day - now));
        }
        Refusal::first(fits, limit, permits)
    }

    /// Returns the least wait after which it fits; it then fits for good.
    fn first(fits: impl Fn(i128) -> bool, limit: BigRational, permits: u64) -> Option<Refusal> {
        if fits(0) {
            return None;
        }
        if whole(permits) > limit {
            return Some(Refusal::Never { limit });
        }
        // A second, since less is seldom enough.
        let mut enough = 1_000_000_000;
        while !fits(enough) {
            enough *= 2;
            assert!(enough < FOR_EVER_NANOS, "{permits} of {limit} never fit");
        }
        let mut too_few = 0;
        while enough - too_few > 1 {
            let middle = i128::midpoint(too_few, enough);
            if fits(middle) {
                enough = middle;
            } else {
                too_few = middle;
            }
        }
        Some(Refusal::Wait(enough))
    }
}
