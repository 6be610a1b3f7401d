//! The same replay done slowly, to compare with: every limiter by its textbook
//! definition, in rational numbers of any size, on one thread, without the
//! engine. It shares with the command only the reading of logs and policies.
//!
//! A limiter here is a pure question, whether so many permits fit at some time if
//! nothing else is granted until then, and a record of what was granted. The wait of
//! a refused request is found by asking about later times.

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::time::Duration;

use jiff::Timestamp;
use num_rational::BigRational;
use num_traits::One;
use sluicegate::keyed::WhenFull;
use sluicegate_cli::report::{
    ClassSummary, KeySummary, LimiterSummary, PenaltySummary, SharesSummary, StampSummary, Summary,
};
use sluicegate_replay::log::Line;
use sluicegate_replay::policy::{Kind, Policy, Rule};
use sluicegate_replay::replay::{Lacking, Tally};

#[path = "reference/buckets.rs"]
mod buckets;
#[path = "reference/common.rs"]
mod common;
#[path = "reference/days.rs"]
mod days;
#[path = "reference/ideal.rs"]
mod ideal;
#[path = "reference/levels.rs"]
#[allow(dead_code, reason = "only one of the programs that share the reference has levels")]
pub(crate) mod levels;
#[path = "reference/offenders.rs"]
mod offenders;
#[path = "reference/requests.rs"]
mod requests;
#[path = "reference/stores.rs"]
mod stores;
#[path = "reference/windows.rs"]
mod windows;

use self::common::Common;
use self::ideal::Ideal;
use self::offenders::Offender;
use self::requests::Subject;
use self::stores::Full;

const HUNDRED_YEARS_NANOS: i128 = 100 * 31_557_600 * 1_000_000_000;

const SECOND_NANOS: i128 = 1_000_000_000;

/// A line, and the stamp at which it is judged: its own or the newest of its log.
struct Stamped {
    text: Vec<u8>,
    time: i128,
    stamp: i128,
}

