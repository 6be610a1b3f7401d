//! The same replay done slowly, to compare with: every limiter by its textbook
//! definition, in rational numbers of any size, on one thread, without the
//! engine. It shares with the command only the reading of logs and policies.

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::time::Duration;

use num_rational::BigRational;
use num_traits::{One, Zero};
use sluicegate::{Quota, Rate, Refill};
use sluicegate_cli::log::Line;
use sluicegate_cli::policy::{Kind, Policy, Rule};
use sluicegate_cli::report::{KeySummary, LimiterSummary, Summary};

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
        if time - first > HUNDRED_YEARS_NANOS {
            skipped += 1;
            continue;
        }
        lines += 1;
        late += u64::from(time < newest);
        let now = time.max(newest);
        clock = Some((first, now));
        for (rule, keys) in &mut rules {
            if rule.filter.lets_through(&line) {
                let key = rule.key.iter().map(|field| line.field(*field).to_string()).collect();
                let key = keys.entry(key).or_insert_with(|| Key::new(&rule.kind, now));
                key.judge(now, rule.cost.of(&line));
            }
        }
    }

    let limiters = rules.into_iter().map(|(rule, keys)| {
        let keys = keys.into_iter().map(|(key, Key { allowed, denied, .. })| KeySummary {
            key: key.join(" "),
            denied,
            allowed,
        });
        LimiterSummary::new(&rule.name, keys, 0)
    });
    Ok(Summary { lines, skipped, late, limiters: limiters.collect() })
}

struct Key {
    ideal: Ideal,
    allowed: u64,
    denied: u64,
}

impl Key {
    fn new(kind: &Kind, now: i128) -> Key {
        Key { ideal: Ideal::new(kind, now), allowed: 0, denied: 0 }
    }

    fn judge(&mut self, now: i128, permits: u64) {
        if permits == 0 || self.ideal.admits(now, permits) {
            self.allowed += 1;
        } else {
            self.denied += 1;
        }
    }
}

/// The textbook definitions. Times are nanoseconds since 1970.
enum Ideal {
    /// tokens = min(burst, tokens + elapsed * rate)
    Smooth { tokens: BigRational, burst: BigRational, per_nano: BigRational, seen: i128 },
    /// tokens = min(burst, tokens + permits), once at the end of each period
    Interval { tokens: u128, burst: u128, permits: u128, period: i128, next: i128 },
    /// A cell conforms if it comes no earlier than its theoretical arrival time
    /// less the tolerance.
    Gcra { arrival: i128, interval: i128, tolerance: i128 },
    /// level = max(0, level - elapsed * rate)
    Meter { level: BigRational, capacity: BigRational, per_nano: BigRational, seen: i128 },
    /// Admissions are at least `apart` nanoseconds apart.
    Apart { apart: BigRational, last: Option<i128> },
}

impl Ideal {
    fn new(kind: &Kind, now: i128) -> Ideal {
        match *kind {
            Kind::TokenBucket(quota) if quota.refill() == Refill::Interval => Ideal::Interval {
                tokens: quota.initial().into(),
                burst: quota.burst().into(),
                permits: quota.rate().permits().into(),
                period: nanos(quota.rate().period()),
                next: now + nanos(quota.rate().period()),
            },
            Kind::TokenBucket(quota) => Ideal::Smooth {
                tokens: whole(quota.initial()),
                burst: whole(quota.burst()),
                per_nano: per_nano(quota.rate()),
                seen: now,
            },
            Kind::Gcra { interval, tolerance } => {
                Ideal::Gcra { arrival: now, interval: nanos(interval), tolerance: nanos(tolerance) }
            }
            Kind::LeakyMeter(quota) => meter(quota, now),
            Kind::LeakyMinInterval(rate) => {
                Ideal::Apart { apart: per_nano(rate).recip(), last: None }
            }
        }
    }

    fn admits(&mut self, now: i128, permits: u64) -> bool {
        match self {
            Ideal::Smooth { tokens, burst, per_nano, seen } => {
                let earned = whole(now - *seen) * &*per_nano;
                *tokens = (&*tokens + earned).min(burst.clone());
                *seen = now;
                let admitted = *tokens >= whole(permits);
                if admitted {
                    *tokens -= whole(permits);
                }
                admitted
            }
            Ideal::Interval { tokens, burst, permits: per_period, period, next } => {
                while *next <= now {
                    *tokens = (*tokens + *per_period).min(*burst);
                    *next += *period;
                }
                let admitted = *tokens >= u128::from(permits);
                if admitted {
                    *tokens -= u128::from(permits);
                }
                admitted
            }
            Ideal::Gcra { arrival, interval, tolerance } => {
                // The last of the cells is the one that may come too early.
                let start = now.max(*arrival);
                let admitted = start + (i128::from(permits) - 1) * *interval - *tolerance <= now;
                if admitted {
                    *arrival = start + i128::from(permits) * *interval;
                }
                admitted
            }
            Ideal::Meter { level, capacity, per_nano, seen } => {
                let leaked = whole(now - *seen) * &*per_nano;
                *level = (&*level - leaked).max(BigRational::zero());
                *seen = now;
                let raised = &*level + whole(permits);
                let admitted = raised <= *capacity;
                if admitted {
                    *level = raised;
                }
                admitted
            }
            Ideal::Apart { apart, last } => {
                let far = last.is_none_or(|last| whole(now - last) >= *apart);
                let admitted = permits == 1 && far;
                if admitted {
                    *last = Some(now);
                }
                admitted
            }
        }
    }
}

fn meter(quota: Quota, now: i128) -> Ideal {
    Ideal::Meter {
        level: BigRational::zero(),
        capacity: whole(quota.burst()),
        per_nano: per_nano(quota.rate()),
        seen: now,
    }
}

fn per_nano(rate: Rate) -> BigRational {
    whole(rate.permits()) / whole(nanos(rate.period()))
}

fn nanos(time: Duration) -> i128 {
    time.as_nanos() as i128
}

fn whole(number: impl Into<i128>) -> BigRational {
    BigRational::new(number.into().into(), One::one())
}
