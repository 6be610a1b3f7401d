//! Names of keys on the server.

use sha1_smol::Sha1;
use sluicegate_policy::{
    AddressPrefix, ConnectError, KeyField, KeyPart, LimiterPolicy, Named, RedisStore,
};

use crate::KeySpace;

/// The longest key that is written as it is; of a longer one, its SHA-1 is.
const MAX_PLAIN_KEY: usize = 150;

/// Names of the keys of a policy, before they are escaped.
pub(super) enum KeyNames {
    /// One name, for a limiter of all callers.
    Global,
    /// The word for what a key is, and then the key.
    Labelled(String),
}

impl KeyNames {
    /// Returns the names of keys that are made of `parts`.
    pub(super) fn new(parts: &[KeyPart]) -> KeyNames {
        if parts == [KeyField::All] { KeyNames::Global } else { KeyNames::Labelled(label(parts)) }
    }

    /// Returns the name of a key.
    pub(super) fn name(&self, key: &str) -> String {
        match self {
            KeyNames::Global => "global".to_owned(),
            KeyNames::Labelled(label) if key.len() <= MAX_PLAIN_KEY => format!("{label}:{key}"),
            // No other key is written like that: a label has no such sign at its end.
            KeyNames::Labelled(label) => format!("{label}#:{}", Sha1::from(key).digest()),
        }
    }
}

/// Returns the names of a limiter's keys: the prefix and its name, or the SHA-1 of a name that is too long.
///
/// No name has a colon, so another prefix and another name are not the same together.
pub(super) fn key_space(
    store: &RedisStore,
    policy: &LimiterPolicy,
) -> Result<KeySpace, ConnectError> {
    let name = policy.name.replace('%', "%25").replace(':', "%3a");
    let plain = KeySpace::new(&format!("{}:{name}", store.prefix));
    let digest = || Sha1::from(&policy.name).digest();
    plain
        .or_else(|_| KeySpace::new(&format!("{}:#{}", store.prefix, digest())))
        // A client's part of a key is at most 150 bytes before it is escaped; the rest is the policy's.
        .map(|keys| keys.with_max_key(usize::MAX))
        .map_err(|error| ConnectError(format!("`store.prefix`: {error}")))
}

/// Returns the word for what a key is.
fn label(parts: &[KeyPart]) -> String {
    let word = |part: &KeyPart| match part {
        KeyPart::Field(KeyField::Client, _) => "ip".to_owned(),
        KeyPart::Client(AddressPrefix { ipv4, ipv6 }) => format!("ip/{ipv4}/{ipv6}"),
        KeyPart::Field(field, _) => match field {
            KeyField::Method => "method".to_owned(),
            KeyField::Status => "status".to_owned(),
            KeyField::StatusClass => "status_class".to_owned(),
            KeyField::User => "user".to_owned(),
            KeyField::Referer => "referer".to_owned(),
            KeyField::Agent => "agent".to_owned(),
            KeyField::All => "all".to_owned(),
            _ => "path".to_owned(),
        },
        KeyPart::Named(Named::Header(name) | Named::Column(name), _) => name.to_lowercase(),
        KeyPart::Templates(..) | KeyPart::Segments(_) => "path".to_owned(),
    };
    parts.iter().map(word).collect::<Vec<_>>().join("+")
}
