//! The bound on what a key is admitted, checked on what was recorded.

use std::collections::HashMap;

use sluicegate::Quota;

/// Permits that a key was admitted by a call that began and ended at these readings: it was
/// decided at one in between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admission {
    pub(crate) key: u64,
    pub(crate) from_nanos: u64,
    pub(crate) to_nanos: u64,
    pub(crate) permits: u64,
}

/// In no span of the clock was any key admitted more than its burst and what it earns in it,
/// but for a tick's worth: a span begins and ends within ticks.
///
/// Only what is certain of an admission counts: it is in a span if its call is.
pub(crate) fn assert_bounded(quota: Quota, admissions: impl IntoIterator<Item = Admission>) {
    let mut keys: HashMap<u64, Vec<Admission>> = HashMap::new();
    for admission in admissions {
        keys.entry(admission.key).or_default().push(admission);
    }
    let period_nanos = quota.rate().period().as_nanos() as i128;
    // In permits times the period. A tick is less than a 16th of a permit.
    let most = i128::from(quota.burst()) * period_nanos + period_nanos / 16;
    for (key, admissions) in keys {
        let (excess, from_nanos, to_nanos) = worst(quota, admissions, period_nanos);
        assert!(
            excess <= most,
            "key {key}: {} / {period_nanos} permits more than it earned in {from_nanos}..=\
             {to_nanos} ns, of {}",
            excess,
            quota.burst()
        );
    }
}

/// The most that was admitted in any span in excess of what was earned in it, and the span.
fn worst(quota: Quota, mut admissions: Vec<Admission>, period_nanos: i128) -> (i128, u64, u64) {
    let permits = i128::from(quota.rate().permits());
    let mut starts: Vec<u64> = admissions.iter().map(|admission| admission.from_nanos).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut spans = Spans::new(starts.iter().map(|&from| i128::from(from) * permits).collect());
    admissions.sort_unstable_by_key(|admission| admission.to_nanos);
    let mut worst = (i128::MIN, 0, 0);
    for admission in admissions {
        let last = starts.partition_point(|&from| from <= admission.from_nanos);
        spans.add(last, i128::from(admission.permits) * period_nanos);
        let (most, start) = spans.most();
        let excess = most - i128::from(admission.to_nanos) * permits;
        if excess > worst.0 {
            worst = (excess, starts[start], admission.to_nanos);
        }
    }
    worst
}

/// The permits admitted in the span from each start until now, less what was earned before it: a
/// tree in which each node has the most of those below it.
struct Spans {
    starts: Vec<i128>,
    /// Number of starts that some admission has come after: the others' spans are empty.
    reached: usize,
    leaves: usize,
    most: Vec<(i128, usize)>,
    added: Vec<i128>,
}

impl Spans {
    fn new(starts: Vec<i128>) -> Spans {
        let leaves = starts.len().next_power_of_two();
        let most = vec![(i128::MIN / 2, 0); 2 * leaves];
        Spans { starts, reached: 0, leaves, most, added: vec![0; 2 * leaves] }
    }

    /// Adds to the spans of the first `count` starts.
    fn add(&mut self, count: usize, value: i128) {
        while self.reached < count {
            let mut node = self.leaves + self.reached;
            self.most[node] = (self.starts[self.reached], self.reached);
            self.reached += 1;
            while node > 1 {
                node /= 2;
                self.gather(node);
            }
        }
        let (mut node, mut first, mut width) = (1, 0, self.leaves);
        let mut path = Vec::with_capacity(64);
        // Down along the end of what is added to: what is left of it gets all.
        loop {
            if first + width <= count {
                self.raise(node, value);
                break;
            }
            if first >= count {
                break;
            }
            path.push(node);
            width /= 2;
            if first + width <= count {
                self.raise(2 * node, value);
                (node, first) = (2 * node + 1, first + width);
            } else {
                node *= 2;
            }
        }
        while let Some(node) = path.pop() {
            self.gather(node);
        }
    }

    fn gather(&mut self, node: usize) {
        let (most, start) = self.most[2 * node].max(self.most[2 * node + 1]);
        self.most[node] = (most + self.added[node], start);
    }

    fn raise(&mut self, node: usize, value: i128) {
        self.most[node].0 += value;
        self.added[node] += value;
    }

    fn most(&self) -> (i128, usize) {
        self.most[1]
    }
}

#[test]
fn the_checker_finds_the_worst_span_that_a_search_of_all_finds() {
    use rand::{Rng, SeedableRng};
    let mut random = rand::rngs::SmallRng::seed_from_u64(4);
    let quota = sluicegate::quota!(3 / 7 ns, burst 2);
    for _ in 0..2_000 {
        let admissions: Vec<Admission> = (0..random.random_range(1..20))
            .map(|_| {
                let from_nanos = random.random_range(0..40);
                let to_nanos = from_nanos + random.random_range(0..4) / 2;
                Admission { key: 1, from_nanos, to_nanos, permits: random.random_range(1..4) }
            })
            .collect();
        let within = |from, to| {
            let all = admissions.iter().filter(|one| one.from_nanos >= from && one.to_nanos <= to);
            all.map(|one| i128::from(one.permits)).sum::<i128>() * 7 - i128::from(to - from) * 3
        };
        let mut most = i128::MIN;
        for one in &admissions {
            for other in admissions.iter().filter(|other| other.to_nanos >= one.from_nanos) {
                most = most.max(within(one.from_nanos, other.to_nanos));
            }
        }
        assert_eq!(worst(quota, admissions.clone(), 7).0, most);
    }
}

#[test]
#[should_panic(expected = "more than it earned")]
fn the_checker_tells_a_permit_too_many() {
    let at = |nanos| Admission { key: 1, from_nanos: nanos, to_nanos: nanos, permits: 5 };
    assert_bounded(sluicegate::quota!(1 / second, burst 9), [at(5), at(6)]);
}
