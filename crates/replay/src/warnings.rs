//! Reasons for which counts may mislead: of a replay, and of a search for limits.

use indicatif::HumanCount;
use jiff::SignedDuration;
use sluicegate_policy::{Cost, KeyField};

use crate::log::{Absent, forwarded, likely_clients, likely_names, printable};
use crate::policy::{Needs, Rule};
use crate::replay::{Lacking, Pass, Replay};

/// Returns the warnings about a reading of the logs, the worst first. `needs` are the fields that a policy
/// asks for.
#[must_use]
pub fn of_pass(pass: &Pass, needs: &Needs) -> Vec<String> {
    let mut warnings = Vec::new();
    let count = |lines: u64| HumanCount(lines);
    let all = pass.lines() + pass.skipped();
    if pass.lines() == 0 {
        warnings.push("no line was judged".to_owned());
    } else if !pass.is_meaningful() {
        warnings.push("most lines were not judged, or not at their own time".to_owned());
    }
    if pass.misplaced() > 0 {
        warnings.push(format!(
            "{} of {} lines are more than a minute older than a line before them, and were judged at \
             the newest time: a log is not in order of time; {}",
            count(pass.misplaced()),
            count(all),
            order(pass),
        ));
    }
    let late = pass.late() - pass.misplaced();
    if late > pass.lines() / 2 {
        warnings.push(format!(
            "{} of {} lines are up to a minute older than a line before them, and were judged at the \
             newest time: limits of a minute or less see them closer together than they were; {}",
            count(late),
            count(all),
            order(pass),
        ));
    }
    if pass.outliers() > 0 {
        warnings.push(format!(
            "{} of {} lines were set aside: they are more than an hour ahead of those after them",
            count(pass.outliers()),
            count(all),
        ));
    }
    warnings.extend(copies(pass.copies()));
    if pass.lines() > 0 {
        warnings.extend(one_client(pass, needs));
        warnings.extend(pass.absent().iter().map(absent));
        warnings.extend(needs.fields.iter().filter_map(|field| absent_field(*field, pass)));
    }
    warnings
}

/// Returns the warning about logs that look like copies of each other.
fn copies(copies: &[(String, String)]) -> Option<String> {
    let (one, other) = copies.first()?;
    let more = match copies.len() - 1 {
        0 => String::new(),
        1 => ", and so do another two logs".to_owned(),
        more => format!(", and so do {more} more pairs of logs"),
    };
    Some(format!(
        "`{}` and `{}` begin alike and are equally long{more}: of copies, each request counts twice",
        printable(one),
        printable(other),
    ))
}

/// The least lines that make one client of all of them suspicious.
const MANY_LINES: u64 = 100;

/// Returns the warning about logs of one client, which may be a proxy before the server.
fn one_client(pass: &Pass, needs: &Needs) -> Option<String> {
    if pass.lines() < MANY_LINES || !needs.fields.contains(&KeyField::Client) {
        return None;
    }
    let client = pass.sole_client()?;
    let name = forwarded(pass.names(), pass.sought())?;
    Some(format!(
        "all lines have the client {}; `--fields client={}` may be what is meant",
        printable(&client.to_string()),
        printable(name),
    ))
}

/// The windows of `--reorder` that are proposed, in minutes.
const WINDOWS: [i64; 5] = [1, 5, 15, 60, 360];

/// Returns the option that puts the lines in order.
fn order(pass: &Pass) -> String {
    let enough =
        WINDOWS.into_iter().find(|minutes| pass.latest() <= SignedDuration::from_mins(*minutes));
    match enough {
        Some(minutes @ ..60) => format!("`--reorder {minutes}m` puts them in order"),
        Some(minutes) => format!("`--reorder {}h` puts them in order", minutes / 60),
        None => "`--sort` puts them in order".to_owned(),
    }
}

