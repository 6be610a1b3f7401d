//! The connection to the server, and what happens when it is lost.

use serde_json::json;

use sluicegate_browser_tests::{Scheme, View};

use super::relay::Relay;
use super::served::Served;
use super::{BUCKET, Visit};

/// A set-up of one window that lasts.
const WINDOW: &str = "#speed=1&seed=1&a=fixed_window&a.limit=5&a.window=3600";

/// Returns an expression that is true while the page tells that state of its connection.
fn connection(state: &str) -> String {
    format!("document.getElementById('connection').dataset.state == '{state}'")
}

#[tokio::test]
async fn a_lost_connection_is_told_and_mended_with_the_same_set_up() {
    let Visit { browser, server } = Visit::to(BUCKET).await;
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

#[tokio::test]
async fn a_connection_that_goes_silent_is_told_and_mended_and_the_session_lives_on() {
    let visit = Visit::to(WINDOW).await;
    let browser = &visit.browser;
    let relay = Relay::start(visit.server.port()).await;
    let [.., desktop] = View::ALL;
    browser.visit(&format!("{}/{WINDOW}", relay.origin()), desktop, Scheme::Light).await;
    visit.live().await;
    browser.click("#send-burst").await;
    assert_eq!(visit.decided(0, 10).await, [5, 5, 0]);
    // Nothing is closed, so the browser itself notices nothing.
    relay.set_carries(false);
    browser.until(&connection("lost")).await;
    assert_eq!(browser.text("#connection").await, "connection lost, trying again");
    relay.set_carries(true);
    visit.live().await;
    assert_eq!(visit.decided(0, 10).await, [5, 5, 0]);
    // What was told before is told again, and counted once.
    browser.until("document.querySelector('#timeline .verdict')").await;
    assert_eq!(
        browser.value("document.querySelector('#timeline .verdict').textContent").await,
        "most permits within 60 min: 5, limit 5"
    );
    browser.until("document.querySelectorAll('#decisions tbody tr').length == 10").await;
    assert_eq!(visit.browser.value("location.hash").await, json!(WINDOW));
    visit.end().await;
}
