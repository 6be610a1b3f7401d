//! The kind of a limiter, and its numbers.

use std::collections::HashMap;
use std::time::Duration;

use sluicegate::calendar::{Calendar, CalendarUnit};
use sluicegate::{ConfigError, Quota, Rate, Refill, SlidingWindow};

use super::given::{Given, time, whole};
use super::kinds::{KINDS, KindFields};
use super::{Checks, messages};
use crate::fields::{Field, LIMITER};
use crate::tree::Node;
use crate::{Kind, Unbuildable};

/// The days of the week, from Monday on.
const DAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// The least idle time after which a counter may take old counts for new ones.
const LONGEST_IDLE: Duration = Duration::from_secs(30 * 86_400);

impl Checks<'_> {
    /// Checks that the limiter can be built, and returns its kind.
    pub(super) fn kind(&mut self, given: &Given<'_>) -> Option<Kind> {
        let fields = self.kind_fields(given)?;
        self.kind_form(fields, given);
        let kind = (fields.read)(self, given)?;
        self.can_be_built(given, kind)
    }

    fn can_be_built(&mut self, given: &Given<'_>, kind: Kind) -> Option<Kind> {
        // Each part of an `All` could be built.
        if let Kind::All(parts) = &kind {
            return match parts.len() {
                1..=64 => Some(kind),
                count => self.out_of_range(given, &ConfigError::Count { count }),
            };
        }
        match kind.check() {
            Ok(()) => Some(kind),
            Err(error) => self.unbuildable(given, &error),
        }
    }

    /// Returns the fields of the kind that is given.
    fn kind_fields(&mut self, given: &Given<'_>) -> Option<&'static KindFields> {
        let Some(policy) = given.get("policy") else {
            let label = if given.get("penalty").is_some() {
                "expected `policy`: a penalty is beside a limit. For a penalty alone, take a limit that no key \
                 reaches: `policy = \"token_bucket\"`, `limit = 1000000000`, `rate = { amount = \
                 1000000000, interval = \"1 s\" }`"
            } else {
                "expected `policy`, as every limiter has"
            };
            return self.report(messages::limiter_lacks(given, "policy", label));
        };
        let policy = policy.text()?;
        let mut kinds = KINDS.iter().filter(|kind| kind.policy == policy).peekable();
        if kinds.peek()?.mode.is_none() {
            return kinds.next();
        }
        if let Some(mode) = given.get("mode") {
            return kinds.find(|kind| kind.mode == mode.text());
        }
        let what = "`mode`, \"meter\" or \"min_interval\"";
        self.report(messages::kind_needs(given, policy, what))
    }

    /// Checks the forms of the fields of an override.
    pub(super) fn override_form(&mut self, given: &Given<'_>, own: &Node) {
        let Some(policy) = given.word("policy") else { return };
        let mode = given.word("mode");
        let is_given = |kind: &&KindFields| {
            kind.policy == policy && (kind.mode.is_none() || kind.mode == mode)
        };
        let Some(kind) = KINDS.iter().find(is_given) else { return };
        let names: Vec<&str> = kind.own().collect();
        let mut seen = HashMap::new();
        for entry in own.table().unwrap_or_default() {
            if let Some(first) = seen.insert(&entry.name, entry) {
                self.errors.push(messages::twice("overrides", entry, first));
                continue;
            }
            let field: Option<&Field> = LIMITER.iter().find(|field| field.name == entry.name);
            match field {
                Some(field) if names.contains(&field.name) => {
                    let path = messages::path("overrides", field.name);
                    self.form(&path, &entry.node, &field.form);
                }
                _ => self.errors.push(messages::not_of_override(entry, &kind.shown(), &names)),
            }
        }
        if own.table().is_some_and(<[_]>::is_empty) {
            let problem = self.wrong_value("overrides", own, "expected at least one number");
            self.errors.push(problem);
        }
    }

    pub(super) fn token_bucket(&mut self, given: &Given<'_>) -> Option<Kind> {
        let quota = self.quota(given)?.with_refill(match given.word("refill") {
            Some("interval") => Refill::Interval,
            _ => Refill::Smooth,
        });
        let initial = given.whole_or("initial", quota.burst())?;
        Some(Kind::TokenBucket { quota, initial })
    }

    /// Returns the limit, the rate and the debt.
    pub(super) fn quota(&mut self, given: &Given<'_>) -> Option<Quota> {
        let rate = self.rate(given, "rate", given.get("rate"));
        let limit = given.get("limit").and_then(whole);
        // A limit is out of range whatever the rate is.
        let any = Quota::per_second(1).and_then(|any| any.with_burst(limit.unwrap_or(1)));
        if let Err(error) = any {
            return self.out_of_range(given, &error);
        }
        let quota = Quota::new(rate?).with_burst(limit?);
        let max_debt = given.get("max_debt").map(whole);
        let quota = quota.and_then(|quota| match max_debt {
            Some(Some(max_debt)) => quota.with_max_debt(max_debt),
            _ => Ok(quota),
        });
        match quota {
            Ok(quota) => Some(quota),
            Err(error) => self.out_of_range(given, &error),
        }
    }

    /// Returns the rate of `{ amount = .., interval = .. }`.
    pub(super) fn rate(
        &mut self,
        given: &Given<'_>,
        path: &str,
        node: Option<&Node>,
    ) -> Option<Rate> {
        let node = node?;
        let path = messages::path(given.prefix, path);
        let fields = [("amount", node.get("amount")), ("interval", node.get("interval"))];
        let [permits, period] = fields.map(|(name, node)| (messages::path(&path, name), node));
        self.permits_per_period(&permits, &period, (&path, node), None)
    }

    /// Returns the window of the limit and the length that are given, of which `kind` makes it.
    pub(super) fn window(
        &mut self,
        given: &Given<'_>,
        kind: impl Fn(Rate) -> Kind,
    ) -> Option<Kind> {
        let field = |name| (messages::path(given.prefix, name), given.get(name));
        let (limit, interval) = (field("limit"), field("interval"));
        let narrower = |period| narrower(period, &kind);
        let window =
            self.permits_per_period(&limit, &interval, (&limit.0, limit.1?), Some(&narrower));
        window.map(&kind)
    }

    /// Returns a rate, each number of which is checked by itself; a rate that is too fast is the
    /// mistake of `both`. For permits that no limiter has, `narrower` says what this one has.
    fn permits_per_period(
        &mut self,
        (permits_path, permits): &(String, Option<&Node>),
        (period_path, period): &(String, Option<&Node>),
        both: (&str, &Node),
        narrower: Option<&dyn Fn(Duration) -> Option<String>>,
    ) -> Option<Rate> {
        let given_permits = permits.and_then(whole);
        let given_period = period.and_then(time);
        let mut are_valid = true;
        if let (Some(number), Some(node)) = (given_permits, permits)
            && let Err(error) = Rate::new(number, Rate::MAX_PERIOD)
        {
            are_valid = false;
            let expected = narrower.and_then(|narrower| narrower(given_period?));
            let expected = expected.unwrap_or_else(|| messages::rule(&error));
            self.errors.push(self.wrong_value(permits_path, node, expected));
        }
        if let (Some(time), Some(node)) = (given_period, period)
            && let Err(error) = Rate::new(1, time)
        {
            are_valid = false;
            self.errors.push(self.wrong_value(period_path, node, messages::rule(&error)));
        }
        match Rate::new(given_permits?, given_period?) {
            Ok(rate) => Some(rate),
            Err(error) if are_valid => self.wrong(both.0, both.1, messages::rule(&error)),
            Err(_) => None,
        }
    }

    /// Returns the rate of requests that are apart.
    pub(super) fn apart(&mut self, given: &Given<'_>) -> Option<Rate> {
        match (given.get("rate"), given.get("interval")) {
            (Some(rate), None) => self.rate(given, "rate", Some(rate)),
            (None, Some(interval)) => match Rate::every(time(interval)?) {
                Ok(rate) => Some(rate),
                Err(error) => self.out_of_range(given, &error),
            },
            _ => None,
        }
    }

    /// Returns a counter. Refuses one that would take old counts for new ones after days.
    pub(super) fn counter(&mut self, given: &Given<'_>) -> Option<Kind> {
        let kind = self.window(given, Kind::SlidingCounter)?;
        let limit = kind.window()?;
        let count_bits = u64::BITS - limit.permits().leading_zeros();
        let idle_windows = 1_u64 << (62 - 2 * count_bits.min(24));
        let idle = limit.period().saturating_mul(u32::try_from(idle_windows).unwrap_or(u32::MAX));
        if idle >= LONGEST_IDLE || kind.check().is_err() {
            return Some(kind);
        }
        let node = given.get("limit")?;
        let label = format!(
            "must be smaller for this window, or the window longer: after {} without a request, old ones \
             would count again; `sliding_window` has no such bound",
            crate::time_in_words(Duration::from_secs(idle.as_secs()))
        );
        self.wrong(&messages::path(given.prefix, "limit"), node, label)
    }

    pub(super) fn slots(&mut self, given: &Given<'_>) -> Option<u32> {
        let slots = given.whole_or("slots", u64::from(SlidingWindow::SLOTS))?;
        match u32::try_from(slots) {
            Ok(slots @ 1..=65_536) => Some(slots),
            slots => {
                let slots = slots.unwrap_or(u32::MAX);
                self.out_of_range(given, &ConfigError::Slots { slots })
            }
        }
    }

    pub(super) fn multi_window(&mut self, given: &Given<'_>) -> Option<Kind> {
        let slots = self.slots(given);
        let path = messages::path(given.prefix, "limits");
        let nodes = given.get("limits")?.list()?;
        let limits: Vec<Option<Rate>> = nodes
            .iter()
            .map(|node| {
                let field = |name| (messages::path(&path, name), node.get(name));
                let (limit, interval) = (field("limit"), field("interval"));
                self.permits_per_period(&limit, &interval, (&limit.0, limit.1?), None)
            })
            .collect();
        Some(Kind::MultiWindow {
            limits: limits.into_iter().collect::<Option<_>>()?,
            slots: slots?,
        })
    }

    pub(super) fn calendar_window(&mut self, given: &Given<'_>) -> Option<Kind> {
        let zone = self.zone(given);
        let limit = given.get("limit").and_then(whole);
        let unit = match given.word("every")? {
            "minute" => CalendarUnit::Minute,
            "hour" => CalendarUnit::Hour,
            "day" => CalendarUnit::Day,
            "week" => CalendarUnit::Week,
            "month" => CalendarUnit::Month,
            _ => return None,
        };
        match Calendar::new(unit, &zone?) {
            Ok(calendar) => Some(Kind::CalendarWindow { limit: limit?, calendar }),
            Err(error) => self.off_calendar(given, &error),
        }
    }

    pub(super) fn budget(&mut self, given: &Given<'_>) -> Option<Kind> {
        let zone = self.zone(given);
        let own = DAYS.map(|day| given.get("on").and_then(|on| on.get(day)));
        if given.get("amount").is_none() && own.iter().any(Option::is_none) {
            return self.report(messages::kind_needs(given, "budget", "`amount`"));
        }
        let amount = given.whole_or("amount", 0);
        let amounts = own.map(|own| own.map_or(amount, whole));
        let amounts: Vec<u64> = amounts.into_iter().collect::<Option<_>>()?;
        Some(Kind::Budget { amounts: amounts.try_into().ok()?, zone: zone? })
    }

    /// Returns the name of the zone, or `None` if it is not one.
    fn zone(&mut self, given: &Given<'_>) -> Option<String> {
        let Some(node) = given.get("zone") else { return Some("UTC".to_owned()) };
        let zone = node.text().filter(|zone| !zone.is_empty())?;
        match Calendar::days(zone) {
            Ok(_) => Some(zone.to_owned()),
            Err(error) => self.off_calendar(given, &error),
        }
    }

    pub(super) fn all(&mut self, given: &Given<'_>) -> Option<Kind> {
        let nodes = given.get("of")?.list()?;
        let parts: Vec<Option<Kind>> = nodes
            .iter()
            .map(|node| match node.table() {
                Some(_) => self.part_kind(&Given::new(node, "of")),
                None => None,
            })
            .collect();
        parts.into_iter().collect::<Option<_>>().map(Kind::All)
    }

    /// Returns the kind of a part, which has a limiter for each key.
    fn part_kind(&mut self, given: &Given<'_>) -> Option<Kind> {
        let kind = self.kind(given)?;
        if kind.is_common() {
            let node = given.get("policy")?;
            return self.wrong("of.policy", node, messages::NOT_IN_ALL);
        }
        Some(kind)
    }
}

/// Returns the rule for the limit of a window of this length, if its kind has less room than a rate has.
fn narrower(period: Duration, kind: impl Fn(Rate) -> Kind) -> Option<String> {
    // The most that there is in so short a window, if that is less.
    let per_second = u128::from(Rate::MAX_PER_SECOND);
    let most = per_second.saturating_mul(period.as_nanos()) / 1_000_000_000;
    let most = u64::try_from(most).unwrap_or(u64::MAX).clamp(1, Rate::MAX_PERMITS);
    match kind(Rate::new(most, period).ok()?).check() {
        Err(Unbuildable::Config(
            error @ (ConfigError::Limit { .. } | ConfigError::Capacity { .. }),
        )) => Some(messages::rule(&error)),
        Ok(()) if most < Rate::MAX_PERMITS => Some(messages::within(1, most)),
        _ => None,
    }
}
