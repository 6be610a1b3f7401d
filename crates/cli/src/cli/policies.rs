//! The policy that a replay is given, or several of them side by side.

use std::path::{Path, PathBuf};

use sluicegate_replay::log::Source;
use sluicegate_replay::policy::Policy;

use super::Failure;
use super::inputs::load;
use crate::policy::input::{self, PolicyArgs};

/// Reads policies into one, in whose limiters and levels each name begins with that of its policy; or one
/// policy as it is; or the bundled one. Returns its name too.
pub(super) fn load_all(
    paths: &[PathBuf],
    read: &PolicyArgs,
    logs: &[Source],
) -> Result<(String, Policy), Failure> {
    let (first, others) = match paths {
        [] => return load(None, read, logs),
        [path] => return load(Some(path), read, logs),
        [first, others @ ..] => (first, others),
    };
    if paths.iter().filter(|path| input::is_stdin(path)).count() > 1 {
        return Err(Failure::Use("standard input is one policy only".to_owned()));
    }
    let (mut names, mut all) = load(Some(first), read, logs)?;
    prefix(&mut all, &short_name(first, paths));
    for path in others {
        let (name, mut policy) = load(Some(path), read, logs)?;
        prefix(&mut policy, &short_name(path, paths));
        if !policy.hierarchy.is_empty() && !all.hierarchy.is_empty() {
            return Err(Failure::Use(format!(
                "{names} and {name} both have levels (`hierarchy`), and a request passes one hierarchy; \
                 replay them one after the other"
            )));
        }
        names = format!("{names}, {name}");
        all.rules.append(&mut policy.rules);
        all.hierarchy.append(&mut policy.hierarchy);
        all.text = format!("{}\n# {name}\n{}", all.text, policy.text);
    }
    let mut seen: Vec<&str> = all.rules.iter().map(|rule| rule.name.as_str()).collect();
    seen.sort_unstable();
    match seen.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok((names, all)),
        Some(pair) => Err(Failure::Use(format!(
            "two limiters are called \"{}\": the same policy is given twice",
            pair[0]
        ))),
    }
}

/// Returns the name of the file without its end; or the whole path, if others have the same name.
fn short_name(path: &Path, paths: &[PathBuf]) -> String {
    let stem = |path: &Path| path.file_stem().map(std::ffi::OsStr::to_owned);
    let is_alone = paths.iter().filter(|other| stem(other) == stem(path)).count() == 1;
    match stem(path) {
        Some(name) if is_alone && !input::is_stdin(path) => name.to_string_lossy().into_owned(),
        _ if input::is_stdin(path) => "standard input".to_owned(),
        _ => path.display().to_string(),
    }
}

fn prefix(policy: &mut Policy, name: &str) {
    for rule in &mut policy.rules {
        rule.name = format!("{name}: {}", rule.name);
    }
    for level in &mut policy.hierarchy {
        level.name = format!("{name}: {}", level.name);
    }
}
