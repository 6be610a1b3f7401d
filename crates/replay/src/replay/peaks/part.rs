//! A part of a limiter that has one limit, and the meaning of its peaks.

use std::fmt::Write as _;
use std::time::Duration;

use indicatif::HumanCount;
use jiff::tz::TimeZone;
use sluicegate::calendar::Calendar;
use sluicegate::{Quota, Rate, Refill};
use sluicegate_policy::time_in_words;

use super::Peak;
use super::level::{Days, Fall, Level};
use crate::policy::Kind;

/// A part of a limiter that has one limit.
#[derive(Clone, Debug)]
pub struct Part {
    name: Option<String>,
    fall: Fall,
    /// Units of a level that are one permit.
    unit: u64,
    /// The highest level that is admitted.
    limit: u128,
    /// The limits to be drawn.
    limits: Vec<u64>,
    meaning: String,
}

impl Part {
    /// Returns the parts of a limiter.
    pub(super) fn of(kind: &Kind) -> Vec<Part> {
        match kind {
            Kind::All(parts) => parts
                .iter()
                .flat_map(|kind| Part::of(kind).into_iter().map(move |part| (kind, part)))
                .map(|(kind, part)| Part {
                    name: Some(part.name.clone().unwrap_or_else(|| kind.to_string())),
                    ..part
                })
                .collect(),
            Kind::MultiWindow { limits, .. } => {
                let parts = limits.iter().zip(kind.parts());
                parts.map(|(limit, name)| Part { name: Some(name), ..slots(*limit) }).collect()
            }
            _ => vec![Part::single(kind)],
        }
    }

    fn single(kind: &Kind) -> Part {
        match kind {
            Kind::TokenBucket { quota, initial } => {
                let mut part = bucket(*quota);
                if *initial != quota.burst() {
                    let _ = write!(
                        part.meaning,
                        " Buckets of this limiter start with {}, so a key may be refused below the limit.",
                        HumanCount(*initial)
                    );
                }
                part
            }
            Kind::LeakyMeter(quota) => bucket(*quota),
            Kind::Gcra { interval, tolerance } => {
                let interval_nanos = nanos(*interval);
                let limit = u128::from(interval_nanos) + u128::from(nanos(*tolerance));
                let pace = format!("one every {}", time_in_words(*interval));
                let limits = vec![kind.most_at_once()];
                Part { limit, limits, ..drain(1, interval_nanos, 1, &pace) }
            }
            Kind::LeakyMinInterval(rate) => {
                drain(rate.permits(), nanos(rate.period()), 1, &per(*rate))
            }
            Kind::FixedWindow(limit) => Part::window(
                Fall::Epoch { period_nanos: nanos(limit.period()) },
                limit.permits(),
                &format!("in one window of {}, aligned to the clock.", length(*limit)),
            ),
            Kind::WindowFromFirst(limit) => Part::window(
                Fall::First { period_nanos: nanos(limit.period()) },
                limit.permits(),
                &format!(
                    "in one window of {}, which begins with the first request after the window before.",
                    length(*limit)
                ),
            ),
            Kind::SlidingWindow { limit, .. } => slots(*limit),
            Kind::SlidingCounter(limit) => sliding(
                *limit,
                " The limiter estimates that from two counts, so a key that is near the limit may be on \
                 either side of it.",
            ),
            Kind::WeightedLog { limit, capacity } => {
                let room = format!(
                    " The limiter also refuses a key while it remembers about {} of its requests.",
                    HumanCount(*capacity)
                );
                sliding(*limit, &room)
            }
            Kind::CalendarWindow { limit, calendar } => {
                let zone = calendar.zone().unwrap_or("UTC").to_owned();
                let unit = format!("{:?}", calendar.unit()).to_lowercase();
                let days = Days::new(calendar.clone(), [*limit; 7], TimeZone::UTC);
                let meaning = format!("in one {unit} of the calendar, in {zone}.");
                Part::window(Fall::Calendar(days), *limit, &meaning)
            }
            Kind::Budget { amounts, zone } => {
                let calendar = Calendar::days(zone).expect("the policy built one of this zone");
                let time_zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
                let fall = Fall::Calendar(Days::new(calendar, *amounts, time_zone));
                let mut limits = amounts.to_vec();
                limits.sort_unstable();
                limits.dedup();
                let several = if limits.len() > 1 {
                    " Each amount that a day may have is drawn; a key is over if it exceeded that of the day."
                } else {
                    ""
                };
                let meaning = format!("in one day, in {zone}.{several}");
                let most = amounts.iter().copied().max().unwrap_or(0);
                Part { limits, ..Part::window(fall, most, &meaning) }
            }
            _ => match kind.window() {
                Some(limit) => sliding(limit, ""),
                // Of several limits, each is taken by itself.
                None => Part::window(
                    Fall::Sliding { period_nanos: u64::MAX },
                    u64::MAX,
                    "in all of the log.",
                ),
            },
        }
    }

