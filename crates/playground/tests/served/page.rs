//! The page, and what its forms are built from.

use reqwest::Client;
use reqwest::header::IF_NONE_MATCH;
use serde_json::{Value, json};

use super::running::Running;

#[tokio::test]
async fn the_page_is_one_of_files_of_this_server_and_says_so() {
    let running = Running::start().await;
    for (path, media_type) in [
        ("/", "text/html; charset=utf-8"),
        ("/style.css", "text/css; charset=utf-8"),
        ("/main.js", "text/javascript; charset=utf-8"),
        ("/draw/bucket.js", "text/javascript; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
    ] {
        let response = running.get(path).await;
        assert_eq!(response.status(), 200, "{path}");
        let fields = response.headers().clone();
        assert_eq!(fields["content-type"], media_type, "{path}");
        assert!(
            fields["content-security-policy"].to_str().unwrap().starts_with("default-src 'self';")
        );
        assert_eq!(fields["x-content-type-options"], "nosniff");
        // The same file is not sent again.
        let url = format!("http://{}{path}", running.address);
        let known = format!("\"other\", W/{}", fields["etag"].to_str().unwrap());
        let again = Client::new().get(&url).header(IF_NONE_MATCH, known).send().await.unwrap();
        assert_eq!((again.status().as_u16(), &again.headers()["etag"]), (304, &fields["etag"]));
        let other =
            Client::new().get(&url).header(IF_NONE_MATCH, "\"other\"").send().await.unwrap();
        assert_eq!(other.status(), 200);
    }
    assert_eq!(running.get("/no-such-file.js").await.status(), 404);
}

#[tokio::test]
async fn a_form_of_every_algorithm_makes_a_session_with_its_defaults() {
    let running = Running::start().await;
    let algorithms: Value = running.get("/playground/algorithms").await.json().await.unwrap();
    let algorithms = algorithms.as_array().unwrap();
    assert!(!algorithms.is_empty());
    for algorithm in algorithms {
        let parameters = algorithm["parameters"].as_array().unwrap();
        let defaults = parameters.iter().map(|parameter| {
            let id = parameter["id"].as_str().unwrap().to_owned();
            (id, parameter["default"].clone())
        });
        let defaults = Value::Object(defaults.collect());
        let side = json!({ "algorithm": algorithm["id"], "parameters": defaults });
        let session = running.session(json!([side])).await;
        let frame = running.events(&session).await.next().await.unwrap();
        let state = serde_json::to_value(&frame.sides[0].states[0].state).unwrap();
        assert!(state["kind"].is_string(), "{state}");
    }
}

#[tokio::test]
async fn every_scenario_can_be_played() {
    let running = Running::start().await;
    let session = running.session(json!([{ "algorithm": "gcra" }])).await;
    let scenarios: Value = running.get("/playground/scenarios").await.json().await.unwrap();
    for scenario in scenarios.as_array().unwrap() {
        let mut events = running.events(&session).await;
        let path = format!("{session}/scenario");
        let body = json!({ "id": scenario["id"] });
        let (status, played) = running.answer(reqwest::Method::POST, &path, &body).await;
        assert_eq!(status, 200);
        let sides = played["setup"]["sides"].as_array().unwrap();
        assert_eq!(sides[1]["algorithm"], scenario["setup"]["sides"][1]["algorithm"]);
        let id = scenario["id"].as_str().unwrap();
        let frame = events
            .find(|frame| {
                frame.scenario.as_ref().is_some_and(|playing| playing.id == id && playing.step > 0)
            })
            .await;
        assert_eq!(frame.scenario.unwrap().say, scenario["actions"][0]["say"].as_str().unwrap());
    }
}
