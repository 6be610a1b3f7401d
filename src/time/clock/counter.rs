//! The processor's counter, read inline.
//!
//! quanta decides whether the counter can serve as a clock, and measures the length of a tick. Its
//! own reading is a call through a table and a shift by a distance known only at run time, which
//! costs up to half as much again as the instruction that reads the counter. Here that instruction
//! is inlined, followed by one multiplication by quanta's scale: a tick is converted to the same
//! nanosecond as by quanta.
//!
//! | processor | counter | a tick must be |
//! |---|---|---|
//! | x86-64 | time-stamp counter, `rdtsc` | shorter than 1 ns: faster than 1 GHz |
//! | aarch64, except iOS | virtual counter, `cntvct_el0` | shorter than 1,024 ns: 1 MHz and faster |
//! | others, and under Miri | none | |
//!
//! Where a tick is longer, or quanta reads another clock, there is no [`Scale`], and `QuantaClock`
//! reads through quanta.

#![allow(unsafe_code, reason = "the instructions that read the counter are unsafe to name")]

use core::num::NonZeroU64;

/// Number of quanta's readings that are compared with the counter.
const TRIALS: usize = 8;

/// The length of a tick of this processor's counter.
pub(super) type Scale = TickLength<{ arch::FRACTION_BITS }>;

/// The length of a tick in nanoseconds, as a fixed-point number with `FRACTION_BITS` bits of
/// fraction.
///
/// The product with a number of ticks has 128 bits, and its fraction is cut off. Bits above 64 are
/// cut off too, as by quanta: 584 years after the counter began, or earlier if the counter itself
/// wraps, the time is 0 again. To a limiter that is a jump back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TickLength<const FRACTION_BITS: u32>(NonZeroU64);

impl Scale {
    /// Returns the scale of the counter if `clock` reads the counter.
    ///
    /// On x86-64, if `clock` does not read it, this does not read it either: the instruction may be
    /// forbidden.
    pub(super) fn of(clock: &quanta::Clock) -> Option<Scale> {
        if !arch::HAS_COUNTER {
            return None;
        }
        let scale = Scale::measured(|ticks| clock.delta_as_nanos(0, ticks))?;
        is_counter(|| clock.raw()).then_some(scale)
    }

    /// Returns the nanoseconds since the counter began. Reads the counter once.
    #[inline(always)]
    pub(super) fn now_nanos(self) -> u64 {
        self.nanos(arch::ticks())
    }
}

impl<const FRACTION_BITS: u32> TickLength<FRACTION_BITS> {
    /// Returns the length of a tick, measured with `nanos`, which scales a number of ticks. Returns
    /// `None` if it has too many bits before the fraction. On x86-64 that is the case if the clock
    /// counts nanoseconds.
    ///
    /// The length is exact if `nanos` divides by at most 2 to the `FRACTION_BITS - 1`. quanta
    /// divides by the number of ticks for which it has calibrated, rounded up to a power of two:
    /// about 2^30.
    fn measured(nanos: impl Fn(u64) -> u64) -> Option<TickLength<FRACTION_BITS>> {
        // The length times 2^32, which does not overflow unless a tick is seconds long.
        let is_short = nanos(1 << 32) >> (96 - FRACTION_BITS) == 0;
        // Twice the half, because 2^64 is too large for a number of ticks.
        let length = is_short.then(|| 2 * nanos(1 << (FRACTION_BITS - 1)))?;
        NonZeroU64::new(length).map(TickLength)
    }

    /// Returns the nanoseconds of `ticks`, rounded down.
    #[inline(always)]
    fn nanos(self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.0.get())) >> FRACTION_BITS) as u64
    }
}

