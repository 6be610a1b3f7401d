//! Bounds the length of a key.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};

/// Replaces long keys by a hash, so that a key takes little memory whatever a client sends.
///
/// The hash has 128 bits, and is keyed by secrets of this value: nobody can find two keys that share one, or a short
/// key that is the hash of a long one. So a long key has another hash in another process.
#[derive(Debug, Default)]
pub(crate) struct BoundedKeys {
    secrets: [RandomState; 2],
}

impl BoundedKeys {
    /// Returns `key`, or a text of 33 bytes that stands for it if it has more than `most`.
    pub(crate) fn bound<'k>(&self, key: Cow<'k, [u8]>, most: usize) -> Cow<'k, [u8]> {
        if key.len() <= most {
            return key;
        }
        let mut text = String::from("#");
        for secret in &self.secrets {
            // Writing to a text does not fail.
            let _ = write!(text, "{:016x}", secret.hash_one(&key));
        }
        Cow::Owned(text.into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_key_is_replaced_by_a_hash_that_is_its_own() {
        let keys = BoundedKeys::default();
        let bound = |key: &str| keys.bound(Cow::Borrowed(key.as_bytes()), 64).into_owned();
        assert_eq!(bound(&"a".repeat(64)), "a".repeat(64).into_bytes());
        let (one, other) = (bound(&"a".repeat(65)), bound(&"a".repeat(66)));
        assert_eq!((one.len(), other.len()), (33, 33));
        assert_ne!(one, other);
        assert_eq!(one, bound(&"a".repeat(65)));
        let elsewhere = BoundedKeys::default().bound(Cow::Owned(vec![b'a'; 65]), 64).into_owned();
        assert_ne!(one, elsewhere);
    }
}
