//! Fairness between the callers of one hot word.
//!
//! A core that holds the word's cache line can win race after race for milliseconds, while a caller
//! on another core loses all of its own. So a caller that has lost [`LOSSES`] races in one call is
//! *announced*: it adds itself to a count on the same line. A caller that finds another one
//! announced steps back once before its own first compare-and-swap, for longer than the line takes
//! to move between cores.
//!
//! ```text
//! call    if nobody is announced: CAS
//!               success      done
//!               failure      for the LOSSES-th time: announce, and go to the loop
//!                            before that: pause, load the word again, try again
//! loop    at first, if another caller is announced: step back, load the word again
//!         CAS   success      withdraw the own announcement; done
//!               failure      for the LOSSES-th time: announce; from then on no pauses
//!                            before that: pause, load the word again
//! ```
//!
//! The line then moves once for `LOSSES` lost races instead of once per call. A caller that is not
//! contended pays one more load, of a line that it needs anyway.
//!
//! After a pause, the load brings the line, and the CAS has to come before another core takes it away
//! again. So a caller of a bucket tries again by the code of its first attempt, which the processor has
//! just run. (Two threads took up to 1.6 times as long where each retry was in the loop, and lost more
//! races.)
//!
//! # Progress
//!
//! The loops stay lock-free: a caller never waits *for* an announced one, only for a bounded time.
//! A thread that is suspended while announced cannot be told from one that is about to retry, so
//! the cost of an announcement has a bound:
//!
//! **Theorem.** The callers of a word step back, all of them together, at most [`PATIENCE`] times
//! for each announcement, however long it lasts.
//!
//! *Proof.* Callers step back only while some caller is heeded. Each step back is counted; at the
//! `PATIENCE`th, all that are heeded are written off, and the count restarts at 0. Only an
//! announcement increases the number of heeded callers, so each start of the count has an
//! announcement of its own. ∎
//!
//! An [`Announced`] withdraws its announcement when it is dropped, so on every way out of a call: a
//! grant, a denial, a change of the terms, a panic in a user's clock.
//!
//! Limiters of a single word have a [`Contention`], on the padded line of that word. Words of which
//! there are many (keys, shards, compact rings) have none: there is no space for a second word
//! beside each, and callers seldom meet at one of them. Their callers only make the same
//! [`Pauses`].

mod starved_word;

use core::fmt;
use core::ops::Deref;

use crossbeam_utils::CachePadded;

use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicWord, Word, pause};

use self::starved_word::Starved;

/// Lost races after which a caller is announced.
const LOSSES: u32 = if cfg!(sluicegate_loom) { 2 } else { 4 };

/// Length of a step back in pause instructions: longer than a cache line takes from one core to
/// another. (A pause is 10 to 140 cycles, depending on the processor.)
const STEP_PAUSES: u32 = 64;

/// Number of times that callers, together, step back before they write off the announced ones. One
/// step is enough for a thread that runs; a suspended one costs this many, once.
const PATIENCE: u64 = if cfg!(sluicegate_loom) { 2 } else { 64 };

/// Exponent of the first pause after a lost race, which is `2^SHORTEST` instructions: in that time
/// the winner makes tens of calls, and the line moves once for all of them.
const SHORTEST: u32 = 5;

/// Exponent of the longest pause, which is `2^LONGEST` instructions.
const LONGEST: u32 = 6;

/// The announced callers of one hot word. Belongs on the word's own cache line.
pub(crate) struct Contention {
    starved: AtomicWord<Starved>,
}

impl Contention {
    pub(crate) fn new() -> Contention {
        Contention { starved: AtomicWord::new(Starved::NONE) }
    }

    /// Returns whether a caller is announced that others step back for.
    #[inline(always)]
    pub(crate) fn is_announced(&self) -> bool {
        self.load().is_heeded()
    }

    #[inline(always)]
    fn load(&self) -> Starved {
        // ORDERING: Relaxed, here and below. The count publishes nothing, and no decision of a
        // limiter depends on it. Read-modify-writes see each other under any ordering, so none of
        // them is lost.
        // MODEL: `an_announcement_is_taken_back_whatever_comes_of_the_call`.
        self.starved.load(Relaxed)
    }

    /// Announces the caller. Returns `None` if the count is at its maximum.
    #[cold]
    #[inline(never)]
    fn announce(&self) -> Option<Announced<'_>> {
        self.change(Starved::announced).then_some(Announced(self))
    }

    /// Steps back if a caller is announced. Returns whether it did.
    #[cold]
    #[inline(never)]
    fn step_back(&self) -> bool {
        let is_heeded = self.change(Starved::stepped_back);
        if is_heeded {
            pause(STEP_PAUSES);
        }
        is_heeded
    }

    /// Replaces the count by `next` of it. Returns false if `next` gives `None`.
    fn change(&self, next: impl Fn(Starved) -> Option<Starved>) -> bool {
        let mut seen = self.load();
        while let Some(next) = next(seen) {
            // ORDERING: Relaxed, as in `load`.
            // MODEL: `an_announcement_is_taken_back_whatever_comes_of_the_call`,
            // `a_suspended_caller_is_stepped_back_for_only_so_often_and_stops_nobody`.
            match self.starved.compare_exchange_weak(seen, next, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(found) => seen = found,
            }
        }
        false
    }
}

impl fmt::Debug for Contention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.starved.fmt(f)
    }
}

