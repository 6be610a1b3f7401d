//! A state: all that is shared, what every thread is at, and what was granted.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::*;

/// A record of what was granted, in order of owner and date. No thread can see it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Grants([u16; GRANTS]);

impl Grants {
    pub(super) const NONE: Grants = Grants([0; GRANTS]);

    fn entry(owner: u8, date: i8, permits: u8) -> u16 {
        // Dates from -64, so that the order is theirs.
        u16::from(owner) << 11 | ((i16::from(date) + 64) as u16) << 4 | u16::from(permits)
    }

    pub(super) fn add(&mut self, owner: u8, date: i8, permits: u8) {
        assert_eq!(self.0[0], 0, "the ledger is full");
        self.0[0] = Grants::entry(owner, date, permits);
        self.0.sort_unstable();
    }

    pub(super) fn remove(&mut self, owner: u8, date: i8, permits: u8) {
        let entry = Grants::entry(owner, date, permits);
        // A reset may have taken it out before.
        if let Some(place) = self.0.iter().position(|&other| other == entry) {
            self.0[place] = 0;
            self.0.sort_unstable();
        }
    }

    pub(super) fn forget(&mut self, owner: u8) {
        for entry in &mut self.0 {
            if *entry >> 11 == u16::from(owner) {
                *entry = 0;
            }
        }
        self.0.sort_unstable();
    }

    /// Returns whether an owner had more in some span than `cap` and one for each instant.
    pub(super) fn exceed(&self, owner: u8, cap: i8) -> bool {
        for (place, &first) in self.0.iter().enumerate() {
            if first >> 11 != u16::from(owner) {
                continue;
            }
            let mut spent = 0;
            for &entry in &self.0[place..] {
                if entry >> 11 != u16::from(owner) {
                    break;
                }
                spent += entry & 0xf;
                let span = (entry >> 4 & 0x7f) - (first >> 4 & 0x7f);
                if spent > cap as u16 + span {
                    return true;
                }
            }
        }
        false
    }
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("granted")?;
        self.0.iter().filter(|&&entry| entry != 0).try_for_each(|entry| {
            let date = (entry >> 4 & 0x7f) as i16 - 64;
            write!(f, " {}@{date} to {}", entry & 0xf, entry >> 11)
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    pub(super) clock: i8,
    /// The time that the table keeps.
    pub(super) latest: i8,
    pub(super) slots: [Word; SLOTS],
    /// The full levels, if the scene asks for them: a word knows its level only up to a multiple of
    /// the modulus.
    pub(super) levels: [i8; SLOTS],
    /// In order, so that it makes no difference which thread is which.
    pub(super) threads: [Packed; THREADS],
    pub(super) grants: Grants,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let slots = &self.slots;
        hasher.write_u64(quad(slots[0], slots[1], slots[2], slots[3]));
        let clock = Word::of(u16::from(self.clock as u8));
        let latest = Word::of(u16::from(self.latest as u8));
        hasher.write_u64(quad(slots[4], slots[5], clock, latest));
        for level in self.levels {
            hasher.write_i8(level);
        }
        for thread in &self.threads {
            hasher.write_u64(thread[0]);
            hasher.write_u64(thread[1]);
            hasher.write_u64(thread[2]);
            hasher.write_u64(thread[3]);
        }
        let grants = &self.grants.0;
        let (low, high) = (&grants[..4], &grants[4..]);
        hasher.write_u64(quad(
            Word::of(low[0]),
            Word::of(low[1]),
            Word::of(low[2]),
            Word::of(low[3]),
        ));
        hasher.write_u64(quad(
            Word::of(high[0]),
            Word::of(high[1]),
            Word::of(high[2]),
            Word::of(high[3]),
        ));
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "clock {}, {:?}, {:?}", self.clock, self.slots, self.grants)?;
        if self.latest != 0 {
            write!(f, ", latest {}", self.latest)?;
        }
        for packed in &self.threads {
            let thread = Thread::unpack(packed);
            if thread.todo == 0 {
                continue;
            }
            write!(f, "\n      plan {} {:?} seen {:?}", thread.todo, thread.at, thread.seen)?;
            write!(f, " slot {} {:?}->{:?}", thread.slot, thread.old, thread.new)?;
            if thread.now != UNREAD {
                write!(f, " read {}", thread.now)?;
            }
        }
        Ok(())
    }
}
