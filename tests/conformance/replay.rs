//! Replays the cases of a file and collects everything that came out wrong.

use std::thread;

use sluicegate::ManualClock;

use super::subject::Subject;
use super::vector_file::{File, Tally, differences, label, parse, scaled};
use super::vectors::Case;

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
        tally.differences +=
            step.peer.as_ref().map_or(0, |peer| differences(peer, &step.expect, &at));
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
