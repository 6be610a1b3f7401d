//! A key of a store, as the limiter behind its line.

use alloc::borrow::{Cow, ToOwned};
use alloc::sync::Arc;
use core::ops::Deref;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::keyed_limiter::KeyedLimiter;
use crate::time::clock::Clock;
use crate::wait::error::AcquireError;
use crate::wait::outside::{self, HasOutsideLine, OutsideLine};
use crate::wait::turn::TakesTurns;
use crate::wait::way_to_line::HasLine;

/// A store whose keys have lines. It is a trait, since a future that waits names neither the type of the store nor that of
/// its clock.
pub(super) trait HasKeyLines<K: ?Sized>: Send + Sync {
    fn store(&self) -> &dyn KeyedLimiter<K>;

    fn clock(&self) -> &dyn Clock;

    /// Takes `permits` of `key` at once, or not.
    fn try_now(&self, key: &K, permits: u64) -> Result<Grant, Denied>;

    /// Begins a use of the line of `key`.
    fn enter(&self, key: &K) -> Result<Arc<OutsideLine>, AcquireError>;

    /// Ends a use of `line`, which is that of `key`.
    fn leave(&self, key: &K, line: &Arc<OutsideLine>);
}

/// The way to a store: a reference, or a handle that keeps it alive.
pub(super) enum WayToKeys<'a, K: ?Sized> {
    Borrowed(&'a dyn HasKeyLines<K>),
    Owned(Arc<dyn HasKeyLines<K>>),
}

impl<K: ?Sized> Clone for WayToKeys<'_, K> {
    fn clone(&self) -> Self {
        match self {
            WayToKeys::Borrowed(keys) => WayToKeys::Borrowed(*keys),
            WayToKeys::Owned(keys) => WayToKeys::Owned(Arc::clone(keys)),
        }
    }
}

impl<'a, K: ?Sized> Deref for WayToKeys<'a, K> {
    type Target = dyn HasKeyLines<K> + 'a;

    fn deref(&self) -> &Self::Target {
        match self {
            WayToKeys::Borrowed(keys) => *keys,
            WayToKeys::Owned(keys) => &**keys,
        }
    }
}

/// A use of the line of a key.
pub(super) struct AtKey<'a, K: ToOwned + ?Sized> {
    home: WayToKeys<'a, K>,
    key: Cow<'a, K>,
    line: Arc<OutsideLine>,
}

impl<'a, K: ToOwned + ?Sized> AtKey<'a, K> {
    /// Takes over a use of `line`: ends it when this is dropped.
    pub(super) fn new(
        home: WayToKeys<'a, K>,
        key: Cow<'a, K>,
        line: Arc<OutsideLine>,
    ) -> AtKey<'a, K> {
        AtKey { home, key, line }
    }

    /// Settles for those in line, if the gate is closed.
    ///
    /// # Errors
    ///
    /// The denial of `permits`, if somebody still stands there.
    pub(super) fn serve_at_the_gate(&self, permits: u64) -> Result<(), Denied> {
        if self.line.is_gated() { outside::serve_at_the_gate(self, permits) } else { Ok(()) }
    }
}

impl<K: ToOwned + ?Sized> Drop for AtKey<'_, K> {
    fn drop(&mut self) {
        self.home.leave(&self.key, &self.line);
    }
}

impl<K: ToOwned + ?Sized> HasOutsideLine for AtKey<'_, K> {
    fn outside(&self) -> &OutsideLine {
        &self.line
    }

    fn line_clock(&self) -> &dyn Clock {
        self.home.clock()
    }

    fn ask(&self, permits: u64) -> Result<Grant, Denied> {
        self.home.store().try_acquire(&self.key, permits)
    }

    fn look(&self, permits: u64) -> Result<Grant, Denied> {
        self.home.store().peek(&self.key, permits)
    }

    fn look_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.look(permits)
    }

    fn ask_at_the_gate(&self, permits: u64) -> Result<Grant, Denied> {
        if permits > 0 {
            self.serve_at_the_gate(permits)?;
        }
        self.ask(permits)
    }
}

impl<K: ToOwned<Owned: Sync> + Sync + ?Sized> HasLine for AtKey<'_, K> {
    type Home = ();

    fn home(&self, _: &dyn TakesTurns) {}

    fn limiter(&self) -> &(dyn TakesTurns + Sync) {
        self
    }
}
