//! The page on three sizes of screen and in both schemes of colours, and for those who do not see it.

use serde_json::{Value, json};
use sluicegate_browser_tests::{Scheme, View};

use super::{BUCKET, Visit, totals};
use crate::{SCHEMES, keep_picture};

/// Elements that stand out of the page to the right.
pub(super) const TOO_WIDE: &str = "[...document.querySelectorAll('body *')]
    .filter(e => !e.closest('.scroll, #scenarios, .skip, .hidden, dialog') && e.getBoundingClientRect().right > innerWidth + 0.5)
    .map(e => e.outerHTML.slice(0, 160))";

/// Texts of drawings that are outside of them, with the least contrast of their texts and marks with the card below. (axe
/// looks at the text of the page only.)
const DRAWINGS: &str = "(() => {
    const rgb = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
    const light = colour => {
        const [r, g, b] = rgb(colour).map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const card = light(getComputedStyle(document.querySelector('.timeline')).backgroundColor);
    const contrast = (e, name) => {
        const l = light(getComputedStyle(e)[name]);
        return (Math.max(l, card) + 0.05) / (Math.min(l, card) + 0.05);
    };
    const least = (selector, name = 'fill') => Math.min(...[...document.querySelectorAll(selector)].map(e => contrast(e, name)));
    const outside = [...document.querySelectorAll('svg')].flatMap(svg => {
        const box = svg.getBoundingClientRect();
        return [...svg.querySelectorAll('text')].filter(text => {
            const at = text.getBoundingClientRect();
            return at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 4 || at.bottom > box.bottom + 3;
        }).map(text => text.textContent);
    });
    return { outside, card, text: least('svg text:not(.badge-text)'), marks: least('svg .bars'), lines: least('svg .limit, svg .curve, svg .dot.refused', 'stroke') };
})()";

#[tokio::test]
async fn the_page_fits_every_screen_in_both_schemes_and_everybody_can_use_it() {
    let visit = Visit::to("").await;
    let browser = &visit.browser;
    browser.click("#speed input[value='10']").await;
    browser.until("document.querySelector('#timeline .verdict.over')").await;
    browser.until(&format!("({})[1] == 5", totals(1))).await;
    browser.click("#pause").await;
    for view in View::ALL {
        for scheme in SCHEMES {
            let of = format!("playground-{}-{}", view.name, scheme.name());
            browser.view(view).await;
            browser.prefer(scheme, "screen").await;
            browser.settle().await;
            assert_eq!(browser.value(TOO_WIDE).await, json!([]), "{of}");
            let width = browser.value("document.documentElement.scrollWidth").await;
            assert_eq!(width, json!(view.width), "{of}");
            let drawings = browser.value(DRAWINGS).await;
            let number = |name: &str| drawings[name].as_f64().unwrap();
            assert_eq!(drawings["outside"], json!([]), "{of}");
            assert!(
                number("text") >= 4.5 && number("marks") >= 3.0 && number("lines") >= 3.0,
                "{of}: {drawings}"
            );
            assert_eq!(number("card") < 0.1, scheme == Scheme::Dark, "{of}: {drawings}");
            assert_eq!(browser.violations().await, Vec::<String>::new(), "{of}");
            keep_picture(browser, &of).await;
        }
    }
    // On a phone, the first screen has a drawing and the button, and what it folds can be unfolded.
    let [phone, ..] = View::ALL;
    browser.view(phone).await;
    browser.settle().await;
    let first = "(([drawing, bar]) => [drawing.bottom <= bar.top, bar.bottom <= innerHeight])(['side-0-drawing', 'send'].map(id => document.getElementById(id).getBoundingClientRect()))";
    assert_eq!(browser.value(first).await, json!([true, true]));
    for (button, folded) in [("#more", "#key"), (".side .more", "#side-0-limit")] {
        let is_seen = format!("document.querySelector('{folded}').checkVisibility()");
        assert_eq!(browser.value(&is_seen).await, json!(false), "{folded}");
        browser.click(button).await;
        assert_eq!(browser.value(&is_seen).await, json!(true), "{folded}");
    }
    assert_eq!(browser.violations().await, Vec::<String>::new());
    visit.end().await;
}

/// A window of a few pixels has no room, and nor has one with very large letters.
#[tokio::test]
async fn drawings_without_room_for_an_axis_do_not_stop_the_page() {
    let visit = Visit::to("#speed=1&a=fixed_window&a.limit=5&a.window=1").await;
    let browser = &visit.browser;
    // The axis does not begin at 0 any more.
    browser.until("parseFloat(document.getElementById('clock').value.split(':')[1]) > 2").await;
    let narrow = "document.querySelectorAll('svg').forEach(svg => svg.style.width = '20px'), 1";
    browser.value(narrow).await;
    browser.until("document.querySelector('svg.drawing').viewBox.baseVal.width == 20").await;
    browser.click("#send-burst").await;
    assert_eq!(visit.decided(0, 10).await, [5, 5, 0]);
    visit.end().await;
}

