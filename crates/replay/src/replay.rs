//! Asks the engine about every line of a log, at that line's time.
//!
//! The clock is the newest time seen so far, counted from 1970, so that windows
//! and days begin when they did. Servers write a line when its
//! request is done, so lines are often a little out of order; one that is older
//! than a line before it is *late*, and is judged at the newest time.
//!
//! Most logs have whole seconds, and the lines of one second did not all come at its beginning. So they
//! are spread evenly over it, in their order: of `n` lines, each is judged `1 / n` seconds after the one
//! before, rounded up to a nanosecond. For limiters that count in times as short as that, the counts at
//! the stamps themselves are kept as well. Finer stamps are used as they are: lines of the
//! same one are spread over the time to the next that it could have had.
//!
//! Every limiter of the policy judges every line that its filter lets through,
//! whatever the others decide. Its keys are in one of the engine's stores, which reads
//! that clock: so keys are forgotten, and find no space, at the times when they would have.

mod distinct;
mod judge;
pub(crate) mod keys;
mod lacking;
pub(crate) mod levels;
pub(crate) mod memory;
mod offenders;
mod options;
mod pass;
mod peaks;
mod profile;
mod shape;
mod spread;
mod stamped;
mod tally;
mod timeline;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use sluicegate::ManualClock;

pub use self::judge::Judge;
pub use self::lacking::Lacking;
pub use self::levels::{LevelCounts, Levels, check_levels};
pub use self::offenders::PenaltyCounts;
pub use self::options::{Options, TooMuchMemory};
pub use self::pass::{Moment, Pass};
pub use self::peaks::{Part, Peak, Peaks};
pub use self::profile::{Caller, Profile};
pub use self::shape::Waits;
pub use self::tally::Tally;
pub use self::timeline::{Bin, Timeline};
use crate::log::{Line, Merged};
pub use crate::log::{SHOWN_SKIPPED, Skipped};
use crate::policy::{Needs, Policy};

/// The time between the stamps of a log in common or combined format, and of any other unless its
/// stamps are finer.
pub const RESOLUTION: Duration = Duration::from_secs(1);

/// Lines between two looks at the memory that keys take.
const LINES_PER_LOOK: u64 = 64;

/// A policy at work on a log.
#[derive(Debug)]
pub struct Replay {
    clock: Arc<ManualClock>,
    /// Reads the stamp of the present line.
    stamps: Arc<ManualClock>,
    options: Options,
    pass: Pass,
    judges: Vec<Judge>,
    levels: Option<Levels>,
    needs: Needs,
}

impl Replay {
    /// Starts a replay, with no line judged yet.
    #[must_use]
    pub fn new(policy: Policy) -> Replay {
        Replay::with_options(policy, Options::default())
    }

    /// Does the same as [`new`](Replay::new), with other options.
    #[must_use]
    pub fn with_options(policy: Policy, options: Options) -> Replay {
        let judge = |rule| {
            let judge = Judge::new(rule, options.tally_keys);
            let judge = if options.peaks { judge.peaking(options.tally_keys) } else { judge };
            if options.shape {
                return judge.shaped(options.shape_within);
            }
            if options.as_stamped { judge } else { judge.stamped_too(RESOLUTION) }
        };
        let needs = policy.needs();
        Replay {
            needs,
            clock: Arc::new(ManualClock::new()),
            stamps: Arc::new(ManualClock::new()),
            pass: Pass::new(options.as_stamped),
            levels: Levels::new(&policy.hierarchy, options.tally_keys),
            judges: policy.rules.into_iter().map(judge).collect(),
            options,
        }
    }

    /// Judges every line of the logs, which follow those read before. Empty lines do not
    /// count.
    ///
    /// A line that is not a log line is counted, and is not an error; so is a log that cannot be read
    /// to its end: see [`Merged::failures`].
    ///
    /// # Errors
    ///
    /// If the keys take more memory than they may. The lines after that are not judged.
    pub fn read(&mut self, logs: &mut Merged) -> Result<(), TooMuchMemory> {
        let Replay { clock, stamps, options, pass, judges, levels, .. } = self;
        let mut lines = pass.lines();
        let done = pass.read(logs, &mut |line: &Line<'_>, moment| {
            clock.set_nanos(moment.nanos);
            stamps.set_nanos(moment.stamp_nanos);
            for judge in judges.iter_mut() {
                judge.judge(line, moment.since_first, [clock, stamps]);
            }
            if let Some(levels) = levels {
                levels.judge(line, moment, clock);
            }
            lines += 1;
            if !lines.is_multiple_of(LINES_PER_LOOK) {
                return Ok(());
            }
            options.check_memory(judges)?;
            levels.as_ref().map_or(Ok(()), |levels| options.check_levels(levels))
        });
        if done.is_ok() {
            let resolution = pass.resolution();
            for judge in judges {
                judge.forget_stamps_unless_short(resolution);
            }
        }
        done
    }

    /// Returns the reading of the logs.
    #[must_use]
    pub fn pass(&self) -> &Pass {
        &self.pass
    }

    /// Returns the fields that the policy asks for.
    #[must_use]
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Returns the options.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the levels of the policy's hierarchy, if it has one.
    #[must_use]
    pub fn levels(&self) -> Option<&Levels> {
        self.levels.as_ref()
    }

    /// Returns the limiters, in the order of the policy.
    #[must_use]
    pub fn judges(&self) -> &[Judge] {
        &self.judges
    }
}

/// Returns the nanoseconds from one time to a later one, as many as fit.
fn since(from: Timestamp, to: Timestamp) -> u64 {
    // By parts: a difference of timestamps is a call of a package that is not optimised.
    let nanos = |time: Timestamp| {
        i128::from(time.as_second()) * 1_000_000_000 + i128::from(time.subsec_nanosecond())
    };
    u64::try_from(nanos(to) - nanos(from)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
