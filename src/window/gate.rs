//! The gate of a counter's word: its highest bit, above the fields. (That of a ring is in
//! `ring/words.rs`.) While callers wait in line the gate is closed, and only the holder of the
//! line's lock grants permits. No atomics here.

/// Bits of a word below its gate.
pub(crate) const OPEN_BITS: u32 = u64::BITS - 1;

/// 1 while callers wait in line.
const GATE: u64 = 1 << OPEN_BITS;

/// Returns whether callers wait in line for `word`.
#[inline(always)]
pub(crate) const fn is_gated(word: u64) -> bool {
    word & GATE != 0
}

/// Returns `word` with the gate closed or open.
#[inline(always)]
pub(crate) const fn with_gate(word: u64, is_closed: bool) -> u64 {
    if is_closed { word | GATE } else { word & !GATE }
}

/// Returns `word` with the gate open.
#[inline(always)]
pub(crate) const fn opened(word: u64) -> u64 {
    with_gate(word, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_changes_none_of_the_bits_below_it() {
        for word in [0, 1, 41, (1 << 62) + 7, (1 << OPEN_BITS) - 1] {
            let gated = with_gate(word, true);
            assert!(is_gated(gated) && !is_gated(word));
            assert_eq!((with_gate(gated, true), opened(gated), opened(word)), (gated, word, word));
        }
    }
}
