//! The tables of tenants and classes that share a limit.

use maud::{Markup, html};

use super::keys::{MOST_KEYS, cut};
use super::{count, share};
use crate::report::common::{ClassSummary, SharesSummary};

/// Returns what each tenant got.
pub(super) fn tenants(shares: &SharesSummary) -> Markup {
    let listed = shares.top.iter().take(MOST_KEYS);
    let others = shares.others();
    html! {
        table {
            caption {
                strong { "Tenants" } " "
                span.note {
                    (count(listed.len() as u64)) " of " (count(shares.tenants as u64))
                    ". Assured are requests within the tenant's own share, borrowed those with permits that others left idle."
                }
            }
            thead { tr {
                th scope="col" { "tenant" } th scope="col" { "assured" } th scope="col" { "borrowed" }
                th scope="col" { "denied" } th scope="col" { "denied %" }
            } }
            tbody { @for tenant in listed.chain(&others) { tr {
                th scope="row" { (cut(&tenant.tenant)) }
                td { (count(tenant.assured)) }
                td { (count(tenant.borrowed)) }
                td { (count(tenant.denied)) }
                td { (share(tenant.denied, tenant.lines())) }
            } } }
        }
    }
}

/// Returns the counts of each class.
pub(super) fn classes(classes: &[ClassSummary]) -> Markup {
    html! {
        table {
            caption { strong { "Classes" } " " span.note { "A class is denied if fewer permits than it leaves would remain." } }
            thead { tr {
                th scope="col" { "class" } th scope="col" { "leaves" } th scope="col" { "allowed" }
                th scope="col" { "denied" } th scope="col" { "denied %" }
            } }
            tbody { @for class in classes { tr {
                th scope="row" { (cut(&class.class)) }
                td { (count(class.reserve)) }
                td { (count(class.allowed)) }
                td { (count(class.denied)) }
                td { (share(class.denied, class.allowed + class.denied)) }
            } } }
        }
    }
}