/// Returns the warnings about a replay, the worst first.
#[must_use]
pub fn of_replay(replay: &Replay) -> Vec<String> {
    let count = |lines: u64| HumanCount(lines);
    let mut warnings = of_pass(replay.pass(), replay.needs());
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
        if replay.options().shape && judge.rule().kind.is_common() {
            warnings.push(format!(
                "limiter \"{name}\" is one for all keys, with no line before it: --shape leaves it as it is"
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
        if replay.pass().lines() > 0 && judge.allowed() + judge.denied() == 0 {
            warnings
                .push(format!("limiter \"{name}\" judged no line: its `match` lets none through"));
        }
        warnings.extend(lacking(judge.rule(), judge.allowed() + judge.denied(), judge.lacking()));
        if !judge.is_exact() {
            let kept: u64 = judge.tallies().map(|(_, own)| own.denied).sum();
            warnings.push(format!(
                "limiter \"{name}\" saw about {} keys, more than --tally-keys {}, and kept the counts of \
                 those that it denied most: keys whose counts were not kept were denied {} times in all, \
                 each of them at most {} times",
                count(judge.keys() as u64),
                count(replay.options().tally_keys as u64),
                count(judge.denied().saturating_sub(kept)),
                count(judge.missed()),
            ));
        }
    }
    warnings
}

/// Returns the warning about a header or a column that no line has.
fn absent(Absent { named, meant }: &Absent) -> String {
    let named = printable(&named.to_string());
    let help = match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`--format help` lists the columns of formats with names".to_owned(),
    };
    format!("no line has a value of {named}, which the policy names; {help}")
}

/// Returns the warning about a field that the policy asks for and that no line has. It is left out for
/// fields that are often absent, unless the log has a name that may be theirs.
fn absent_field(field: KeyField, pass: &Pass) -> Option<String> {
    if pass.has(field) {
        return None;
    }
    let near = match field {
        KeyField::Client => likely_clients(pass.names(), pass.sought()),
        field => likely_names(field, pass.names()),
    };
    let is_rare = matches!(field, KeyField::User | KeyField::Referer | KeyField::Agent);
    if is_rare && near.is_empty() {
        return None;
    }
    let name = match field {
        KeyField::StatusClass => "status",
        field => field.name(),
    };
    let help = match near.as_slice() {
        [] => String::new(),
        near => {
            format!("; the log has {}: `--fields {name}=NAME` says which is meant", quoted(near))
        }
    };
    Some(format!("no line has a {name}, which the policy asks for{help}"))
}

/// Returns the error of logs of which no line has a client, if the policy asks for one.
#[must_use]
pub fn no_client(pass: &Pass, needs: &Needs) -> Option<String> {
    if pass.lines() == 0 || pass.has(KeyField::Client) || !needs.fields.contains(&KeyField::Client)
    {
        return None;
    }
    // Runtimes that put each line into an object.
    for (field, of, get) in [
        ("log", "Docker's json-file driver", "jq -r .log LOG"),
        ("MESSAGE", "journalctl", "journalctl -o cat"),
    ] {
        if pass.names().iter().any(|name| name == field) {
            return Some(format!(
                "no line has a client: the lines are in the field `{field}` of {of}; `{get} > access.log` writes \
                 them to a file"
            ));
        }
    }
    // Two fields that Envoy's default has, and one of Istio's.
    let has = |field: &str| pass.names().iter().any(|name| name == field);
    if has("until_upstream") && has("authority") && !has("downstream_local") {
        return Some(
            "no line has a client, so all requests would be one key; Envoy's default text has no address but that of \
             `X-Forwarded-For`, which is `-` here: log %DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%, such as by the name \
             `client_ip` in `json_format`"
                .to_owned(),
        );
    }
    let near = likely_clients(pass.names(), pass.sought());
    let others: Vec<&str> =
        pass.names().iter().map(String::as_str).filter(|name| !pass.sought().has(name)).collect();
    let help = match (near.as_slice(), others.as_slice()) {
        ([], []) => "name the field that has it by --format or --fields".to_owned(),
        ([], names) => {
            let some = &names[..names.len().min(8)];
            format!("`--fields client=NAME` says which field has it; the log has {}", quoted(some))
        }
        (near, _) => format!(
            "`--fields client={}` may be what is meant; names in the log that may be a client's: {}",
            printable(near[0]),
            quoted(near)
        ),
    };
    Some(format!("no line has a client, so all requests would be one key; {help}"))
}

/// Returns the help for logs of which no line has a time, and that have fields of these names.
#[must_use]
pub fn no_time(names: &[String]) -> String {
    let is_likely = |name: &&str| {
        let name = name.to_ascii_lowercase();
        ["time", "date", "stamp"].iter().any(|part| name.contains(part))
            || ["ts", "at"].contains(&name.rsplit(['.', '_']).next().unwrap_or_default())
    };
    let (likely, others): (Vec<&str>, Vec<&str>) =
        names.iter().map(String::as_str).partition(is_likely);
    let some: Vec<&str> = likely.into_iter().chain(others).take(8).collect();
    let has =
        if some.is_empty() { String::new() } else { format!("; the log has {}", quoted(&some)) };
    format!("help: `--fields time=NAME` says which field has it{has}")
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{}`", printable(name))).collect();
    names.join(", ")
}

/// Returns the warnings about lines that lack a value or cost more than it, of the `all` lines that a limiter judged.
pub fn lacking(rule: &Rule, all: u64, lacking: &Lacking) -> impl Iterator<Item = String> {
    let name = &rule.name;
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
    let rounded = (lacking.rounded > 0).then(|| {
        let times = match &rule.cost.0 {
            Cost::Named(own) => own.times,
            _ => 1,
        };
        format!(
            "limiter \"{name}\": {} of {} costs have fractions and were rounded up; `times = {}` with ten times \
             the limit keeps one digit more",
            HumanCount(lacking.rounded),
            HumanCount(all),
            times.saturating_mul(10),
        )
    });
    key.into_iter().chain(address).chain(cost).chain(rounded)
}
