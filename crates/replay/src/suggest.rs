//! Finds the least limit that leaves most keys, or most requests, of a log untouched.
//!
//! The logs are read at least twice: once for the keys and, where it can be computed, the least limit
//! of each; then to replay the limits of the curve. Where a limit has to be searched for, it is also
//! read for each step of the search, in which sixteen limits are replayed.

mod dial;
mod findings;
mod search;
mod suggestion;
mod survey;
mod trial;
mod vary;

use std::io;
use std::sync::Arc;

use indicatif::HumanCount;
use serde::Serialize;
use sluicegate::ManualClock;
use sluicegate_policy::{Change, KeyField, with_changes};

use self::dial::Part;
pub use self::findings::{Findings, Gap, HitKey, Suggestion, Without};
use self::search::Search;
use self::suggestion::suggestion;
use self::survey::Subject;
pub use self::trial::Point;
use self::trial::Trial;
pub use self::vary::Vary;
use crate::log::Merged;
use crate::policy::{Kind, Policy, Rule};
use crate::replay::{Options, Pass, TooMuchMemory};
use crate::warnings;

/// Lines between two looks at the memory that keys take.
const LINES_PER_LOOK: u64 = 64;

/// A whole, in the parts that a [`Goal`] counts in.
pub const WHOLE: u64 = 1_000_000;

/// Returns millionths as a number of percent.
#[must_use]
pub fn in_percent(parts: u64) -> String {
    let (whole, decimals) = (parts * 100 / WHOLE, parts * 100 % WHOLE);
    let text = format!("{whole}.{:04}", decimals / 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A share that a limit has to leave untouched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// The things of which it is a share.
    pub of: Share,
    /// The share, in millionths.
    pub untouched: u64,
}

/// The things that a limit has to leave untouched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// Keys of which no request is denied
    Keys,
    /// Requests that are not denied
    Requests,
}

impl Goal {
    /// Returns the most that may be hit.
    #[must_use]
    pub fn most_hit(&self, total: u64) -> u64 {
        let parts = u128::from(WHOLE.saturating_sub(self.untouched)) * u128::from(total);
        (parts / u128::from(WHOLE)) as u64
    }

    fn is_met(&self, total: u64, hit: u64) -> bool {
        hit <= self.most_hit(total)
    }
}

