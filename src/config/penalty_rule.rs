//! The rule of a penalty: how many offences begin one, and how long it lasts.

use core::fmt;
use core::time::Duration;

use crate::time::units;
use crate::time::units::NANOS_PER_DAY;

use super::error::ConfigError;
use super::rate::Rate;

/// The most offences of a rule.
pub(crate) const MAX_OFFENCES: u64 = 1_023;

/// The longest time in a rule.
pub(crate) const MAX_TIME_NANOS: u64 = 3_650 * NANOS_PER_DAY;

/// The number of offences within a period that begin a penalty, and the penalty's length.
///
/// Fail2ban calls them `maxretry`, `findtime` and `bantime`, and so does `Rack::Attack`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::rate;
/// use sluicegate::penalty::PenaltyRule;
///
/// // Five failed log-ins in ten minutes: an hour. The next time two hours, then four, up to a day.
/// // After a week without an offence it is an hour again.
/// let hour = Duration::from_secs(3_600);
/// let rule = PenaltyRule::new(rate!(5 / 10 minutes), hour)?.doubled_up_to(24 * hour, 7 * 24 * hour)?;
/// assert_eq!(rule.penalty(), hour);
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PenaltyRule {
    offences: Rate,
    penalty_nanos: u64,
    longest_nanos: u64,
    /// 0 if penalties do not become longer.
    forgotten_after_nanos: u64,
}

impl PenaltyRule {
    /// The most offences that a rule can wait for.
    pub const MAX_OFFENCES: u64 = MAX_OFFENCES;

    /// The longest period, penalty, and time after which penalties are forgotten: 3,650 days.
    pub const MAX_TIME: Duration = Duration::from_nanos(MAX_TIME_NANOS);

    /// Creates a rule by which as many `offences` within their period begin a `penalty`.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Offences`], [`ConfigError::OffencePeriod`] or [`ConfigError::Penalty`] if the
    /// offences are more than [`MAX_OFFENCES`](PenaltyRule::MAX_OFFENCES), or a time is longer than
    /// [`MAX_TIME`](PenaltyRule::MAX_TIME) or a penalty of 0.
    pub const fn new(offences: Rate, penalty: Duration) -> Result<PenaltyRule, ConfigError> {
        if offences.permits() > MAX_OFFENCES {
            return Err(ConfigError::Offences { offences: offences.permits() });
        }
        if offences.period_nanos() > MAX_TIME_NANOS {
            return Err(ConfigError::OffencePeriod { period: offences.period() });
        }
        let penalty_nanos = units::nanos(penalty);
        if penalty_nanos == 0 || penalty_nanos > MAX_TIME_NANOS {
            return Err(ConfigError::Penalty { penalty });
        }
        let longest_nanos = penalty_nanos;
        Ok(PenaltyRule { offences, penalty_nanos, longest_nanos, forgotten_after_nanos: 0 })
    }

    /// Makes each penalty twice as long as the one before, at most `longest`.
    ///
    /// The one before counts until it was over for `forgotten_after`, and no offence was counted for
    /// as long. (The time after an offence is measured from the end of the window in which it was
    /// counted, so it may be longer, by up to the period of the offences.) A change from a rule
    /// without it to a rule with it begins with the first penalty.
    ///
    /// # Errors
    ///
    /// * [`ConfigError::LongestPenalty`] if `longest` is less than the penalty, or longer than
    ///   [`MAX_TIME`](PenaltyRule::MAX_TIME).
    /// * [`ConfigError::ForgottenAfter`] if `forgotten_after` is 0, or longer than that.
    pub const fn doubled_up_to(
        self,
        longest: Duration,
        forgotten_after: Duration,
    ) -> Result<PenaltyRule, ConfigError> {
        let (longest_nanos, forgotten_after_nanos) =
            (units::nanos(longest), units::nanos(forgotten_after));
        if longest_nanos < self.penalty_nanos || longest_nanos > MAX_TIME_NANOS {
            let penalty = Duration::from_nanos(self.penalty_nanos);
            return Err(ConfigError::LongestPenalty { longest, penalty });
        }
        if forgotten_after_nanos == 0 || forgotten_after_nanos > MAX_TIME_NANOS {
            return Err(ConfigError::ForgottenAfter { forgotten_after });
        }
        Ok(PenaltyRule { longest_nanos, forgotten_after_nanos, ..self })
    }

    /// Returns the offences that begin a penalty, and the period within which they count.
    #[must_use]
    pub const fn offences(self) -> Rate {
        self.offences
    }

    /// Returns the length of the first penalty.
    #[must_use]
    pub const fn penalty(self) -> Duration {
        Duration::from_nanos(self.penalty_nanos)
    }

