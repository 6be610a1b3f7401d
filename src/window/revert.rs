//! A grant of a window given back while callers may stand in line: the gate stays as it is.

use crate::sync::AtomicWord;
use crate::sync::Ordering::Relaxed;

/// Puts `word` back to `before`, if nothing but its gate has changed since it was `written`. Returns
/// whether the gate is closed, or `None` if the word was left as it is. `with_gate` moves the gate of
/// such a word.
pub(super) fn revert_beneath_the_gate(
    word: &AtomicWord<u64>,
    with_gate: impl Fn(u64, bool) -> u64,
    written: u64,
    before: u64,
) -> Option<bool> {
    let mut is_closed = false;
    loop {
        let (seen, next) = (with_gate(written, is_closed), with_gate(before, is_closed));
        // ORDERING: Relaxed, as in `revert`. Those in line see it: if the gate is found closed, by
        // the lock that wakes them; and a CAS that closes it later finds this word.
        // MODEL: `a_grant_given_back_was_never_there`,
        // `a_grant_of_a_window_given_back_while_others_wait_is_theirs`,
        // `a_grant_of_a_window_that_was_not_seen_is_not_given_back_over_a_reset`,
        // `a_grant_of_a_ring_given_back_while_others_wait_is_theirs`,
        // `a_reservation_that_is_cancelled_beside_grants_was_never_there`,
        // `what_is_cancelled_of_a_window_wakes_its_line`.
        match word.compare_exchange(seen, next, Relaxed, Relaxed) {
            Ok(_) => return Some(is_closed),
            // Only the gate was moved.
            Err(found) if found == with_gate(seen, !is_closed) => is_closed = !is_closed,
            Err(_) => return None,
        }
    }
}
