//! Refusals as statuses of gRPC.

use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, QuotaViolation, StatusExt};

use super::refusal::{Refusal, RefusalReason};

/// Returns the media type of a gRPC request, without parameters; `None` if it is another request.
pub(super) fn media_type(request: &Parts) -> Option<HeaderValue> {
    let content_type = request.headers.get(header::CONTENT_TYPE)?;
    let media_type = content_type.to_str().ok()?.split(';').next()?.trim();
    // `+proto` and the like say how messages are encoded.
    let protocol = media_type.split('+').next()?;
    let is_grpc = ["application/grpc", "application/grpc-web", "application/grpc-web-text"]
        .iter()
        .any(|known| protocol.eq_ignore_ascii_case(known));
    is_grpc.then(|| HeaderValue::from_str(media_type).ok()).flatten()
}

/// Returns the response that consists of a status alone: no message, and the trailers in the place of
/// headers.
pub(super) fn response(refusal: &Refusal<'_>, media_type: HeaderValue) -> Response<Vec<u8>> {
    let mut response = status(refusal).into_http::<Vec<u8>>();
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response
}

fn status(refusal: &Refusal<'_>) -> Status {
    let mut details = ErrorDetails::new();
    if let Some(wait) = refusal.retry_after() {
        details.set_retry_info(Some(wait));
    }
    if refusal.status() == StatusCode::TOO_MANY_REQUESTS {
        let policy = refusal.policy().unwrap_or("default");
        let limit = refusal.limit().unwrap_or(0);
        let class = refusal.class_for_client().map(|class| ("class".to_owned(), class.to_owned()));
        let violation = QuotaViolation {
            quota_id: policy.to_owned(),
            quota_dimensions: class.into_iter().collect(),
            quota_value: i64::try_from(limit).unwrap_or(i64::MAX),
            ..QuotaViolation::new(policy, refusal.to_string())
        };
        details.set_quota_failure(vec![violation]);
    }
    let code = match refusal.reason() {
        RefusalReason::TimedOut { .. } => Code::DeadlineExceeded,
        _ => code(refusal.status()),
    };
    Status::with_error_details(code, refusal.to_string(), details)
}

/// Returns the code that means the same as a status of HTTP.
fn code(status: StatusCode) -> Code {
    match status {
        StatusCode::TOO_MANY_REQUESTS => Code::ResourceExhausted,
        StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
        StatusCode::GATEWAY_TIMEOUT | StatusCode::REQUEST_TIMEOUT => Code::DeadlineExceeded,
        StatusCode::BAD_REQUEST => Code::InvalidArgument,
        StatusCode::UNAUTHORIZED => Code::Unauthenticated,
        StatusCode::FORBIDDEN => Code::PermissionDenied,
        StatusCode::INTERNAL_SERVER_ERROR => Code::Internal,
        _ => Code::Unknown,
    }
}
