//! A cache of the last denial, valid until the answer can change. Each shard of a `Sharded` has one,
//! and each seat of a hot key.
//!
//! Under overload nearly every call is refused, and for the same reason as the last one. Such a
//! call needs to know only that no permits have come back since, and that it is too early for the
//! refused request to be granted. It finds that in words that no call writes.

use crate::bits::Field;
use crate::config::quota::Quota;
use crate::config::refill::Refill;
use crate::seq_lock::SeqLock;

use super::denied::{Denied, Shortfall};
use super::forecast::Forecast;
use super::forecast::bucket::BucketForecast;
use super::forecast::known::KnownForecast;

/// A refused request, and the time until which it stays refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CachedDenial {
    permits: u64,
    /// If `permits` is 1, the largest request that this denial also answers.
    most: u64,
    /// Number of times that permits had come back before the denial.
    returns: u64,
    since_nanos: u64,
    /// Until then the request is certain to be refused again.
    until_nanos: u64,
    which: u64,
    /// The state of the limiter: its kind, and the fields of its forecast.
    kind: u64,
    said: [u64; 6],
}

const WORDS: usize = 11;

// Layout of the word that holds the kind.
const KIND: Field = Field::low(2);
const WHICH: Field = KIND.then(8);
const MOST: Field = WHICH.then(54);

const _: () = assert!(MOST.end() == u64::BITS && MOST.max() >= Quota::MAX_BURST);

// The kinds of limiter.
const EARNS_SMOOTHLY: u64 = 0;
const EARNS_IN_STEPS: u64 = 1;
const COUNTS: u64 = 2;

impl CachedDenial {
    /// The empty cache: a denial of 0 permits, which are never refused.
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

    /// Creates the denial of `permits` at `now_nanos`, after permits had come back `returns` times.
    /// For a limiter that earns, the denial may also answer requests up to `most`; that is
    /// `permits` if nothing is known of larger ones.
    pub(crate) fn new(
        permits: u64,
        most: u64,
        returns: u64,
        now_nanos: u64,
        of: &Shortfall,
    ) -> CachedDenial {
        let known = |known: KnownForecast| {
            let KnownForecast { limit, used, reset_nanos, retry_nanos } = known;
            (COUNTS, [limit, used, reset_nanos, retry_nanos, 0, 0], retry_nanos)
        };
        let mut since_nanos = now_nanos;
        let (kind, said, wait_nanos) = match of.forecast {
            Forecast::Bucket(accrued) => {
                // Not valid before the origin: a call with an earlier clock must wait for the
                // origin as well as for what is missing.
                since_nanos = accrued.holds_from(now_nanos);
                let wait_nanos = accrued.certain_wait(of.forecast.wanted_for(permits));
                let BucketForecast { capacity, token, gain, period_nanos, time_nanos, .. } =
                    accrued;
                let balance = accrued.balance as u64;
                let kind = match accrued.refill {
                    Refill::Smooth => EARNS_SMOOTHLY,
                    Refill::Interval => EARNS_IN_STEPS,
                };
                (kind, [balance, capacity, token, gain, period_nanos, time_nanos], wait_nanos)
            }
            Forecast::Window(counted) => known(KnownForecast::of(&counted, permits)),
            Forecast::Known(looked_up) => known(looked_up),
        };
        let until_nanos = since_nanos.saturating_add(wait_nanos);
        let which = of.which as u64;
        let most = if kind == COUNTS { permits } else { most };
        CachedDenial { permits, most, returns, since_nanos, until_nanos, which, kind, said }
    }

    /// Returns whether it answers a request for `permits`. For a limiter that earns, the denial of
    /// a single permit answers any request up to `most`: while it is valid there is nothing to
    /// take, so the wait can be computed.
    #[inline(always)]
    fn answers(&self, permits: u64) -> bool {
        permits == self.permits || self.permits == 1 && permits > 1 && permits <= self.most
    }

    /// Returns the denial at `now_nanos`, or `None` if that is outside the time for which it is
    /// valid.
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
                Forecast::Known(KnownForecast {
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

    /// Returns whether the denial is later than `now_nanos`.
    pub(crate) fn is_after(&self, now_nanos: u64) -> bool {
        now_nanos < self.since_nanos
    }

    /// Returns the denial with its validity shortened by `nanos`.
    pub(crate) fn for_less(self, nanos: u64) -> CachedDenial {
        let until_nanos = self.until_nanos.saturating_sub(nanos).max(self.since_nanos);
        CachedDenial { until_nanos, ..self }
    }

    #[inline(always)]
    fn accrued(&self, refill: Refill, passed_nanos: u64) -> Forecast {
        let [balance, capacity, token, gain, period_nanos, time_nanos] = self.said;
        Forecast::Bucket(BucketForecast {
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

    #[inline(always)]
    fn from_words(words: [u64; WORDS]) -> CachedDenial {
        let [permits, returns, since_nanos, until_nanos, shape, said @ ..] = words;
        let (kind, which, most) = (KIND.get(shape), WHICH.get(shape), MOST.get(shape));
        CachedDenial { permits, most, returns, since_nanos, until_nanos, which, kind, said }
    }
}

#[derive(Debug)]
pub(crate) struct DenialCache(SeqLock<WORDS>);

impl DenialCache {
    /// Creates an empty cache.
    pub(crate) fn new() -> DenialCache {
        DenialCache(SeqLock::new(CachedDenial::NONE.to_words()))
    }

    /// Returns the cached denial if it answers a request for `permits` and no permits have come
    /// back since.
    #[inline(always)]
    pub(crate) fn cached_denial(&self, permits: u64, returns: u64) -> Option<CachedDenial> {
        // Spares calls without a cached denial the rest.
        if self.0.first() == 0 {
            return None;
        }
        let remembered = CachedDenial::from_words(self.0.read()?);
        let is_answer = remembered.returns == returns && remembered.answers(permits);
        is_answer.then_some(CachedDenial { permits, ..remembered })
    }

    /// Empties the cache.
    pub(crate) fn clear(&self) {
        self.note(&CachedDenial::NONE);
    }

    /// Caches `denial` in place of the last one, unless another call is writing at the same time.
    pub(crate) fn note(&self, denial: &CachedDenial) {
        self.0.write(denial.to_words());
    }
}
