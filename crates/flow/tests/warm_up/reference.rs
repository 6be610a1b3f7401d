//! The definition, in fractions of any length: an area for each request.

use num_rational::BigRational;
use num_traits::{Signed, Zero};
use sluicegate::Rate;

pub(crate) fn ratio(value: impl Into<i128>) -> BigRational {
    BigRational::from_integer(value.into().into())
}

/// The rounding of an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounds {
    /// Nothing.
    Nothing,
    /// The rounding that the documentation states.
    AsDocumented,
}

/// The expected state. Times are in nanoseconds.
pub(crate) struct Model {
    pub(crate) now_nanos: u64,
    pub(crate) stored: BigRational,
    /// The instant from which on the next request may go.
    pub(crate) free: BigRational,
    stable: BigRational,
    warm_up: BigRational,
    cold_factor: BigRational,
    rounds: Rounds,
}

impl Model {
    /// A limiter that is cold.
    pub(crate) fn new(rate: Rate, warm_up_nanos: u64, cold_factor: u32, rounds: Rounds) -> Model {
        let zero = BigRational::zero();
        let (warm_up, cold_factor) = (ratio(warm_up_nanos), ratio(cold_factor));
        let (stored, free, stable) = (zero.clone(), zero, stable(rate));
        let mut model = Model { now_nanos: 0, stored, free, stable, warm_up, cold_factor, rounds };
        model.stored = model.full();
        model
    }

    fn cold(&self) -> BigRational {
        &self.stable * &self.cold_factor
    }

    fn threshold(&self) -> BigRational {
        &self.warm_up / ratio(2) / &self.stable
    }

    pub(crate) fn full(&self) -> BigRational {
        self.threshold() + ratio(2) * &self.warm_up / (&self.stable + self.cold())
    }

    /// The area of the curve from 0 to `stored`.
    fn area(&self, stored: &BigRational) -> BigRational {
        let above = stored - self.threshold();
        let flat = stored * &self.stable;
        if !above.is_positive() {
            return flat;
        }
        let slope = (self.cold() - &self.stable) / (self.full() - self.threshold());
        flat + &above * &above * slope / ratio(2)
    }

    /// Counts the time since it was free as idle.
    pub(crate) fn sync(&mut self) {
        let now = ratio(self.now_nanos);
        // A request at the nanosecond that was told counts as one at the exact instant.
        if now <= self.free.ceil() {
            return;
        }
        let since = match self.rounds {
            Rounds::Nothing => self.free.clone(),
            Rounds::AsDocumented => self.free.floor(),
        };
        if self.warm_up.is_positive() {
            let earned = (&now - since) * self.full() / &self.warm_up;
            self.stored = (&self.stored + earned).min(self.full());
        }
        self.free = now;
    }

    /// The wait of a request that comes now.
    pub(crate) fn wait(&self) -> BigRational {
        (&self.free - ratio(self.now_nanos)).max(BigRational::zero())
    }

    pub(crate) fn take(&mut self, permits: u64) {
        self.sync();
        let permits = ratio(permits);
        let from_stored = self.stored.clone().min(permits.clone());
        let left = &self.stored - &from_stored;
        let fresh = permits - from_stored;
        self.free += self.area(&self.stored) - self.area(&left) + fresh * &self.stable;
        self.stored = left;
    }

    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.sync();
        let before = self.full();
        self.stable = stable(rate);
        if before.is_positive() {
            self.stored = &self.stored * self.full() / before;
        }
        if self.rounds == Rounds::AsDocumented {
            self.free = self.free.ceil();
            // A unit is a part of a permit: twice the period by the cold factor and one, with the
            // rate in lowest terms.
            let period = ratio(0) + BigRational::from(self.stable.numer().clone());
            let units = ratio(2) * period * (&self.cold_factor + ratio(1));
            self.stored = (&self.stored * &units).ceil() / units;
        }
    }
}

fn stable(rate: Rate) -> BigRational {
    ratio(rate.period().as_nanos().cast_signed()) / ratio(rate.permits())
}
