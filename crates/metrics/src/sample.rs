//! The values of one moment.

use std::collections::BTreeMap;

use sluicegate::compose::{Counts, DenialCounts, SettledCounts, WaitCounts};

use crate::names;

/// A metric with its labels.
pub(crate) type Series = (&'static str, Vec<(&'static str, String)>);

/// Callers and nanoseconds, in each bucket of a [`WaitCounts`].
pub(crate) type Waits = Vec<(u64, u128)>;

/// The values of all series at one moment. Values of the same series are added up.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    pub(crate) counters: BTreeMap<Series, u64>,
    pub(crate) gauges: BTreeMap<Series, f64>,
    pub(crate) waits: BTreeMap<Series, Waits>,
}

impl Sample {
    pub(crate) fn counter(
        &mut self,
        name: &'static str,
        labels: &[(&'static str, &str)],
        value: u64,
    ) {
        let sum = self.counters.entry(series(name, labels)).or_default();
        *sum = sum.wrapping_add(value);
    }

    pub(crate) fn gauge(&mut self, name: &'static str, limiter: &str, value: u64) {
        self.gauge_of(name, &[("limiter", limiter)], value);
    }

    #[expect(clippy::cast_precision_loss, reason = "the facade takes gauges so")]
    pub(crate) fn gauge_of(
        &mut self,
        name: &'static str,
        labels: &[(&'static str, &str)],
        value: u64,
    ) {
        *self.gauges.entry(series(name, labels)).or_default() += value as f64;
    }

    pub(crate) fn counts(&mut self, limiter: &str, counts: Counts, denials: DenialCounts) {
        let labels = [("limiter", limiter)];
        self.counter(names::GRANTS, &labels, counts.granted);
        self.counter(names::GRANTED_PERMITS, &labels, counts.permits);
        for (reason, count) in denials.kinds() {
            self.counter(names::DENIALS, &[("limiter", limiter), ("reason", reason)], count);
        }
        self.counter(names::DENIED_PERMITS, &labels, denials.permits);
    }

    pub(crate) fn shares(&mut self, limiter: &str, assured: u64, borrowed: u64) {
        for (source, permits) in [("assured", assured), ("borrowed", borrowed)] {
            let labels = [("limiter", limiter), ("source", source)];
            self.counter(names::SHARE_PERMITS, &labels, permits);
        }
    }

    pub(crate) fn class(&mut self, limiter: &str, class: &str, counts: Counts) {
        let labels = [("limiter", limiter), ("class", class)];
        self.counter(names::CLASS_PERMITS, &labels, counts.permits);
        self.counter(names::CLASS_DENIALS, &labels, counts.denied);
    }

    pub(crate) fn settled(&mut self, limiter: &str, settled: SettledCounts) {
        for (outcome, permits) in [
            ("given_back", settled.given_back),
            ("lost", settled.lost),
            ("taken_beyond", settled.taken_beyond),
            ("unpaid", settled.unpaid),
        ] {
            let labels = [("limiter", limiter), ("outcome", outcome)];
            self.counter(names::SETTLED_PERMITS, &labels, permits);
        }
    }

    pub(crate) fn waits(&mut self, limiter: &str, waits: &WaitCounts) {
        let sums = self.waits.entry(series(names::WAITS, &[("limiter", limiter)])).or_default();
        sums.resize(waits.buckets().len(), (0, 0));
        for (sum, bucket) in sums.iter_mut().zip(waits.buckets()) {
            sum.0 = sum.0.wrapping_add(bucket.callers);
            sum.1 += bucket.total.as_nanos();
        }
    }
}

fn series(name: &'static str, labels: &[(&'static str, &str)]) -> Series {
    (name, labels.iter().map(|(label, value)| (*label, (*value).to_owned())).collect())
}
