//! The answers and the snapshots of a limiter, in plain numbers.

use std::time::Duration;

use sluicegate::bucket::Snapshot;
use sluicegate::{Denied, Grant};

/// All that an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Granted {
        permits: u64,
        remaining: u64,
        balance: i64,
        limit: u64,
        next_permit_after: Option<Duration>,
        reset_after: Duration,
        ready_after: Duration,
    },
    Wait {
        missing: u64,
        remaining: u64,
        balance: i64,
        next_permit_after: Option<Duration>,
        retry_after: Duration,
        reset_after: Duration,
    },
    TooLarge {
        limit: u64,
    },
    /// Not as long as leases hold so much: only of a limiter that reserves capacity for them.
    Leased {
        limit: u64,
    },
}

impl From<Grant> for Said {
    fn from(grant: Grant) -> Said {
        Said::Granted {
            permits: grant.permits(),
            remaining: grant.remaining(),
            balance: grant.balance(),
            limit: grant.limit(),
            next_permit_after: grant.next_permit_after(),
            reset_after: grant.reset_after(),
            ready_after: grant.ready_after(),
        }
    }
}

impl From<Result<Grant, Denied>> for Said {
    fn from(answer: Result<Grant, Denied>) -> Said {
        match answer {
            Ok(grant) => Said::from(grant),
            Err(denied @ Denied::Wait(shortfall)) => {
                assert_eq!(denied.retry_after(), Some(shortfall.retry_after()));
                assert_eq!(denied.balance(), Some(shortfall.balance()));
                assert_eq!(denied.next_permit_after(), shortfall.next_permit_after());
                Said::Wait {
                    missing: shortfall.missing(),
                    remaining: shortfall.remaining(),
                    balance: shortfall.balance(),
                    next_permit_after: shortfall.next_permit_after(),
                    retry_after: shortfall.retry_after(),
                    reset_after: shortfall.reset_after(),
                }
            }
            Err(Denied::TooLarge { limit, .. }) => Said::TooLarge { limit },
            Err(Denied::Leased { limit, .. }) => Said::Leased { limit },
            Err(denied) => panic!("{denied:?} is not an answer that a limiter gives"),
        }
    }
}

/// The fields of a snapshot, read from its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) balance: i64,
    pub(crate) token: u64,
    pub(crate) phase_nanos: u64,
    /// The value of that part of a period, in units.
    pub(crate) part: u64,
}

impl From<Snapshot> for Held {
    fn from(snapshot: Snapshot) -> Held {
        let bytes = snapshot.to_bytes();
        let word = |at: usize| std::array::from_fn(|byte| bytes[at + byte]);
        Held {
            balance: i64::from_le_bytes(word(1)),
            token: u64::from_le_bytes(word(9)),
            phase_nanos: u64::from_le_bytes(word(17)),
            part: u64::from_le_bytes(word(25)),
        }
    }
}

impl From<Held> for Snapshot {
    fn from(held: Held) -> Snapshot {
        let mut bytes = [1; Snapshot::LEN];
        bytes[1..9].copy_from_slice(&held.balance.to_le_bytes());
        bytes[9..17].copy_from_slice(&held.token.max(1).to_le_bytes());
        bytes[17..25].copy_from_slice(&held.phase_nanos.to_le_bytes());
        bytes[25..33].copy_from_slice(&held.part.to_le_bytes());
        Snapshot::from_bytes(bytes).expect("the version and the token are right")
    }
}
