//! The parts of a request that policies look at.

use std::borrow::Cow;

use crate::key_field::KeyField;
use crate::paths::normal_path;

/// The parts of a request, or of a line in a log, that [keys](crate::KeyPart),
/// [filters](crate::Filter) and [costs](crate::Cost) are made of.
///
/// A program implements it for its own requests, and asks [`LimiterPolicy::subject`](crate::LimiterPolicy::subject) what a policy
/// makes of them. `None` is a part that the request does not have; an empty value counts as absent.
///
/// # Examples
///
/// ```
/// use sluicegate_policy::{KeyField, Policies, RequestFields, Subject};
///
/// struct Call { address: &'static str, api_key: Option<&'static str> }
///
/// impl RequestFields for Call {
///     fn field(&self, field: KeyField) -> Option<&[u8]> {
///         (field == KeyField::Client).then_some(self.address.as_bytes())
///     }
///     fn header(&self, name: &str) -> Option<&[u8]> {
///         self.api_key.filter(|_| name.eq_ignore_ascii_case("x-api-key")).map(str::as_bytes)
///     }
/// }
///
/// let policies = Policies::from_toml("p.toml", r#"
/// [limiters.calls]
/// key = { header = "x-api-key" }
/// except = { client = "10.0.0.0/8" }
/// policy = "fixed_window"
/// limit = 100
/// interval = "1 minute"
/// "#)?;
/// let calls = policies.get("calls").unwrap();
/// let mut key = Vec::new();
/// let ada = Call { address: "192.0.2.7", api_key: Some("ada") };
/// assert_eq!(calls.subject(&ada, &mut key), Subject::Key { permits: 1 });
/// assert_eq!(key, b"ada");
/// let nobody = Call { address: "192.0.2.7", api_key: None };
/// assert_eq!(calls.subject(&nobody, &mut key), Subject::Denied);
/// let own = Call { address: "10.1.2.3", api_key: None };
/// assert_eq!(calls.subject(&own, &mut key), Subject::NotJudged);
/// # Ok::<(), sluicegate_policy::PolicyErrors>(())
/// ```
pub trait RequestFields {
    /// Returns one of the fields that every request may have. A path has no query, and may be spelled in any way: policies
    /// look at [its one spelling](normal_path). [`KeyField::StatusClass`] and
    /// [`KeyField::All`] are never asked for.
    fn field(&self, field: KeyField) -> Option<&[u8]>;

    /// Returns a header by its name, whose case makes no difference.
    fn header(&self, name: &str) -> Option<&[u8]> {
        let _ = name;
        None
    }

    /// Returns a value by its exact name: a column of a log, or what a program names so.
    fn column(&self, name: &str) -> Option<&[u8]> {
        let _ = name;
        None
    }

    /// Returns the size of the response's body in bytes.
    fn bytes(&self) -> Option<u64> {
        None
    }
}

/// A value of a request that has a name of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// A header; the case of its name makes no difference.
    Header(String),
    /// A column of a log, or a value that a program names so.
    Column(String),
}

impl Named {
    /// Returns the value of a request; `None` if it is absent or empty.
    #[must_use]
    pub fn of<'r>(&self, request: &'r impl RequestFields) -> Option<&'r [u8]> {
        let value = match self {
            Named::Header(name) => request.header(name),
            Named::Column(name) => request.column(name),
        };
        value.filter(|value| !value.is_empty())
    }
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Named::Header(name) => write!(f, "header {}", crate::escaped(name)),
            Named::Column(name) => write!(f, "column {}", crate::escaped(name)),
        }
    }
}

/// Returns the path of a request in [its one spelling](normal_path); `None` if it is absent or empty.
pub(crate) fn path(request: &impl RequestFields) -> Option<Cow<'_, [u8]>> {
    field(request, KeyField::Path).map(normal_path)
}

/// Returns the field of a request; `None` if it is absent or empty.
pub(crate) fn field(request: &impl RequestFields, field: KeyField) -> Option<&[u8]> {
    match field {
        KeyField::All => Some(b"all"),
        KeyField::StatusClass => match request.field(KeyField::Status)?.first()? {
            b'1' => Some(b"1xx"),
            b'2' => Some(b"2xx"),
            b'3' => Some(b"3xx"),
            b'4' => Some(b"4xx"),
            b'5' => Some(b"5xx"),
            _ => None,
        },
        field => request.field(field).filter(|value| !value.is_empty()),
    }
}
