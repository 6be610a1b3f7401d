//! Penalties of a policy: a key that offends a number of times within a period is refused for a time.

use std::fmt;

use sluicegate::penalty::PenaltyRule;

use crate::{Filter, RequestFields, time_in_words};

/// The penalty of a limiter: the rule, and the requests that are offences.
///
/// A request of a key whose penalty runs is refused before the limit is asked. It takes nothing, and is no
/// offence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Penalty {
    /// The number of offences within a period that begin a penalty, and its length.
    pub rule: PenaltyRule,
    /// True if a request that the limit refuses is an offence.
    pub of_refusals: bool,
    /// The requests that are offences although the limit has granted them, by the fields of their answers
    /// too, such as the status. A request is one if any of these has it.
    pub of_answers: Vec<Filter>,
    /// The most keys at a time of which offences are remembered.
    pub max_keys: usize,
}

impl Penalty {
    /// The keys of which offences are remembered if the policy does not say it.
    pub const MAX_KEYS: usize = 1_000_000;

    /// Returns true if a request that the limit has granted is an offence, now that it is answered.
    ///
    /// Does not allocate, but for path templates with more than four parameters.
    #[must_use]
    pub fn is_offence(&self, answered: &impl RequestFields) -> bool {
        self.of_answers.iter().any(|filter| filter.matches(answered))
    }
}

/// Describes the rule in words.
impl fmt::Display for Penalty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rule, offences) = (self.rule, self.rule.offences());
        let (within, refused) = (time_in_words(offences.period()), time_in_words(rule.penalty()));
        let plural = if offences.permits() == 1 { "" } else { "s" };
        write!(f, "{} offence{plural} within {within}: refused for {refused}", offences.permits())?;
        match rule.forgotten_after() {
            Some(after) => {
                let (longest, after) = (time_in_words(rule.longest()), time_in_words(after));
                write!(
                    f,
                    ", then twice as long each time, up to {longest}; forgotten after {after}"
                )
            }
            None => Ok(()),
        }
    }
}
