//! The permits that a request takes.

use super::given::{Given, whole};
use super::{Checks, messages};
use crate::kind::common::{ClassPolicy, most_of_group};
use crate::problem::escaped;
use crate::tree::{Node, Value};
use crate::{Cost, CostRule, Kind, Named, NamedCost};

impl Checks<'_> {
    /// Checks what a request takes, of a limiter of this kind.
    pub(super) fn cost(&mut self, given: &Given<'_>, kind: Option<&Kind>) -> Option<Cost> {
        let Some(node) = given.get("cost") else { return Some(Cost::Permits(1)) };
        let cost = match &node.value {
            Value::Table(_) => Cost::Named(named(node)?),
            Value::List(nodes) if nodes.is_empty() => {
                return self.wrong("cost", node, "expected at least one rule");
            }
            Value::List(nodes) => Cost::Rules(self.rules(nodes)?),
            _ => match whole(node) {
                Some(0) => return self.wrong("cost", node, messages::ONE_OR_MORE_OR_BYTES),
                Some(permits) => Cost::Permits(permits),
                None if node.text() == Some("bytes") => Cost::Bytes,
                None => return None,
            },
        };
        let Some(kind) = kind else { return Some(cost) };
        if kind.takes_only_one() && cost != Cost::Permits(1) {
            return self.wrong("cost", node, messages::ONE_AT_A_TIME);
        }
        if let Cost::Permits(permits) = cost {
            self.warn_of_cost("cost", node, permits, kind);
        }
        if let (Cost::Rules(rules), Value::List(nodes)) = (&cost, &node.value) {
            for (rule, node) in rules.iter().zip(nodes) {
                let permits = node.get("permits").unwrap_or(node);
                self.warn_of_cost("cost.permits", permits, rule.permits, kind);
            }
        }
        Some(cost)
    }

    fn warn_of_cost(&mut self, path: &str, node: &Node, permits: u64, kind: &Kind) {
        let most = kind.most_at_once();
        if permits > most {
            let label = format!(
                "every request will be denied: it costs more than the {most} that can be granted at once"
            );
            return self.warn(path, node, label);
        }
        match kind {
            Kind::Shares { quota, groups } => {
                for group in groups {
                    let most = most_of_group(*quota, groups, group);
                    let own = group.share.assured().burst();
                    let label = if permits > most {
                        format!(
                            "{group} will be denied every request: it costs more than the {most} that such a tenant can be granted at once"
                        )
                    } else if permits > own {
                        format!(
                            "{group} will never be assured a request: it costs more than the {own} of the share"
                        )
                    } else {
                        continue;
                    };
                    self.warn(path, node, label);
                }
            }
            Kind::Priorities { quota, classes } => {
                for ClassPolicy { name, reserve, .. } in classes {
                    let most = quota.burst().saturating_sub(*reserve);
                    if permits > most {
                        let name = escaped(name);
                        let label = format!(
                            "every request of class {name} will be denied: it costs more than the {most} that can be granted at once"
                        );
                        self.warn(path, node, label);
                    }
                }
            }
            _ => {}
        }
    }

    fn rules(&mut self, nodes: &[Node]) -> Option<Vec<CostRule>> {
        let mut rules = Vec::with_capacity(nodes.len());
        for (place, node) in nodes.iter().enumerate() {
            let only = node.get("match");
            if only.is_none_or(|only| only.table().is_some_and(<[_]>::is_empty))
                && place + 1 < nodes.len()
            {
                let label = "all requests have this cost: the rules after it have no effect";
                self.warn("cost", node, label);
            }
            let filter = only.map(|only| self.filter("cost.match", only)).unwrap_or_default();
            rules.push(CostRule { filter, permits: node.get("permits").and_then(whole)? });
        }
        Some(rules)
    }
}

/// Returns the cost by a number of the request; `None` if it has mistakes, which have been reported.
fn named(node: &Node) -> Option<NamedCost> {
    let text = |field| node.get(field).and_then(Node::text).map(str::to_owned);
    let named = match (text("column"), text("header")) {
        (Some(name), _) => Named::Column(name),
        (None, Some(name)) => Named::Header(name),
        (None, None) => return None,
    };
    let whole_or = |field, default| node.get(field).map_or(Some(default), whole);
    Some(NamedCost {
        named,
        times: whole_or("times", 1)?,
        per: whole_or("per", 1)?,
        missing: whole_or("missing", 1)?,
    })
}
