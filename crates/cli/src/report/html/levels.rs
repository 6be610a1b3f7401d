//! The section of a hierarchy.

use maud::{Markup, html};
use sluicegate_replay::log::printable;

use super::keys::{MOST_KEYS, denied_row, key_header};
use super::{count, share};
use crate::report::levels::{HierarchySummary, LevelSummary};
use crate::report::seen::Stamps;

/// Returns the levels, and the keys that each denied most.
pub(super) fn section(hierarchy: &HierarchySummary, stamps: Stamps) -> Markup {
    let all = hierarchy.allowed + hierarchy.denied;
    html! {
        section id="levels" aria-labelledby="levels-heading" {
            h2 id="levels-heading" { "Levels" }
            p {
                "A request passes all levels or none: " (count(hierarchy.allowed)) " passed, "
                (count(hierarchy.denied)) " were denied by one."
            }
            table {
                caption {
                    span.note { "One that several levels deny counts for the one with the longest wait." }
                }
                thead { tr {
                    th scope="col" { "level" } th scope="col" { "keys" } th scope="col" { "keys hit" }
                    th scope="col" { "denied" } th scope="col" { "denied %" }
                } }
                tbody { @for level in &hierarchy.levels { tr {
                    th scope="row" { (printable(&level.name)) span.policy { (printable(&level.policy)) } }
                    td { (count(level.keys as u64)) }
                    td { (count(level.keys_hit as u64)) }
                    td { (count(level.denied)) }
                    td { (share(level.denied, all)) }
                } } }
            }
            @for level in hierarchy.levels.iter().filter(|level| !level.top_denied.is_empty()) {
                (keys(level, stamps))
            }
        }
    }
}

fn keys(level: &LevelSummary, stamps: Stamps) -> Markup {
    html! {
        table.keys {
            caption { strong { "Keys most denied by " (printable(&level.name)) } " " span.note { "times in UTC" } }
            thead { tr {
                (key_header())
                th scope="col" { "denied" } th scope="col" { "of" } th scope="col" { "denied %" }
            } }
            tbody { @for key in level.top_denied.iter().take(MOST_KEYS) { (denied_row(key, None, stamps)) } }
        }
    }
}
