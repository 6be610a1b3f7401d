//! The response: codes, fields for the client, and metadata for Envoy.

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};

use super::domains::Mode;
use super::parts::{Counted, Part};
use super::protocol::envoy::config::core::v3::HeaderValue;
use super::protocol::envoy::service::ratelimit::v3::rate_limit_response::{Code, DescriptorStatus};
use super::protocol::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use super::verdict::Verdict;

/// Parts of a response besides its codes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extras {
    /// Fields for the client.
    pub(super) fields: bool,
    /// Metadata that repeats the question.
    pub(super) question: bool,
}

/// Returns the response to a request, of which each part has a verdict.
pub(super) fn response(
    request: &RateLimitRequest,
    parts: &[Part<'_>],
    (verdicts, is_refused): (Vec<Verdict>, bool),
    extras: Extras,
) -> RateLimitResponse {
    let dynamic_metadata = metadata(request, parts, &verdicts, extras.question);
    let mut response_headers_to_add = Vec::new();
    if extras.fields {
        response_headers_to_add = fields(verdicts.iter().map(|verdict| &verdict.status));
        response_headers_to_add.extend(shadow_field(parts, &verdicts));
    }
    let overall_code = if is_refused { Code::OverLimit } else { Code::Ok } as i32;
    let statuses = verdicts.into_iter().map(|verdict| verdict.status).collect();
    RateLimitResponse { overall_code, statuses, response_headers_to_add, dynamic_metadata }
}

fn field(key: &str, value: String) -> HeaderValue {
    HeaderValue { key: key.to_owned(), value }
}

/// Returns the fields that tell a client the limit that is nearest: one that it is over, or else the one that has
/// least left.
fn fields<'s>(statuses: impl Iterator<Item = &'s DescriptorStatus>) -> Vec<HeaderValue> {
    let limits = statuses.filter_map(|status| Some((status, status.current_limit.as_ref()?)));
    let nearest = limits
        .min_by_key(|(status, _)| (status.code != Code::OverLimit as i32, status.limit_remaining));
    let Some((status, limit)) = nearest else { return Vec::new() };
    let until_reset = status.duration_until_reset.unwrap_or_default();
    // A client that comes earlier is refused.
    let seconds = until_reset.seconds + i64::from(until_reset.nanos > 0);
    vec![
        field("RateLimit-Limit", limit.requests_per_unit.to_string()),
        field("RateLimit-Remaining", status.limit_remaining.to_string()),
        field("RateLimit-Reset", seconds.to_string()),
    ]
}

/// Returns the limits of which each would have refused the request, if it did not only count.
fn shadowed<'p>(
    parts: &'p [Part<'_>],
    verdicts: &'p [Verdict],
) -> impl Iterator<Item = (usize, &'p Counted<'p>)> {
    parts.iter().zip(verdicts).enumerate().filter_map(|(index, (part, verdict))| match part {
        Part::Counted(counted) if verdict.is_shadowed => Some((index, counted)),
        Part::Counted(_) | Part::Free { .. } => None,
    })
}

/// Returns the field that names the limits in shadow mode that are exceeded.
fn shadow_field(parts: &[Part<'_>], verdicts: &[Verdict]) -> Option<HeaderValue> {
    let mut value = String::new();
    for (_, counted) in shadowed(parts, verdicts) {
        if !value.is_empty() {
            value.push_str(", ");
        }
        // A field has visible characters of ASCII.
        let label = counted.label().chars();
        value.extend(label.map(|letter| if letter.is_ascii_graphic() { letter } else { '?' }));
    }
    (!value.is_empty()).then(|| field("RateLimit-Shadow", value))
}

/// Returns what filters and access logs of Envoy are told; `None` if there is nothing to tell.
fn metadata(
    request: &RateLimitRequest,
    parts: &[Part<'_>],
    verdicts: &[Verdict],
    with_question: bool,
) -> Option<Struct> {
    let mut told = if with_question { question(request) } else { Struct::default() };
    let mut add = |name: &str, kind: Kind| {
        told.fields.insert(name.to_owned(), Value { kind: Some(kind) });
    };
    let (mut own, mut has_quotas, mut over_quotas) = (Struct::default(), false, Vec::new());
    for (index, (part, verdict)) in parts.iter().zip(verdicts).enumerate() {
        let Part::Counted(counted) = part else { continue };
        if counted.mode() == Mode::Quota {
            has_quotas = true;
            over_quotas.extend(verdict.is_over.then_some(index));
        }
        let metadata = counted.limit.and_then(|limit| limit.metadata.as_deref());
        if let Some(metadata) = metadata.filter(|_| !verdict.is_over) {
            merge(&mut own, metadata);
        }
    }
    if with_question {
        add("quotaModeEnabled", Kind::BoolValue(has_quotas));
    }
    if !over_quotas.is_empty() {
        add("quotaModeViolations", indices(over_quotas));
    }
    let shadows: Vec<usize> = shadowed(parts, verdicts).map(|(index, _)| index).collect();
    if !shadows.is_empty() {
        add("shadowModeViolations", indices(shadows));
    }
    if !own.fields.is_empty() {
        add("metadata", Kind::StructValue(own));
    }
    (!told.fields.is_empty()).then_some(told)
}

/// Returns the domain, the descriptors and the hits of a request.
fn question(request: &RateLimitRequest) -> Struct {
    let descriptors = request.descriptors.iter().map(|descriptor| {
        let entries = descriptor.entries.iter();
        let entries =
            entries.map(|entry| text(format!("{}={}", shown(&entry.key), shown(&entry.value))));
        let mut fields = vec![("entries", list(entries))];
        fields.extend(descriptor.hits_addend.map(|hits| ("hitsAddend", number(hits))));
        value(Kind::StructValue(structure(fields)))
    });
    let mut fields =
        vec![("domain", text(request.domain.clone())), ("descriptors", list(descriptors))];
    if request.hits_addend > 0 {
        fields.push(("hitsAddend", number(request.hits_addend.into())));
    }
    structure(fields)
}

/// Returns a text, in which each byte that is not of UTF-8 is like `\xff`: Envoy could not read it.
fn shown(text: &[u8]) -> String {
    let mut shown = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        shown.push_str(chunk.valid());
        shown.extend(chunk.invalid().escape_ascii().map(char::from));
    }
    shown
}

fn structure(fields: Vec<(&str, Value)>) -> Struct {
    Struct { fields: fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect() }
}

fn value(kind: Kind) -> Value {
    Value { kind: Some(kind) }
}

fn text(text: String) -> Value {
    value(Kind::StringValue(text))
}

#[expect(clippy::cast_precision_loss, reason = "the protocol has no integers")]
fn number(number: u64) -> Value {
    value(Kind::NumberValue(number as f64))
}

fn list(values: impl Iterator<Item = Value>) -> Value {
    value(Kind::ListValue(ListValue { values: values.collect() }))
}

fn indices(indices: Vec<usize>) -> Kind {
    let values = indices.into_iter().map(|index| number(index as u64)).collect();
    Kind::ListValue(ListValue { values })
}

/// Adds the fields of `more` that `all` lacks, also within structures that both have.
fn merge(all: &mut Struct, more: &Struct) {
    for (name, value) in &more.fields {
        let Some(own) = all.fields.get_mut(name) else {
            all.fields.insert(name.clone(), value.clone());
            continue;
        };
        if let (Some(Kind::StructValue(own)), Some(Kind::StructValue(more))) =
            (&mut own.kind, &value.kind)
        {
            merge(own, more);
        }
    }
}
