//! The last denial of a shard, remembered until it can change.
//!
//! Under a flood nearly every call is refused, and for the same reason as the last one.
//! Then all a call has to know is that nothing has come back since, and that the instant
//! has not come at which what was refused can be granted: words that nobody writes.
//!
//! A few words, so a lock word counts the writers (odd while one is at work); who reads
//! looks at it before and after, and who would write while another does leaves it.

use crate::Refill;
use crate::decision::{Accrued, Denied, Outlook, Shortfall};
use crate::sync::{
    AtomicWord,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

/// What was refused, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) permits: u64,
    /// How often tokens had come back before it.
    pub(super) returns: u64,
    pub(super) since_nanos: u64,
    /// Until then it is certain to be refused again.
    pub(super) until_nanos: u64,
    /// The limiter as it stood.
    pub(super) accrued: Accrued,
}

const WORDS: usize = 11;

impl Refusal {
    /// The refusal of `permits` at `now_nanos`, when tokens had come back so often.
    pub(super) fn new(permits: u64, returns: u64, now_nanos: u64, accrued: &Accrued) -> Refusal {
        let wait_nanos = accrued.certain_wait(Refusal::wanted(permits, accrued));
        let until_nanos = now_nanos.saturating_add(wait_nanos);
        Refusal { permits, returns, since_nanos: now_nanos, until_nanos, accrued: *accrued }
    }

    /// What it says at `now_nanos`; `None` if that is not between its instants.
    #[inline(always)]
    pub(super) fn at(&self, now_nanos: u64) -> Option<Denied> {
        let passed_nanos = now_nanos.wrapping_sub(self.since_nanos);
        if passed_nanos >= self.until_nanos.wrapping_sub(self.since_nanos) {
            return None;
        }
        let wanted = Refusal::wanted(self.permits, &self.accrued);
        let outlook = Outlook::Accrued(Accrued { passed_nanos, ..self.accrued });
        Some(Denied::Wait(Shortfall { wanted, outlook, which: 0 }))
    }

    fn wanted(permits: u64, accrued: &Accrued) -> i64 {
        (permits as i64).wrapping_mul(accrued.token as i64)
    }

    fn to_words(self) -> [u64; WORDS] {
        let Refusal { permits, returns, since_nanos, until_nanos, accrued } = self;
        [
            permits,
            returns,
            since_nanos,
            until_nanos,
            accrued.balance as u64,
            accrued.capacity,
            accrued.token,
            accrued.gain,
            accrued.period_nanos,
            accrued.time_nanos,
            u64::from(accrued.refill == Refill::Interval),
        ]
    }

    /// The refusal in the words. Words of different ones make nonsense, but never a
    /// panic: whoever read them finds out.
    #[inline(always)]
    fn from_words(words: [u64; WORDS]) -> Refusal {
        let [
            permits,
            returns,
            since_nanos,
            until_nanos,
            balance,
            capacity,
            token,
            gain,
            period_nanos,
            time_nanos,
            refill,
        ] = words;
        let accrued = Accrued {
            balance: balance as i64,
            capacity,
            token,
            gain,
            period_nanos,
            time_nanos,
            refill: if refill == 0 { Refill::Smooth } else { Refill::Interval },
            passed_nanos: 0,
        };
        Refusal { permits, returns, since_nanos, until_nanos, accrued }
    }
}

#[derive(Debug)]
pub(super) struct Memory {
    writers: AtomicWord<u64>,
    words: [AtomicWord<u64>; WORDS],
}

impl Memory {
    /// Nothing is remembered: nobody asks for 0 permits.
    pub(super) fn new() -> Memory {
        Memory { writers: AtomicWord::new(0), words: [0; WORDS].map(AtomicWord::new) }
    }

    /// The refusal of `permits`, if that was the last, and nothing has come back since.
    #[inline(always)]
    pub(super) fn recall(&self, permits: u64, returns: u64) -> Option<Refusal> {
        // ORDERING: Acquire; pairs with the store at the end of `note`, so that the words
        // are those of that writer or of a later one.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        let before = self.writers.load(Acquire);
        // ORDERING: Relaxed; between the load above and the fence below.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        let words = self.words.each_ref().map(|word| word.load(Relaxed));
        // ORDERING: an Acquire fence, so that the second look comes after the words. Had
        // one of them been written since the first, by a Release store, the second would
        // see the CAS before it.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        fence(Acquire);
        // ORDERING: Relaxed; after the fence.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        let is_one = before.is_multiple_of(2) && self.writers.load(Relaxed) == before;
        let refusal = Refusal::from_words(words);
        (is_one && refusal.permits == permits && refusal.returns == returns).then_some(refusal)
    }

    /// Remembers `refusal` in place of the last one; or not, if another call is just
    /// doing so.
    pub(super) fn note(&self, refusal: &Refusal) {
        // ORDERING: Relaxed. A guess, which the CAS checks.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        let before = self.writers.load(Relaxed);
        // ORDERING: Acquire, so that these stores come after those of the last writer;
        // pairs with the store below. On failure nothing is read.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        let is_mine = before.is_multiple_of(2)
            && self
                .writers
                .compare_exchange(before, before.wrapping_add(1), Acquire, Relaxed)
                .is_ok();
        if !is_mine {
            return;
        }
        for (word, value) in self.words.iter().zip(refusal.to_words()) {
            // ORDERING: Release, so that who sees it sees the CAS above; pairs with the
            // fence in `recall`.
            // MODEL: `a_remembered_denial_is_of_one_refusal`.
            word.store(value, Release);
        }
        // ORDERING: Release; pairs with the load in `recall`.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        self.writers.store(before.wrapping_add(2), Release);
    }
}
