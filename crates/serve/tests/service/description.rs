//! The description in `OpenAPI` tells what there is.

use serde_json::{Value, json};

use super::running::{POLICY, Running};

#[tokio::test]
async fn every_path_of_the_description_is_there_and_no_other_is() {
    let service = Running::of(POLICY).await;
    let description: Value = service.get("/openapi.json").await.json().await.unwrap();
    assert_eq!(description["openapi"].as_str().unwrap().split('.').next(), Some("3"));
    let paths = description["paths"].as_object().unwrap();
    let names: Vec<&str> = paths.keys().map(String::as_str).collect();
    let known = [
        "/healthz",
        "/metrics",
        "/readyz",
        "/v1/auth",
        "/v1/check",
        "/v1/check/batch",
        "/v1/levels/check",
        "/v1/levels/peek",
        "/v1/levels/reset",
        "/v1/limiters",
        "/v1/offence",
        "/v1/peek",
        "/v1/reload",
        "/v1/reset",
    ];
    assert_eq!(names, known);
    let mut identifiers = std::collections::BTreeSet::new();
    for (path, verbs) in paths {
        for (verb, operation) in verbs.as_object().unwrap() {
            let method = verb.to_uppercase().parse().unwrap();
            let response = service.client.request(method, service.url(path)).send().await.unwrap();
            let status = response.status().as_u16();
            assert!(![404, 405].contains(&status), "{verb} {path}: {status}");
            // A status that it can have is described.
            let described = operation["responses"].as_object().unwrap();
            let is_described = described.contains_key(&status.to_string());
            assert!(is_described, "{verb} {path}: {status}");
            let has_body = operation.get("requestBody").is_some();
            for status in ["415", "503"] {
                assert!(!has_body || described.contains_key(status), "{verb} {path}");
            }
            let identifier = operation["operationId"].as_str().unwrap();
            assert!(identifiers.insert(identifier), "{identifier} is there twice");
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                assert_eq!(parameter["in"], "query", "{verb} {path}: {parameter}");
            }
        }
    }
    service.end().await;
}

#[tokio::test]
async fn the_fields_of_an_answer_are_those_of_its_schema() {
    let service = Running::of(POLICY).await;
    let description: Value = service.get("/openapi.json").await.json().await.unwrap();
    let schema = &description["components"]["schemas"]["Answer"]["properties"];
    for body in [
        json!({ "limiter": "all" }),
        json!({ "limiter": "all", "cost": 5 }),
        json!({ "limiter": "all", "cost": 6 }),
        json!({ "limiter": "counted", "key": "a", "cost": 2 }),
    ] {
        let answer = service.check(body).await;
        for (name, value) in answer.as_object().unwrap() {
            assert!(schema.get(name).is_some(), "{name}: {value}");
        }
    }
    service.end().await;
}

#[tokio::test]
async fn the_limiters_are_listed() {
    let service = Running::of(POLICY).await;
    let listed: Value = service.get("/v1/limiters").await.json().await.unwrap();
    let limiters = listed["limiters"].as_array().unwrap();
    let names: Vec<&Value> = limiters.iter().map(|limiter| &limiter["name"]).collect();
    assert_eq!(names, ["all", "client", "counted", "user"]);
    assert_eq!(limiters[0]["key"], json!([]));
    assert_eq!(limiters[1]["key"], json!(["client", "path"]));
    assert_eq!((&limiters[2]["shadow"], &limiters[3]["shadow"]), (&json!(true), &json!(false)));
    assert!(limiters[0]["kind"].as_str().unwrap().contains('5'));
    service.end().await;
}
