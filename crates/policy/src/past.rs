//! Grants that a limiter counted, and the one in its place could not take over.
//!
//! A bucket has no place for more used permits than its burst, and a short window none for what is older
//! than itself. If a limiter of the first kind comes back, these grants still count in it. So they are
//! kept until the limiter that had counted them would have forgotten them all.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use sluicegate::window::History;

/// Grants that the limiter in force does not count, as of a reading of the clock.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    history: History,
    at_nanos: u64,
    until_nanos: u64,
}

/// For each key of a store, the grants that its limiter does not count.
pub(crate) type PastOfKeys<K> = HashMap<K, Past>;

/// The grants that each key of a store counts, and the time until it counts none.
pub(crate) type CountedOfKeys<K> = HashMap<K, (History, Duration)>;

/// Lets `take` take over all that counts of each key, which returns the permits that it counts then. Keeps the rest.
pub(crate) fn carry<K: Clone + Eq + Hash>(
    mut counted: CountedOfKeys<K>,
    past: &mut PastOfKeys<K>,
    now_nanos: u64,
    mut take: impl FnMut(&K, &History) -> u64,
) {
    for key in past.keys() {
        counted.entry(key.clone()).or_default();
    }
    let mut next = PastOfKeys::new();
    for (key, (counted, reset_after)) in counted {
        let own = past.get(&key);
        let all = Past::added(own, &counted, now_nanos);
        let counted = take(&key, &all);
        if let Some(beyond) = Past::beyond(own, &all, counted, now_nanos, reset_after) {
            next.insert(key, beyond);
        }
    }
    *past = next;
}

impl Past {
    /// Adds the grants of `past` that may still count at `now_nanos` to those that are `counted`.
    pub(crate) fn added(past: Option<&Past>, counted: &History, now_nanos: u64) -> History {
        let Some(past) = past.filter(|past| now_nanos < past.until_nanos) else {
            return counted.clone();
        };
        let since = Duration::from_nanos(now_nanos.saturating_sub(past.at_nanos));
        let earlier =
            past.history.iter().map(|(age, permits)| (age.saturating_add(since), permits));
        History::new(earlier.chain(counted.iter()))
    }

    /// Returns the part of `all` that a limiter which has `counted` so many does not count, if there is
    /// any. The one before it would have forgotten it in `reset_after`, apart from the earlier `past`.
    pub(crate) fn beyond(
        past: Option<&Past>,
        all: &History,
        counted: u64,
        now_nanos: u64,
        reset_after: Duration,
    ) -> Option<Past> {
        let mut beyond = all.permits().saturating_sub(counted);
        if beyond == 0 {
            return None;
        }
        let reset_nanos = u64::try_from(reset_after.as_nanos()).unwrap_or(u64::MAX);
        let until_nanos = past.map_or(0, |past| past.until_nanos);
        // Those that count for longest are the ones that it counts.
        let oldest = all.iter().map_while(|(age, permits)| {
            let permits = permits.min(beyond);
            beyond -= permits;
            (permits > 0).then_some((age, permits))
        });
        Some(Past {
            history: History::new(oldest),
            at_nanos: now_nanos,
            until_nanos: until_nanos.max(now_nanos.saturating_add(reset_nanos)),
        })
    }
}
