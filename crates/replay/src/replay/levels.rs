//! The levels of a policy's hierarchy at work: each line passes all of them, or takes nothing from any.
//!
//! A name in a level's `key` is that of a field (`client`, `path`, `method`, `status`, `status_class`,
//! `user`, `referer`, `agent`), or else of a column of the log; `all` is one key for all lines. A name in
//! `counts` is that of a column with a number, or `bytes`. A line without a value of a key is not judged.
//! An amount that is missing, or no number, is 0. Fractions are rounded up.

use std::borrow::Cow;
use std::sync::Arc;

use bstr::ByteSlice;
use sluicegate::ManualClock;
use sluicegate_policy::{
    Cost as Requested, Hierarchy, HierarchyError, KeyField, LevelPolicy, Named, NamedCost,
    RequestFields,
};

use super::tally::Tallies;
use super::{Moment, Tally, memory};
use crate::log::Line;

/// The most different names in the keys of all levels, and in their amounts.
pub(crate) const MOST_NAMES: usize = 32;

/// The levels, and the counts of their decisions so far.
#[derive(Debug)]
pub struct Levels {
    policies: Vec<LevelPolicy>,
    fields: Vec<Source>,
    amounts: Vec<Requested>,
    /// Created at the first line, which sets the clock.
    hierarchy: Option<Hierarchy<MOST_NAMES, MOST_NAMES>>,
    tallies: Vec<Tallies>,
    denied: Vec<u64>,
    counts: LevelCounts,
}

/// The lines that levels judged, and those that they did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelCounts {
    /// Lines that passed all levels.
    pub allowed: u64,
    /// Lines that a level refused.
    pub denied: u64,
    /// Lines without a value of a key, which were not judged.
    pub no_key: u64,
    /// Judged lines without an amount, or with something that is no number, which counts as 0.
    pub no_amount: u64,
}

/// The part of a line that is one of the fields of keys.
#[derive(Debug)]
enum Source {
    Field(KeyField),
    Column(String),
}

impl Levels {
    /// Starts with no line judged; `None` if there is no level. Keeps the tallies of at most
    /// `tally_keys` keys of each.
    pub(super) fn new(policies: &[LevelPolicy], tally_keys: usize) -> Option<Levels> {
        if policies.is_empty() {
            return None;
        }
        let source = |name: &str| match KeyField::from_name(name) {
            Some(field) => Source::Field(field),
            None => Source::Column(name.to_owned()),
        };
        let amount = |name: &str| match name {
            "bytes" => Requested::Bytes,
            name => {
                let cost = NamedCost::new(Named::Column(name.to_owned()));
                Requested::Named(NamedCost { missing: 0, ..cost })
            }
        };
        Some(Levels {
            fields: names(policies, |level| &level.key).into_iter().map(source).collect(),
            amounts: names(policies, |level| &level.counts).into_iter().map(amount).collect(),
            hierarchy: None,
            tallies: policies.iter().map(|_| Tallies::new(tally_keys)).collect(),
            denied: vec![0; policies.len()],
            counts: LevelCounts::default(),
            policies: policies.to_vec(),
        })
    }

