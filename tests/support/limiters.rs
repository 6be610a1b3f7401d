//! The lists of limiters that tests, benchmarks and counts of atomic operations walk: a new limiter is a row here.
//!
//! Each macro passes its rows to a macro of the caller, who imports the types that they name.

#![allow(unused_imports, unused_macros, reason = "a program may walk one list only")]

/// Passes on the buckets: a name, another for reports, the type, the limiter of a quota, and the change of
/// one to a quota.
macro_rules! buckets {
    ($walk:ident) => {
        $walk! {
            (TokenBucket, "token_bucket", TokenBucket, |quota, clock| {
                TokenBucket::with_clock(quota, clock)
            }, |bucket, quota| {
                bucket.reconfigure(quota, Carry::Keep)
            })
            (TokenBucketInterval, "token_bucket_interval", TokenBucket, |quota, clock| {
                TokenBucket::with_clock(quota.with_refill(Refill::Interval), clock)
            }, |bucket, quota| {
                bucket.reconfigure(quota.with_refill(Refill::Interval), Carry::Keep)
            })
            (Gcra, "gcra", Gcra, |quota, clock| {
                let interval = quota.rate().period() / quota.rate().permits() as u32;
                let tolerance = interval * (quota.burst() - 1) as u32;
                Gcra::with_clock(interval, tolerance, clock).expect("it is in range")
            }, |gcra, quota| {
                let interval = quota.rate().period() / quota.rate().permits() as u32;
                let tolerance = interval * (quota.burst() - 1) as u32;
                gcra.reconfigure(interval, tolerance, Carry::Keep).expect("it is in range")
            })
            (LeakyBucket, "leaky_bucket", LeakyBucket, |quota, clock| {
                LeakyBucket::meter_with_clock(quota, clock)
            }, |bucket, quota| {
                bucket.reconfigure(quota, Carry::Keep)
            })
        }
    };
}

/// Passes on the windows that have one limit: a name, another for reports, the type, the limiter (of a rate,
/// so many slots and so many entries of a log), its reference (made at a time, for a limit, the nanoseconds
/// of its window, slots and entries), and its facts for `window_edges/subject.rs`.
macro_rules! windows {
    ($walk:ident) => {
        $walk! {
            (Fixed, "fixed_window", FixedWindow, |limit, _slots, _entries, clock| {
                FixedWindow::with_clock(limit, clock)
            }, |now, _limit, length, _slots, _entries| {
                State::Fixed(Fixed::new(now, length, false))
            }, { bound: Bound::Own, is_aligned: true })
            (FromFirst, "window_from_first", WindowFromFirst, |limit, _slots, _entries, clock| {
                WindowFromFirst::with_clock(limit, clock)
            }, |now, limit, length, _slots, _entries| {
                State::FromFirst(FromFirst::new(now, length, limit))
            }, { bound: Bound::Own, tick_bits: Some(1) })
            (Counter, "sliding_counter", SlidingCounter, |limit, _slots, _entries, clock| {
                SlidingCounter::with_clock(limit, clock)
            }, |now, _limit, length, _slots, _entries| {
                State::Fixed(Fixed::new(now, length, true))
            }, { bound: Bound::Own, is_aligned: true, windows: 2 })
            (Sliding, "sliding_window", SlidingWindow, |limit, slots, _entries, clock| {
                SlidingWindow::with_slots(limit, slots, clock)
            }, |now, _limit, length, slots, _entries| {
                State::Ring(Ring::new(now, &[length], slots))
            }, { slots: 60 })
            (Log, "sliding_log", SlidingLog, |limit, _slots, entries, clock| {
                SlidingLog::with_clock(limit, clock).and_then(|log| log.with_max_limit(entries))
            }, |now, _limit, length, _slots, entries| {
                State::Log(Log::unit(now, length, entries))
            }, { is_unit: true })
            (Weighted, "weighted_log", WeightedLog, |limit, _slots, entries, clock| {
                WeightedLog::with_capacity(limit, entries, clock)
            }, |now, limit, length, _slots, entries| {
                State::Log(Log::weighted(now, length, entries, limit))
            }, { tick_bits: Some(0) })
        }
    };
}

pub(crate) use {buckets, windows};
