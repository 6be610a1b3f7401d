//! Kinds whose keys have one limiter in common: shares of tenants, and classes with reserves.

use std::collections::HashMap;
use std::ops::Range;

use sluicegate::share::Share;
use sluicegate::{ConfigError, ManualClock, Quota, Rate};

use super::given::{Given, many, texts, whole};
use super::key::{client_prefix, is_by_client, of_override};
use super::kinds::{KINDS, KindFields};
use super::redis_store::NOT_THERE;
use super::{Checks, messages};
use crate::kind::common::{ClassPolicy, ShareGroup, kept, priorities};
use crate::problem::{Problem, escaped};
use crate::tree::Node;
use crate::{KeyField, KeyPart, Kind, Unbuildable, time_in_words};

/// Fields that a limiter has only if each key has one of its own, beside another store, and `wait`.
pub(crate) const NOT_OF_COMMON: [&str; 3] = ["overrides", "max_keys", "when_full"];

impl Checks<'_> {
    /// Returns the shares of tenants.
    pub(super) fn shares(&mut self, given: &Given<'_>) -> Option<Kind> {
        let quota = self.quota(given);
        let nodes = given.get("shares")?.list()?;
        let weighted = nodes.iter().find(|node| node.get("weight").is_some());
        let mut groups = if let Some(weighted) = weighted {
            self.by_weight(quota?, nodes, weighted)?
        } else {
            let groups: Vec<_> = nodes.iter().map(|node| self.assured(given, node)).collect();
            groups.into_iter().collect::<Option<Vec<_>>>()?
        };
        for (group, node) in groups.iter_mut().zip(nodes) {
            if let Some(ceiling) = node.get("ceiling") {
                let quota = self.bucket(given, "shares.ceiling", ceiling)?;
                self.ceiling_covers(group.share.assured(), quota, ceiling)?;
                group.share = group.share.with_ceiling(quota);
            }
        }
        let quota = quota?;
        let kind = Kind::Shares { quota, groups };
        match kind.check() {
            Ok(()) => {
                self.warn_of_loans(given, &kind);
                Some(kind)
            }
            Err(Unbuildable::Config(
                error @ (ConfigError::AssuredRate { .. } | ConfigError::AssuredBurst { .. }),
            )) => self.report(too_much_assured(given, &error)),
            Err(error) => self.unbuildable(given, &error),
        }
    }

    /// Returns a group with an assured quota for each tenant.
    fn assured(&mut self, given: &Given<'_>, node: &Node) -> Option<ShareGroup> {
        let assured = self.bucket(given, "shares.assured", node.get("assured")?)?;
        Some(group(node, Share::new(assured).with_tenants(places(node)?)))
    }

    /// Returns the groups whose quotas are by weight.
    fn by_weight(
        &mut self,
        quota: Quota,
        nodes: &[Node],
        weighted: &Node,
    ) -> Option<Vec<ShareGroup>> {
        // One that has both has been reported.
        let mut others = nodes.iter().filter(|node| node.get("weight").is_none());
        if let Some(assured) = others.find_map(|node| node.get("assured")) {
            let other = weighted.get("weight").unwrap_or(weighted);
            return self.report(messages::not_beside("weight", other, "assured", assured));
        }
        let weight = |node: &Node| {
            node.get("weight").and_then(whole).map(|own| u32::try_from(own).unwrap_or(u32::MAX))
        };
        let weights = nodes
            .iter()
            .map(|node| Some((weight(node)?, places(node)?)))
            .collect::<Option<Vec<_>>>()?;
        match Share::by_weight(quota, weights) {
            Ok(shares) => {
                Some(nodes.iter().zip(shares).map(|(node, share)| group(node, share)).collect())
            }
            Err(ConfigError::Weight { weight: small, sum, .. }) => {
                let node = nodes
                    .iter()
                    .find_map(|node| node.get("weight").filter(|node| whole(node) == Some(small)));
                let label = format!(
                    "of {sum}, all weights together, it is worth less than a permit of half of the `limit`: expected a \
                     greater weight or `limit`, or fewer `tenants`"
                );
                self.wrong("shares.weight", node.unwrap_or(weighted), label)
            }
            // Places are in range.
            Err(_) => None,
        }
    }

    fn ceiling_covers(&mut self, assured: Quota, ceiling: Quota, node: &Node) -> Option<()> {
        let product =
            |one: Rate, other: Rate| u128::from(one.permits()) * other.period().as_nanos();
        let (own, most) = (assured.rate(), ceiling.rate());
        if ceiling.burst() < assured.burst() {
            let label = format!("must be at least {}, the assured limit", assured.burst());
            return self.wrong("shares.ceiling.limit", node.get("limit")?, label);
        }
        if product(most, own) < product(own, most) {
            let label = format!(
                "must be at least the assured rate, {} per {}",
                own.permits(),
                time_in_words(own.period())
            );
            return self.wrong("shares.ceiling.rate", node.get("rate")?, label);
        }
        Some(())
    }

    /// Warns if nothing can ever be lent.
    fn warn_of_loans(&mut self, given: &Given<'_>, kind: &Kind) {
        let Kind::Shares { quota, groups } = kind else { return };
        if let (Some(limit), 0) = (given.get("limit"), quota.burst().saturating_sub(kept(groups))) {
            let label =
                "all of it is assured, so nothing can be lent: twice as much is a good beginning";
            self.warn("limit", limit, label);
        }
    }

    /// Returns the classes, and what each leaves.
    pub(super) fn priorities(&mut self, given: &Given<'_>) -> Option<Kind> {
        let quota = self.quota(given);
        let node = given.get("classes")?;
        let nodes = node.list()?;
        let quota = quota?;
        let mut classes: Vec<ClassPolicy> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let name = node.get("name")?;
            if classes.iter().any(|other| Some(other.name.as_str()) == name.text()) {
                return self.wrong("classes.name", name, "expected a name that no other class has");
            }
            classes.push(self.class(quota, node)?);
        }
        match priorities(quota, &classes, ManualClock::new()) {
            Ok(_) => {
                self.warn_of_last_class(node, &classes);
                Some(Kind::Priorities { quota, classes })
            }
            Err(error) => self.wrong("classes", node, messages::rule(&error)),
        }
    }

    /// Warns if keys that no class names, which a client may have made up, are not of the class that leaves most.
    fn warn_of_last_class(&mut self, node: &Node, classes: &[ClassPolicy]) {
        let (most, last) = (classes.iter().max_by_key(|class| class.reserve), classes.last());
        let (Some(most), Some(last)) = (most, last) else { return };
        if most.reserve > last.reserve {
            let (most, last) = (escaped(&most.name), escaped(&last.name));
            let title = format!("class {last}, the last one, leaves less than {most}");
            let label = format!(
                "keys that no class names are of the last class: expected the class that leaves most there, such as {most}"
            );
            self.warnings.push(Problem::new(node.span.clone(), "classes", title, label));
        }
    }

    fn class(&mut self, quota: Quota, node: &Node) -> Option<ClassPolicy> {
        let name = node.get("name")?.text()?.to_owned();
        let values = node.get("values").map(texts).unwrap_or_default();
        let values = match &values[..] {
            [] => vec![name.clone()],
            given => given.iter().map(|&text| text.to_owned()).collect(),
        };
        let limit = quota.burst();
        let (path, node, reserve, rule) = match (node.get("reserve"), node.get("reserve_percent")) {
            (Some(permits), Some(percent)) => {
                let problem = messages::not_beside("reserve", permits, "reserve_percent", percent);
                return self.report(problem);
            }
            (None, None) => return Some(ClassPolicy { name, values, reserve: 0 }),
            (Some(permits), None) => {
                let rule = format!("must be less than the limit of {limit}");
                ("classes.reserve", permits, whole(permits)?, rule)
            }
            (None, Some(node)) => {
                let percent = whole(node)?;
                let permits = (u128::from(limit) * u128::from(percent)).div_ceil(100);
                let permits = u64::try_from(permits).unwrap_or(u64::MAX);
                let rule = format!(
                    "{percent} % of {limit}, rounded up, is {permits}, not less than the limit"
                );
                ("classes.reserve_percent", node, permits, rule)
            }
        };
        if reserve >= limit {
            let label = format!("{rule}: no request of this class would ever be granted");
            return self.wrong(path, node, label);
        }
        Some(ClassPolicy { name, values, reserve })
    }

    /// Reports the fields of a limiter whose keys have one in common that it has only if each key has one of its own; keys that
    /// are there twice; and a key by which requests do not differ. Returns the kind with its keys as requests have them.
    pub(super) fn common(
        &mut self,
        given: &Given<'_>,
        key: &[KeyPart],
        kind: Option<Kind>,
    ) -> Option<Kind> {
        let policy = given.word("policy")?;
        let Some(fields) = common_fields(given) else { return kind };
        let is_on_server = given.get("store").is_some_and(|store| store.table().is_some());
        for field in NOT_OF_COMMON.into_iter().chain(["wait"]) {
            if is_on_server && NOT_THERE.contains(&field) {
                // It has been reported.
                continue;
            }
            let is_default = given.word(field) == Some("refuse");
            if let (Some(node), false) = (given.get(field), is_default) {
                self.errors.push(messages::not_of_common(field, node.span.clone(), policy));
            }
        }
        let (list, names) = match fields.needed {
            [.., "shares"] => ("shares", "tenants"),
            _ => ("classes", "values"),
        };
        if *key == [KeyField::All] {
            let example = self.in_format("{ header = \"x-tenant\" }");
            let label = format!(
                "expected a field by which requests differ, such as {example}: its value is looked for in `{list}`"
            );
            let problem = Problem::new(given.place_of("key"), "key", "`key` is \"all\"", label);
            return self.report(problem);
        }
        self.keys_differ(given, key, list, names);
        kind.map(|kind| kind.with_keys(|text| of_override(key, text)))
    }

    fn keys_differ(&mut self, given: &Given<'_>, key: &[KeyPart], list: &str, names: &str) {
        let path = messages::path(list, names);
        let mut seen: HashMap<String, &Node> = HashMap::new();
        let mut others: Option<&Node> = None;
        for node in given.get(list).and_then(Node::list).unwrap_or_default() {
            let Some(own) = node.get(names).or_else(|| node.get("name")) else { continue };
            if let Some(number) = own.text().filter(|_| names == "tenants")
                && number.bytes().all(|byte| byte.is_ascii_digit())
            {
                let label = format!(
                    "a single tenant with this name: write {number} for so many places, or [\"{number}\"] for the tenant"
                );
                self.warn(&path, own, label);
            }
            if whole(own).is_some() {
                if let Some(first) = others.replace(own) {
                    let label = "expected a single group of all tenants that no group names";
                    let problem = self.wrong_value(&path, own, label);
                    self.errors.push(problem.with_context(first.span.clone(), "the first"));
                }
                continue;
            }
            if key.len() > 1 {
                let problem = self.wrong_value(&path, own, messages::NAMES_OF_ONE_FIELD);
                self.errors.push(problem.with_context(given.place_of("key"), "this has several"));
                continue;
            }
            for one in many(own) {
                let Some(text) = one.text() else { continue };
                let name = of_override(key, text);
                self.can_be_a_key(key, &path, text, &name, one.span.clone());
                let first = seen.insert(name.clone(), one);
                if let Some(first) = first {
                    let cut = messages::cut(text);
                    let title = if name == text {
                        format!("`{path}` has \"{cut}\" twice")
                    } else {
                        format!("`{path}` has \"{cut}\", which is {}, twice", escaped(&name))
                    };
                    let label = "expected each key once";
                    let problem = Problem::new(one.span.clone(), path.clone(), title, label);
                    self.errors.push(problem.with_context(first.span.clone(), "the first"));
                }
            }
        }
    }

    /// Reports a name that is not the key of any request: one of several clients, or a long one. Warns of one that looks like an
    /// address and is none.
    fn can_be_a_key(
        &mut self,
        key: &[KeyPart],
        path: &str,
        text: &str,
        name: &str,
        place: Range<usize>,
    ) {
        if let Some(problem) = messages::longer_than_keys(path, name, place.clone()) {
            self.errors.push(problem);
        } else if let Some(prefix) = client_prefix(key)
            && prefix.is_longer_than(name)
        {
            let title =
                format!("`{path}` has \"{}\", a network of several keys", messages::cut(text));
            let label =
                format!("expected an address, or a network as the `key` has them: {prefix}");
            self.errors.push(Problem::new(place, path, title, label));
        } else if is_by_client(key) {
            self.warn_of_client(path, text, place);
        }
    }
}

