//! The last denial of a shard, remembered until it can change.
//!
//! Under a flood nearly every call is refused, and for the same reason as the last one.
//! Then all a call has to know is that nothing has come back since, and that the instant
//! has not come at which what was refused can be granted: words that nobody writes.
//!
//! A few words, so a lock word counts the writers (odd while one is at work); who reads
//! looks at it before and after, and who would write while another does leaves it.

use crate::bits::Field;
use crate::config::quota::Quota;
use crate::config::refill::Refill;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicWord, fence};

use super::denied::{Denied, Shortfall};
use super::forecast::{Accrued, Forecast};
use super::known::Known;

/// A request that was refused, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CachedDenial {
    permits: u64,
    /// If it was one, the most that could have been refused instead.
    most: u64,
    /// The number of times that permits had come back before it.
    returns: u64,
    since_nanos: u64,
    /// Until then it is certain to be refused again.
    until_nanos: u64,
    which: u64,
    /// The limiter as it stood: of what kind, and what is said of it.
    kind: u64,
    said: [u64; 6],
}

const WORDS: usize = 11;

// Layout of the word that says of what kind.
const KIND: Field = Field::low(2);
const WHICH: Field = KIND.then(8);
const MOST: Field = WHICH.then(54);

const _: () = assert!(MOST.end() == u64::BITS && MOST.max() >= Quota::MAX_BURST);

// The kinds of limiter.
const EARNS_SMOOTHLY: u64 = 0;
const EARNS_IN_STEPS: u64 = 1;
const COUNTS: u64 = 2;

impl CachedDenial {
    /// A denial of nothing: nobody is refused 0 permits.
    const NONE: CachedDenial = CachedDenial {
        permits: 0,
        most: 0,
        returns: 0,
        since_nanos: 0,
        until_nanos: 0,
        which: 0,
        kind: 0,
        said: [0; 6],
    };

    /// The denial of `permits` at `now_nanos`, when permits had come back so often. Where they
    /// are earned, it says what is true of requests for up to `most`; `permits` if nothing is
    /// known of others.
    pub(crate) fn new(
        permits: u64,
        most: u64,
        returns: u64,
        now_nanos: u64,
        of: &Shortfall,
    ) -> CachedDenial {
        let known = |known: Known| {
            let Known { limit, used, reset_nanos, retry_nanos } = known;
            (COUNTS, [limit, used, reset_nanos, retry_nanos, 0, 0], retry_nanos)
        };
        let mut since_nanos = now_nanos;
        let (kind, said, wait_nanos) = match of.forecast {
            Forecast::Accrued(accrued) => {
                // An early clock is not answered from memory: until the origin it has to
                // wait for more than what is missing.
                since_nanos = accrued.holds_from(now_nanos);
                let wait_nanos = accrued.certain_wait(of.forecast.wanted_for(permits));
                let Accrued { capacity, token, gain, period_nanos, time_nanos, .. } = accrued;
                let balance = accrued.balance as u64;
                let kind = match accrued.refill {
                    Refill::Smooth => EARNS_SMOOTHLY,
                    Refill::Interval => EARNS_IN_STEPS,
                };
                (kind, [balance, capacity, token, gain, period_nanos, time_nanos], wait_nanos)
            }
            Forecast::Counted(counted) => known(counted.known(permits)),
            Forecast::Known(looked_up) => known(looked_up),
        };
        let until_nanos = since_nanos.saturating_add(wait_nanos);
        let which = of.which as u64;
        let most = if kind == COUNTS { permits } else { most };
        CachedDenial { permits, most, returns, since_nanos, until_nanos, which, kind, said }
    }

    /// Says if it is an answer to a request for `permits`. One for a single permit is one
    /// for any number up to `most`, where they are earned: as long as it holds there is nothing
    /// that anybody could take, so how long it will be can be worked out.
    #[inline(always)]
    fn answers(&self, permits: u64) -> bool {
        permits == self.permits || self.permits == 1 && permits > 1 && permits <= self.most
    }