    fn window(fall: Fall, limit: u64, rest: &str) -> Part {
        Part {
            name: None,
            fall,
            unit: 1,
            limit: limit.into(),
            limits: vec![limit],
            meaning: format!("The most that a key asked for {rest}"),
        }
    }

    /// Raises the level of a key by a request.
    pub(super) fn raise(&mut self, level: &mut Level, permits: u64, now_nanos: u64) {
        level.raise(&mut self.fall, permits, now_nanos, self.limit);
    }

    pub(super) fn peak(&self, level: &Level) -> Peak {
        let permits = level.peak.div_ceil(self.unit.max(1).into());
        let permits = u64::try_from(permits).unwrap_or(u64::MAX);
        let most = if level.is_over { u64::MAX } else { self.limits.last().copied().unwrap_or(0) };
        Peak { permits: permits.min(most), is_over: level.is_over }
    }

    /// Returns the description of the part, if the limiter has several.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the limits, rising: one, or those of several days.
    #[must_use]
    pub fn limits(&self) -> &[u64] {
        &self.limits
    }

    /// Returns the meaning of a peak, in sentences.
    #[must_use]
    pub fn meaning(&self) -> &str {
        &self.meaning
    }
}

fn bucket(quota: Quota) -> Part {
    let (rate, burst) = (quota.rate(), quota.burst());
    let (permits, period_nanos) = (rate.permits(), nanos(rate.period()));
    match quota.refill() {
        Refill::Smooth => drain(permits, period_nanos, burst, &per(rate)),
        Refill::Interval => Part {
            name: None,
            fall: Fall::Steps { permits, period_nanos },
            unit: 1,
            limit: burst.into(),
            limits: vec![burst],
            meaning: format!(
                "The least bucket that would have let all of a key's requests through, with {} back at \
                 once every {}.",
                HumanCount(permits),
                length(rate)
            ),
        },
    }
}

fn drain(permits: u64, period_nanos: u64, burst: u64, pace: &str) -> Part {
    Part {
        name: None,
        fall: Fall::Drain { permits, period_nanos },
        unit: period_nanos,
        limit: u128::from(burst) * u128::from(period_nanos),
        limits: vec![burst],
        meaning: format!(
            "The least burst that would have let all of a key's requests through, at the same pace: {pace}."
        ),
    }
}

fn sliding(limit: Rate, more: &str) -> Part {
    let fall = Fall::Sliding { period_nanos: nanos(limit.period()) };
    Part::window(fall, limit.permits(), &format!("in any {}.{more}", length(limit)))
}

fn slots(limit: Rate) -> Part {
    sliding(
        limit,
        " The limiter counts by slots, of which the oldest counts whole, so it may refuse a key that stays \
         below the limit.",
    )
}

fn per(rate: Rate) -> String {
    format!("{} per {}", HumanCount(rate.permits()), length(rate))
}

fn length(rate: Rate) -> String {
    time_in_words(rate.period())
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1)
}
