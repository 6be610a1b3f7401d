//! The balance of a limiter, to carry from one process to the next.

use core::fmt;

/// The state of a limiter at one moment: its balance, and how far it was into a period of an
/// interval refill.
///
/// Holds no clock reading, because two processes share no clock. The caller that restores it says
/// how long the limiter was away; zero is always safe, and earns nothing for the time between.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, TokenBucket, quota};
/// use sluicegate::bucket::Snapshot;
///
/// let quota = quota!(10 / minute);
/// let old = TokenBucket::with_clock(quota, ManualClock::new());
/// assert!(old.try_acquire(7).is_ok());
/// let saved: [u8; Snapshot::LEN] = old.snapshot().to_bytes();
///
/// let new = TokenBucket::with_clock(quota, ManualClock::new());
/// new.restore(&Snapshot::from_bytes(saved)?, Duration::from_secs(6));
/// assert_eq!(new.peek(0).map(|grant| grant.remaining()), Ok(3 + 1));
/// # Ok::<(), sluicegate::bucket::SnapshotError>(())
/// ```
///
/// # Accuracy
///
/// Exact between limiters of the same quota, except for the pending fraction of a unit: less than a
/// nanosecond's worth, or 2^-27 of a token if that is more. Otherwise the balance, and the worth of
/// the elapsed part of an interval, are rounded down to the new limiter's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "Parts", into = "Parts")
)]
pub struct Snapshot {
    /// The balance in units; negative for a debt.
    pub(crate) balance: i64,
    /// The units in a token. Never 0.
    pub(crate) token: u64,
    /// Time into a period of an interval refill; 0 for a smooth one.
    pub(crate) phase_nanos: u64,
    /// The worth of that part of a period, in units.
    pub(crate) part: u64,
}

impl Snapshot {
    /// The length of a snapshot in bytes.
    pub const LEN: usize = 33;

    const VERSION: u8 = 1;

    /// Returns the snapshot as bytes, the same on every machine.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [Self::VERSION; Self::LEN];
        bytes[1..9].copy_from_slice(&self.balance.to_le_bytes());
        bytes[9..17].copy_from_slice(&self.token.to_le_bytes());
        bytes[17..25].copy_from_slice(&self.phase_nanos.to_le_bytes());
        bytes[25..33].copy_from_slice(&self.part.to_le_bytes());
        bytes
    }

    /// Returns the snapshot that [`to_bytes`](Snapshot::to_bytes) wrote to `bytes`.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] if the format version is unknown or a token has no units. Other foreign
    /// bytes are not detected.
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Result<Snapshot, SnapshotError> {
        if bytes[0] != Self::VERSION {
            return Err(SnapshotError::Version { version: bytes[0] });
        }
        let word = |at: usize| core::array::from_fn(|byte| bytes[at + byte]);
        Snapshot::try_from(Parts {
            balance: i64::from_le_bytes(word(1)),
            token: u64::from_le_bytes(word(9)),
            phase_nanos: u64::from_le_bytes(word(17)),
            part: u64::from_le_bytes(word(25)),
        })
    }

    /// Returns the whole permits that could have been taken.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        u64::try_from(self.balance).unwrap_or(0) / self.token
    }
}

/// A snapshot that has not been checked yet.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename = "Snapshot"))]
struct Parts {
    balance: i64,
    token: u64,
    phase_nanos: u64,
    part: u64,
}

impl From<Snapshot> for Parts {
    fn from(snapshot: Snapshot) -> Parts {
        let Snapshot { balance, token, phase_nanos, part } = snapshot;
        Parts { balance, token, phase_nanos, part }
    }
}

impl TryFrom<Parts> for Snapshot {
    type Error = SnapshotError;

    fn try_from(parts: Parts) -> Result<Snapshot, SnapshotError> {
        let Parts { balance, token, phase_nanos, part } = parts;
        if token == 0 {
            Err(SnapshotError::Token)
        } else {
            Ok(Snapshot { balance, token, phase_nanos, part })
        }
    }
}

/// Bytes or fields that are not a [`Snapshot`].
///
/// # Examples
///
/// ```
/// use sluicegate::bucket::{Snapshot, SnapshotError};
///
/// let bytes = [7; Snapshot::LEN];
/// assert_eq!(Snapshot::from_bytes(bytes), Err(SnapshotError::Version { version: 7 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The first byte is not a format version that this version of the crate knows.
    Version {
        /// The byte.
        version: u8,
    },
    /// The number of units in a token is 0.
    Token,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotError::Version { version } => {
                write!(f, "snapshot version is {version}: must be {}", Snapshot::VERSION)
            }
            SnapshotError::Token => f.write_str("snapshot token is 0: must be at least 1"),
        }
    }
}

impl core::error::Error for SnapshotError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_a_snapshot_are_told_apart() {
        let snapshot = Snapshot { balance: -3, token: 7, phase_nanos: u64::MAX, part: 5 };
        let bytes = snapshot.to_bytes();
        assert_eq!(Snapshot::from_bytes(bytes), Ok(snapshot));

        let mut other = bytes;
        other[0] = 9;
        let error = Snapshot::from_bytes(other).unwrap_err();
        assert_eq!(error.to_string(), "snapshot version is 9: must be 1");

        let error = Snapshot::from_bytes([1; Snapshot::LEN].map(|_| 0)).unwrap_err();
        assert_eq!(error, SnapshotError::Version { version: 0 });
        let mut empty = bytes;
        empty[9..17].fill(0);
        assert_eq!(Snapshot::from_bytes(empty), Err(SnapshotError::Token));
    }

    #[cfg(feature = "serde")]
    #[test]
    fn serde_keeps_a_snapshot_and_checks_it() {
        let snapshot = Snapshot { balance: 9, token: 2, phase_nanos: 1, part: 0 };
        let text = serde_json::to_string(&snapshot).unwrap();
        assert_eq!(text, r#"{"balance":9,"token":2,"phase_nanos":1,"part":0}"#);
        assert_eq!(serde_json::from_str::<Snapshot>(&text).unwrap(), snapshot);
        let error = serde_json::from_str::<Snapshot>(&text.replace(":2", ":0")).unwrap_err();
        assert!(error.to_string().contains("snapshot token is 0"), "{error}");
    }
}
