//! Warnings: what is valid, and probably not what was meant.

use std::ops::Range;
use std::time::Duration;

use super::Checks;
use super::given::{Given, time, whole};
use crate::Kind;
use crate::escaped;
use crate::key::{client_address, network};
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
            self.warn_of_idle_windows("limits", limits.list().unwrap_or_default(), |_| true);
        }
        if let (Some(Kind::All(_)), Some(parts)) = (kind, given.get("of")) {
            // Others may grant more than their limit in some span of their length.
            let is_sliding = |part: &Node| {
                let policy = part.get("policy").and_then(Node::text);
                matches!(policy, Some("sliding_window" | "sliding_log" | "weighted_log"))
            };
            self.warn_of_idle_windows("of", parts.list().unwrap_or_default(), is_sliding);
        }
    }

    /// Warns of windows that never deny what another one grants.
    fn warn_of_idle_windows(&mut self, path: &str, nodes: &[Node], is_window: fn(&Node) -> bool) {
        let windows: Vec<(u64, Duration, &Node)> = nodes
            .iter()
            .filter(|node| is_window(node))
            .filter_map(|node| {
                Some((whole(node.get("limit")?)?, time(node.get("interval")?)?, node))
            })
            .collect();
        for (permits, interval, node) in &windows {
            // A window with slots counts up to a slot longer, which is all of it at most.
            let counted = match node.get("policy").and_then(Node::text) {
                Some("sliding_window") => interval.as_nanos().saturating_mul(2),
                _ => interval.as_nanos(),
            };
            let is_stricter = |(other, other_interval, _): &&(u64, Duration, &Node)| {
                // The most that the other grants in a window of this length.
                let windows = counted.div_ceil(other_interval.as_nanos().max(1)).max(1);
                // Of two of one length there is another warning.
                other_interval != interval
                    && u128::from(*other).saturating_mul(windows) <= u128::from(*permits)
            };
            if let Some((other, other_interval, other_node)) = windows.iter().find(is_stricter) {
                let title = format!("the window of {permits} never denies a request");
                let label = "remove it, or give it a smaller limit";
                let reason = format!(
                    "this one grants no more: {other} in any {}",
                    crate::time_in_words(*other_interval)
                );
                let problem = Problem::new(node.span.clone(), path, title, label);
                self.warnings.push(problem.with_context(other_node.span.clone(), reason));
            }
        }
    }

    /// Warns of a path that is written as other programs write patterns.
    pub(super) fn warn_of_pattern(&mut self, path: &str, node: &Node, text: &str) {
        let mut changed = false;
        let segments = text.split('/').enumerate().map(|(place, segment)| match segment {
            "*" | "**" => {
                changed = true;
                if text.split('/').count() == place + 1 {
                    "{*rest}".to_owned()
                } else {
                    format!("{{part{place}}}")
                }
            }
            name if name.len() > 1 && name.starts_with([':', '$']) => {
                changed = true;
                format!("{{{}}}", &name[1..])
            }
            name if name.len() > 2 && name.starts_with('<') && name.ends_with('>') => {
                changed = true;
                format!("{{{}}}", &name[1..name.len() - 1])
            }
            // An expression: the name before it, if it has one. A path may well have `(` and `+`.
            expression if expression.contains('[') || expression.contains(".*") => {
                changed = true;
                let name = expression.strip_prefix('{').and_then(|own| own.split_once(':'));
                format!(
                    "{{{}}}",
                    name.map_or_else(|| format!("part{place}"), |(name, _)| name.to_owned())
                )
            }
            other => other.to_owned(),
        });
        let meant = segments.collect::<Vec<_>>().join("/");
        if changed {
            let label = format!(
                "wildcards and expressions are taken as they are written; write \"{meant}\""
            );
            self.warn(path, node, label);
        }
    }

    /// Warns of a name that looks like an address and is none, or of a network of which an address is given.
    pub(super) fn warn_of_client(&mut self, path: &str, name: &str, place: Range<usize>) {
        let address = name.split('/').next().unwrap_or_default();
        let looks_like_one = address.contains(['.', ':'])
            && address.bytes().all(|byte| byte.is_ascii_hexdigit() || b".:[]".contains(&byte));
        let (title, label) = match network(name) {
            None if looks_like_one => {
                let title = format!("no client has the key \"{}\"", escaped(name));
                let label = "must be an address or a network, such as 192.0.2.7 or 10.0.0.0/8";
                (title, label)
            }
            Some(network)
                if name.contains('/')
                    && client_address(address.as_bytes()) != Some(network.addr()) =>
            {
                let title = format!("\"{name}\" is the network {network}");
                let label = "write the network, or the address without its length";
                (title, label)
            }
            _ => return,
        };
        self.warnings.push(Problem::new(place, path, title, label));
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
