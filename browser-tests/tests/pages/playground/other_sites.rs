//! Pages of other sites, which a browser lets send requests to the service.

use std::fs;

use sluicegate_browser_tests::{Browser, Scheme, View};

use super::served::Served;

const JSON: &str = "headers: { 'content-type': 'application/json' }";

/// Sends a question about the limiter `server` from the page, and gives its answer to `then`.
fn ask(path: &str, options: &str, then: &str) -> String {
    format!(
        "fetch('{path}', {{ method: 'POST', body: '{{\"limiter\":\"server\"}}', {options} }}).then({then})"
    )
}

#[tokio::test]
async fn a_page_of_another_site_takes_nothing() {
    let (browser, server) = (Browser::take().await, Served::start(0).await);
    let [.., desktop] = View::ALL;
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    fs::write(&page, "<!doctype html><title>Elsewhere</title>").unwrap();
    browser.show(&page, desktop, Scheme::Light).await;
    for path in ["/v1/check", "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"] {
        let address = server.origin() + path;
        // The browser sends it, and hides the answer from the page.
        let sent = ask(&address, "mode: 'no-cors'", "answer => answer.type");
        assert_eq!(browser.value(&sent).await, "opaque", "{path}");
        let refused = ask(&address, JSON, "() => 'answered', () => 'not sent'");
        assert_eq!(browser.value(&refused).await, "not sent", "{path}");
    }
    browser.visit(&server.origin(), desktop, Scheme::Light).await;
    // The service's own page takes the first permit.
    let own = ask("/v1/check", JSON, "answer => answer.json().then(answer => answer.remaining)");
    assert_eq!(browser.value(&own).await, 999);
    // The browser has told of what it refused.
    browser.console().await;
    browser.give_back();
    server.stop().await;
}
