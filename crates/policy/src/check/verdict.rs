//! The engine's verdict on numbers, at the place of the number concerned.

use sluicegate::ConfigError;
use sluicegate::calendar::CalendarError;

use super::given::{Given, whole};
use super::{Checks, messages};
use crate::Unbuildable;
use crate::problem::Problem;
use crate::tree::Node;

impl Checks<'_> {
    pub(super) fn unbuildable<T>(&mut self, given: &Given<'_>, error: &Unbuildable) -> Option<T> {
        match error {
            Unbuildable::Config(error) => self.out_of_range(given, error),
            Unbuildable::Calendar(error) => self.off_calendar(given, error),
            Unbuildable::Common => {
                let problem = self.at(given, "policy", given.get("policy"), messages::NOT_IN_ALL);
                self.report(problem)
            }
        }
    }

    /// Reports the engine's verdict on a number.
    pub(super) fn out_of_range<T>(&mut self, given: &Given<'_>, error: &ConfigError) -> Option<T> {
        let problem = self.verdict(given, error);
        self.report(problem)
    }

    pub(super) fn verdict(&self, given: &Given<'_>, error: &ConfigError) -> Problem {
        let has = |field| given.get(field).is_some();
        let name = match error.field() {
            "permits" if has("rate") => "rate.amount",
            "period" if has("rate") => "rate.interval",
            "period" => "interval",
            "permits" | "burst" => "limit",
            "rate" if !has("rate") => "limit",
            "limit" if has("limits") => "limits.limit",
            "capacity" if !has("capacity") => "limit",
            "count" if has("of") => "of",
            "count" if has("shares") => "shares",
            "count" => "limits",
            same => same,
        };
        let node = match (name.split_once('.'), error) {
            (Some(("limits", _)), ConfigError::Limit { limit, .. }) => {
                let mut limits = given.get("limits").and_then(Node::list).into_iter().flatten();
                limits.find_map(|node| node.get("limit").filter(|node| whole(node) == Some(*limit)))
            }
            (Some((table, field)), _) => given.get(table).and_then(|table| table.get(field)),
            (None, _) => given.get(name),
        };
        self.at(given, name, node, messages::rule(error))
    }

    /// Reports the engine's verdict on a calendar or budget, in the same way.
    pub(super) fn off_calendar<T>(
        &mut self,
        given: &Given<'_>,
        error: &CalendarError,
    ) -> Option<T> {
        let problem = match error {
            CalendarError::Amount { amount, max } => {
                let on = given.get("on").and_then(Node::table).unwrap_or_default();
                let own = on.iter().find(|entry| whole(&entry.node) == Some(*amount));
                let (name, node) = match own {
                    Some(entry) => (format!("on.{}", entry.name), Some(&entry.node)),
                    None => ("amount".to_owned(), given.get("amount")),
                };
                self.at(given, &name, node, messages::up_to(*max))
            }
            _ => self.at(given, "zone", given.get("zone"), messages::NAME_OF_ZONE),
        };
        self.report(problem)
    }

    /// Returns the problem of a field, at the place of `policy` if it is not given.
    fn at(
        &self,
        given: &Given<'_>,
        name: &str,
        node: Option<&Node>,
        expected: impl Into<String>,
    ) -> Problem {
        let path = messages::path(given.prefix, name);
        match node.or_else(|| given.get("policy")) {
            Some(node) => self.wrong_value(&path, node, expected),
            None => Problem::new(given.place.clone(), path, "the limiter is not valid", expected),
        }
    }
}
