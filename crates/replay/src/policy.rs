//! Policies as the replay uses them: the limiters of `sluicegate-policy`, whose keys, filters and
//! costs are those of a log's lines.

mod request;
mod store;

use std::time::Duration;

use bstr::ByteSlice;
pub use sluicegate_policy::{BoxedLimiter, Kind, LoadError, PolicyErrors, Room, Size, Store};
use sluicegate_policy::{
    Format, KeyPart, LevelPolicy, LimiterPolicy, Named, Overrides, Penalty, Policies,
};

pub use self::request::{Cost, Filter, Needs};
pub use self::store::{Exact, Table, exact, table};

/// The policy that is used when none is given.
pub const DEMONSTRATION: &str = include_str!("../sample/demonstration.toml");

/// A policy with a limiter of every kind.
pub const EVERY_KIND: &str = include_str!("../sample/policy.toml");

/// Separator of the fields of a key. No field contains it, since no line does.
const SEPARATOR: &[u8] = b"\n";

/// A policy file that has been checked.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The limiters, in the order of the file. At least one, unless there is a hierarchy; no two have
    /// the same name.
    pub rules: Vec<Rule>,
    /// The levels of the hierarchy, in the order of the file.
    pub hierarchy: Vec<LevelPolicy>,
    /// The text that was read.
    pub text: String,
    /// The format of that text.
    pub format: Format,
}

/// One named limiter of a policy.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The name it is reported under.
    pub name: String,
    /// Parts of a line; lines that agree in all of them share one limiter.
    pub key: Vec<KeyPart>,
    /// The algorithm and its numbers.
    pub kind: Kind,
    /// The lines that it judges.
    pub filter: Filter,
    /// The permits that a line asks for.
    pub cost: Cost,
    /// The penalty of keys that offend, if there is one.
    pub penalty: Option<Penalty>,
    /// The store of its keys.
    pub store: Store,
    /// Keys that have numbers of their own.
    pub overrides: Overrides,
    /// The longest that a request waits, which only `--shape` replays.
    pub wait: Option<Duration>,
    /// True if the limiter only counts; a replay counts what it would deny.
    pub shadow: bool,
    /// Headers and columns that it needs.
    pub named: Vec<Named>,
}

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
        let (text, format) = (policies.text().to_owned(), policies.format());
        let hierarchy = policies.hierarchy().to_vec();
        let rules = policies.into_limiters().into_iter().map(Rule::from).collect();
        Policy { rules, hierarchy, text, format }
    }
}

impl From<LimiterPolicy> for Rule {
    fn from(limiter: LimiterPolicy) -> Rule {
        let named = limiter.named();
        let key = limiter.key;
        Rule {
            name: limiter.name,
            key,
            kind: limiter.kind,
            filter: Filter::new(limiter.filter, limiter.except),
            cost: Cost(limiter.cost),
            penalty: limiter.penalty,
            store: limiter.store,
            overrides: limiter.overrides,
            wait: limiter.wait,
            shadow: limiter.shadow,
            named,
        }
    }
}

impl Rule {
    /// Returns the numbers that hold for a key.
    #[must_use]
    pub fn kind_of(&self, key: &[u8]) -> &Kind {
        self.overrides.of(key).unwrap_or(&self.kind)
    }
}

/// Returns a key for people: its fields are separated by a space, and bytes that are not UTF-8 are
/// replaced.
#[must_use]
pub fn readable(key: &[u8]) -> String {
    key.replace(SEPARATOR, " ").to_str_lossy().into_owned()
}
