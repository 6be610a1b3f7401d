//! Limiters that all keys have in common: answers tell the source of a tenant's permits, or the class.

use serde_json::{Value, json};
use sluicegate_serve::{AdminToken, Bounds};

use super::running::{Running, TOKEN, service_of};

const POLICY: &str = r#"
[limiters.tenants]
key = { header = "x-tenant" }
policy = "shares"
limit = 20
rate = { amount = 3, interval = "1 day" }
shares = [
    { tenants = ["acme"], assured = { limit = 6, rate = { amount = 1, interval = "1 day" } } },
    { tenants = 2, assured = { limit = 2, rate = { amount = 1, interval = "1 day" } } },
]

[limiters.classes]
key = { header = "x-class" }
policy = "priorities"
limit = 10
rate = { amount = 1, interval = "1 day" }
classes = [{ name = "critical", values = "pay" }, { name = "batch", reserve_percent = 50 }]

[limiters.penalties]
key = { header = "x-tenant" }
policy = "shares"
limit = 20
rate = { amount = 3, interval = "1 day" }
shares = [{ tenants = "acme", assured = { limit = 6, rate = { amount = 1, interval = "1 day" } } }]
penalty = { offences = 1, within = "1 hour", refuse_for = "1 hour" }
"#;

fn ask(limiter: &str, key: &str, cost: u64) -> Value {
    json!({ "limiter": limiter, "key": key, "cost": cost })
}

