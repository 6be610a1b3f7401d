//! Names of keys on the server.

use std::fmt::Write as _;

use crate::error::KeyError;

/// The names under which limiters are kept on the server.
///
/// A limiter of the key `ada` in the space `login` is kept as `login:tb:{ada}`: the prefix, the kind of the
/// limit with what its state depends on, and the key. The braces make the key a hash tag, so that in a cluster
/// all limits of one key are on one node.
///
/// Control characters, spaces, braces and `%` are written as `%` and two digits, and the empty key as `%` alone, so keys
/// that differ have names that differ, and no key can leave its braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySpace {
    prefix: String,
    max_key: usize,
}

impl KeySpace {
    /// The longest prefix, in bytes after escaping.
    pub const MAX_PREFIX: usize = 128;

    /// The longest key by default, in bytes after escaping.
    pub const MAX_KEY: usize = 512;

    /// Creates a space of keys with `prefix`, such as `app:login`. Limits of other rates for the same keys
    /// need other prefixes.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if the prefix is longer than [`MAX_PREFIX`](KeySpace::MAX_PREFIX).
    pub fn new(prefix: &str) -> Result<KeySpace, KeyError> {
        let mut escaped = String::new();
        escape(prefix, &mut escaped);
        check("prefix", escaped.len(), KeySpace::MAX_PREFIX)?;
        Ok(KeySpace { prefix: escaped, max_key: KeySpace::MAX_KEY })
    }

    /// Returns the space with keys of up to `max_key` bytes after escaping.
    #[must_use]
    pub fn with_max_key(self, max_key: usize) -> KeySpace {
        KeySpace { max_key, ..self }
    }

    /// Returns whether keys have the same names in `other`.
    pub(crate) fn shares_names(&self, other: &KeySpace) -> bool {
        self.prefix == other.prefix
    }

    /// Returns the name of a limit of a kind that has one state for all keys. Its hash tag is the prefix, and names that
    /// begin with it have that tag too.
    pub(crate) fn name_of_all(&self, kind: &str) -> String {
        // Empty braces are no hash tag.
        let tag = if self.prefix.is_empty() { "%" } else { &self.prefix };
        format!("{}:{kind}:{{{tag}}}", self.prefix)
    }

    /// Returns the name of `key` behind that of all.
    pub(crate) fn name_behind(&self, all: &str, key: &str) -> Result<String, KeyError> {
        // No more than that is written of a key that is far too long.
        check("key", key.len(), self.max_key)?;
        let mut name = String::with_capacity(all.len() + key.len());
        name.push_str(all);
        escape(key, &mut name);
        check("key", name.len() - all.len(), self.max_key)?;
        Ok(name)
    }

    /// Returns the name of `key` for limits of a kind.
    pub(crate) fn name(&self, kind: &str, key: &str) -> Result<String, KeyError> {
        let mut name = String::with_capacity(self.prefix.len() + kind.len() + key.len() + 4);
        name.push_str(&self.prefix);
        name.push(':');
        name.push_str(kind);
        name.push_str(":{");
        let before = name.len();
        // No more than that is written of a key that is far too long.
        check("key", key.len(), self.max_key)?;
        escape(key, &mut name);
        if key.is_empty() {
            // Empty braces are no hash tag.
            name.push('%');
        }
        check("key", name.len() - before, self.max_key)?;
        name.push('}');
        Ok(name)
    }
}

fn check(what: &'static str, length: usize, most: usize) -> Result<(), KeyError> {
    if length > most { Err(KeyError { what, length, most }) } else { Ok(()) }
}

fn escape(text: &str, escaped: &mut String) {
    for character in text.chars() {
        if character.is_control() || matches!(character, ' ' | '{' | '}' | '%') {
            let mut bytes = [0; 4];
            for byte in character.encode_utf8(&mut bytes).bytes() {
                // Writing to a string does not fail.
                let _ = write!(escaped, "%{byte:02x}");
            }
        } else {
            escaped.push(character);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(key: &str) -> String {
        KeySpace::new("app").unwrap().name("tb", key).unwrap()
    }

    #[test]
    fn a_name_is_the_prefix_the_kind_and_the_key_as_hash_tag() {
        let names = ["user:7", "ip:2001:db8::1", "api:/v1/items:7", "global:api", ""].map(name);
        let expected = [
            "app:tb:{user:7}",
            "app:tb:{ip:2001:db8::1}",
            "app:tb:{api:/v1/items:7}",
            "app:tb:{global:api}",
            "app:tb:{%}",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn no_key_leaves_its_braces_and_different_keys_have_different_names() {
        let keys = ["}", "{", "%", "%7d", "a}b{c", " ", "\n", "\u{85}", "é", "e\u{301}"];
        let names = keys.map(name);
        for (index, name) in names.iter().enumerate() {
            assert_eq!(name.matches(['{', '}']).count(), 2, "{name}");
            assert!(name.ends_with('}') && !names[..index].contains(name), "{name}");
        }
        assert_eq!(name("a}b{c %\u{85}"), "app:tb:{a%7db%7bc%20%25%c2%85}");
    }

    #[test]
    fn names_of_one_limit_for_all_keys_have_one_hash_tag() {
        let names = |prefix| {
            let space = KeySpace::new(prefix).unwrap().with_max_key(4);
            let all = space.name_of_all("sh");
            assert!(space.name_behind(&all, "12345").is_err());
            (space.name_behind(&format!("{all}:0:"), "a}").unwrap(), all)
        };
        assert_eq!(names("app"), ("app:sh:{app}:0:a%7d".into(), "app:sh:{app}".into()));
        assert_eq!(names(""), (":sh:{%}:0:a%7d".into(), ":sh:{%}".into()));
    }

    #[test]
    fn what_is_too_long_is_an_error_that_says_so() {
        let space = KeySpace::new("app").unwrap().with_max_key(6);
        assert!(space.name("tb", "123456").is_ok());
        let text = "key has 7 bytes: must be at most 6; take a digest of it instead";
        assert_eq!(space.name("tb", "1234567").unwrap_err().to_string(), text);
        assert_eq!(space.name("tb", "}}}").unwrap_err().length, 9);
        let long = "p".repeat(KeySpace::MAX_PREFIX + 1);
        assert_eq!(KeySpace::new(&long).unwrap_err().what, "prefix");
    }
}
