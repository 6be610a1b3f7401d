//! Step models of the protocols that share memory without locks: the window limiters, shards and
//! leases, shards of CPUs, the table of keys, giving permits back, settlement, reservations of windows to come, a
//! balance beside a limiter, and shares of tenants; of the line of waiters, beside them or outside, and divided among tenants; and of leases from a server,
//! by messages. A model explores every interleaving of a few short calls, one access to shared memory, or
//! one message, after another, with a clock that goes on whenever it likes. The models use nothing of the
//! crate: they are the protocols written out, and small. So that they stay those of the engine, each also
//! runs beside it, one call after the other (`drift.rs`, and the tests whose names have `of_the_engine`); all
//! but a line divided among tenants, shards of CPUs, and leases from a server. The last two say why not.
//! Checked:
//!
//! * the bound: no window holds more permits than its limit, and a bucket or a key is granted no
//!   more in any span than its capacity and what is earned in the span;
//! * for windows, a denial is right at some moment between the call and its return, and a grant
//!   counts at one;
//! * no thread waits for another: every run ends, whichever threads stop. The line of waiters has a
//!   lock: there, no waiter is stalled or overtaken, and no wake-up is lost;
//! * the model can fail: it catches every mutant of the protocol, which is the protocol with one
//!   thing left out. Each file has a table of its mutants.
//!
//! A failure shows the shortest run that leads to it, step by step.

#[cfg(test)]
mod drift;
#[cfg(test)]
mod explore;
#[cfg(test)]
mod give_back;
#[cfg(test)]
mod keyed;
#[cfg(test)]
mod leases;
#[cfg(test)]
mod ledger;
#[cfg(test)]
mod log;
#[cfg(test)]
mod per_cpu;
#[cfg(test)]
mod remote_leases;
#[cfg(test)]
mod reserve;
#[cfg(test)]
mod ring;
#[cfg(test)]
mod settle;
#[cfg(test)]
mod settle_windows;
#[cfg(test)]
mod shares;
#[cfg(test)]
#[path = "../../tests/wait/support.rs"]
#[expect(dead_code, reason = "the tests of the engine use more of it")]
mod support;
#[cfg(test)]
mod tenants;
#[cfg(test)]
mod top_up;
#[cfg(test)]
mod waiting;
