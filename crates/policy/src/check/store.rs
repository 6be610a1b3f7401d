//! The store of a limiter's keys, and the engine's verdict on its size.

use std::hash::{BuildHasherDefault, DefaultHasher};
use std::ops::Range;
use std::sync::Arc;

use bytesize::ByteSize;
use sluicegate::keyed::WhenFull;
use sluicegate::{ManualClock, Quota, Rate};

use super::given::{Given, whole};
use super::{Checks, messages};
use crate::tree::{Node, Value};
use crate::{Kind, Room, Size, Store};

/// The bytes of the smallest table.
const LINE_BYTES: u64 = 64;

/// The most bytes of a table: as many as processes can address on usual machines of 64 bits.
const MOST_BYTES: u64 = 1 << 47;

/// Larger tables are warned of.
const LARGE_BYTES: u64 = 64 << 30;

/// Returns the number, or the largest that a `usize` holds.
fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Checks<'_> {
    /// Checks that the store can be built for limiters of this kind, and returns it.
    pub(super) fn store(&mut self, given: &Given<'_>, kind: Option<&Kind>) -> Option<Store> {
        if given.get("store").is_some_and(|store| store.table().is_some()) {
            // What is on a server needs no room here: see `redis_store`.
            return Some(Store::default());
        }
        let when_full = match given.get("when_full") {
            None => Some(WhenFull::Deny),
            Some(node) => self.when_full(given, node),
        };
        let room = match given.get("store") {
            Some(store) if store.text() == Some("table") => {
                self.table_size(given, kind, when_full, &store.span).map(Room::Table)
            }
            _ => self.exact(given, kind),
        };
        self.overrides_fit(given, room?);
        Some(Store { room: room?, when_full: when_full? })
    }

    fn exact(&mut self, given: &Given<'_>, kind: Option<&Kind>) -> Option<Room> {
        for field in ["memory", "keys"] {
            if let Some(node) = given.get(field) {
                let label = messages::ONLY_MAX_KEYS;
                let place = node.span.clone();
                self.errors.push(messages::not_of_store(field, place, "exact", label));
            }
        }
        let Some(node) = given.get("max_keys") else { return Some(Room::default()) };
        let max_keys = whole(node)?;
        if max_keys == 0 {
            return self.wrong("max_keys", node, messages::ONE_OR_MORE);
        }
        if let Some(kind) = kind
            && !kind.is_new_when_full()
        {
            let reason = given.get(kept_by(kind)).map(|node| node.span.clone());
            return self.report(messages::keys_are_kept(node.span.clone(), reason));
        }
        Some(Room::Exact { max_keys: Some(size(max_keys)) })
    }

    /// Returns the size of the table that `place` asks for.
    fn table_size(
        &mut self,
        given: &Given<'_>,
        kind: Option<&Kind>,
        when_full: Option<WhenFull>,
        place: &Range<usize>,
    ) -> Option<Size> {
        if let Some(node) = given.get("max_keys") {
            let label = messages::ONLY_MEMORY_OR_KEYS;
            let place = node.span.clone();
            self.errors.push(messages::not_of_store("max_keys", place, "table", label));
        }
        let room = match (given.get("memory"), given.get("keys")) {
            (Some(memory), None) => memory
                .text()
                .and_then(|text| text.trim().parse::<ByteSize>().ok())
                .map(|bytes| Size::Memory(size(bytes.as_u64()))),
            (None, Some(keys)) => whole(keys).map(|keys| Size::Keys(size(keys))),
            (Some(memory), Some(keys)) => {
                self.report(messages::two_sizes(keys.span.clone(), memory.span.clone()))
            }
            (None, None) => self.report(messages::no_size(given, place.clone())),
        };
        let Kind::TokenBucket { quota, initial } = kind? else {
            let problem = self.wrong_value("store", given.get("store")?, messages::EXACT_STORE);
            let policy = given.place_of("policy");
            return self.report(problem.with_context(policy, messages::NEEDS_EXACT_STORE));
        };
        let room = room?;
        if let (Some(initial_node), true) = (given.get("initial"), *initial < quota.burst()) {
            let problem = self.wrong_value("initial", initial_node, messages::FULL_IN_A_TABLE);
            return self.report(problem.with_context(place.clone(), messages::IN_THIS_STORE));
        }
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let clock = Arc::new(ManualClock::new());
        // The smallest table tells whether it can keep the quota. The time on the clock does not matter.
        let smallest = Size::Memory(LINE_BYTES as usize);
        if let Err(error) = smallest.table::<[u8], _, _>(*quota, when_full?, hasher, clock) {
            let problem = self.verdict(given, &error);
            return self.report(problem.with_context(place.clone(), messages::IN_THIS_STORE));
        }
        self.table_fits(given, room)
    }

    /// Checks the bytes of a table, whatever memory this machine has.
    fn table_fits(&mut self, given: &Given<'_>, room: Size) -> Option<Size> {
        let (field, range) = match room {
            Size::Memory(_) => ("memory", messages::TABLE_MEMORY),
            Size::Keys(_) => ("keys", messages::TABLE_KEYS),
        };
        let node = given.get(field)?;
        let bytes = room.bytes();
        if !(LINE_BYTES..=MOST_BYTES).contains(&bytes) {
            return self.wrong(field, node, range);
        }
        if bytes > LARGE_BYTES {
            let bytes = ByteSize(bytes).display().iec();
            self.warn(field, node, format!("the table takes {bytes} as soon as it is built"));
        }
        Some(room)
    }

    fn when_full(&mut self, given: &Given<'_>, node: &Node) -> Option<WhenFull> {
        match &node.value {
            Value::Text(word) if word == "deny" => Some(WhenFull::Deny),
            Value::Text(word) if word == "admit" => Some(WhenFull::Admit),
            Value::Table(_) => self.bucket(given, "when_full", node).map(WhenFull::Share),
            _ => None,
        }
    }

    /// Returns the bucket of a table with `limit` and `rate`, which is at `path`.
    pub(super) fn bucket(&mut self, given: &Given<'_>, path: &str, node: &Node) -> Option<Quota> {
        let rate = self.rate(given, &messages::path(path, "rate"), node.get("rate"));
        let limit = node.get("limit")?;
        let number = whole(limit)?;
        // A limit is out of range whatever the rate is.
        let rate_or_any = rate.or(Rate::per_second(1).ok())?;
        match Quota::new(rate_or_any).with_burst(number) {
            Ok(quota) => rate.map(|_| quota),
            Err(error) => self.wrong(&messages::path(path, "limit"), limit, messages::rule(&error)),
        }
    }
}

/// Returns the name of the field that makes an idle key differ from a new one.
pub(super) fn kept_by(kind: &Kind) -> &'static str {
    match kind {
        Kind::TokenBucket { quota, initial } if *initial < quota.burst() => "initial",
        Kind::TokenBucket { .. } => "refill",
        _ => "of",
    }
}
