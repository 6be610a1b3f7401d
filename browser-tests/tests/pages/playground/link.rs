//! The link that reproduces a set-up.

use serde_json::json;

use super::{BUCKET, Visit};

#[tokio::test]
async fn every_set_up_survives_its_link() {
    let visit = Visit::to(BUCKET).await;
    let browser = &visit.browser;
    // For each algorithm on both sides, with odd values.
    let script = "(async () => {
        const { fromFragment, toFragment } = await import('/link.js');
        const catalogue = await (await fetch('/playground/algorithms')).json();
        const lost = [];
        for (const one of catalogue) for (const two of [null, ...catalogue]) {
            const side = ({ id, parameters }, more) => ({ algorithm: id, per_key: false, ...more,
                parameters: Object.fromEntries(parameters.map((p, i) => [p.id, p.minimum + i + 0.125])) });
            const setup = { sides: [side(one, { wait: 0.5 }), ...(two ? [side(two, { per_key: true })] : [])], speed: 0.1, seed: 7 };
            const streams = [{ key: 'a,b & \"é\"', cost: 3, per_second: 0.25, spacing: 'random', hold: 1.5 },
                { key: '#', cost: 1, per_second: 100, spacing: 'even' }];
            const found = fromFragment('#' + toFragment({ setup, streams }), catalogue);
            const same = (a, b) => a === b || (typeof a == 'object' && typeof b == 'object'
                && Object.keys({ ...a, ...b }).every(key => same(a[key], b[key])));
            if (!same(found, { setup, streams })) lost.push([setup, streams, found]);
        }
        const none = ['', '#', '#a=nonsense', '#%', '#stream=,', '#b=%zz'].map(text => fromFragment(text, catalogue));
        window.found = { lost, none };
    })().catch(error => window.found = String(error)), 1";
    browser.value(script).await;
    let found = browser.until("window.found").await;
    assert_eq!(found, json!({ "lost": [], "none": [null, null, null, null, null, null] }));
    visit.end().await;
}

#[tokio::test]
async fn a_copied_link_shows_the_same_set_up_to_somebody_else() {
    let visit = Visit::to(BUCKET).await;
    let browser = &visit.browser;
    browser.allow_clipboard(&visit.server.origin()).await;
    browser.click("#add-side").await;
    browser.fill("#side-0-burst", "17").await;
    browser.click("#side-0-per_key").await;
    browser.fill("#side-0-wait", "12.5").await;
    browser.click("#speed input[value='10']").await;
    browser.fill("#per-second", "2").await;
    browser.click("#start-stream").await;
    browser.until("['a.burst=17', 'a.wait=12.5', 'a.per_key=1', '&b=', 'speed=10', 'stream='].every(part => location.hash.includes(part))").await;
    // The button says so for a moment only.
    let watch = "(button => new MutationObserver(() => window.copied ||= button.textContent.startsWith('Copied'))
        .observe(button, { subtree: true, characterData: true, childList: true }))(document.getElementById('copy-link')), 1";
    browser.value(watch).await;
    browser.click("#copy-link").await;
    browser.until("window.copied").await;
    browser.value("navigator.clipboard.readText().then(text => window.link = text), 1").await;
    let link = browser.until("window.link").await;
    let link = link.as_str().unwrap();
    assert_eq!(browser.value("location.href").await, json!(link));
    let shown = "[...document.querySelectorAll('.algorithm, .parameters input, #speed input')].map(i => [i.id, i.checked ?? null, i.value])
        .concat([...document.querySelectorAll('#streams span')].map(s => s.textContent))";
    let before = browser.value(shown).await;
    visit.open(&link[link.find('#').unwrap()..]).await;
    visit.live().await;
    browser.until("document.querySelectorAll('#streams li').length == 1").await;
    assert_eq!(browser.value(shown).await, before);
    assert_eq!(browser.text("#caption-heading").await, "Your own set-up");
    // A link that is pasted over another one is followed without a reload.
    browser.value("location.hash = '#a=sliding_log&a.limit=2&a.window=3600'").await;
    browser.until("document.querySelectorAll('.side').length == 1 && document.querySelector('.algorithm').value == 'sliding_log'").await;
    visit.decided(0, 0).await;
    browser.click("#send-burst").await;
    assert_eq!(visit.decided(0, 10).await, [2, 8, 0]);
    // So is that of a scenario.
    browser.value("location.hash = '#scenario=greedy_tenant'").await;
    browser.until("document.getElementById('scenario-greedy_tenant').ariaPressed == 'true'").await;
    browser.until("document.querySelectorAll('.side').length == 2").await;
    visit.end().await;
}
