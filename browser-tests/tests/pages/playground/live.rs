//! The page of the live limiters.

use serde_json::json;
use sluicegate_browser_tests::View;

use super::Visit;
use super::looks::TOO_WIDE;
use crate::{SCHEMES, keep_picture};

#[tokio::test]
async fn live_limiters_are_asked_and_what_they_have_left_is_seen() {
    let visit = Visit::to("").await;
    let browser = &visit.browser;
    browser.click("#live").await;
    let left =
        |number: &str| format!("document.getElementById('remaining')?.textContent == '{number}'");
    browser.until(&left("7")).await;
    let kind = browser.value("document.getElementById('kind').textContent").await;
    assert!(kind.as_str().unwrap().starts_with("fixed window: 7 per "), "{kind}");

    browser.click("#ask-one").await;
    browser.until(&left("6")).await;
    browser.click("#ask-burst").await;
    let said = "document.getElementById('said').textContent";
    browser.until(&format!("{said} == '6 requests granted, 4 refused'")).await;
    browser.until(&left("0")).await;
    browser.until("document.querySelectorAll('#decisions .granted').length == 7").await;
    browser.until("document.querySelectorAll('#decisions .refused').length == 4").await;
    browser.until("document.getElementById('answer').textContent.includes('retry_after')").await;
    let points = "document.getElementById('level-line').getAttribute('points').split(' ').length";
    browser.until(&format!("{points} >= 3")).await;

    // Another key has a limit of its own, and so has another limiter.
    browser.fill("#parts input", "b").await;
    browser.until(&left("7")).await;
    browser.choose("#limiter", "server").await;
    browser.until(&left("1,000")).await;
    browser.until("document.querySelectorAll('#parts input').length == 0").await;
    browser.fill("#per-second", "0").await;
    browser.click("#stream").await;
    let error = "document.getElementById('ask-error').textContent";
    browser
        .until(&format!("{error} == 'Requests per second is 0: must be a number from 0.1 to 100.'"))
        .await;
    browser.fill("#per-second", "50").await;
    browser.click("#stream").await;
    browser.until("document.querySelectorAll('#decisions tbody tr').length >= 20").await;
    browser.click("#stream").await;
    browser.until("document.getElementById('stream').textContent == 'Start'").await;

    for view in View::ALL {
        for scheme in SCHEMES {
            let of = format!("live-{}-{}", view.name, scheme.name());
            browser.view(view).await;
            browser.prefer(scheme, "screen").await;
            browser.settle().await;
            assert_eq!(browser.value(TOO_WIDE).await, json!([]), "{of}");
            assert_eq!(browser.violations().await, Vec::<String>::new(), "{of}");
            keep_picture(browser, &of).await;
        }
    }
    visit.end().await;
}

#[tokio::test]
async fn decisions_on_a_phone_say_of_which_limiter_they_are_and_what_they_were() {
    let visit = Visit::to("").await;
    let browser = &visit.browser;
    browser.click("#live").await;
    browser.until("document.getElementById('remaining')?.textContent == '7'").await;
    browser.click("#ask-one").await;
    browser.until("document.querySelectorAll('#decisions tbody tr').length == 1").await;
    browser.choose("#limiter", "server").await;
    browser.click("#ask-one").await;
    browser.until("document.querySelectorAll('#decisions tbody tr').length == 2").await;
    let [phone, ..] = View::ALL;
    browser.view(phone).await;
    browser.settle().await;
    let seen = "[...document.querySelectorAll('#decisions tr')].slice(0, 2).map(row => [...row.cells].slice(1).filter(cell => cell.checkVisibility()).map(cell => (cell.querySelector('span') ?? cell).textContent))";
    let expected = [["limiter", "key", "decision"], ["server", "all", "granted"]];
    assert_eq!(browser.value(seen).await, json!(expected));
    let last = "[...document.querySelectorAll('#decisions tbody tr')].at(-1).cells[1].textContent";
    assert_eq!(browser.value(last).await, json!("pages"));
    visit.end().await;
}

#[tokio::test]
async fn a_cost_that_is_none_is_told_in_words_and_not_sent() {
    let visit = Visit::to("").await;
    let browser = &visit.browser;
    browser.click("#live").await;
    browser.until("document.getElementById('remaining')?.textContent == '7'").await;
    for (field, name) in [("cost", "Cost"), ("count", "Requests in a burst")] {
        for wrong in ["-1", "1.5"] {
            browser.fill(&format!("#{field}"), wrong).await;
            browser.click("#ask-burst").await;
            let told = format!("{name} is {wrong}: must be a whole number from 1 to ");
            let error = "document.getElementById('ask-error').textContent";
            browser.until(&format!("{error}.startsWith('{told}')")).await;
        }
        browser.fill(&format!("#{field}"), "1").await;
    }
    visit.end().await;
}
