//! Checks of a policy file, which turn its text into limiters that can be built.
//!
//! First the form of each field is compared with the table of [fields](crate::fields), whatever the
//! kind of the limiter. Then the fields are read in silence: one that has not the right form has been
//! reported. So all mistakes of a file are found at once, and each once.

mod common;
mod cost;
mod filter;
mod form;
mod given;
mod key;
mod kind;
mod kinds;
mod level;
mod limiter;
mod messages;
mod penalty;
mod redis_store;
mod store;
mod top;
mod verdict;
mod warn;

use std::ops::RangeInclusive;
use std::time::Duration;

pub(crate) use self::common::NOT_OF_COMMON;
use self::given::time;
pub(crate) use self::kinds::{KINDS, KindFields, POLICIES, kind_names};
use crate::problem::{Problem, escaped};
use crate::tree::Node;
use crate::{Format, LevelPolicy, LimiterPolicy};

/// The most characters of a value that an error repeats.
const MOST_SHOWN: usize = 60;

/// The number of mistakes after which names are not looked at any more: the nearest name takes time.
const ENOUGH: usize = 1_000;

/// Limiters and levels of a file, and the warnings about them.
pub(crate) struct Checked {
    pub(crate) limiters: Vec<LimiterPolicy>,
    pub(crate) hierarchy: Vec<LevelPolicy>,
    pub(crate) warnings: Vec<Problem>,
}

/// Checks the text of a policy.
pub(crate) fn policies(format: Format, text: &str) -> Result<Checked, Vec<Problem>> {
    let tree = Node::parse(format, text)?;
    let mut checks = Checks { format, text, errors: Vec::new(), warnings: Vec::new() };
    let limiters = checks.top(&tree);
    let hierarchy = checks.hierarchy(&tree);
    if checks.errors.is_empty() {
        Ok(Checked { limiters, hierarchy, warnings: checks.warnings })
    } else {
        Err(checks.errors)
    }
}

/// The mistakes that have been found so far.
struct Checks<'a> {
    format: Format,
    text: &'a str,
    errors: Vec<Problem>,
    warnings: Vec<Problem>,
}

impl Checks<'_> {
    /// Reports a mistake. Returns `None`, for what cannot be made of it.
    fn report<T>(&mut self, problem: Problem) -> Option<T> {
        self.errors.push(problem);
        None
    }

    /// Reports that `field` must not have this value.
    fn wrong<T>(&mut self, field: &str, node: &Node, expected: impl Into<String>) -> Option<T> {
        let problem = self.wrong_value(field, node, expected);
        self.report(problem)
    }

    /// Returns a length of time, or `None` with the mistake that it is out of `range`, which `rule` tells.
    fn time_within(
        &mut self,
        field: &str,
        node: &Node,
        range: RangeInclusive<Duration>,
        rule: &str,
    ) -> Option<Duration> {
        match time(node)? {
            time if range.contains(&time) => Some(time),
            _ => self.wrong(field, node, rule),
        }
    }

    fn wrong_value(&self, field: &str, node: &Node, expected: impl Into<String>) -> Problem {
        let title = format!("{} is {}", messages::named(field), self.shown(node));
        Problem::new(node.span.clone(), field, title, expected)
    }

    /// Returns a value as it is written, if that is short, or its type.
    fn shown(&self, node: &Node) -> String {
        let written = self.text.get(node.span.clone()).unwrap_or_default();
        if written.is_empty() || written.contains('\n') {
            return node.in_words().to_owned();
        }
        match written.char_indices().nth(MOST_SHOWN) {
            None => escaped(written),
            Some((end, _)) => format!("{}…", escaped(&written[..end])),
        }
    }
}