fn group(node: &Node, share: Share) -> ShareGroup {
    let tenants = node.get("tenants").map(texts).unwrap_or_default();
    let tenants = tenants.into_iter().map(str::to_owned).collect();
    ShareGroup { tenants, share }
}

/// Returns true if all keys of the limiter have one in common.
pub(super) fn is_common(given: &Given<'_>) -> bool {
    common_fields(given).is_some()
}

fn common_fields(given: &Given<'_>) -> Option<&'static KindFields> {
    let policy = given.word("policy")?;
    KINDS.iter().find(|kind| kind.policy == policy && kind.is_common)
}

/// Returns the number of places that a group has; `None` if its tenants are missing or wrong, which has been reported.
fn places(node: &Node) -> Option<usize> {
    let tenants = node.get("tenants")?;
    let places = match whole(tenants) {
        Some(places) => usize::try_from(places).ok()?,
        None => texts(tenants).len(),
    };
    (1..=Share::MAX_TENANTS).contains(&(places as u64)).then_some(places)
}

/// Returns the problem that the tenants are assured more than there is, with the sum.
fn too_much_assured(given: &Given<'_>, error: &ConfigError) -> Problem {
    let (field, sum, most, of) = match error {
        ConfigError::AssuredRate { sum, permits, period } => {
            let per = format!(" per {}", time_in_words(*period));
            ("rate", format!("{sum}{per}"), format!("{permits}{per}"), "rate.amount")
        }
        ConfigError::AssuredBurst { sum, burst } => {
            ("limit", sum.to_string(), burst.to_string(), "limit")
        }
        _ => ("shares", String::new(), String::new(), "shares"),
    };
    let title = format!("all tenants together are assured a `{field}` of {sum}");
    let label = format!(
        "must be at most {most}, the `{field}` for all: expected a smaller `assured.{of}`, fewer `tenants`, or a greater \
         `{of}` for all"
    );
    let path = format!("shares.assured.{field}");
    Problem::new(given.place_of("shares"), path, title, label)
        .with_context(given.place_of(field), "this is for all tenants together")
}
