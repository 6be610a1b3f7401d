//! Layers around layers: one response tells the limits of all.

use super::*;

fn layer(name: &str, quota: u64, version: FieldVersion) -> RateLimitLayer {
    let bucket =
        FixedWindow::new(sluicegate::Rate::new(quota, Duration::from_secs(86_400)).unwrap());
    let policy = QuotaPolicy::new(quota).per(Duration::from_secs(86_400)).named(name).unwrap();
    RateLimitLayer::new(Limit::of_all(bucket.unwrap()).policy(policy)).fields(version)
}

/// Returns the names of fields with those values, without what depends on the time of day.
async fn fields(app: Router, calls: usize) -> (u16, HeaderMap) {
    let server = serve(app).await;
    let client = client(false);
    let mut answer = None;
    for _ in 0..calls {
        answer = Some(send(&client, server, Method::GET, "/", &[]).await);
    }
    let answer = answer.unwrap();
    (answer.status.as_u16(), answer.headers)
}

fn remaining(headers: &HeaderMap) -> Vec<(Option<String>, u64)> {
    let fields = ResponseFields::parse(headers, std::time::SystemTime::now());
    let limits = fields.limits.iter();
    limits.map(|limit| (limit.name.as_deref().map(str::to_owned), limit.remaining)).collect()
}

#[tokio::test]
async fn the_policies_of_all_layers_are_told() {
    let eight = FieldVersion::Draft8;
    let app = || hello().layer(layer("route", 2, eight)).layer(layer("app", 9, eight));
    let (status, headers) = fields(app(), 1).await;
    let policy = r#""route";q=2;w=86400, "app";q=9;w=86400"#;
    assert_eq!((status, &headers["ratelimit-policy"]), (200, &value(policy)));
    let of = |name: &str, left| (Some(name.to_owned()), left);
    assert_eq!(remaining(&headers), [of("route", 1), of("app", 8)]);
    assert_eq!(headers.get_all("ratelimit").iter().count(), 1);

    // Refused by the inner layer: the outer one tells what it has left.
    let (status, headers) = fields(app(), 3).await;
    assert_eq!((status, remaining(&headers)), (429, vec![of("route", 0), of("app", 6)]));
    let wait: u64 = headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!(wait > 6);

    // Refused by the outer layer: the inner one was not asked.
    let app = hello().layer(layer("route", 9, eight)).layer(layer("app", 2, eight));
    let (status, headers) = fields(app, 3).await;
    assert_eq!((status, remaining(&headers)), (429, vec![of("app", 0)]));

    // Three deep, and a name twice: the stricter one is told.
    let app =
        hello().layer(layer("a", 5, eight)).layer(layer("b", 4, eight)).layer(layer("a", 3, eight));
    let (_, headers) = fields(app, 1).await;
    assert_eq!(remaining(&headers), [of("b", 3), of("a", 2)]);
    let policy = r#""b";q=4;w=86400, "a";q=3;w=86400"#;
    assert_eq!(headers["ratelimit-policy"], policy);
}

#[tokio::test]
async fn of_versions_that_tell_one_limit_the_stricter_one_is_told() {
    for version in [
        FieldVersion::Legacy(ResetAs::SecondsLeft),
        FieldVersion::Legacy(ResetAs::UnixTime),
        FieldVersion::Draft3,
        FieldVersion::Draft6,
        FieldVersion::Draft7,
    ] {
        for (inner, outer) in [(3, 9), (9, 3)] {
            let app =
                hello().layer(layer("in", inner, version)).layer(layer("out", outer, version));
            let (status, headers) = fields(app, 1).await;
            assert_eq!((status, remaining(&headers)), (200, vec![(None, 2)]), "{version:?}");
            let parsed = ResponseFields::parse(&headers, std::time::SystemTime::now());
            assert_eq!(parsed.limits[0].limit, Some(3), "{version:?}");
            let quotas: Vec<u64> = parsed.policies.iter().map(QuotaPolicy::quota).collect();
            let tells = if matches!(version, FieldVersion::Legacy(_)) {
                vec![]
            } else {
                vec![inner, outer]
            };
            assert_eq!(quotas, tells, "{version:?}");
        }
        // What refuses is told, whatever else is left: both have none.
        let app = hello().layer(layer("in", 2, version)).layer(layer("out", 3, version));
        let (status, headers) = fields(app, 3).await;
        assert_eq!((status, remaining(&headers)), (429, vec![(None, 0)]), "{version:?}");
        let parsed = ResponseFields::parse(&headers, std::time::SystemTime::now());
        assert_eq!(parsed.limits[0].limit, Some(2), "{version:?}");
    }
}

#[tokio::test]
async fn different_versions_stand_side_by_side_and_what_is_malformed_is_replaced() {
    let legacy = FieldVersion::Legacy(ResetAs::SecondsLeft);
    let eight = FieldVersion::Draft8;
    let app = hello().layer(layer("in", 3, legacy)).layer(layer("out", 9, eight));
    let (_, headers) = fields(app, 1).await;
    assert_eq!(headers["x-ratelimit-remaining"], "2");
    assert_eq!(remaining(&headers), [(Some("out".to_owned()), 8)]);
    for malformed in ["limit=5, remaining=4, reset=60", "\"a\";r=", "nonsense ü"] {
        let respond = move || async move {
            let malformed = HeaderValue::from_bytes(malformed.as_bytes()).unwrap();
            ([("ratelimit", malformed.clone()), ("ratelimit-policy", malformed)], "hello")
        };
        let app = Router::new().route("/", get(respond)).layer(layer("out", 9, eight));
        let (_, headers) = fields(app, 1).await;
        assert_eq!(remaining(&headers), [(Some("out".to_owned()), 8)], "{malformed}");
        assert_eq!(headers["ratelimit-policy"], r#""out";q=9;w=86400"#);
    }
}
