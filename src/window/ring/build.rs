//! Construction of a ring: its windows, and the layout of its words.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::config::error::ConfigError;
use crate::sync::AtomicWord;
use crate::time::clock::Clock;
use crate::window::intervals::Intervals;
use crate::window::limit::check_max;

use super::plan::{self, Plan};
use super::slots::WindowSlots;
use super::words::{Hot, Layout, State};
use super::{Core, HotLine, Ring};

/// Maximum number of slots of a window.
const MAX_SLOTS: u32 = 1 << 16;

/// Maximum number of windows over one ring.
const MAX_WINDOWS: usize = 64;

/// Holds the windows of a ring.
pub(crate) trait Windows: AsRef<[WindowSlots]> + Sized {
    fn collect(
        spans: impl Iterator<Item = Result<WindowSlots, ConfigError>>,
    ) -> Result<Self, ConfigError>;
}

/// One window, stored inline.
impl Windows for [WindowSlots; 1] {
    fn collect(
        mut spans: impl Iterator<Item = Result<WindowSlots, ConfigError>>,
    ) -> Result<Self, ConfigError> {
        Ok([spans.next().ok_or(ConfigError::Count { count: 0 })??])
    }
}

impl Windows for Box<[WindowSlots]> {
    fn collect(
        spans: impl Iterator<Item = Result<WindowSlots, ConfigError>>,
    ) -> Result<Self, ConfigError> {
        spans.collect()
    }
}

impl<L: HotLine, W: Windows, C: Clock> Ring<L, W, C> {
    /// Creates a ring for the windows of `plans`.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Count`] if there are none or too many,
    /// [`ConfigError::Slots`] and [`ConfigError::Limit`] for a window that is out of
    /// range.
    pub(crate) fn new(plans: &[Plan], clock: C) -> Result<Ring<L, W, C>, ConfigError> {
        if plans.is_empty() || plans.len() > MAX_WINDOWS {
            return Err(ConfigError::Count { count: plans.len() });
        }
        for &Plan { slots, .. } in plans {
            if slots == 0 || slots > MAX_SLOTS {
                return Err(ConfigError::Slots { slots });
            }
        }
        let ticks = plan::ticks_of(plans);
        let layout = Layout::new(plans, &ticks)?;
        Ring::laid_out(plans, ticks, layout, clock)
    }

    /// Returns the same ring with bits for limits up to `max_limit` of every window, and nothing
    /// granted.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxLimit`] if `max_limit` is less than a limit, or too large.
    pub(crate) fn with_max_limit(self, max_limit: u64) -> Result<Ring<L, W, C>, ConfigError> {
        let plans: Vec<Plan> = self.core.windows.as_ref().iter().map(WindowSlots::plan).collect();
        let least = plans.iter().map(|plan| plan.limit).max().unwrap_or(1);
        let longest = plans.iter().map(|plan| plan.window_nanos).max().unwrap_or(1);
        check_max(max_limit, least, longest)?;
        let roomy: Vec<Plan> =
            plans.iter().map(|plan| Plan { limit: max_limit, ..*plan }).collect();
        let layout = Layout::new(&roomy, &self.core.ticks).map_err(|error| match error {
            ConfigError::Limit { max, .. } => ConfigError::MaxLimit { max_limit, least, most: max },
            other => other,
        })?;
        Ring::laid_out(&plans, plan::ticks_of(&plans), layout, self.core.clock)
    }

    fn laid_out(
        plans: &[Plan],
        ticks: Intervals,
        layout: Layout,
        clock: C,
    ) -> Result<Ring<L, W, C>, ConfigError> {
        let tick = layout.tick.max() & ticks.moment(clock.now_nanos()).tick;
        let spans = plans.iter().map(|plan| WindowSlots::new(plan, &ticks, &layout, tick));
        let windows = W::collect(spans)?;
        let word = layout.word(Hot { tick, count: 0 }, State::Open);
        let (shift, healed) = (AtomicWord::new(0), AtomicWord::new(0));
        Ok(Ring { hot: L::new(word), core: Core { ticks, layout, windows, clock, shift, healed } })
    }
}
