//! Every control, by clicks.

use serde_json::json;

use super::{BUCKET, Visit, totals};

#[tokio::test]
async fn requests_are_sent_one_by_one_in_bursts_and_as_streams() {
    let visit = Visit::to(BUCKET).await;
    let browser = &visit.browser;
    browser.click("#send-one").await;
    assert_eq!(visit.decided(0, 1).await, [1, 0, 0]);
    browser.fill("#key", "<b>&").await;
    browser.fill("#cost", "3").await;
    browser.click("#send-one").await;
    assert_eq!(visit.decided(0, 2).await, [2, 0, 0]);
    browser.fill("#cost", "1").await;
    browser.fill("#count", "4").await;
    browser.click("#send-burst").await;
    assert_eq!(visit.decided(0, 6).await, [3, 3, 0]);
    browser.until("document.querySelectorAll('#decisions tbody tr').length == 6").await;
    let decisions = browser.value("[...document.querySelectorAll('#decisions tbody tr')].map(row => [row.cells[2], row.cells[3], row.cells[4].firstChild].map(cell => cell.textContent).join(' '))").await;
    let expected = [
        "<b>& 1 refused",
        "<b>& 1 refused",
        "<b>& 1 refused",
        "<b>& 1 granted",
        "<b>& 3 granted",
        "a 1 granted",
    ];
    assert_eq!(decisions, json!(expected));
    assert!(browser.text(".response").await.contains("429 Too Many Requests"));
    assert!(browser.text(".response").await.to_lowercase().contains("retry-after: "));
    // Streams: two at a time, each of which can be stopped.
    browser.fill("#per-second", "50").await;
    browser.choose("#spacing", "random").await;
    browser.click("#start-stream").await;
    browser.until("document.querySelectorAll('#streams li').length == 1").await;
    browser.fill("#key", "b").await;
    browser.click("#start-stream").await;
    browser.until("document.querySelectorAll('#streams li').length == 2").await;
    browser.until(&format!("({})[1] > 20", totals(0))).await;
    browser.click("#streams button").await;
    browser.until("document.querySelectorAll('#streams li').length == 1").await;
    browser.click("#streams button").await;
    browser.until("document.querySelectorAll('#streams li').length == 0").await;
    visit.end().await;
}

#[tokio::test]
async fn time_is_stopped_hastened_and_begun_anew() {
    let visit = Visit::to(BUCKET).await;
    let browser = &visit.browser;
    let clock = "document.getElementById('clock').value";
    browser.until(&format!("{clock} != '0:00.0'")).await;
    browser.click("#pause").await;
    browser.until("document.querySelector('#pause span').textContent == 'Resume'").await;
    browser.settle().await;
    let stopped = browser
        .until(&format!("window.was == {clock} ? {clock} : (window.was = {clock}, false)"))
        .await;
    for _ in 0..5 {
        browser.settle().await;
        assert_eq!(browser.value(clock).await, stopped);
    }
    // A request is answered all the same.
    browser.click("#send-one").await;
    assert_eq!(visit.decided(0, 1).await, [1, 0, 0]);
    browser.click("#pause").await;
    browser.until(&format!("{clock} != {stopped}")).await;
    for speed in ["0.1", "1", "10", "60", "600"] {
        browser.click(&format!("#speed input[value='{speed}']")).await;
        browser.until(&format!("location.hash.includes('speed={speed}&')")).await;
    }
    browser.until(&format!("/^(\\d\\d|[3-9]):/.test({clock})")).await;
    browser.click("#speed input[value='0.1']").await;
    browser.click("#reset").await;
    browser.until(&format!("{clock}.startsWith('0:00')")).await;
    assert_eq!(visit.decided(0, 0).await, [0; 3]);
    visit.end().await;
}

