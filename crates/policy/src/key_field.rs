//! The fields that every request may have.

/// A field of a request that keys can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyField {
    /// Address or name of the client: of an IPv6 address the first 64 bits, as [`AddressPrefix::CLIENT`](crate::AddressPrefix::CLIENT) has it.
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

    /// Returns the field of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<KeyField> {
        KeyField::NAMES.into_iter().find(|(own, _)| *own == name).map(|(_, field)| field)
    }
}
