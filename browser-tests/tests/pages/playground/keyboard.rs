//! Without a mouse: by tabulator, and by single keys.

use serde_json::json;

use super::{BUCKET, Visit};

#[tokio::test]
async fn a_keyboard_reaches_every_control_and_is_seen_to() {
    let visit = Visit::to("").await;
    let browser = &visit.browser;
    browser.value("document.querySelectorAll('summary').length").await;
    let controls = "[...document.querySelectorAll('a, button, input, select, summary, [tabindex=\"0\"]')]
        .filter(e => e.checkVisibility() && !e.closest('dialog') && !(e.type == 'radio' && !e.checked))";
    browser.value(&format!("window.left = new Set({controls}), 1")).await;
    let count = browser.value("window.left.size").await.as_u64().unwrap();
    assert!(count > 30, "{count} controls");
    let focused = "(() => {
        const e = document.activeElement;
        const ring = e.type == 'radio' ? e.nextElementSibling : e;
        const box = ring.getBoundingClientRect();
        window.left.delete(e);
        return { element: e.outerHTML.slice(0, 100), outline: getComputedStyle(ring).outlineStyle + ' ' + getComputedStyle(ring).outlineWidth,
                 is_seen: box.width > 0 && box.left >= 0 && box.top >= 0 && box.top < innerHeight };
    })()";
    for _ in 0..count {
        browser.press_tab().await;
        let found = browser.value(focused).await;
        assert_eq!(found["outline"], json!("solid 3px"), "{found}");
        assert_eq!(found["is_seen"], json!(true), "{found}");
    }
    assert_eq!(
        browser.value("[...window.left].map(e => e.outerHTML.slice(0, 100))").await,
        json!([])
    );
    visit.end().await;
}

#[tokio::test]
async fn single_keys_do_what_their_list_says() {
    let visit = Visit::to(BUCKET).await;
    let browser = &visit.browser;
    browser.press("?").await;
    browser.until("document.getElementById('keys-dialog').open").await;
    let keys = browser
        .value("[...document.querySelectorAll('dialog kbd')].map(key => key.textContent).join('')")
        .await;
    assert_eq!(keys, json!("SBTPR15L?"));
    // Nothing is sent behind the list.
    browser.press("s").await;
    browser.press("Escape").await;
    browser.until("!document.getElementById('keys-dialog').open").await;
    browser.press("s").await;
    assert_eq!(visit.decided(0, 1).await, [1, 0, 0]);
    browser.press("b").await;
    assert_eq!(visit.decided(0, 11).await, [5, 6, 0]);
    browser.press("t").await;
    browser.until("document.querySelectorAll('#streams li').length == 1").await;
    browser.press("t").await;
    browser.until("document.querySelectorAll('#streams li').length == 0").await;
    browser.press("p").await;
    browser.until("document.querySelector('#pause span').textContent == 'Resume'").await;
    browser.press("p").await;
    browser.until("document.querySelector('#pause span').textContent == 'Pause'").await;
    browser.press("r").await;
    assert_eq!(visit.decided(0, 0).await, [0; 3]);
    // Letters that are typed are letters.
    browser.value("document.getElementById('key').select(), 1").await;
    browser.press("s").await;
    browser.press("b").await;
    assert_eq!(browser.value("document.getElementById('key').value").await, json!("sb"));
    browser.press("Enter").await;
    assert_eq!(visit.decided(0, 1).await, [1, 0, 0]);
    // They can be switched off.
    browser.value("document.getElementById('key').blur(), document.getElementById('shortcuts-on').click(), 1").await;
    for key in ["s", "b", "2"] {
        browser.press(key).await;
    }
    browser.click("#send-one").await;
    assert_eq!(visit.decided(0, 2).await, [2, 0, 0]);
    browser.value("document.getElementById('shortcuts-on').click(), 1").await;
    browser.press("2").await;
    browser
        .until("document.querySelector('#scenarios button:nth-child(2)').ariaPressed == 'true'")
        .await;
    visit.end().await;
}
