//! Costs of requests, for [`Limit::cost`](super::Limit::cost).
//!
//! A cost is a function of the head of a request: of its method, its path, its declared size, or of anything
//! else. These are the usual ones; they can be called by a function of your own.
//!
//! ```
//! use http::Method;
//! use sluicegate::{TokenBucket, quota};
//! use sluicegate_http::layer::{Limit, cost};
//!
//! // A search costs ten, and a write five, wherever it goes.
//! let paths = cost::by_path([("/search", 10)], 1);
//! let methods = cost::by_method([(Method::POST, 5), (Method::PUT, 5)], 1);
//! let limit = Limit::of_all(TokenBucket::new(quota!(1_000 / second)))
//!     .cost(move |request| paths(request).max(methods(request)));
//! ```

use std::num::NonZeroU64;

use http::request::Parts;
use http::{Method, header};

/// Returns the cost by the method of a request: that of the first entry with it, or else `other`.
pub fn by_method(
    costs: impl Into<Vec<(Method, u64)>>,
    other: u64,
) -> impl Fn(&Parts) -> u64 + Send + Sync + 'static {
    let costs = costs.into();
    move |request| {
        let found = costs.iter().find(|(method, _)| *method == request.method);
        found.map_or(other, |(_, cost)| *cost)
    }
}

/// Returns the cost by the path of a request: that of the longest entry that it begins with, or else `other`.
///
/// An entry is a path and all below it: `/search` is for `/search` and `/search/users`, and not for
/// `/searches`. Paths are compared as they were sent: a server that takes `/Search` or `/search%2F` for the same
/// has to say so by a function of its own.
pub fn by_path<P: Into<String>>(
    costs: impl IntoIterator<Item = (P, u64)>,
    other: u64,
) -> impl Fn(&Parts) -> u64 + Send + Sync + 'static {
    let costs = costs.into_iter().map(|(path, cost)| (path.into(), cost));
    let mut costs: Vec<(String, u64)> = costs.collect();
    costs.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
    move |request| {
        let path = request.uri.path();
        let found = costs.iter().find(|(prefix, _)| is_below(path, prefix));
        found.map_or(other, |(_, cost)| *cost)
    }
}

/// Returns true if a path is `prefix`, or below it.
fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || prefix.ends_with('/'))
}

/// Returns the cost by the size that a request declares: a permit for each `unit` bytes that are begun, and at
/// least 1.
///
/// A request that declares no size costs `unknown` if it may have a body: if it has a `Transfer-Encoding`, or a
/// method for which a body has a meaning (any but `GET`, `HEAD`, `OPTIONS`, `DELETE`, `TRACE` and `CONNECT`).
/// The bytes that it really sends are not counted.
///
/// # Examples
///
/// ```
/// use std::num::NonZeroU64;
/// use sluicegate::{TokenBucket, quota};
/// use sluicegate_http::layer::{Limit, cost};
///
/// // 64 MiB of uploads a second, in KiB.
/// let uploads = TokenBucket::new(quota!(65_536 / second));
/// let kib = NonZeroU64::new(1_024).unwrap();
/// let limit = Limit::of_all(uploads).cost(cost::by_declared_size(kib, 1_024));
/// ```
pub fn by_declared_size(
    unit: NonZeroU64,
    unknown: u64,
) -> impl Fn(&Parts) -> u64 + Send + Sync + 'static {
    move |request| match declared_bytes(request) {
        Some(bytes) => bytes.div_ceil(unit.get()).max(1),
        None if may_have_a_body(request) => unknown,
        None => 1,
    }
}

/// Returns the number of bytes that the `Content-Length` of a request declares.
#[must_use]
pub fn declared_bytes(request: &Parts) -> Option<u64> {
    let text = request.headers.get(header::CONTENT_LENGTH)?.to_str().ok()?;
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // More digits than a number has are more than any body.
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

fn may_have_a_body(request: &Parts) -> bool {
    let is_bodyless = matches!(
        request.method,
        Method::GET
            | Method::HEAD
            | Method::OPTIONS
            | Method::DELETE
            | Method::TRACE
            | Method::CONNECT
    );
    !is_bodyless || request.headers.contains_key(header::TRANSFER_ENCODING)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn request(method: Method, path: &str, fields: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_method_has_the_cost_of_its_first_entry() {
        let cost = by_method([(Method::POST, 5), (Method::HEAD, 0), (Method::POST, 7)], 2);
        let of = |method| cost(&request(method, "/", &[]));
        assert_eq!([of(Method::POST), of(Method::HEAD), of(Method::GET)], [5, 0, 2]);
    }

    #[test]
    fn a_path_has_the_cost_of_the_longest_entry_above_it() {
        let cost = by_path([("/search", 10), ("/search/users", 20), ("/files/", 3), ("", 2)], 1);
        for (path, expected) in [
            ("/search", 10),
            ("/search/", 10),
            ("/search?q=1", 10),
            ("/search/users/7", 20),
            ("/search/usersx", 10),
            ("/searches", 2),
            ("/files/a", 3),
            ("/files", 2),
            ("/", 2),
        ] {
            assert_eq!(cost(&request(Method::GET, path, &[])), expected, "{path}");
        }
        assert_eq!(by_path([("/a", 3)], 1)(&request(Method::GET, "/", &[])), 1);
    }

    #[test]
    fn a_declared_size_costs_a_permit_for_each_unit_that_is_begun() {
        let cost = by_declared_size(NonZeroU64::new(1_024).unwrap(), 99);
        let of = |method, fields: &[_]| cost(&request(method, "/", fields));
        for (length, expected) in [
            ("0", 1),
            ("1", 1),
            ("1024", 1),
            ("1025", 2),
            ("18446744073709551615", 18_014_398_509_481_984),
            ("99999999999999999999999", 18_014_398_509_481_984),
        ] {
            assert_eq!(of(Method::POST, &[("content-length", length)]), expected, "{length}");
        }
        for malformed in ["", "-1", "+5", "1 2", "0x10", "5, 5"] {
            assert_eq!(of(Method::POST, &[("content-length", malformed)]), 99, "{malformed}");
        }
        assert_eq!(of(Method::PUT, &[("transfer-encoding", "chunked")]), 99);
        assert_eq!(of(Method::GET, &[("transfer-encoding", "chunked")]), 99);
        assert_eq!((of(Method::PATCH, &[]), of(Method::GET, &[])), (99, 1));
    }
}