#[tokio::test]
async fn an_answer_tells_whether_permits_are_assured_or_borrowed() {
    let service = Running::of(POLICY).await;
    let check = async |key, cost| service.check(ask("tenants", key, cost)).await;
    let peeked = service.post("/v1/peek", &ask("tenants", "acme", 7)).await.1;
    assert_eq!((&peeked["decision"], &peeked["share"]), (&json!("granted"), &json!("borrowed")));
    let own = check("acme", 6).await;
    assert_eq!(
        (&own["share"], &own["remaining"], &own["class"]),
        (&json!("assured"), &json!(0), &json!(null))
    );
    // 14 are left, of which 10 are kept.
    assert_eq!(check("acme", 4).await["share"], "borrowed");
    let denied = check("acme", 1).await;
    assert_eq!(
        (&denied["decision"], &denied["share"], &denied["reason"]),
        (&json!("denied"), &json!(null), &json!("rate"))
    );
    assert_eq!(check("made up", 2).await["share"], "assured");
    assert_eq!(check("", 2).await["reason"], "missing_key");

    let page = service.get("/metrics").await.text().await.unwrap();
    for line in [
        "sluicegate_share_permits_total{limiter=\"tenants\",source=\"assured\"} 8",
        "sluicegate_share_permits_total{limiter=\"tenants\",source=\"borrowed\"} 4",
        "sluicegate_granted_permits_total{limiter=\"tenants\"} 12",
        "sluicegate_keys{limiter=\"tenants\"} 2",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
}

#[tokio::test]
async fn an_answer_names_the_class_of_its_key() {
    let service = Running::of(POLICY).await;
    let check = async |key, cost| service.check(ask("classes", key, cost)).await;
    let granted = check("report", 5).await;
    assert_eq!((&granted["class"], &granted["decision"]), (&json!("batch"), &json!("granted")));
    let denied = check("critical", 1).await;
    assert_eq!(
        (&denied["class"], &denied["decision"]),
        (&json!("batch"), &json!("denied")),
        "no key of that class"
    );
    assert_eq!(check("pay", 5).await["class"], "critical");
    assert_eq!(check("pay", 1).await["decision"], "denied");

    let page = service.get("/metrics").await.text().await.unwrap();
    for line in [
        "sluicegate_class_permits_total{limiter=\"classes\",class=\"critical\"} 5",
        "sluicegate_class_permits_total{limiter=\"classes\",class=\"batch\"} 5",
        "sluicegate_class_denials_total{limiter=\"classes\",class=\"batch\"} 1",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
}

#[tokio::test]
async fn a_batch_takes_the_permits_of_several_classes_or_none() {
    let service = Running::of(POLICY).await;
    let both = json!({
        "checks": [ask("classes", "pay", 4), ask("classes", "batch", 2)],
        "all_or_none": true,
    });
    let (_, answer) = service.post("/v1/check/batch", &both).await;
    assert_eq!((&answer["decision"], &answer["which"]), (&json!("denied"), &json!(1)));
    assert_eq!(
        service.check(ask("classes", "pay", 10)).await["decision"],
        "granted",
        "nothing was taken"
    );
    let page = service.get("/metrics").await.text().await.unwrap();
    for line in [
        "sluicegate_denials_total{limiter=\"classes\",reason=\"rate\"} 0\n",
        "sluicegate_denials_total{limiter=\"classes\",reason=\"too_large\"} 1\n",
        "sluicegate_class_denials_total{limiter=\"classes\",class=\"critical\"} 0\n",
        "sluicegate_class_denials_total{limiter=\"classes\",class=\"batch\"} 1\n",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    let tenants = json!({
        "checks": [ask("tenants", "acme", 6), ask("tenants", "ada", 2)],
        "all_or_none": true,
    });
    let (_, answer) = service.post("/v1/check/batch", &tenants).await;
    assert_eq!(answer["decision"], "granted");
    assert!(answer["answers"].as_array().unwrap().iter().all(|own| own["share"] == "assured"));
}

#[tokio::test]
async fn a_batch_is_lent_what_there_is_for_all_of_its_tenants_or_takes_nothing() {
    let service = Running::of(POLICY).await;
    let batch = async |checks: &[(&str, u64)]| {
        let checks: Vec<Value> =
            checks.iter().map(|(key, cost)| ask("tenants", key, *cost)).collect();
        let body = json!({ "all_or_none": true, "checks": checks });
        service.post("/v1/check/batch", &body).await.1
    };
    let told = |answer: &Value, place: usize| {
        let own = &answer["answers"][place];
        (own["decision"].clone(), own["reason"].clone(), own["share"].clone())
    };
    let (granted, denied, none) = (json!("granted"), json!("denied"), Value::Null);
    // 10 are lent to all, each of which is within that.
    let answer = batch(&[("acme", 8), ("ada", 8)]).await;
    assert_eq!((&answer["decision"], &answer["which"]), (&denied, &json!(1)));
    assert_eq!(told(&answer, 0), (granted.clone(), none.clone(), json!("borrowed")));
    assert_eq!(told(&answer, 1), (denied.clone(), json!("too_large"), none.clone()));
    assert_eq!(answer["answers"][1]["limit"], 10);
    // What is taken of a share is not lent either.
    let answer = batch(&[("acme", 6), ("ada", 10)]).await;
    assert_eq!((&answer["decision"], &answer["which"]), (&denied, &json!(1)));
    let page = service.get("/metrics").await.text().await.unwrap();
    assert!(page.contains("sluicegate_granted_permits_total{limiter=\"tenants\"} 0\n"), "{page}");

    assert_eq!(service.check(ask("tenants", "acme", 7)).await["share"], "borrowed");
    let answer = batch(&[("ada", 2), ("bob", 3)]).await;
    assert_eq!(told(&answer, 1), (denied.clone(), json!("rate"), none.clone()));
    assert!(answer["answers"][1]["retry_after"].is_number());
    // Not for the sum of a tenant, of which each part comes from where it comes from by itself.
    let answer = batch(&[("ada", 3), ("ada", 2), ("acme", 5), ("acme", 1), ("bob", 2)]).await;
    assert_eq!(answer["decision"], "granted", "{answer}");
    let shares = (0..5).map(|place| told(&answer, place).2);
    let shares: Vec<Value> = shares.collect();
    assert_eq!(shares, ["borrowed", "assured", "assured", "assured", "assured"]);
    assert_eq!(told(&batch(&[("bob", 1)]).await, 0).0, denied);
}

#[tokio::test]
async fn a_share_is_never_made_full_and_a_penalty_of_its_tenant_ends() {
    let token = AdminToken::new(TOKEN).unwrap();
    let service = Running::start(service_of(POLICY).admin(token), Bounds::default()).await;
    let reset = async |limiter: &str, key: &str| {
        let body = json!({ "limiter": limiter, "key": key });
        let response = service.post_as_admin("/v1/reset", &body).await;
        (response.status().as_u16(), response.text().await.unwrap())
    };
    service.check(ask("tenants", "acme", 6)).await;
    let (status, problem) = reset("tenants", "acme").await;
    assert!(status == 409 && problem.contains("none of them is made full"), "{problem}");
    service.check(ask("classes", "pay", 10)).await;
    assert_eq!(reset("classes", "batch").await.0, 204);
    assert_eq!(service.check(ask("classes", "pay", 10)).await["decision"], "granted");

    service.check(ask("penalties", "acme", 100)).await;
    assert_eq!(service.check(ask("penalties", "acme", 1)).await["reason"], "penalized");
    assert_eq!(reset("penalties", "acme").await.0, 204);
    assert_eq!(service.check(ask("penalties", "acme", 1)).await["share"], "assured");
}