    /// The denial that it stands for at `now_nanos`; `None` if that is not between its instants.
    #[inline(always)]
    pub(crate) fn at(&self, now_nanos: u64) -> Option<Denied> {
        let passed_nanos = now_nanos.wrapping_sub(self.since_nanos);
        if passed_nanos >= self.until_nanos.wrapping_sub(self.since_nanos) {
            return None;
        }
        let forecast = match self.kind {
            EARNS_SMOOTHLY => self.accrued(Refill::Smooth, passed_nanos),
            EARNS_IN_STEPS => self.accrued(Refill::Interval, passed_nanos),
            _ => {
                let [limit, used, reset_nanos, retry_nanos, ..] = self.said;
                Forecast::Known(Known {
                    limit,
                    used,
                    reset_nanos: reset_nanos.saturating_sub(passed_nanos),
                    retry_nanos: retry_nanos.saturating_sub(passed_nanos),
                })
            }
        };
        let wanted = forecast.wanted_for(self.permits);
        Some(Denied::Wait(Shortfall { wanted, forecast, which: self.which as usize }))
    }

    /// Says if it was refused later than `now_nanos`.
    pub(crate) fn is_after(&self, now_nanos: u64) -> bool {
        now_nanos < self.since_nanos
    }

    /// The same, certain for so much less.
    pub(crate) fn for_less(self, nanos: u64) -> CachedDenial {
        let until_nanos = self.until_nanos.saturating_sub(nanos).max(self.since_nanos);
        CachedDenial { until_nanos, ..self }
    }

    #[inline(always)]
    fn accrued(&self, refill: Refill, passed_nanos: u64) -> Forecast {
        let [balance, capacity, token, gain, period_nanos, time_nanos] = self.said;
        Forecast::Accrued(Accrued {
            balance: balance as i64,
            capacity,
            token,
            gain,
            period_nanos,
            time_nanos,
            refill,
            is_early: false,
            apart_nanos: passed_nanos,
        })
    }

    fn to_words(self) -> [u64; WORDS] {
        let CachedDenial { permits, most, returns, since_nanos, until_nanos, which, kind, said } =
            self;
        let shape =
            KIND.put(kind) | WHICH.put(which.min(WHICH.max())) | MOST.put(most.min(MOST.max()));
        let mut words = [0; WORDS];
        let (first, last) = words.split_at_mut(WORDS - said.len());
        first.copy_from_slice(&[permits, returns, since_nanos, until_nanos, shape]);
        last.copy_from_slice(&said);
        words
    }

    /// The denial in the words. Words of several denials are put together to one that nobody
    /// gave, and without a panic: whoever read them looks at the lock word again before the
    /// denial is used.
    #[inline(always)]
    fn from_words(words: [u64; WORDS]) -> CachedDenial {
        let [permits, returns, since_nanos, until_nanos, shape, said @ ..] = words;
        let (kind, which, most) = (KIND.get(shape), WHICH.get(shape), MOST.get(shape));
        CachedDenial { permits, most, returns, since_nanos, until_nanos, which, kind, said }
    }
}

#[derive(Debug)]
pub(crate) struct DenialCache {
    writers: AtomicWord<u64>,
    words: [AtomicWord<u64>; WORDS],
}

impl DenialCache {
    /// Nothing is remembered.
    pub(crate) fn new() -> DenialCache {
        let words = CachedDenial::NONE.to_words().map(AtomicWord::new);
        DenialCache { writers: AtomicWord::new(0), words }
    }

    /// The denial that is remembered and answers a request for `permits`, if nothing has come
    /// back since.
    #[inline(always)]
    pub(crate) fn recall(&self, permits: u64, returns: u64) -> Option<CachedDenial> {
        // ORDERING: Relaxed. Nothing is read by it: it spares who is granted all else.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        if self.words[0].load(Relaxed) == 0 {
            return None;
        }
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
        let remembered = CachedDenial::from_words(words);
        let is_answer = remembered.returns == returns && remembered.answers(permits);
        (is_one && is_answer).then_some(CachedDenial { permits, ..remembered })
    }

    /// Forgets the last one.
    pub(crate) fn clear(&self) {
        self.note(&CachedDenial::NONE);
    }

    /// Remembers `denial` in place of the last one; or not, if another call is just
    /// doing so.
    pub(crate) fn note(&self, denial: &CachedDenial) {
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
        for (word, value) in self.words.iter().zip(denial.to_words()) {
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
