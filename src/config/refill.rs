//! When tokens arrive.

/// When the tokens of a period arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Refill {
    /// Little by little: a tenth of the period earns a tenth of its tokens.
    #[default]
    Smooth,
    /// All at once, at the end of each whole period. Periods are counted from
    /// the limiter's creation, and a part of one is never lost. A change to other
    /// periods starts counting anew, from a point at which the part is worth what
    /// it was.
    Interval,
}
