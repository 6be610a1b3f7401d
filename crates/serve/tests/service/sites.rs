//! Requests that pages of other sites make in a browser of a machine that reaches the service.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::running::{POLICY, Running};

/// Returns the status of the answer to a request of HTTP/1.1 with these fields.
async fn status(service: &Running, line: &str, fields: &str, body: &str) -> u16 {
    let mut connection = TcpStream::connect(service.address).await.unwrap();
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nconnection: close\r\ncontent-length: {length}\r\n{fields}\r\n{body}"
    );
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer.split(' ').nth(1).unwrap_or_else(|| panic!("{answer}")).parse().unwrap()
}

const CHECK: &str = "POST /v1/check";
const JSON: &str = "content-type: application/json\r\n";
const BODY: &str = "{\"limiter\":\"all\"}";

#[tokio::test]
async fn a_page_of_another_site_takes_nothing() {
    let service = Running::of(POLICY).await;
    let own = format!("host: {}\r\n", service.address);
    for fields in [
        "origin: https://elsewhere.example\r\n",
        "origin: null\r\n",
        "sec-fetch-site: cross-site\r\n",
        "sec-fetch-site: same-site\r\n",
        // Another port is another origin.
        "origin: http://127.0.0.1:1\r\n",
    ] {
        let fields = format!("{own}{JSON}{fields}");
        assert_eq!(status(&service, CHECK, &fields, BODY).await, 403, "{fields}");
    }
    for path in ["/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", "/v1/reload"] {
        let fields =
            format!("{own}content-type: text/plain\r\norigin: https://elsewhere.example\r\n");
        assert_eq!(status(&service, &format!("POST {path}"), &fields, BODY).await, 403, "{path}");
    }
    // Programs, and pages of the service itself.
    for fields in [
        String::new(),
        format!("origin: http://{}\r\nsec-fetch-site: same-origin\r\n", service.address),
    ] {
        let fields = format!("{own}{JSON}{fields}");
        assert_eq!(status(&service, CHECK, &fields, BODY).await, 200, "{fields}");
    }
    // A link from elsewhere is followed: it takes nothing, and tells the page nothing.
    let link = format!("{own}sec-fetch-site: cross-site\r\n");
    assert_eq!(status(&service, "GET /v1/limiters", &link, "").await, 200);
    let state = service.check(serde_json::json!({ "limiter": "all", "cost": 0 })).await;
    assert_eq!(state["remaining"], 3);
    service.end().await;
}

#[tokio::test]
async fn a_question_of_envoy_that_is_none_of_grpc_is_refused() {
    let service = Running::of(POLICY).await;
    let line = "POST /envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
    for media_type in ["content-type: text/plain\r\n", "content-type: application/json\r\n", ""] {
        let fields = format!("host: localhost\r\n{media_type}");
        assert_eq!(status(&service, line, &fields, BODY).await, 415, "{media_type}");
    }
    service.end().await;
}

#[tokio::test]
async fn a_name_that_leads_here_is_refused_unless_no_stranger_can_own_it() {
    let service = Running::of(POLICY).await;
    for (fields, expected) in [
        ("host: rebound.example:8080\r\n", 421),
        ("host: 127.0.0.1.example\r\n", 421),
        ("host: \r\n", 421),
        ("host: 127.0.0.1\r\n", 200),
        ("host: [::1]:8080\r\n", 200),
        ("host: localhost:8080\r\n", 200),
        ("host: limits\r\n", 200),
        ("", 400),
        ("host: a\r\nhost: a\r\n", 400),
        ("host: a\r\nhost: rebound.example\r\n", 400),
    ] {
        assert_eq!(status(&service, "GET /healthz", fields, "").await, expected, "{fields}");
    }
    let absolute = "GET http://rebound.example/healthz";
    assert_eq!(status(&service, absolute, "host: localhost\r\n", "").await, 421);
    service.end().await;
}
