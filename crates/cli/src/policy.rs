//! Policies: named limiters, what each keys by, and which lines it judges.

mod check;
mod kind;
mod problem;
mod schema;
mod store;
mod words;

pub use self::kind::{BoxedLimiter, Kind, Unbuildable};
pub use self::problem::PolicyError;
pub use self::store::{Exact, Room, Size, Store, Table, exact};
use crate::log::{Field, Line};

/// The policy that is used when none is given.
pub const BUNDLED: &str = include_str!("../sample/policy.toml");

/// A policy file, checked.
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
    /// Lines that agree in all of these fields share one limiter.
    pub key: Vec<Field>,
    /// The algorithm and its numbers.
    pub kind: Kind,
    /// Which lines it judges.
    pub filter: Filter,
    /// What a line costs.
    pub cost: Cost,
    /// Where its keys are kept.
    pub store: Store,
}

/// Which lines a limiter judges. An empty list lets every line through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Methods, in capitals.
    pub method: Vec<String>,
    /// Beginnings of paths.
    pub path_prefix: Vec<String>,
    /// As in `4xx`.
    pub status_class: Vec<String>,
}

/// How many permits a line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Always the same number.
    Permits(u64),
    /// As many as the response has bytes.
    Bytes,
}

impl Policy {
    /// Checks the text of a policy. `path` is what errors call it.
    ///
    /// # Errors
    ///
    /// [`PolicyError`], which shows the place.
    pub fn parse(path: &str, text: &str) -> Result<Policy, PolicyError> {
        check::policy(text).map_err(|problem| PolicyError::new(path, text, problem))
    }
}

impl Filter {
    /// Whether the limiter judges this line.
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
    /// The permits that this line asks for.
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
