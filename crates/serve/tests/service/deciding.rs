//! A server that decides before it looks through its routes answers as the routes do.

use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderName, HeaderValue};

use super::running::{POLICY, Running};

/// The status, the fields and the body of an answer.
type Answer = (u16, Vec<(String, String)>, String);

async fn ask(
    service: &Running,
    method: &Method,
    path: &str,
    media_type: &str,
    body: &[u8],
) -> Answer {
    let request = service.client.request(method.clone(), service.url(path));
    let request = request.header(CONTENT_TYPE, media_type).body(body.to_vec());
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let fields = response.headers().iter().filter(|(name, _)| **name != DATE);
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        (name.to_string(), value.to_str().unwrap().to_owned())
    };
    let fields = fields.map(text).collect();
    (status, fields, response.text().await.unwrap())
}

#[tokio::test]
async fn answers_are_those_of_the_routes() {
    let (deciding, by_routes) = (Running::of(POLICY).await, Running::by_routes(POLICY).await);
    let json = "application/json";
    let bodies: [(&str, &[u8]); 14] = [
        // The limiter's numbers do not depend on the time that passes here.
        (json, br#"{"limiter":"all","cost":1000}"#),
        (json, br#"{"limiter":"none"}"#),
        (json, br#"{"limiter":"user","key":["a",1]}"#),
        (json, br#"{"limiter":"user","key":7}"#),
        (json, br#"{"limiter":"user","key":"a","cost":-1}"#),
        (json, br#"{"limiter":"user","key":"a"} x"#),
        (json, br#"{"checks":[]}"#),
        (json, br#"{"checks":[],"all_or_none":true}"#),
        (json, br#"{"checks":[{"limiter":"all","cost":9},{"limiter":"none"}]}"#),
        (json, br#"{"checks":[{"limiter":"all","wait":1}]}"#),
        (json, b"{\"limiter\":\"\xff\"}"),
        (json, b""),
        ("text/plain", br#"{"limiter":"all"}"#),
        ("application/json; charset=utf-8", b"null"),
    ];
    let paths =
        ["/v1/check", "/v1/check/batch", "/v1/peek", "/v1/check/", "/v1/peek?a=1", "/v1/chec%6B"];
    for path in paths {
        for method in [Method::POST, Method::GET, Method::PUT, Method::HEAD, Method::OPTIONS] {
            for (media_type, body) in bodies {
                let one = ask(&deciding, &method, path, media_type, body).await;
                let other = ask(&by_routes, &method, path, media_type, body).await;
                let body = String::from_utf8_lossy(body);
                assert_eq!(without_waits(one), without_waits(other), "{method} {path} {body}");
            }
        }
    }
    let large = vec![b' '; (1 << 20) + 1];
    let one = ask(&deciding, &Method::POST, "/v1/check", json, &large).await;
    assert_eq!(one.0, 413);
    assert_eq!(one, ask(&by_routes, &Method::POST, "/v1/check", json, &large).await);
    deciding.end().await;
    by_routes.end().await;
}

/// Leaves out the wait of a window, which becomes shorter between two requests.
fn without_waits((status, fields, body): Answer) -> Answer {
    let Some((before, after)) = body.split_once("\"reset_after\":") else {
        return (status, fields, body);
    };
    let after = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let fields = fields.into_iter().filter(|(name, _)| name != "content-length").collect();
    (status, fields, format!("{before}{after}"))
}
