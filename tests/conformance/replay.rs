//! Replays the cases of a file and collects everything that came out wrong.

use std::thread;

use serde_json::{Value, json};
use sluicegate::ManualClock;

use super::subject::Subject;
use super::vectors::{Case, Facts, File, Step, parse};

/// Counts of what a file made us do, so that an empty one cannot pass.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) cases: usize,
    /// Calls with their results, each at every scale of its case; a set-up that
    /// is refused is one.
    pub(crate) steps: usize,
    /// Results in which the peer differs.
    pub(crate) differences: usize,
}

/// Replays every case of `json`.
///
/// # Panics
///
/// If a result is not the expected one, naming all such cases and steps.
pub(crate) fn replay(json: &str) -> Tally {
    let file: File<Case> = parse(json);
    let mut tally = Tally::default();
    let mut wrong = Vec::new();
    for case in &file.cases {
        let is_known = file.source.files.iter().any(|path| path.ends_with(&case.from));
        assert!(is_known || case.from.contains('@'), "{case:?}");
        tally.cases += 1;
        for &scale in &case.scales {
            match &case.refused {
                Some(field) => refused(case, field, &mut tally, &mut wrong),
                None => steps(case, scale, &mut tally, &mut wrong),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), tally.steps, wrong.join("\n"));
    tally
}

/// Names the step in which a check that needs no vector has failed.
struct NamedOnPanic<'at>(&'at str);

impl Drop for NamedOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("in {}", self.0);
        }
    }
}

/// Returns the name of a case in the message of a failure.
pub(crate) fn label(name: &str, note: &str) -> String {
    if note.is_empty() { name.to_owned() } else { format!("{name} ({note})") }
}

fn refused(case: &Case, field: &str, tally: &mut Tally, wrong: &mut Vec<String>) {
    assert!(case.steps.is_empty(), "{}: a limiter that is refused has no steps", case.name);
    assert_eq!(case.peer.is_some(), case.why.is_some(), "{}", case.name);
    tally.steps += 1;
    tally.differences += usize::from(case.peer.is_some());
    match Subject::build(&case.limiter, 1, &ManualClock::new()) {
        Err(error) if error.field() == field => {}
        Err(error) => wrong.push(format!("{}: refused because {error}", case.name)),
        Ok(_) => wrong.push(format!("{}: not refused", case.name)),
    }
}

fn steps(case: &Case, scale: u64, tally: &mut Tally, wrong: &mut Vec<String>) {
    assert!(!case.steps.is_empty(), "{}: no steps", case.name);
    let clock = ManualClock::at(case.start_nanos * scale);
    let subject = match Subject::build(&case.limiter, scale, &clock) {
        Ok(subject) => subject,
        Err(error) => return wrong.push(format!("{} x{scale}: {error}", case.name)),
    };
    for (index, step) in case.steps.iter().enumerate() {
        let name = label(&case.name, &case.note);
        let at = format!("{name} x{scale}, step {index} at {} ns", step.at_nanos);
        let _named = NamedOnPanic(&at);
        assert_eq!(step.peer.is_some(), step.why.is_some(), "{at}");
        tally.differences += step.peer.as_ref().map_or(0, |peer| differences(peer, step, &at));
        for _ in 0..step.times {
            tally.steps += 1;
            let found = subject.run(step, scale, &clock);
            for (name, expected) in &step.expect {
                let expected = scaled(name, expected, scale);
                if found.get(name) != Some(&expected) {
                    wrong.push(format!("{at}: {name} must be {expected}, found {found:?}"));
                }
            }
        }
    }
}

/// Counts the peer's results that differ from ours; it is a fault to list one that does not.
fn differences(peer: &Facts, step: &Step, at: &str) -> usize {
    for (name, value) in peer {
        let ours = step.expect.get(name);
        assert!(ours.is_some_and(|ours| ours != value), "{at}: {name} is no difference");
    }
    peer.len()
}

fn scaled(name: &str, value: &Value, scale: u64) -> Value {
    match value.as_u64() {
        Some(nanos) if name.ends_with("_nanos") => json!(nanos * scale),
        _ => value.clone(),
    }
}