/// The reason why nothing was suggested.
#[derive(Debug, thiserror::Error)]
pub enum SuggestError {
    /// A log could not be opened: its name, and why.
    #[error("{0}: {1}")]
    Open(String, io::Error),
    /// The keys take more memory than they may.
    #[error(transparent)]
    Memory(#[from] TooMuchMemory),
}

/// The options of [`suggest`].
#[derive(Clone, Copy, Debug)]
pub struct SuggestOptions {
    /// The share that is to be left untouched.
    pub goal: Goal,
    /// The number that is searched for.
    pub vary: Vary,
    /// Judges each line at the beginning of its second.
    pub as_stamped: bool,
    /// The most bytes that the keys of all limiters may take, about.
    pub max_memory_bytes: u64,
    /// The most keys to list of each limiter.
    pub top: usize,
    /// True if the limits of the policy are those at present, and not only an example.
    pub has_present: bool,
    /// Searches even where the least limit can be computed. For tests.
    pub is_searched: bool,
}

impl Default for SuggestOptions {
    fn default() -> SuggestOptions {
        SuggestOptions {
            goal: Goal { of: Share::Keys, untouched: 990_000 },
            vary: Vary::Limit,
            as_stamped: false,
            max_memory_bytes: Options::default().max_memory_bytes,
            top: 10,
            has_present: true,
            is_searched: false,
        }
    }
}

/// Finds the least limits. `open` opens the same logs again each time. The pass is the first reading.
///
/// A limiter whose keys take more memory than they may is left out, unless it is the only one.
///
/// Stores, `max_keys` and `when_full` do not apply: each key has a limiter of its own. Penalties do not apply either, and a
/// warning says so.
///
/// # Errors
///
/// If a log cannot be opened, or the keys take more memory than they may.
pub fn suggest(
    policy: &Policy,
    options: &SuggestOptions,
    open: &mut dyn FnMut() -> Result<Merged, (String, io::Error)>,
) -> Result<(Findings, Pass), SuggestError> {
    let (mut policy, mut too_large) = (policy.clone(), Vec::new());
    loop {
        let why = match suggest_all(&policy, options, open) {
            Err(SuggestError::Memory(why)) if policy.rules.len() > 1 => why,
            found => {
                return found.map(|(mut findings, pass)| {
                    findings.without.extend(too_large);
                    (findings, pass)
                });
            }
        };
        let name = why.limiter();
        let is_of =
            |rule: &Rule| dial::parts(&rule.kind).iter().any(|part| full_name(rule, part) == name);
        policy.rules.retain(|rule| !is_of(rule));
        too_large.push(Without { name: name.to_owned(), why: why.to_string().into() });
    }
}

fn suggest_all(
    policy: &Policy,
    options: &SuggestOptions,
    open: &mut dyn FnMut() -> Result<Merged, (String, io::Error)>,
) -> Result<(Findings, Pass), SuggestError> {
    let (mut subjects, mut without) = subjects(policy, options);
    let mut logs = open().map_err(|(name, error)| SuggestError::Open(name, error))?;
    let pass = survey(&mut subjects, options, &mut logs)?;
    // A line without its cost takes a permit all the same. If all lines do, no number means anything.
    let has_costs = |subject: &mut Subject| {
        subject.lacking.no_cost == 0 || subject.lacking.no_cost < subject.judged()
    };
    without.extend(subjects.extract_if(.., |subject| !has_costs(subject)).map(|subject| Without {
        name: subject.name,
        why: "no request has a number for its `cost`".into(),
    }));
    let failures: Vec<String> =
        logs.failures().iter().map(|(log, error)| format!("{log}: {error}")).collect();
    drop(logs);

    let mut readings = Readings { options, open, lines: pass.lines(), has_changed: false };
    let mut searches: Vec<Search> =
        subjects.iter().map(|subject| Search::new(subject, &options.goal)).collect();
    loop {
        let limits: Vec<Vec<u64>> = searches.iter().map(Search::next).collect();
        if limits.iter().all(Vec::is_empty) {
            break;
        }
        let trials = readings.read(&subjects, &limits, &[])?;
        for ((search, trial), subject) in searches.iter_mut().zip(&trials).zip(&subjects) {
            let points = trial.points(subject);
            if !points.is_empty() {
                search.take(subject, &options.goal, &points);
            }
        }
    }
    let limits: Vec<Vec<u64>> =
        searches.iter().zip(&subjects).map(|(search, subject)| search.curve(subject)).collect();
    let found: Vec<Option<u64>> = searches.iter().map(Search::found).collect();
    let trials = readings.read(&subjects, &limits, &found)?;
    let mut warnings = warnings::of_pass(&pass, &policy.needs());
    if readings.has_changed {
        warnings.push("the logs changed while they were read again: counts may differ".to_owned());
    }
    warnings.extend(policy.rules.iter().filter(|rule| rule.penalty.is_some()).map(without_penalty));
    warnings
        .extend(subjects.iter().zip(&found).filter_map(|(own, found)| capacity_binds(own, *found)));
    // The parts of a limiter lack the same.
    for parts in subjects.chunk_by(|one, next| one.rule.name == next.rule.name) {
        let first = &parts[0];
        warnings.extend(warnings::lacking(&first.rule, first.judged(), &first.lacking));
    }
    let has_no_agents = !pass.has(KeyField::Agent);
    let limiters = subjects
        .iter()
        .zip(&searches)
        .zip(&trials)
        .map(|((subject, search), trial)| {
            suggestion(subject, search, trial, options, has_no_agents)
        })
        .collect();
    let findings = Findings {
        policy: to_paste(policy, &subjects, &searches),
        lines: pass.lines(),
        skipped: pass.skipped(),
        vary: options.vary,
        of: options.goal.of,
        untouched_percent: options.goal.untouched,
        limiters,
        without,
        warnings,
        failures,
    };
    Ok((findings, pass))
}

/// Returns the warning for a limiter whose penalty refuses requests that no limit would.
fn without_penalty(rule: &Rule) -> String {
    format!(
        "limiter \"{}\": its `penalty` is left out, so a limit may deny more than is told here; keep the \
         penalty beside the limit that you choose, and `replay` the policy with both",
        rule.name.escape_debug()
    )
}

/// Returns the warning for a log for which no limit was found, if its `capacity` may be the reason.
fn capacity_binds(subject: &Subject, found: Option<u64>) -> Option<String> {
    match &subject.rule.kind {
        Kind::WeightedLog { limit, capacity } if found.is_none() && *capacity < limit.permits() => {
            Some(format!(
                "limiter \"{}\": its `capacity` stays at {} requests in an interval, and denies all others \
                 whatever the limit is; leave `capacity` out, and it follows the limit",
                subject.name.escape_debug(),
                HumanCount(*capacity),
            ))
        }
        _ => None,
    }
}

fn subjects(policy: &Policy, options: &SuggestOptions) -> (Vec<Subject>, Vec<Without>) {
    let (mut subjects, mut without) = (Vec::new(), Vec::new());
    for rule in &policy.rules {
        for part in dial::parts(&rule.kind) {
            match Subject::new(rule, &part, options.vary, options.is_searched) {
                Ok(subject) => subjects.push(subject),
                Err(why) => without.push(Without { name: full_name(rule, &part), why: why.into() }),
            }
        }
    }
    without.extend(policy.hierarchy.iter().map(|level| Without {
        name: format!("level {}", level.name),
        why:
            "a level of a hierarchy, which depends on the others; replay the policy instead".into(),
    }));
    (subjects, without)
}

/// Returns the name of a part of a limiter.
fn full_name(rule: &Rule, part: &Part) -> String {
    part.name.as_ref().map_or_else(|| rule.name.clone(), |part| format!("{}: {part}", rule.name))
}

/// Returns the limiters with the numbers that were found, as a policy to paste.
fn to_paste(policy: &Policy, subjects: &[Subject], searches: &[Search]) -> String {
    let changes = subjects.iter().zip(searches).flat_map(|(subject, search)| {
        let kind = search.found().and_then(|number| subject.vary.with(&subject.rule.kind, number));
        let fields = kind.map(|kind| subject.vary.fields(&kind)).unwrap_or_default();
        let change = |(field, value, is_added)| Change {
            limiter: subject.rule.name.clone(),
            field: format!("{}{field}", subject.place),
            value,
            is_added,
        };
        fields.into_iter().map(change)
    });
    with_changes(policy.format, &policy.text, &changes.collect::<Vec<_>>())
}

/// Reads the logs for the first time.
fn survey(
    subjects: &mut [Subject],
    options: &SuggestOptions,
    logs: &mut Merged,
) -> Result<Pass, TooMuchMemory> {
    let clock = Arc::new(ManualClock::new());
    let mut pass = Pass::new(options.as_stamped);
    let mut lines = 0_u64;
    pass.read(logs, &mut |line, moment| {
        clock.set_nanos(moment.nanos);
        for subject in subjects.iter_mut() {
            subject.see(line, moment, &clock);
        }
        lines += 1;
        if !lines.is_multiple_of(LINES_PER_LOOK) {
            return Ok(());
        }
        check(options, subjects.iter().map(|subject| (subject, subject.bytes())))
    })?;
    subjects.iter_mut().for_each(Subject::finish);
    Ok(pass)
}

/// Checks the bytes that each subject takes.
fn check<'a>(
    options: &SuggestOptions,
    bytes: impl Iterator<Item = (&'a Subject, u64)> + Clone,
) -> Result<(), TooMuchMemory> {
    let all = bytes.clone().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(bytes));
    match bytes.max_by_key(|(_, bytes)| *bytes) {
        Some((most, bytes)) if all > options.max_memory_bytes => {
            let keys = most.keys.len().max(1) as u64;
            Err(TooMuchMemory::Keys {
                limiter: most.name.clone(),
                key_bytes: bytes / keys,
                keys,
                max_bytes: options.max_memory_bytes,
            })
        }
        _ => Ok(()),
    }
}

