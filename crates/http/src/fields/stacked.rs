//! Fields of a response that has those of another layer already.
//!
//! | version | the response then has |
//! |---|---|
//! | drafts 8 to 10 | the policies and limits of both. Of two with the same name, the stricter one |
//! | the others | the policies of both, and the limit that is stricter: it has less left, or else the later reset |
//!
//! The limit of a response that was refused further inside is the strictest.

use std::cmp::Reverse;
use std::time::SystemTime;

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName};
use sfv::{FieldType, Item, List, ListEntry};

use super::named_items::{self, LIMIT, POLICY};
use super::service_limit::ServiceLimit;
use super::single_limit::{self, DRAFT, LEGACY, Names};
use super::values::{self, MAX_ITEMS};
use super::version::FieldVersion;

/// The fields of a version that a response has already.
pub(super) struct Inner {
    headers: HeaderMap,
    is_refusal: bool,
}

impl Inner {
    /// Takes the fields of a version out of `headers`. Returns `None`, and does not allocate, if there are none.
    pub(super) fn take(version: FieldVersion, headers: &mut HeaderMap) -> Option<Inner> {
        let names: &[&HeaderName] = match version {
            FieldVersion::Legacy(_) => &LEGACY.all(),
            FieldVersion::Draft3 => &DRAFT.all(),
            FieldVersion::Draft6 => {
                let [limit, remaining, reset] = DRAFT.all();
                &[limit, remaining, reset, &POLICY]
            }
            FieldVersion::Draft7 | FieldVersion::Draft8 => &[&LIMIT, &POLICY],
        };
        if !names.iter().any(|name| headers.contains_key(*name)) {
            return None;
        }
        let is_refusal = headers.contains_key(RETRY_AFTER);
        let mut inner = HeaderMap::new();
        for name in names {
            for value in headers.get_all(*name) {
                inner.append((*name).clone(), value.clone());
            }
            headers.remove(*name);
        }
        Some(Inner { headers: inner, is_refusal })
    }

    /// Adds the fields to those that `headers` has by now.
    pub(super) fn add_to(self, version: FieldVersion, headers: &mut HeaderMap, now: SystemTime) {
        match version {
            FieldVersion::Draft8 => self.add_named_items(headers),
            FieldVersion::Draft7 => {
                let limit = single_limit::parse_dictionary;
                if self.is_stricter(limit(&self.headers), limit(headers)) {
                    self.put_back(headers, &[&LIMIT]);
                }
                self.add_list(headers, &POLICY);
            }
            FieldVersion::Draft6 => {
                self.choose(headers, &DRAFT, now);
                self.add_list(headers, &POLICY);
            }
            FieldVersion::Draft3 => self.add_draft3(headers, now),
            FieldVersion::Legacy(_) => self.choose(headers, &LEGACY, now),
        }
    }

    /// Keeps the stricter one of two limits.
    fn choose(&self, headers: &mut HeaderMap, names: &Names, now: SystemTime) {
        let limit = |headers: &HeaderMap| single_limit::parse(headers, names, now);
        if self.is_stricter(limit(&self.headers), limit(headers)) {
            self.put_back(headers, &names.all());
        }
    }

    fn is_stricter(&self, inner: Option<ServiceLimit>, outer: Option<ServiceLimit>) -> bool {
        let rank = |limit: ServiceLimit| (limit.remaining, Reverse(limit.reset_after));
        match (inner.map(rank), outer.map(rank)) {
            (Some(inner), Some(outer)) => self.is_refusal || inner < outer,
            (inner, _) => inner.is_some(),
        }
    }

    fn put_back(&self, headers: &mut HeaderMap, names: &[&HeaderName]) {
        for name in names {
            headers.remove(*name);
            for value in self.headers.get_all(*name) {
                headers.append((*name).clone(), value.clone());
            }
        }
    }

    /// Adds the members of a list.
    fn add_list(&self, headers: &mut HeaderMap, name: &HeaderName) {
        let inner = values::list(&self.headers, name);
        let outer = values::list(headers, name);
        set_list(headers, name, inner.into_iter().chain(outer));
    }

    /// Keeps the stricter limit, which is the first member of its field, and the policies of both behind it.
    fn add_draft3(&self, headers: &mut HeaderMap, now: SystemTime) {
        let [limit, ..] = DRAFT.all();
        let (mut inner, mut outer) = (
            values::list(&self.headers, limit).into_iter(),
            values::list(headers, limit).into_iter(),
        );
        let (own_first, outer_first) = (inner.next(), outer.next());
        let of = |headers: &HeaderMap| single_limit::parse(headers, &DRAFT, now);
        let is_stricter = self.is_stricter(of(&self.headers), of(headers));
        if is_stricter {
            self.put_back(headers, &DRAFT.all());
        }
        let first = if is_stricter { own_first } else { outer_first };
        set_list(headers, limit, first.into_iter().chain(inner).chain(outer));
    }

    fn add_named_items(&self, headers: &mut HeaderMap) {
        let (inner, outer) = (Named::new(&self.headers), Named::new(headers));
        let keeps_inner = |name: &str| match (inner.remaining(name), outer.remaining(name)) {
            (Some(inner), Some(outer)) => self.is_refusal || inner <= outer,
            (inner, _) => inner.is_some() || !outer.has(name),
        };
        let keeps_outer = |name: &str| !inner.has(name) || !keeps_inner(name);
        for (field, inner, outer) in
            [(&POLICY, &inner.policies, &outer.policies), (&LIMIT, &inner.limits, &outer.limits)]
        {
            let inner = inner.iter().filter(|item| name(item).is_some_and(keeps_inner));
            let outer = outer.iter().filter(|item| name(item).is_some_and(keeps_outer));
            set_list(headers, field, inner.chain(outer).cloned());
        }
    }
}

/// The policies and limits of drafts 8 to 10.
struct Named {
    policies: Vec<Item>,
    limits: Vec<Item>,
}

impl Named {
    fn new(headers: &HeaderMap) -> Named {
        Named { policies: values::list(headers, &POLICY), limits: values::list(headers, &LIMIT) }
    }

    fn has(&self, wanted: &str) -> bool {
        self.policies.iter().chain(&self.limits).any(|item| name(item) == Some(wanted))
    }

    fn remaining(&self, wanted: &str) -> Option<u64> {
        let items = self.limits.iter().filter(|item| name(item) == Some(wanted));
        items.filter_map(named_items::remaining).min()
    }
}

fn name(item: &Item) -> Option<&str> {
    values::text(&item.bare_item)
}

/// Sets a field to so many items as a field may have.
fn set_list(headers: &mut HeaderMap, name: &HeaderName, items: impl Iterator<Item = Item>) {
    let list: List = items.take(MAX_ITEMS).map(ListEntry::Item).collect();
    values::set_text(headers, name.clone(), &list.serialize().unwrap_or_default());
}
