//! Step models of the window limiters: every interleaving of a few short calls,
//! one access to shared memory after another, with a clock that goes on whenever
//! it likes. The models use nothing of the crate: they are the protocols written
//! out, and small. What is checked, of each:
//!
//! * no window holds more permits than its limit;
//! * a denial is right at some moment between the call and its return, and a grant
//!   counts at one;
//! * no thread waits for another: every run ends, whoever stops;
//! * the model has teeth: every mutant of the protocol, which is the protocol with
//!   one thing left out, is caught. Each file has the table of its own.
//!
//! A failure shows the shortest run that leads to it, step by step.

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
mod ring;
#[cfg(test)]
mod unit_log;
#[cfg(test)]
mod weighted_log;
