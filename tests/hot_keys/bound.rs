//! The bound on what a key is admitted, in whole numbers.

use std::collections::HashMap;

use sluicegate::{Quota, Refill};

use super::subject::Kind;

/// A record of what was granted, by key and by the reading of the clock; anew from each reset on.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    quota: Quota,
    /// The reading that steps are counted from.
    origin_nanos: u64,
    /// By how little a span may have more, in permits times the period: by what a unit of the
    /// store's count is worth, as a span begins and ends within units.
    allowance: i128,
    granted: HashMap<u64, Vec<(u64, u64)>>,
}

impl Ledger {
    pub(crate) fn new(kind: Kind, quota: Quota, origin_nanos: u64) -> Ledger {
        let period_nanos = period(quota);
        let allowance = match kind {
            // A permit has 16 ticks at least.
            Kind::Table | Kind::Tier => period_nanos / 16,
            Kind::Keyed | Kind::Tiered => {
                2 * i128::from(quota.rate().permits()) + period_nanos / (1 << 27)
            }
            Kind::Steps => 0,
        };
        Ledger { quota: kind.quota(quota), origin_nanos, allowance, granted: HashMap::new() }
    }

    pub(crate) fn add(&mut self, key: u64, at_nanos: u64, permits: u64) {
        if permits > 0 {
            self.granted.entry(key).or_default().push((at_nanos, permits));
        }
    }

    /// Checks what the key was granted, and begins anew.
    pub(crate) fn reset(&mut self, key: u64) -> Result<(), String> {
        let checked = self.check(key);
        self.granted.remove(&key);
        checked
    }

    pub(crate) fn check_all(&self) -> Result<(), String> {
        self.granted.keys().try_for_each(|&key| self.check(key))
    }

    /// Checks that any two grants of the key, with those between them, are within the bound.
    fn check(&self, key: u64) -> Result<(), String> {
        let mut granted = self.granted.get(&key).cloned().unwrap_or_default();
        granted.sort_unstable();
        let (worst, from, to) = worst(self, &granted);
        let most = i128::from(self.quota.burst()) * period(self.quota) + self.allowance;
        if worst <= most {
            return Ok(());
        }
        let (over, part) = (worst - most, period(self.quota));
        Err(format!("key {key}: {over} / {part} permits too many in {from}..={to}: {granted:?}"))
    }

    /// Returns what was earned until then, in permits times the period.
    fn earned(&self, at_nanos: u64) -> i128 {
        let time = i128::from(at_nanos) - i128::from(self.origin_nanos);
        let time = match self.quota.refill() {
            Refill::Smooth => time,
            Refill::Interval => time.div_euclid(period(self.quota)) * period(self.quota),
        };
        time * i128::from(self.quota.rate().permits())
    }
}

fn period(quota: Quota) -> i128 {
    quota.rate().period().as_nanos() as i128
}

/// The most that was granted in any span in excess of what it earned, and the span. One pass,
/// by time: what ends here goes on from what ended before, or begins here, whichever is more.
fn worst(ledger: &Ledger, granted: &[(u64, u64)]) -> (i128, u64, u64) {
    let mut worst = (0, 0, 0);
    let (mut going, mut from, mut last) = (0, 0, i128::MIN / 2);
    for &(at_nanos, permits) in granted {
        let earned = ledger.earned(at_nanos);
        going -= earned - last;
        if going <= 0 {
            (going, from) = (0, at_nanos);
        }
        going += i128::from(permits) * period(ledger.quota);
        last = earned;
        worst = worst.max((going, from, at_nanos));
    }
    worst
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use sluicegate::quota;

    use super::*;

    #[test]
    fn the_checker_finds_the_worst_of_all_pairs() {
        let mut random = rand::rngs::SmallRng::seed_from_u64(4);
        for kind in [Kind::Keyed, Kind::Steps] {
            let ledger = Ledger::new(kind, quota!(3 / 7 ns, burst 2), 2);
            for _ in 0..2_000 {
                let mut granted: Vec<(u64, u64)> = (0..random.random_range(1..20))
                    .map(|_| (random.random_range(2..40), random.random_range(1..4)))
                    .collect();
                granted.sort_unstable();
                let mut most = 0;
                for &(from, _) in &granted {
                    for &(to, _) in granted.iter().filter(|one| one.0 >= from) {
                        let all = granted.iter().filter(|one| (from..=to).contains(&one.0));
                        let permits: u64 = all.map(|one| one.1).sum();
                        let earned = ledger.earned(to) - ledger.earned(from);
                        most = most.max(i128::from(permits) * 7 - earned);
                    }
                }
                assert_eq!(worst(&ledger, &granted).0, most, "{granted:?}");
            }
        }
    }

    #[test]
    fn the_checker_tells_one_permit_too_many_and_begins_anew_at_a_reset() {
        for kind in Kind::ALL {
            let mut ledger = Ledger::new(kind, quota!(7 / 3 seconds, burst 100), 0);
            ledger.add(1, 10, 60);
            ledger.add(1, 3_000_000_010, 47);
            ledger.add(2, 10, 100);
            assert_eq!(ledger.check_all(), Ok(()));
            let mut more = ledger.clone();
            more.add(1, 1_500_000_000, 1);
            assert!(more.check_all().is_err(), "{kind:?}");
            assert!(more.reset(1).is_err(), "{kind:?}");
            assert_eq!(more.check_all(), Ok(()));
            assert_eq!(ledger.reset(1), Ok(()));
            ledger.add(1, 3_000_000_010, 100);
            assert_eq!(ledger.check_all(), Ok(()));
            ledger.add(1, 3_000_000_010, 1);
            assert!(ledger.check_all().is_err(), "{kind:?}");
        }
    }
}