/// The readings after the first.
struct Readings<'a> {
    options: &'a SuggestOptions,
    open: &'a mut dyn FnMut() -> Result<Merged, (String, io::Error)>,
    lines: u64,
    has_changed: bool,
}

impl Readings<'_> {
    fn read(
        &mut self,
        subjects: &[Subject],
        limits: &[Vec<u64>],
        found: &[Option<u64>],
    ) -> Result<Vec<Trial>, SuggestError> {
        let found = found.iter().copied().chain(std::iter::repeat(None));
        let mut trials: Vec<Trial> = subjects
            .iter()
            .zip(limits)
            .zip(found)
            .map(|((subject, limits), found)| Trial::new(subject, limits, found))
            .collect();
        let clock = Arc::new(ManualClock::new());
        let mut pass = Pass::new(self.options.as_stamped);
        let mut lines = 0_u64;
        let mut logs = (self.open)().map_err(|(name, error)| SuggestError::Open(name, error))?;
        pass.read(&mut logs, &mut |line, moment| {
            clock.set_nanos(moment.nanos);
            for (trial, subject) in trials.iter_mut().zip(subjects) {
                trial.put(subject, line, &clock);
            }
            lines += 1;
            if !lines.is_multiple_of(LINES_PER_LOOK) {
                return Ok(());
            }
            let bytes = |(trial, subject): (&Trial, &'_ Subject)| {
                subject.bytes().saturating_add(trial.bytes())
            };
            check(self.options, trials.iter().zip(subjects).map(|pair| (pair.1, bytes(pair))))
        })?;
        self.has_changed |= pass.lines() != self.lines;
        Ok(trials)
    }
}

#[cfg(test)]
mod tests;
