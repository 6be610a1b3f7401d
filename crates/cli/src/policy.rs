//! Policies as the replay uses them: the limiters of `sluicegate-policy`, whose keys, filters and
//! costs are those of a log's lines.

mod store;

pub use sluicegate_policy::{BoxedLimiter, Kind, PolicyError, Room, Size, Store};

pub use self::store::{Exact, Table, exact, table};
use crate::log::{Field, Line};

/// The policy that is used when none is given.
pub const BUNDLED: &str = include_str!("../sample/policy.toml");

/// A policy file that has been checked.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The limiters, in the order of the file. At least one; no two have the
    /// same name.
    pub rules: Vec<Rule>,
}

/// One named limiter of a policy.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The name it is reported under.
    pub name: String,
    /// Fields of a line; lines that agree in all of them share one limiter.
    pub key: Vec<Field>,
    /// The algorithm and its numbers.
    pub kind: Kind,
    /// The lines that it judges.
    pub filter: Filter,
    /// The permits that a line asks for.
    pub cost: Cost,
    /// The store of its keys.
    pub store: Store,
}

/// The lines that a limiter judges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(pub sluicegate_policy::Filter);

/// The number of permits that a line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost(pub sluicegate_policy::Cost);

impl Policy {
    /// Checks the text of a policy. Errors show `path` as its name.
    ///
    /// # Errors
    ///
    /// [`PolicyError`], which shows the place.
    pub fn parse(path: &str, text: &str) -> Result<Policy, PolicyError> {
        let policy = sluicegate_policy::Policy::parse(path, text)?;
        Ok(Policy { rules: policy.rules.into_iter().map(Rule::from).collect() })
    }
}

impl From<sluicegate_policy::Rule> for Rule {
    fn from(rule: sluicegate_policy::Rule) -> Rule {
        Rule {
            name: rule.name,
            key: rule.key.into_iter().map(field).collect(),
            kind: rule.kind,
            filter: Filter(rule.filter),
            cost: Cost(rule.cost),
            store: rule.store,
        }
    }
}

/// Returns the field of a line that keys are made of.
fn field(field: sluicegate_policy::KeyField) -> Field {
    use sluicegate_policy::KeyField;
    match field {
        KeyField::Client => Field::Client,
        KeyField::Path => Field::Path,
        KeyField::Method => Field::Method,
        KeyField::Status => Field::Status,
        KeyField::StatusClass => Field::StatusClass,
        KeyField::User => Field::User,
        KeyField::Referer => Field::Referer,
        KeyField::Agent => Field::Agent,
        KeyField::All => Field::All,
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
            && any(&self.0.status_class, &|class| line.field(Field::StatusClass) == class)
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
