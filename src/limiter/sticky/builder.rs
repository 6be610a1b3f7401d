//! The builder of a limiter with cached denials.

use core::fmt;

use crate::config::error::ConfigError;
use crate::limiter::Limiter;
use crate::thread_index::{MAX_PLACES, places};
use crate::time::clock::Clock;
#[cfg(feature = "std")]
use crate::time::clock::default::DefaultClock;

use super::Sticky;

/// A builder of a [`Sticky`], made by [`Sticky::builder`].
///
/// | part | default | |
/// |---|---|---|
/// | [`places`](StickyBuilder::places) | as many as the machine runs threads at once; one without `std` | number of caches, from 1 to 256, rounded up to a power of two |
/// | [`clock`](StickyBuilder::clock) | a `DefaultClock` of its own; without `std` a clock has to be given | should be the limiter's |
#[must_use = "a builder builds nothing until `build` is called"]
pub struct StickyBuilder<L, C = ()> {
    limiter: L,
    places: Option<usize>,
    /// `()` if none was given.
    clock: C,
}

impl<L: Limiter> StickyBuilder<L> {
    pub(super) fn new(limiter: L) -> StickyBuilder<L> {
        StickyBuilder { limiter, places: None, clock: () }
    }

    /// Wraps the limiter, on a clock of its own, which must advance as the limiter's does.
    /// Allocates the caches.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Places`] if the number of places is not from 1 to 256.
    #[cfg(feature = "std")]
    pub fn build(self) -> Result<Sticky<L>, ConfigError> {
        self.clock(DefaultClock::default()).build()
    }
}

impl<L, C> StickyBuilder<L, C> {
    /// Sets the number of caches, to be rounded up to a power of two.
    pub fn places(self, places: usize) -> StickyBuilder<L, C> {
        StickyBuilder { places: Some(places), ..self }
    }

    /// Reads the time from `clock`, which should be the limiter's.
    pub fn clock<D: Clock>(self, clock: D) -> StickyBuilder<L, D> {
        StickyBuilder { limiter: self.limiter, places: self.places, clock }
    }
}

impl<L: Limiter, C: Clock> StickyBuilder<L, C> {
    /// Wraps the limiter. Allocates the caches; does not read the clock.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Places`] if the number of places is not from 1 to 256.
    pub fn build(self) -> Result<Sticky<L, C>, ConfigError> {
        match self.places {
            Some(places) if !(1..=MAX_PLACES).contains(&places) => {
                Err(ConfigError::Places { places })
            }
            count => Ok(Sticky::of(self.limiter, places(count.unwrap_or(0)), self.clock)),
        }
    }
}

impl<L: fmt::Debug, C> fmt::Debug for StickyBuilder<L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StickyBuilder")
            .field("limiter", &self.limiter)
            .field("places", &self.places)
            .finish_non_exhaustive()
    }
}
