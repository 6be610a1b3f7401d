//! The memory of stores, as `bytes --json` prints it.

use serde::Deserialize;

/// The memory of one store.
#[derive(Debug, Deserialize)]
pub(super) struct Bytes {
    limiter: String,
    key: String,
    keys: u64,
    asked: u64,
}

impl Bytes {
    /// Reads one from each line.
    pub(super) fn parse_all(text: &str) -> serde_json::Result<Vec<Bytes>> {
        text.lines().map(serde_json::from_str).collect()
    }

    /// Returns the bytes per key of a store with `keys` keys of that kind, if they were counted.
    #[expect(clippy::cast_precision_loss, reason = "they are shown to one digit")]
    pub(super) fn of(all: &[Bytes], store: &str, key: &str, keys: u64) -> Option<f64> {
        // A store that is asked for several keys at once is the same store.
        let store = store.trim_end_matches("_batch");
        let is_it =
            |bytes: &&Bytes| bytes.limiter == store && bytes.key == key && bytes.keys == keys;
        all.iter().find(is_it).map(|bytes| bytes.asked as f64 / keys as f64)
    }
}
