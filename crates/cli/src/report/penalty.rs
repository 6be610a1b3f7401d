//! The counts of a penalty in the JSON report.

use serde::Serialize;
use sluicegate_replay::replay::PenaltyCounts;

use super::key_summary::is_zero;

/// The counts of a penalty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PenaltySummary {
    /// Lines that were offences and were noted.
    pub offences: u64,
    /// Penalties that began.
    pub penalties: u64,
    /// Lines that were refused because a penalty ran.
    pub denied: u64,
    /// Offences that were not noted, because there was no space for another key.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_noted: u64,
}

impl From<PenaltyCounts> for PenaltySummary {
    fn from(counts: PenaltyCounts) -> PenaltySummary {
        let PenaltyCounts { offences, penalties, denied, not_noted } = counts;
        PenaltySummary { offences, penalties, denied, not_noted }
    }
}
