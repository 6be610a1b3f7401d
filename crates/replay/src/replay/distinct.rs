//! The number of distinct keys, in 16 KiB: `HyperLogLog` (Flajolet et al., 2007).

use foldhash::quality::FixedState;
use std::hash::BuildHasher;

/// Bits of a hash that choose a register. The standard error is 1.04 / sqrt(2^14), or 0.8 %.
const INDEX_BITS: u32 = 14;

/// Registers.
const REGISTERS: usize = 1 << INDEX_BITS;

/// Returns the hash of a key, the same in each run.
pub(super) fn hash(key: &[u8]) -> u64 {
    FixedState::with_seed(0).hash_one(key)
}

/// A set of keys, of which only the size is known.
#[derive(Debug, Default)]
pub(super) struct Distinct {
    /// Empty as long as there is no key.
    registers: Vec<u8>,
}

impl Distinct {
    /// Adds a key by its hash.
    pub(super) fn add(&mut self, hash: u64) {
        if self.registers.is_empty() {
            self.registers = vec![0; REGISTERS];
        }
        let index = (hash >> (64 - INDEX_BITS)) as usize;
        let zeros = ((hash << INDEX_BITS) | (1 << (INDEX_BITS - 1))).leading_zeros() as u8 + 1;
        self.registers[index] = self.registers[index].max(zeros);
    }

    /// Returns about the number of keys that were added.
    #[expect(clippy::cast_precision_loss, reason = "an estimate, with an error of 0.8 %")]
    pub(super) fn estimate(&self) -> usize {
        let registers = REGISTERS as f64;
        let sum: f64 = self.registers.iter().map(|zeros| 0.5_f64.powi(i32::from(*zeros))).sum();
        let raw = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum.max(1.0);
        let empty = self.registers.iter().map(|zeros| usize::from(*zeros == 0)).sum::<usize>();
        if raw <= 2.5 * registers && empty > 0 {
            return (registers * (registers / empty as f64).ln()).round() as usize;
        }
        raw.round() as usize
    }
}
