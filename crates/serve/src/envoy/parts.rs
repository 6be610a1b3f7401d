//! The limits of a request's descriptors.

use tonic::Status;

use super::counters::{self, MAX_KEY_BYTES};
use super::domains::Domains;
use super::protocol::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use super::protocol::envoy::service::ratelimit::v3::RateLimitRequest;
use super::unit::Unit;

/// Most descriptors of a request, and most entries of one.
const MAX_DESCRIPTORS: usize = 100;

/// The part that a descriptor has in a decision.
pub(super) enum Part {
    /// It has no limit.
    Free {
        remaining: u32,
    },
    Counted(Counted),
}

/// A descriptor with a limit.
pub(super) struct Counted {
    pub(super) key: Vec<u8>,
    pub(super) hits: u64,
    pub(super) requests: u32,
    pub(super) unit: Unit,
    pub(super) name: String,
    pub(super) is_shadow: bool,
}

/// Finds the limit of each descriptor.
pub(super) fn parts(domains: &Domains, request: &RateLimitRequest) -> Result<Vec<Part>, Status> {
    let invalid = |what: String| Err(Status::invalid_argument(what));
    let RateLimitRequest { domain, descriptors, hits_addend } = request;
    if domain.is_empty() {
        return invalid("`domain` is empty: must be that of a configuration".to_owned());
    }
    let given = descriptors.len();
    if !(1..=MAX_DESCRIPTORS).contains(&given) {
        return invalid(format!("`descriptors` has {given}: must be from 1 to {MAX_DESCRIPTORS}"));
    }
    let mut found = Vec::with_capacity(given);
    for (index, descriptor) in descriptors.iter().enumerate() {
        let entries = descriptor.entries.len();
        if entries > MAX_DESCRIPTORS {
            return invalid(format!(
                "`descriptors[{index}].entries` has {entries}: must be at most {MAX_DESCRIPTORS}"
            ));
        }
        let limit = match &descriptor.limit {
            // Only domains that are configured have overrides, as there.
            Some(own) if domains.has(domain) => {
                let Some(unit) = Unit::from_number(own.unit) else {
                    let number = own.unit;
                    return invalid(format!(
                        "`descriptors[{index}].limit.unit` is {number}: must be {}",
                        Unit::NAMES
                    ));
                };
                let (requests, most) = (own.requests_per_unit, unit.max_requests());
                if requests > most {
                    return invalid(format!(
                        "`descriptors[{index}].limit.requests_per_unit` is {requests}: must be at most {most}"
                    ));
                }
                Some((Some((own.requests_per_unit, unit)), None, None))
            }
            _ => {
                let found = domains.find(domain, pairs(descriptor));
                found.map(|found| (found.limit.rate, Some(found.limit), found.shared))
            }
        };
        found.push(limit);
    }
    let replaced: Vec<&str> = found
        .iter()
        .filter_map(|limit| limit.as_ref()?.1)
        .flat_map(|limit| limit.replaces.iter().map(String::as_str))
        .collect();
    let mut parts = Vec::with_capacity(given);
    for (index, (descriptor, limit)) in descriptors.iter().zip(&found).enumerate() {
        let Some((rate, configured, shared)) = limit else {
            parts.push(Part::Free { remaining: 0 });
            continue;
        };
        let name = configured.map(|limit| limit.name.as_str()).unwrap_or_default();
        let Some((requests, unit)) = *rate else {
            parts.push(Part::Free { remaining: u32::MAX });
            continue;
        };
        if !name.is_empty() && replaced.contains(&name) {
            parts.push(Part::Free { remaining: 0 });
            continue;
        }
        let mut entries: Vec<(&str, &str)> = pairs(descriptor).collect();
        if let (Some(shared), Some(last)) = (shared, entries.last_mut()) {
            last.1 = shared;
        }
        let key = counters::key(unit, domain, entries);
        if key.len() > MAX_KEY_BYTES {
            let bytes = key.len();
            return invalid(format!(
                "`descriptors[{index}]` has {bytes} bytes with its domain: must be at most {MAX_KEY_BYTES}"
            ));
        }
        let hits = match descriptor.hits_addend {
            Some(own) => own,
            None => u64::from((*hits_addend).max(1)),
        };
        let is_shadow = configured.is_some_and(|limit| limit.is_shadow);
        let name = name.to_owned();
        parts.push(Part::Counted(Counted { key, hits, requests, unit, name, is_shadow }));
    }
    Ok(parts)
}

fn pairs(descriptor: &RateLimitDescriptor) -> impl Iterator<Item = (&str, &str)> {
    descriptor.entries.iter().map(|entry| (entry.key.as_str(), entry.value.as_str()))
}

impl Part {
    pub(super) fn counted(&self) -> Option<&Counted> {
        match self {
            Part::Counted(counted) => Some(counted),
            Part::Free { .. } => None,
        }
    }
}
