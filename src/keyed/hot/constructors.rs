//! The constructors of a store with hot keys.

use crossbeam_utils::CachePadded;

use crate::config::error::ConfigError;
use crate::sync::AtomicWord;
use crate::thread_index::MAX_PLACES;
#[cfg(feature = "std")]
use crate::thread_index::places;

use super::HotKeys;
use super::seat_block::SeatBlock;

impl<S> HotKeys<S> {
    /// Wraps `store`, with a place for each thread that the machine runs at once.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn new(store: S) -> HotKeys<S> {
        HotKeys::of(store, places(0))
    }

    /// Wraps `store`, with `places` places, rounded up to a power of two.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Places`] if `places` is not from 1 to 256.
    pub fn with_places(store: S, places: usize) -> Result<HotKeys<S>, ConfigError> {
        if !(1..=MAX_PLACES).contains(&places) {
            return Err(ConfigError::Places { places });
        }
        Ok(HotKeys::of(store, places.next_power_of_two()))
    }

    fn of(store: S, places: usize) -> HotKeys<S> {
        HotKeys {
            store,
            places: (0..places).map(|_| SeatBlock::new()).collect(),
            changes: CachePadded::new(AtomicWord::new(0)),
        }
    }
}
