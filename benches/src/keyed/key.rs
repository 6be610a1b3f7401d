//! Keys: numbers and strings, told apart by an index.

use std::borrow::Borrow;
use std::hash::Hash;

/// A kind of key. A store keeps it as `Self`, and looks it up by [`Asked`](Key::Asked).
pub trait Key: Borrow<Self::Asked> + Clone + Eq + Hash + Send + Sync + 'static {
    /// The borrowed form that a store is asked with.
    type Asked: ToOwned<Owned = Self> + Eq + Hash + Send + Sync + ?Sized + 'static;

    /// The name in reports.
    const NAME: &'static str;

    /// The key with this index. No two have the same.
    #[must_use]
    fn at(index: u64) -> Self;
}

impl Key for u64 {
    type Asked = u64;
    const NAME: &'static str = "u64";

    fn at(index: u64) -> u64 {
        scattered(index)
    }
}

/// 24 bytes, too long to be stored in place of its own pointer.
impl Key for String {
    type Asked = str;
    const NAME: &'static str = "string";

    fn at(index: u64) -> String {
        format!("session:{:016x}", scattered(index))
    }
}

/// Returns the index with its bits spread over the word, so that the keys of neighbours have
/// nothing in common for any store. Each step can be undone, so no two indices give the
/// same key.
fn scattered(index: u64) -> u64 {
    let mut bits = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_keys_are_the_same() {
        assert_eq!((0..50_000).map(u64::at).collect::<HashSet<_>>().len(), 50_000);
        assert_eq!((0..50_000).map(String::at).collect::<HashSet<_>>().len(), 50_000);
    }

    #[test]
    fn a_string_has_24_bytes() {
        assert!([0, 1, 1 << 40].into_iter().all(|index| String::at(index).len() == 24));
    }
}
