//! The levels of a hierarchy.

use std::collections::HashMap;
use std::ops::Range;

use super::given::{Given, texts, whole};
use super::kinds::kind_names;
use super::store::kept_by;
use super::{Checks, messages};
use crate::fields::Form;
use crate::hierarchy::pattern_error;
use crate::tree::Node;
use crate::{Kind, LevelOverride, LevelPolicy};

impl Checks<'_> {
    /// Checks all levels of the file.
    pub(super) fn hierarchy(&mut self, tree: &Node) -> Vec<LevelPolicy> {
        let Some(node) = tree.get("hierarchy") else { return Vec::new() };
        let Some(nodes) = node.list() else { return Vec::new() };
        if nodes.is_empty() {
            self.errors.push(self.wrong_value("hierarchy", node, "expected at least one level"));
        }
        let mut names: HashMap<&str, Range<usize>> = HashMap::new();
        let mut levels = Vec::with_capacity(nodes.len());
        for node in nodes {
            if let Some(name) = node.get("name")
                && let Some(text) = name.text()
                && let Some(first) = names.insert(text, name.span.clone())
            {
                self.errors.push(messages::same_level(text, name.span.clone(), first));
            }
            levels.extend(self.level(node));
        }
        levels
    }

    /// Checks a level. Returns it if it has no mistake.
    fn level(&mut self, node: &Node) -> Option<LevelPolicy> {
        if node.table().is_none() {
            let expected = self.expected(&Form::Level);
            return self.wrong("hierarchy", node, expected);
        }
        let before = self.errors.len();
        self.level_form(node);
        let mut given = Given::new(node, "hierarchy");
        given.name = given.word("name");
        for field in ["name", "key"] {
            if given.get(field).is_none() {
                let label = format!("expected `{field}`");
                self.errors.push(messages::limiter_lacks(&given, field, &label));
            }
        }
        let kind = self.level_kind(&given);
        let list = |field| -> Vec<String> {
            let texts = given.get(field).map(texts).unwrap_or_default();
            texts.into_iter().map(str::to_owned).collect()
        };
        let key = list("key");
        let overrides = self.level_overrides(&given, key.len(), kind.as_ref());
        let max_keys = given.get("max_keys").and_then(whole);
        if let (Some(0), Some(node)) = (max_keys, given.get("max_keys")) {
            let problem = self.wrong_value("hierarchy.max_keys", node, messages::ONE_OR_MORE);
            self.errors.push(problem);
        }
        let level = LevelPolicy {
            name: given.name?.to_owned(),
            key,
            counts: list("counts"),
            kind: kind?,
            max_keys: max_keys.map(|keys| usize::try_from(keys).unwrap_or(usize::MAX)),
            overrides,
        };
        (self.errors.len() == before).then_some(level)
    }

    /// Returns the kind of the level's limiters, which can be settled and forgotten.
    fn level_kind(&mut self, given: &Given<'_>) -> Option<Kind> {
        let kind = self.kind(given)?;
        if !kind.is_settleable() {
            let what = if matches!(kind, Kind::All(_)) { "a part of it" } else { "this" };
            let expected = kind_names(|kind| kind.in_levels).join("`, `");
            let label = format!("{what} cannot be settled: expected one of `{expected}`");
            return self.wrong("hierarchy.policy", given.get("policy")?, label);
        }
        if !kind.is_new_when_full() {
            let field = kept_by(&kind);
            let path = messages::path("hierarchy", field);
            return self.report(messages::not_of_level(&path, given.place_of(field)));
        }
        Some(kind)
    }

    fn level_overrides(
        &mut self,
        given: &Given<'_>,
        fields: usize,
        kind: Option<&Kind>,
    ) -> Vec<LevelOverride> {
        let entries = given.get("overrides").and_then(Node::table).unwrap_or_default();
        let mut seen = HashMap::new();
        let mut overrides = Vec::new();
        for entry in entries {
            if let Some(first) = seen.insert(&entry.name, entry) {
                self.errors.push(messages::twice("hierarchy.overrides", entry, first));
                continue;
            }
            // Without a key, there is another mistake to mend first.
            if let Some(reason) = pattern_error(&entry.name, fields).filter(|_| fields > 0) {
                self.errors.push(messages::not_a_pattern(entry, &reason));
            }
            if entry.node.table().is_none() {
                let expected = self.expected(&Form::Overrides);
                let path = messages::path("overrides", &format!("\"{}\"", entry.name));
                self.errors.push(self.wrong_value(&path, &entry.node, expected));
                continue;
            }
            let Some(kind) = self.override_kind(given, &entry.node, kind) else { continue };
            if kind.is_new_when_full() {
                overrides.push(LevelOverride { pattern: entry.name.clone(), kind });
            } else {
                let problem = messages::not_of_level("overrides", entry.node.span.clone());
                self.errors.push(problem);
            }
        }
        overrides
    }
}
