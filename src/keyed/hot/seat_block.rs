//! The seats of one place, used by the callers of one thread.

use crossbeam_utils::CachePadded;

use crate::decision::denial_cache::DenialCache;

use super::seat::Seat;

/// Number of seats of a place. Each key can sit in one of them only: of two hot keys that want the
/// same seat, the hotter one has it.
const SEATS: usize = 1 << SEAT_BITS;
const SEAT_BITS: u32 = if cfg!(sluicegate_loom) { 0 } else { 3 };

/// The seats of one place, on cache lines that other places do not touch.
#[derive(Debug)]
pub(super) struct SeatBlock {
    seats: [CachePadded<Seat>; SEATS],
    /// The last denial for the key of each seat.
    memories: [CachePadded<DenialCache>; SEATS],
}

impl SeatBlock {
    pub(super) fn new() -> SeatBlock {
        SeatBlock {
            seats: core::array::from_fn(|_| CachePadded::new(Seat::new())),
            memories: core::array::from_fn(|_| CachePadded::new(DenialCache::new())),
        }
    }

    /// Returns the seat that the key with `hash` may sit in.
    #[inline(always)]
    pub(super) fn seat(&self, hash: u64) -> &Seat {
        &self.seats[index(hash)]
    }

    pub(super) fn denials(&self, hash: u64) -> &DenialCache {
        &self.memories[index(hash)]
    }

    pub(super) fn seats(&self) -> impl Iterator<Item = &Seat> {
        self.seats.iter().map(|seat| &**seat)
    }
}

/// Returns the index of a seat. The hash is multiplied first, as the hasher may be a weak one.
#[inline(always)]
fn index(hash: u64) -> usize {
    (hash.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(SEAT_BITS) as usize) % SEATS
}
