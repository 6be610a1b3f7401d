//! The one-word core: what a token bucket, a GCRA and a leaky bucket share.
//!
//! The state is one [`Level`]: the units spent since the origin, clamped so that
//! no more than the capacity can be unspent. [`Terms`] say how units are earned
//! (the accrual `A`) and what a token costs. To admit is to raise the level:
//!
//! ```text
//! balance = min(A(now) - level, capacity)
//! admit n   iff balance >= n * token, by CAS: level = A(now) - (balance - n * token)
//! ```
//!
//! Progress: lock-free; a CAS fails only because another call's succeeded.
//! Memory: 384 bytes and the clock. Cost: a denial 2 loads of the shared word
//! and no write; an admission 1 load and 1 CAS of it.
//!
//! # Why the bound holds
//!
//! **Theorem.** For any interleaving, and whatever value each call reads from the
//! clock between its start and its end, the units admitted in any span (s, t] of
//! the clock are at most `capacity + A(t) - A(s)`, and `max_debt` more if debt is
//! forced.
//!
//! *Proof.* Successful CASes have one order, the word's. (1) In that order the
//! level never falls, and rises by at least the cost of each admission: the new
//! level is `max(level, A(now) - capacity) + cost`. (2) The first admission of
//! the span starts from a level of at least `A(now) - capacity >= A(s) -
//! capacity`. (3) The last ends at a level of at most `A(now) <= A(t)`, or
//! `max_debt` above it. The costs add up to no more than (3) - (2). ∎
//!
//! Clocks of different threads need not agree, and the clock may be read before
//! the word: (2) and (3) ask only that each reading lies in (s, t].
//!
//! # Live changes of the terms
//!
//! The terms are eight words, and a caller must not see some old and some new.
//! There are two slots for them, and **the lowest bit of the level names the slot
//! in force**. A change writes the other slot, and then adds one to the word: the
//! bit flips, and every CAS that was decided under the old terms fails. A balance
//! is carried over exactly, by choosing where the new accrual starts.
//!
//! **Theorem.** No admission, and no denial that is returned, comes from a
//! mixture of terms.
//!
//! *Proof.* The word only ever grows, so a CAS that succeeds found the word
//! untouched since it was loaded. A slot is written only while the word names the
//! other one. So from the load to the CAS, the slot that was read was not
//! written. A denial does no CAS; it looks at the word once more instead. (Where
//! the orderings come in is argued at each operation.) ∎

mod change;
mod level;
mod shell;
mod slots;
mod terms;

#[cfg(test)]
mod tests;

pub use self::change::Carry;
pub(crate) use self::shell::OneWord;
pub(crate) use self::terms::Terms;
