//! The response that tells a refusal, in HTTP and gRPC.

use http::request::Parts;
use http::{HeaderValue, Response, header};

#[cfg(feature = "grpc")]
use super::grpc;
use super::refusal::Refusal;
use crate::fields::{Problem, ProblemType, violation};

impl Refusal<'_> {
    /// Returns the response that the client of this request understands: problem details, or with the
    /// feature `grpc` a status of gRPC if the request is one of gRPC, that is if its `Content-Type` is
    /// `application/grpc`, `application/grpc-web` or `application/grpc-web-text`, with or without a suffix
    /// such as `+proto`. The fields of limits are not in it; the layer adds them to any response.
    ///
    /// A response of gRPC has the status 200 of HTTP, no message, and these headers, which are its
    /// trailers at the same time:
    ///
    /// | refused | `grpc-status` | `grpc-status-details-bin`: a `google.rpc.Status` with |
    /// |---|---|---|
    /// | with 429 in HTTP | 8, `RESOURCE_EXHAUSTED` | `QuotaFailure`, with the name of the policy, its limit, and the class as a dimension if clients are [told](super::Limit::tell_class) it; `RetryInfo`, if a wait is known |
    /// | by the time limit | 4, `DEADLINE_EXCEEDED` | |
    /// | otherwise with 503 | 14, `UNAVAILABLE` | `RetryInfo`, if a wait is known |
    /// | 400 | 3, `INVALID_ARGUMENT` | |
    /// | 500 | 13, `INTERNAL` | |
    ///
    /// `grpc-message` says why. The wait of `RetryInfo` is exact to the nanosecond.
    ///
    /// gRPC-Web is answered in the same way. A browser shows these headers to a program of another origin
    /// only if `Access-Control-Expose-Headers` lists them. Without the feature, a client of gRPC learns
    /// nothing about the limit: it takes the status 429 for `UNAVAILABLE`, and tonic for `INTERNAL`.
    ///
    /// # Examples
    ///
    /// To answer all requests by problem details:
    ///
    /// ```
    /// use sluicegate::{TokenBucket, quota};
    /// use sluicegate_http::layer::{Limit, RateLimitLayer};
    ///
    /// let limit = Limit::of_all(TokenBucket::new(quota!(100 / second)));
    /// let layer = RateLimitLayer::new(limit).respond(|refusal, _| refusal.response());
    /// ```
    #[must_use]
    pub fn response_to(&self, request: &Parts) -> Response<Vec<u8>> {
        #[cfg(feature = "grpc")]
        if let Some(media_type) = grpc::media_type(request) {
            return grpc::response(self, media_type);
        }
        let _ = request;
        self.response()
    }

    /// Returns the response of plain HTTP: problem details, without the fields of limits, which the layer
    /// adds to any response.
    #[must_use]
    pub fn response(&self) -> Response<Vec<u8>> {
        let body = match self.kind() {
            ProblemType::Blank => self.problem().to_json(),
            kind => violation(kind, self, self.policy_or_default(), self.class_for_client()),
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status();
        let media_type = HeaderValue::from_static(Problem::CONTENT_TYPE);
        response.headers_mut().insert(header::CONTENT_TYPE, media_type);
        response
    }
}
