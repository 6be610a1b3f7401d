//! The limits of a request's descriptors.

use std::collections::HashSet;

use sluicegate_policy::Subject;
use tonic::Status;

use super::counters::{Entry, key_of};
use super::domains::{Domains, Found, Limit, Mode, Terms};
use super::fields::{Fields, pairs};
use super::protocol::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use super::protocol::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::RateLimitOverride;
use super::protocol::envoy::service::ratelimit::v3::RateLimitRequest;
use super::unit::{Span, Unit};
use crate::decision::Ask;
use crate::limiters::InForce;

/// Most descriptors of a request. Each takes time, and is in the answer.
const MAX_DESCRIPTORS: usize = 1_000;

/// The part that a descriptor has in a decision.
pub(super) enum Part<'d> {
    /// It has no limit.
    Free {
        remaining: u32,
    },
    Counted(Counted<'d>),
}

/// A descriptor with a limit.
pub(super) struct Counted<'d> {
    /// `None` for a limit that the request brings.
    pub(super) limit: Option<&'d Limit>,
    pub(super) hits: Hits,
    pub(super) by: By<'d>,
}

/// Source of the decision on a descriptor.
pub(super) enum By<'d> {
    /// The count of a window.
    Window { key: Vec<u8>, requests: u32, span: Span },
    /// A limiter of the policy.
    Limiter(Ask<'d>),
    /// The policy of a limiter, which has no key for this descriptor.
    KeyMissing,
}

/// The hits of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hits {
    /// Hits of a question that names none: taken if all limits of the question have room.
    Ask,
    /// Hits that the question names. They may have been used, so they are counted in any case.
    Report(u64),
    /// Hits that are given back.
    GiveBack(u64),
}

/// Sources in which the limits of descriptors are found.
pub(super) struct Sources<'d> {
    pub(super) domains: &'d Domains,
    /// The limiters of the policy, if there is one.
    pub(super) limiters: Option<&'d InForce>,
    /// True if hits can be given back.
    pub(super) gives_back: bool,
}

impl<'d> Sources<'d> {
    /// Finds the limit of each descriptor.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` for a question that makes no sense, `UNIMPLEMENTED` for hits that are given back where
    /// they cannot be, and `UNAVAILABLE` for a limiter that the policy has no more, or that looks at what the descriptor does not
    /// have. Nothing was counted.
    pub(super) fn parts(&self, request: &RateLimitRequest) -> Result<Vec<Part<'d>>, Status> {
        let RateLimitRequest { domain, descriptors, .. } = request;
        if domain.is_empty() {
            let what = "`domain` is empty: must be that of a configuration";
            return Err(Status::invalid_argument(what));
        }
        let given = descriptors.len();
        if !(1..=MAX_DESCRIPTORS).contains(&given) {
            let what = format!("`descriptors` has {given}: must be from 1 to {MAX_DESCRIPTORS}");
            return Err(Status::invalid_argument(what));
        }
        let mut found = Vec::with_capacity(descriptors.len());
        for (index, descriptor) in descriptors.iter().enumerate() {
            found.push(match &descriptor.limit {
                // Only domains that are configured have overrides, as there.
                Some(own) if self.domains.has(domain) => Limits::Own(checked(index, *own)?),
                _ => match self.domains.find(domain, pairs(descriptor)) {
                    Some(found) => Limits::Configured(found),
                    None => Limits::None,
                },
            });
        }
        let replaced: HashSet<&str> =
            found.iter().filter_map(Limits::limit).flat_map(Limit::replaced).collect();
        let mut parts = Vec::with_capacity(descriptors.len());
        for (index, (descriptor, limits)) in descriptors.iter().zip(&found).enumerate() {
            let is_replaced =
                |limit: &Limit| !limit.name.is_empty() && replaced.contains(&limit.name[..]);
            parts.push(if limits.limit().is_some_and(is_replaced) {
                Part::Free { remaining: 0 }
            } else {
                self.part(request, (index, descriptor), limits)?
            });
        }
        Ok(parts)
    }

    fn part(
        &self,
        request: &RateLimitRequest,
        (index, descriptor): (usize, &RateLimitDescriptor),
        limits: &Limits<'d>,
    ) -> Result<Part<'d>, Status> {
        let (limit, terms, shared) = match limits {
            Limits::None => return Ok(Part::Free { remaining: 0 }),
            Limits::Own(terms) => (None, terms, &[][..]),
            Limits::Configured(found) => (Some(found.limit), &found.limit.terms, &found.shared[..]),
        };
        let hits = Hits::of(request, descriptor);
        if let Hits::GiveBack(_) = hits {
            self.check_giving_back(index, terms)?;
        }
        let by = match terms {
            Terms::Unlimited => return Ok(Part::Free { remaining: u32::MAX }),
            Terms::Window { requests, span } => {
                let value = |index, value| {
                    let shared = shared.iter().find(|(own, _)| *own == index);
                    shared.map_or(Ok(value), |(_, pattern)| Err(*pattern))
                };
                let entries = pairs(descriptor).enumerate();
                let entries =
                    entries.map(|(index, (key, text))| Entry { key, value: value(index, text) });
                let key = key_of(*span, &request.domain, entries);
                By::Window { key, requests: *requests, span: *span }
            }
            Terms::Limiter(name) => match self.of_limiter(name, descriptor, hits)? {
                Some(by) => by,
                None => return Ok(Part::Free { remaining: 0 }),
            },
        };
        Ok(Part::Counted(Counted { limit, hits, by }))
    }

    /// Returns the question to a limiter of the policy; `None` if it does not judge the descriptor.
    fn of_limiter(
        &self,
        name: &str,
        descriptor: &RateLimitDescriptor,
        hits: Hits,
    ) -> Result<Option<By<'d>>, Status> {
        let Some(limiter) = self.limiters.and_then(|limiters| limiters.get(name)) else {
            return Err(Status::unavailable(format!(
                "the policy has no limiter {name:?} any more"
            )));
        };
        let mut key = Vec::new();
        let of_policy = match limiter.policy().subject(&Fields(descriptor), &mut key) {
            // The policy file may have changed since the place in Envoy's was found to have all.
            Subject::NotJudged | Subject::Admitted => {
                return match Fields(descriptor).missing(limiter.policy()) {
                    None => Ok(None),
                    Some(missing) => {
                        Err(Status::unavailable(format!("the limiter {name:?} {missing}")))
                    }
                };
            }
            Subject::Denied if limiter.policy().shadow => return Ok(None),
            Subject::Denied => {
                limiter.count_missing_key(limiter.policy().cost.fixed().unwrap_or(1));
                return Ok(Some(By::KeyMissing));
            }
            Subject::Key { permits } => permits,
        };
        let permits = match hits {
            Hits::Ask => of_policy,
            Hits::Report(hits) | Hits::GiveBack(hits) => hits,
        };
        // The key of all requests is no key to a limiter without.
        if !limiter.has_keys() {
            key.clear();
        }
        Ok(Some(By::Limiter(Ask::new(limiter, key, Some(permits)))))
    }

    fn check_giving_back(&self, index: usize, terms: &Terms) -> Result<(), Status> {
        let why = match terms {
            _ if !self.gives_back => "is for a service that is started with `--envoy-give-back`",
            Terms::Limiter(_) => "is not for a limiter of the policy",
            Terms::Unlimited | Terms::Window { .. } => return Ok(()),
        };
        let what = format!("`descriptors[{index}].is_negative_hits` {why}: nothing was counted");
        Err(Status::unimplemented(what))
    }
}

