//! Values that the server refuses: each is told where it was entered.

use serde_json::{Value, json};

use super::{BUCKET, Visit};

#[tokio::test]
async fn a_wrong_value_is_told_at_its_field_and_changes_nothing() {
    let visit = Visit::to(BUCKET).await;
    let browser = &visit.browser;
    let field = "document.getElementById('side-0-burst')";
    for wrong in ["0", "1e300", "-5", "2.5", ""] {
        browser.fill("#side-0-burst", wrong).await;
        browser.until(&format!("{field}.ariaInvalid == 'true'")).await;
        let message = browser.text("#side-0-burst-error").await;
        assert!(message.contains('1') && message.len() > 15, "{wrong}: {message}");
        assert_eq!(browser.value("location.hash").await, BUCKET);
    }
    browser.fill("#side-0-burst", "2").await;
    browser.until(&format!("!{field}.ariaInvalid && location.hash.includes('burst=2')")).await;
    assert_eq!(browser.text("#side-0-burst-error").await, "");
    // What was in force stays so until then: the limiter answers.
    for (id, wrong, of) in [
        ("cost", "0", "send"),
        ("cost", "-1", "send"),
        ("count", "-1", "send"),
        ("cost", "", "send"),
        ("key", "", "send"),
        ("per-second", "-1", "stream"),
    ] {
        browser.fill("#key", "a").await;
        browser.fill("#cost", "1").await;
        browser.fill(&format!("#{id}"), wrong).await;
        browser.click(if of == "send" { "#send-burst" } else { "#start-stream" }).await;
        let message = browser
            .until(&format!(
                "(e => !e.hidden && e.textContent)(document.getElementById('{of}-error'))"
            ))
            .await;
        let message = message.as_str().unwrap();
        assert!(message.contains("must") && !message.contains("JSON"), "{id}: {message}");
        browser.fill("#key", "a").await;
        browser.fill("#cost", "1").await;
        browser.fill("#count", "10").await;
        browser.click("#send-one").await;
        browser.until("document.getElementById('send-error').hidden").await;
    }
    // Chromium tells of each refusal, and of nothing else.
    let told = browser.console().await;
    assert!(!told.is_empty());
    for message in told {
        let text = message["message"].as_str().unwrap();
        assert!(text.contains("422"), "{text}");
    }
    visit.end().await;
}

#[tokio::test]
async fn a_link_with_wrong_values_shows_them_and_what_is_allowed() {
    let visit = Visit::to(BUCKET).await;
    let browser = &visit.browser;
    visit.open("#a=fixed_window&a.limit=0&a.window=3600").await;
    browser.until("document.getElementById('side-0-limit')?.ariaInvalid == 'true'").await;
    assert_eq!(browser.value("document.getElementById('side-0-limit').value").await, json!("0"));
    browser.fill("#side-0-limit", "1").await;
    visit.live().await;
    browser.click("#send-burst").await;
    assert_eq!(visit.decided(0, 10).await, [1, 9, 0]);
    assert_eq!(
        browser
            .console()
            .await
            .iter()
            .filter(|message| !message.to_string().contains("422"))
            .count(),
        0
    );
    assert_eq!(browser.value("document.querySelector('.error:not([hidden])')").await, Value::Null);
    visit.end().await;
}

#[tokio::test]
async fn a_link_with_a_wrong_stream_says_so_and_the_page_lives_on() {
    let visit = Visit::to(BUCKET).await;
    let browser = &visit.browser;
    visit.open(&format!("{BUCKET}&stream=a,1,5000,even")).await;
    browser
        .until("document.getElementById('notice').textContent.includes('per_second is 5000')")
        .await;
    visit.live().await;
    browser.click("#send-burst").await;
    assert_eq!(visit.decided(0, 10).await, [5, 5, 0]);
    browser.until("document.querySelectorAll('#streams li').length == 0").await;
    for message in browser.console().await {
        assert!(message.to_string().contains("422"), "{message}");
    }
    visit.end().await;
}

#[tokio::test]
async fn a_link_with_a_speed_or_seed_that_is_none_runs_at_the_nearest_one_and_says_so() {
    let visit = Visit::to(&BUCKET.replace("speed=1", "speed=1000&seed=-1")).await;
    let browser = &visit.browser;
    let notice = browser.until("document.getElementById('notice').textContent").await;
    let expected = "speed is 1000: must be 0 for a pause, or from 0.1 to 600. It is 600 now.";
    assert_eq!(notice, json!(expected));
    browser.click("#send-burst").await;
    assert_eq!(visit.decided(0, 10).await, [5, 5, 0]);
    visit.end().await;
}

#[tokio::test]
async fn a_set_up_that_is_refused_does_not_pretend_to_connect() {
    let visit = Visit::to(BUCKET).await;
    let browser = &visit.browser;
    visit.open("#a=fixed_window&a.limit=0&a.window=3600").await;
    browser.until("document.getElementById('connection').dataset.state == 'refused'").await;
    assert_eq!(browser.text("#connection").await, "not started: a value is not allowed");
    // Chromium tells of the refusal.
    browser.console().await;
    visit.end().await;
}
