//! The search for the least limit.

use super::survey::Subject;
use super::trial::Point;
use super::{Gap, Goal, Share, Vary};

/// Limits that are replayed in one reading.
const AT_ONCE: u64 = 16;

/// Rows of the curve, at most, beside the suggested limit, the one below it and the present one.
const ROWS: usize = 10;

/// Parts of 1,000 of the keys, whose least limits are rows of the curve.
const QUANTILES: [usize; 6] = [500, 750, 900, 950, 990, 999];

/// A search for the least limit that reaches the goal: bisection, with many sections.
pub(super) struct Search {
    /// A limit that does not reach it; 0 at first.
    low: u64,
    /// A limit that reaches it, if it is known that one does.
    high: Option<u64>,
    /// The highest limit that may be of use.
    top: u64,
    is_done: bool,
    pub(super) points: Vec<Point>,
}

impl Search {
    /// Starts to search. If the least limits of keys are known and the goal is about keys, that is
    /// the end of it.
    pub(super) fn new(subject: &Subject, goal: &Goal) -> Search {
        let mut search =
            Search { low: 0, high: None, top: subject.top(), is_done: false, points: Vec::new() };
        if subject.requests == 0 {
            search.is_done = true;
        } else if let (Some(needs), Share::Keys) = (needs(subject), goal.of) {
            let total = needs.len() as u64;
            let hit = |limit: u64| total - needs.partition_point(|need| *need <= limit) as u64;
            let all = std::iter::once(1).chain(needs.iter().copied());
            search.high = all
                .filter(|limit| (1..=subject.highest).contains(limit))
                .find(|limit| goal.is_met(total, hit(*limit)));
            search.is_done = true;
        }
        search
    }

    /// Returns the limits to replay next, in rising order; none if the search is over.
    pub(super) fn next(&self) -> Vec<u64> {
        if self.is_done {
            return Vec::new();
        }
        match self.high {
            None => ladder(self.top, AT_ONCE),
            Some(high) => {
                let span = u128::from(high - self.low);
                let section =
                    |place| self.low + (span * u128::from(place) / u128::from(AT_ONCE + 1)) as u64;
                let mut limits: Vec<u64> = (1..=AT_ONCE).map(section).collect();
                limits.retain(|limit| *limit > self.low);
                limits.dedup();
                limits
            }
        }
    }

    /// Takes the outcome of limits from [`next`](Search::next).
    pub(super) fn take(&mut self, subject: &Subject, goal: &Goal, points: &[Point]) {
        self.points.extend_from_slice(points);
        let good = |point: &Point| match goal.of {
            Share::Keys => goal.is_met(subject.keys.len() as u64, point.keys_hit),
            Share::Requests => goal.is_met(subject.requests, point.denied),
        };
        // All limits above it are good, as far as they were replayed.
        let first = points.iter().rposition(|point| !good(point)).map_or(0, |place| place + 1);
        if let Some(point) = points.get(first) {
            self.high = Some(point.limit);
        }
        if let Some(below) = first.checked_sub(1) {
            self.low = points[below].limit;
        }
        self.is_done = self.high.is_none_or(|high| high - self.low <= 1);
    }

    /// Returns the least limit that reaches the goal, once the search is over.
    pub(super) fn found(&self) -> Option<u64> {
        self.high
    }

    /// Returns the last limit of the curve: the least that is known to hit nothing. The highest rate that
    /// a bucket can have says nothing.
    fn end_of_curve(&self, subject: &Subject) -> u64 {
        let harmless = self.points.iter().filter(|point| point.denied == 0);
        match harmless.map(|point| point.limit).min() {
            Some(limit) if subject.vary == Vary::Rate => limit.max(subject.present),
            _ => self.top,
        }
    }

    /// Returns the limits of the curve, in rising order.
    pub(super) fn curve(&self, subject: &Subject) -> Vec<u64> {
        let mut limits = ladder(self.end_of_curve(subject), ROWS as u64);
        if let Some(needs) = needs(subject) {
            let at = |part: &usize| needs.get(needs.len() * part / 1000).copied();
            limits.extend(QUANTILES.iter().filter_map(at));
        }
        limits.push(subject.present);
        limits.extend(gap(subject).map(|gap| gap.from));
        limits.extend(self.high);
        limits.extend(self.high.map(|high| high - 1));
        limits.retain(|limit| (1..=subject.highest).contains(limit));
        limits.sort_unstable();
        limits.dedup();
        limits
    }
}

/// Returns the least limits of all keys in rising order, if they are known.
fn needs(subject: &Subject) -> Option<Vec<u64>> {
    if subject.method == super::dial::Method::Search {
        return None;
    }
    let mut needs: Vec<u64> = subject.keys.values().map(|facts| facts.need).collect();
    needs.sort_unstable();
    Some(needs)
}

/// Returns so many limits from 1 to `top`, in equal ratios.
fn ladder(top: u64, count: u64) -> Vec<u64> {
    let top = top.max(1);
    #[expect(clippy::cast_precision_loss, reason = "any limits in about equal ratios will do")]
    let rung = |place: u64| (top as f64).powf(place as f64 / (count - 1).max(1) as f64) as u64;
    let mut limits: Vec<u64> = (0..count - 1).map(|place| rung(place).clamp(1, top)).collect();
    limits.push(top);
    limits.dedup();
    limits
}

/// Returns the limits between the two neighbouring least limits that are furthest apart by their
/// ratio, and at least at twice. Those above are of fewer than half of the keys.
pub(super) fn gap(subject: &Subject) -> Option<Gap> {
    let needs = needs(subject)?;
    #[expect(clippy::cast_precision_loss, reason = "of gaps about as wide, any will do")]
    let ratio = |gap: &Gap| (gap.to + 1) as f64 / gap.from as f64;
    let pairs = needs.windows(2).enumerate().skip(needs.len() / 2);
    pairs
        .filter(|(_, pair)| pair[0] > 0 && pair[1] / 2 >= pair[0] && pair[1] > pair[0] + 1)
        .map(|(place, pair)| Gap {
            from: pair[0],
            to: (pair[1] - 1).min(subject.highest),
            keys_hit: (needs.len() - place - 1) as u64,
        })
        .max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
}

/// Returns the limit above which a higher one spares few more keys: where a gap begins, or else where the curve of
/// keys hit is furthest below the straight line between its ends, with limits in equal ratios.
pub(super) fn knee(subject: &Subject, curve: &[Point]) -> Option<u64> {
    if let Some(gap) = gap(subject) {
        return Some(gap.from);
    }
    let (first, last) = (curve.first()?, curve.last()?);
    let fall = first.keys_hit.checked_sub(last.keys_hit).filter(|fall| *fall > 1)?;
    #[expect(clippy::cast_precision_loss, reason = "of points about as far below, any will do")]
    let below = |point: &Point| {
        let along = (point.limit as f64 / first.limit as f64).ln()
            / (last.limit as f64 / first.limit as f64).ln();
        let fallen = first.keys_hit.saturating_sub(point.keys_hit) as f64 / fall as f64;
        fallen - along
    };
    let knee = curve.iter().max_by(|a, b| below(a).total_cmp(&below(b)))?;
    (below(knee) > 0.0).then_some(knee.limit)
}
