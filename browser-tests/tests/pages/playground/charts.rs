//! The drawings of limiters: their curves stay in their charts, and what was drawn stays over a change.

use serde_json::json;

use super::{BUCKET, Visit};

/// Curves of the first side that leave its chart: the box above the base line.
const OUTSIDE: &str = "(() => {
    const drawing = document.getElementById('side-0-drawing');
    const base = drawing.querySelector('.base').getBBox();
    return [...drawing.querySelectorAll('.curve, .area, .coming, .envelope')].filter(curve => {
        const box = curve.getBBox();
        return box.x < base.x - 1 || box.x + box.width > base.x + base.width + 1
            || box.y < 0 || box.y + box.height > base.y + 1;
    }).map(curve => curve.outerHTML.slice(0, 200));
})()";

#[tokio::test]
async fn no_curve_leaves_its_chart() {
    let visit = Visit::to("#speed=1&a=token_bucket&a.burst=10&a.permits=1&a.period=3600").await;
    let browser = &visit.browser;
    browser.click("#send-burst").await;
    visit.decided(0, 10).await;
    // It is full in ten hours, far to the right.
    browser.until("document.querySelector('#side-0-drawing .coming')").await;
    assert_eq!(browser.value(OUTSIDE).await, json!([]));
    // It has held more than it can hold now.
    browser.fill("#side-0-burst", "2").await;
    browser.until("location.hash.includes('burst=2&')").await;
    browser.settle().await;
    assert_eq!(browser.value(OUTSIDE).await, json!([]));
    visit.end().await;
}

#[tokio::test]
async fn a_fast_clock_draws_an_envelope_of_the_level() {
    let fragment =
        "#speed=60&a=token_bucket&a.burst=5&a.permits=1&a.period=60&stream=a,1,0.05,random";
    let visit = Visit::to(fragment).await;
    let browser = &visit.browser;
    for speed in ["60", "600"] {
        browser.click(&format!("#speed input[value='{speed}']")).await;
        browser.until(&format!("location.hash.includes('speed={speed}&')")).await;
        let steps = "document.querySelector('#side-0-drawing .envelope')?.getAttribute('d').split('L').length > 40";
        browser.until(steps).await;
        assert_eq!(browser.value(OUTSIDE).await, json!([]), "{speed}");
        let line = "document.querySelectorAll('#side-0-drawing .curve').length";
        assert_eq!(browser.value(line).await, json!(0), "{speed}");
    }
    visit.end().await;
}

#[tokio::test]
async fn a_change_is_marked_and_takes_nothing_from_what_was_drawn() {
    let visit = Visit::to(BUCKET).await;
    let browser = &visit.browser;
    browser.click("#send-burst").await;
    assert_eq!(visit.decided(0, 10).await, [5, 5, 0]);
    // What is drawn does not go out of sight.
    browser.click("#pause").await;
    browser.until("document.querySelector('#pause span').textContent == 'Resume'").await;
    browser.fill("#side-0-burst", "9").await;
    browser.until("location.hash.includes('burst=9&')").await;
    let told = "document.getElementById('timeline-text').textContent";
    browser.until(&format!("{told}.includes(': Burst 5 → 9')")).await;
    browser.choose(".algorithm", "fixed_window").await;
    browser.until(&format!("{told}.includes(': Fixed window')")).await;
    browser.settle().await;
    let drawn = "['#side-0-drawing .change', '#timeline .change', '#decisions tbody tr'].map(of => document.querySelectorAll(of).length)
        .concat(['granted', 'refused'].map(kind => document.querySelector(`#timeline .bars.${kind}`).getAttribute('d') != ''))";
    assert_eq!(browser.value(drawn).await, json!([2, 2, 10, true, true]));
    // A second limiter leaves the first one's history, and goes without it.
    browser.click("#add-side").await;
    browser.until("location.hash.includes('&b=')").await;
    browser.click(".side:nth-of-type(2) .quiet").await;
    browser.until("!location.hash.includes('&b=')").await;
    browser.settle().await;
    assert_eq!(browser.value(drawn).await, json!([2, 2, 10, true, true]));
    visit.end().await;
}
