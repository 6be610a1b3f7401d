//! The requests that are answered in gRPC, by their media types, over raw HTTP.

use axum::body::Body;
use http::{HeaderMap, Request, StatusCode, Version};
use http_body::Body as _;
use http_body_util::BodyExt;

use super::*;

/// Sends a request that has a content type, and returns the whole response.
async fn send_as(
    server: SocketAddr,
    content_type: &str,
    version: Version,
) -> (StatusCode, HeaderMap, Option<HeaderMap>, Vec<u8>) {
    let client = Client::builder(TokioExecutor::new())
        .http2_only(version == Version::HTTP_2)
        .build_http::<Body>();
    let request = Request::post(format!("http://{server}/grpc.health.v1.Health/Check"))
        .header("content-type", content_type)
        .body(Body::empty());
    let response = client.request(request.unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    // Trailers in the place of headers end the stream with them.
    let is_grpc = parts.headers.contains_key("grpc-status");
    assert_eq!(body.is_end_stream(), is_grpc, "{:?}", parts.headers);
    let body = body.collect().await.unwrap();
    let trailers = body.trailers().cloned();
    (parts.status, parts.headers, trailers, body.to_bytes().to_vec())
}

#[tokio::test]
async fn each_kind_of_grpc_is_answered_with_its_own_media_type() {
    let server = serve(RateLimitLayer::new(Limit::of_all(drained()))).await;
    for (content_type, expected) in [
        ("application/grpc", "application/grpc"),
        ("application/grpc+proto", "application/grpc+proto"),
        ("application/grpc+json;charset=utf-8", "application/grpc+json"),
        ("Application/gRPC", "Application/gRPC"),
        ("application/grpc-web", "application/grpc-web"),
        ("application/grpc-web+proto ; x=y", "application/grpc-web+proto"),
        ("application/grpc-web-text", "application/grpc-web-text"),
        ("application/grpc-web-text+proto", "application/grpc-web-text+proto"),
    ] {
        for version in [Version::HTTP_2, Version::HTTP_11] {
            let (status, headers, trailers, body) = send_as(server, content_type, version).await;
            assert_eq!(status, 200, "{content_type}");
            assert_eq!(headers["content-type"], expected);
            assert_eq!(headers["grpc-status"], "8", "{content_type}");
            assert!(headers.contains_key("grpc-message"), "{headers:?}");
            assert!(headers.contains_key("grpc-status-details-bin"), "{headers:?}");
            assert!(headers.contains_key("retry-after"), "{headers:?}");
            assert!(trailers.is_none() && body.is_empty(), "{trailers:?} {body:?}");
        }
    }
}

#[tokio::test]
async fn other_requests_are_answered_by_problem_details() {
    let server = serve(RateLimitLayer::new(Limit::of_all(drained()))).await;
    let others = [
        "application/json",
        "application/grpcx",
        "application/grpc-x",
        "text/application/grpc",
        "",
    ];
    for content_type in others {
        let (status, headers, _, body) = send_as(server, content_type, Version::HTTP_11).await;
        assert_eq!(status, 429, "{content_type}");
        assert_eq!(headers["content-type"], "application/problem+json");
        assert!(!headers.contains_key("grpc-status") && body.starts_with(b"{"));
    }
}

#[tokio::test]
async fn answers_of_grpc_can_be_switched_off() {
    let layer = RateLimitLayer::new(Limit::of_all(drained()));
    let server = serve(layer.respond(|refusal, _| refusal.response())).await;
    let (status, headers, ..) = send_as(server, "application/grpc", Version::HTTP_2).await;
    assert_eq!(
        (status, &headers["content-type"]),
        (StatusCode::TOO_MANY_REQUESTS, &"application/problem+json".parse().unwrap())
    );
    // A client of gRPC is told nothing about a limit then.
    let status = check(&mut client(server).await).await.unwrap_err();
    assert_eq!(status.code(), Code::Internal);
}
