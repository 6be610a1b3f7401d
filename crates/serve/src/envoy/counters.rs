//! The counts of each descriptor.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::keyed::{Each, WhenFull};
use sluicegate::settle::{Estimate, Revocable, Settle};
use sluicegate::{ConfigError, Denied, FixedWindow, Grant, Keyed, Rate};
use sluicegate_policy::SharedClock;

use super::unit::{Span, max_requests};
use crate::bounded_key::bound_bytes;

/// Longest text of a descriptor, in bytes, that is kept as it is: its domain, keys and values.
const MAX_TEXT_BYTES: usize = 128;

/// Bytes of a key that tell the length of its window.
const LENGTH_BYTES: usize = size_of::<u64>();

/// The counts of descriptors: fixed windows, each of a span that begins at a multiple of it since 1970.
///
/// At most so many are kept at a time. A count of a window that has ended makes room for another; there
/// is none for a new descriptor while all are of windows that go on.
pub(super) struct Counters {
    windows: Keyed<Vec<u8>, Windows>,
}

type Windows = Each<Arc<FixedWindow<SharedClock>>, Make, SharedClock>;
type Make = Box<dyn Fn(&Vec<u8>) -> Arc<FixedWindow<SharedClock>> + Send + Sync>;

/// The outcome of hits that are counted whatever the limit.
pub(super) struct Reported {
    /// Hits of the window, beyond the limit too.
    pub(super) count: u64,
    /// True if they were within the limit.
    pub(super) is_within: bool,
}

impl Counters {
    /// Creates counters that read clones of `clock`, in nanoseconds since 1970.
    pub(super) fn new(max_keys: usize, clock: SharedClock) -> Result<Counters, ConfigError> {
        let own = Arc::clone(&clock);
        let make: Make = Box::new(move |key| Arc::new(window(seconds_of(key), Arc::clone(&own))));
        let windows = Keyed::builder(Each::with_clock(make, clock))
            .max_keys(max_keys)
            .when_full(WhenFull::Deny)
            .build()?;
        Ok(Counters { windows })
    }

    /// Counts a hit of a descriptor, or none. It can be given back.
    pub(super) fn take(&self, key: &[u8], limit: u32) -> Result<Estimate<'static>, Denied> {
        loop {
            let (taken, in_force) = self.with(key, limit, |window| {
                (window.try_acquire_settleable_owned(1), window.limit())
            })?;
            // Another question may have brought another limit meanwhile.
            match taken {
                Ok(estimate) if estimate.grant().limit() != own(limit) => _ = estimate.revoke(),
                Err(_) if in_force != own(limit) => {}
                answer => return answer,
            }
        }
    }

    /// Counts hits, whatever the limit: they have been used.
    pub(super) fn report(&self, key: &[u8], limit: u32, hits: u64) -> Result<Reported, Denied> {
        self.with(key, limit, |window| {
            let is_within = if hits == 0 {
                window.count() <= u64::from(limit)
            } else if let Ok(grant) = window.try_acquire(hits) {
                // By this limit, whatever another question has brought meanwhile.
                grant.limit() - grant.remaining() <= u64::from(limit)
            } else {
                // An estimate of nothing is always granted. What is beyond the largest count is not
                // counted, and does not matter.
                let _ = window.try_acquire_settleable(0)?.settle(hits);
                false
            };
            Ok(Reported { count: window.count(), is_within })
        })?
    }

    /// Gives back hits of the present window, and returns how many it has.
    pub(super) fn give_back(&self, key: &[u8], limit: u32, hits: u64) -> Result<u64, Denied> {
        self.with(key, limit, |window| {
            let _ = window.credit(hits);
            window.count()
        })
    }

    /// Returns the answer that [`take`](Counters::take) would give.
    pub(super) fn peek(&self, key: &[u8], limit: u32) -> Result<Grant, Denied> {
        loop {
            let (looked, in_force) =
                self.with(key, limit, |window| (window.peek(1), window.limit()))?;
            if looked.as_ref().map_or(in_force, Grant::limit) == own(limit) {
                return looked;
            }
        }
    }

    /// Calls the window of a descriptor, with this limit in force unless another call puts its own in force at the same time: what
    /// the window has counted stays. A window that
    /// has counted nothing may be forgotten as soon as the call is over, and its limit with it.
    fn with<T>(
        &self,
        key: &[u8],
        limit: u32,
        call: impl FnOnce(&Arc<FixedWindow<SharedClock>>) -> T,
    ) -> Result<T, Denied> {
        self.windows.with_limiter(key, |window| {
            if window.limit() != own(limit) {
                // Every limit fits, up to that of its span.
                let _ = window.reconfigure(own(limit));
            }
            call(window)
        })
    }

    pub(super) fn clock(&self) -> &SharedClock {
        self.windows.clock()
    }
}

/// Returns the limit of a window in whose place a question has `limit`: one of 0 is the caller's affair.
fn own(limit: u32) -> u64 {
    limit.max(1).into()
}

/// Returns the key of a descriptor: different for different spans, domains and entries, and never long.
pub(super) fn key_of<'e>(
    span: Span,
    domain: &str,
    entries: impl IntoIterator<Item = Entry<'e>>,
) -> Vec<u8> {
    let mut text = text(domain, entries);
    bound_bytes(&mut text, MAX_TEXT_BYTES);
    let mut key = Vec::with_capacity(LENGTH_BYTES + text.len());
    key.extend(span.seconds().to_le_bytes());
    key.extend_from_slice(&text);
    key
}