/// The limit of a descriptor, before others replace it.
enum Limits<'d> {
    None,
    Own(Terms),
    Configured(Found<'d>),
}

impl<'d> Limits<'d> {
    fn limit(&self) -> Option<&'d Limit> {
        match self {
            Limits::Configured(found) => Some(found.limit),
            Limits::None | Limits::Own(_) => None,
        }
    }
}

impl Limit {
    fn replaced(&self) -> impl Iterator<Item = &str> {
        self.replaces.iter().map(String::as_str)
    }
}

impl Hits {
    fn of(request: &RateLimitRequest, descriptor: &RateLimitDescriptor) -> Hits {
        let of_request = u64::from(request.hits_addend.max(1));
        match (descriptor.is_negative_hits, descriptor.hits_addend) {
            (true, own) => Hits::GiveBack(own.unwrap_or(of_request)),
            (false, Some(own)) => Hits::Report(own),
            (false, None) if of_request > 1 => Hits::Report(of_request),
            (false, None) => Hits::Ask,
        }
    }
}

impl Part<'_> {
    /// Counts a request that its limit would have refused, if it did not only count.
    pub(super) fn count_shadowed(&self) {
        if let Part::Counted(Counted { limit: Some(limit), .. }) = self {
            limit.shadowed.inc();
        }
    }
}

impl Counted<'_> {
    /// Returns true if its hit is taken with those of the others, or not at all.
    pub(super) fn is_asked(&self) -> bool {
        self.hits == Hits::Ask && !self.is_shadow()
    }

    pub(super) fn mode(&self) -> Mode {
        self.limit.map_or(Mode::Enforced, |limit| limit.mode)
    }

    pub(super) fn is_shadow(&self) -> bool {
        self.mode() == Mode::Shadow
    }

    /// Returns true if the hit of a request that is refused for another one can be given back.
    pub(super) fn is_revocable(&self) -> bool {
        self.mode() == Mode::Enforced
            && match &self.by {
                By::Window { .. } | By::KeyMissing => true,
                By::Limiter(ask) => ask.is_revocable(),
            }
    }

    pub(super) fn name(&self) -> &str {
        self.limit.map_or("", |limit| &limit.name)
    }

    /// Returns the name, or else the place in the file.
    pub(super) fn label(&self) -> &str {
        self.limit.map_or("", |limit| &limit.label)
    }
}

/// Returns the terms of an override.
fn checked(index: usize, own: RateLimitOverride) -> Result<Terms, Status> {
    let Some(span) = Unit::from_number(own.unit).and_then(|unit| Span::new(unit, 1)) else {
        let (number, names) = (own.unit, Unit::NAMES);
        let what = format!("`descriptors[{index}].limit.unit` is {number}: must be {names}");
        return Err(Status::invalid_argument(what));
    };
    let requests = own.requests_per_unit.min(span.max_requests());
    Ok(Terms::Window { requests, span })
}
