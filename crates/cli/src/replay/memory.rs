//! Memory that the keys of a limiter take, estimated.

use crate::policy::{Kind, Room, Rule, Size};

/// Bytes that an entry of a store takes beside its limiter and its log.
const ENTRY_BYTES: u64 = 128;

/// Bytes of a limiter of any kind, without its ring or log.
const LIMITER_BYTES: u64 = 256;

/// Bytes of a table for each of its keys.
const TABLE_KEY_BYTES: u64 = 16;

/// Returns about the bytes that a key takes, in a store with a limiter for each.
pub(crate) fn key_bytes(rule: &Rule, is_shaped: bool) -> u64 {
    match &rule.kind {
        Kind::TokenBucket { .. } if rule.kind.is_new_when_full() && !is_shaped => ENTRY_BYTES,
        kind if is_shaped => 800 + ring_bytes(kind).saturating_add(kind.log_bytes()),
        kind => ENTRY_BYTES + limiter_bytes(kind).saturating_add(kind.log_bytes()),
    }
}

fn limiter_bytes(kind: &Kind) -> u64 {
    let parts = match kind {
        Kind::All(parts) => parts.iter().map(|part| LIMITER_BYTES + ring_bytes(part)).sum(),
        _ => ring_bytes(kind),
    };
    LIMITER_BYTES + parts
}

/// Returns the bytes of the rings of a limiter's windows.
fn ring_bytes(kind: &Kind) -> u64 {
    let ring = |slots: u32| 8 * (u64::from(slots) + 2).next_power_of_two();
    match kind {
        Kind::SlidingWindow { slots, .. } => ring(*slots),
        // The slots of a window are a power of two of ticks, so there may be twice as many.
        Kind::MultiWindow { limits, slots } => 2 * ring(*slots) * limits.len() as u64,
        Kind::All(parts) => parts.iter().map(ring_bytes).sum(),
        _ => 0,
    }
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
