//! Tests by a server that they start.
//!
//! | module | checks |
//! |---|---|
//! | `all` | several limits in one script, at random |
//! | `clock` | a server whose clock is set back |
//! | `cluster` | three nodes, keys that move, and a node that ends |
//! | `concurrency` | permits in flight, at random and on the server's clock |
//! | `conformance` | the test vectors of other limiters, by the engine and by the scripts |
//! | `connector` | limiters of policies |
//! | `debts` | reservations, cancellations and debts, at random |
//! | `failover` | a primary, a replica and a sentinel |
//! | `faults` | a server that ends, or that answers with errors |
//! | `kinds` | the kinds of policies that a server can keep |
//! | `links`, `proxy` | a link that loses requests and answers, is slow, or cut |
//! | `states` | a server that loads its data, or is busy |
//! | `tls` | a server by TLS |
//! | `recovery` | connections that are silent, or lead to a server that refuses: how long until there are answers again |
//! | `server` | starts a server on a free port, in a folder of its own, and ends it |
//! | `scripts` | what the random tests share: steps, sent in batches, and their answers |
//! | `later` | reservations and settlements, on the server's clock |
//! | `leases` | leases |
//! | `give_back` | grants that are given back in part, at random |
//! | `oracle` | slow references in exact fractions |
//! | `other_client` | the scripts by a client that is not of the crate `redis` |
//! | `reserves` | requests that leave a reserve, and classes, at random and on the server's clock |
//! | `rights` | users of a server that may not run all commands |
//! | `shares` | shares of tenants, at random beside the engine's, and on the server's clock |
//! | `random` | each script against its reference and the engine, by random steps |
//! | `verbs` | the verbs by the connections of the crate `redis` |

mod all;
mod clock;
mod cluster;
mod concurrency;
mod conformance;
mod connector;
mod debts;
mod failover;
mod faults;
mod give_back;
mod kinds;
mod later;
mod leases;
mod links;
mod oracle;
mod other_client;
mod proxy;
mod random;
mod recovery;
mod reserves;
mod rights;
mod scripts;
pub(crate) mod server;
mod shares;
mod states;
mod tls;
mod verbs;

pub(crate) use self::verbs::limits;

use std::time::Duration;

use redis::AsyncConnectionConfig;

use crate::Async;

/// Returns a client that no machine is too busy for: it waits ten minutes for an answer.
pub(crate) fn patient(client: redis::Client) -> Async {
    giving_up_after(client, Duration::from_secs(600))
}

/// Returns a client whose connection gives up after so long.
fn giving_up_after(client: redis::Client, limit: Duration) -> Async {
    let config = AsyncConnectionConfig::new()
        .set_response_timeout(Some(limit))
        .set_connection_timeout(Some(Duration::from_secs(600)));
    Async::with_config(client, config)
}
