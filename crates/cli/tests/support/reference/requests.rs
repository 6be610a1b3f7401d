//! The key, the filter and the cost of a line by the words of their documentation: without the
//! policy's own matchers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use num_rational::BigRational;
use num_traits::Zero;
use sluicegate_policy::{Cost, Filter, KeyField, KeyPart, Missing, Named, Otherwise};
use sluicegate_replay::log::Line;
use sluicegate_replay::policy::Rule;
use sluicegate_replay::replay::Lacking;

use super::whole;

/// The part of a line in a limiter.
pub(super) enum Subject {
    NotJudged,
    Admitted,
    Denied,
    Key(Vec<String>, u64),
}

/// Returns the part of a line in a limiter, and counts what it lacks.
pub(super) fn subject(rule: &Rule, line: &Line<'_>, lacking: &mut Lacking) -> Subject {
    let (only, except) = rule.filter.sets();
    if !is_in(only, line) || except.iter().any(|except| is_in(except, line)) {
        return Subject::NotJudged;
    }
    let mut key = Vec::new();
    let (mut is_denied, mut is_admitted, mut no_address) = (false, false, false);
    for part in &rule.key {
        let (value, missing) = match part {
            KeyPart::Field(field, missing) => (field_of(line, *field), *missing),
            KeyPart::Named(named, missing) => (named_of(line, named), *missing),
            KeyPart::Client(prefix) => {
                let client = line.client.to_string();
                let address = address(&client);
                no_address |= address.is_none();
                let of = |address| network(address, prefix.ipv4.into(), prefix.ipv6.into());
                key.push(address.map_or(client, of));
                continue;
            }
            KeyPart::Templates(templates, otherwise) => {
                let path = path_of(line);
                match (best(templates.templates(), &path), otherwise) {
                    (Some(template), _) => key.push(template.to_owned()),
                    (None, Otherwise::Itself) => key.push(path),
                    (None, Otherwise::Shared) => key.push("other".to_owned()),
                    (None, Otherwise::Admit) => is_admitted = true,
                }
                continue;
            }
            KeyPart::Segments(segments) => {
                let path = path_of(line);
                let kept: Vec<&str> = path.split('/').take(*segments as usize + 1).collect();
                key.push(if path.starts_with('/') { kept.join("/") } else { path });
                continue;
            }
        };
        is_denied |= value.is_none() && missing == Missing::Deny;
        is_admitted |= value.is_none() && missing == Missing::Admit;
        key.push(value.unwrap_or_else(|| "-".to_owned()));
    }
    if is_denied {
        lacking.denied += 1;
        return Subject::Denied;
    }
    if is_admitted {
        lacking.admitted += 1;
        return Subject::Admitted;
    }
    lacking.shared += u64::from(key.iter().all(|value| value == "-"));
    lacking.no_address += u64::from(no_address);
    let (permits, lacks_cost, is_rounded) = cost(&rule.cost.0, line);
    lacking.no_cost += u64::from(lacks_cost);
    lacking.rounded += u64::from(is_rounded);
    Subject::Key(key, permits)
}

/// Returns the key as it is given to overrides, and as it is shown.
fn field_of(line: &Line<'_>, field: KeyField) -> Option<String> {
    let text = match field {
        KeyField::Client => {
            let client = line.client.to_string();
            address(&client).map_or(client, |address| network(address, 32, 64))
        }
        KeyField::Path => path_of(line),
        KeyField::Method => line.method.to_string(),
        KeyField::Status => line.status.to_string(),
        KeyField::StatusClass => match line.status.to_string() {
            status if ('1'..='5').any(|class| status.starts_with(class)) => {
                format!("{}xx", &status[..1])
            }
            _ => "-".to_owned(),
        },
        KeyField::User => line.user.to_string(),
        KeyField::Referer => line.referer.to_string(),
        KeyField::Agent => line.agent.to_string(),
        KeyField::All => "all".to_owned(),
    };
    (text != "-" && !text.is_empty()).then_some(text)
}

/// Returns a header, of those that the combined format has.
fn named_of(line: &Line<'_>, named: &Named) -> Option<String> {
    match named {
        Named::Header(name) if name.to_lowercase() == "user-agent" => {
            field_of(line, KeyField::Agent)
        }
        Named::Header(name) if name.to_lowercase() == "referer" => {
            field_of(line, KeyField::Referer)
        }
        _ => None,
    }
}

fn address(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    Some(match address {
        IpAddr::V6(long) => match long.segments() {
            [0, 0, 0, 0, 0, 0xffff, high, low] => {
                IpAddr::V4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
            }
            _ => address,
        },
        IpAddr::V4(_) => address,
    })
}

fn network(address: IpAddr, ipv4: u32, ipv6: u32) -> String {
    match address {
        IpAddr::V4(address) if ipv4 == 32 => address.to_string(),
        IpAddr::V6(address) if ipv6 == 128 => address.to_string(),
        IpAddr::V4(address) => {
            let mut bits = u32::from(address);
            for bit in 0..32 - ipv4 {
                bits &= !(1 << bit);
            }
            format!("{}/{ipv4}", Ipv4Addr::from(bits))
        }
        IpAddr::V6(address) => {
            let mut bits = u128::from(address);
            for bit in 0..128 - ipv6 {
                bits &= !(1 << bit);
            }
            format!("{}/{ipv6}", Ipv6Addr::from(bits))
        }
    }
}

