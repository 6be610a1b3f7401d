//! Policies as a server advertises them.

use std::fmt;
use std::time::Duration;

use sluicegate::Quota;

use super::values;

/// The most characters that the name of a policy has.
pub const MAX_NAME: usize = 100;

/// A quota policy as a response advertises it.
///
/// It describes a limit and does not enforce one. Numbers above 999,999,999,999,999, the largest integer
/// of a structured field, are written as that.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate_http::fields::{QuotaPolicy, QuotaUnit};
///
/// let policy = QuotaPolicy::new(65_535)
///     .named("peruser")?
///     .per(Duration::from_secs(10))
///     .counting(QuotaUnit::ContentBytes);
/// assert_eq!((policy.name(), policy.quota()), (Some("peruser"), 65_535));
/// assert_eq!(
///     QuotaPolicy::new(1).named("größer").unwrap_err().to_string(),
///     "the name of the policy has the character 'ö': use letters, digits and signs of ASCII, and spaces",
/// );
/// # Ok::<(), sluicegate_http::fields::FieldError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaPolicy {
    name: Option<Box<str>>,
    quota: u64,
    /// Whole seconds, at least one.
    window: Option<Duration>,
    unit: QuotaUnit,
    partition: Option<Box<[u8]>>,
    /// False for a limit that fields do not tell.
    is_told: bool,
}

impl QuotaPolicy {
    /// Returns a policy of `quota` requests, without a name and a window.
    #[must_use]
    pub fn new(quota: u64) -> QuotaPolicy {
        let unit = QuotaUnit::Requests;
        QuotaPolicy { name: None, quota, window: None, unit, partition: None, is_told: true }
    }

    /// Returns the policy of a limit that fields do not tell: a client learns only the wait after a refusal.
    pub(crate) fn untold() -> QuotaPolicy {
        QuotaPolicy { is_told: false, ..QuotaPolicy::new(0) }
    }

    /// Returns whether fields tell it.
    pub(super) fn is_told(&self) -> bool {
        self.is_told
    }

    /// Gives it a name. Without one, drafts 8 to 10 call it `default`.
    ///
    /// # Errors
    ///
    /// [`FieldError::NameLength`] and [`FieldError::NameCharacter`]: a name has from 1 to [`MAX_NAME`]
    /// printable characters of ASCII.
    pub fn named(self, name: &str) -> Result<QuotaPolicy, FieldError> {
        if let Some(character) = name.chars().find(|character| !matches!(character, ' '..='~')) {
            return Err(FieldError::NameCharacter { character });
        }
        // All are ASCII, so a byte is a character.
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(FieldError::NameLength { length: name.len() });
        }
        Ok(QuotaPolicy { name: Some(name.into()), ..self })
    }

    /// Sets the window, rounded up to whole seconds; at least one.
    #[must_use]
    pub fn per(self, window: Duration) -> QuotaPolicy {
        let seconds = values::seconds_up(window).max(1);
        QuotaPolicy { window: Some(Duration::from_secs(seconds)), ..self }
    }

    /// Sets what is counted. The default is requests.
    #[must_use]
    pub fn counting(self, unit: QuotaUnit) -> QuotaPolicy {
        QuotaPolicy { unit, ..self }
    }

    /// Sets the partition key: the part of the server's capacity that the policy is about. Clients read
    /// it, so it should tell nothing that is secret. Only drafts 8 to 10 have it.
    #[must_use]
    pub fn partition(self, key: &[u8]) -> QuotaPolicy {
        QuotaPolicy { partition: Some(key.into()), ..self }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the permits of a window.
    #[must_use]
    pub fn quota(&self) -> u64 {
        self.quota
    }

    /// Returns the window, in whole seconds.
    #[must_use]
    pub fn window(&self) -> Option<Duration> {
        self.window
    }

    /// Returns what is counted.
    #[must_use]
    pub fn unit(&self) -> &QuotaUnit {
        &self.unit
    }

    /// Returns the partition key.
    #[must_use]
    pub fn partition_key(&self) -> Option<&[u8]> {
        self.partition.as_deref()
    }

    /// Returns the name in the versions that require one.
    pub(super) fn name_or_default(&self) -> &str {
        self.name().unwrap_or("default")
    }
}

/// Describes a token bucket by its burst, and the time in which that is earned, rounded up to whole
/// seconds: a client that sends no more than the burst in any such window is not refused.
impl From<Quota> for QuotaPolicy {
    fn from(quota: Quota) -> QuotaPolicy {
        let rate = quota.rate();
        let nanos = rate.period().as_nanos().saturating_mul(u128::from(quota.burst()));
        let seconds = nanos.div_ceil(u128::from(rate.permits()).saturating_mul(1_000_000_000));
        let window = Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX));
        QuotaPolicy::new(quota.burst()).per(window)
    }
}

/// The unit that a quota counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuotaUnit {
    /// Requests, the default.
    #[default]
    Requests,
    /// Bytes of content.
    ContentBytes,
    /// Requests in progress at a time.
    ConcurrentRequests,
    /// A unit that the drafts do not define. One that is not printable ASCII is not written.
    Other(Box<str>),
}

impl QuotaUnit {
    /// Returns the name of the unit in a field.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            QuotaUnit::Requests => "requests",
            QuotaUnit::ContentBytes => "content-bytes",
            QuotaUnit::ConcurrentRequests => "concurrent-requests",
            QuotaUnit::Other(unit) => unit,
        }
    }
}

impl From<&str> for QuotaUnit {
    fn from(name: &str) -> QuotaUnit {
        match name {
            "requests" => QuotaUnit::Requests,
            "content-bytes" => QuotaUnit::ContentBytes,
            "concurrent-requests" => QuotaUnit::ConcurrentRequests,
            other => QuotaUnit::Other(other.into()),
        }
    }
}

/// Policies that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldError {
    /// A name is empty or too long.
    NameLength {
        /// Its characters.
        length: usize,
    },
    /// A name has a character that a field cannot have.
    NameCharacter {
        /// The first such character.
        character: char,
    },
    /// Two policies have the same name.
    SameName {
        /// That name.
        name: String,
    },
    /// More policies than a response may have.
    TooManyPolicies {
        /// Their number.
        policies: usize,
    },
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldError::NameLength { length } => {
                write!(
                    f,
                    "the name of the policy has {length} characters: must have from 1 to {MAX_NAME}"
                )
            }
            FieldError::NameCharacter { character } => write!(
                f,
                "the name of the policy has the character {character:?}: use letters, digits and signs of ASCII, and spaces"
            ),
            FieldError::SameName { name } => write!(
                f,
                "two policies have the name {name:?} (\"default\" if none is given): name each differently"
            ),
            FieldError::TooManyPolicies { policies } => {
                write!(f, "{policies} policies: a response may tell at most {}", values::MAX_ITEMS)
            }
        }
    }
}

impl std::error::Error for FieldError {}
