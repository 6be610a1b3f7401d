//! The fields of each policy, and the engine's verdict on their numbers.

use std::ops::Range;
use std::sync::Arc;

use sluicegate::{
    Calendar, CalendarError, ConfigError, ManualClock, Quota, Rate, Refill, SlidingWindow,
};
use toml::Spanned;

use super::super::error_snippet::Problem;
use super::super::schema::*;
use super::super::{Kind, Unbuildable};
use super::{Check, messages};

impl Check<'_> {
    /// Checks that the limiter can be built, and returns its kind.
    pub(super) fn kind(&self) -> Result<Kind, Problem> {
        let kind = match *self.raw.policy.get_ref() {
            PolicyName::TokenBucket => self.token_bucket(),
            PolicyName::Gcra => {
                let policy = "gcra";
                self.allow(policy, &["interval", "tolerance"])?;
                let interval = self.need(policy, "interval", self.raw.interval.as_ref())?.0;
                let tolerance = self.need(policy, "tolerance", self.raw.tolerance.as_ref())?.0;
                Ok(Kind::Gcra { interval, tolerance })
            }
            PolicyName::LeakyBucket => self.leaky_bucket(),
            PolicyName::FixedWindow => {
                let limit = self.window("fixed_window", &["start"])?;
                let start = self.raw.start.as_ref().map(|start| *start.get_ref());
                Ok(match start.unwrap_or_default() {
                    Start::Epoch => Kind::FixedWindow(limit),
                    Start::First => Kind::WindowFromFirst(limit),
                })
            }
            PolicyName::SlidingWindow => {
                let limit = self.window("sliding_window", &["slots"])?;
                Ok(Kind::SlidingWindow { limit, slots: self.slots()? })
            }
            PolicyName::SlidingCounter => {
                self.window("sliding_counter", &[]).map(Kind::SlidingCounter)
            }
            PolicyName::SlidingLog => self.window("sliding_log", &[]).map(Kind::SlidingLog),
            PolicyName::WeightedLog => {
                let limit = self.window("weighted_log", &["capacity"])?;
                let capacity = self.raw.capacity.as_ref().map(|raw| all_places(raw.get_ref().0));
                Ok(Kind::WeightedLog { limit, capacity: capacity.unwrap_or(limit.permits()) })
            }
            PolicyName::MultiWindow => self.multi_window(),
            PolicyName::CalendarWindow => self.calendar_window(),
            PolicyName::Budget => self.budget(),
            PolicyName::All => self.all(),
        }?;
        // Each part of an `All` could be built.
        if let Kind::All(parts) = &kind {
            return match parts.len() {
                1..=64 => Ok(kind),
                count => Err(self.unbuildable(&ConfigError::Count { count }.into())),
            };
        }
        // The time on the clock does not affect whether it can be built.
        match kind.limiter(Arc::new(ManualClock::new())) {
            Ok(_) => Ok(kind),
            Err(error) => Err(self.unbuildable(&error)),
        }
    }

    fn token_bucket(&self) -> Result<Kind, Problem> {
        let policy = "token_bucket";
        self.allow(policy, &["limit", "rate", "refill", "initial"])?;
        let quota = self.quota(policy)?.with_refill(match &self.raw.refill {
            Some(refill) => refill.get_ref().into(),
            None => Refill::Smooth,
        });
        let initial = self.raw.initial.as_ref().map_or(quota.burst(), |raw| raw.get_ref().0);
        Ok(Kind::TokenBucket { quota, initial })
    }

    fn leaky_bucket(&self) -> Result<Kind, Problem> {
        let Check { raw, .. } = self;
        match raw.mode.as_ref().map(|mode| *mode.get_ref()) {
            None => Err(self.missing("leaky_bucket", messages::MODE)),
            Some(Mode::Meter) => {
                let policy = "leaky_bucket as a meter";
                self.allow(policy, &["mode", "limit", "rate"])?;
                self.quota(policy).map(Kind::LeakyMeter)
            }
            Some(Mode::MinInterval) => {
                let policy = "leaky_bucket as a min_interval";
                match (&raw.rate, &raw.interval) {
                    (Some(rate), _) => {
                        self.allow(policy, &["mode", "rate"])?;
                        self.rate(rate.get_ref()).map(Kind::LeakyMinInterval)
                    }
                    (None, Some(interval)) => {
                        self.allow(policy, &["mode", "interval"])?;
                        let rate = Rate::every(interval.get_ref().0);
                        rate.map(Kind::LeakyMinInterval).map_err(|error| self.out_of_range(&error))
                    }
                    (None, None) => Err(self.missing(policy, messages::RATE_OR_INTERVAL)),
                }
            }
        }
    }

    fn multi_window(&self) -> Result<Kind, Problem> {
        let policy = "multi_window";
        self.allow(policy, &["limits", "slots"])?;
        let limits = self.need(policy, "limits", self.raw.limits.as_ref())?.iter().map(|raw| {
            let (limit, interval) = (&raw.limit, &raw.interval);
            Rate::new(limit.get_ref().0, interval.get_ref().0).map_err(|error| match error {
                ConfigError::Period { .. } => {
                    self.wrong("limits.interval", interval.span(), error.rule())
                }
                _ => self.wrong("limits.limit", limit.span(), error.rule()),
            })
        });
        Ok(Kind::MultiWindow { limits: limits.collect::<Result<_, _>>()?, slots: self.slots()? })
    }

    fn calendar_window(&self) -> Result<Kind, Problem> {
        let policy = "calendar_window";
        self.allow(policy, &["limit", "every", "zone"])?;
        let limit = self.need(policy, "limit", self.raw.limit.as_ref())?.0;
        let every = self.need(policy, "every", self.raw.every.as_ref())?;
        let calendar = Calendar::new(every.into(), &self.zone());
        Ok(Kind::CalendarWindow {
            limit,
            calendar: calendar.map_err(|error| self.unbuildable(&error.into()))?,
        })
    }

    fn budget(&self) -> Result<Kind, Problem> {
        let policy = "budget";
        self.allow(policy, &["amount", "on", "zone"])?;
        let on = self.raw.on.as_ref().map(|on| on.get_ref().days());
        // Needed unless every day has an amount of its own.
        let amount = match &self.raw.amount {
            None if on.is_some_and(|on| on.iter().all(|(_, amount)| amount.is_some())) => 0,
            amount => self.need(policy, "amount", amount.as_ref())?.0,
        };
        let amounts = on
            .map_or([amount; 7], |on| on.map(|(_, own)| own.map_or(amount, |own| own.get_ref().0)));
        Ok(Kind::Budget { amounts, zone: self.zone() })
    }

    fn all(&self) -> Result<Kind, Problem> {
        let policy = "all";
        self.allow(policy, &["of"])?;
        let parts = self.need(policy, "of", self.raw.of.as_ref())?.iter().map(|raw| {
            if let Some((field, place)) = raw.of_lines().next() {
                return Err(messages::not_of_part(field, place));
            }
            Check { text: self.text, raw }.kind()
        });
        parts.collect::<Result<_, _>>().map(Kind::All)
    }

    /// Returns the limit and the rate.
    fn quota(&self, policy: &str) -> Result<Quota, Problem> {
        let limit = self.need(policy, "limit", self.raw.limit.as_ref())?.0;
        let rate = self.rate(self.need(policy, "rate", self.raw.rate.as_ref())?)?;
        Quota::new(rate).with_burst(limit).map_err(|error| self.out_of_range(&error))
    }

    fn rate(&self, rate: &RawRate) -> Result<Rate, Problem> {
        Rate::new(rate.amount.get_ref().0, rate.interval.get_ref().0)
            .map_err(|error| self.out_of_range(&error))
    }

    /// Returns the limit and the length of a window; `more` are the policy's other fields.
    fn window(&self, policy: &str, more: &[&str]) -> Result<Rate, Problem> {
        self.allow(policy, &[&["limit", "interval"], more].concat())?;
        let limit = self.need(policy, "limit", self.raw.limit.as_ref())?.0;
        let interval = self.need(policy, "interval", self.raw.interval.as_ref())?.0;
        Rate::new(limit, interval).map_err(|error| self.out_of_range(&error))
    }

    fn slots(&self) -> Result<u32, Problem> {
        let Some(raw) = &self.raw.slots else { return Ok(SlidingWindow::SLOTS) };
        let slots = u32::try_from(raw.get_ref().0);
        slots.map_err(|_| self.out_of_range(&ConfigError::Slots { slots: u32::MAX }))
    }

    fn zone(&self) -> String {
        self.raw.zone.as_ref().map_or("UTC", |zone| zone.get_ref()).to_owned()
    }

    /// Refuses the fields that belong to other policies.
    fn allow(&self, policy: &str, allowed: &[&str]) -> Result<(), Problem> {
        match self.raw.given().find(|(field, _)| !allowed.contains(field)) {
            None => Ok(()),
            Some((field, place)) => Err(messages::not_of_policy(field, place, policy, allowed)),
        }
    }

    fn need<'v, T>(
        &self,
        policy: &str,
        field: &str,
        value: Option<&'v Spanned<T>>,
    ) -> Result<&'v T, Problem> {
        value.map(Spanned::get_ref).ok_or_else(|| self.missing(policy, &format!("`{field}`")))
    }

    fn unbuildable(&self, error: &Unbuildable) -> Problem {
        match error {
            Unbuildable::Config(error) => self.out_of_range(error),
            Unbuildable::Calendar(error) => self.off_calendar(error),
        }
    }

    /// Reports the engine's verdict on a number, at the place of that number.
    pub(super) fn out_of_range(&self, error: &ConfigError) -> Problem {
        let Check { raw, .. } = self;
        let has_rate = raw.rate.is_some();
        let name = match error.field() {
            "permits" if has_rate => "rate.amount",
            "period" if has_rate => "rate.interval",
            "period" => "interval",
            "permits" | "burst" => "limit",
            "rate" if !has_rate => "limit",
            "limit" if raw.limits.is_some() => "limits.limit",
            "capacity" if raw.capacity.is_none() => "limit",
            "count" if raw.of.is_some() => "of",
            "count" => "limits",
            same => same,
        };
        let place = match (name, &raw.rate, &raw.limits, error) {
            ("rate.amount", Some(rate), ..) => Some(rate.get_ref().amount.span()),
            ("rate.interval", Some(rate), ..) => Some(rate.get_ref().interval.span()),
            ("limits.limit", _, Some(limits), ConfigError::Limit { limit, .. }) => {
                place_of(limits.get_ref(), *limit)
            }
            _ => raw.given().find(|(field, _)| *field == name).map(|(_, place)| place),
        };
        let place = place.unwrap_or_else(|| raw.policy.span());
        self.wrong(name, place, messages::rule(error))
    }

    /// Reports the engine's verdict on a calendar or budget, in the same way.
    fn off_calendar(&self, error: &CalendarError) -> Problem {
        let Check { raw, .. } = self;
        let (name, place, rule) = if let CalendarError::Amount { amount, max } = error {
            let days = raw.on.as_ref().map(|on| on.get_ref().days());
            let (name, place) = days
                .into_iter()
                .flatten()
                .chain([("amount", raw.amount.as_ref())])
                .filter_map(|(name, given)| Some((name, given?)))
                .find(|(_, given)| given.get_ref().0 == *amount)
                .map_or(("amount", None), |(name, given)| (name, Some(given.span())));
            (name, place, messages::up_to(*max))
        } else {
            let place = raw.zone.as_ref().map(Spanned::span);
            ("zone", place, messages::NAME_OF_ZONE.to_owned())
        };
        self.wrong(name, place.unwrap_or_else(|| raw.policy.span()), rule)
    }
}

/// Returns the largest capacity that takes no more memory than `capacity`: the engine's log has
/// a power of two of entries, and two of them have another use.
fn all_places(capacity: u64) -> u64 {
    match capacity.checked_add(2).and_then(u64::checked_next_power_of_two) {
        Some(places) if capacity > 0 => places - 2,
        _ => capacity,
    }
}

/// Returns the place of that limit among those of several windows.
fn place_of(limits: &[RawLimit], limit: u64) -> Option<Range<usize>> {
    limits.iter().find(|raw| raw.limit.get_ref().0 == limit).map(|raw| raw.limit.span())
}