/// Returns the template that a path matches: of several, the one with the first segment that is more
/// specific. Knows templates whose braces are whole segments.
fn best<'t>(templates: &'t [String], path: &str) -> Option<&'t str> {
    let matching = templates.iter().filter_map(|template| Some((ranks(template, path)?, template)));
    matching.min().map(|(_, template)| template.as_str())
}

/// Returns how specific each segment of a template is, if the path matches: 0 is text.
fn ranks(template: &str, path: &str) -> Option<Vec<u8>> {
    let (mut ranks, mut rest) = (Vec::new(), path.split('/'));
    for segment in template.split('/') {
        if segment.starts_with("{*") {
            let rest: Vec<&str> = rest.collect();
            ranks.push(2);
            return (!rest.join("/").is_empty()).then_some(ranks);
        }
        let own = rest.next()?;
        if segment.starts_with('{') {
            ranks.push(1);
            if own.is_empty() {
                return None;
            }
        } else if segment == own {
            ranks.push(0);
        } else {
            return None;
        }
    }
    rest.next().is_none().then_some(ranks)
}

pub(super) fn is_in(filter: &Filter, line: &Line<'_>) -> bool {
    let path = field_of(line, KeyField::Path);
    let has = |value: Option<String>, wanted: &[String]| {
        wanted.is_empty() || value.is_some_and(|value| wanted.contains(&value))
    };
    let path_or_none = path.clone().unwrap_or_default();
    let is_in_network = |(network, bits): (IpAddr, u8)| {
        let own = address(&line.client.to_string());
        let bits = u32::from(bits);
        own.is_some_and(|own| match (own, network) {
            (IpAddr::V4(own), IpAddr::V4(network)) => {
                own.to_bits().checked_shr(32 - bits) == network.to_bits().checked_shr(32 - bits)
            }
            (IpAddr::V6(own), IpAddr::V6(network)) => {
                own.to_bits().checked_shr(128 - bits) == network.to_bits().checked_shr(128 - bits)
            }
            _ => false,
        })
    };
    let agent = field_of(line, KeyField::Agent).map(|agent| agent.to_lowercase());
    let status = field_of(line, KeyField::Status).and_then(|status| status.parse().ok());
    has(field_of(line, KeyField::Method), &filter.method)
        && has(field_of(line, KeyField::StatusClass), &filter.status_class)
        && (filter.path_prefix.is_empty()
            || filter.path_prefix.iter().any(|prefix| path_or_none.starts_with(prefix.as_str())))
        && (filter.path.is_empty() || best(filter.path.templates(), &path_or_none).is_some())
        && (filter.status.is_empty() || status.is_some_and(|own| filter.status.contains(&own)))
        && (filter.client.is_empty() || filter.client.iter().any(is_in_network))
        && (filter.agent_contains.texts().is_empty()
            || agent.is_some_and(|agent| {
                let mut texts = filter.agent_contains.texts().iter();
                texts.any(|text| agent.contains(&text.to_lowercase()))
            }))
        && filter.named.iter().all(|(named, values)| has(named_of(line, named), values))
}

/// Returns the permits of a line, whether it lacks the number that they come from, and whether they are more than that
/// because it has a fraction.
fn cost(cost: &Cost, line: &Line<'_>) -> (u64, bool, bool) {
    match cost {
        Cost::Permits(permits) => (*permits, false, false),
        Cost::Bytes => (line.bytes, false, false),
        Cost::Rules(rules) => {
            let rule = rules.iter().find(|rule| is_in(&rule.filter, line));
            (rule.map_or(1, |rule| rule.permits), false, false)
        }
        Cost::Named(own) => match named_of(line, &own.named).and_then(|text| decimal(&text)) {
            None => (own.missing, true, false),
            Some(number) => {
                let scaled = number * whole(own.times) / whole(own.per);
                match u64::try_from(scaled.ceil().to_integer()) {
                    Ok(permits) => (permits, false, own.per == 1 && !scaled.is_integer()),
                    Err(_) => (u64::MAX, false, false),
                }
            }
        },
    }
}

/// Reads digits with or without a fraction, and an `s` for seconds.
fn decimal(text: &str) -> Option<BigRational> {
    let text = text.strip_suffix('s').unwrap_or(text);
    let (mut number, mut scale) = (BigRational::zero(), whole(1));
    let mut is_fraction = false;
    for c in text.chars() {
        if c == '.' && !is_fraction {
            is_fraction = true;
            continue;
        }
        number = number * whole(10) + whole(c.to_digit(10)?);
        scale *= whole(if is_fraction { 10 } else { 1 });
    }
    text.starts_with(|c: char| c.is_ascii_digit()).then(|| number / scale)
}

/// Returns the path in its one spelling, as `docs/policies.md` has it.
fn path_of(line: &Line<'_>) -> String {
    let path = line.path.to_string();
    String::from_utf8_lossy(&sluicegate_policy::normal_path(path.as_bytes())).into_owned()
}
