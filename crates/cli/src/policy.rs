//! Policies: named limiters, the fields of their keys, and the lines that they judge.

mod check;
mod error_snippet;
mod kind;
mod schema;
mod store;

pub use self::error_snippet::PolicyError;
pub use self::kind::{BoxedLimiter, Kind, Unbuildable};
pub use self::store::{Exact, Room, Size, Store, Table, exact};
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

/// The lines that a limiter judges. An empty list lets every line through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Methods, in capitals.
    pub method: Vec<String>,
    /// Beginnings of paths.
    pub path_prefix: Vec<String>,
    /// Classes of statuses, such as `4xx`.
    pub status_class: Vec<String>,
}

/// The number of permits that a line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Always the same number.
    Permits(u64),
    /// One permit for each byte of the response.
    Bytes,
}

impl Policy {
    /// Checks the text of a policy. Errors show `path` as its name.
    ///
    /// # Errors
    ///
    /// [`PolicyError`], which shows the place.
    pub fn parse(path: &str, text: &str) -> Result<Policy, PolicyError> {
        check::policy(text).map_err(|problem| PolicyError::new(path, text, problem))
    }
}

impl Filter {
    /// Returns whether the limiter judges this line.
    #[must_use]
    pub fn lets_through(&self, line: &Line<'_>) -> bool {
        let any = |wanted: &[String], is: &dyn Fn(&[u8]) -> bool| {
            wanted.is_empty() || wanted.iter().any(|wanted| is(wanted.as_bytes()))
        };
        any(&self.method, &|method| line.method == method)
            && any(&self.path_prefix, &|prefix| line.path.starts_with(prefix))
            && any(&self.status_class, &|class| line.field(Field::StatusClass) == class)
    }
}

impl Cost {
    /// Returns the number of permits that this line asks for.
    #[must_use]
    pub fn of(self, line: &Line<'_>) -> u64 {
        match self {
            Cost::Permits(permits) => permits,
            Cost::Bytes => line.bytes,
        }
    }
}

#[cfg(test)]
mod tests;
