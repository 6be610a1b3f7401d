//! `Retry-After` (RFC 9110, section 10.2.3).

use std::time::{Duration, SystemTime};

use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue};

use super::values;

/// The longest wait that is parsed: 2^31 seconds, about 68 years. A longer one counts as this long.
pub const MAX_WAIT: Duration = Duration::from_secs(1 << 31);

/// Sets `Retry-After` to a wait in whole seconds, rounded up, and at least one: a client that is told 0
/// would come back at once. Without a wait, removes the field, since waiting does not help.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use http::HeaderMap;
/// use sluicegate_http::fields::write_retry_after;
///
/// let mut headers = HeaderMap::new();
/// write_retry_after(&mut headers, Some(Duration::from_millis(1)));
/// assert_eq!(headers["retry-after"], "1");
/// ```
pub fn write_retry_after(headers: &mut HeaderMap, wait: Option<Duration>) {
    match wait {
        Some(wait) => {
            let seconds = HeaderValue::from(values::seconds_up(wait).max(1));
            headers.insert(RETRY_AFTER, seconds);
        }
        None => drop(headers.remove(RETRY_AFTER)),
    }
}

/// Returns the wait that `Retry-After` tells, at most [`MAX_WAIT`]: a number of seconds, or the time
/// from `Date` to a date, in each of the three formats of HTTP. If there is no `Date`, the time from
/// `received` on, by the clock of the client.
///
/// A date that has passed is a wait of zero. A field that is missing or malformed is `None`. Of several
/// fields, the first counts.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use http::HeaderMap;
/// use sluicegate_http::fields::parse_retry_after;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("retry-after", "Mon, 05 Aug 2019 09:27:05 GMT".parse().unwrap());
/// headers.insert("date", "Mon, 05 Aug 2019 09:27:00 GMT".parse().unwrap());
/// let wait = parse_retry_after(&headers, SystemTime::now());
/// assert_eq!(wait, Some(Duration::from_secs(5)));
/// ```
#[must_use]
pub fn parse_retry_after(headers: &HeaderMap, received: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim_matches([' ', '\t']);
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number has are more than the longest wait.
        let seconds = text.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(MAX_WAIT));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let wait = date.duration_since(sent(headers, received)).unwrap_or_default();
    Some(wait.min(MAX_WAIT))
}

/// Returns the time at which a response was sent, by its `Date`, or else the one at which it was
/// received.
pub(super) fn sent(headers: &HeaderMap, received: SystemTime) -> SystemTime {
    let date = headers.get(DATE).and_then(|date| date.to_str().ok());
    date.and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(received)
}
