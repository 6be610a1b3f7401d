//! The dashboard: each query is parsed, and its metrics and labels are looked up in a real page.

use std::collections::{BTreeMap, BTreeSet};

use promql_parser::label::{MatchOp, Matchers};
use promql_parser::parser::{self, Expr, LabelModifier};
use serde_json::Value as Json;

use super::*;

const DASHBOARD: &str = include_str!("../../../../docs/grafana/sluicegate.json");

/// Returns the queries of all panels, with their titles, as Grafana would send them.
fn queries() -> Vec<(String, String)> {
    let dashboard: Json = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let of_panel = |panel: &Json| {
        let title = panel["title"].as_str().unwrap().to_owned();
        let targets = panel["targets"].as_array().cloned().unwrap_or_default();
        let exprs = targets.into_iter().map(|target| target["expr"].as_str().unwrap().to_owned());
        exprs.map(|expr| (title.clone(), filled_in(&expr))).collect::<Vec<_>>()
    };
    panels.iter().flat_map(of_panel).collect()
}

fn filled_in(query: &str) -> String {
    let query = query.replace("$limiter", ".*").replace("$layer", ".*");
    query.replace("$__rate_interval", "1m").replace("$__range", "1h")
}

/// Returns the labels of each metric of a page, also of the parts of a histogram.
fn labels_of_page() -> BTreeMap<String, BTreeSet<String>> {
    let mut labels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for metric in METRICS {
        let own: BTreeSet<String> = metric.labels.iter().map(|own| (*own).to_owned()).collect();
        if metric.name == "sluicegate_wait_seconds" {
            let with_le = own.iter().cloned().chain(["le".to_owned()]).collect();
            labels.insert(format!("{}_bucket", metric.name), with_le);
            labels.insert(format!("{}_sum", metric.name), own.clone());
            labels.insert(format!("{}_count", metric.name), own);
        } else {
            labels.insert(metric.name.to_owned(), own);
        }
    }
    labels
}

/// Calls `look` with each selector of an expression, and the labels that it is grouped by.
fn walk(expr: &Expr, grouped_by: &[String], look: &mut dyn FnMut(&str, &Matchers, &[String])) {
    match expr {
        Expr::Aggregate(aggregate) => {
            let own = match &aggregate.modifier {
                Some(LabelModifier::Include(labels)) => labels.labels.clone(),
                Some(LabelModifier::Exclude(_)) => panic!("`without` depends on what is there"),
                None => Vec::new(),
            };
            let all: Vec<String> = grouped_by.iter().cloned().chain(own).collect();
            walk(&aggregate.expr, &all, look);
        }
        Expr::Binary(binary) => {
            walk(&binary.lhs, grouped_by, look);
            walk(&binary.rhs, grouped_by, look);
        }
        Expr::Call(call) => call.args.args.iter().for_each(|own| walk(own, grouped_by, look)),
        Expr::Paren(paren) => walk(&paren.expr, grouped_by, look),
        Expr::MatrixSelector(matrix) => {
            look(matrix.vs.name.as_deref().unwrap(), &matrix.vs.matchers, grouped_by);
        }
        Expr::VectorSelector(vector) => {
            look(vector.name.as_deref().unwrap(), &vector.matchers, grouped_by);
        }
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_query_is_promql_of_metrics_and_labels_that_are_published() {
    let labels = labels_of_page();
    let queries = queries();
    assert!(queries.len() >= 20, "{}", queries.len());
    for (title, query) in &queries {
        let expr = parser::parse(query).unwrap_or_else(|error| panic!("{title}: {error}: {query}"));
        let mut selectors = 0;
        walk(&expr, &[], &mut |name, matchers, grouped_by| {
            selectors += 1;
            let own = labels.get(name).unwrap_or_else(|| panic!("{title}: no metric {name}"));
            for matcher in &matchers.matchers {
                assert!(
                    matches!(matcher.op, MatchOp::Re(_) | MatchOp::Equal),
                    "{title}: {matcher:?}"
                );
                assert!(own.contains(&matcher.name), "{title}: {name} has no label {matcher:?}");
            }
            for label in grouped_by {
                assert!(own.contains(label), "{title}: {name} has no label {label}");
            }
        });
        assert!(selectors > 0, "{title}: {query}");
    }
}

/// A metric that nobody sees would be missed when it is wrong.
#[test]
fn every_metric_is_in_a_query() {
    let queries = queries();
    for metric in METRICS {
        let is_in = |(_, query): &(String, String)| query.contains(metric.name);
        assert!(queries.iter().any(is_in), "{}", metric.name);
    }
}

#[test]
fn the_page_on_metrics_lists_each_with_its_labels() {
    let page = include_str!("../../../../docs/metrics.md");
    for metric in METRICS {
        let labels = metric.labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>();
        let start = format!("| `{}` | {} |", metric.name, labels.join(", "));
        assert!(page.lines().any(|line| line.starts_with(&start)), "{start} is not in the page");
    }
}
