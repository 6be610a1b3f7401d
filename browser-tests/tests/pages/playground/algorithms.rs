//! Every algorithm: its form, its drawing, and its numbers.

use std::fmt::Write as _;

use serde_json::Value;
use sluicegate_browser_tests::Browser;

use super::Visit;

/// Algorithms whose drawing has an element of another class than `DRAWN` once there were requests.
const OTHERS: &[(&str, &str)] = &[
    ("token_bucket", ".curve.water"),
    ("interval_bucket", ".curve.water"),
    ("gcra", ".curve.water"),
    ("leaky_queue", ".curve.used"),
    ("sliding_log", ".entry"),
    ("concurrency", ".hold.live"),
];

/// Elements of which the drawings of all others have one.
const DRAWN: &str = ".curve, .box.live";

/// Returns the algorithms that the page offers.
async fn offered(browser: &Browser) -> Vec<String> {
    let options = browser
        .value("[...document.querySelectorAll('.algorithm > option')].map(o => o.value)")
        .await;
    serde_json::from_value(options).unwrap()
}

#[tokio::test]
async fn each_algorithm_is_chosen_drawn_and_told() {
    let visit = Visit::to("#speed=1&a=concurrency").await;
    let browser = &visit.browser;
    let offered = offered(browser).await;
    assert!(OTHERS.iter().all(|(id, _)| offered.iter().any(|other| other == id)), "{offered:?}");
    browser.click(".numbers summary").await;
    browser.fill("#count", "3").await;
    for id in &offered {
        let others = OTHERS.iter().find(|(other, _)| other == id);
        let drawn = others.map_or(DRAWN, |(_, drawn)| drawn);
        browser.choose(".algorithm", id).await;
        browser.until(&format!("location.hash.includes('a={id}&')")).await;
        let uses = "[...document.querySelectorAll('.side .summary dl div')].map(use => use.innerText.length > 20)";
        assert_eq!(browser.value(uses).await, serde_json::json!([true, true]), "{id}");
        browser.click("#reset").await;
        assert_eq!(visit.decided(0, 0).await, [0; 3], "{id}");
        browser.click("#send-burst").await;
        visit.decided(0, 3).await;
        browser.until(&format!("[...document.querySelectorAll('{drawn}')].some(part => part.closest('#side-0-drawing'))")).await;
        // In words, as a table, and as a response.
        browser.until("/\\d/.test(document.getElementById('side-0-drawing').ariaLabel)").await;
        browser.until("document.querySelector('.numbers tbody tr td').textContent").await;
        browser
            .until("/^(200|429) /.test(document.querySelector('.response pre')?.textContent)")
            .await;
        browser.until("document.querySelectorAll('#decisions tbody tr').length == 3").await;
    }
    visit.end().await;
}

#[tokio::test]
async fn each_parameter_is_changed_while_requests_come() {
    let visit = Visit::to("#speed=1&a=concurrency&stream=a,1,20,random").await;
    let browser = &visit.browser;
    for id in &offered(browser).await {
        browser.choose(".algorithm", id).await;
        browser.until(&format!("location.hash.includes('a={id}&')")).await;
        let parameters = browser.value("[...document.querySelectorAll('.parameters input[type=number]')].map(i => [i.name, i.value, i.max])").await;
        let mut changed = String::new();
        for parameter in parameters.as_array().unwrap() {
            let [name, value, most] = [0, 1, 2].map(|part| parameter[part].as_str().unwrap());
            let most: f64 = most.parse().unwrap_or(f64::MAX);
            let next = value.parse::<f64>().map_or(3.0, |value| (value + 1.0).min(most));
            browser.fill(&format!("#side-0-{name}"), &next.to_string()).await;
            write!(changed, "&a.{name}={next}").unwrap();
        }
        // All are in the address once the server has taken them.
        browser.until(&format!("location.hash.includes({changed:?})")).await;
        let errors = browser.value("[...document.querySelectorAll('.error, #notice')].map(e => e.textContent).join('')").await;
        assert_eq!(errors, Value::String(String::new()), "{id}");
    }
    let before = browser.value(&super::totals(0)).await;
    browser.until(&format!("JSON.stringify({}) != '{before}'", super::totals(0))).await;
    visit.end().await;
}

#[tokio::test]
async fn limiters_of_the_policy_are_copied_with_their_numbers() {
    let visit = Visit::to("#speed=1&a=concurrency").await;
    let browser = &visit.browser;
    let offered = browser
        .value("[...document.querySelectorAll('.algorithm optgroup option')].map(o => [o.parentNode.label, o.text, o.disabled])")
        .await;
    let expected = serde_json::json!([
        ["Copies of limits.toml", "pages", false],
        ["Copies of limits.toml", "daily: it follows the calendar", true],
    ]);
    assert_eq!(offered, expected);
    browser.choose(".algorithm", "policy:0").await;
    browser
        .until("location.hash.includes('a=fixed_window&a.limit=7&a.window=3600&a.per_key=1')")
        .await;
    browser.click("#send-burst").await;
    assert_eq!(visit.decided(0, 10).await, [7, 3, 0]);
    // The name stays as long as the numbers do.
    let chosen = "document.querySelector('.algorithm').value";
    assert_eq!(browser.value(chosen).await, "policy:0");
    browser.fill("#side-0-limit", "8").await;
    browser.until("location.hash.includes('a.limit=8')").await;
    assert_eq!(browser.value(chosen).await, "fixed_window");
    visit.end().await;
}
