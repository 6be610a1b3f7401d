//! A limiter as a policy describes it.

use std::time::Duration;

use crate::{Kind, Store};

/// One named limiter of a policy: what it limits, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimiterPolicy {
    /// The name, from 1 to 200 characters. No two limiters of a policy have the same.
    pub name: String,
    /// Fields of a request; requests that agree in all of them share one limiter. At least one.
    pub key: Vec<KeyField>,
    /// The algorithm and its numbers.
    pub kind: Kind,
    /// The requests that it judges.
    pub filter: Filter,
    /// The permits that a request asks for.
    pub cost: Cost,
    /// The store of its keys.
    pub store: Store,
    /// The longest that a request waits for its permits; `None` if it is refused at once.
    pub wait: Option<Duration>,
    /// True if it only counts what it would deny.
    pub shadow: bool,
    /// Keys that have numbers of their own, sorted by key. No two have the same key.
    pub overrides: Vec<Override>,
}

/// The numbers of a single key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The key, as the one field of [`LimiterPolicy::key`] has it.
    pub key: String,
    /// The same algorithm as the limiter's, with other numbers.
    pub kind: Kind,
}

/// A field of a request that keys can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// The requests that a limiter judges. An empty list lets every request through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Methods, in upper case.
    pub method: Vec<String>,
    /// Beginnings of paths.
    pub path_prefix: Vec<String>,
    /// Classes of statuses, such as `4xx`.
    pub status_class: Vec<String>,
}

/// The number of permits that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Always the same number.
    Permits(u64),
    /// One permit for each byte of the response.
    Bytes,
}

impl LimiterPolicy {
    /// Returns the numbers that hold for a key: those of its override, or the limiter's own.
    ///
    /// Takes as many steps as a search in the sorted [`overrides`](LimiterPolicy::overrides).
    #[must_use]
    pub fn kind_of(&self, key: &[u8]) -> &Kind {
        let place = self.overrides.binary_search_by(|own| own.key.as_bytes().cmp(key));
        place.map_or(&self.kind, |place| &self.overrides[place].kind)
    }
}

impl KeyField {
    const NAMES: [(&'static str, KeyField); 9] = [
        ("client", KeyField::Client),
        ("path", KeyField::Path),
        ("method", KeyField::Method),
        ("status", KeyField::Status),
        ("status_class", KeyField::StatusClass),
        ("user", KeyField::User),
        ("referer", KeyField::Referer),
        ("agent", KeyField::Agent),
        ("all", KeyField::All),
    ];

    /// Returns the name that it has in a policy.
    #[must_use]
    pub fn name(self) -> &'static str {
        KeyField::NAMES[self as usize].0
    }

    pub(crate) fn from_name(name: &str) -> Option<KeyField> {
        KeyField::NAMES.into_iter().find(|(own, _)| *own == name).map(|(_, field)| field)
    }
}
