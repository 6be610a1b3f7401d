//! Reasons for which the counts of a replay may mislead.

use indicatif::HumanCount;

use crate::replay::Replay;

/// Returns the warnings, the worst first.
pub(super) fn warnings(replay: &Replay) -> Vec<String> {
    let mut warnings = Vec::new();
    let count = |lines: u64| HumanCount(lines);
    let all = replay.lines() + replay.skipped();
    if replay.lines() == 0 {
        warnings.push("no line was judged".to_owned());
    } else if !replay.is_meaningful() {
        warnings.push("most lines were not judged, or not at their own time".to_owned());
    }
    if replay.misplaced() > 0 {
        warnings.push(format!(
            "{} of {} lines are more than a minute older than a line before them, and were judged at \
             the newest time: a log is not in order of time",
            count(replay.misplaced()),
            count(all),
        ));
    }
    if replay.outliers() > 0 {
        warnings.push(format!(
            "{} of {} lines were set aside: they are more than an hour ahead of those after them",
            count(replay.outliers()),
            count(all),
        ));
    }
    for judge in replay.judges() {
        let name = &judge.rule().name;
        if judge.rule().shadow {
            warnings.push(format!(
                "limiter \"{name}\" has `shadow: true`: what is counted as denied it would deny"
            ));
        } else if judge.rule().wait.is_some() && !replay.options().shape {
            warnings.push(format!(
                "limiter \"{name}\" has `wait`, which a replay follows only with --shape: requests \
                 that would wait are counted as denied"
            ));
        }
        if replay.lines() > 0 && judge.allowed() + judge.denied() == 0 {
            warnings
                .push(format!("limiter \"{name}\" judged no line: its `match` lets none through"));
        }
        if !judge.is_exact() {
            warnings.push(format!(
                "limiter \"{name}\" saw about {} keys, more than --tally-keys {}: a key that is not \
                 listed may have been denied up to {} times",
                count(judge.keys() as u64),
                count(replay.options().tally_keys as u64),
                count(judge.missed()),
            ));
        }
    }
    warnings
}
