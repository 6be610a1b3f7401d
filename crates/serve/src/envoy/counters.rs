//! The counts of each descriptor.

use std::sync::Arc;

use sluicegate::{
    ConfigError, Denied, Each, Estimate, FixedWindow, Grant, Keyed, Rate, Settle, WhenFull,
};

use sluicegate_policy::SharedClock;

use super::unit::Unit;

/// Longest key of a descriptor, in bytes: its domain, keys and values.
pub(super) const MAX_KEY_BYTES: usize = 4_096;

/// The counts of descriptors: fixed windows, each of a unit that begins at a multiple of it since 1970.
///
/// At most so many are kept at a time. A count of a window that has ended makes room for another; there
/// is none for a new descriptor while all are of windows that go on.
pub(super) struct Counters<C: SharedClock> {
    windows: Keyed<Vec<u8>, Windows<C>>,
}

type Windows<C> = Each<Arc<FixedWindow<C>>, Make<C>, C>;
type Make<C> = Box<dyn Fn(&Vec<u8>) -> Arc<FixedWindow<C>> + Send + Sync>;

impl<C: SharedClock> Counters<C> {
    /// Creates counters that read clones of `clock`, in nanoseconds since 1970.
    pub(super) fn new(max_keys: usize, clock: C) -> Result<Counters<C>, ConfigError> {
        let own = clock.clone();
        let make: Make<C> = Box::new(move |key| Arc::new(window(unit_of(key), own.clone())));
        let windows = Keyed::builder(Each::with_clock(make, clock))
            .max_keys(max_keys)
            .when_full(WhenFull::Deny)
            .build()?;
        Ok(Counters { windows })
    }

    /// Counts the hits of a descriptor, or none. They can be given back.
    pub(super) fn take(
        &self,
        key: &[u8],
        limit: u32,
        hits: u64,
    ) -> Result<Estimate<'static>, Denied> {
        self.with(key, limit, |window| window.try_acquire_settleable_owned(hits))
    }

    /// Returns the answer that [`take`](Counters::take) would give.
    pub(super) fn peek(&self, key: &[u8], limit: u32, hits: u64) -> Result<Grant, Denied> {
        self.with(key, limit, |window| window.peek(hits))
    }

    /// Calls the window of a descriptor, with this limit in force: what it has counted stays. A window that
    /// has counted nothing may be forgotten as soon as the call is over, and its limit with it.
    fn with<T>(
        &self,
        key: &[u8],
        limit: u32,
        call: impl FnOnce(&Arc<FixedWindow<C>>) -> Result<T, Denied>,
    ) -> Result<T, Denied> {
        self.windows.with_limiter(key, |window| {
            let limit = u64::from(limit);
            if window.limit() != limit {
                // Every limit fits, up to that of its unit.
                let _ = window.reconfigure(limit);
            }
            call(window)
        })?
    }

    pub(super) fn clock(&self) -> &C {
        self.windows.clock()
    }
}

/// Returns a window that can have any limit of its unit.
fn window<C: SharedClock>(unit: Unit, clock: C) -> FixedWindow<C> {
    let rate = Rate::new(1, unit.length()).expect("one in a second or longer is in range");
    let window = FixedWindow::with_clock(rate, clock).expect("a limit of 1 is in range");
    window.with_max_limit(unit.max_requests().into()).expect("no window is faster than it may be")
}

/// Returns the key of a descriptor: different for different units, domains and entries.
pub(super) fn key<'e>(
    unit: Unit,
    domain: &str,
    entries: impl IntoIterator<Item = (&'e str, &'e str)>,
) -> Vec<u8> {
    let mut bytes = vec![unit.number() as u8];
    let mut push = |text: &str| {
        // The lengths tell where a text ends, whatever is in it.
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    };
    push(domain);
    for (key, value) in entries {
        push(key);
        push(value);
    }
    bytes
}

fn unit_of(key: &[u8]) -> Unit {
    let number = key.first().copied().unwrap_or_default();
    // `key` has written it.
    Unit::from_number(number.into()).unwrap_or(Unit::Second)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluicegate::ManualClock;

    use super::*;

    const UNITS: [Unit; 7] =
        [Unit::Second, Unit::Minute, Unit::Hour, Unit::Day, Unit::Week, Unit::Month, Unit::Year];

    #[test]
    fn a_window_of_each_unit_has_space_for_every_limit_of_it() {
        for unit in UNITS {
            let window = window(unit, Arc::new(ManualClock::new()));
            let most = unit.max_requests().into();
            window.reconfigure(most).unwrap();
            assert!(window.try_acquire(most).is_ok());
            assert!(window.try_acquire(1).is_err());
        }
    }

    #[test]
    fn different_descriptors_have_different_keys() {
        let keys = [
            key(Unit::Second, "a", [("b", "c")]),
            key(Unit::Minute, "a", [("b", "c")]),
            key(Unit::Second, "ab", [("", "c")]),
            key(Unit::Second, "a", [("bc", "")]),
            key(Unit::Second, "a", [("", "bc")]),
            key(Unit::Second, "a", [("b", "c"), ("", "")]),
            key(Unit::Second, "a", []),
        ];
        for (place, one) in keys.iter().enumerate() {
            assert!(keys[..place].iter().all(|other| other != one), "{one:?}");
            assert!(UNITS.contains(&unit_of(one)));
        }
    }

    #[test]
    fn a_limit_that_changes_keeps_the_count() {
        let counters = Counters::new(10, Arc::new(ManualClock::new())).unwrap();
        let key = key(Unit::Hour, "a", [("b", "c")]);
        let _ = counters.take(&key, 5, 3).unwrap();
        assert_eq!(counters.peek(&key, 4, 0).unwrap().remaining(), 1);
        assert!(counters.take(&key, 2, 1).is_err());
        assert_eq!(counters.take(&key, 9, 1).unwrap().grant().remaining(), 5);
    }
}
