//! One limiter of the file.

use std::collections::{HashMap, HashSet};

use super::common::is_common;
use super::given::{Given, time};
use super::key::{is_by_client, of_override};
use super::{Checks, messages};
use crate::fields::Form;
use crate::tree::{Node, Value};
use crate::{KeyField, KeyPart, Kind, Lease, LimiterPolicy, Overrides, Room};

impl Checks<'_> {
    /// Checks a limiter. Returns it if it has no mistake.
    pub(super) fn limiter(&mut self, name: Option<&str>, node: &Node) -> Option<LimiterPolicy> {
        if node.table().is_none() {
            let expected = self.expected(&Form::Limiter);
            return self.wrong("", node, expected);
        }
        let before = self.errors.len();
        self.limiter_form("", node);
        let mut given = Given::new(node, "");
        given.name = name;
        if given.name.is_none() && given.get("name").is_none() {
            let problem = messages::limiter_lacks(&given, "name", "expected `name`");
            self.errors.push(problem);
        }
        let kind = self.kind(&given);
        let store = self.store(&given, kind.as_ref());
        let redis = match given.get("store").filter(|store| store.table().is_some()) {
            None => Some(None),
            Some(store) => self.redis_store(&given, kind.as_ref(), store).map(Some),
        };
        let cost = self.cost(&given, kind.as_ref());
        let penalty = self.penalty(&given);
        let (filter, except) = (self.only(&given), self.except(&given));
        let key = self.key(&given);
        let kind = self.common(&given, &key, kind);
        let lease = redis.as_ref().and_then(|redis| redis.as_ref()?.lease);
        let overrides = self.overrides(&given, &key, kind.as_ref(), lease);
        self.warn_of_limiter(&given, kind.as_ref());
        let is_set = |field| {
            matches!(given.get(field).map(|node: &Node| &node.value), Some(Value::Flag(true)))
        };
        let limiter = LimiterPolicy {
            name: name?.to_owned(),
            key,
            kind: kind?,
            filter,
            except,
            cost: cost?,
            penalty: penalty?,
            store: store?,
            redis: redis?,
            wait: given.get("wait").and_then(time),
            shadow: is_set("shadow"),
            reset: is_set("reset"),
            overrides,
        };
        (self.errors.len() == before).then_some(limiter)
    }

    fn overrides(
        &mut self,
        given: &Given<'_>,
        key: &[KeyPart],
        kind: Option<&Kind>,
        lease: Option<Lease>,
    ) -> Overrides {
        let Some(node) = given.get("overrides") else { return Overrides::default() };
        if is_common(given) {
            // They have been reported.
            return Overrides::default();
        }
        if key.len() > 1 || *key == [KeyField::All] {
            let place = given.place_of("key");
            self.errors.push(messages::overrides_of_many(node.span.clone(), place));
        }
        let mut overrides = Vec::new();
        let entries = node.table().unwrap_or_default();
        let mut seen = HashMap::new();
        let mut keys = HashSet::new();
        for entry in entries {
            if let Some(first) = seen.insert(&entry.name, entry) {
                self.errors.push(messages::twice("overrides", entry, first));
                continue;
            }
            if entry.node.table().is_none() {
                let expected = self.expected(&Form::Overrides);
                let path = messages::path("overrides", &format!("\"{}\"", entry.name));
                self.errors.push(self.wrong_value(&path, &entry.node, expected));
                continue;
            }
            let Some(kind) = self.override_kind(given, &entry.node, kind) else { continue };
            let is_on_redis = given.get("store").is_some_and(|store| store.table().is_some());
            if is_on_redis && let Some(expected) = kind.not_on_redis() {
                let (place, store) = (entry.node.span.clone(), given.place_of("store"));
                self.errors.push(messages::kind_not_on_redis(place, store, expected));
            } else if let Some(lease) = lease
                && let Some(leases) = given.get("store").and_then(|store| store.get("lease"))
            {
                self.lease_suits(&lease, &kind, entry.node.span.clone(), leases);
            } else if given.get("max_keys").is_some() && !kind.is_new_when_full() {
                let place = given.place_of("max_keys");
                let problem = messages::keys_are_kept(place, Some(entry.node.span.clone()));
                self.errors.push(problem);
            }
            if is_by_client(key) {
                self.warn_of_client("overrides", &entry.name, entry.name_span.clone());
            }
            let key = of_override(key, &entry.name);
            let place = entry.name_span.clone();
            self.errors.extend(messages::longer_than_keys("overrides", &key, place));
            if !keys.insert(key.clone()) {
                self.errors.push(messages::same_key(entry, &key));
            }
            overrides.push((key, kind));
        }
        Overrides::new(overrides, is_by_client(key))
    }

    /// Returns the limiter's kind with the numbers of a key.
    pub(super) fn override_kind(
        &mut self,
        given: &Given<'_>,
        own: &Node,
        kind: Option<&Kind>,
    ) -> Option<Kind> {
        let before = self.errors.len();
        self.override_form(given, own);
        // Mistakes of the limiter itself have been reported.
        let base = kind?;
        if self.errors.len() > before {
            return None;
        }
        let kind = self.kind(&given.with(own, "overrides"))?;
        let (parts, own_parts) = (base.parts().len(), kind.parts().len());
        if parts != own_parts {
            // Reports count denials by part.
            let expected =
                format!("expected as many parts as the limiter has: {parts}, not {own_parts}");
            return self.wrong("overrides", own, expected);
        }
        Some(kind)
    }

    /// Reports that the store is one in which all keys have the same numbers.
    pub(super) fn overrides_fit(&mut self, given: &Given<'_>, room: Room) {
        if let (Room::Table(_), Some(overrides)) = (room, given.get("overrides")) {
            let store = given.place_of("store");
            self.errors.push(messages::overrides_in_table(overrides.span.clone(), store));
        }
    }
}