/// A hot word and the count of callers that are starved of it, on a cache line of their own; and `B`,
/// what else belongs to the word.
#[derive(Debug)]
pub(crate) struct HotWord<W: Word + fmt::Debug, B = ()>(CachePadded<HotLine<W, B>>);

/// In this order: callers that contend write the first two, which must not be on two lines of 64 bytes.
#[derive(Debug)]
#[repr(C)]
struct HotLine<W: Word + fmt::Debug, B> {
    word: AtomicWord<W>,
    contention: Contention,
    beside: B,
}

impl<W: Word + fmt::Debug, B> HotWord<W, B> {
    pub(crate) fn beside(value: W, beside: B) -> HotWord<W, B> {
        let (word, contention) = (AtomicWord::new(value), Contention::new());
        HotWord(CachePadded::new(HotLine { word, contention, beside }))
    }

    /// Returns what else belongs to the word.
    pub(crate) fn companion(&self) -> &B {
        &self.0.beside
    }

    #[inline(always)]
    pub(crate) fn contention(&self) -> &Contention {
        &self.0.contention
    }

    #[inline(always)]
    pub(crate) fn contender(&self) -> Contender<'_> {
        Contender::new(Some(self.contention()))
    }
}

impl<W: Word + fmt::Debug, B> Deref for HotWord<W, B> {
    type Target = AtomicWord<W>;

    #[inline(always)]
    fn deref(&self) -> &AtomicWord<W> {
        &self.0.word
    }
}

/// The announcement of one caller, withdrawn when dropped.
struct Announced<'a>(&'a Contention);

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.0.change(Starved::withdrawn);
    }
}

/// A call in the loop of a hot word.
pub(crate) struct Contender<'a> {
    /// `None` for a word without announcements: its callers only pause.
    contention: Option<&'a Contention>,
    announced: Option<Announced<'a>>,
    has_looked: bool,
    pauses: Pauses,
}

impl<'a> Contender<'a> {
    #[inline(always)]
    pub(crate) fn new(contention: Option<&'a Contention>) -> Contender<'a> {
        Contender { contention, announced: None, has_looked: false, pauses: Pauses::new() }
    }

    /// Goes on after first attempts with these `pauses`. Announces the caller if it is starved and the
    /// count is not at its maximum; then it steps back for nobody, and the word must be loaded again.
    #[inline(always)]
    pub(crate) fn after(contention: Option<&'a Contention>, pauses: Pauses) -> Contender<'a> {
        let is_starved = pauses.lost == LOSSES;
        let announced = contention.filter(|_| is_starved).and_then(Contention::announce);
        let pauses = if is_starved { Pauses::new() } else { pauses };
        let has_looked = announced.is_some();
        Contender { contention, announced, has_looked, pauses }
    }

    /// Returns whether this caller is announced.
    #[inline(always)]
    pub(crate) fn is_announced(&self) -> bool {
        self.announced.is_some()
    }

    /// Steps back if a caller is announced, but only on the first call. Returns whether it did.
    ///
    /// To be called before each compare-and-swap; after a step back the word must be loaded again.
    #[inline(always)]
    #[must_use = "the word has moved on"]
    pub(crate) fn has_stepped_back(&mut self) -> bool {
        let is_first = !core::mem::replace(&mut self.has_looked, true);
        match self.contention {
            Some(contention) if is_first && contention.is_announced() => contention.step_back(),
            _ => false,
        }
    }

    /// Pauses after a lost race, so that the winner can proceed. An announced caller does not
    /// pause: it is to retry at once.
    ///
    /// Afterwards the word must be loaded again: the value that the lost race found is out of date,
    /// and a compare-and-swap with it would take the cache line and fail.
    #[inline(always)]
    pub(crate) fn lost_race(&mut self) {
        if !self.is_announced() {
            self.back_off();
        }
    }

    #[cold]
    #[inline(never)]
    fn back_off(&mut self) {
        if self.pauses.lost_race() {
            self.announced = self.contention.and_then(Contention::announce);
        }
    }
}

/// The pauses of one caller after its lost races.
#[derive(Clone, Copy)]
pub(crate) struct Pauses {
    lost: u32,
}

impl Pauses {
    #[inline(always)]
    pub(crate) fn new() -> Pauses {
        Pauses { lost: 0 }
    }

    /// Pauses after a lost race of a first attempt, which is then made again. Returns false at once
    /// after the [`LOSSES`]th: then the caller is starved.
    #[inline(always)]
    pub(crate) fn may_try_again(&mut self) -> bool {
        self.lost += 1;
        let is_starved = self.lost == LOSSES;
        if !is_starved {
            pause_after(self.lost);
        }
        !is_starved
    }

    /// Pauses after a lost race. After every [`LOSSES`]th it returns true at once instead.
    ///
    /// The pauses after that are short again: otherwise the caller that has lost most often would
    /// wait longest, for as long as it loses. Afterwards the word must be loaded again, as after
    /// [`Contender::lost_race`].
    #[cold]
    #[inline(never)]
    pub(crate) fn lost_race(&mut self) -> bool {
        let is_starved = !self.may_try_again();
        if is_starved {
            self.lost = 0;
        }
        is_starved
    }
}

/// Pauses after so many lost races.
#[cold]
#[inline(never)]
fn pause_after(lost: u32) {
    pause(1 << (SHORTEST + lost - 1).min(LONGEST));
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests;