/// Returns whether `raw` reads the counter: its readings lie between two of the counter's own.
///
/// A reading of the counter may lie outside if the thread has moved to another processor in
/// between, and a reading of another clock may lie inside by accident. Both are rare, so the
/// majority decides.
fn is_counter(raw: impl Fn() -> u64) -> bool {
    let is_between = |_: &usize| {
        let before = arch::ticks();
        let reading = raw();
        (before..=arch::ticks()).contains(&reading)
    };
    (0..TRIALS).filter(is_between).count() > TRIALS / 2
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod arch {
    pub(super) const HAS_COUNTER: bool = true;

    /// A whole word: the upper half of the product is the result, without a shift.
    pub(super) const FRACTION_BITS: u32 = 64;

    #[inline(always)]
    pub(super) fn ticks() -> u64 {
        // SAFETY: every x86-64 has the instruction. Where it is forbidden (`prctl`, an
        // enclave), quanta, which uses it first, has failed or reads another clock.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
}

#[cfg(all(target_arch = "aarch64", not(target_os = "ios"), not(miri)))]
mod arch {
    pub(super) const HAS_COUNTER: bool = true;

    /// Leaves ten bits before the fraction: counters run at 1 MHz to 1 GHz.
    pub(super) const FRACTION_BITS: u32 = 54;

    #[inline(always)]
    pub(super) fn ticks() -> u64 {
        let ticks: u64;
        // SAFETY: reads a register that every aarch64 has and that quanta reads too; writes no
        // memory, no stack and no flags. Not `nomem`, so that the compiler does not move it past a
        // memory access.
        unsafe {
            core::arch::asm!(
                "mrs {}, cntvct_el0",
                out(reg) ticks,
                options(nostack, preserves_flags)
            );
        }
        ticks
    }
}

#[cfg(any(
    miri,
    not(any(target_arch = "x86_64", all(target_arch = "aarch64", not(target_os = "ios"))))
))]
mod arch {
    pub(super) const HAS_COUNTER: bool = false;

    pub(super) const FRACTION_BITS: u32 = 64;

    #[inline(always)]
    pub(super) fn ticks() -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// Yields numbers of ticks of every size.
    fn spans() -> impl Iterator<Item = u64> {
        let around = |bits: u32| [(1 << bits) - 1, 1 << bits, (1 << bits) + 12_345];
        (0..63).flat_map(around).chain([u64::MAX / 3, u64::MAX - 1, u64::MAX])
    }

    /// Returns quanta's scaling for ticks of `factor / 2^shift` nanoseconds.
    fn scaling(factor: u64, shift: u32) -> impl Fn(u64) -> u64 {
        move |ticks| ((u128::from(ticks) * u128::from(factor)) >> shift) as u64
    }

    #[test]
    fn a_tick_is_the_same_nanosecond_to_quanta() {
        let clock = quanta::Clock::new();
        let Some(scale) = Scale::of(&clock) else {
            assert_eq!(clock.delta_as_nanos(0, 1 << 40), 1 << 40, "quanta has a counter");
            return;
        };
        for ticks in spans() {
            assert_eq!(scale.nanos(ticks), clock.delta_as_nanos(0, ticks), "{ticks} ticks");
        }
    }

    #[test]
    fn ticks_of_all_usual_counters_are_scaled_exactly() {
        // 5 GHz, 2.4 GHz, and slightly above 1 GHz.
        for (factor, shift) in [(214_748_364, 30), (223_696_213, 29), (1_073_741_823, 30)] {
            let nanos = scaling(factor, shift);
            let length = TickLength::<64>::measured(&nanos).expect("shorter than 1 ns");
            spans().for_each(|ticks| assert_eq!(length.nanos(ticks), nanos(ticks), "{ticks}"));
        }
        // 1 GHz, 62.5 MHz, 24 MHz, 1 MHz; the slower ones eventually exceed 64 bits.
        let slower = [(1 << 28, 28), (1 << 27, 23), (349_525_333, 23), (125 << 21, 18)];
        for (factor, shift) in slower {
            let nanos = scaling(factor, shift);
            let length = TickLength::<54>::measured(&nanos).expect("shorter than 1,024 ns");
            spans().for_each(|ticks| assert_eq!(length.nanos(ticks), nanos(ticks), "{ticks}"));
        }
    }

    #[test]
    fn ticks_that_are_too_long_or_nothing_have_no_length() {
        assert_eq!(TickLength::<64>::measured(|ticks| ticks), None);
        assert_eq!(TickLength::<54>::measured(|ticks| ticks << 10), None);
        assert_eq!(TickLength::<54>::measured(scaling(u64::MAX, 32)), None);
        assert_eq!(TickLength::<64>::measured(|_| 0), None);
        assert!(TickLength::<64>::measured(scaling((1 << 32) - 1, 32)).is_some());
        assert!(TickLength::<54>::measured(scaling((1 << 32) - 1, 22)).is_some());
    }

    #[test]
    fn only_the_counter_is_taken_for_the_counter() {
        if !arch::HAS_COUNTER {
            return;
        }
        let origin = Instant::now();
        assert!(is_counter(arch::ticks));
        assert!(!is_counter(|| origin.elapsed().as_nanos() as u64));
        assert!(!is_counter(|| arch::ticks() + (1 << 40)));
        assert!(!is_counter(|| 0));
    }
}
