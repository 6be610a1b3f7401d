//! Levels of a hierarchy: a request passes all of them, or takes nothing from any.

use std::collections::BTreeMap;

use sluicegate_policy::LevelPolicy;

use super::ideal::{Ideal, Refusal};

/// A request: its time, and its values by their names.
pub(crate) struct Request {
    pub(crate) at: i128,
    pub(crate) fields: BTreeMap<&'static str, String>,
    pub(crate) amounts: BTreeMap<&'static str, u64>,
}

/// The counts of a level: what each key was admitted, and refused by this level.
pub(crate) type Counts = BTreeMap<String, (u64, u64)>;

/// Puts requests to levels in turn. Each has all the fields of the keys.
pub(crate) fn replay(levels: &[LevelPolicy], requests: &[Request]) -> Vec<Counts> {
    let mut counts = vec![Counts::new(); levels.len()];
    let mut limiters: Vec<BTreeMap<String, Ideal>> =
        levels.iter().map(|_| BTreeMap::new()).collect();
    for request in requests {
        let now = request.at;
        let asked: Vec<(String, u64)> = levels
            .iter()
            .map(|level| {
                let values: Vec<String> = level
                    .key
                    .iter()
                    .map(|name| {
                        request.fields[name.as_str()].replace('%', "%25").replace('/', "%2F")
                    })
                    .collect();
                let sum = level.counts.iter().map(|name| request.amounts[name.as_str()]).sum();
                (values.join("/"), if level.counts.is_empty() { 1 } else { sum })
            })
            .collect();
        let mut worst: Option<(usize, Option<i128>)> = None;
        for (place, (key, permits)) in asked.iter().enumerate() {
            let kind = kind_of(&levels[place], key);
            let limiter =
                limiters[place].entry(key.clone()).or_insert_with(|| Ideal::new(kind, now));
            let wait = match limiter.refusal(now, *permits).filter(|_| *permits > 0) {
                None => continue,
                Some(Refusal::Wait(wait)) => Some(wait),
                Some(Refusal::Never { .. }) => None,
            };
            // No time is longer than one that does not end.
            let is_longer = match worst {
                None => true,
                Some((_, None)) => false,
                Some((_, Some(other))) => wait.is_none_or(|wait| wait > other),
            };
            if is_longer {
                worst = Some((place, wait));
            }
        }
        for (place, (key, permits)) in asked.into_iter().enumerate() {
            match worst {
                None => {
                    if permits > 0 {
                        limiters[place].get_mut(&key).unwrap().take(now, permits);
                    }
                    counts[place].entry(key).or_default().0 += 1;
                }
                Some((by, _)) if by == place => counts[place].entry(key).or_default().1 += 1,
                Some(_) => {}
            }
        }
    }
    counts
}

/// Returns the numbers of a key: of patterns only those that end in a star, as a whole segment.
fn kind_of<'l>(level: &'l LevelPolicy, key: &str) -> &'l sluicegate_policy::Kind {
    let exact = level.overrides.iter().find(|own| own.pattern == key);
    let by_star = level.overrides.iter().find(|own| {
        let rest = own.pattern.strip_suffix('*').and_then(|start| key.strip_prefix(start));
        rest.is_some_and(|rest| !rest.contains('/'))
    });
    exact.or(by_star).map_or(&level.kind, |own| &own.kind)
}
