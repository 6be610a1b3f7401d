//! The grants and the changes of a storm, each with the readings of the clock between which it was,
//! and the bounds on them.

use std::time::Duration;

use super::steps::Log;

/// Something that happened at one instant, which is known to be between two readings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Between<T> {
    pub(super) began: u64,
    pub(super) ended: u64,
    pub(super) what: T,
}

/// The most that a limiter holds, or grants in a window, and what it earns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) most: u64,
    pub(super) permits: u64,
    pub(super) period: Duration,
}

impl Terms {
    /// In units: permits times the nanoseconds of two days.
    fn earned_in_a_nano(self) -> i128 {
        UNITS / i128::try_from(self.period.as_nanos()).unwrap() * i128::from(self.permits)
    }
}

/// Units of a permit, of which every period of the storm is a part.
const UNITS: i128 = 2 * 24 * 60 * 60 * 1_000_000_000;

#[derive(Debug)]
pub(super) struct Ledger {
    /// Permits that were granted and kept.
    grants: Vec<Between<u64>>,
    /// Permits that were taken without regard to the limit.
    beyond: Vec<Between<u64>>,
    credits: Vec<Between<u64>>,
    resets: Vec<Between<()>>,
    /// One after another, with those at first.
    terms: Vec<Between<Terms>>,
}

impl Ledger {
    pub(super) fn new(first: Terms, logs: Vec<Log>, changes: Vec<Between<Terms>>) -> Ledger {
        let terms = [vec![Between { began: 0, ended: 0, what: first }], changes].concat();
        let mut ledger = Ledger {
            grants: Vec::new(),
            beyond: Vec::new(),
            credits: Vec::new(),
            resets: Vec::new(),
            terms,
        };
        for log in logs {
            ledger.grants.extend(log.grants.into_iter().filter(|grant| grant.what > 0));
            ledger.beyond.extend(log.beyond);
            ledger.credits.extend(log.credits);
            ledger.resets.extend(log.resets);
        }
        ledger.grants.sort_by_key(|grant| grant.ended);
        ledger.resets.sort_by_key(|reset| reset.began);
        assert!(!ledger.grants.is_empty());
        ledger
    }

    /// The terms that may have been in force at some instant from `began` to `ended`.
    fn in_force(&self, began: u64, ended: u64) -> &[Between<Terms>] {
        // The last that was surely in force at first, and those since.
        let upto = self.terms.partition_point(|terms| terms.began <= ended);
        let from = self.terms.partition_point(|terms| terms.ended < began).max(1) - 1;
        &self.terms[from..upto]
    }

    fn most(&self, began: u64, ended: u64) -> u64 {
        self.in_force(began, ended).iter().map(|terms| terms.what.most).max().unwrap()
    }

    /// A limiter that grants at an instant holds no more then than its burst; afterwards it has what it
    /// earns, and what is brought to it. So, for any two instants s and t, what was granted after s and
    /// before t is no more than that.
    pub(super) fn assert_no_span_has_more_than_burst_and_rate(&self) {
        let mut from: Vec<u64> = self.grants.iter().map(|grant| grant.began).collect();
        from.sort_unstable();
        from.dedup();
        let brought = self.brought();
        let earned = self.earned();
        // What was earned and brought before each s, without what the bucket held then.
        let before = from.iter().map(|&at| {
            let brought: i128 = brought.surely_before(at);
            earned.at(at) + (brought - i128::from(self.most(at, at))) * UNITS
        });
        let mut spans = Spans::new(before);
        let mut worst = i128::MIN;
        for grant in &self.grants {
            let begins = from.partition_point(|&at| at <= grant.began);
            spans.add(begins, i128::from(grant.what) * UNITS);
            let ends = from.partition_point(|&at| at <= grant.ended);
            let over = spans.most(0..ends)
                - earned.at(grant.ended)
                - brought.perhaps_before(grant.ended) * UNITS;
            worst = worst.max(over);
            let permits = over * 1_000 / UNITS;
            // A bucket rounds a balance to less than this part of a permit, and time to a nanosecond.
            assert!(
                over <= UNITS / 500,
                "{permits} thousandths of a permit too many, with {grant:?}"
            );
        }
        // A storm that does not come near its bound shows nothing.
        assert!(worst > -5 * UNITS, "only {} permits", worst / UNITS);
    }

