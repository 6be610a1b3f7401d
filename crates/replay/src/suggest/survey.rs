//! The first reading of the logs: each key, its requests, and the least limit that leaves it untouched.

use std::collections::VecDeque;
use std::sync::Arc;

use bstr::{BStr, BString};
use hashbrown::HashMap;
use sluicegate::{Clock, ManualClock};
use sluicegate_policy::KeyOutcome;

use super::Vary;
use super::dial::{Method, Part};
use crate::log::Line;
use crate::policy::{BoxedLimiter, Kind, Rule};
use crate::replay::keys::is_of_store;
use crate::replay::{Lacking, Moment, memory};

/// Bytes of a key and its facts, in a table that may be half empty.
const FACTS_BYTES: u64 = 256;

/// A limiter with one limit, and the keys that it saw.
pub(super) struct Subject {
    pub(super) name: String,
    /// The way to its fields among those of the limiter in the policy.
    pub(super) place: String,
    pub(super) rule: Rule,
    pub(super) vary: Vary,
    pub(super) present: u64,
    pub(super) method: Method,
    /// The highest limit that it can have.
    pub(super) highest: u64,
    /// The limiter with that limit.
    measure: Option<Kind>,
    pub(super) keys: HashMap<BString, Facts>,
    pub(super) requests: u64,
    /// Requests of keys that have numbers of their own, which stay.
    pub(super) overridden: u64,
    /// The lines that lack a value of their key, or their cost.
    pub(super) lacking: Lacking,
    /// Bytes of what each key takes, without its log.
    key_bytes: u64,
    log_entries: u64,
    key: BString,
    /// The time of its first line, at which a replay makes its store, if keys earn tokens from then on.
    pub(super) begin_nanos: Option<u64>,
}

/// A key's requests.
pub(super) struct Facts {
    pub(super) requests: u64,
    /// The permits of all of them.
    permits: u64,
    /// The times of its first and its last request, in nanoseconds since 1970.
    pub(super) first: u64,
    pub(super) last: u64,
    /// The least limit that leaves it untouched, if that is computed; `u64::MAX` is none.
    pub(super) need: u64,
    level: Level,
}

enum Level {
    Limiter(BoxedLimiter),
    Log(VecDeque<u64>),
    Unknown,
}

