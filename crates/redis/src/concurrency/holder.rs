//! Names of holders, of which no two are the same on all machines.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns a name that no other holder has: 128 random bits of this process, and a number.
pub(super) fn new() -> String {
    static PROCESS: OnceLock<String> = OnceLock::new();
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let process = PROCESS.get_or_init(|| {
        // Each has random keys of its own, for which the standard library asks the system.
        let [high, low] = [(); 2].map(|()| RandomState::new().hash_one(std::process::id()));
        format!("{high:016x}{low:016x}")
    });
    format!("{process}-{:x}", NUMBER.fetch_add(1, Ordering::Relaxed))
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
