//! Reservations of windows to come: permits that are taken now, for the first window that has them.
//!
//! The word is then ahead of the clock: its window is the last one of which any permits are taken. All
//! windows before that are closed, with what was granted in them.
//!
//! ```text
//! (W, c)       the word, brought forward to the window of now if it is behind
//! reserve n    by CAS: (W, c) -> (W, c + n)    if c + n <= limit of W
//!                      (W, c) -> (V, n)        else; V is the next window with a limit of n or more
//!              for the instant at which that window begins, or now if it has begun
//! admit n      only if W has begun: as ever
//! cancel       by CAS: the word after the reservation -> the word before it; or, if others have taken
//!              permits of the same window since, (V, c) -> (V, c - n)
//! ```
//!
//! **Theorem.** In each window, the permits granted in it and those reserved for an instant in it
//! are at most the limit that was in force when the last of them was taken, as long as the limiter
//! is not reset or healed, and nothing was cancelled late.
//!
//! *Proof.* Each of these CASes leaves a count that is at most the limit of the word's window, and adds
//! what it takes to the count of the window of its instant: a grant to that of now, since a word that is
//! ahead grants nothing; a reservation to that of V. The word's window goes back in two cases. A
//! cancelled reservation puts back the word from before it only while the count of V is what it was after
//! it. The count is what is kept of V (by the theorem of [`settle`](super::settle)), and the
//! reservation is part of it, so nothing else is kept in V; and the windows between were closed. A
//! receipt does the same for its grant. So the count of the word's window always is what is kept in it,
//! and windows before it get nothing more. ∎
//!
//! A settlement keeps resets and healings away while a reservation is cancelled; see
//! [`changes`](super::changes).
//!
//! # What is lost
//!
//! * What a window has left when one after it is reserved. Those in a line lose the same: who comes
//!   later and wants less does not overtake.
//! * What is cancelled of a window that is not the last: the word has no count for it. Lowering the
//!   count of the last one instead would grant permits twice in that, as the later reservations keep
//!   their instants.
//!
//! # Why the count does not run beyond the limit
//!
//! The excess of a count above the limit could flow into the next windows, a limit in each. Then a
//! reservation of several permits can lie on the edge between two windows. If all its permits count at its
//! instant, in the later window, up to `2 * limit - 1` have their instants in that. And if the limit is
//! raised meanwhile, the excess flows off faster than the instants come that were promised.
//!
//! # What was used beyond an estimate
//!
//! It fills the present window and those after it, to the limit, as far ahead as windows can be
//! reserved (but no more than [`MOST_WINDOWS`] at a time). If none can be, it is counted in the present
//! window, beyond the limit: see [`settle`](super::settle).
//!
//! # A clock that goes back
//!
//! A word that is ahead by more than can be reserved, and by more than clocks differ, is healed as
//! any other. If the clock was set back by less, the present window counts as closed until the word's begins.

use core::iter::once;
use core::time::Duration;

use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::forecast::known::KnownForecast;
use crate::decision::grant::Grant;
use crate::sync::Ordering::{AcqRel, Relaxed};
use crate::time::clock::Clock;
use crate::time::units;
use crate::wait::charged::{Booked, Charged};
use crate::wait::error::AcquireError;
use crate::wait::last_turn::LastTurn;
use crate::wait::line;
use crate::wait::turn::{TakesTurns, Turn};
use crate::window::gate::{is_gated, opened, with_gate};
use crate::window::revert::revert_beneath_the_gate;
use crate::window_counts::WindowCounts;

use super::outcome::{Granted, refused};
use super::turns::MOST_WINDOWS;
use super::{CounterCore, WindowCounter};

/// A number of changes that there never are: the reservation cannot be given back.
pub(super) const NEVER: u64 = u64::MAX;

/// A word at a time in its window.
struct WordAt<N> {
    word: u64,
    at_nanos: u64,
    now: N,
}

/// The reason why a window cannot be reserved from the present word on.
enum Unreached {
    /// No legal writer left such a word: it is to be healed.
    Impossible,
    /// Its window begins after the last instant of the clock.
    AfterTheLastInstant,
}

impl<T: WindowCounter, C> CounterCore<T, C> {
    /// Lets windows be reserved that begin up to `ahead_nanos` after now.
    pub(crate) fn reserve_ahead(&mut self, ahead_nanos: u64) {
        self.counter.reserve_ahead(ahead_nanos);
    }
}

