//! The pages of `sluicegate replay --html` and `suggest --html` in a browser: three sizes and two schemes of colours, without
//! scripts, by keyboard, and printed.

use serde_json::{Value, json};
use sluicegate_browser_tests::{Browser, Pages, Scheme, View};

use super::{SCHEMES, keep_picture};

/// Elements that stand out of the page to the right, but for those that can be scrolled by themselves.
const TOO_WIDE: &str = "[...document.querySelectorAll('body *')]
    .filter(e => !e.closest('pre, .skip') && e.getBoundingClientRect().right > innerWidth + 0.5)
    .map(e => e.outerHTML.slice(0, 160))";

/// Texts of plots that lie over each other or outside of their plot, or are too small to be read.
const BAD_LABELS: &str = "[...document.querySelectorAll('svg')].flatMap(svg => {
    const box = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')]
        .map(text => ({ text: text.textContent.trim(), at: text.getBoundingClientRect() }));
    const outside = texts.filter(({ at }) => at.left < box.left - 1 || at.right > box.right + 1
        || at.top < box.top - 1 || at.bottom > box.bottom + 1).map(({ text }) => 'outside: ' + text);
    const over = texts.flatMap((one, i) => texts.slice(i + 1)
        .filter(two => one.at.left < two.at.right && two.at.left < one.at.right
            && one.at.top < two.at.bottom && two.at.top < one.at.bottom)
        .map(two => 'overlap: ' + one.text + ' and ' + two.text));
    const small = texts.filter(({ at }) => at.height < 10).map(({ text }) => 'small: ' + text);
    const where = svg.closest('section').querySelector('h2').textContent;
    return [...outside, ...over, ...small].map(bad => where + ': ' + bad);
})";

/// The least contrast of the texts of plots and of their marks with the page. (axe looks at the text
/// of the page only.)
const CONTRASTS: &str = "(() => {
    const rgb = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
    const light = colour => {
        const [r, g, b] = rgb(colour).map(c => c / 255)
            .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const page = light(getComputedStyle(document.body).backgroundColor);
    const contrast = e => {
        const l = light(getComputedStyle(e).fill);
        return (Math.max(l, page) + 0.05) / (Math.min(l, page) + 0.05);
    };
    const least = selector => Math.min(...[...document.querySelectorAll(selector)].map(contrast));
    return { text: least('figure svg text'), marks: least('figure svg rect, figure svg polygon'), page };
})()";

/// Returns the text of the page as it is seen.
const TEXT: &str = "document.body.innerText";

async fn none(browser: &Browser, found: &str, of: &str) {
    assert_eq!(browser.value(found).await, json!([]), "{of}");
}

#[tokio::test]
async fn pages_fit_every_screen_in_both_schemes_and_everybody_can_use_them() {
    let (browser, pages) = (Browser::take().await, Pages::shared());
    for (name, path) in pages.all() {
        for view in View::ALL {
            for scheme in SCHEMES {
                let of = format!("{name}-{}-{}", view.name, scheme.name());
                browser.show(path, view, scheme).await;
                browser.settle().await;
                let width = browser.value("document.documentElement.scrollWidth").await;
                assert_eq!(width, json!(view.width), "{of}");
                none(&browser, TOO_WIDE, &of).await;
                none(&browser, BAD_LABELS, &of).await;
                if name != "empty" {
                    let contrasts = browser.value(CONTRASTS).await;
                    let of_kind = |kind: &str| contrasts[kind].as_f64().unwrap();
                    assert!(of_kind("text") >= 4.5 && of_kind("marks") >= 3.0, "{of}: {contrasts}");
                    assert_eq!(of_kind("page") < 0.1, scheme == Scheme::Dark, "{of}: {contrasts}");
                }
                assert_eq!(browser.violations().await, Vec::<String>::new(), "{of}");
                assert_eq!(browser.console().await, Vec::<Value>::new(), "{of}");
                assert_eq!(browser.value("window.hacked").await, Value::Null, "{of}");
                keep_picture(&browser, &of).await;
            }
        }
    }
    browser.give_back();
}

