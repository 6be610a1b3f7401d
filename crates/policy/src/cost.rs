//! The number of permits that a request asks for.

mod decimal;

use crate::filter::Filter;
use crate::request::{Named, RequestFields};

/// The number of permits that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Always the same number.
    Permits(u64),
    /// One permit for each byte of the response.
    Bytes,
    /// A number that the request has: a header, or a column of a log.
    Named(NamedCost),
    /// That of the first rule that a request matches, and 1 if it matches none.
    Rules(Vec<CostRule>),
}

/// A number of a request, and its scale. It is multiplied by `times`, divided by `per`, and rounded
/// up. An `s` after it, for seconds, is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCost {
    /// The number.
    pub named: Named,
    /// The factor: 1,000 for milliseconds of a number in seconds.
    pub times: u64,
    /// The divisor, at least 1: 1,000 for a permit for each thousand, or part of a thousand.
    pub per: u64,
    /// The permits of a request that lacks the number, or has something else.
    pub missing: u64,
}

/// The cost of some requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostRule {
    /// The requests.
    pub filter: Filter,
    /// The permits that each of them takes.
    pub permits: u64,
}

/// The cost of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The permits.
    pub permits: u64,
    /// True if the request lacks the number, or has something else, so that it costs what
    /// [`NamedCost::missing`] says.
    pub lacks: bool,
    /// True if the number has a fraction, for which it costs more than that. False where
    /// [`NamedCost::per`] asks for a permit for each part.
    pub is_rounded: bool,
}

impl Charge {
    /// Makes a charge of just so many permits.
    #[must_use]
    #[inline]
    pub const fn exactly(permits: u64) -> Charge {
        Charge { permits, lacks: false, is_rounded: false }
    }
}

impl Cost {
    /// Returns what a request costs. Of a number that is too large, as much as there can be, which no
    /// limiter grants.
    #[must_use]
    pub fn of(&self, request: &impl RequestFields) -> Charge {
        let permits = match self {
            Cost::Permits(permits) => *permits,
            Cost::Bytes => request.bytes().unwrap_or(0),
            Cost::Named(cost) => return cost.of(request),
            Cost::Rules(rules) => {
                let rule = rules.iter().find(|rule| rule.filter.matches(request));
                rule.map_or(1, |rule| rule.permits)
            }
        };
        Charge::exactly(permits)
    }

    /// Returns the most permits that a request costs, if that is the same whatever the request is
    /// like.
    #[must_use]
    pub fn fixed(&self) -> Option<u64> {
        match self {
            Cost::Permits(permits) => Some(*permits),
            _ => None,
        }
    }
}

impl NamedCost {
    /// Makes a cost of one permit for each of the number, and of 1 for a request without it.
    #[must_use]
    pub fn new(named: Named) -> NamedCost {
        NamedCost { named, times: 1, per: 1, missing: 1 }
    }

    fn of(&self, request: &impl RequestFields) -> Charge {
        let number = self.named.of(request);
        match number.and_then(|text| decimal::scaled(text, self.times, self.per)) {
            Some(number) => {
                let is_rounded = number.is_more && self.per <= 1;
                Charge { is_rounded, ..Charge::exactly(number.whole) }
            }
            None => Charge { lacks: true, ..Charge::exactly(self.missing) },
        }
    }
}