    /// Returns the earnings under the most generous of the terms that may be in force.
    fn earned(&self) -> Earned {
        let mut instants: Vec<u64> =
            self.terms.iter().flat_map(|terms| [terms.began, terms.ended]).collect();
        instants.sort_unstable();
        instants.dedup();
        let (mut sum, mut steps, mut last, mut rate) = (0, Vec::new(), 0, 0);
        for at in instants {
            sum += i128::from(at - last) * rate;
            let next = self.in_force(at, at + 1).iter();
            rate = next.map(|terms| terms.what.earned_in_a_nano()).max().unwrap();
            steps.push((at, sum, rate));
            last = at;
        }
        Earned(steps)
    }

    /// Permits brought by credits and resets.
    fn brought(&self) -> Brought {
        let worth = |reset: &Between<()>| self.most(reset.began, reset.ended);
        let resets = self.resets.iter().map(|reset| (reset.began, reset.ended, worth(reset)));
        let credits = self.credits.iter().map(|credit| (credit.began, credit.ended, credit.what));
        let all: Vec<(u64, u64, u64)> = resets.chain(credits).collect();
        let sums = |mut all: Vec<(u64, u64)>| {
            all.sort_unstable();
            let mut sum = 0;
            for (_, worth) in &mut all {
                sum += *worth;
                *worth = sum;
            }
            all
        };
        Brought {
            began: sums(all.iter().map(|&(began, _, worth)| (began, worth)).collect()),
            ended: sums(all.iter().map(|&(_, ended, worth)| (ended, worth)).collect()),
        }
    }

    /// Windows follow each other from the clock's origin.
    pub(super) fn assert_no_window_has_more_than_the_limit(&self, length: Duration) {
        let length = u64::try_from(length.as_nanos()).unwrap();
        self.assert_no_more_than_the_limit(|grant| {
            let start = grant.ended - grant.ended % length;
            // One that may be of either window is only counted.
            (grant.began >= start).then_some(start)
        });
    }

    pub(super) fn assert_no_span_has_more_than_the_limit(&self, length: Duration) {
        let length = u64::try_from(length.as_nanos()).unwrap();
        self.assert_no_more_than_the_limit(|grant| Some((grant.ended + 1).saturating_sub(length)));
    }

    /// Each grant found no more granted, from the instant told by `since` on and after the last reset,
    /// than its limit had space for.
    fn assert_no_more_than_the_limit(&self, since: impl Fn(&Between<u64>) -> Option<u64>) {
        let mut all = [self.grants.as_slice(), &self.beyond].concat();
        all.sort_by_key(|grant| grant.ended);
        let mut from: Vec<u64> = all.iter().map(|grant| grant.began).collect();
        from.sort_unstable();
        let mut asked = self.grants.clone();
        asked.sort_by_key(|grant| grant.began);
        let mut spans = Spans::new(from.iter().map(|_| 0));
        let mut last_reset = (0, 0);
        let mut ended = all.iter().peekable();
        let (mut worst, mut resets) = (i128::MIN, self.resets.iter().peekable());
        for grant in &asked {
            while let Some(before) = ended.next_if(|before| before.ended < grant.began) {
                let begins = from.partition_point(|&at| at <= before.began);
                spans.add(begins, before.what.into());
            }
            let Some(start) = since(grant) else { continue };
            // Those that began before this one; then those that began while it was under way.
            while let Some(reset) = resets.next_if(|reset| reset.began <= grant.began) {
                last_reset = (reset.began, last_reset.1.max(reset.ended));
            }
            let during = resets.clone().take_while(|reset| reset.began <= grant.ended);
            let reset = during.map(|reset| reset.ended).max().unwrap_or(0).max(last_reset.1);
            let counted = from.partition_point(|&at| at < start.max(reset));
            let used = if counted < from.len() { spans.most(counted..counted + 1) } else { 0 };
            let limit = self.most(grant.began, grant.ended);
            let over = used + i128::from(grant.what) - i128::from(limit);
            worst = worst.max(over);
            assert!(over <= 0, "{over} permits too many, with {grant:?}");
        }
        assert!(worst >= -2, "a storm that does not come near its bound shows nothing: {worst}");
    }
}

