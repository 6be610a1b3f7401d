//! The place of the hot word, with or without a line before it.

use crate::contention::Contention;
use crate::decision::undo::Undo;
use crate::sync::AtomicWord;
use crate::time::clock::Clock;
use crate::wait::line_lock::LineLock;
use crate::window::changes::Changes;

use super::slots::WindowSlots;
use super::{LastDenial, Ring};

/// A place for the hot word.
#[expect(private_interfaces, private_bounds, reason = "public only for `Placement`")]
pub trait HotLine {
    fn new(word: u64) -> Self;

    fn word(&self) -> &AtomicWord<u64>;

    /// Returns the word as a receipt knows it.
    fn undoing(&self) -> &dyn Undo;

    /// Returns the resets, and the settlements that they wait for.
    fn changes(&self) -> &Changes;

    /// Returns where starved callers announce themselves, if the layout has room for that.
    fn contention(&self) -> Option<&Contention>;

    /// Returns where the last denial is kept, if the layout has room for that.
    fn last_denial(&self) -> Option<&LastDenial> {
        None
    }

    /// Settles for those in line; see [`line::help`](crate::wait::line::help). The gate of a word
    /// without a line is always open.
    fn help<W: AsRef<[WindowSlots]>, C: Clock>(_ring: &Ring<Self, W, C>, _now_nanos: u64) -> bool
    where
        Self: Sized,
    {
        true
    }

    /// Lets those in line look again.
    fn poke<W: AsRef<[WindowSlots]>, C: Clock>(_ring: &Ring<Self, W, C>)
    where
        Self: Sized,
    {
    }

    /// Returns whether anybody stands in line or has yet to be told an answer there, or the line is closed.
    fn has_line(&self) -> bool {
        false
    }

    /// Estimates the wait at `now_nanos` until all in line have had their turns; at least 1.
    fn wait_nanos(&self, _now_nanos: u64) -> u64 {
        1
    }
}

/// The companion of a padded hot word: the line, and the changes. On the line of the word, because
/// the rest of the limiter is read by every call, and settlements write this.
#[derive(Debug)]
pub(crate) struct LineBeside {
    pub(crate) line_lock: LineLock,
    pub(crate) changes: Changes,
}

impl LineBeside {
    pub(crate) fn new() -> LineBeside {
        LineBeside { line_lock: LineLock::new(), changes: Changes::new() }
    }
}

/// A place with a line before it.
pub(crate) trait Lined: HotLine {
    fn line_lock(&self) -> &LineLock;
}
