//! Counts of a layer's decisions: they are what the clients were told.

use super::*;

fn refusals(counts: &LayerCounts) -> Vec<(&str, &str, u64)> {
    let refusals = counts.refusals.iter();
    refusals.map(|own| (own.limit.as_str(), own.reason, own.count)).collect()
}

#[tokio::test]
async fn decisions_are_counted_by_limit_and_reason() {
    let clock = clock();
    let policy = |name| QuotaPolicy::new(2).named(name).unwrap();
    let two = two(&clock);
    let layer = RateLimitLayer::all_of([
        per_client(&clock).policy(policy("client")),
        Limit::of_all(Arc::clone(&two)).policy(policy("all")),
    ]);
    let layer = layer.unwrap().skip_preflight().skip(|parts| parts.uri.path() == "/health");
    let server = Server::new(layer.clone());
    let mut health = request("192.0.2.9");
    *health.uri_mut() = "/health".parse().unwrap();
    assert_eq!(server.status(health).await, 200);
    for (peer, status) in [("192.0.2.1", 200), ("192.0.2.1", 200), ("192.0.2.2", 429), ("", 500)] {
        assert_eq!(server.status(request(peer)).await, status);
    }
    two.reset();
    assert_eq!(server.status(request("192.0.2.1")).await, 429);
    let counts = layer.counts();
    assert_eq!((counts.passed, counts.refused, counts.skipped, counts.would_refuse), (2, 3, 1, 0));
    let expected = [("client", "rate", 1), ("client", "unknown_client", 1), ("all", "rate", 1)];
    assert_eq!(refusals(&counts), expected);
}

#[tokio::test]
async fn a_shadow_counts_what_it_would_refuse_and_a_clone_of_before_counts_for_itself() {
    let strict = RateLimitLayer::new(Limit::of_all(two(&clock())));
    let server = Server::new(strict.clone().shadow());
    for _ in 0..5 {
        assert_eq!(server.status(request("192.0.2.1")).await, 200);
    }
    let counts = server.layer.counts();
    assert_eq!((counts.passed, counts.refused, counts.would_refuse), (2, 0, 3));
    assert_eq!(refusals(&counts), [("0", "rate", 3)]);
    assert_eq!(strict.counts(), LayerCounts::default());
}

#[tokio::test]
async fn a_request_that_waits_is_counted_when_it_is_decided() {
    let bucket = Arc::new(TokenBucket::new(quota!(50 / second, burst 1)));
    let layer = RateLimitLayer::new(Limit::of_all(WaitUpTo::new(bucket, Duration::from_secs(60))));
    let server = Server::new(layer.clone());
    for _ in 0..4 {
        assert_eq!(server.status(request("192.0.2.1")).await, 200);
    }
    assert_eq!((layer.counts().passed, layer.counts().refused), (4, 0));
}

/// A hundred thousand requests of four threads.
#[test]
fn the_counts_of_many_threads_are_what_clients_were_told() {
    const EACH: u64 = 25_000;
    let clock = clock();
    let layer = RateLimitLayer::new(per_client(&clock));
    let passed: u64 = std::thread::scope(|scope| {
        let send = |thread: u64| {
            let (layer, clock) = (layer.clone(), Arc::clone(&clock));
            move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                let server = Server::new(layer);
                runtime.block_on(async {
                    for call in 0..EACH {
                        if call % 100 == 0 {
                            clock.advance(Duration::from_secs(1));
                        }
                        server
                            .status(request(["192.0.2.1", "192.0.2.2"][(thread % 2) as usize]))
                            .await;
                    }
                });
                server.calls() as u64
            }
        };
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(send(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let counts = layer.counts();
    assert!(passed > 0 && passed < 4 * EACH);
    assert_eq!((counts.passed, counts.refused), (passed, 4 * EACH - passed));
    assert_eq!(refusals(&counts), [("0", "rate", counts.refused)]);
}
