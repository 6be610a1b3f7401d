//! Nobody overtakes those in line: the proof. There is no code here.
//!
//! **Theorem.** No caller that starts after another one stands in line is granted permits before it,
//! unless by force.
//!
//! (Nor is a reservation that comes later charged before it, unless the instant has come that it was told, or
//! the caller's turn was put off.)
//!
//! *Proof.* While somebody stands in line the **gate** of the limiter's word is closed: a pass closes it
//! before the first caller's `stand` returns (`line.rs`), and only a pass opens it, under the lock, when
//! nobody is left. So from the CAS that closed the gate until the line is empty each value of the word has
//! the gate closed. The CAS of another caller expects a word with the gate open, so it fails. A
//! caller that starts to wait later stands further behind (`order.rs`), and a pass only grants the first.
//! No reading of a clock occurs in the argument. ∎
//!
//! A limiter without a gate in its word stands behind a gate of the line's own. The theorem for it is weaker by
//! what "after" means, and is proved in `outside.rs`.
//!
//! Both are checked in every interleaving of small cases: by the models of `loom-tests/tests/waiting.rs` and
//! `waiting_queued.rs` in the code itself, and by `step-models/src/waiting.rs` in its protocol.
