//! The bound on the bytes of a key that a store keeps.

use std::fmt::Write;

use hmac_sha256::Hash;
use sluicegate_policy::MAX_KEY_BYTES;

/// The separator of the parts of a key.
const SEPARATOR: u8 = b'\n';

/// The beginning of a hash.
const MARK: &str = "sha256:";

/// Bytes of a hash as text.
const HASH_BYTES: usize = MARK.len() + 2 * 32;

/// Shortens a key of more than [`MAX_KEY_BYTES`], which no policy can name, so that a caller who sends long keys takes no more memory than others.
///
/// A part that is longer than its hash as text becomes `sha256:` and the SHA-256 of it, so a key keeps the number of its parts.
/// Keys that differ stay different: nobody can find two with one hash. All processes have the same hash for a key, also
/// those that share a server.
pub(crate) fn bound(key: &mut Vec<u8>) {
    if key.len() <= MAX_KEY_BYTES {
        return;
    }
    let mut bounded = Vec::with_capacity(MAX_KEY_BYTES);
    for (place, part) in key.split(|byte| *byte == SEPARATOR).enumerate() {
        if place > 0 {
            bounded.push(SEPARATOR);
        }
        if part.len() > HASH_BYTES {
            bounded.extend_from_slice(hash(part).as_bytes());
        } else {
            bounded.extend_from_slice(part);
        }
    }
    *key = bounded;
}

/// Replaces bytes by their hash if there are more than `most`.
pub(crate) fn bound_bytes(bytes: &mut Vec<u8>, most: usize) {
    if bytes.len() > most {
        *bytes = hash(bytes).into_bytes();
    }
}

/// Shortens a text, as [`bound`] does a key of one part.
pub(crate) fn bound_text(text: &mut String) {
    if text.len() > MAX_KEY_BYTES {
        *text = hash(text.as_bytes());
    }
}

fn hash(part: &[u8]) -> String {
    let mut text = String::with_capacity(HASH_BYTES);
    text.push_str(MARK);
    for byte in Hash::hash(part) {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounded(key: &str) -> String {
        let mut key = key.as_bytes().to_vec();
        bound(&mut key);
        String::from_utf8(key).unwrap()
    }

    #[test]
    fn short_keys_are_kept_and_long_parts_are_hashed() {
        let most = "a".repeat(MAX_KEY_BYTES);
        assert_eq!(bounded(&most), most);
        assert_eq!(bounded(""), "");
        let long = "a".repeat(60_000);
        let hash = bounded(&long);
        assert_eq!((hash.len(), &hash[..MARK.len()]), (HASH_BYTES, MARK));
        assert_ne!(hash, bounded(&"a".repeat(60_001)));
        assert_eq!(bounded(&format!("b\n{long}\nc")), format!("b\n{hash}\nc"));
        // Many short parts are as many as the policy has.
        let parts = vec!["x".repeat(HASH_BYTES); 4].join("\n");
        assert_eq!(bounded(&parts), parts);
        let mut text = long.clone();
        bound_text(&mut text);
        assert_eq!(text, hash);
        // What is bounded stays as it is.
        assert_eq!(bounded(&hash), hash);
    }
}