impl<T: WindowCounter, C: Clock> CounterCore<T, C> {
    /// Takes `permits` in the first window that has them, if that begins at most `longest` from now.
    pub(crate) fn reserve_within(
        &self,
        permits: u64,
        longest: Duration,
    ) -> Result<Booked, AcquireError> {
        let longest_nanos = units::nanos(longest);
        let mut contender = self.word.contender();
        let mut now_nanos = self.clock.now_nanos();
        loop {
            let changes = self.word.companion().changes().unwrap_or(NEVER);
            let seen = self.load();
            let limit = self.counter.most();
            if permits > limit {
                return Err(AcquireError::TooLarge { limit });
            }
            if permits == 0 {
                let charged = Charged { before: seen, after: seen, changes };
                return Ok(booked(now_nanos, 0, charged));
            }
            if is_gated(seen) {
                if let Some(booked) = line::book(self, permits, longest_nanos)? {
                    return Ok(booked);
                }
                now_nanos = self.clock.now_nanos();
                continue;
            }
            let from = match self.reached(seen, now_nanos) {
                Ok(from) => from,
                Err(Unreached::AfterTheLastInstant) => return Err(self.too_far(permits)),
                Err(Unreached::Impossible) => {
                    self.heal();
                    self.poke();
                    now_nanos = self.clock.now_nanos();
                    continue;
                }
            };
            // The limit may just have been lowered: then it is known by the next look.
            let Some(place) = self.first_with(permits, from) else {
                return Err(self.too_far(permits));
            };
            let (at_nanos, wait_nanos) = (place.at_nanos, place.at_nanos - now_nanos);
            match wait_nanos.checked_sub(self.counter.reserves_nanos()) {
                None | Some(0) => {}
                Some(retry_nanos) => return Err(full(retry_nanos)),
            }
            if wait_nanos > longest_nanos {
                let retry_after = Duration::from_nanos(wait_nanos);
                return Err(AcquireError::TimedOut { retry_after });
            }
            let next = self.counter.plus(place.word, permits, &place.now);
            // ORDERING: AcqRel and Relaxed, as in `attempt`: it is a grant, in whatever window.
            // MODEL: `reservations_and_grants_keep_to_the_limit_of_each_window`,
            // `what_was_done_before_a_window_was_reserved_is_seen_after_the_next_grant`.
            if self.word.compare_exchange_weak(seen, next, AcqRel, Relaxed).is_ok() {
                let charged = Charged { before: seen, after: next, changes };
                return Ok(booked(at_nanos, wait_nanos, charged));
            }
            contender.lost_race();
        }
    }

    /// Returns the refusal of a caller for whom no window has enough.
    fn too_far(&self, permits: u64) -> AcquireError {
        let limit = self.counter.most();
        if permits > limit { AcquireError::TooLarge { limit } } else { full(u64::MAX) }
    }

    /// Gives a reservation of `permits` back, if its window is the last one that is taken of.
    pub(super) fn cancel_reservation(&self, booked: Booked, permits: u64) -> bool {
        let Booked { at_nanos, charged, .. } = booked;
        let now_nanos = self.clock.now_nanos();
        // The number of a window comes back.
        if now_nanos.saturating_sub(at_nanos) >= self.counter.range_nanos() / 2 {
            return false;
        }
        if self.uncharge(charged) {
            return true;
        }
        let now = self.counter.now(now_nanos);
        let number = self.counter.fields().number(charged.after);
        let lowered = self.lower(number, charged.changes, permits, &now);
        lowered.is_some_and(|(_, given)| given == permits)
    }

    /// Puts back the word from before a grant or a reservation, if it still is as that left it.
    pub(super) fn uncharge(&self, Charged { before, after, changes }: Charged) -> bool {
        let Some(_settlement) = self.word.companion().settlement(changes) else { return false };
        revert_beneath_the_gate(&self.word, with_gate, after, before).is_some()
    }

    /// Fills windows with `permits`, from the present one to the last that can be reserved. Returns how
    /// many it took.
    pub(super) fn overdraw(&self, permits: u64) -> u64 {
        let mut contender = self.word.contender();
        let mut now_nanos = self.clock.now_nanos();
        loop {
            let seen = self.load();
            let from = match self.reached(opened(seen), now_nanos) {
                Ok(from) => from,
                Err(Unreached::AfterTheLastInstant) => return 0,
                Err(Unreached::Impossible) => {
                    self.heal();
                    self.poke();
                    now_nanos = self.clock.now_nanos();
                    continue;
                }
            };
            let latest_nanos = now_nanos.saturating_add(self.counter.reserves_nanos());
            let (next, taken) = self.filled(permits, from, latest_nanos);
            if taken == 0 {
                return 0;
            }
            let next = with_gate(next, is_gated(seen));
            // ORDERING: AcqRel and Relaxed, as in `take_beyond`.
            // MODEL: `what_is_used_beyond_an_estimate_is_taken_of_the_windows_to_come`,
            // `what_was_done_before_a_window_was_reserved_is_seen_after_the_next_grant`.
            if self.word.compare_exchange_weak(seen, next, AcqRel, Relaxed).is_ok() {
                return taken;
            }
            contender.lost_race();
        }
    }

