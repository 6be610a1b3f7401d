//! The place of a key: which shard, and where in that.

use crate::bits::Field;
use crate::keyed::exact::slots::GroupHome;

/// Number of shards. A shard is locked to insert a key, while the others stay free; and
/// growing one takes one part in `SHARDS` of the time to grow the whole. (Two under loom, for
/// which each lock adds to the states to explore.)
pub(super) const SHARDS: usize = 1 << SHARD_BITS;
const SHARD_BITS: u32 = if cfg!(sluicegate_loom) { 1 } else { 7 };

// The place of a key, taken from the top of its hash. The hash is multiplied first, because
// the hasher may be a weak one.
const HOME: Field = Field::low(64 - SHARD_BITS - 32).then(32);
const SHARD: Field = HOME.then(SHARD_BITS);
const _: () = assert!(SHARD.end() == u64::BITS);

/// The place of a key: its shard, and its home in the shard's table.
#[derive(Clone, Copy, Debug)]
pub(in crate::keyed::exact) struct KeyPlace {
    pub(super) shard: usize,
    pub(super) home: GroupHome,
}

impl KeyPlace {
    #[inline]
    pub(in crate::keyed::exact) fn of_hash(hash: u64) -> KeyPlace {
        let mixed = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        KeyPlace { shard: SHARD.get(mixed) as usize, home: GroupHome::new(HOME.get(mixed) as u32) }
    }
}
