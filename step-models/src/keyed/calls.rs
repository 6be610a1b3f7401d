//! A take, a step at a time.

use super::*;

impl Model for Scene {
    type State = State;

    fn start(&self) -> State {
        let mut threads = [Thread::idle(0, Receipt::NONE).pack(); THREADS];
        for (thread, packed) in self.threads.iter().zip(&mut threads) {
            *packed = thread.pack();
        }
        threads.sort_unstable();
        let levels = match self.ages {
            Ages::Any => [0; SLOTS],
            Ages::UpTo(_) => self.slots.map(Word::level),
        };
        State {
            clock: self.from,
            latest: self.near.map_or(0, |_| self.from),
            slots: self.slots,
            levels,
            threads,
            grants: Grants::NONE,
        }
    }

    fn steps(&self, state: &State, found: &mut Found<State>) {
        let (mut waits, mut is_idle) = (false, true);
        for who in 0..THREADS {
            // Of threads that are the same, one will do.
            if who > 0 && state.threads[who] == state.threads[who - 1] {
                continue;
            }
            let thread = Thread::unpack(&state.threads[who]);
            if thread.todo == 0 {
                continue;
            }
            is_idle = false;
            waits |= self.holds_the_clock(state.clock, &thread);
            let (op, latest) = (self.op(&thread), state.latest);
            self.step(Turn { scene: self, state, who, thread, op, latest, found });
        }
        if state.clock < self.until && !waits && !is_idle && !self.ends_with_a_word(state) {
            let next = State { clock: state.clock + 1, ..*state };
            found.add(CLOCK, "goes on", next, None);
        }
    }

    fn is_done(&self, state: &State) -> bool {
        state.threads.iter().all(|thread| Thread::unpack(thread).todo == 0)
    }
}

impl Scene {
    fn op(&self, thread: &Thread) -> Op {
        self.plans[usize::from(thread.todo)].op
    }

    fn holds_the_clock(&self, clock: i8, thread: &Thread) -> bool {
        if thread.at == At::Idle {
            return false;
        }
        let is_long = self.longest.is_some_and(|longest| clock - thread.began >= longest);
        let is_late = thread.at == At::Batch
            && match self.batch_reads {
                BatchReads::AfterLoads => false,
                BatchReads::UntilFirst(lag) => thread.loaded == 0 && clock - thread.now >= lag,
                BatchReads::UntilLast(lag) => clock - thread.now >= lag,
            };
        is_long || is_late || clock >= thread.ends
    }

    /// Returns whether some word would be as old as the modulus if the clock went on.
    fn ends_with_a_word(&self, state: &State) -> bool {
        let Ages::UpTo(oldest) = self.ages else { return false };
        let is_old = |slot: usize| state.clock >= state.levels[slot] + oldest;
        (0..SLOTS).any(|slot| !state.slots[slot].is_empty() && is_old(slot))
    }

    /// Returns the readings that the clock may give.
    pub(super) fn readings(&self, state: &State) -> std::ops::RangeInclusive<i8> {
        state.clock - self.skew..=state.clock
    }

    /// The call has returned.
    pub(super) fn done(&self, thread: &Thread) -> Thread {
        let receipt = if self.keeps_receipts { thread.receipt } else { Receipt::NONE };
        Thread::idle(self.plans[usize::from(thread.todo)].then, receipt)
    }

    /// The call begins again.
    pub(super) fn again(&self, turn: &Turn<'_>) -> Thread {
        let scan = Thread { ends: i8::MAX, ..turn.thread.at(At::Scan) };
        if self.is(Mutant::ClockFirst) {
            return Thread { now: turn.state.clock, ..scan };
        }
        scan
    }

    pub(super) fn step(&self, mut turn: Turn<'_>) {
        match turn.thread.at {
            At::Idle => self.begin(&mut turn),
            At::First => self.look_first(&mut turn),
            At::FirstHit => self.hit_first(&mut turn),
            At::Scan | At::ScanNew => self.scan(&mut turn),
            At::Hit => self.hit(&mut turn),
            At::Place => self.place(&mut turn),
            At::Rescan => self.rescan(&mut turn),
            At::Kill => self.kill(&mut turn),
            At::Clean => self.clean(&mut turn),
            At::Charge => self.charge(&mut turn),
            At::Reset => self.reset(&mut turn),
            At::Sweep => self.sweep(&mut turn),
            At::AlsoLoad | At::AlsoClock | At::AlsoClear => self.sweep_on_the_way(&mut turn),
            At::Batch => self.load_batch(&mut turn),
            At::BatchHit => self.hit_batch(&mut turn),
        }
    }

    fn begin(&self, turn: &mut Turn<'_>) {
        if turn.op == Op::GiveBack {
            return self.give_back(turn);
        }
        let began = if self.longest.is_some() { turn.state.clock } else { 0 };
        turn.thread.began = began;
        if matches!(turn.op, Op::Batch(..)) {
            turn.thread.at = At::Batch;
            if self.batch_reads == BatchReads::AfterLoads && !self.is(Mutant::ClockFirst) {
                return self.load_batch(turn);
            }
            return turn.go("reads the clock", Thread { now: turn.state.clock, ..turn.thread });
        }
        let is_take = matches!(turn.op, Op::Take(..) | Op::TakeAndSweep(..));
        if is_take && self.take_reads == TakeReads::First {
            return self.read_first(turn);
        }
        if !self.is(Mutant::ClockFirst) {
            turn.thread.at = At::Scan;
            return self.scan(turn);
        }
        for now in self.readings(turn.state) {
            turn.go("reads the clock", Thread { now, ..turn.thread.at(At::Scan) });
        }
    }

