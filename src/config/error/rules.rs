//! The fields of errors in a configuration, and their rules.

use super::ConfigError;

impl ConfigError {
    /// Returns the name of the invalid field.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            ConfigError::Permits { .. } => "permits",
            ConfigError::Period { .. } => "period",
            ConfigError::TooFast { .. }
            | ConfigError::KeyRate { .. }
            | ConfigError::KeyTick { .. } => "rate",
            ConfigError::Burst { .. } | ConfigError::KeyBurst { .. } => "burst",
            ConfigError::Initial { .. } => "initial",
            ConfigError::MaxDebt { .. } => "max_debt",
            ConfigError::EmissionInterval { .. } => "interval",
            ConfigError::Tolerance { .. } => "tolerance",
            ConfigError::Limit { .. } | ConfigError::NewLimit { .. } => "limit",
            ConfigError::MaxLimit { .. } => "max_limit",
            ConfigError::Slots { .. } => "slots",
            ConfigError::Which { .. } => "which",
            ConfigError::Apart { .. } => "window",
            ConfigError::Shards { .. } => "shards",
            ConfigError::Places { .. } => "places",
            ConfigError::Count { .. } => "count",
            ConfigError::Quotas { .. } => "number of quotas",
            ConfigError::Capacity { .. } => "capacity",
            ConfigError::KeyRefill { .. } | ConfigError::ShareRefill { .. } => "refill",
            ConfigError::Tier { .. } => "tier",
            ConfigError::KeyFill { .. } => "fill",
            ConfigError::Memory { .. } => "memory",
            ConfigError::Keys { .. } => "keys",
            ConfigError::Skew { .. } => "skew",
            ConfigError::Offences { .. } => "offences",
            ConfigError::OffencePeriod { .. } => "period of offences",
            ConfigError::Penalty { .. } => "penalty",
            ConfigError::LongestPenalty { .. } => "longest",
            ConfigError::ForgottenAfter { .. } => "forgotten_after",
            ConfigError::AssuredRate { .. } => "assured rate",
            ConfigError::AssuredBurst { .. } => "assured burst",
            ConfigError::Tenants { .. } => "tenants",
            ConfigError::CeilingRate { .. } => "rate of the ceiling",
            ConfigError::CeilingBurst { .. } => "burst of the ceiling",
            ConfigError::Group { .. } => "group",
            ConfigError::Weight { .. } | ConfigError::LineWeight { .. } => "weight",
            ConfigError::Reserve { .. } => "reserve",
        }
    }

    /// Returns the rule that a literal breaks, with the name of its field: a constant panic message
    /// cannot be formatted.
    pub(crate) const fn literal(&self) -> &'static str {
        match self {
            ConfigError::Permits { .. } => "permits must be from 1 to 2^32",
            ConfigError::Period { .. } => "period must be from 1 ns to 100 years",
            ConfigError::TooFast { .. } => "rate must be at most 2^31 permits per second",
            ConfigError::Burst { .. } => "burst must be from 1 to 2^32",
            ConfigError::MaxDebt { .. } => "max_debt must be from 0 to 2^32 - 1",
            _ => self.rule(),
        }
    }

    /// Returns the rule that the field must satisfy.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            ConfigError::Permits { .. }
            | ConfigError::Burst { .. }
            | ConfigError::Tenants { .. } => "must be from 1 to 2^32",
            ConfigError::Period { .. } | ConfigError::EmissionInterval { .. } => {
                "must be from 1 ns to 100 years"
            }
            ConfigError::TooFast { .. } => "must be at most 2^31 permits per second",
            ConfigError::Initial { .. } => "must be from 0 to the burst",
            ConfigError::MaxDebt { .. } => "must be from 0 to 2^32 - 1",
            ConfigError::Tolerance { .. } => {
                "must be from 0 to 100 years, and less than 2^32 emission intervals"
            }
            ConfigError::Limit { .. } => "must be from 1 to what the window can count",
            ConfigError::NewLimit { .. } => {
                "must be from 1 to what the window was made for; `with_max_limit` makes it for more"
            }
            ConfigError::MaxLimit { .. } => "must be from the limit to what the window can count",
            ConfigError::Slots { .. } => "must be from 1 to 65536",
            ConfigError::Which { .. } => "must be less than the number of windows",
            ConfigError::Apart { .. } => "must be shorter, or the shortest window longer",
            ConfigError::Shards { .. } | ConfigError::Places { .. } => "must be from 1 to 256",
            ConfigError::Count { .. } => "must be from 1 to 64",
            ConfigError::Quotas { .. } => "must be the number of tiers",
            ConfigError::Capacity { .. } => "must be from 1 to 2^24 - 2",
            ConfigError::KeyBurst { .. } => "must be from 1 to 2^25 in a table",
            ConfigError::KeyRate { .. } => "must be at most 2^27 permits per second in a table",
            ConfigError::KeyRefill { .. } => "must be smooth in a table",
            ConfigError::Tier { .. } => {
                "must share a unit of time with those before it: at least 16 of it to a token, \
                 at most 2^29 to a burst, at most 2^31 to a second"
            }
            ConfigError::KeyTick { .. } => {
                "must be such that a permit takes a whole number, 16 at least, of this table's ticks"
            }
            ConfigError::KeyFill { .. } => "must be at most what this table has room for",
            ConfigError::Memory { .. } => "must be from 64 bytes to what can be had",
            ConfigError::Keys { .. } => "must be from 1 to what memory can be had for",
            ConfigError::Skew { .. } => "must leave the bits of a level to the burst",
            ConfigError::Offences { .. } => "must be from 1 to 1023",
            ConfigError::OffencePeriod { .. }
            | ConfigError::Penalty { .. }
            | ConfigError::ForgottenAfter { .. } => "must be from 1 ns to 3650 days",
            ConfigError::LongestPenalty { .. } => "must be from the penalty to 3650 days",
            ConfigError::AssuredRate { .. } => "must be at most the rate for all",
            ConfigError::AssuredBurst { .. } => "must be at most the burst for all",
            ConfigError::ShareRefill { .. } => "must be smooth in shares",
            ConfigError::CeilingRate { .. } => "must be at least the assured rate",
            ConfigError::CeilingBurst { .. } => "must be at least the assured burst",
            ConfigError::Group { .. } => {
                "must keep its number of tenants, and have a ceiling if and only if it had one"
            }
            ConfigError::Weight { .. } => "must be worth a permit of half of the burst",
            ConfigError::LineWeight { .. } => {
                "must be from 1 to 2^32 - 1: a tenant without turns would wait for ever"
            }
            ConfigError::Reserve { .. } => "must be less than the limit",
        }
    }
}