#[tokio::test]
async fn a_second_limiter_comes_and_goes_and_keys_and_waits_are_chosen() {
    let visit = Visit::to(BUCKET).await;
    let browser = &visit.browser;
    browser.click("#add-side").await;
    browser
        .until("document.querySelectorAll('.side').length == 2 && location.hash.includes('&b=')")
        .await;
    browser.choose(".side:nth-of-type(2) .algorithm", "token_bucket").await;
    browser.until("location.hash.includes('&b=token_bucket')").await;
    for (name, value) in [("burst", "2"), ("permits", "1"), ("period", "3600")] {
        browser.fill(&format!("#side-1-{name}"), value).await;
    }
    browser.click("#side-1-per_key").await;
    browser.until("['b.burst=2', 'b.period=3600', 'b.per_key=1'].every(part => location.hash.includes(part))").await;
    browser.click("#reset").await;
    visit.decided(1, 0).await;
    for key in ["a", "b"] {
        browser.fill("#key", key).await;
        browser.click("#send-burst").await;
    }
    // Both see the same requests: five for all keys on the one side, two for each key on the other.
    assert_eq!(visit.decided(0, 20).await, [5, 15, 0]);
    assert_eq!(visit.decided(1, 20).await, [4, 16, 0]);
    browser.until("document.querySelectorAll('#side-1-drawing .badge').length == 2").await;
    browser.fill("#side-0-wait", "3600").await;
    browser.until("location.hash.includes('a.wait=3600')").await;
    browser.click("#send-one").await;
    let [_, _, waiting] = visit.decided(0, 21).await;
    assert_eq!(waiting, 1);
    browser.until("document.querySelector('#side-0-drawing .waiter.first')").await;
    browser.click(".side .quiet").await;
    browser
        .until("document.querySelectorAll('.side').length == 1 && !location.hash.includes('&b=')")
        .await;
    assert_eq!(browser.value("document.getElementById('side-0-burst').value").await, json!("2"));
    // A limit of requests in flight asks how long they are.
    browser.choose(".algorithm", "concurrency").await;
    browser.until("location.hash.includes('a=concurrency')").await;
    browser.fill("#hold", "1000").await;
    browser.click("#send-one").await;
    browser.until("document.querySelector('#side-0-drawing .hold.live')").await;
    visit.end().await;
}

#[tokio::test]
async fn more_than_can_be_simulated_or_drawn_is_told_and_not_hidden() {
    let visit = Visit::to("#speed=600&a=token_bucket&b=sliding_log&b.per_key=1&b.wait=5").await;
    let browser = &visit.browser;
    assert_eq!(browser.value("document.getElementById('slowed').hidden").await, json!(true));
    browser.fill("#per-second", "1000").await;
    for key in ["a", "b", "c", "d"] {
        browser.fill("#key", key).await;
        browser.click("#start-stream").await;
    }
    browser.until("!document.getElementById('slowed').hidden").await;
    browser.until("/^[\\d,]+ decisions/.test(document.getElementById('dropped').innerText)").await;
    // Not all keys are drawn, and the drawing says so.
    browser.until("[...document.querySelectorAll('#side-1-drawing text')].some(t => t.textContent == 'and 1 more key')").await;
    browser.value("document.activeElement.blur(), 1").await;
    browser.press("t").await;
    browser.until("document.querySelectorAll('#streams li').length == 0").await;
    browser.click("#reset").await;
    browser.until("document.getElementById('dropped').hidden").await;
    visit.end().await;
}

#[tokio::test]
async fn four_algorithms_decide_about_the_same_stream_of_poisson_arrivals() {
    let visit = Visit::to(BUCKET).await;
    let browser = &visit.browser;
    for sides in 2..=4 {
        browser.click("#add-side").await;
        browser.until(&format!("document.querySelectorAll('.side').length == {sides}")).await;
    }
    browser.until("location.hash.includes('&d=')").await;
    assert_eq!(browser.value("document.getElementById('add-side')").await, json!(null));
    let algorithms = "new Set([...document.querySelectorAll('.algorithm')].map(algorithm => algorithm.value)).size";
    assert_eq!(browser.value(algorithms).await, json!(4));
    browser.fill("#per-second", "20").await;
    browser.choose("#spacing", "random").await;
    browser.click("#start-stream").await;
    browser.until("document.querySelector('#streams li').innerText.includes('Poisson')").await;
    // All have decided, or let wait, the same number.
    let counts = format!("[{}, {}, {}, {}]", totals(0), totals(1), totals(2), totals(3));
    let equal = format!(
        "(sums => sums[0] > 20 && sums.every(sum => sum == sums[0]))({counts}.map(([granted, refused, waiting]) => granted + refused + waiting))"
    );
    browser.until(&equal).await;
    browser.until("document.querySelectorAll('#timeline .badge').length == 4").await;
    assert_eq!(browser.value(super::looks::TOO_WIDE).await, json!([]));
    crate::keep_picture(browser, "playground-four").await;
    visit.end().await;
}
