//! A server that ends or hangs, and comes back.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_server_is_gone_the_policy_answers_and_says_so() {
    for (on_failure, expected) in [
        (OnFailure::Closed, ["denied"; 3]),
        (OnFailure::Open, ["granted"; 3]),
        // A third of the limit of 3.
        (OnFailure::Share { machines: 3 }, ["granted", "denied", "denied"]),
    ] {
        let mut server = Server::start();
        let service = service_on(&server, POLICY, on_failure).await;
        assert_eq!(service.check(ask("ip", "a")).await["remaining"], 2);
        server.kill();
        let is_closed = on_failure == OnFailure::Closed;
        for expected in expected {
            let (status, answer) = service.post("/v1/check", &ask("ip", "a")).await;
            assert_eq!(status, if is_closed { 503 } else { 200 }, "{on_failure:?}: {answer}");
            assert_eq!(answer["decision"], expected, "{on_failure:?}: {answer}");
            assert_eq!(answer["fallback"], true, "{answer}");
            let reason = if is_closed { "unavailable" } else { "rate" };
            assert!(expected == "granted" || answer["reason"] == reason, "{answer}");
        }
        let auth = service.client.get(service.url("/v1/auth?limiters=global"));
        let auth = auth.header("x-forwarded-for", "192.0.2.7").send().await.unwrap();
        assert_eq!(auth.status(), if is_closed { 503 } else { 204 }, "{on_failure:?}");
        assert_eq!(auth.headers().contains_key("retry-after"), is_closed);
        // The status of a denial is for denials only: to a proxy, this is a service that is gone.
        let auth = service.client.get(service.url("/v1/auth?limiters=global&denied=403"));
        let auth = auth.header("x-forwarded-for", "192.0.2.7").send().await.unwrap();
        assert_eq!(auth.status(), if is_closed { 503 } else { 204 }, "{on_failure:?}");
        let reset = service.post_as_admin("/v1/reset", &ask("ip", "a")).await;
        assert_eq!(reset.status(), 503);

        server.restart();
        // The breaker leaves it alone for a while.
        let back = async {
            while service.post("/v1/check", &ask("ip", "b")).await.1.get("fallback").is_some() {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        let back = tokio::time::timeout(std::time::Duration::from_secs(600), back).await;
        assert!(back.is_ok(), "{on_failure:?}: it is never asked again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_or_hangs_is_told_by_logs_metrics_and_readiness() {
    for (hangs, reason) in [(false, "unreachable"), (true, "timed_out")] {
        let mut server = Server::start();
        let url = server.url();
        let pause = Duration::from_millis(200);
        let time_limit = Duration::from_secs(if hangs { 2 } else { 60 });
        let store = RedisStore { pause, time_limit, ..RedisStore::new(&url) };
        let (sender, changes) = std::sync::mpsc::channel();
        let connector = RedisConnector::new(Handle::current())
            .by_default(store)
            .on_change(move |name, change| drop(sender.send(format!("{name} {change}"))));
        let here = "policy = \"fixed_window\"\nlimit = 1\ninterval = \"1 s\"\nmax_keys = 9";
        let policy = format!("{POLICY}\n[limiters.here]\n{here}\n");
        let policies = Policies::from_toml("limits.toml", &policy).unwrap();
        let registry = Registry::connected(policies, Arc::new(connector)).unwrap().counted();
        let service = Service::new(Limiters::new(registry)).ready_needs_servers();
        let service = Running::start(service, Bounds::default()).await;
        let ready = async || service.get("/readyz").await.status();
        let page = async || service.get("/metrics").await.text().await.unwrap();
        let limiters: Value = service.get("/v1/limiters").await.json().await.unwrap();
        let limiters = limiters["limiters"].as_array().unwrap();
        for limiter in limiters {
            assert_eq!(limiter["shared"], limiter["name"] != "here", "{limiter}");
            assert_eq!(limiter["leased"], false, "{limiter}");
        }

        assert_eq!(ready().await, 200);
        while changes.try_recv().is_ok() {}
        if hangs {
            server.stop();
        } else {
            server.kill();
        }
        for _ in 0..3 {
            let response = service.client.post(service.url("/v1/check")).json(&ask("ip", "a"));
            let response = response.send().await.unwrap();
            assert_eq!(response.status(), 503);
            assert_eq!(response.headers()["retry-after"], "1");
            let answer: Value = response.json().await.unwrap();
            assert_eq!(answer["reason"], "unavailable", "{answer}");
        }
        assert_eq!(ready().await, 503);
        let left = changes.recv_timeout(Duration::from_secs(600)).unwrap();
        let why = if hangs { "the server did not answer in time" } else { "" };
        assert!(left.starts_with(&format!("{url} is left alone: {why}")), "{left}");
        let told = page().await;
        let is_open = format!("sluicegate_redis_breaker_open{{server=\"{url}\"}} 1.0");
        let refused = "sluicegate_fallbacks_total{limiter=\"ip\",answer=\"refused\"} 3";
        for line in [&*is_open, refused] {
            assert!(told.lines().any(|told| told == line), "no {line} in {told}");
        }
        // A connection that breaks is another reason of the first failure.
        let failures = told.lines().filter(|line| {
            line.starts_with("sluicegate_redis_failures_total") && !line.ends_with(" 0")
        });
        let failures: Vec<_> = failures.collect();
        let is_so = |line: &&str| line.contains(reason) || line.contains("disconnected");
        assert!(!failures.is_empty() && failures.iter().all(is_so), "{failures:?}");

        if hangs {
            server.go_on();
        } else {
            server.restart();
        }
        let back = async {
            // Each answer lets some more requests pass.
            while ready().await != 200 || page().await.contains(&is_open) {
                service.post("/v1/check", &ask("ip", "b")).await;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let back = tokio::time::timeout(Duration::from_secs(600), back).await;
        assert!(back.is_ok(), "it is never ready");
        let again = changes.recv_timeout(Duration::from_secs(600)).unwrap();
        assert_eq!(again, format!("{url} answers again"));
    }
}
