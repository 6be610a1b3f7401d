//! The windows over one H, and their boundaries.

use super::*;

impl Ring {
    /// The first tick that has a slot before it for each that counts.
    pub(super) fn first_tick(&self) -> u8 {
        self.windows.iter().map(|window| window.slots << window.exponent).max().unwrap_or(0)
    }

    /// The boundary at the end of a slot.
    pub(super) fn mark<'a>(
        &self,
        state: &'a mut State,
        Place { which, slot }: Place,
    ) -> &'a mut Mark {
        &mut state.marks[which][usize::from(slot % self.windows[which].slots)]
    }

    pub(super) fn seen(&self, state: &State, Place { which, slot }: Place) -> Mark {
        state.marks[which][usize::from(slot % self.windows[which].slots)]
    }

    /// The invariant: while H is open, every boundary that a window can begin at
    /// is the total at the end of its slot.
    pub(super) fn wrong_boundary(&self, state: &State) -> Option<String> {
        let head = state.head;
        for (which, window) in self.windows.iter().enumerate() {
            let present = head.tick >> window.exponent;
            for slot in present - window.slots..present {
                let end = ((slot + 1) << window.exponent) - 1;
                let total = head.total - state.ledger.between(end as i8, head.tick as i8);
                let mark = self.seen(state, Place { which, slot });
                if self.settles() {
                    if mark.slot != slot || !self.is_of_charges(state, mark, total) {
                        return Some(format!(
                            "window {which} has slot {slot} wrong beside settlements"
                        ));
                    }
                } else if mark != (Mark { slot, total }) {
                    return Some(format!("H is open, and window {which} has slot {slot} wrong"));
                }
            }
        }
        None
    }

    /// Returns whether with `permits` more in `tick` some window would hold too many.
    pub(super) fn is_full(&self, ledger: &Ledger, permits: u8, tick: i8) -> bool {
        self.windows.iter().any(|window| window.held(ledger, tick) + permits > window.limit)
    }

    pub(super) fn finish_window(&self, call: Call, head: Head, which: usize) -> At {
        let window = self.windows[which];
        let oldest = Place { which, slot: window.first(head) };
        let newest = Place { which, slot: (head.tick >> window.exponent) - 1 };
        match head.phase {
            Phase::Resetting => At::Fill { call, head, place: oldest },
            _ if self.is(Mutant::NoTags) => At::Fill { call, head, place: oldest },
            _ if self.is(Mutant::FillDownwards) => At::Fill { call, head, place: newest },
            _ => At::Scan { call, head, place: newest },
        }
    }

    /// After the boundary at `place` is there.
    pub(super) fn fill_next(&self, call: Call, head: Head, place: Place) -> At {
        let Place { which, slot } = place;
        if slot + 1 < head.tick >> self.windows[which].exponent {
            At::Fill { call, head, place: Place { which, slot: slot + 1 } }
        } else if which + 1 < self.windows.len() && !self.is(Mutant::FirstWindowOnly) {
            self.finish_window(call, head, which + 1)
        } else {
            At::Open { call, head }
        }
    }
}

impl Span {
    /// The slot whose end is the first boundary there has to be.
    pub(super) fn first(self, head: Head) -> u8 {
        (head.tick >> self.exponent) - self.slots
    }

    /// The slot at whose end the window begins.
    pub(super) fn oldest(self, call: Call, head: Head) -> u8 {
        (head.tick.max(call.now) >> self.exponent) - self.slots
    }

    /// Permits in the window that ends with `tick`.
    fn held(self, ledger: &Ledger, tick: i8) -> u8 {
        let first = ((tick >> self.exponent) + 1 - self.slots as i8) << self.exponent;
        ledger.between(first - 1, tick)
    }
}
