//! The loop that spends: everything that raises a counter by permits.

use crate::contention::Contender;
use crate::decision::denied::Denied;
use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::decision::undo::Debit;
use crate::limiter::leaving::counted_beside;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use crate::time::clock::Clock;
use crate::window::gate::is_gated;
use crate::window_counts::WindowCounts;

use super::outcome::{AtTheGate, Attempt, Granted, Miss, refused};
use super::{CounterCore, WindowCounter};

impl<T: WindowCounter, C: Clock> CounterCore<T, C> {
    #[inline]
    pub(crate) fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.spend::<true, _>(0, |_| permits, Granted::grant)
    }

    #[inline(always)]
    pub(crate) fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.spend_leaving::<true>(permits, reserve)
    }

    pub(crate) fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.spend_leaving::<false>(permits, reserve)
    }

    #[inline(always)]
    fn spend_leaving<const SPEND: bool>(
        &self,
        permits: u64,
        reserve: u64,
    ) -> Result<Grant, Denied> {
        let (now_nanos, kept) = (self.clock.now_nanos(), counted_beside(permits, reserve));
        let denial = |denied: Denied| denied.leaving(reserve);
        self.spend_told::<SPEND, _>(now_nanos, kept, |_| permits + kept, Granted::grant, denial)
    }

    pub(crate) fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.spend::<false, _>(0, |_| permits, Granted::grant)
    }

    pub(crate) fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        // If nothing is available, the denial is that of one permit.
        let there = |counted: &WindowCounts| counted.limit.saturating_sub(counted.used()).max(1);
        self.spend::<true, _>(0, |counted| permits.min(there(counted)), Granted::grant)
    }

    pub(crate) fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.revocable(permits, 0)
    }

    pub(crate) fn try_acquire_leaving_revocable(
        &self,
        permits: u64,
        reserve: u64,
    ) -> Result<Receipt<'_>, Denied> {
        self.revocable(permits, counted_beside(permits, reserve))
            .map_err(|denied| denied.leaving(reserve))
    }

    #[inline(always)]
    fn revocable(&self, permits: u64, reserve: u64) -> Result<Receipt<'_>, Denied> {
        self.spend::<true, _>(
            reserve,
            |_| permits + reserve,
            |Granted { grant, seen, written }| {
                Receipt::new(grant, &self.word, Debit::Word { before: seen, after: written })
            },
        )
    }

    #[inline(always)]
    pub(super) fn load(&self) -> u64 {
        // ORDERING: Acquire, for the limit: a caller that sees permits granted under a new
        // limit must not decide by the old one. Pairs with the CAS in `spend`. The counts
        // do not need it: they are all in the word. An admission from a stale word
        // fails in its CAS; a denial from a stale word is the answer of a moment at
        // which the window was full.
        // MODEL: `a_lowered_limit_holds_for_whoever_comes_after`,
        // `a_caller_that_paused_is_told_of_the_limit_in_force`.
        self.word.load(Acquire)
    }

    /// Spends the permits that `ask` chooses from the counts, less `reserve` of them, which only have to be
    /// there; if `SPEND`. Returns the part of the answer that `part` takes.
    #[inline(always)]
    fn spend<const SPEND: bool, P>(
        &self,
        reserve: u64,
        ask: impl Fn(&WindowCounts) -> u64,
        part: impl Fn(Granted) -> P,
    ) -> Result<P, Denied> {
        self.spend_at::<SPEND, _>(self.clock.now_nanos(), reserve, ask, part)
    }

    /// Does the same at `now_nanos`. Inlined as far as the first attempt.
    ///
    /// The answers of the first attempt and of the loop are taken apart each by itself. If they shared
    /// their memory, every call would compute and store the whole answer, used or not.
    #[inline(always)]
    pub(super) fn spend_at<const SPEND: bool, P>(
        &self,
        now_nanos: u64,
        reserve: u64,
        ask: impl Fn(&WindowCounts) -> u64,
        part: impl Fn(Granted) -> P,
    ) -> Result<P, Denied> {
        self.spend_told::<SPEND, _>(now_nanos, reserve, ask, part, |denied| denied)
    }

    /// Does the same, and returns what `denial` makes of one.
    #[inline(always)]
    fn spend_told<const SPEND: bool, P>(
        &self,
        now_nanos: u64,
        reserve: u64,
        ask: impl Fn(&WindowCounts) -> u64,
        part: impl Fn(Granted) -> P,
        denial: impl Fn(Denied) -> Denied,
    ) -> Result<P, Denied> {
        let now = self.counter.now(now_nanos);
        let seen = self.load();
        match self.attempt::<SPEND>(seen, &now, reserve, &ask, None) {
            Attempt::Answered(answer) => answer.map(part).map_err(denial),
            Attempt::Missed(missed) => self
                .spend_from::<SPEND>(missed, (now_nanos, now), reserve, ask)
                .map(part)
                .map_err(denial),
        }
    }

    /// The loop, after an attempt that `missed`.
    #[inline(never)]
    fn spend_from<const SPEND: bool>(
        &self,
        mut missed: Miss,
        (mut now_nanos, mut now): (u64, T::Now),
        reserve: u64,
        ask: impl Fn(&WindowCounts) -> u64,
    ) -> Result<Granted, Denied> {
        let mut contender = self.word.contender();
        loop {
            let seen = match missed {
                Miss::TooFarAhead => {
                    if let Some(answer) = self.answer_ahead((now_nanos, &now), &ask) {
                        return answer;
                    }
                    let (seen, later) = self.heal();
                    self.poke();
                    now = later;
                    seen
                }
                Miss::AtTheGate => {
                    now_nanos = match self.ask_at_the_gate((now_nanos, &now), &ask) {
                        AtTheGate::Opened { now_nanos } => now_nanos,
                        AtTheGate::Answered(answer) => return answer,
                    };
                    now = self.counter.now(now_nanos);
                    self.load()
                }
                // Decide again from the winner's word; the clock is not read again.
                Miss::LostRace => {
                    contender.lost_race();
                    self.load()
                }
                Miss::OthersFirst => self.load(),
            };
            match self.attempt::<SPEND>(seen, &now, reserve, &ask, Some(&mut contender)) {
                Attempt::Answered(answer) => return answer,
                Attempt::Missed(next) => missed = next,
            }
        }
    }

    /// Makes one attempt on the word `seen`, by one CAS if there is something to spend.
    #[inline(always)]
    fn attempt<const SPEND: bool>(
        &self,
        seen: u64,
        now: &T::Now,
        reserve: u64,
        ask: &impl Fn(&WindowCounts) -> u64,
        contender: Option<&mut Contender<'_>>,
    ) -> Attempt {
        if is_gated(seen) {
            return Attempt::Missed(Miss::AtTheGate);
        }
        let Some(word) = self.counter.at(seen, now) else {
            return Attempt::Missed(Miss::TooFarAhead);
        };
        let counted = self.counter.counted(word, now);
        let together = ask(&counted);
        let permits = together.saturating_sub(reserve);
        let after = WindowCounts { current: counted.current.saturating_add(permits), ..counted };
        let grant = Grant { permits, forecast: Forecast::Window(after) };
        if permits == 0 {
            return Attempt::Answered(Ok(Granted { grant, seen, written: seen }));
        }
        if !counted.fits(together) {
            return Attempt::Answered(Err(refused(together, counted)));
        }
        if !SPEND {
            return Attempt::Answered(Ok(Granted { grant, seen, written: seen }));
        }
        let others_first = match contender {
            Some(contender) => contender.has_stepped_back(),
            // The step back itself is left to the loop.
            None => self.word.contention().is_announced(),
        };
        if others_first {
            return Attempt::Missed(Miss::OthersFirst);
        }
        let written = self.counter.plus(word, permits, now);
        // ORDERING: AcqRel on success, so that what an admitted caller did
        // before its request is visible to the next one. The bound needs neither:
        // the word's CASes have one order under any ordering. Relaxed on
        // failure: the word is loaded again.
        // MODEL: `a_window_admits_no_more_than_its_limit`,
        // `what_was_done_before_a_grant_is_seen_after_the_next`.
        match self.word.compare_exchange_weak(seen, written, AcqRel, Relaxed) {
            Ok(_) => Attempt::Answered(Ok(Granted { grant, seen, written })),
            Err(_) => Attempt::Missed(Miss::LostRace),
        }
    }
}