/// Replays the logs, and lists every key that was denied. The lines of a second are spread over it,
/// unless they are to be judged `as_stamped`. Knows no lines that are far ahead of others. Also returns
/// the number of requests for whose keys each limiter's store had no space.
#[expect(clippy::too_many_lines, reason = "one step after the other, as the definitions have them")]
pub(crate) fn replay(
    policy: &Policy,
    logs: Vec<Box<dyn BufRead + Send>>,
    as_stamped: bool,
) -> io::Result<(Summary, Vec<u64>)> {
    let mut rules: Vec<(&Rule, OfRule)> =
        policy.rules.iter().map(|rule| (rule, OfRule::default())).collect();
    let (mut lines, mut skipped, mut late, mut misplaced) = (0, 0, 0, 0);
    let mut all = Vec::new();
    for log in logs {
        skipped += read(log, &mut all)?;
    }
    // Of one time, the lines of an earlier log are first.
    all.sort_by_key(|line| line.stamp);
    let first = all.first().map_or(0, |line| line.stamp);

    let mut before = Before::default();
    for second in all.chunk_by(|one, next| one.stamp == next.stamp) {
        let stamp = second[0].stamp;
        if stamp - first > HUNDRED_YEARS_NANOS {
            skipped += second.len() as u64;
            continue;
        }
        let times = before.times(stamp, second.len() as i128);
        for (read, after) in second.iter().zip(times) {
            let now = if as_stamped { stamp } else { stamp + after };
            lines += 1;
            late += u64::from(read.time < stamp);
            misplaced += u64::from(stamp - read.time > 60 * SECOND_NANOS);
            let mut space = Vec::new();
            let line = Line::parse(&read.text).expect("it was read before");
            let line = line.with_canonical_client(&mut space);
            for (rule, of_rule) in &mut rules {
                match requests::subject(rule, &line, &mut of_rule.lacking) {
                    Subject::NotJudged => {}
                    Subject::Admitted => of_rule.admitted += 1,
                    Subject::Denied => of_rule.denied += 1,
                    Subject::Key(key, permits) => {
                        let kind = rule.kind_of(key.join("\n").as_bytes());
                        let offender = of_rule.offenders.entry(key.clone()).or_default();
                        if permits > 0 && offender.is_penalized(now) {
                            let key = of_rule.keys.get_mut(&key).expect("it has offended");
                            of_rule.penalty.denied += 1;
                            key.denied += 1;
                            key.seen = (key.seen.0, stamp);
                            continue;
                        }
                        if of_rule.common.is_none() {
                            of_rule.common = Common::new(kind, now);
                        }
                        if let Some(common) = &mut of_rule.common {
                            let granted = common.judge(&key.join(" "), now, permits);
                            let own =
                                of_rule.keys.entry(key).or_insert_with(|| Key::new(kind, now));
                            own.count(granted.as_ref().map(|granted| granted.is_borrowed));
                            own.seen = (own.seen.0.min(stamp), stamp);
                            let refused = granted.is_none().then_some(true);
                            if let Some(penalty) = &rule.penalty
                                && offenders::is_offence(penalty, &line, refused)
                            {
                                offender.offend(penalty.rule, now, &mut of_rule.penalty);
                            }
                            continue;
                        }
                        let is_full = stores::is_full(rule, &of_rule.keys, &key, now, permits);
                        let key = of_rule.keys.entry(key).or_insert_with(|| Key::new(kind, now));
                        let denied = key.denied;
                        if !is_full {
                            key.judge(now, permits);
                        } else if of_rule.full.admits(rule.store.when_full, now, permits) {
                            key.allowed += 1;
                        } else {
                            key.denied += 1;
                        }
                        key.seen = (key.seen.0.min(stamp), stamp);
                        // A lack of space is no offence; a refusal by the shared bucket is, if it could have granted
                        // the request.
                        let is_shared = matches!(rule.store.when_full, WhenFull::Share(quota) if permits <= quota.burst());
                        let refused = (key.denied > denied).then_some(!is_full || is_shared);
                        if let Some(penalty) = &rule.penalty
                            && offenders::is_offence(penalty, &line, refused)
                        {
                            offender.offend(penalty.rule, now, &mut of_rule.penalty);
                        }
                    }
                }
            }
        }
    }

    let full = rules.iter().map(|(_, of_rule)| of_rule.full.requests).collect();
    let limiters = rules.into_iter().map(|(rule, of_rule)| {
        let OfRule { keys, admitted, denied, lacking, penalty, .. } = of_rule;
        let mut denied_by = vec![0; rule.kind.parts().len()];
        for key in keys.values() {
            denied_by.iter_mut().zip(&key.denied_by).for_each(|(sum, denied)| *sum += denied);
        }
        let tally = |(key, own): (&Vec<String>, &Key)| {
            let Key { allowed, borrowed, denied, .. } = *own;
            (key.join(" "), Tally { allowed, borrowed, denied, ..Tally::default() })
        };
        let tallies: Vec<(String, Tally)> = keys.iter().map(tally).collect();
        let tallies = || tallies.iter().map(|(key, tally)| (key.clone(), tally));
        let shares = SharesSummary::new(&rule.kind, tallies(), 0);
        let classes = ClassSummary::all(&rule.kind, tallies());
        let keys = keys.into_iter().map(|(key, Key { allowed, denied, seen, .. })| KeySummary {
            key: key.join(" "),
            denied,
            allowed,
            first_seen: Timestamp::from_nanosecond(seen.0).unwrap(),
            last_seen: Timestamp::from_nanosecond(seen.1).unwrap(),
            denied_error: 0,
            profile: None,
        });
        let summary = LimiterSummary::new(rule, keys, &denied_by, 0);
        LimiterSummary {
            allowed: summary.allowed + admitted,
            denied: summary.denied + denied,
            penalty: rule.penalty.as_ref().map(|_| penalty),
            shares,
            classes,
            lacking: (lacking != Lacking::default()).then_some(lacking),
            ..summary
        }
    });
    let summary = Summary {
        lines,
        skipped,
        late,
        misplaced,
        outliers: 0,
        stamps: StampSummary { resolution_nanos: SECOND_NANOS as u64, spread: !as_stamped },
        limiters: limiters.collect(),
        hierarchy: None,
        incomplete: false,
        warnings: Vec::new(),
    };
    Ok((summary, full))
}

