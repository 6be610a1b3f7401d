//! A caller as the documentation describes it: all offences since the last penalty with their dates, in
//! integers that do not wrap. Slow, and shares no code with the crate.

use std::time::Duration;

use sluicegate::penalty::{Offence, PenaltyRule};

const TICK: u128 = 1 << 24;
const END_TICK: u128 = 1 << 11;

#[derive(Clone, Debug)]
pub(crate) struct Caller {
    rule: PenaltyRule,
    /// Tick at which the current window begins, and the ticks of the offences since the last penalty.
    window: u128,
    dates: Vec<u128>,
    /// End of the last penalty; 0 if there was none.
    end: u128,
    /// Penalties before the next one.
    repeats: u32,
}

impl Caller {
    pub(crate) fn new(rule: PenaltyRule) -> Caller {
        Caller { rule, window: 0, dates: Vec::new(), end: 0, repeats: 0 }
    }

    pub(crate) fn rule(&self) -> PenaltyRule {
        self.rule
    }

    pub(crate) fn change_rule(&mut self, rule: PenaltyRule) {
        self.rule = rule;
        // The windows stay; where in them the offences were is not remembered.
        for date in &mut self.dates {
            *date = if *date < self.window { self.window - 1 } else { self.window };
        }
    }

    fn length(&self) -> u128 {
        self.rule.offences().period().as_nanos().div_ceil(TICK)
    }

    /// Brings the windows to `now`, and forgets what has to be forgotten.
    fn bring_to(&mut self, now: u128) {
        let (tick, length) = (now / TICK, self.length());
        let forgotten_after = self.rule.forgotten_after().map_or(0, |time| time.as_nanos());
        if self.dates.is_empty() {
            if now >= self.end + forgotten_after.div_ceil(TICK) * TICK {
                self.repeats = 0;
            }
            self.window = tick;
            return;
        }
        if tick >= self.window + length + forgotten_after.div_ceil(TICK)
            && tick >= self.window + length
        {
            self.repeats = 0;
        }
        if tick >= self.window + 2 * length {
            (self.window, self.dates) = (tick, Vec::new());
            // From now on it is the end of the window that counts.
            self.end = now;
        } else if tick >= self.window + length {
            self.window += length;
        }
        let oldest = self.window.saturating_sub(length);
        self.dates.retain(|&date| date >= oldest);
    }

    fn begin(&mut self, now: u128, length: u128) -> Offence {
        self.dates.clear();
        self.end = (now + length).div_ceil(END_TICK) * END_TICK;
        Offence::Penalized { retry_after: nanos(self.end - now) }
    }

    pub(crate) fn offend(&mut self, now: u128, offences: u64) -> Offence {
        if now < self.end && self.is_penalized(now) {
            return Offence::Ignored { retry_after: nanos(self.end - now) };
        }
        let allowed = u128::from(self.rule.offences().permits());
        if offences == 0 {
            let counted = self.counted(now) as u128;
            return Offence::Counted { remaining: allowed.saturating_sub(counted) as u64 };
        }
        self.bring_to(now);
        let counted = self.dates.len() as u128 + u128::from(offences);
        if counted < allowed {
            self.dates.extend((0..offences).map(|_| now / TICK));
            return Offence::Counted { remaining: (allowed - counted) as u64 };
        }
        let first = self.rule.penalty().as_nanos();
        let length = (0..self.repeats).fold(first, |length, _| length * 2);
        let longest = self.rule.longest().as_nanos();
        self.repeats = if longest > first { (self.repeats + 1).min(31) } else { 0 };
        self.begin(now, length.min(longest))
    }

    pub(crate) fn penalize_for(&mut self, now: u128, length: Duration) -> Offence {
        let length = length.min(PenaltyRule::MAX_TIME).as_nanos();
        let is_running = self.is_penalized(now);
        if is_running && now + length <= self.end {
            return Offence::Ignored { retry_after: nanos(self.end - now) };
        }
        if length == 0 {
            return self.offend(now, 0);
        }
        if !is_running {
            self.bring_to(now);
        }
        self.begin(now, length)
    }

    pub(crate) fn clear(&mut self, now: u128) -> bool {
        let was_running = self.is_penalized(now);
        *self = Caller::new(self.rule);
        was_running
    }

    /// Returns whether a penalty runs. While offences are counted, `end` is in the past.
    pub(crate) fn is_penalized(&self, now: u128) -> bool {
        now < self.end
    }

    pub(crate) fn left(&self, now: u128) -> Duration {
        nanos(self.end.saturating_sub(now))
    }

    fn counted(&self, now: u128) -> usize {
        let mut looked_at = self.clone();
        looked_at.bring_to(now);
        looked_at.dates.len()
    }
}

fn nanos(nanos: u128) -> Duration {
    Duration::from_nanos(nanos as u64)
}
