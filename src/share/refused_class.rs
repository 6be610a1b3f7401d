//! The refusal of a request, with the class that it was of.

use core::fmt;

use crate::decision::denied::Denied;

/// Bytes of a name that a refusal has space for.
const MOST: usize = 22;

/// The refusal of a request, with the class that it was of.
///
/// Owns all that it tells, so that it can be returned further than the classes live, and is copied without an
/// allocation or a count of references. A name is kept in place, up to its 22nd byte.
///
/// # Examples
///
/// ```
/// use sluicegate::{Grant, TokenBucket, quota};
/// use sluicegate::share::Priorities;
///
/// let bucket = TokenBucket::new(quota!(100 / hour));
/// let priorities = Priorities::by_percent(bucket, [("user", 0), ("batch", 50)])?;
/// assert!(priorities.try_acquire(1, 50).is_ok());
/// let refused = priorities.try_acquire(1, 1).unwrap_err();
/// assert_eq!((refused.name(), refused.class(), refused.reserve), ("batch", 1, 50));
/// assert!(refused.denied.retry_after().is_some());
///
/// /// Also returned from where the classes end.
/// fn once() -> Result<Grant, Box<dyn std::error::Error>> {
///     let bucket = TokenBucket::new(quota!(1 / hour));
///     let priorities = Priorities::by_percent(bucket, [("user", 0)])?;
///     Ok(priorities.try_acquire(0, 2)?)
/// }
/// assert!(once().unwrap_err().to_string().starts_with("user: requested more than the limit of 1"));
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedClass {
    /// The permits that the class leaves.
    pub reserve: u64,
    /// The denial, with the wait until the request can be granted and leave the reserve.
    pub denied: Denied,
    class: u8,
    name: ShortName,
}

impl RefusedClass {
    /// Creates the refusal of a class, of which there are at most 64.
    pub(super) fn new(class: usize, name: &str, reserve: u64, denied: Denied) -> RefusedClass {
        RefusedClass { reserve, denied, class: class as u8, name: ShortName::of(name) }
    }

    /// Returns the index of the class among those of the [`Priorities`](super::Priorities): the last one for a request of
    /// a class that there is not.
    #[must_use]
    pub fn class(&self) -> usize {
        self.class.into()
    }

    /// Returns the name of the class, without the characters after its 22nd byte.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_str()
    }
}

impl From<RefusedClass> for Denied {
    fn from(refused: RefusedClass) -> Denied {
        refused.denied
    }
}

impl fmt::Display for RefusedClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RefusedClass { reserve, denied, .. } = self;
        match reserve {
            0 => write!(f, "{}: {denied}", self.name()),
            _ => write!(f, "{} leaves {reserve} to others: {denied}", self.name()),
        }
    }
}

impl core::error::Error for RefusedClass {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.denied)
    }
}

/// The beginning of a name, in place.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ShortName {
    length: u8,
    bytes: [u8; MOST],
}

impl ShortName {
    fn of(name: &str) -> ShortName {
        let mut length = name.len().min(MOST);
        while !name.is_char_boundary(length) {
            length -= 1;
        }
        let mut bytes = [0; MOST];
        bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
        ShortName { length: length as u8, bytes }
    }

    fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..self.length.into()]).unwrap_or_default()
    }
}

impl fmt::Debug for ShortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_up_to_a_whole_character() {
        for (name, kept) in [
            ("", ""),
            ("batch", "batch"),
            ("exactly-22-bytes-of-it", "exactly-22-bytes-of-it"),
            ("more-than-22-bytes-of-it", "more-than-22-bytes-of-"),
            ("hintergrundaufträge-täglich", "hintergrundaufträge-t"),
        ] {
            assert_eq!(ShortName::of(name).as_str(), kept);
        }
    }

    /// A larger one would be copied by each function that returns it.
    #[test]
    fn a_refusal_is_no_larger_than_its_denial_and_four_words() {
        assert!(size_of::<RefusedClass>() <= size_of::<Denied>() + 32);
        assert!(size_of::<RefusedClass>() < 128, "the bound of clippy for errors");
    }
}
