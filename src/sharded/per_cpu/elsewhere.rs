//! Systems on which no shard belongs to a processor.

use crossbeam_utils::CachePadded;

use crate::sharded::shard_word::ShardWord;

use super::slot::Slot;

/// The system's sequences and fences: there are none.
#[derive(Debug)]
pub(super) enum System {}

impl System {
    pub(super) const EXISTS: bool = false;

    pub(super) fn detect() -> Option<System> {
        None
    }

    pub(super) fn cpus(&self) -> usize {
        match *self {}
    }

    pub(super) fn cpu(&self) -> usize {
        match *self {}
    }

    pub(super) fn spend(&self, _: &[CachePadded<Slot>], _: u64) -> Option<ShardWord> {
        match *self {}
    }

    pub(super) fn store(&self, _: &Slot, _: usize, _: ShardWord, _: ShardWord) -> bool {
        match *self {}
    }

    pub(super) fn fence(&self, _: Option<usize>) -> bool {
        match *self {}
    }
}
