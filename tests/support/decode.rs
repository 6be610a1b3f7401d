//! Operations out of bytes, for fuzzing and for replaying what it found.
//!
//! Every string of bytes is some list of operations. Numbers come in sizes: a
//! byte that says how many bits, and then as many bytes as they take, so that a
//! short input can hold extremes.

use std::time::Duration;

use sluicegate::Refill;
use sluicegate::bucket::Carry;

use super::ops::{Amount, Op, Setup, Shape, Step};
use super::reference::Held;

/// Operations beyond this many are ignored, so that no input takes long.
const MAX_OPS: usize = 64;

/// A limiter's setup, where its clock starts, and what is done to it.
pub(crate) fn decode(bytes: &[u8]) -> (Setup, u64, Vec<Op>) {
    let mut bytes = Bytes(bytes);
    let setup = bytes.setup();
    let start_nanos = bytes.number();
    let mut ops = Vec::new();
    while !bytes.0.is_empty() && ops.len() < MAX_OPS {
        ops.push(bytes.op());
    }
    (setup, start_nanos, ops)
}

/// Bytes that are being used up; zeros follow.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Bytes<'_> {
    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        byte
    }

    /// A number of any size, the edges of its sizes included.
    pub(crate) fn number(&mut self) -> u64 {
        let size = self.byte();
        let bits = u32::from(size % 65);
        if bits == 0 {
            return 0;
        }
        let top = u64::MAX >> (u64::BITS - bits);
        match size / 65 {
            0 => top,
            1 => top / 2 + 1,
            _ => {
                (0..bits.div_ceil(8)).fold(0, |number, _| number << 8 | u64::from(self.byte()))
                    & top
            }
        }
    }

    fn signed(&mut self) -> i64 {
        let negative = self.byte() % 2 == 1;
        let number = self.number() as i64;
        if negative { number.wrapping_neg() } else { number }
    }

    fn setup(&mut self) -> Setup {
        let kind = self.byte();
        Setup {
            shape: Shape::ALL[usize::from(kind / 2) % Shape::ALL.len()].1,
            refill: if kind.is_multiple_of(2) { Refill::Smooth } else { Refill::Interval },
            permits: self.number(),
            period_nanos: self.number(),
            room: self.number(),
            max_debt: self.number(),
            initial: self.number(),
        }
    }

    fn amount(&mut self) -> Amount {
        match self.byte() % 8 {
            0..4 => Amount::Exactly(self.number()),
            4 | 5 => Amount::There(self.byte() as i8 % 3),
            6 => Amount::Limit(self.byte() as i8 % 3),
            _ => Amount::Deepest(self.byte() as i8 % 3),
        }
    }

    fn op(&mut self) -> Op {
        match self.byte() % 21 {
            0..3 => Op::TryAcquire(self.amount()),
            3 | 4 => Op::UpTo(self.amount()),
            5 => Op::Peek(self.amount()),
            6 | 7 => Op::Force(self.amount()),
            8 => Op::Drain,
            9 => Op::Reset,
            10 => Op::Poll { times: self.byte() % 32, nanos: self.number() },
            11 if self.byte().is_multiple_of(3) => {
                Op::Resize { room: self.number(), max_debt: self.number(), carry: self.carry() }
            }
            11 => Op::Reconfigure(self.setup(), self.carry()),
            12 => Op::Snapshot,
            13 => Op::Restore { away_nanos: self.number() },
            14 => Op::RestoreAny(self.held(), Duration::from_nanos(self.number())),
            15 => Op::Move(Step::Parts(u16::from(self.byte()) * 2)),
            16 => Op::Move(Step::Ready(self.amount(), self.byte() as i8 % 3)),
            17 => Op::Move(Step::Back(self.number())),
            20 => Op::Credit(self.amount()),
            _ => Op::Move(Step::Nanos(self.number())),
        }
    }

    fn carry(&mut self) -> Carry {
        [Carry::Keep, Carry::Scale, Carry::Reset, Carry::Empty][usize::from(self.byte() % 4)]
    }

    fn held(&mut self) -> Held {
        Held {
            balance: self.signed(),
            token: self.number(),
            phase_nanos: self.number(),
            part: self.number(),
        }
    }
}