/// The second before: its stamp, its number of lines, and the time by which its steps were too long.
#[derive(Default)]
struct Before {
    stamp: i128,
    lines: i128,
    over: i128,
}

impl Before {
    /// Returns the time of each line after the stamp. Steps are rounded up, and what that adds goes to
    /// the next second if it has as many lines; unless lines would leave their second.
    fn times(&mut self, stamp: i128, lines: i128) -> Vec<i128> {
        let step = (SECOND_NANOS + lines - 1) / lines;
        let is_next = self.lines == lines && self.stamp + SECOND_NANOS == stamp;
        let steps = |from: i128| (0..lines).map(|line| from + line * step).collect::<Vec<_>>();
        let is_within = |times: &Vec<i128>| times.iter().all(|after| *after < SECOND_NANOS);
        let mut times = steps(if is_next { self.over } else { 0 });
        if !is_within(&times) {
            times = steps(0);
        }
        // Rounded up to 512 ns, of which a second has a whole number.
        let mut over = (times[0] + lines * step - SECOND_NANOS + 511) / 512 * 512;
        if !is_within(&times) {
            times = (0..lines).map(|line| line * SECOND_NANOS / lines).collect();
            over = 0;
        }
        *self = Before { stamp, lines, over };
        times
    }
}

/// Reads the lines of a log, and returns the number of those that cannot be judged.
fn read(log: impl BufRead, all: &mut Vec<Stamped>) -> io::Result<u64> {
    let mut skipped = 0;
    let mut newest = None;
    for text in log.split(b'\n') {
        let text = text?;
        if text.trim_ascii().is_empty() {
            continue;
        }
        let text = text.strip_suffix(b"\r").unwrap_or(&text);
        let time = Line::parse(text).ok().map(|line| line.time.as_nanosecond());
        let stamp = time.max(newest).filter(|stamp| *stamp >= 0);
        let (Some(time), Some(stamp)) = (time, stamp) else {
            skipped += 1;
            continue;
        };
        newest = Some(stamp);
        all.push(Stamped { text: text.to_vec(), time, stamp });
    }
    Ok(skipped)
}

/// The keys of one limiter, and the lines that have none.
#[derive(Default)]
struct OfRule {
    keys: BTreeMap<Vec<String>, Key>,
    /// The bucket of all keys, if they have one in common.
    common: Option<Common>,
    admitted: u64,
    denied: u64,
    lacking: Lacking,
    full: Full,
    offenders: BTreeMap<Vec<String>, Offender>,
    penalty: PenaltySummary,
}

struct Key {
    ideal: Ideal,
    allowed: u64,
    /// Those with permits that were lent.
    borrowed: u64,
    denied: u64,
    /// Refusals by each part of the limiter, if it has several.
    denied_by: Vec<u64>,
    /// The stamps of its first and its last line.
    seen: (i128, i128),
}

impl Key {
    fn new(kind: &Kind, now: i128) -> Key {
        let ideal = Ideal::new(kind, now);
        let denied_by = vec![0; kind.parts().len()];
        Key { ideal, allowed: 0, borrowed: 0, denied: 0, denied_by, seen: (i128::MAX, i128::MIN) }
    }

    /// Counts a line that was granted, whether or not its permits were lent, or denied.
    fn count(&mut self, is_borrowed: Option<bool>) {
        match is_borrowed {
            Some(is_borrowed) => {
                self.allowed += 1;
                self.borrowed += u64::from(is_borrowed);
            }
            None => self.denied += 1,
        }
    }

    fn judge(&mut self, now: i128, permits: u64) {
        if permits == 0 {
            self.allowed += 1;
        } else if self.ideal.fits(now, permits) {
            self.ideal.take(now, permits);
            self.allowed += 1;
        } else {
            self.denied += 1;
            if let Some(by) = self.ideal.refused_by(now, permits) {
                self.denied_by[by] += 1;
            }
        }
    }
}

fn nanos(time: Duration) -> i128 {
    time.as_nanos() as i128
}

fn whole(number: impl Into<i128>) -> BigRational {
    BigRational::new(number.into().into(), One::one())
}