    /// Returns the length of the longest penalty, which is that of the first if none is doubled.
    #[must_use]
    pub const fn longest(self) -> Duration {
        Duration::from_nanos(self.longest_nanos)
    }

    /// Returns the time after which penalties are forgotten, or `None` if none is doubled.
    #[must_use]
    pub const fn forgotten_after(self) -> Option<Duration> {
        match self.forgotten_after_nanos {
            0 => None,
            nanos => Some(Duration::from_nanos(nanos)),
        }
    }

    pub(crate) const fn penalty_nanos(self) -> u64 {
        self.penalty_nanos
    }

    pub(crate) const fn longest_nanos(self) -> u64 {
        self.longest_nanos
    }

    pub(crate) const fn forgotten_after_nanos(self) -> u64 {
        self.forgotten_after_nanos
    }

    /// Creates a rule from numbers that have been checked.
    pub(crate) const fn trusted(
        offences: Rate,
        (penalty_nanos, longest_nanos): (u64, u64),
        forgotten_after_nanos: u64,
    ) -> PenaltyRule {
        PenaltyRule { offences, penalty_nanos, longest_nanos, forgotten_after_nanos }
    }

    /// Returns the length of a penalty in nanoseconds, at most the longest time.
    pub(crate) fn within_range(length: Duration) -> u64 {
        units::nanos(length).min(MAX_TIME_NANOS)
    }
}

/// Shows the parts of the rule; those of repeated penalties only if they are doubled.
impl fmt::Debug for PenaltyRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PenaltyRule");
        shown.field("offences", &self.offences).field("penalty", &self.penalty());
        if let Some(forgotten_after) = self.forgotten_after() {
            shown.field("longest", &self.longest()).field("forgotten_after", &forgotten_after);
        }
        shown.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn every_limit_is_allowed_and_one_beyond_it_is_named() {
        let (rate, most) = (rate!(1_023 / 3_650 days), PenaltyRule::MAX_TIME);
        let rule = PenaltyRule::new(rate, most).unwrap();
        assert!(rule.doubled_up_to(most, most).is_ok());
        let least = PenaltyRule::new(rate!(1 / ns), Duration::from_nanos(1)).unwrap();
        assert!(least.doubled_up_to(Duration::from_nanos(1), Duration::from_nanos(1)).is_ok());

        let over = most + Duration::from_nanos(1);
        let hour = PenaltyRule::new(rate!(5 / minute), 3_600 * SECOND).unwrap();
        let refused = [
            (
                PenaltyRule::new(rate!(1_024 / minute), SECOND),
                "offences is 1024: must be from 1 to 1023",
            ),
            (
                PenaltyRule::new(rate!(5 / 3_651 days), SECOND),
                "period of offences is 315446400s: must be from 1 ns to 3650 days",
            ),
            (
                PenaltyRule::new(rate!(5 / minute), Duration::ZERO),
                "penalty is 0ns: must be from 1 ns to 3650 days",
            ),
            (
                PenaltyRule::new(rate!(5 / minute), over),
                "penalty is 315360000.000000001s: must be from 1 ns to 3650 days",
            ),
            (
                hour.doubled_up_to(SECOND, SECOND),
                "longest is 1s: must be from the penalty, 3600s, to 3650 days",
            ),
            (
                hour.doubled_up_to(over, SECOND),
                "longest is 315360000.000000001s: must be from the penalty, 3600s, to 3650 days",
            ),
            (
                hour.doubled_up_to(7_200 * SECOND, Duration::ZERO),
                "forgotten_after is 0ns: must be from 1 ns to 3650 days",
            ),
            (
                hour.doubled_up_to(7_200 * SECOND, Duration::MAX),
                "forgotten_after is 18446744073709551615.999999999s: must be from 1 ns to 3650 days",
            ),
        ];
        for (outcome, text) in refused {
            assert_eq!(outcome.unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn a_rule_shows_what_it_was_made_from() {
        let rule = PenaltyRule::new(rate!(5 / 10 minutes), SECOND).unwrap();
        assert_eq!(
            format!("{rule:?}"),
            r#"PenaltyRule { offences: "5 / 10 minutes", penalty: 1s }"#
        );
        let doubled = rule.doubled_up_to(8 * SECOND, 60 * SECOND).unwrap();
        assert!(format!("{doubled:?}").ends_with("longest: 8s, forgotten_after: 60s }"));
        assert_eq!((rule.longest(), rule.forgotten_after()), (SECOND, None));
        assert_eq!(doubled.forgotten_after(), Some(60 * SECOND));
        assert_eq!(doubled.offences(), rate!(5 / 10 minutes));
    }
}
