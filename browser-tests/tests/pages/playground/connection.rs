//! The connection to the server, and what happens when it is lost.

use serde_json::json;

use super::{BUCKET, Visit};
use crate::playground::served::Served;

#[tokio::test]
async fn a_lost_connection_is_told_and_mended_with_the_same_set_up() {
    let Visit { browser, server } = Visit::to(BUCKET).await;
    let connection =
        |state: &str| format!("document.getElementById('connection').dataset.state == '{state}'");
    browser.fill("#side-0-burst", "3").await;
    browser.until("location.hash.includes('burst=3')").await;
    browser.fill("#per-second", "0.01").await;
    browser.click("#start-stream").await;
    browser.until("document.querySelectorAll('#streams li').length == 1").await;
    let port = server.port();
    server.stop().await;
    browser.until(&connection("lost")).await;
    assert_eq!(browser.text("#connection").await, "connection lost, trying again");
    browser.click("#send-one").await;
    browser
        .until(
            "document.getElementById('send-error').textContent == 'The server cannot be reached.'",
        )
        .await;
    let server = Served::start(port).await;
    browser.until(&connection("live")).await;
    let visit = Visit { browser, server };
    // The new session has the terms of the old one, and its stream, which begins with a request.
    assert_eq!(visit.decided(0, 1).await, [1, 0, 0]);
    visit.browser.click("#send-burst").await;
    assert_eq!(visit.decided(0, 11).await, [3, 8, 0]);
    assert_eq!(
        visit.browser.value("document.querySelectorAll('#streams li').length").await,
        json!(1)
    );
    assert_eq!(visit.browser.text("#send-error").await, "");
    // The browser has told of the attempts that failed, and that is all.
    for message in visit.browser.console().await {
        let text = message["message"].as_str().unwrap().to_owned();
        assert!(text.contains("ERR_") || text.contains("404"), "{text}");
    }
    visit.end().await;
}