    pub(super) fn scan(&self, turn: &mut Turn<'_>) {
        let mut thread = turn.thread;
        let (key, looks_for_it) = match turn.op {
            Op::Take(key, _) | Op::TakeAndSweep(key, ..) | Op::Reset(key) => (key, true),
            Op::Sweep(key) => (key, false),
            op => unreachable!("{op:?} scans nothing"),
        };
        let places = self.places(key);
        let is_home = looks_for_it
            && thread.at == At::Scan
            && thread.loaded == self.width
            && thread.seen[..usize::from(thread.loaded)]
                .iter()
                .any(|word| word.is_charged(key.print));
        let is_between = self.is(Mutant::ClockBetween) && thread.now == UNREAD;
        if thread.loaded == self.width && places > self.width && is_between {
            for now in self.readings(turn.state) {
                turn.go("reads the clock", Thread { now, ..thread });
            }
            return;
        }
        if thread.loaded < places && !is_home {
            let slot = self.slot(key, thread.loaded);
            thread.seen[usize::from(thread.loaded)] = turn.word(slot);
            thread.ends = thread.ends.min(turn.ends(slot));
            thread.loaded += 1;
            return turn.go("loads", thread);
        }
        if thread.now != UNREAD {
            return self.judge(turn, thread.now);
        }
        for now in self.readings(turn.state) {
            self.judge(turn, now);
        }
    }

    fn judge(&self, turn: &mut Turn<'_>, now: i8) {
        let time = turn.time(now);
        let thread = turn.thread;
        let seen = &thread.seen[..usize::from(thread.loaded)];
        match turn.op {
            Op::Reset(key) => return self.find_to_reset(turn, key, time),
            Op::Sweep(key) => return self.find_to_sweep(turn, key, time),
            _ => {}
        }
        let (key, permits) = turn.take();
        // Old values are kept for the mutant that may see them again.
        let kept = if self.is(Mutant::NoFence) { thread.seen } else { [Word::EMPTY; SEEN] };
        let kept_now = if self.is(Mutant::ChargesByScan) { now } else { UNREAD };
        let decision = match thread.at {
            At::ScanNew => Decision::Miss,
            _ => self.decide(key, permits, seen, now),
        };
        match decision {
            Decision::Deny => {
                turn.found.counts.denials += 1;
                turn.go("is refused", self.done(&thread));
            }
            Decision::Hit { place, base } => {
                let old = seen[usize::from(place)];
                let new = Word::charged(key.print, self.level(base + permits));
                let slot = self.slot(key, place);
                turn.go("finds the key", Thread { slot, now, old, new, ..thread.at(At::Hit) });
            }
            Decision::Join { place } => {
                let new = seen[usize::from(place)];
                let slot = self.slot(key, place);
                let at = thread.at(At::Rescan);
                turn.go("joins a mark", Thread { slot, new, now: kept_now, seen: kept, ..at });
            }
            Decision::Miss => {
                let (free, is_used_up) = self.free(key, seen, time);
                let fault = (is_used_up && self.climbs).then(|| "uses up the band".to_owned());
                if free.is_empty() {
                    turn.found.counts.lost += 1;
                    turn.go_to("finds no slot", *turn.state, self.done(&thread), fault.clone());
                }
                let is_sweeper = matches!(turn.op, Op::TakeAndSweep(..));
                let at = thread.at(if is_sweeper { At::AlsoLoad } else { At::Place });
                for (place, level) in free {
                    let old = seen[usize::from(place)];
                    let new = Word::marker(key.print, level);
                    let slot = self.slot(key, place);
                    let now = if self.is(Mutant::SweepsByScan) { now } else { kept_now };
                    let next = Thread { slot, old, new, now, seen: kept, ..at };
                    turn.go_to("finds a slot", *turn.state, next, fault.clone());
                }
            }
        }
    }

    pub(super) fn hit(&self, turn: &mut Turn<'_>) {
        let Thread { slot, old, new, now, .. } = turn.thread;
        if turn.word(slot) != old && !self.is(Mutant::StoresHit) {
            return turn.go("finds the key changed", self.again(turn));
        }
        let (key, permits) = turn.take();
        let old = self.as_it_was(key, now, old);
        let receipt =
            Receipt { slot, owner: key.owner, date: now, permits: permits as u8, new, old };
        self.grant(turn, receipt, self.done(&Thread { receipt, ..turn.thread }));
    }

    /// The only step by which something is granted, by any path.
    pub(super) fn grant(&self, turn: &mut Turn<'_>, receipt: Receipt, thread: Thread) {
        let Receipt { slot, owner, date, permits, new, .. } = receipt;
        let mut next = *turn.state;
        next.slots[usize::from(slot)] = new;
        next.grants.add(owner, date, permits);
        turn.found.counts.grants += 1;
        let words = next.slots.iter().filter(|word| word.is_charged(new.print())).count();
        let fault = if next.grants.exceed(owner, self.caps[usize::from(owner)]) {
            Some("exceeds its capacity")
        } else if words > 1 && self.is_unique {
            Some("has two words")
        } else {
            None
        };
        turn.go_to("is granted", next, thread, fault.map(|what| format!("owner {owner} {what}")));
    }
}