#[tokio::test]
async fn a_page_needs_no_script() {
    let (browser, pages) = (Browser::take().await, Pages::shared());
    let [phone, ..] = View::ALL;
    browser.show(&pages.sample, phone, Scheme::Light).await;
    let with = browser.value(TEXT).await;
    browser.allow_scripts(false).await;
    browser.show(&pages.sample, phone, Scheme::Light).await;
    let without = browser.value(TEXT).await;
    browser.allow_scripts(true).await;
    assert_eq!(with, without);
    let text = without.as_str().unwrap();
    for part in [
        "Replay of 22,492 requests",
        "22,492 judged, 0 skipped, 1,924 late",
        "sluicegate replay --policy policy.toml",
        "burst-and-day",
        "Most denied keys",
        "127.0.0.50",
        "go over the limit of 60 requests",
        "policy.toml, as it was read",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert_eq!(browser.console().await, Vec::<Value>::new());
    browser.give_back();
}

/// Returns the position and the words of the first line, the limit that is marked, and the keys that are.
const CHOSEN: &str = "(() => {
    const section = document.querySelector('.suggestion'), $ = name => section.querySelector(name);
    const point = $('.points [aria-current]');
    const wrong = [...section.querySelectorAll('.keys tbody tr')].filter(key =>
        key.classList.contains('hit') !== Number(key.dataset.needs) > Number(point.dataset.limit));
    return { place: Number($('input').value), x: $('.chosen').getAttribute('x1') === point.dataset.x,
        says: $('.says').textContent === point.dataset.says, wrong: wrong.length,
        count: section.querySelectorAll('.points [aria-current]').length };
})()";

#[tokio::test]
async fn the_line_of_suggested_limits_is_moved_by_keyboard_and_by_a_click() {
    let (browser, pages) = (Browser::take().await, Pages::shared());
    let [.., desktop] = View::ALL;
    browser.show(&pages.suggested, desktop, Scheme::Light).await;
    let seen = async |place: &Value| {
        let expected = json!({ "place": place, "x": true, "says": true, "wrong": 0, "count": 1 });
        assert_eq!(browser.value(CHOSEN).await, expected);
    };
    let start = browser.value(CHOSEN).await["place"].clone();
    seen(&start).await;
    browser.value("document.querySelector('.suggestion input').focus()").await;
    browser.press("Home").await;
    seen(&json!(0)).await;
    browser.press("ArrowRight").await;
    seen(&json!(1)).await;
    browser.value("document.querySelector('.points tbody tr').click()").await;
    seen(&json!(0)).await;
    browser.give_back();
}

#[tokio::test]
async fn a_keyboard_reaches_everything_and_is_seen_to() {
    let (browser, pages) = (Browser::take().await, Pages::shared());
    let [.., desktop] = View::ALL;
    browser.show(&pages.sample, desktop, Scheme::Dark).await;
    let focused = "(() => {
        const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
        return { text: e.textContent.trim(), outline: style.outlineStyle + ' ' + style.outlineWidth,
                 is_seen: box.width > 0 && box.left >= 0 && box.top > -1 && box.bottom < innerHeight + 1 };
    })()";
    let count = browser.value("document.querySelectorAll('a, summary').length").await;
    let mut texts = Vec::new();
    for _ in 0..count.as_u64().unwrap() {
        browser.press_tab().await;
        let found = browser.value(focused).await;
        assert_eq!(found["outline"], json!("solid 3px"), "{found}");
        assert_eq!(found["is_seen"], json!(true), "{found}");
        texts.push(found["text"].as_str().unwrap().to_owned());
    }
    assert_eq!(texts[0], "Skip to the results");
    assert_eq!(texts.last().unwrap(), "policy.toml, as it was read");
    assert_eq!(texts.iter().filter(|text| *text == "per-client").count(), 2);
    browser.give_back();
}

#[tokio::test]
async fn a_page_is_printed_dark_on_light_and_whole() {
    let (browser, pages) = (Browser::take().await, Pages::shared());
    let paper = View { name: "paper", width: 700, height: 1000 };
    browser.show(&pages.sample, paper, Scheme::Dark).await;
    browser.prefer(Scheme::Dark, "print").await;
    let contrasts = browser.value(CONTRASTS).await;
    assert!(contrasts["page"].as_f64().unwrap() > 0.9, "{contrasts}");
    assert!(contrasts["text"].as_f64().unwrap() >= 4.5, "{contrasts}");
    none(&browser, TOO_WIDE, "paper").await;
    assert_eq!(browser.value("document.querySelector('nav').offsetHeight").await, json!(0));
    let height =
        browser.value("document.querySelector('pre').getBoundingClientRect().height").await;
    assert!(
        height.as_f64().unwrap() > 1000.0,
        "the policy is printed though it is folded: {height}"
    );
    browser.give_back();
}