#[tokio::test]
async fn the_colours_are_switched_and_the_choice_lasts() {
    let visit = Visit::to(BUCKET).await;
    let browser = &visit.browser;
    let paper = "getComputedStyle(document.body).backgroundColor";
    let light = browser.value(paper).await;
    browser.click("#theme").await;
    let dark = browser.value(paper).await;
    assert_ne!(light, dark);
    assert_eq!(browser.text("#theme").await, "Light");
    visit.open(BUCKET).await;
    visit.live().await;
    assert_eq!(browser.value(paper).await, dark);
    browser.click("#theme").await;
    assert_eq!(browser.value(paper).await, light);
    visit.end().await;
}

#[tokio::test]
async fn a_reader_who_asks_for_it_sees_less_movement() {
    let visit = Visit::to(BUCKET).await;
    let browser = &visit.browser;
    // Pictures of the clock in 40 pictures of the screen, and the milliseconds that these took.
    let count = "window.moves = null, (async () => {
        const clock = document.getElementById('clock'), began = performance.now(), seen = new Set();
        for (let picture = 0; picture < 40; picture += 1) {
            seen.add(clock.value);
            await new Promise(requestAnimationFrame);
        }
        window.moves = { seen: seen.size, took: performance.now() - began };
    })(), 1";
    browser.value(count).await;
    let lively = browser.until("window.moves").await;
    browser.prefer_calm().await;
    browser.value(count).await;
    let calm = browser.until("window.moves").await;
    let seen = |moves: &Value| moves["seen"].as_f64().unwrap();
    assert!(seen(&calm) <= calm["took"].as_f64().unwrap() / 500.0 + 2.0, "{calm}");
    assert!(seen(&lively) > seen(&calm), "{lively}, and calm {calm}");
    visit.end().await;
}

#[tokio::test]
async fn a_reader_who_hears_the_page_is_told_what_happens() {
    let visit = Visit::to(BUCKET).await;
    let browser = &visit.browser;
    let landmarks = "[...document.querySelectorAll('header, main, main section')].length";
    assert_eq!(browser.value(landmarks).await, json!(9));
    assert_eq!(browser.value("document.getElementById('summary').ariaLive").await, json!("polite"));
    browser.click("#send-burst").await;
    visit.decided(0, 10).await;
    let told = browser.until("document.getElementById('summary').textContent").await;
    let told = told.as_str().unwrap();
    assert!(told.starts_with("Token bucket: 5 granted, 5 refused, in the last "), "{told}");
    browser.until("document.getElementById('side-0-drawing').ariaLabel == 'Token bucket: 0 of 5 tokens left'").await;
    assert_eq!(
        browser.value("document.getElementById('timeline-text').textContent").await,
        json!("A: 5 requests granted, 5 refused")
    );
    visit.end().await;
}

/// Elements that cut their text off. (Lists are scrolled.)
const CUT: &str = "[...document.querySelectorAll('body *')]
    .filter(e => e.checkVisibility() && !e.closest('.hidden, .skip, .scroll, dialog, option, svg'))
    .filter(e => getComputedStyle(e).overflowX != 'visible' && e.scrollWidth > e.clientWidth + 1)
    .map(e => e.outerHTML.slice(0, 100))";

#[tokio::test]
async fn a_small_laptop_cuts_no_word_and_a_beginner_reads_what_a_limiter_and_a_key_are() {
    let laptop = View { name: "laptop", width: 1280, height: 720 };
    let visit = Visit::to("#speed=1&a=several_windows&b=sliding_window").await;
    let browser = &visit.browser;
    browser.click("#send-burst").await;
    visit.decided(0, 10).await;
    browser.view(laptop).await;
    browser.settle().await;
    assert_eq!(browser.value(CUT).await, json!([]));
    assert_eq!(browser.value(TOO_WIDE).await, json!([]));
    let said = browser.text(".intro").await;
    assert!(said.contains("A limiter ") && said.contains("A key"), "{said}");
    // Totals are requests, and levels are permits or tokens: the page says which.
    assert!(browser.text(".totals").await.starts_with("Requests:"));
    let texts = browser
        .value(
            "[...document.querySelectorAll('#side-0-drawing text')].map(text => text.textContent)",
        )
        .await;
    assert!(texts.as_array().unwrap().contains(&json!("permits used")), "{texts}");
    keep_picture(browser, "playground-laptop-light").await;
    visit.end().await;
}