/// An entry of a descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'e> {
    pub(super) key: &'e [u8],
    /// The value, or the pattern for which all values count together.
    pub(super) value: Result<&'e [u8], &'e str>,
}

/// Returns a window that can have any limit of its length.
fn window(seconds: u64, clock: SharedClock) -> FixedWindow<SharedClock> {
    let rate = Rate::new(1, Duration::from_secs(seconds)).expect("a second or longer is in range");
    let window = FixedWindow::with_clock(rate, clock).expect("a limit of 1 is in range");
    window.with_max_limit(max_requests(seconds).into()).expect("no window is faster than it may be")
}

fn text<'e>(domain: &str, entries: impl IntoIterator<Item = Entry<'e>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut push = |kind: u8, text: &[u8]| {
        // The lengths tell where a text ends, whatever is in it.
        bytes.push(kind);
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text);
    };
    push(b'd', domain.as_bytes());
    for Entry { key, value } in entries {
        push(b'k', key);
        match value {
            Ok(value) => push(b'v', value),
            Err(pattern) => push(b'*', pattern.as_bytes()),
        }
    }
    bytes
}

fn seconds_of(key: &[u8]) -> u64 {
    // `key` has written it.
    key.first_chunk::<LENGTH_BYTES>().map_or(1, |seconds| u64::from_le_bytes(*seconds).max(1))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluicegate::ManualClock;

    use super::*;
    use crate::envoy::unit::Unit;

    fn counters() -> Counters {
        Counters::new(10, Arc::new(ManualClock::new())).unwrap()
    }

    fn one(unit: Unit) -> Span {
        Span::new(unit, 1).unwrap()
    }

    #[test]
    fn a_window_of_each_length_has_space_for_every_limit_of_it_and_below_the_largest_for_a_count_beyond()
     {
        for seconds in [1, 2, 60, 3_600, 86_400, 36_525 * 86_400] {
            let window = window(seconds, Arc::new(ManualClock::new()));
            let most = u64::from(max_requests(seconds));
            window.reconfigure(most).unwrap();
            assert!(window.try_acquire(most).is_ok());
            assert!(window.try_acquire(1).is_err());
            window.reset();
            window.reconfigure(most - 1).unwrap();
            assert!(window.try_acquire(most - 1).is_ok());
            window.try_acquire_settleable(0).unwrap().settle(1).unwrap();
            assert_eq!(window.count(), most, "{seconds}");
        }
    }

    #[test]
    fn different_descriptors_have_different_keys_and_none_is_long() {
        let entry = |key: &'static str, value| Entry { key: key.as_bytes(), value: Ok(value) };
        let (minute, second) = (one(Unit::Minute), one(Unit::Second));
        let long = "x".repeat(5_000);
        let longer = "x".repeat(5_001);
        let keys = [
            key_of(second, "a", [entry("b", b"c")]),
            key_of(minute, "a", [entry("b", b"c")]),
            key_of(second, "ab", [entry("", b"c")]),
            key_of(second, "a", [entry("bc", b"")]),
            key_of(second, "a", [entry("", b"bc")]),
            key_of(second, "a", [entry("b", b"c"), entry("", b"")]),
            key_of(second, "a", [Entry { key: b"b", value: Err("c") }]),
            key_of(second, "a", [entry("b", b"caf\xe9")]),
            key_of(second, "a", [entry("b", b"caf\xe8")]),
            key_of(second, "a", [entry("b", "caf\u{fffd}".as_bytes())]),
            key_of(second, "a", []),
            key_of(second, "a", [entry("b", long.as_bytes())]),
            key_of(minute, "a", [entry("b", long.as_bytes())]),
            key_of(second, "a", [entry("b", longer.as_bytes())]),
        ];
        for (place, one) in keys.iter().enumerate() {
            assert!(keys[..place].iter().all(|other| other != one), "{one:?}");
            assert!(one.len() <= LENGTH_BYTES + MAX_TEXT_BYTES);
        }
    }

    #[test]
    fn questions_with_other_limits_at_the_same_time_are_each_decided_by_their_own() {
        const ENOUGH: u32 = 1_000_000;
        let counters = counters();
        let key = key_of(one(Unit::Hour), "a", [Entry { key: b"b", value: Ok(b"c") }]);
        let _ = counters.take(&key, ENOUGH).unwrap();
        let granted = |limit| (0..20_000).filter(|_| counters.take(&key, limit).is_ok()).count();
        let reported = |limit| {
            (0..20_000).filter(|_| counters.report(&key, limit, 1).unwrap().is_within).count()
        };
        std::thread::scope(|scope| {
            let large = scope.spawn(|| granted(ENOUGH));
            let small = scope.spawn(|| granted(1) + reported(1));
            assert_eq!((large.join().unwrap(), small.join().unwrap()), (20_000, 0));
        });
    }

    #[test]
    fn a_limit_that_changes_keeps_the_count() {
        let counters = counters();
        let key = key_of(one(Unit::Hour), "a", [Entry { key: b"b", value: Ok(b"c") }]);
        assert!(counters.report(&key, 5, 3).unwrap().is_within);
        assert_eq!(counters.peek(&key, 4).unwrap().remaining(), 0);
        assert!(counters.take(&key, 2).is_err());
        assert_eq!(counters.take(&key, 9).unwrap().grant().remaining(), 5);
    }
}
