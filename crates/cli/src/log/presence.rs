//! The headers and columns that a policy names and that no line has.

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock, PoisonError};

use sluicegate_policy::Named;

use super::format::nearest;
use super::line::shown;

/// The most names of a log that are remembered, to find the one that was meant.
const MOST_NAMES: usize = 500;

/// The most bytes of such a name.
const MOST_BYTES: usize = 100;

/// A record of which of the headers and columns that a policy names lines have had.
#[derive(Debug, Default)]
pub(super) struct Presence {
    wanted: Vec<Wanted>,
    /// Names that the logs have.
    names: Mutex<BTreeSet<String>>,
}

#[derive(Debug)]
struct Wanted {
    named: Named,
    /// The names that logs give it.
    names: Vec<String>,
    found: OnceLock<()>,
}

/// A header or a column that a policy names and that no line has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Its name in the policy.
    pub named: Named,
    /// The name in the logs that is most like it, if one is.
    pub meant: Option<String>,
}

impl Presence {
    /// Starts with nothing found.
    pub(super) fn new<'a>(wanted: impl Iterator<Item = (&'a Named, Vec<String>)>) -> Presence {
        let wanted = wanted.map(|(named, names)| Wanted {
            named: named.clone(),
            names,
            found: OnceLock::new(),
        });
        Presence { wanted: wanted.collect(), names: Mutex::default() }
    }

    /// Says that a line has a value of the header or column at that place.
    pub(super) fn found(&self, place: usize) {
        if let Some(wanted) = self.wanted.get(place) {
            wanted.found.get_or_init(|| ());
        }
    }

    /// Remembers names that a log has, the first few hundred of them.
    pub(super) fn learn<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let mut known = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        for name in names {
            if known.len() < MOST_NAMES && name.len() <= MOST_BYTES && !known.contains(name) {
                known.insert(name.to_owned());
            }
        }
    }

    /// Returns what no line has had so far.
    pub(super) fn absent(&self) -> Vec<Absent> {
        let known = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let absent = self.wanted.iter().filter(|wanted| wanted.found.get().is_none());
        absent
            .map(|Wanted { named, names, .. }| {
                let like = |name: &String| {
                    // A name that is the same was there, and had no value in any line.
                    let others = known.iter().filter(|known| !known.eq_ignore_ascii_case(name));
                    let most = name.chars().count().div_ceil(4);
                    nearest(name, others.map(String::as_str), most)
                };
                let meant = names.iter().find_map(like).map(|name| shown(name.as_bytes()));
                Absent { named: named.clone(), meant }
            })
            .collect()
    }
}
