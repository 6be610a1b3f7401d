//! The log: the core of the limiters that remember each request.
//!
//! An [`EntryRing`](entry_ring::EntryRing) is a ring of entries of one word each, and a head that
//! says where the next one goes. An entry carries the parity of its lap around the ring, which
//! shows whether the place at the head has been written. An admission is one CAS of that place;
//! then the head advances, moved by any caller that finds it behind.
//!
//! ```text
//! admit   iff enough of the past has left the window, by CAS: entry[head]
//! ```
//!
//! **Lemma.** While the place at the head is unchanged since it was read, so is the
//! log.
//!
//! *Proof.* Entries are written one after the other, each at the head, over the one
//! from a lap ago. An entry is dated at least a tick after the one that it overwrites,
//! so a place never holds the same value again. (Without resets that holds anyway: the
//! entry from a lap ago has left the window.) ∎
//!
//! So a CAS that succeeds was decided on the current log, and a denial is right if
//! the place at the head was checked once more. The theorem is with the log of requests.
//!
//! The time of an entry is at least that of the one before it. The log's time is the
//! clock's plus a shift. The shift is raised if the last entry is further ahead of the
//! clock than threads' clocks can differ: the clock was set back, and the log's time
//! continues from where it stood. `healed()` counts such events.
//!
//! Progress: lock-free. Memory: 384 bytes, the clock included, and 8 for each entry,
//! rounded up to a power of two. Cost: an admission 2 CAS and 11 loads, those of the
//! search for the remaining permits (2 if nothing has left the window since the
//! last admission, and something had before; the logarithm of the entries otherwise), and a
//! store if something has left; a denial 11 loads, those of the search, and no write.

pub(crate) mod count;
mod dates;
mod entry_ring;
pub(crate) mod requests;

/// Maximum number of entries: 128 MiB of them.
const MAX_PLACES: u64 = 1 << 24;