/// Instants, the units earned by then, and those earned in each nanosecond from then on.
struct Earned(Vec<(u64, i128, i128)>);

impl Earned {
    fn at(&self, at: u64) -> i128 {
        let step = self.0.partition_point(|step| step.0 <= at) - 1;
        let (from, sum, rate) = self.0[step];
        sum + i128::from(at - from) * rate
    }
}

/// Sums of all that began and ended by each instant.
struct Brought {
    began: Vec<(u64, u64)>,
    ended: Vec<(u64, u64)>,
}

impl Brought {
    fn perhaps_before(&self, at: u64) -> i128 {
        let upto = self.began.partition_point(|step| step.0 <= at);
        upto.checked_sub(1).map_or(0, |last| self.began[last].1.into())
    }

    fn surely_before(&self, at: u64) -> i128 {
        let upto = self.ended.partition_point(|step| step.0 < at);
        upto.checked_sub(1).map_or(0, |last| self.ended[last].1.into())
    }
}

/// A number for each instant from which spans begin, to many of which something is added at once.
struct Spans {
    /// A tree: what is added to all below a node, and the most there is below it, with that.
    nodes: Vec<(i128, i128)>,
    leaves: usize,
}

impl Spans {
    fn new(values: impl ExactSizeIterator<Item = i128>) -> Spans {
        let leaves = values.len().next_power_of_two();
        let mut nodes = vec![(0, i128::MIN / 2); 2 * leaves];
        for (node, value) in nodes[leaves..].iter_mut().zip(values) {
            node.1 = value;
        }
        for node in (1..leaves).rev() {
            nodes[node].1 = nodes[2 * node].1.max(nodes[2 * node + 1].1);
        }
        Spans { nodes, leaves }
    }

    /// Adds to the first `upto`.
    fn add(&mut self, upto: usize, permits: i128) {
        self.add_below(1, self.leaves, upto, permits);
    }

    fn add_below(&mut self, node: usize, leaves: usize, upto: usize, permits: i128) {
        if upto >= leaves {
            self.nodes[node].0 += permits;
            self.nodes[node].1 += permits;
        } else if upto > 0 {
            let half = leaves / 2;
            self.add_below(2 * node, half, upto, permits);
            self.add_below(2 * node + 1, half, upto.saturating_sub(half), permits);
            let most = self.nodes[2 * node].1.max(self.nodes[2 * node + 1].1);
            self.nodes[node].1 = self.nodes[node].0 + most;
        }
    }

    fn most(&self, range: std::ops::Range<usize>) -> i128 {
        self.most_below(1, 0, self.leaves, &range)
    }

    fn most_below(
        &self,
        node: usize,
        first: usize,
        leaves: usize,
        range: &std::ops::Range<usize>,
    ) -> i128 {
        if range.end <= first || first + leaves <= range.start {
            return i128::MIN / 2;
        }
        if range.start <= first && first + leaves <= range.end {
            return self.nodes[node].1;
        }
        let half = leaves / 2;
        let left = self.most_below(2 * node, first, half, range);
        let right = self.most_below(2 * node + 1, first + half, half, range);
        self.nodes[node].0 + left.max(right)
    }
}
