//! Leases, by a real server.
//!
//! | module | checks |
//! |---|---|
//! | `faults` | a server that ends, hangs or loses its data |
//! | `gone` | callers that go away while a request for them is on its way |
//! | `keys` | which keys get a lease, and when it is given back |
//! | `link` | a link that takes longer than the wait that a denial tells |
//! | `simulation` | many nodes by the real scripts, with faults, in a simulated time |
//! | `threads` | callers on threads |
//! | `verbs` | answers, and how often the server is asked for them |

mod faults;
mod gone;
mod keys;
mod link;
mod simulation;
mod threads;
mod verbs;

use std::time::Duration;

use super::patient;
use super::server::Server;
use crate::{
    Async, KeySpace, LeaseOptions, LeaseOptionsBuilder, LeasedLimiter, RedisLimit, RedisLimiter,
};

type Leased = LeasedLimiter<Async>;

/// Options under which every key has a lease from its first call on, and keeps it while a test runs.
fn hot(nodes: u32) -> LeaseOptionsBuilder {
    LeaseOptions::builder(nodes).hot_after(0).expiry(Duration::from_secs(3_600))
}

fn plain(server: &Server, limit: RedisLimit) -> RedisLimiter<Async> {
    RedisLimiter::new(limit, KeySpace::new("app").unwrap(), patient(server.client()))
}

fn leased(server: &Server, limit: RedisLimit, options: LeaseOptionsBuilder) -> Leased {
    LeasedLimiter::new(plain(server, limit), options.build().unwrap()).unwrap()
}

/// Waits until no request for a lease of the key is on its way.
async fn settled(limiter: &Leased, key: &str) {
    while limiter.is_asking(key) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Takes single permits until one is denied.
async fn take_all(limiter: &Leased, key: &str) -> u64 {
    let mut taken = 0;
    while let Ok(grant) = limiter.try_acquire(key, 1).await {
        assert_eq!(grant.permits(), 1);
        taken += 1;
    }
    taken
}
