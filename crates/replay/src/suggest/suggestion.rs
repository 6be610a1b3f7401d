//! The finding about one limiter.

use std::collections::HashMap;

use bstr::{BStr, BString};
use jiff::Timestamp;
use sluicegate_policy::{KeyField, KeyPart};

use super::dial::Method;
use super::search::{self, Search};
use super::survey::{Facts, Subject};
use super::trial::Trial;
use super::{HitKey, Share, SuggestOptions, Suggestion};
use crate::policy::readable;

/// The most keys that the page lists.
const MOST_NEEDIEST: usize = 100;

/// Returns the finding about one limiter.
pub(super) fn suggestion(
    subject: &Subject,
    search: &Search,
    trial: &Trial,
    options: &SuggestOptions,
    has_no_agents: bool,
) -> Suggestion {
    let suggested = search.found();
    let instant = |nanos: u64| Timestamp::from_nanosecond(i128::from(nanos)).unwrap_or_default();
    let key = |key: &BStr, facts: &Facts, denied: u64| {
        let is_computed = subject.method != Method::Search && facts.need < u64::MAX;
        HitKey {
            key: readable(key),
            denied,
            requests: facts.requests,
            least_limit: is_computed.then_some(facts.need),
            profile: trial.profile(key).map(|own| own.of_logs(has_no_agents)),
            first: instant(facts.first),
            last: instant(facts.last),
        }
    };
    let mut hit: Vec<HitKey> = suggested
        .into_iter()
        .flat_map(|limit| trial.hit_by(limit))
        .filter_map(|(name, denied)| Some(key(name, subject.keys.get(name)?, denied)))
        .collect();
    hit.sort_by(|a, b| b.denied.cmp(&a.denied).then_with(|| a.key.cmp(&b.key)));
    let neediest = if subject.method == Method::Search {
        hit.iter().take(MOST_NEEDIEST).cloned().collect()
    } else {
        let denied: HashMap<&BStr, u64> =
            suggested.into_iter().flat_map(|limit| trial.hit_by(limit)).collect();
        let mut facts: Vec<_> = subject.keys.iter().collect();
        let order = |(a, x): &(&BString, &Facts), (b, y): &(&BString, &Facts)| {
            y.need.cmp(&x.need).then_with(|| a.cmp(b))
        };
        if facts.len() > MOST_NEEDIEST {
            facts.select_nth_unstable_by(MOST_NEEDIEST, order);
            facts.truncate(MOST_NEEDIEST);
        }
        facts.sort_unstable_by(order);
        let with_denied = |(name, facts): (&BString, &Facts)| {
            let name = BStr::new(&**name);
            key(name, facts, denied.get(name).copied().unwrap_or(0))
        };
        facts.into_iter().map(with_denied).collect()
    };
    hit.truncate(if options.top == 0 { usize::MAX } else { options.top });
    let curve = trial.points(subject);
    Suggestion {
        name: subject.name.clone(),
        policy: subject.rule.kind.to_string(),
        keys: subject.keys.len() as u64,
        requests: subject.requests,
        interval: options.vary.interval(&subject.rule.kind),
        present: options.has_present.then_some(subject.present),
        suggested,
        suggested_policy: suggested
            .and_then(|number| options.vary.with(&subject.rule.kind, number))
            .map(|kind| kind.to_string()),
        may_hit: options.goal.most_hit(match options.goal.of {
            Share::Keys => subject.keys.len() as u64,
            Share::Requests => subject.requests,
        }),
        is_least: subject.vary.is_monotone(&subject.rule, options.goal.of),
        gap: search::gap(subject),
        overridden: subject.overridden,
        knee: search::knee(subject, &curve),
        is_by_client: subject.rule.key.iter().any(is_client),
        lacking: subject.lacking.if_any(),
        curve,
        hit,
        neediest,
    }
}

/// Returns true for the client, and for its network.
fn is_client(part: &KeyPart) -> bool {
    matches!(part, KeyPart::Field(KeyField::Client, _) | KeyPart::Client(_))
}
