//! The options of a replay, and the bound on its memory.

use std::time::Duration;

use indicatif::{HumanBytes, HumanCount};

use super::{Judge, Levels, memory};
use crate::policy::{Policy, Rule};

/// The options of a [`Replay`](super::Replay).
#[derive(Clone, Debug)]
pub struct Options {
    /// Lets requests wait instead of refusing them: those of a key one after the other, each until
    /// its limiter grants it. Every key is kept, whatever the policy says of its store.
    pub shape: bool,
    /// Counts the requests that wait for longer.
    pub shape_within: Option<Duration>,
    /// Judges each line at the beginning of its second, instead of spreading the lines of a second
    /// over it.
    pub as_stamped: bool,
    /// The most keys of a limiter whose counts are kept.
    pub tally_keys: usize,
    /// Measures the peak of each key, of as many keys.
    pub peaks: bool,
    /// The most bytes that the keys of all limiters may take, about.
    pub max_memory_bytes: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            shape: false,
            shape_within: None,
            as_stamped: false,
            tally_keys: 1 << 17,
            peaks: false,
            max_memory_bytes: 4 << 30,
        }
    }
}

/// The keys of a policy take more memory than they may, or than there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMuchMemory {
    /// More than they may.
    #[error(
        "limiter \"{limiter}\" brings the memory to more than the {} of --max-memory: {} for each of \
         {} keys; give a weighted log a `capacity`, lower limit, slots or max_keys, or raise --max-memory",
        HumanBytes(*max_bytes), HumanBytes(*key_bytes), HumanCount(*keys)
    )]
    Keys {
        /// Name of the limiter that takes most.
        limiter: String,
        /// About the bytes that each of its keys takes.
        key_bytes: u64,
        /// The number of its keys.
        keys: u64,
        /// The most bytes that all limiters together may take.
        max_bytes: u64,
    },
    /// A table that the system has no memory for.
    #[error(
        "limiter \"{limiter}\" has a table of {}, which this machine cannot allocate; lower its memory \
         or keys",
        HumanBytes(*bytes)
    )]
    Table {
        /// Name of the limiter.
        limiter: String,
        /// About the bytes of its table.
        bytes: u64,
    },
}

impl TooMuchMemory {
    /// Returns the name of the limiter that takes most.
    #[must_use]
    pub fn limiter(&self) -> &str {
        match self {
            TooMuchMemory::Keys { limiter, .. } | TooMuchMemory::Table { limiter, .. } => limiter,
        }
    }
}

impl Options {
    /// Checks what a policy is certain to take: its tables, and a key of each limiter.
    ///
    /// # Errors
    ///
    /// If that is more than it may, or a table is more than can be allocated.
    pub fn check_policy(&self, policy: &Policy) -> Result<(), TooMuchMemory> {
        let bytes = |rule: &Rule| {
            let fixed = if self.shape { 0 } else { memory::fixed_bytes(rule) };
            fixed.saturating_add(memory::key_bytes(rule, self.shape))
        };
        let all = policy.rules.iter().fold(0_u64, |sum, rule| sum.saturating_add(bytes(rule)));
        match policy.rules.iter().max_by_key(|rule| bytes(rule)) {
            Some(most) if all > self.max_memory_bytes => Err(TooMuchMemory::Keys {
                limiter: most.name.clone(),
                key_bytes: bytes(most),
                keys: 1,
                max_bytes: self.max_memory_bytes,
            }),
            _ if self.shape => Ok(()),
            _ => policy.rules.iter().try_for_each(can_have_its_table),
        }
    }

    /// Returns the limiters that would take more memory than they may if they had as many keys as
    /// their stores have space for, with that number of bytes.
    #[must_use]
    pub fn too_roomy<'a>(&self, policy: &'a Policy) -> Vec<(&'a Rule, u64)> {
        if self.shape {
            return Vec::new();
        }
        let bytes = |rule| {
            let keys = memory::most_keys(rule)?;
            Some(keys.saturating_mul(memory::key_bytes(rule, false)))
        };
        let is_too_large = |bytes: &u64| *bytes > self.max_memory_bytes;
        let rules = policy.rules.iter();
        rules.filter_map(|rule| Some((rule, bytes(rule).filter(is_too_large)?))).collect()
    }

    /// Checks what the keys of levels take at present.
    pub(super) fn check_levels(&self, levels: &Levels) -> Result<(), TooMuchMemory> {
        match levels.largest() {
            Some((level, key_bytes, keys))
                if key_bytes.saturating_mul(keys) > self.max_memory_bytes =>
            {
                Err(TooMuchMemory::Keys {
                    limiter: level.name.clone(),
                    key_bytes,
                    keys,
                    max_bytes: self.max_memory_bytes,
                })
            }
            _ => Ok(()),
        }
    }

    /// Checks what the keys take at present.
    pub(super) fn check_memory(&self, judges: &[Judge]) -> Result<(), TooMuchMemory> {
        let all = judges.iter().fold(0_u64, |sum, judge| sum.saturating_add(judge.bytes()));
        if all <= self.max_memory_bytes {
            return Ok(());
        }
        let most = judges.iter().max_by_key(|judge| judge.bytes());
        most.map_or(Ok(()), |judge| {
            Err(TooMuchMemory::Keys {
                limiter: judge.rule().name.clone(),
                key_bytes: judge.key_bytes(),
                keys: judge.known() as u64,
                max_bytes: self.max_memory_bytes,
            })
        })
    }
}

/// Checks that there is memory for a limiter's table, if it has one.
fn can_have_its_table(rule: &Rule) -> Result<(), TooMuchMemory> {
    let bytes = memory::fixed_bytes(rule);
    let reserved = Vec::<u8>::new().try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX));
    reserved.map_err(|_| TooMuchMemory::Table { limiter: rule.name.clone(), bytes })
}