impl Subject {
    /// Starts with no key. `is_searched` is to search even where the limit can be computed.
    pub(super) fn new(
        rule: &Rule,
        part: &Part,
        vary: Vary,
        is_searched: bool,
    ) -> Result<Subject, &'static str> {
        let kind = &part.kind;
        let present = vary.of(kind)?;
        let method = if is_searched { Method::Search } else { vary.method(kind) };
        let highest = vary.highest(kind);
        let measure = (method == Method::Level).then(|| vary.with(kind, highest)).flatten();
        let name = super::full_name(rule, part);
        let rule = Rule { kind: kind.clone(), ..rule.clone() };
        let limiter_bytes = measure.as_ref().map_or(0, bytes);
        Ok(Subject {
            name,
            place: part.place.clone(),
            rule,
            vary,
            present,
            method,
            highest,
            measure,
            keys: HashMap::new(),
            requests: 0,
            overridden: 0,
            lacking: Lacking::default(),
            key_bytes: FACTS_BYTES + limiter_bytes,
            log_entries: 0,
            key: BString::default(),
            begin_nanos: None,
        })
    }

    /// Returns the key of a line and the permits that it takes. `None` if it is not judged, or if the
    /// policy decides because it has no key, whatever the limit is.
    pub(super) fn key_of<'a>(
        rule: &Rule,
        line: &Line<'_>,
        key: &'a mut BString,
    ) -> Option<(&'a BStr, u64)> {
        if !rule.filter.lets_through(line) {
            return None;
        }
        let written = rule.write_key(line, key);
        (written.outcome == KeyOutcome::Limited)
            .then(|| (BStr::new(&**key), rule.cost.of(line).permits))
    }

    /// Counts a line. The clock shows its time.
    pub(super) fn see(&mut self, line: &Line<'_>, moment: Moment, clock: &Arc<ManualClock>) {
        if !self.rule.filter.lets_through(line) {
            return;
        }
        let written = self.rule.write_key(line, &mut self.key);
        let charge = self.rule.cost.of(line);
        self.lacking.count(written, charge);
        if written.outcome != KeyOutcome::Limited {
            return;
        }
        let (key, permits) = (BStr::new(&*self.key), charge.permits);
        if self.rule.overrides.of(key).is_some() {
            self.overridden += 1;
            return;
        }
        self.requests += 1;
        let (method, measure) = (self.method, &self.measure);
        if self.begin_nanos.is_none() && is_of_store(&self.rule) {
            self.begin_nanos = Some(moment.nanos);
        }
        let begin_nanos = self.begin_nanos;
        let facts = self.keys.entry_ref(key).or_insert_with(|| {
            let limiter = || new_limiter(measure.as_ref()?, clock, begin_nanos);
            Facts {
                requests: 0,
                permits: 0,
                first: moment.nanos,
                last: moment.nanos,
                need: 0,
                level: match method {
                    Method::Level => limiter().map_or(Level::Unknown, Level::Limiter),
                    Method::Log => Level::Log(VecDeque::new()),
                    Method::Search => Level::Unknown,
                },
            }
        });
        facts.requests += 1;
        facts.permits = facts.permits.saturating_add(permits);
        facts.last = moment.nanos;
        match &mut facts.level {
            Level::Unknown => {}
            Level::Limiter(limiter) => {
                let level = match limiter.try_acquire(permits) {
                    _ if permits == 0 => 0,
                    Ok(grant) => self.highest.saturating_sub(grant.remaining()),
                    Err(_) => u64::MAX,
                };
                facts.need = facts.need.max(level);
            }
            Level::Log(times) => {
                let before = times.len() as u64;
                let length = length(&self.rule.kind);
                while times.front().is_some_and(|time| moment.nanos - time >= length) {
                    times.pop_front();
                }
                match permits {
                    0 => {}
                    1 => {
                        times.push_back(moment.nanos);
                        facts.need = facts.need.max(times.len() as u64);
                    }
                    _ => facts.need = u64::MAX,
                }
                self.log_entries = self.log_entries - before + times.len() as u64;
            }
        }
    }

    /// Returns the number of lines that it judged, with or without a key.
    pub(super) fn judged(&self) -> u64 {
        self.requests + self.overridden + self.lacking.denied + self.lacking.admitted
    }

    /// Returns about the bytes that its keys take.
    pub(super) fn bytes(&self) -> u64 {
        let keys = self.keys.len() as u64;
        keys.saturating_mul(self.key_bytes).saturating_add(16 * self.log_entries)
    }

    /// Forgets the limiters, which are not needed after the reading.
    pub(super) fn finish(&mut self) {
        for facts in self.keys.values_mut() {
            facts.level = Level::Unknown;
        }
        (self.key_bytes, self.log_entries) = (FACTS_BYTES, 0);
    }

    /// Returns the least number that certainly leaves all keys untouched, or the highest that there is.
    pub(super) fn top(&self) -> u64 {
        if self.vary == Vary::Rate {
            return self.highest.max(1);
        }
        let of_key = |facts: &Facts| match self.method {
            Method::Search => facts.permits,
            _ => facts.need,
        };
        self.keys.values().map(of_key).max().unwrap_or(1).clamp(1, self.highest.max(1))
    }

    /// Returns true if that limit may deny requests of the key.
    pub(super) fn may_hit(&self, facts: &Facts, limit: u64) -> bool {
        match self.method {
            Method::Search => !self.vary.is_never_hit(&self.rule.kind, facts.permits),
            _ => facts.need > limit,
        }
    }
}

/// Creates a limiter as the store of a replay has it: one that earns tokens from `begin_nanos` on, or else from now.
/// The clock shows the present time.
pub(super) fn new_limiter(
    kind: &Kind,
    clock: &Arc<ManualClock>,
    begin_nanos: Option<u64>,
) -> Option<BoxedLimiter> {
    let now_nanos = clock.now_nanos();
    if let Some(begin_nanos) = begin_nanos {
        clock.set_nanos(begin_nanos);
    }
    let limiter = kind.limiter(clock.clone()).ok();
    clock.set_nanos(now_nanos);
    limiter
}

/// Returns about the bytes of a key with a limiter of that kind.
pub(super) fn bytes(kind: &Kind) -> u64 {
    memory::limiter_bytes(kind).max(512)
}

/// Returns the length of a log, in nanoseconds.
fn length(kind: &Kind) -> u64 {
    match kind {
        Kind::SlidingLog(limit) => u64::try_from(limit.period().as_nanos()).unwrap_or(u64::MAX),
        _ => u64::MAX,
    }
}
