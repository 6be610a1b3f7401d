//! The lines that a key may be in: the one that its hash names, and one other. No atomics here.
//!
//! Each of a key's two lines gives the other, together with the fingerprint:
//!
//! ```text
//! home + other = sum(fingerprint)   (modulo the number of lines)
//! ```
//!
//! So two keys with one fingerprint that share one line share both, and are one key to the table.
//! Otherwise one of them could be charged in a line of the other's and once more in one of its own.
//! The number of lines need not be a power of two. (After Fan, Andersen, Kaminsky and Mitzenmacher,
//! "Cuckoo Filter: Practically Better Than Bloom", `CoNEXT` 2014, where it is an exclusive or, and
//! the number must be a power of two.)

use super::key_word::Fingerprint;

/// The home and the fingerprint of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyHome {
    /// The line that is searched first.
    pub(super) home: usize,
    pub(super) fingerprint: Fingerprint,
}

impl KeyHome {
    /// Returns the home of a key with `hash`, in a table of `lines` lines.
    #[inline]
    pub(super) fn of_hash(hash: u64, lines: usize) -> KeyHome {
        // The low bits are for the fingerprint, the high ones for the line. A hash that is poor in
        // either is rich in the other: each goes into both.
        let mixed = (hash ^ (hash >> 32)).wrapping_mul(ODD);
        let mixed = mixed ^ (mixed >> 32);
        KeyHome { home: scale(mixed, lines), fingerprint: Fingerprint::of_hash(mixed) }
    }

    /// Returns the other line of the two; for a few fingerprints it is the same.
    #[inline]
    pub(super) fn other(self, lines: usize) -> usize {
        let sum = scale(u64::from(self.fingerprint.get()).wrapping_mul(ODD), lines);
        if sum >= self.home { sum - self.home } else { sum + lines - self.home }
    }
}

/// 2^64 divided by the golden ratio: multiplying by it spreads a number over all bits.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Scales `hash`, as a fraction of 2^64, to `lines`.
#[inline]
fn scale(hash: u64, lines: usize) -> usize {
    ((u128::from(hash) * lines as u128) >> u64::BITS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_line_names_the_other() {
        for lines in [1, 2, 3, 7, 64, 1_000, 1 << 20] {
            for hash in (0..2_000_u64).map(|n| n.wrapping_mul(0x1234_5678_9abc_def1)) {
                let place = KeyHome::of_hash(hash, lines);
                let other = KeyHome { home: place.other(lines), ..place };
                assert!(place.home < lines && other.home < lines);
                assert_eq!(other.other(lines), place.home);
            }
        }
    }

    #[test]
    fn keys_in_order_fill_lines_and_prints_alike() {
        let lines = 512;
        let mut homes = vec![0_u32; lines];
        let mut others = vec![0_u32; lines];
        let mut prints = std::collections::HashSet::new();
        for hash in 0..64 * lines as u64 {
            let place = KeyHome::of_hash(hash, lines);
            homes[place.home] += 1;
            others[place.other(lines)] += 1;
            prints.insert(place.fingerprint.get());
        }
        assert!(homes.iter().chain(&others).all(|&keys| (16..=160).contains(&keys)));
        assert!(prints.len() > 63 * lines, "{}", prints.len());
    }
}
