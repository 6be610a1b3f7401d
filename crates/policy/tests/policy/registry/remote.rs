//! Limiters on a server: the registry knows their names, and a connector makes them. Here the server is a
//! limiter of this process; the tests of `sluicegate-redis` have a real one.

use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use sluicegate::Keyed;
use sluicegate_policy::{
    ConnectError, Connector, Kind, LeaseStatistics, LimiterPolicy, RedisStore, RemoteAnswer,
    RemoteFailure, RemoteFuture, RemoteLimits, RemoteRefusal, RemoteVerb, ServerStatistics,
};

use super::*;

/// Returns the output of a future that waits for nothing.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

/// A server, which has failed if it is told so.
#[derive(Default)]
struct FakeServer {
    connected: Mutex<Vec<String>>,
}

struct FakeLimits {
    keys: Keyed<String>,
    place: String,
    has_failed: bool,
}

fn fake_statistics() -> ServerStatistics {
    ServerStatistics {
        name: "fake".to_owned(),
        is_answering: true,
        answered: 1,
        failures: vec![("timed_out", 2)],
        skipped: 3,
        opened: 4,
    }
}

impl Connector for FakeServer {
    fn servers(&self) -> Vec<ServerStatistics> {
        vec![fake_statistics()]
    }

    fn probe(&self) -> RemoteFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn connect(
        &self,
        policy: &LimiterPolicy,
    ) -> Result<Option<Arc<dyn RemoteLimits>>, ConnectError> {
        let Some(store) = &policy.redis else { return Ok(None) };
        self.connected.lock().unwrap().push(policy.name.clone());
        match &policy.kind {
            Kind::TokenBucket { quota, .. } => {
                let has_failed = store.url.contains("failed");
                let keys = Keyed::new(*quota);
                Ok(Some(Arc::new(FakeLimits { keys, place: store.prefix.clone(), has_failed })))
            }
            kind => Err(ConnectError(format!("no {kind} here"))),
        }
    }
}

impl RemoteLimits for FakeLimits {
    fn decide<'a>(
        &'a self,
        verb: RemoteVerb,
        key: &'a str,
        permits: u64,
    ) -> RemoteFuture<'a, RemoteAnswer> {
        Box::pin(async move {
            if self.has_failed {
                return Err(RemoteFailure::Unavailable("it has failed".to_owned()));
            }
            let answer = match verb {
                RemoteVerb::Take => self.keys.try_acquire(key, permits),
                RemoteVerb::Peek => self.keys.peek(key, permits),
            };
            Ok(RemoteAnswer { answer, source: None, is_fallback: key == "fallen" })
        })
    }

    fn reset<'a>(&'a self, key: &'a str) -> RemoteFuture<'a, ()> {
        self.keys.remove(key);
        Box::pin(async { Ok(()) })
    }

    fn places(&self) -> Vec<String> {
        vec![self.place.clone()]
    }

    fn leases(&self) -> Option<LeaseStatistics> {
        None
    }

    fn held(&self, _: &str) -> Option<u64> {
        None
    }

    fn name_of(&self, key: &str) -> String {
        format!("a:{{{key}}} on fake")
    }
}

fn shared(limit: u64, server: &str, fields: &str) -> String {
    let rate = "rate = { amount = 1, interval = \"1 day\" }";
    let store = format!("store = {{ redis = \"redis://{server}/\" }}");
    format!(
        "[limiters.a]\nkey = \"user\"\npolicy = \"token_bucket\"\nlimit = {limit}\n{rate}\n{store}\n{fields}\n"
    )
}

fn connected(text: &str) -> Registry {
    Registry::connected(policies(text), Arc::new(FakeServer::default())).unwrap()
}

#[test]
fn a_limiter_on_a_server_needs_a_connector_and_has_a_handle_of_its_own() {
    let text = shared(2, "up", "cost = 2");
    let error = Registry::new(policies(&text)).unwrap_err();
    assert!(error.to_string().starts_with("limiter \"a\": `store` names a server"), "{error}");

    let registry =
        connected(&format!("{text}\n{}", one(BUCKET).replace("limiters.a", "limiters.b")));
    assert_eq!(registry.names(), ["a", "b"]);
    let error = registry.keyed("a").unwrap_err();
    assert_eq!(error.to_string(), "limiter \"a\" is kept on a server: use `remote`");
    assert!(matches!(registry.remote("b"), Err(RegistryError::IsNotRemote { .. })));
    assert!(registry.limiter("b").is_ok());

    let handle = registry.remote("a").unwrap();
    assert!(handle.has_keys());
    assert_eq!(now(handle.peek("ada", 1)).unwrap().pass.grant().remaining(), 1);
    assert_eq!(now(handle.try_pass("ada")).unwrap().pass.grant().remaining(), 0);
    let refused = now(handle.try_pass_with("ada", 1)).unwrap_err();
    assert!(matches!(refused, RemoteRefusal::Denied { is_fallback: false, .. }));
    assert!(now(handle.try_pass("fallen")).unwrap().is_fallback);
    now(handle.reset("ada")).unwrap();
    assert!(now(handle.try_pass("ada")).is_ok());

    now(handle.try_pass("fallen")).unwrap_err();
    let [a, b] = &registry.statistics()[..] else { panic!("two limiters") };
    assert_eq!(a.fallbacks.map(|counts| [counts.granted, counts.denied]), Some([1, 1]));
    assert_eq!((b.fallbacks, handle.name_of("ada")), (None, "a:{ada} on fake".to_owned()));
    assert_eq!(registry.servers(), [fake_statistics()]);
    now(registry.probe_servers()).unwrap();
}

