//! Warnings: what is valid, and probably not what was meant.

use super::Checks;
use super::given::{Given, time};
use crate::Kind;
use crate::problem::Problem;
use crate::tree::{Node, Value};

impl Checks<'_> {
    pub(super) fn warn(&mut self, field: &str, node: &Node, label: impl Into<String>) {
        let problem = self.wrong_value(field, node, label);
        self.warnings.push(problem);
    }

    /// Warns of fields that do nothing beside the others.
    pub(super) fn warn_of_limiter(&mut self, given: &Given<'_>, kind: Option<&Kind>) {
        let is_table = given.word("store") == Some("table");
        if let Some(node) = given.get("when_full")
            && !is_table
            && given.get("max_keys").is_none()
        {
            self.warn(
                "when_full",
                node,
                "an exact store without `max_keys` has space for every key",
            );
        }
        if let (Some(wait), Some(Value::Flag(true))) =
            (given.get("wait"), given.get("shadow").map(|node| &node.value))
        {
            self.warn("wait", wait, "`wait` has no effect with `shadow: true`");
        }
        if let (Some(Kind::MultiWindow { .. }), Some(limits)) = (kind, given.get("limits")) {
            self.warn_of_equal_windows(limits);
        }
    }

    fn warn_of_equal_windows(&mut self, limits: &Node) {
        let mut seen = Vec::new();
        for limit in limits.list().unwrap_or_default() {
            let Some(node) = limit.get("interval") else { continue };
            let Some(interval) = time(node) else { continue };
            match seen.iter().find(|(other, _)| *other == interval) {
                None => seen.push((interval, node.span.clone())),
                Some((_, first)) => {
                    let label = "two windows of one length: only the smaller limit counts";
                    let problem = self.wrong_value("limits.interval", node, label);
                    self.warnings.push(problem.with_context(first.clone(), "the first"));
                }
            }
        }
    }

    /// Warns of times whose unit may be taken for another one.
    pub(super) fn warn_of_time(&mut self, path: &str, node: &Node) {
        let Some(text) = node.text() else { return };
        let mut units = text.split(|c: char| !c.is_alphabetic()).filter(|unit| !unit.is_empty());
        let unit = units
            .find(|unit| matches!(*unit, "M" | "month" | "months" | "y" | "yr" | "year" | "years"));
        let label = match unit {
            Some("M") => {
                "`M` is a month of 30.44 days; a minute is `m`, and calendar_window has months of \
                 the calendar"
            }
            Some("month" | "months") => {
                "a month here is 30.44 days; calendar_window has months of the calendar"
            }
            Some(_) => "a year here is 365.25 days",
            None => return,
        };
        let title = format!("`{path}` is {}", self.shown(node));
        self.warnings.push(Problem::new(node.span.clone(), path, title, label));
    }
}
