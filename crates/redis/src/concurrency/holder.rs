//! Names of holders, of which no two are the same on all machines.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns a name that no other holder has: 128 random bits, the process, and a number. A process that has been
/// forked has the same bits and numbers as the other.
pub(super) fn new() -> String {
    static RANDOM: OnceLock<String> = OnceLock::new();
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let random = RANDOM.get_or_init(|| {
        // Each has random keys of its own, for which the standard library asks the system.
        let [high, low] = [(); 2].map(|()| RandomState::new().hash_one(std::process::id()));
        format!("{high:016x}{low:016x}")
    });
    format!("{random}-{:x}-{:x}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_have_names_of_their_own() {
        let names: std::collections::HashSet<_> = (0..1_000).map(|_| new()).collect();
        assert_eq!(names.len(), 1_000);
        assert!(names.iter().all(|name| name.len() > 32 && !name.contains(':')));
    }
}
