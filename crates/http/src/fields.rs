//! Response fields that tell a client its limits, by version: written and parsed by the same files.
//!
//! | version | fields |
//! |---|---|
//! | [`Legacy`](FieldVersion::Legacy) | `X-RateLimit-Limit`, `-Remaining`, `-Reset` |
//! | [`Draft3`](FieldVersion::Draft3) | `RateLimit-Limit: 5, 5;w=60`, `RateLimit-Remaining`, `RateLimit-Reset` |
//! | [`Draft6`](FieldVersion::Draft6) | `RateLimit-Policy: 5;w=60`, `RateLimit-Limit`, `-Remaining`, `-Reset` |
//! | [`Draft7`](FieldVersion::Draft7) | `RateLimit-Policy: 5;w=60`, `RateLimit: limit=5, remaining=4, reset=60` |
//! | [`Draft8`](FieldVersion::Draft8) | `RateLimit-Policy: "burst";q=5;w=60`, `RateLimit: "burst";r=4;t=60`; the same in the drafts 8 to 10 |
//!
//! The drafts are those of draft-ietf-httpapi-ratelimit-headers.
//! Their values are structured fields (RFC 9651).
//!
//! | file | |
//! |---|---|
//! | `version`, `policy`, `state` | the versions, what a server advertises, and how a limiter stands |
//! | `writer`, `reader` | the fields of a whole response |
//! | `named_items` | those of drafts 8 to 10 |
//! | `single_limit` | those of the older versions, which tell one limit |
//! | `stacked` | responses that have fields of another layer already |
//! | `values` | numbers and lists, with their bounds |
//! | `retry_after` | `Retry-After` (RFC 9110) |
//! | `problem` | bodies that tell why a request was refused (RFC 9457) |
//!
//! # Examples
//!
//! ```
//! use std::time::{Duration, SystemTime};
//! use http::HeaderMap;
//! use sluicegate::{ManualClock, TokenBucket, quota};
//! use sluicegate_http::fields::{FieldVersion, FieldWriter, PolicyState, QuotaPolicy, ResponseFields};
//!
//! let quota = quota!(30 / minute, burst 5);
//! let writer = FieldWriter::new(FieldVersion::Draft8, [QuotaPolicy::from(quota).named("burst")?])?;
//! let bucket = TokenBucket::with_clock(quota, ManualClock::new());
//! let denied = bucket.try_acquire(5).and(bucket.try_acquire(1)).unwrap_err();
//!
//! // On the server.
//! let mut headers = HeaderMap::new();
//! writer.write(&mut headers, &[PolicyState::denied(&denied)], SystemTime::now());
//! assert_eq!(headers["ratelimit-policy"], r#""burst";q=5;w=10"#);
//! assert_eq!(headers["ratelimit"], r#""burst";r=0;t=2"#);
//! assert_eq!(headers["retry-after"], "2");
//!
//! // At the client.
//! let fields = ResponseFields::parse(&headers, SystemTime::now());
//! assert_eq!(fields.limits[0].remaining, 0);
//! assert_eq!(fields.wait(), Duration::from_secs(2));
//! # Ok::<(), sluicegate_http::fields::FieldError>(())
//! ```

mod named_items;
mod policy;
mod problem;
mod reader;
mod retry_after;
mod service_limit;
mod single_limit;
mod stacked;
mod state;
mod values;
mod version;
mod writer;

pub use self::policy::{FieldError, MAX_NAME, QuotaPolicy, QuotaUnit};
pub(crate) use self::problem::violation;
pub use self::problem::{MAX_PROBLEM_BYTES, Problem, ProblemType};
pub use self::reader::ResponseFields;
pub use self::retry_after::{MAX_WAIT, parse_retry_after, write_retry_after};
pub use self::service_limit::ServiceLimit;
pub use self::state::PolicyState;
pub use self::values::{MAX_FIELD_BYTES, MAX_ITEMS};
pub use self::version::{FieldVersion, ResetAs};
pub use self::writer::FieldWriter;
