//! Makes limits of files, and tells all their mistakes.

use std::collections::HashMap;
use std::sync::Arc;

use prometheus_client::metrics::counter::Counter;

use super::EnvoyMistake;
use super::file::{Descriptor, RateLimit, Root};
use super::metadata::{MAX_DEPTH as MAX_METADATA_DEPTH, of_map};
use crate::envoy::domains::{Domains, Level, Limit, Mode, Terms};
use crate::envoy::fields::Fields;
use crate::envoy::protocol::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use crate::envoy::protocol::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use crate::envoy::unit::{Span, Unit};
use crate::limiters::{InForce, NamedLimiter};

/// Deepest nesting of descriptors.
const MAX_DEPTH: usize = 32;

/// Reads files one after the other.
pub(super) struct Reader<'f> {
    file: &'f str,
    /// The limiters of the policy, if there is one.
    limiters: Option<&'f InForce>,
    domains: Domains,
    /// The file of each domain.
    files: HashMap<String, &'f str>,
    mistakes: Vec<EnvoyMistake>,
}

impl<'f> Reader<'f> {
    pub(super) fn new(limiters: Option<&'f InForce>) -> Reader<'f> {
        Reader {
            file: "",
            limiters,
            domains: Domains::default(),
            files: HashMap::new(),
            mistakes: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Result<Domains, Vec<EnvoyMistake>> {
        if self.mistakes.is_empty() { Ok(self.domains) } else { Err(self.mistakes) }
    }

    pub(super) fn read(&mut self, file: &'f str, text: &str) {
        self.file = file;
        match serde_saphyr::from_str::<Root>(text) {
            Ok(root) => self.domain(root),
            Err(error) => self.mistake("", error.to_string()),
        }
    }

    fn mistake(&mut self, place: &str, what: impl Into<String>) {
        let (file, place) = (self.file.to_owned(), place.to_owned());
        self.mistakes.push(EnvoyMistake { file, place, what: what.into() });
    }

    fn domain(&mut self, root: Root) {
        if root.domain.is_empty() {
            self.mistake("domain", "is empty: must be the name that Envoy sends");
        }
        let mut level = Level::default();
        let mut above = RateLimitDescriptor::default();
        self.level(root.descriptors, ("descriptors", ""), &mut level, &mut above);
        match self.files.insert(root.domain.clone(), self.file) {
            None => self.domains.add(root.domain, level),
            Some(other) => {
                let domain = &root.domain;
                let what = format!(
                    "is {domain:?}, as in {other}: a domain is one file, so put the descriptors of both into it"
                );
                self.mistake("domain", what);
            }
        }
    }

    fn level(
        &mut self,
        descriptors: Vec<Descriptor>,
        (place, label): (&str, &str),
        level: &mut Level,
        above: &mut RateLimitDescriptor,
    ) {
        if above.entries.len() >= MAX_DEPTH {
            return self.mistake(place, format!("is more than {MAX_DEPTH} levels deep"));
        }
        let mut earlier: HashMap<(String, Option<String>), usize> = HashMap::new();
        for (index, mut descriptor) in descriptors.into_iter().enumerate() {
            let own = format!("{place}[{index}]");
            if descriptor.key.is_empty() {
                self.mistake(&format!("{own}.key"), "is empty");
            }
            let value = descriptor.value.take().filter(|value| !value.is_empty());
            let label = labelled(label, &descriptor.key, value.as_deref());
            above.entries.push(Entry { key: descriptor.key.clone().into(), value: Vec::new() });
            let limit = self.limit(&mut descriptor, (&own, &label), above);
            let is_pattern = value.as_deref().is_some_and(|value| value.contains('*'));
            if descriptor.share_threshold && !is_pattern {
                let what = "is for a `value` with *, whose counts it makes one";
                self.mistake(&format!("{own}.share_threshold"), what);
            }
            let mut below = Level::of_limit(limit);
            let lower = format!("{own}.descriptors");
            self.level(descriptor.descriptors, (&lower, &label), &mut below, above);
            above.entries.pop();
            if let Some(first) = earlier.insert((descriptor.key.clone(), value.clone()), index) {
                let what = format!(
                    "has the same key and value as {place}[{first}], and a descriptor has one limit: give one of them another key and have Envoy send both, or name a `limiter` of a policy that has several limits"
                );
                self.mistake(&own, what);
            }
            level.add(&descriptor.key, value.as_deref(), descriptor.share_threshold, below);
        }
    }

    /// Returns the limit of a place in the file, which is that of descriptors `like` this one.
    fn limit(
        &mut self,
        descriptor: &mut Descriptor,
        (place, label): (&str, &str),
        like: &RateLimitDescriptor,
    ) -> Option<Limit> {
        let before = self.mistakes.len();
        let mode = match (descriptor.shadow_mode, descriptor.quota_mode) {
            (true, _) => Mode::Shadow,
            (false, true) => Mode::Quota,
            (false, false) => Mode::Enforced,
        };
        let metadata = of_map(std::mem::take(&mut descriptor.metadata));
        if metadata.is_none() {
            let what = format!("is more than {MAX_METADATA_DEPTH} levels deep");
            self.mistake(&format!("{place}.metadata"), what);
        }
        let limit = descriptor.rate_limit.take()?;
        let place = format!("{place}.rate_limit");
        let terms = self.terms(&limit, &place, like);
        for (index, other) in limit.replaces.iter().enumerate() {
            let place = format!("{place}.replaces[{index}].name");
            if other.name.is_empty() {
                self.mistake(&place, "is empty");
            } else if other.name == limit.name {
                self.mistake(&place, "is that of the limit itself");
            }
        }
        if self.mistakes.len() > before {
            return None;
        }
        let metadata = metadata.filter(|metadata| !metadata.fields.is_empty());
        Some(Limit {
            terms: terms?,
            mode,
            label: if limit.name.is_empty() { label } else { &limit.name }.to_owned(),
            name: limit.name,
            replaces: limit.replaces.into_iter().map(|other| other.name).collect(),
            metadata: metadata.map(Arc::new),
            shadowed: Counter::default(),
        })
    }

    /// Returns what a limit grants, if its fields agree.
    fn terms(
        &mut self,
        limit: &RateLimit,
        place: &str,
        like: &RateLimitDescriptor,
    ) -> Option<Terms> {
        let RateLimit { requests_per_unit, unit, unit_multiplier, unlimited, limiter, .. } = limit;
        let given = [
            ("requests_per_unit", requests_per_unit.is_some()),
            ("unit", unit.is_some()),
            ("unit_multiplier", unit_multiplier.is_some()),
        ];
        if *unlimited || limiter.is_some() {
            let with = if *unlimited { "unlimited" } else { "limiter" };
            for (field, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
                // Theirs lets a number stand beside `unlimited`.
                if field != "requests_per_unit" || !unlimited {
                    let what = format!("is of no use with `{with}`: leave it out");
                    self.mistake(&format!("{place}.{field}"), what);
                }
            }
        }
        if let Some(name) = limiter {
            if *unlimited {
                self.mistake(&format!("{place}.limiter"), "is of no use with `unlimited`");
            }
            self.find(name, place, like);
            return Some(Terms::Limiter(name.clone()));
        }
        if *unlimited {
            return Some(Terms::Unlimited);
        }
        let span = self.span(unit.as_deref(), unit_multiplier.unwrap_or(1), place);
        let Some(requests) = *requests_per_unit else {
            self.mistake(&format!("{place}.requests_per_unit"), "is missing");
            return None;
        };
        let span = span?;
        let most = span.max_requests();
        if requests > most {
            let what = format!("is {requests}: must be at most {most}");
            self.mistake(&format!("{place}.requests_per_unit"), what);
        }
        Some(Terms::Window { requests, span })
    }

    fn span(&mut self, unit: Option<&str>, multiplier: u32, place: &str) -> Option<Span> {
        let Some(name) = unit else {
            let what = format!("is missing: must be {}", Unit::NAMES);
            self.mistake(&format!("{place}.unit"), what);
            return None;
        };
        let Some(unit) = Unit::from_name(name) else {
            let what = format!("is {name:?}: must be {}", Unit::NAMES);
            self.mistake(&format!("{place}.unit"), what);
            return None;
        };
        let span = Span::new(unit, multiplier);
        if span.is_none() {
            let most = Span::max_multiplier(unit);
            let what = format!("is {multiplier}: must be from 1 to {most} (100 years)");
            self.mistake(&format!("{place}.unit_multiplier"), what);
        }
        span
    }

    /// Makes sure that the policy has this limiter, and that descriptors have what it looks at.
    fn find(&mut self, name: &str, place: &str, like: &RateLimitDescriptor) {
        let place = format!("{place}.limiter");
        let Some(limiters) = self.limiters else {
            return self.mistake(&place, "needs a policy whose limiter it names (`--policy FILE`)");
        };
        let Some(limiter) = limiters.get(name) else {
            let names: Vec<&str> = limiters.all().iter().map(NamedLimiter::name).collect();
            let what = format!("is {name:?}: must be one of the policy's: {}", names.join(", "));
            return self.mistake(&place, what);
        };
        if let Some(missing) = Fields(like).missing(limiter.policy()) {
            self.mistake(&place, format!("is {name:?}, which {missing}"));
        }
    }
}

/// Returns the label of a descriptor in one whose label is `above`.
fn labelled(above: &str, key: &str, value: Option<&str>) -> String {
    let dot = if above.is_empty() { "" } else { "." };
    match value {
        Some(value) => format!("{above}{dot}{key}={value}"),
        None => format!("{above}{dot}{key}"),
    }
}
