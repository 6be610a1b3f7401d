//! Tests by a server that they start.
//!
//! | module | checks |
//! |---|---|
//! | `all` | several limits in one script, at random |
//! | `clock` | a server whose clock is set back |
//! | `concurrency` | permits in flight, at random and on the server's clock |
//! | `debts` | reservations, cancellations and debts, at random |
//! | `faults` | a server that ends, or that answers with errors |
//! | `server` | starts a server on a free port, in a folder of its own, and ends it |
//! | `scripts` | what the random tests share: steps, sent in batches, and their answers |
//! | `leases` | leases |
//! | `give_back` | grants that are given back in part, at random |
//! | `oracle` | slow references in exact fractions |
//! | `random` | each script against its reference and the engine, by random steps |
//! | `verbs` | the verbs by the connections of the crate `redis` |

mod all;
mod clock;
mod concurrency;
mod debts;
mod faults;
mod give_back;
mod leases;
mod oracle;
mod random;
mod scripts;
mod server;
mod verbs;

pub(crate) use self::verbs::limits;
