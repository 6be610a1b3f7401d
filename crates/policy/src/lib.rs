//! Policies as data: named limiters, the fields of their keys, and the requests that they judge.

mod check;
mod error_snippet;
mod kind;
mod schema;
mod store;

pub use self::error_snippet::PolicyError;
pub use self::kind::{BoxedLimiter, Kind, Unbuildable};
pub use self::store::{Room, Size, Store};

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
    /// Fields of a request; requests that agree in all of them share one limiter.
    pub key: Vec<KeyField>,
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

/// A field of a request that keys can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyField {
    /// Address or name of the client.
    Client,
    /// Path, without the query.
    Path,
    /// Method.
    Method,
    /// Status of the response.
    Status,
    /// Class of the status, such as `4xx`.
    StatusClass,
    /// The user that the client signed in as.
    User,
    /// The `Referer` header.
    Referer,
    /// The `User-Agent` header.
    Agent,
    /// No field: all requests have one key.
    All,
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

#[cfg(test)]
mod tests;