#[test]
fn a_reload_reaches_handles_and_a_mistake_changes_nothing() {
    let registry = connected(&shared(2, "up", ""));
    let handle = registry.remote("a").unwrap();
    let events = registry.reload(policies(&shared(5, "up", ""))).unwrap();
    assert_eq!(words(&events), ["changed a"]);
    assert_eq!(now(handle.peek("ada", 0)).unwrap().pass.grant().limit(), 5);
    assert!(registry.reload(policies(&shared(5, "up", ""))).unwrap().is_empty());

    let window = "[limiters.a]\npolicy = \"fixed_window\"\nlimit = 5\ninterval = \"1 s\"\nstore = { redis = \"redis://up/\" }\n";
    let error = registry.reload(policies(window)).unwrap_err();
    assert!(matches!(&*error, ReloadError::Connect { name, .. } if name == "a"), "{error}");
    assert_eq!(now(handle.peek("ada", 0)).unwrap().pass.grant().limit(), 5);

    // Into the memory of the process, and back.
    let local = |fields| {
        let text = shared(3, "up", fields);
        policies(&text.replace("store = { redis = \"redis://up/\" }\n", ""))
    };
    assert!(starts_full(registry.reload(local(""))));
    assert_eq!(words(&registry.reload(local("reset = true")).unwrap()), ["replaced a"]);
    assert_eq!(registry.keyed("a").unwrap().peek("ada", 0).unwrap().limit(), 3);
    assert!(starts_full(registry.reload(policies(&shared(2, "up", "")))));
    let back = policies(&shared(2, "up", "reset = true"));
    assert_eq!(words(&registry.reload(back).unwrap()), ["replaced a"]);
    assert!(registry.remote("a").is_ok() && registry.keyed("a").is_err());
}

fn starts_full(outcome: Result<Vec<Event>, Arc<ReloadError>>) -> bool {
    matches!(outcome, Err(error) if matches!(&*error, ReloadError::StartsFull { name } if name == "a"))
}

#[test]
fn keys_on_a_server_start_full_only_if_the_policy_lets_them() {
    let registry = connected(&shared(2, "up", ""));
    let handle = registry.remote("a").unwrap();
    now(handle.try_pass_with("ada", 2)).unwrap();
    let elsewhere = |fields| {
        let text = shared(2, "up", fields);
        policies(&text.replace("\"redis://up/\"", "\"redis://up/\", prefix = \"other\""))
    };
    assert!(starts_full(registry.reload(elsewhere("cost = 2"))));
    assert_eq!(handle.policy().redis.as_ref().unwrap().prefix, RedisStore::PREFIX);
    assert!(now(handle.try_pass("ada")).is_err());
    let events = registry.reload(elsewhere("reset = true")).unwrap();
    assert_eq!(words(&events), ["replaced a"]);
    assert!(now(handle.try_pass("ada")).is_ok());
    // Other fields of a key make other keys, in memory too.
    let other_key = shared(2, "up", "").replace("key = \"user\"", "key = \"path\"");
    assert_eq!(words(&registry.reload(policies(&other_key)).unwrap()), ["replaced a"]);
}

#[test]
fn a_server_that_fails_refuses_unless_the_policy_only_counts() {
    let registry = connected(&shared(2, "failed", ""));
    let handle = registry.remote("a").unwrap();
    let refused = now(handle.try_pass("ada")).unwrap_err();
    let text = "the server of the limit gives no answer: it has failed";
    assert_eq!(refused.to_string(), text);
    let counts = |registry: &Registry| {
        let counts = registry.statistics()[0].fallbacks.unwrap();
        [counts.refused, counts.granted, counts.denied]
    };
    now(handle.peek("ada", 1)).unwrap_err();
    assert_eq!(counts(&registry), [1, 0, 0], "a look is no request");
    let registry = connected(&shared(2, "failed", "shadow = true"));
    let shadow = registry.remote("a").unwrap();
    let pass = now(shadow.try_pass("ada")).unwrap();
    assert!(pass.is_fallback && !pass.pass.would_deny());
    assert_eq!(counts(&registry), [0, 1, 0]);

    let shadow = connected(&shared(2, "up", "shadow = true")).remote("a").unwrap();
    assert!(now(shadow.try_pass_with("ada", 3)).unwrap().pass.would_deny());
    assert_eq!(shadow.shadow_counts().would_deny, 1);
}

#[test]
fn answers_are_counted_if_the_registry_counts() {
    let registry = connected(&shared(2, "up", "")).counted();
    let handle = registry.remote("a").unwrap();
    (0..5).for_each(|_| _ = now(handle.try_pass("ada")));
    let [statistics] = &registry.statistics()[..] else { panic!() };
    assert_eq!((statistics.counts.unwrap().granted, statistics.denials.unwrap().rate), (2, 3));
}
