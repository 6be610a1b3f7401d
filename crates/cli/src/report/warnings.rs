//! Reasons for which the counts of a replay may mislead.

use indicatif::HumanCount;

use crate::log::{Absent, printable};
use crate::replay::{Lacking, Replay};

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
    let late = replay.late() - replay.misplaced();
    if late > replay.lines() / 2 {
        warnings.push(format!(
            "{} of {} lines are up to a minute older than a line before them, and were judged at the \
             newest time: limits of a minute or less see them closer together than they were; sort \
             the log by time",
            count(late),
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
    if replay.lines() > 0 {
        warnings.extend(replay.absent().iter().map(absent));
    }
    for judge in replay.judges() {
        let name = &judge.rule().name;
        if judge.rule().shadow {
            warnings.push(format!(
                "limiter \"{name}\" has `shadow: true`: what is counted as denied it would deny"
            ));
        } else if judge.rule().wait.is_some() && !replay.options().shape {
            let are_offences = judge.rule().penalty.as_ref().is_some_and(|own| own.of_refusals);
            warnings.push(format!(
                "limiter \"{name}\" has `wait`, which a replay follows only with --shape: requests \
                 that would wait are counted as denied{}",
                if are_offences { ", and as offences" } else { "" }
            ));
        }
        if let Some(penalty) = judge.penalty()
            && penalty.not_noted > 0
        {
            warnings.push(format!(
                "limiter \"{name}\": {} of {} offences were not noted, as its `penalty` remembers no \
                 more than `max_keys` keys",
                count(penalty.not_noted),
                count(penalty.offences + penalty.not_noted),
            ));
        }
        if replay.lines() > 0 && judge.allowed() + judge.denied() == 0 {
            warnings
                .push(format!("limiter \"{name}\" judged no line: its `match` lets none through"));
        }
        warnings.extend(lacking(name, judge.allowed() + judge.denied(), judge.lacking()));
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

/// Returns the warning about a header or a column that no line has.
pub(crate) fn absent(Absent { named, meant }: &Absent) -> String {
    let named = printable(&named.to_string());
    let help = match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "see --format".to_owned(),
    };
    format!("no line has a value of {named}, which the policy names; {help}")
}

/// Returns the warnings about lines that lack a value, of the `all` lines that a limiter judged.
pub(crate) fn lacking(name: &str, all: u64, lacking: &Lacking) -> impl Iterator<Item = String> {
    let no_key = lacking.denied + lacking.admitted + lacking.shared;
    let key = (no_key > 0).then(|| {
        let mut parts = Vec::new();
        for (count, what) in [
            (lacking.denied, "were denied"),
            (lacking.admitted, "were admitted without a limit"),
            (lacking.shared, "share a key"),
        ] {
            if count > 0 {
                parts.push(format!("{} {what}", HumanCount(count)));
            }
        }
        format!(
            "limiter \"{name}\": {} of {} lines have no key of their own: {}, as the policy says",
            HumanCount(no_key),
            HumanCount(all),
            parts.join(", "),
        )
    });
    let address = (lacking.no_address > 0).then(|| {
        format!(
            "limiter \"{name}\": the clients of {} of {} lines are not addresses, and are keys as they \
             are written",
            HumanCount(lacking.no_address),
            HumanCount(all),
        )
    });
    let cost = (lacking.no_cost > 0).then(|| {
        format!(
            "limiter \"{name}\": {} of {} lines have no number for their cost, and cost what \
             `missing` says",
            HumanCount(lacking.no_cost),
            HumanCount(all),
        )
    });
    key.into_iter().chain(address).chain(cost)
}
