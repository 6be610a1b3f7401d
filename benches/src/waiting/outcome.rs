//! The outcome of a turn.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{BURST, Plan};

/// The work of a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) wakes: u64,
    /// Time on a processor.
    pub(super) cpu: Duration,
    pub(super) took: Duration,
    /// Bytes of each task that waits.
    pub(super) bytes: f64,
}

/// The spread of the lateness of grants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Half of the grants are no later.
    pub p50: f64,
    /// 99 grants in a hundred are no later.
    pub p99: f64,
    /// No grant is later.
    pub max: f64,
}

/// The figures of a turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The limiter.
    pub limiter: String,
    /// Tasks that wait for it.
    pub waiters: usize,
    /// Permits that it earns in a second.
    pub rate: f64,
    /// Grants that were measured.
    pub grants: usize,
    /// Grants over those that were earned.
    pub rate_ratio: f64,
    /// Wake-ups of tasks, for each grant.
    pub wakes_per_grant: f64,
    /// Time on a processor for each grant, in microseconds.
    pub cpu_us_per_grant: f64,
    /// Memory of each task that waits, in bytes.
    pub bytes_per_waiter: f64,
    /// The time by which grants came later than those of an ideal limiter, in microseconds.
    pub late_us: Percentiles,
}

impl Outcome {
    /// Summarizes a turn in which all of `grants` were made, of which those from `first` on count.
    #[expect(clippy::cast_precision_loss, reason = "they are shown to a few digits")]
    pub(super) fn of(
        limiter: &str,
        plan: Plan,
        grants: &[Instant],
        first: usize,
        work: Work,
    ) -> Outcome {
        let rate = 1.0 / plan.interval.as_secs_f64();
        let measured = &grants[first..];
        let count = measured.len();
        let each = |total: f64| if count == 0 { f64::INFINITY } else { total / count as f64 };
        let mut late: Vec<f64> = measured
            .iter()
            .enumerate()
            .map(|(index, grant)| late_us(grants[0], plan.interval, first + index, *grant))
            .collect();
        late.sort_by(f64::total_cmp);
        let at = |percent: usize| {
            let rank = (count * percent).div_ceil(100).max(1);
            late.get(rank - 1).copied().unwrap_or(f64::INFINITY)
        };
        Outcome {
            limiter: limiter.to_owned(),
            waiters: plan.waiters,
            rate,
            grants: count,
            rate_ratio: count as f64 / (rate * work.took.as_secs_f64()),
            wakes_per_grant: each(work.wakes as f64),
            cpu_us_per_grant: each(work.cpu.as_secs_f64() * 1e6),
            bytes_per_waiter: work.bytes,
            late_us: Percentiles { p50: at(50), p99: at(99), max: at(100) },
        }
    }

    /// Returns the medians of several turns of one limiter.
    #[must_use]
    pub fn median(turns: &[Outcome]) -> Option<Outcome> {
        let first = turns.first()?;
        let median = |figure: fn(&Outcome) -> f64| {
            let mut figures: Vec<f64> = turns.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            figures[figures.len() / 2]
        };
        Some(Outcome {
            grants: turns.iter().map(|turn| turn.grants).sum(),
            rate_ratio: median(|turn| turn.rate_ratio),
            wakes_per_grant: median(|turn| turn.wakes_per_grant),
            cpu_us_per_grant: median(|turn| turn.cpu_us_per_grant),
            bytes_per_waiter: median(|turn| turn.bytes_per_waiter),
            late_us: Percentiles {
                p50: median(|turn| turn.late_us.p50),
                p99: median(|turn| turn.late_us.p99),
                max: median(|turn| turn.late_us.max),
            },
            ..first.clone()
        })
    }
}

/// Returns the microseconds by which a grant comes later than that of an ideal limiter whose
/// first grant was at `began`. `index` is the number of grants before it.
fn late_us(began: Instant, interval: Duration, index: usize, grant: Instant) -> f64 {
    let intervals = (index + 1).saturating_sub(BURST as usize);
    let ideal = interval * u32::try_from(intervals).unwrap_or(u32::MAX);
    ((grant - began).as_secs_f64() - ideal.as_secs_f64()) * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_burst_is_due_at_once_and_each_further_permit_an_interval_later() {
        let began = Instant::now();
        assert!(late_us(began, MS, 9, began).abs() < 1e-6);
        assert!(late_us(began, MS, 10, began + MS).abs() < 1e-6);
        assert!((late_us(began, MS, 12, began + 4 * MS) - 1_000.0).abs() < 1e-6);
    }

    #[test]
    fn only_grants_after_the_warm_up_count() {
        let began = Instant::now();
        let grants: Vec<Instant> = (0..110_u32).map(|n| began + n.saturating_sub(9) * MS).collect();
        let plan = Plan { waiters: 5, interval: MS, time: 90 * MS, warm_up: 10 * MS };
        let work = Work { wakes: 180, cpu: 9 * MS, took: 90 * MS, bytes: 1.0 };
        let outcome = Outcome::of("one", plan, &grants, 20, work);
        assert_eq!(outcome.grants, 90);
        assert!((outcome.rate_ratio - 1.0).abs() < 1e-9, "{outcome:?}");
        assert!((outcome.wakes_per_grant - 2.0).abs() < 1e-9);
        assert!((outcome.cpu_us_per_grant - 100.0).abs() < 1e-9);
        assert!(outcome.late_us.max.abs() < 1e-6);
    }
}
