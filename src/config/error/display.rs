//! The texts of errors in a configuration.

use core::fmt;

use super::ConfigError;

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is ", self.field())?;
        match *self {
            ConfigError::Permits { permits: value }
            | ConfigError::Burst { burst: value }
            | ConfigError::KeyBurst { burst: value }
            | ConfigError::MaxDebt { max_debt: value }
            | ConfigError::Offences { offences: value } => write!(f, "{value}")?,
            ConfigError::Period { period: value }
            | ConfigError::EmissionInterval { interval: value }
            | ConfigError::OffencePeriod { period: value }
            | ConfigError::Penalty { penalty: value }
            | ConfigError::ForgottenAfter { forgotten_after: value } => write!(f, "{value:?}")?,
            ConfigError::LongestPenalty { longest, penalty } => {
                return write!(
                    f,
                    "{longest:?}: must be from the penalty, {penalty:?}, to 3650 days"
                );
            }
            ConfigError::TooFast { permits, period }
            | ConfigError::KeyRate { permits, period }
            | ConfigError::KeyTick { permits, period } => {
                write!(f, "{permits} per {period:?}")?;
            }
            ConfigError::Initial { initial, burst } => write!(f, "{initial} of {burst}")?,
            ConfigError::Tolerance { tolerance, interval } => {
                write!(f, "{tolerance:?} at an interval of {interval:?}")?;
            }
            ConfigError::Limit { limit, max } => {
                return write!(f, "{limit}: must be from 1 to {max} for this window");
            }
            ConfigError::NewLimit { limit, max } => {
                return write!(
                    f,
                    "{limit}: must be from 1 to {max}, which this window was made for; \
                     `with_max_limit` makes it for more"
                );
            }
            ConfigError::Slots { slots } => write!(f, "{slots}")?,
            ConfigError::Quotas { quotas, tiers } => write!(f, "{quotas} for {tiers} tiers")?,
            ConfigError::Which { which, count } => write!(f, "{which} of {count}")?,
            ConfigError::Apart { slot, window } => {
                write!(f, "{window:?} with slots of {slot:?}")?;
            }
            ConfigError::Shards { shards: count }
            | ConfigError::Places { places: count }
            | ConfigError::Keys { keys: count }
            | ConfigError::Tenants { tenants: count }
            | ConfigError::Count { count } => {
                write!(f, "{count}")?;
            }
            ConfigError::Capacity { capacity, most } => {
                return write!(f, "{capacity}: must be from 1 to {most}");
            }
            ConfigError::MaxLimit { max_limit, least, most } => {
                return write!(f, "{max_limit}: must be from {least} to {most}");
            }
            ConfigError::KeyRefill { refill } | ConfigError::ShareRefill { refill } => {
                write!(f, "{refill:?}")?;
            }
            ConfigError::Tier { which } | ConfigError::Group { group: which } => {
                write!(f, "number {which}")?;
            }
            ConfigError::KeyFill { fill, most } => {
                return write!(f, "{fill:?}: must be at most {most:?}, as the table was made");
            }
            ConfigError::Memory { bytes } => write!(f, "{bytes} bytes")?,
            ConfigError::Skew { skew, most } => {
                return write!(f, "{skew:?}: must be at most {most:?} with these quotas");
            }
            ConfigError::AssuredRate { sum, permits, period } => {
                return write!(
                    f,
                    "{sum} per {period:?} for all tenants together: must be at most {permits}, the rate for all"
                );
            }
            ConfigError::AssuredBurst { sum, burst } => {
                let all = "for all tenants together";
                return write!(f, "{sum} {all}: must be at most {burst}, the burst for all");
            }
            ConfigError::CeilingRate { group, permits, period, assured, assured_period } => {
                return write!(
                    f,
                    "{permits} per {period:?} in group {group}: must be at least {assured} per {assured_period:?}, the \
                     assured rate"
                );
            }
            ConfigError::CeilingBurst { group, burst, assured } => {
                let own = "the assured burst";
                return write!(f, "{burst} in group {group}: must be at least {assured}, {own}");
            }
            ConfigError::Weight { group, weight, sum } => {
                write!(f, "{weight} of {sum} in group {group}")?;
            }
            ConfigError::LineWeight { weight } => write!(f, "{weight}")?,
            ConfigError::Reserve { reserve, limit } => {
                return write!(f, "{reserve}: must be less than {limit}, the limit");
            }
        }
        write!(f, ": {}", self.rule())
    }
}

impl core::error::Error for ConfigError {}
