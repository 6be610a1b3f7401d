//! A replay in sentences: what was asked, and what each limiter would have done.

use std::collections::BTreeMap;

use indicatif::HumanCount;
use sluicegate_policy::{KeyField, KeyPart};
use sluicegate_replay::log::printable;
use sluicegate_replay::replay::{Caller, Judge, Replay};

use super::json::{LimiterSummary, Summary};
use super::levels::LevelSummary;
use super::profile::short_agent;
use super::text::percent;

/// The most user agents that a sentence names.
const NAMED: usize = 2;

impl Summary {
    /// Returns a sentence about each limiter and each level.
    pub(super) fn verdicts(&self, replay: &Replay) -> Vec<(String, String)> {
        let pairs = self.limiters.iter().zip(replay.judges());
        let has_agents = replay.pass().has(KeyField::Agent);
        let verdict = |(limiter, judge): (&LimiterSummary, &Judge)| {
            (printable(&limiter.name), verdict(limiter, judge, has_agents))
        };
        let all = self.hierarchy.as_ref().map_or(0, |levels| levels.allowed + levels.denied);
        let levels = self.hierarchy.iter().flat_map(|hierarchy| &hierarchy.levels);
        let of_level = |level: &LevelSummary| (printable(&level.name), of_level(level, all));
        pairs.map(verdict).chain(levels.map(of_level)).collect()
    }
}

fn of_level(level: &LevelSummary, all: u64) -> String {
    let [keys, hit] = [level.keys, level.keys_hit].map(|count| HumanCount(count as u64));
    let [denied, requests] = [level.denied, all].map(HumanCount);
    match level.denied {
        0 => format!("would have denied none of {requests} requests of {keys} keys"),
        _ => format!(
            "of {keys} keys it would have refused {hit}, and denied {denied} of {requests} requests ({} %)",
            percent(level.denied, all)
        ),
    }
}

fn verdict(limiter: &LimiterSummary, judge: &Judge, has_agents: bool) -> String {
    let all = limiter.allowed + limiter.denied;
    if all == 0 {
        return "judged no request".to_owned();
    }
    if judge.lacking().no_cost == all {
        return "counts nothing that the logs have: no request has a number for its `cost`"
            .to_owned();
    }
    let (denied, requests) = (HumanCount(limiter.denied), HumanCount(all));
    if let Some(waits) = &limiter.waits {
        let delayed = HumanCount(waits.waits.delayed);
        return format!(
            "{delayed} of {requests} requests would have waited, and {denied} been denied"
        );
    }
    let share = percent(limiter.denied, all);
    if judge.rule().key == [KeyField::All] {
        return match limiter.denied {
            0 => format!("would have denied none of {requests} requests"),
            _ => format!("would have denied {denied} of {requests} requests ({share} %)"),
        };
    }
    let what = what(&judge.rule().key, limiter.keys != 1);
    // Of more keys than are counted one by one, the numbers are estimates.
    let (about, least) = if limiter.tally.is_some() { ("about ", "at least ") } else { ("", "") };
    let keys = HumanCount(limiter.keys as u64);
    if limiter.denied == 0 {
        return format!("would have refused none of {about}{keys} {what}");
    }
    let hit = HumanCount(limiter.keys_hit as u64);
    let mut text = format!(
        "of {about}{keys} {what} it would have refused {least}{hit}, and denied {denied} of {requests} requests ({share} %)"
    );
    let callers = if has_agents { callers(judge) } else { String::new() };
    if is_by_client(&judge.rule().key) && !callers.is_empty() {
        text += ": ";
        text += &callers;
    }
    text
}

/// Returns the callers that were refused in words, the most frequent kind first.
fn callers(judge: &Judge) -> String {
    let mut kinds: BTreeMap<Caller, (usize, BTreeMap<String, usize>)> = BTreeMap::new();
    for profile in judge.profiles() {
        let Some(caller) = profile.caller() else { continue };
        let (count, agents) = kinds.entry(caller).or_default();
        *count += 1;
        *agents.entry(short_agent(&profile.agent().to_string())).or_default() += 1;
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let words = kinds.into_iter().map(|(caller, (count, agents))| {
        let mut agents: Vec<(String, usize)> = agents.into_iter().collect();
        agents.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let has_more = agents.len() > NAMED;
        let mut named: Vec<String> =
            agents.into_iter().take(NAMED).map(|(agent, _)| printable(&agent)).collect();
        named.extend(has_more.then(|| "...".to_owned()));
        let named = match caller {
            Caller::Nameless | Caller::Many => String::new(),
            _ => format!(" ({})", named.join(", ")),
        };
        format!("{} {}{named}", HumanCount(count as u64), caller.in_words(count == 1))
    });
    words.collect::<Vec<_>>().join("; ")
}

fn is_by_client(key: &[KeyPart]) -> bool {
    key.iter().any(|part| matches!(part, KeyPart::Field(KeyField::Client, _) | KeyPart::Client(_)))
}

/// Returns the word for keys.
fn what(key: &[KeyPart], are_many: bool) -> &'static str {
    match (key, are_many) {
        ([KeyPart::Field(KeyField::Client, _)], true) => "clients",
        ([KeyPart::Field(KeyField::Client, _)], false) => "client",
        ([KeyPart::Client(_)], true) => "networks",
        ([KeyPart::Client(_)], false) => "network",
        ([KeyPart::Field(KeyField::User, _)], true) => "users",
        ([KeyPart::Field(KeyField::User, _)], false) => "user",
        (_, true) => "keys",
        (_, false) => "key",
    }
}
