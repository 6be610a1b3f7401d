//! Policies as the replay uses them: the limiters of `sluicegate-policy`, whose keys, filters and
//! costs are those of a log's lines.

pub mod commands;
pub mod input;
mod store;

use std::collections::HashMap;
use std::time::Duration;

use bstr::{BString, ByteSlice};
pub use sluicegate_policy::{BoxedLimiter, Kind, LoadError, PolicyErrors, Room, Size, Store};
use sluicegate_policy::{KeyField, LimiterPolicy, Override, Policies};

pub use self::store::{Exact, Table, exact, table};
use crate::log::{Line, write_canonical};

/// The policy that is used when none is given.
pub const BUNDLED: &str = include_str!("../sample/policy.toml");

/// Separator of the fields of a key. No field contains it, since no line does.
const SEPARATOR: &[u8] = b"\n";

/// A policy file that has been checked.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The limiters, in the order of the file. At least one; no two have the
    /// same name.
    pub rules: Vec<Rule>,
    /// The text that was read.
    pub text: String,
}

/// One named limiter of a policy.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The name it is reported under.
    pub name: String,
    /// Fields of a line; lines that agree in all of them share one limiter.
    pub key: Vec<KeyField>,
    /// The algorithm and its numbers.
    pub kind: Kind,
    /// The lines that it judges.
    pub filter: Filter,
    /// The permits that a line asks for.
    pub cost: Cost,
    /// The store of its keys.
    pub store: Store,
    /// Keys that have numbers of their own.
    pub overrides: HashMap<Vec<u8>, Kind>,
    /// The longest that a request waits, which only `--shape` replays.
    pub wait: Option<Duration>,
    /// True if the limiter only counts; a replay counts what it would deny.
    pub shadow: bool,
}

/// The lines that a limiter judges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(pub sluicegate_policy::Filter);

/// The number of permits that a line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost(pub sluicegate_policy::Cost);

impl Policy {
    /// Checks the text of a policy in TOML. Errors show `path` as its name.
    ///
    /// # Errors
    ///
    /// [`PolicyErrors`], which show their places.
    pub fn parse(path: &str, text: &str) -> Result<Policy, PolicyErrors> {
        Policies::from_toml(path, text).map(Policy::from)
    }
}

impl From<Policies> for Policy {
    fn from(policies: Policies) -> Policy {
        let text = policies.text().to_owned();
        Policy { rules: policies.into_limiters().into_iter().map(Rule::from).collect(), text }
    }
}

impl From<LimiterPolicy> for Rule {
    fn from(limiter: LimiterPolicy) -> Rule {
        let key = limiter.key;
        let own = |own: Override| (as_judged(&key, own.key.into_bytes()), own.kind);
        let overrides = limiter.overrides.into_iter().map(own).collect();
        Rule {
            name: limiter.name,
            key,
            kind: limiter.kind,
            filter: Filter(limiter.filter),
            cost: Cost(limiter.cost),
            store: limiter.store,
            overrides,
            wait: limiter.wait,
            shadow: limiter.shadow,
        }
    }
}

impl Rule {
    /// Writes the key of a line in place of what is there.
    pub(crate) fn write_key(&self, line: &Line<'_>, key: &mut BString) {
        key.clear();
        for (place, field) in self.key.iter().enumerate() {
            if place > 0 {
                key.extend_from_slice(SEPARATOR);
            }
            key.extend_from_slice(line.field(*field));
        }
    }

    /// Returns the numbers that hold for a key.
    #[must_use]
    pub fn kind_of(&self, key: &[u8]) -> &Kind {
        self.overrides.get(key).unwrap_or(&self.kind)
    }
}

/// Returns a key for people: its fields are separated by a space, and bytes that are not UTF-8 are
/// replaced.
pub(crate) fn readable(key: &[u8]) -> String {
    key.replace(SEPARATOR, " ").to_str_lossy().into_owned()
}

/// Returns a key as the replay has it: clients are in the canonical form of their addresses.
fn as_judged(fields: &[KeyField], key: Vec<u8>) -> Vec<u8> {
    let mut canonical = Vec::new();
    if *fields == [KeyField::Client] && write_canonical(&key, &mut canonical) {
        canonical
    } else {
        key
    }
}

impl Filter {
    /// Returns whether the limiter judges this line.
    #[must_use]
    pub fn lets_through(&self, line: &Line<'_>) -> bool {
        let any = |wanted: &[String], is: &dyn Fn(&[u8]) -> bool| {
            wanted.is_empty() || wanted.iter().any(|wanted| is(wanted.as_bytes()))
        };
        any(&self.0.method, &|method| line.method == method)
            && any(&self.0.path_prefix, &|prefix| line.path.starts_with(prefix))
            && any(&self.0.status_class, &|class| line.field(KeyField::StatusClass) == class)
    }
}

impl Cost {
    /// Returns the number of permits that this line asks for.
    #[must_use]
    pub fn of(self, line: &Line<'_>) -> u64 {
        match self.0 {
            sluicegate_policy::Cost::Permits(permits) => permits,
            sluicegate_policy::Cost::Bytes => line.bytes,
        }
    }
}