    /// Judges a line at the time that the clock shows.
    pub(super) fn judge(&mut self, line: &Line<'_>, moment: Moment, clock: &Arc<ManualClock>) {
        let hierarchy = self.hierarchy.get_or_insert_with(|| {
            hierarchy(&self.policies, Arc::clone(clock)).expect("the policy checked its levels")
        });
        let mut fields: [Cow<'_, str>; MOST_NAMES] = [const { Cow::Borrowed("") }; MOST_NAMES];
        for (value, source) in fields.iter_mut().zip(&self.fields) {
            let text = match source {
                Source::Field(KeyField::StatusClass) => Some(line.field(KeyField::StatusClass)),
                Source::Field(KeyField::All) => Some("all".into()),
                Source::Field(field) => RequestFields::field(line, *field).map(ByteSlice::as_bstr),
                Source::Column(name) => line.columns.column(name).map(ByteSlice::as_bstr),
            };
            let Some(text) = text.filter(|text| !text.is_empty() && *text != "-") else {
                self.counts.no_key += 1;
                return;
            };
            *value = text.to_str_lossy();
        }
        let (mut amounts, mut lacks) = ([0; MOST_NAMES], false);
        for (amount, requested) in amounts.iter_mut().zip(&self.amounts) {
            let charge = requested.of(line);
            (*amount, lacks) = (charge.permits, lacks | charge.lacks);
        }
        self.counts.no_amount += u64::from(lacks);
        let request = hierarchy.request(fields.each_ref().map(|field| &**field));
        let refused = request.try_acquire(amounts).err();
        for (which, key) in request.keys().enumerate() {
            let by_this = refused.as_ref().is_some_and(|refused| refused.which() == which);
            if refused.is_none() || by_this {
                let wait = (!by_this).then_some(0);
                self.tallies[which].count(key.as_bytes(), wait, moment.stamp_nanos);
            }
            self.denied[which] += u64::from(by_this);
        }
        self.counts.allowed += u64::from(refused.is_none());
        self.counts.denied += u64::from(refused.is_some());
    }

    /// Returns about the bytes that the keys of the largest level take, with the level and the number
    /// of its keys.
    pub(super) fn largest(&self) -> Option<(&LevelPolicy, u64, u64)> {
        let levels = self.policies.iter().zip(&self.tallies).map(|(level, tallies)| {
            let keys = tallies.keys().min(level.max_keys.unwrap_or(usize::MAX)) as u64;
            (level, memory::kind_bytes(&level.kind), keys)
        });
        levels.max_by_key(|(_, bytes, keys)| bytes.saturating_mul(*keys))
    }

    /// Returns the counts of lines.
    #[must_use]
    pub fn counts(&self) -> &LevelCounts {
        &self.counts
    }

    /// Returns each level, with the number of lines that it refused and the number of its keys. A line
    /// that several levels refuse counts for the one that has to be waited for longest, and of those
    /// with equal waits for the first.
    pub fn levels(&self) -> impl Iterator<Item = (&LevelPolicy, u64, usize)> {
        let counts = self.denied.iter().zip(&self.tallies);
        self.policies.iter().zip(counts).map(|(level, (denied, of))| (level, *denied, of.keys()))
    }

    /// Returns the keys of a level that are kept, with their tallies: their admitted lines, and those
    /// that this level refused.
    pub fn keys_of(&self, level: usize) -> impl Iterator<Item = (String, &Tally)> {
        self.tallies[level].iter().map(|(key, tally)| (key.to_str_lossy().into_owned(), tally))
    }
}

/// Returns the different names in some lists of all levels.
fn names<'l>(
    levels: &'l [LevelPolicy],
    list: impl Fn(&'l LevelPolicy) -> &'l [String],
) -> Vec<&'l str> {
    let mut names: Vec<&str> = Vec::new();
    for name in levels.iter().flat_map(list) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

/// Checks that levels can be replayed.
///
/// # Errors
///
/// If they have too many names.
pub fn check_levels(levels: &[LevelPolicy]) -> Result<(), String> {
    let keys = names(levels, |level| &level.key).len();
    let counts = names(levels, |level| &level.counts).len();
    for (field, count) in [("key", keys), ("counts", counts)] {
        if count > MOST_NAMES {
            return Err(format!(
                "the levels of the hierarchy have {count} names in `{field}`, and a replay takes at most \
                 {MOST_NAMES}; leave some levels out"
            ));
        }
    }
    Ok(())
}

/// Returns the columns of the log that levels need.
pub(crate) fn columns(levels: &[LevelPolicy]) -> Vec<Named> {
    let keys = names(levels, |level| &level.key);
    let keys = keys.into_iter().filter(|name| KeyField::from_name(name).is_none());
    let counts = names(levels, |level| &level.counts);
    let counts = counts.into_iter().filter(|name| *name != "bytes");
    keys.chain(counts).map(|name| Named::Column(name.to_owned())).collect()
}

fn hierarchy(
    policies: &[LevelPolicy],
    clock: Arc<ManualClock>,
) -> Result<Hierarchy<MOST_NAMES, MOST_NAMES>, HierarchyError> {
    let array = |names: Vec<&str>| -> [String; MOST_NAMES] {
        // No level has these, so they are never looked up.
        std::array::from_fn(|place| names.get(place).map_or(String::new(), ToString::to_string))
    };
    let (fields, amounts) =
        (array(names(policies, |level| &level.key)), array(names(policies, |level| &level.counts)));
    Hierarchy::new(
        policies,
        fields.each_ref().map(String::as_str),
        amounts.each_ref().map(String::as_str),
        clock,
    )
}
