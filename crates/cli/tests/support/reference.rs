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

use num_rational::BigRational;
use num_traits::One;
use sluicegate_cli::log::Line;
use sluicegate_cli::policy::{Kind, Policy, Rule};
use sluicegate_cli::report::{KeySummary, LimiterSummary, Summary};

#[path = "reference/buckets.rs"]
mod buckets;
#[path = "reference/days.rs"]
mod days;
#[path = "reference/ideal.rs"]
mod ideal;
#[path = "reference/windows.rs"]
mod windows;

use self::ideal::Ideal;

const HUNDRED_YEARS_NANOS: i128 = 100 * 31_557_600 * 1_000_000_000;

/// Replays the logs, and lists every key that was denied.
pub(crate) fn replay(policy: &Policy, logs: Vec<Box<dyn BufRead>>) -> io::Result<Summary> {
    let mut rules: Vec<(&Rule, BTreeMap<Vec<String>, Key>)> =
        policy.rules.iter().map(|rule| (rule, BTreeMap::new())).collect();
    let (mut lines, mut skipped, mut late) = (0, 0, 0);
    let mut clock: Option<(i128, i128)> = None;

    for text in logs.into_iter().flat_map(|log| log.split(b'\n')) {
        let text = text?;
        if text.trim_ascii().is_empty() {
            continue;
        }
        let text = text.strip_suffix(b"\r").unwrap_or(&text);
        let Ok(line) = Line::parse(text) else {
            skipped += 1;
            continue;
        };
        let time = line.time.as_nanosecond();
        let (first, newest) = clock.unwrap_or((time, time));
        let now = time.max(newest);
        if now < 0 || now - first > HUNDRED_YEARS_NANOS {
            skipped += 1;
            continue;
        }
        lines += 1;
        late += u64::from(time < newest);
        clock = Some((first, now));
        for (rule, keys) in &mut rules {
            if rule.filter.lets_through(&line) {
                let key: Vec<String> =
                    rule.key.iter().map(|field| line.field(*field).to_string()).collect();
                let kind = rule.kind_of(key.join("\n").as_bytes());
                let key = keys.entry(key).or_insert_with(|| Key::new(kind, now));
                key.judge(now, rule.cost.of(&line));
            }
        }
    }

    let limiters = rules.into_iter().map(|(rule, keys)| {
        let mut denied_by = vec![0; rule.kind.parts().len()];
        for key in keys.values() {
            denied_by.iter_mut().zip(&key.denied_by).for_each(|(sum, denied)| *sum += denied);
        }
        let keys = keys.into_iter().map(|(key, Key { allowed, denied, .. })| KeySummary {
            key: key.join(" "),
            denied,
            allowed,
        });
        LimiterSummary::new(rule, keys, &denied_by, 0)
    });
    Ok(Summary { lines, skipped, late, limiters: limiters.collect() })
}

struct Key {
    ideal: Ideal,
    allowed: u64,
    denied: u64,
    /// Refusals by each part of the limiter, if it has several.
    denied_by: Vec<u64>,
}

impl Key {
    fn new(kind: &Kind, now: i128) -> Key {
        let ideal = Ideal::new(kind, now);
        Key { ideal, allowed: 0, denied: 0, denied_by: vec![0; kind.parts().len()] }
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
