//! The log: what limiters share that remember each request.
//!
//! A [`EntryRing`] is a ring of entries of one word each, and a head that says where the
//! next one goes. An entry bears the parity of its lap around the ring, so it can
//! be seen whether the place at the head has been written. To admit is one CAS of
//! that place; the head follows, moved on by whoever finds it behind.
//!
//! ```text
//! admit   iff enough of the past has left the window, by CAS: entry[head]
//! ```
//!
//! **Lemma.** While the place at the head is as it was seen, the log is as it was
//! seen.
//!
//! *Proof.* Entries are written one after the other, each at the head, over the one
//! of a lap ago. An entry is dated at least a tick after the one it is written over,
//! so the values of a place never come back. (Without resets that is so anyway: the
//! entry of a lap ago has left the window.) ∎
//!
//! So a CAS that succeeds was decided on the log as it is, and a denial is right if
//! the place at the head was looked at once more. The theorems are with the logs.
//!
//! The time of an entry is at least that of the one before it. Time is the clock's
//! and a shift, which is raised if the last entry is further ahead of the clock
//! than threads' clocks are apart: the clock was set back, and the log's time goes
//! on from where it stood. `healed()` counts it.
//!
//! Progress: lock-free. Memory: 384 bytes, the clock included, and 8 for each entry,
//! rounded up to a power of two. Cost: an admission 2 CAS and 11 loads, those of the
//! search that tells how many permits remain (2 if nothing has left the window since the
//! last admission, and something had before; the logarithm of the entries otherwise), and a
//! store if something has left; a denial 11 loads, those of the search, and no write.

mod dates;
mod entry_ring;
pub(crate) mod unit;
pub(crate) mod weighted;

use crate::config::error::ConfigError;

/// The most entries: 128 MiB of them.
const MAX_PLACES: u64 = 1 << 24;

/// # Errors
///
/// [`ConfigError::Capacity`] if `capacity` is not from `least` to `most`.
const fn check_capacity(capacity: u64, least: u64, most: u64) -> Result<(), ConfigError> {
    if capacity < least || capacity > most {
        return Err(ConfigError::Capacity { capacity, least, most });
    }
    Ok(())
}
