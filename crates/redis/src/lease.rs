//! Leases: permits that a process takes from the server before they are used.
//!
//! | file | |
//! |---|---|
//! | `limiter` | the limiter: what its callers in tasks and on threads share |
//! | `tasks`, `threads` | its verbs |
//! | `counts` | its counts, which go on in the one that takes its place |
//! | `options` | settings, and how a limit is divided |
//! | `keys` | the keys that have a lease, and which ones get one |
//! | `key` | one of them: a word to spend from, and a lock for those who find too few permits there |
//! | `word`, `atomics` | the permits left, in one word, and its atomics |
//! | `key/flight` | a request for a lease, from its start to its answer, and the callers that wait for it |
//! | `size` | the size of the next lease |
//! | `denial` | denials that are remembered |
//! | `lots` | what can be given back |
//! | `terms` | the limit, and the answers |
//!
//! # Why the bound holds
//!
//! Let the limit admit `burst` permits at once, and `N` nodes hold leases of at most `K` permits each. The server
//! enforces the same limit with a burst of `C = burst - N K`, of which it is known that in any span (s, t] it *charges* no
//! more than `C + A(t) - A(s)` permits that are kept: a permit that is given back counts as if it had never
//! been charged. (`A` is what the limit earns by the server's clock.) Permits that a node has been told of, has not granted to a caller and could yet, are *in hand*.
//!
//! **Theorem.** All nodes together grant at most `burst + A(t) - A(s)` permits in any span (s, t].
//!
//! *Proof.* A permit is granted at most once, after it was charged, and none that is given back is granted. Those granted
//! in (s, t] were charged in (s, t] and kept: at most `C + A(t) - A(s)`; or they were charged until s and are granted
//! later. The callers of a [`Flight`](key::flight::Flight) that are counted in it count as granted when the script
//! runs: their calls had begun, and have not ended. So the others were in hand at s, or on their way to it. A node has in
//! hand and on the way at most `K`, by (1) to (4). Together: `C + A(t) - A(s) + N K`. ∎
//!
//! 1. A key has one flight at a time, and nothing else adds to its lease.
//! 2. A flight reserves its room when it starts: with callers, it takes the whole lease into its hand, and adds at most `K`
//!    when it lands; without, it asks for at most `K` less what is left, which only falls meanwhile.
//! 3. A flight that failed, or was given up, adds nothing, whatever answer comes later.
//! 4. A lease that ends is ended in its word for good, before anything is given back, and before the key can get another.
//!
//! Nothing in it depends on how long anything takes, on the clocks of nodes, on lost or repeated messages (a request
//! for a lease that runs twice charges twice; one to give back has a marker, and runs once), or on crashes: a node
//! that has crashed has nothing in hand. A server that loses the charges of its last moments, `F` permits, has as it were a
//! span in which `F` more were charged: the bound is `burst + F` for spans over the failure.

mod atomics;
mod counts;
mod denial;
mod key;
mod keys;
mod limiter;
mod lots;
mod options;
mod size;
#[cfg(feature = "async")]
mod tasks;
mod terms;
mod threads;
mod word;

pub use self::counts::LeaseCounts;
#[cfg(feature = "policy")]
pub(crate) use self::counts::LeaseTotals;
pub use self::limiter::LeasedLimiter;
pub use self::options::{LeaseError, LeaseOptions, LeaseOptionsBuilder, LeaseSplit};

/// The parts that a simulation uses, in which it takes the place of tasks and connections.
#[cfg(test)]
pub(crate) mod parts {
    pub(crate) use super::key::ask::Ask;
    pub(crate) use super::key::flight::{Flight, Told};
    pub(crate) use super::key::{Entered, LeasedKey, Tried};
    pub(crate) use super::lots::Lot;
    pub(crate) use super::terms::LeaseTerms;
}
