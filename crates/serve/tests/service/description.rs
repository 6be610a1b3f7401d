//! The description in `OpenAPI` tells what there is.

use serde_json::{Value, json};
use sluicegate_serve::{AdminToken, Bounds};

use super::running::{POLICY, Running, TOKEN, service_of};

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
            for status in ["413", "415", "503"] {
                assert!(!has_body || described.contains_key(status), "{verb} {path}: {status}");
            }
            for status in ["421", "431"] {
                assert!(described.contains_key(status), "{verb} {path}: {status}");
            }
            // A path that may change something.
            for status in ["403", "408"] {
                assert!(
                    verb != "post" || described.contains_key(status),
                    "{verb} {path}: {status}"
                );
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

/// Limiters of which one has penalties, and a level.
const MORE: &str = r#"
    [limiters.log-ins]
    key = "client"
    policy = "fixed_window"
    limit = 5
    interval = "1 day"
    penalty = { offences = 1, within = "1 day", refuse_for = "1 day" }
    [[hierarchy]]
    name = "org"
    key = "org"
    counts = "tokens"
    policy = "fixed_window"
    limit = 5
    interval = "1 day"
"#;

/// Returns the description without fields that it does not name.
fn strict(description: &Value) -> Value {
    let mut strict = description.clone();
    for component in strict["components"]["schemas"].as_object_mut().unwrap().values_mut() {
        if component["type"] == "object" {
            component["additionalProperties"] = json!(false);
        }
    }
    strict
}

/// Panics unless a value is as the schema of `content` says, in each of the descriptions.
fn assert_valid(value: &Value, content: &Value, descriptions: &[Value; 2]) {
    for description in descriptions {
        let mut schema = content["schema"].as_object().expect("a schema").clone();
        schema.insert("components".to_owned(), description["components"].clone());
        let validator = jsonschema::draft202012::new(&schema.into()).unwrap();
        let valid = validator.validate(value).map_err(|error| error.to_string());
        assert_eq!(valid, Ok(()), "{value}");
    }
}

#[tokio::test]
async fn each_answer_and_each_request_that_is_right_are_as_their_schemas_say() {
    let service = service_of(&format!("{POLICY}{MORE}")).admin(AdminToken::new(TOKEN).unwrap());
    let service = Running::start(service, Bounds::default()).await;
    let description: Value = service.get("/openapi.json").await.json().await.unwrap();
    let descriptions = [description.clone(), strict(&description)];
    let ada = json!({ "org": "ada" });
    let checks =
        json!([{ "limiter": "all", "cost": 0 }, { "limiter": "user", "key": "a", "cost": 99 }]);
    let cases = [
        ("/v1/check", json!({ "limiter": "all" }), 200),
        ("/v1/check", json!({ "limiter": "all", "cost": 5 }), 200),
        ("/v1/check", json!({ "limiter": "all", "cost": 6, "wait": 0.5 }), 200),
        ("/v1/check", json!({ "limiter": "counted", "key": "a", "cost": 2 }), 200),
        ("/v1/check", json!({ "limiter": "client", "key": ["a", "b"] }), 200),
        ("/v1/check", json!({ "limiter": "nobody" }), 404),
        ("/v1/peek", json!({ "limiter": "all" }), 200),
        ("/v1/peek", json!({ "limiter": "all", "key": "a" }), 400),
        ("/v1/check/batch", json!({ "checks": checks }), 200),
        ("/v1/check/batch", json!({ "checks": checks, "all_or_none": true }), 200),
        ("/v1/check/batch", json!({ "checks": vec![json!({ "limiter": "all" }); 1_001] }), 413),
        ("/v1/levels/check", json!({ "fields": ada, "amounts": { "tokens": 4 } }), 200),
        ("/v1/levels/peek", json!({ "fields": ada, "amounts": { "tokens": 4 } }), 200),
        ("/v1/levels/check", json!({ "fields": {} }), 400),
        ("/v1/levels/reset", json!({ "level": "org", "fields": ada }), 204),
        ("/v1/offence", json!({ "limiter": "log-ins", "key": "a", "status": 404 }), 200),
        ("/v1/offence", json!({ "limiter": "log-ins", "key": "a" }), 200),
        ("/v1/offence", json!({ "limiter": "all" }), 409),
        ("/v1/check", json!({ "limiter": "log-ins", "key": "a" }), 200),
        ("/v1/reset", json!({ "limiter": "log-ins", "key": "a" }), 204),
        ("/v1/reload", Value::Null, 409),
        ("/v1/limiters", Value::Null, 200),
        ("/v1/auth", Value::Null, 400),
    ];
    for (path, body, status) in cases {
        let (method, operation) =
            description["paths"][path].as_object().unwrap().iter().next().unwrap();
        let method = method.to_uppercase().parse().unwrap();
        let mut request = service.client.request(method, service.url(path)).bearer_auth(TOKEN);
        if !body.is_null() {
            let content = &operation["requestBody"]["content"]["application/json"];
            assert_valid(&body, content, &descriptions);
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{path}: {body}");
        let content = &operation["responses"][status.to_string()]["content"];
        let Some(media_type) = response.headers().get("content-type").cloned() else {
            assert!(content.is_null(), "{path}: {body}");
            continue;
        };
        let content = &content[media_type.to_str().unwrap()];
        assert_valid(&response.json().await.unwrap(), content, &descriptions);
    }
    service.end().await;
}

/// Whatever is wrong with a request, its status is described, and so is what it tells.
#[tokio::test]
async fn refusals_of_requests_to_any_path_are_described() {
    let service = Running::of(POLICY).await;
    let description: Value = service.get("/openapi.json").await.json().await.unwrap();
    let descriptions = [description.clone(), strict(&description)];
    let described = &description["paths"]["/v1/check"]["post"]["responses"];
    let names: Vec<String> = (0..150).map(|number| format!("x-{number}")).collect();
    let many = names.iter().map(|name| (&name[..], "z")).collect();
    let whole = r#"{"limiter":"all","cost":0}"#.to_owned();
    let cases = [
        (vec![("origin", "http://elsewhere.example")], whole.clone(), "403"),
        (Vec::new(), format!("{whole}{}", " ".repeat(1 << 20)), "413"),
        (vec![("host", "rebound.example")], whole.clone(), "421"),
        (many, whole, "431"),
    ];
    for (fields, body, status) in cases {
        let mut request = service.client.post(service.url("/v1/check")).body(body);
        request = request.header("content-type", "application/json");
        for (name, value) in fields {
            request = request.header(name, value);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_str(), status);
        let content = &described[status]["content"];
        let Some(media_type) = response.headers().get("content-type").cloned() else {
            assert!(described[status].is_object() && content.is_null(), "{status}");
            continue;
        };
        let content = &content[media_type.to_str().unwrap()];
        assert_valid(&response.json().await.unwrap(), content, &descriptions);
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