    /// Answers a caller at a time before the window of the word. Returns `None` if it has to try again,
    /// or heal.
    #[cold]
    #[inline(never)]
    pub(super) fn answer_ahead(
        &self,
        (now_nanos, now): (u64, &T::Now),
        ask: &impl Fn(&WindowCounts) -> u64,
    ) -> Option<Result<Granted, Denied>> {
        let seen = self.load();
        let wait_nanos = self.counter.begins_in(seen, now).filter(|_| !is_gated(seen))?;
        let counted = self.counted_at(seen, now);
        let is_empty = self.counter.counted(seen, now).current == 0;
        let known = KnownForecast {
            limit: counted.limit,
            used: counted.used(),
            reset_nanos: if is_empty { wait_nanos } else { counted.left_nanos },
            retry_nanos: 0,
        };
        let permits = ask(&counted);
        if permits == 0 {
            let grant = Grant { permits, forecast: Forecast::Known(known) };
            return Some(Ok(Granted { grant, seen, written: seen }));
        }
        if permits > self.counter.most() {
            return Some(Err(refused(permits, counted)));
        }
        let since_nanos = now_nanos;
        let turn = Turn {
            permits,
            since_nanos,
            now_nanos,
            has_others: false,
            may_heal: false,
            told_nanos: None,
        };
        let from = LastTurn { due_nanos: now_nanos, word: Some(seen) };
        let LastTurn { due_nanos, .. } = self.last_due(turn, Some(from), &mut once(permits));
        let retry_nanos = due_nanos.saturating_sub(now_nanos).max(1);
        let forecast = Forecast::Known(KnownForecast { retry_nanos, ..known });
        Some(Err(Denied::Wait(Shortfall { wanted: permits as i64, forecast, which: 0 })))
    }

    /// Brings `word` forward to now, or the time forward to its window, if that is reserved.
    fn reached(&self, word: u64, now_nanos: u64) -> Result<WordAt<T::Now>, Unreached> {
        let now = self.counter.now(now_nanos);
        if let Some(word) = self.counter.at(word, &now) {
            return Ok(WordAt { word, at_nanos: now_nanos, now });
        }
        let wait_nanos = self.counter.begins_in(word, &now).ok_or(Unreached::Impossible)?;
        let at_nanos = now_nanos.checked_add(wait_nanos).ok_or(Unreached::AfterTheLastInstant)?;
        Ok(WordAt { word, at_nanos, now: self.counter.at_another_time(at_nanos) })
    }

    /// Returns the first place that has `permits`, from one on.
    fn first_with(&self, permits: u64, from: WordAt<T::Now>) -> Option<WordAt<T::Now>> {
        let mut place = from;
        for _ in 0..MOST_WINDOWS {
            let counted = self.counter.counted(place.word, &place.now);
            if counted.fits(permits) {
                return Some(place);
            }
            place = self.after(&place, &counted)?;
        }
        None
    }

    /// Returns the word with up to `permits` more in the windows that begin until `latest_nanos`, and
    /// how many more.
    fn filled(&self, permits: u64, from: WordAt<T::Now>, latest_nanos: u64) -> (u64, u64) {
        let (mut place, mut word, mut taken) = (from, 0, 0);
        for _ in 0..MOST_WINDOWS {
            let counted = self.counter.counted(place.word, &place.now);
            let more = (permits - taken).min(counted.limit.saturating_sub(counted.current));
            if more > 0 {
                word = self.counter.plus(place.word, more, &place.now);
                taken += more;
            }
            match self.after(&place, &counted) {
                Some(next) if taken < permits && next.at_nanos <= latest_nanos => place = next,
                _ => break,
            }
        }
        (word, taken)
    }

    /// Returns the window after that of `place`, with nothing granted in it; `None` at the end of time.
    fn after(&self, place: &WordAt<T::Now>, counted: &WindowCounts) -> Option<WordAt<T::Now>> {
        let end_nanos = place.at_nanos.checked_add(counted.left_nanos)?;
        let (at_nanos, word) = self.counter.begin(end_nanos);
        let now = self.counter.at_another_time(at_nanos);
        (at_nanos >= end_nanos).then_some(WordAt { word, at_nanos, now })
    }
}

fn booked(at_nanos: u64, wait_nanos: u64, charged: Charged) -> Booked {
    Booked { at_nanos, wait_nanos, cost: 0, charged, place: None }
}

/// Refuses a reservation that can be made after `retry_nanos`.
fn full(retry_nanos: u64) -> AcquireError {
    AcquireError::LineFull { retry_after: Duration::from_nanos(retry_nanos) }
}
