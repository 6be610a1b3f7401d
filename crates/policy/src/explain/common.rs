//! Sentences on limiters that all keys have in common: shares of tenants, and classes with reserves.

use bytesize::ByteSize;
use indicatif::HumanCount;
use sluicegate::Quota;

use crate::kind::common::{ClassPolicy, ShareGroup, kept};
use crate::kind::words;

/// Returns sentences on what each tenant has, and what can be lent.
pub(super) fn shares(quota: Quota, groups: &[ShareGroup]) -> Vec<String> {
    let mut sentences: Vec<String> = groups
        .iter()
        .map(|group| {
            let most = match group.share.ceiling() {
                None => "may borrow all that can be lent".to_owned(),
                Some(ceiling) => {
                    format!("with what it borrows has at most {}", words::burst(ceiling))
                }
            };
            let whom = match group.to_string().strip_prefix("each ") {
                Some(others) => format!("Each {others}"),
                None if group.tenants.is_empty() => "One other tenant".to_owned(),
                None => format!("Tenant {group}"),
            };
            format!("{whom} is sure of {}, and {most}.", words::burst(group.share.assured()))
        })
        .collect();
    let lent = HumanCount(quota.burst().saturating_sub(kept(groups)));
    sentences.push(format!(
        "At most {lent} permits are lent at once: those that others leave idle. Nothing is owed for them."
    ));
    sentences.push(match groups.iter().find(|group| group.tenants.is_empty()) {
        None => "A tenant that no group names has no share, and can only borrow.".to_owned(),
        Some(others) => format!(
            "Tenants that no group names: {} at a time have a share; further ones can only borrow.",
            HumanCount(others.share.tenants() as u64)
        ),
    });
    sentences
}

/// Returns sentences on when each class is granted.
pub(super) fn classes(quota: Quota, classes: &[ClassPolicy]) -> Vec<String> {
    let of_class = |class: &ClassPolicy| {
        let name = crate::escaped(&class.name);
        match class.reserve {
            0 => format!("Class {name} is granted as long as there are permits."),
            reserve => format!(
                "Class {name} leaves {} of {} to the others: it is denied if fewer would remain.",
                HumanCount(reserve),
                HumanCount(quota.burst())
            ),
        }
    };
    let mut sentences: Vec<String> = classes.iter().map(of_class).collect();
    if let Some(last) = classes.last() {
        let name = crate::escaped(&last.name);
        sentences.push(format!("A key that no class names is of the last class, {name}."));
    }
    sentences
}

/// Returns a sentence on the memory that tenants take.
pub(super) fn memory_of(groups: &[ShareGroup], each: u64) -> String {
    let places: u64 =
        groups.iter().map(|group| group.share.tenants() as u64).fold(0, u64::saturating_add);
    let (bytes, all) = (ByteSize(each), ByteSize(each.saturating_mul(places)));
    let (bytes, all) = (bytes.display().iec(), all.display().iec());
    let ceilings: u64 = groups
        .iter()
        .filter(|group| group.share.ceiling().is_some())
        .map(|group| group.share.max_ceilings() as u64)
        .fold(0, u64::saturating_add);
    let ceilings = match ceilings {
        0 => String::new(),
        most => {
            let all = ByteSize(each.saturating_mul(most));
            let (most, all) = (HumanCount(most), all.display().iec());
            format!(", and {all} for at most {most} ceilings that are not full")
        }
    };
    format!(
        "Keeps the shares of at most {}: about {bytes} plus the key for each that is not idle, {all} in all{ceilings}.",
        match places {
            1 => "1 tenant".to_owned(),
            places => format!("{} tenants", HumanCount(places)),
        }
    )
}
