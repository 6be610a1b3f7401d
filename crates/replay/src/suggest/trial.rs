//! A reading of the logs that replays several limits at once.
//!
//! A limiter is made only for keys that the limit may hit, as far as the first reading has told: those
//! are few where the limit is high.

use std::sync::Arc;

use bstr::{BStr, BString};
use hashbrown::HashMap;
use serde::Serialize;
use sluicegate::ManualClock;
use sluicegate_policy::Overrides;

use super::Vary;
use super::survey::{self, Subject};
use crate::log::Line;
use crate::policy::{BoxedLimiter, Kind, Rule, Store};
use crate::replay::Profile;
use crate::replay::keys::{Keys, keys};

/// The most keys of which it is kept what they were denied.
const MOST_PROFILES: usize = 10_000;

/// The effect that a limit would have had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Point {
    /// The limit.
    pub limit: u64,
    /// Keys of which it would have denied a request.
    pub keys_hit: u64,
    /// Requests that it would have denied.
    pub denied: u64,
    /// All requests of the keys that it would have hit.
    pub requests_of_hit: u64,
}

/// Limits of one subject that are replayed.
pub(super) struct Trial {
    limits: Vec<(u64, Kind)>,
    keys: HashMap<BString, Box<[Lane]>>,
    /// Limiters so far, of each limit.
    limiters: Vec<u64>,
    /// The limit whose denials are looked at, and the requests that it denied each key.
    profiled: Option<u64>,
    profiles: HashMap<BString, Profile>,
    /// The stores of rates, made at the first line as those of a replay are: where requests come in
    /// just the time that a permit takes, a store that begins at another time may round to the other side.
    stores: Vec<Box<dyn Keys>>,
    key: BString,
}

/// A limit of a key.
struct Lane {
    limiter: Option<BoxedLimiter>,
    denied: u64,
}

impl Trial {
    /// Starts with limits in rising order. Limits that the kind cannot have are left out. Of the requests that
    /// the limit `profiled` denies, user agents and paths are kept.
    pub(super) fn new(subject: &Subject, limits: &[u64], profiled: Option<u64>) -> Trial {
        let kind = |limit: &u64| Some((*limit, subject.vary.with(&subject.rule.kind, *limit)?));
        let limits: Vec<_> = limits.iter().filter_map(kind).collect();
        Trial {
            limiters: vec![0; limits.len()],
            limits,
            profiled,
            profiles: HashMap::new(),
            stores: Vec::new(),
            keys: HashMap::new(),
            key: BString::default(),
        }
    }

    /// Puts a line to each limit. The clock shows its time.
    pub(super) fn put(&mut self, subject: &Subject, line: &Line<'_>, clock: &Arc<ManualClock>) {
        let Some((key, permits)) = Subject::key_of(&subject.rule, line, &mut self.key) else {
            return;
        };
        if subject.vary == Vary::Rate && self.stores.is_empty() {
            let store = |(_, kind): &(u64, Kind)| {
                let rule = Rule {
                    kind: kind.clone(),
                    store: Store::default(),
                    overrides: Overrides::default(),
                    ..subject.rule.clone()
                };
                keys(&rule, clock)
            };
            self.stores = self.limits.iter().map(store).collect();
        }
        // A key that is new since the first reading has come with lines that were written meanwhile.
        let Some(facts) = subject.keys.get(key) else { return };
        let Some((least, _)) = self.limits.first() else { return };
        if !subject.may_hit(facts, *least) {
            return;
        }
        let (limits, limiters, stores) = (&self.limits, &mut self.limiters, &mut self.stores);
        let has_stores = !stores.is_empty();
        let lanes = self.keys.entry_ref(key).or_insert_with(|| {
            let new = |(place, (limit, kind)): (usize, &(u64, Kind))| {
                let is_judged = subject.may_hit(facts, *limit);
                limiters[place] += u64::from(is_judged);
                let limiter = (is_judged && !has_stores)
                    .then(|| survey::new_limiter(kind, clock, subject.begin_nanos));
                Lane { limiter: limiter.flatten(), denied: 0 }
            };
            limits.iter().enumerate().map(new).collect()
        });
        let mut profiled = false;
        for (place, lane) in lanes.iter_mut().enumerate() {
            let is_denied = match (stores.get_mut(place), &lane.limiter) {
                (Some(store), _) => store.try_acquire(key, permits).decision.is_err(),
                (None, Some(limiter)) => limiter.try_acquire(permits).is_err(),
                (None, None) => false,
            };
            lane.denied += u64::from(is_denied);
            profiled |= is_denied && self.profiled == Some(limits[place].0);
        }
        if profiled && (self.profiles.len() < MOST_PROFILES || self.profiles.contains_key(key)) {
            self.profiles.entry_ref(key).or_default().add(line);
        }
    }

    /// Returns the requests that the limit in question denied a key.
    pub(super) fn profile(&self, key: &BStr) -> Option<&Profile> {
        self.profiles.get(key)
    }

    /// Returns about the bytes that its limiters take.
    pub(super) fn bytes(&self) -> u64 {
        let of =
            |((_, kind), count): (&(u64, Kind), &u64)| survey::bytes(kind).saturating_mul(*count);
        self.limits.iter().zip(&self.limiters).map(of).fold(0, u64::saturating_add)
    }

    /// Returns what each limit has done.
    pub(super) fn points(&self, subject: &Subject) -> Vec<Point> {
        let point = |(place, (limit, _)): (usize, &(u64, Kind))| {
            let mut point = Point { limit: *limit, ..Point::default() };
            for (key, denied) in self.hit(place) {
                point.keys_hit += 1;
                point.denied += denied;
                point.requests_of_hit += subject.keys.get(key).map_or(0, |facts| facts.requests);
            }
            point
        };
        self.limits.iter().enumerate().map(point).collect()
    }

    /// Returns the keys that a limit hit, with the requests that it denied them.
    pub(super) fn hit_by(&self, limit: u64) -> impl Iterator<Item = (&BStr, u64)> {
        let place = self.limits.iter().position(|(other, _)| *other == limit);
        place.into_iter().flat_map(|place| self.hit(place))
    }

    fn hit(&self, place: usize) -> impl Iterator<Item = (&BStr, u64)> {
        self.keys.iter().filter_map(move |(key, lanes)| {
            let denied = lanes.get(place)?.denied;
            (denied > 0).then_some((BStr::new(&**key), denied))
        })
    }
}
