//! Memory that the keys of a limiter take, estimated.

use crate::policy::{Kind, Room, Rule, Size};

/// Bytes that an entry of a store takes beside its limiter: its part of the hash table, a key of some
/// bytes, and what the allocator adds.
const ENTRY_BYTES: u64 = 112;

/// Bytes that the allocator adds to a limiter, most of which are on a line of their own.
const ALIGNED_BYTES: u64 = 128;

/// Bytes of a bucket in a store of buckets, with its key.
/// Measured beside a log that is read: 88 of its own, and 24 of gaps in the heap.
const BUCKET_BYTES: u64 = 112;

/// Bytes of the clock of a queue.
const CLOCK_BYTES: u64 = 48;

/// Bytes of a table for each of its keys.
const TABLE_KEY_BYTES: u64 = 16;

/// Returns about the bytes that a key takes, in a store with a limiter for each.
pub(crate) fn key_bytes(rule: &Rule, is_shaped: bool) -> u64 {
    match &rule.kind {
        kind if kind.is_common() => BUCKET_BYTES,
        Kind::TokenBucket { .. }
            if !is_shaped && rule.kind.is_new_when_full() && rule.overrides.is_empty() =>
        {
            BUCKET_BYTES
        }
        kind => limiter_bytes(kind).saturating_add(if is_shaped { CLOCK_BYTES } else { 0 }),
    }
}

/// Returns about the bytes that a key with a limiter of its own takes.
pub(crate) fn limiter_bytes(kind: &Kind) -> u64 {
    // Those of a sliding window are small, and not padded.
    let is_compact = matches!(kind, Kind::SlidingWindow { .. });
    let aligned = if is_compact { 0 } else { ALIGNED_BYTES };
    (ENTRY_BYTES + aligned).saturating_add(kind.own_bytes())
}

/// Returns about the bytes that a key of a level takes.
pub(super) fn kind_bytes(kind: &Kind) -> u64 {
    (ENTRY_BYTES + ALIGNED_BYTES).saturating_add(kind.own_bytes())
}

/// Returns about the bytes that a limiter takes before its first key.
pub(super) fn fixed_bytes(rule: &Rule) -> u64 {
    match rule.store.room {
        Room::Table(Size::Memory(bytes)) => bytes as u64,
        Room::Table(Size::Keys(keys)) => (keys as u64).saturating_mul(TABLE_KEY_BYTES),
        Room::Exact { .. } => 0,
    }
}

/// Returns the most keys that a store has space for, if it has a bound.
pub(super) fn most_keys(rule: &Rule) -> Option<u64> {
    match rule.store.room {
        Room::Exact { max_keys } => max_keys.map(|keys| keys as u64),
        Room::Table(_) => Some(0),
    }
}
