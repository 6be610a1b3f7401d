//! Scenarios: the one for who comes first, and all of them with their captions.

use serde_json::Value;

use super::{Visit, totals};

/// The verdicts of the time line on two sides.
const VERDICTS: &str = "(texts => texts.length == 2 && texts)([...document.querySelectorAll('#timeline .verdict')].map(v => v.textContent))";

/// Returns the list that a route of the playground gives.
async fn list(visit: &Visit, name: &str) -> Vec<Value> {
    visit.browser.value(&format!("window.list = null, fetch('/playground/{name}').then(r => r.json()).then(l => window.list = l), 1")).await;
    visit.browser.until("window.list").await.as_array().unwrap().clone()
}

#[tokio::test]
async fn a_stranger_sees_a_fixed_window_let_through_twice_its_limit_and_a_sliding_one_not() {
    let visit = Visit::to("").await;
    let browser = &visit.browser;
    let scenarios = list(&visit, "scenarios").await;
    let scenario = scenarios.iter().find(|scenario| scenario["id"] == "edge_burst").unwrap();
    assert_eq!(browser.text("#caption-heading").await, scenario["name"].as_str().unwrap());
    assert_eq!(browser.text("#watch").await, scenario["watch"].as_str().unwrap());
    // Two at once: side by side, over the same requests.
    let over =
        browser.until("document.querySelector('#timeline .verdict.over')?.textContent").await;
    assert!(over.as_str().unwrap().contains(": 10, limit 5"), "{over}");
    let verdicts = browser.until(VERDICTS).await;
    assert_eq!(verdicts[0], over);
    assert!(verdicts[1].as_str().unwrap().contains(": 5, limit 5"), "{verdicts}");
    let [fixed, sliding] = [0, 1].map(totals);
    let totals = browser.until(&format!("({fixed})[0] >= 10 && [{fixed}, {sliding}]")).await;
    assert_eq!((&totals[0][0], &totals[0][1]), (&10.into(), &0.into()), "{totals}");
    assert_eq!((&totals[1][0], &totals[1][1]), (&5.into(), &5.into()), "{totals}");
    // Later grants, in other windows, do not add to it.
    browser.until(&format!("({fixed})[0] == 12 && ({sliding})[0] == 7")).await;
    browser.settle().await;
    assert_eq!(browser.value(VERDICTS).await, verdicts);
    visit.end().await;
}

#[tokio::test]
async fn each_scenario_is_played_to_its_end_with_its_captions() {
    let visit = Visit::to("").await;
    let browser = &visit.browser;
    for scenario in list(&visit, "scenarios").await {
        let id = scenario["id"].as_str().unwrap();
        browser.click(&format!("#scenario-{id}")).await;
        browser
            .until(&format!("document.getElementById('scenario-{id}').ariaPressed == 'true'"))
            .await;
        assert_eq!(browser.text("#watch").await, scenario["watch"].as_str().unwrap(), "{id}");
        assert_eq!(browser.value("location.hash").await, format!("#scenario={id}"));
        let chosen =
            browser.value("[...document.querySelectorAll('.algorithm')].map(a => a.value)").await;
        for (side, setup) in scenario["setup"]["sides"].as_array().unwrap().iter().enumerate() {
            assert_eq!(chosen[side], setup["algorithm"], "{id}");
        }
        browser.click("#speed input[value='10']").await;
        let mut captions = scenario["actions"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|action| action["say"].as_str());
        let last = serde_json::to_string(captions.next_back().unwrap()).unwrap();
        browser.until(&format!("document.getElementById('say').textContent == {last}")).await;
        let granted = browser.value(&format!("[{}, {}]", totals(0), totals(1))).await;
        for side in [0, 1] {
            assert!(granted[side][0].as_u64().unwrap() > 0, "{id}: {granted}");
        }
        let kinds = browser.value("['A', 'B'].map((_, side) => document.querySelectorAll(`#decisions td:nth-child(${5 + side}).outcome`).length)").await;
        assert!(kinds[0].as_u64() > Some(0) && kinds[1].as_u64() > Some(0), "{id}: {kinds}");
    }
    visit.end().await;
}
