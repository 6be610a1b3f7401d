//! Shares of tenants, and classes of requests, in policies.

use std::sync::Arc;

use sluicegate_policy::PermitSource::{Assured, Borrowed};
use sluicegate_policy::{
    PermitSource, Policies, RedisStore, Registry, RemoteHandle, RemoteRefusal, ShareCounts,
};
use tokio::runtime::Handle;

use super::super::server::Server;
use crate::RedisConnector;

/// A limit of 100 for all: `acme` and `bell` have 20, and each of so many others has 10 and a ceiling of 25.
fn tenants(acme: u64, others: usize) -> String {
    format!(
        r#"
[limiters.a]
key = {{ header = "x-tenant" }}
policy = "shares"
limit = 100
rate = {{ amount = 10, interval = "10 days" }}
shares = [
    {{ tenants = ["acme", "bell"], assured = {{ limit = {acme}, rate = {{ amount = 1, interval = "10 days" }} }} }},
    {{ tenants = {others}, assured = {{ limit = 10, rate = {{ amount = 1, interval = "10 days" }} }}, ceiling = {{ limit = 25, rate = {{ amount = 2, interval = "10 days" }} }} }},
]
"#
    )
}

fn policies(text: &str) -> Policies {
    Policies::from_toml("limits.toml", text).unwrap()
}

fn registry(text: &str, store: &str) -> Registry {
    let connector = Arc::new(RedisConnector::new(Handle::current()));
    Registry::connected(policies(&format!("{text}store = {{ {store} }}\n")), connector).unwrap()
}

fn on(server: &Server) -> String {
    format!("redis = \"{}\", prefix = \"app\", time_limit = \"60 s\"", server.url())
}

/// Returns the source of the permits, or nothing if they are denied.
async fn take(handle: &RemoteHandle, tenant: &str, permits: u64) -> Option<PermitSource> {
    match handle.try_pass_with(tenant, permits).await {
        Ok(pass) => Some(pass.pass.source().expect("a source")),
        Err(RemoteRefusal::Denied { .. }) => None,
        Err(error) => panic!("{tenant}: {error}"),
    }
}

#[tokio::test]
async fn tenants_of_several_machines_are_told_whether_permits_are_assured_or_borrowed() {
    let server = Server::start();
    let machines = [(); 2].map(|()| registry(&tenants(20, 2), &on(&server)));
    let [one, other] = machines.each_ref().map(|machine| machine.remote("a").unwrap());
    // 60 are kept for the shares, so 40 can be lent.
    let look = one.peek("acme", 21).await.unwrap();
    assert_eq!((look.pass.source(), look.is_fallback), (Some(Borrowed), false));
    assert_eq!(take(&one, "acme", 20).await, Some(Assured));
    assert_eq!(take(&other, "acme", 15).await, Some(Borrowed));
    // What is left for loans: 100 - 35 - 60.
    assert_eq!(take(&one, "acme", 6).await, None);
    for tenant in ["x", "y"] {
        assert_eq!(take(&other, tenant, 10).await, Some(Assured));
    }
    assert_eq!(take(&other, "z", 1).await, None, "there are two places for others");
    assert_eq!(take(&other, "bell", 20).await, Some(Assured));
    let counts = machines.each_ref().map(|machine| machine.statistics()[0].shares);
    let counts = counts.map(|counts| {
        let ShareCounts { assured, borrowed, .. } = counts.unwrap();
        (assured, borrowed)
    });
    assert_eq!(counts, [(20, 0), (40, 15)]);

    let name = one.name_of("acme");
    assert!(name.starts_with("app:a:sh:{app:a}:assured:named:x-tenant:acme on redis://"), "{name}");
    let mut names: Vec<String> =
        redis::cmd("KEYS").arg("*").query(&mut server.connection()).unwrap();
    names.sort_unstable();
    let ends = [
        "",
        ":assured:named:x-tenant:acme",
        ":assured:named:x-tenant:bell",
        ":assured:others:x-tenant:x",
        ":assured:others:x-tenant:y",
        ":ceiling:others:x-tenant:x",
        ":ceiling:others:x-tenant:y",
        ":places:others",
    ];
    assert_eq!(names, ends.map(|end| format!("app:a:sh:{{app:a}}{end}")));
    one.reset("acme").await.unwrap();
    assert_eq!(take(&other, "acme", 20).await, Some(Assured));
}

#[tokio::test]
async fn a_reload_keeps_what_all_have_used_and_each_named_tenant() {
    let server = Server::start();
    let registry = registry(&tenants(20, 2), &on(&server));
    let handle = registry.remote("a").unwrap();
    assert_eq!(take(&handle, "acme", 15).await, Some(Assured));
    assert_eq!(take(&handle, "x", 10).await, Some(Assured));
    // Acme comes into a group of its own, and there are fewer places for others.
    let group = "{ tenants = [\"acme\", \"bell\"], assured = { limit = 20, rate = { amount = 1, interval = \"10 days\" } } },";
    let apart = format!(
        "{}{}",
        group.replace("\"acme\", ", ""),
        group.replace(", \"bell\"", "").replace("20", "30")
    );
    let text = tenants(20, 1).replace(group, &apart);
    let text = format!("{text}store = {{ {} }}\n", on(&server));
    let events = registry.reload(policies(&text)).unwrap();
    assert!(matches!(events[..], [sluicegate_policy::Event::Changed { .. }]), "{events:?}");
    let left = async |tenant: &str| handle.peek(tenant, 0).await.unwrap().pass.grant().remaining();
    assert_eq!([left("acme").await, left("bell").await, left("x").await], [5, 20, 0]);
    // 100 - 25 are left, of which a loan leaves 60.
    assert_eq!(take(&handle, "joe", 16).await, None);
    assert_eq!(take(&handle, "joe", 15).await, Some(Borrowed));
}

#[tokio::test]
async fn while_the_server_is_away_on_failure_answers_for_tenants_too() {
    let refused = async |on_failure: &str| {
        let mut server = Server::start();
        let store = format!("{}, pause = \"1 h\", on_failure = {on_failure}", on(&server));
        server.kill();
        registry(&tenants(20, 2), &store).remote("a").unwrap()
    };
    let closed = refused("\"closed\"").await;
    assert!(matches!(closed.try_pass("acme").await, Err(RemoteRefusal::Failed(_))));
    let open = refused("\"open\"").await;
    for _ in 0..9 {
        let pass = open.try_pass_with("acme", 40).await.unwrap();
        assert!(pass.is_fallback && pass.pass.source().is_none());
    }
    open.try_pass_with("acme", 41).await.unwrap_err();
    // A third of 100, of 20 and of 10.
    let share = refused("{ share = 3 }").await;
    assert_eq!(take(&share, "acme", 6).await, Some(Assured));
    for tenant in ["x", "y"] {
        assert_eq!(take(&share, tenant, 3).await, Some(Assured));
        assert!(share.peek(tenant, 1).await.unwrap().is_fallback);
    }
    // Of 33 taken 12, and 18 are kept for the shares.
    assert_eq!(take(&share, "z", 4).await, None);
    assert_eq!(take(&share, "z", 3).await, Some(Borrowed));
    assert_eq!(take(&share, "bell", 6).await, Some(Assured));
    // More machines than permits.
    let share = refused("{ share = 1000 }").await;
    for tenant in ["acme", "bell", "x", "y"] {
        assert_eq!(take(&share, tenant, 1).await, Some(Assured));
        assert_eq!(take(&share, tenant, 1).await, None);
    }
}

#[tokio::test]
async fn shares_and_priorities_are_on_the_server_of_all_and_have_no_leases() {
    let server = Server::start();
    let lease = Some(sluicegate_policy::Lease::of_processes(2));
    let store = RedisStore { lease, ..RedisStore::new(server.url()) };
    let connector = || Arc::new(RedisConnector::new(Handle::current()).by_default(store.clone()));
    let registry = Registry::connected(policies(&tenants(20, 2)), connector()).unwrap();
    assert!(registry.remote("a").unwrap().leases().is_none());
    let registry = Registry::connected(policies(CLASSES), connector()).unwrap();
    assert!(registry.remote("a").unwrap().leases().is_none());
}

/// A limit of 10, of which batches leave half and others two.
const CLASSES: &str = r#"
[limiters.a]
key = { header = "x-class" }
policy = "priorities"
limit = 10
rate = { amount = 1, interval = "10 days" }
classes = [
    { name = "critical", values = ["pay", "health"] },
    { name = "normal", reserve = 2 },
    { name = "batch", reserve_percent = 50 },
]
"#;

/// Returns what is left for the key after permits were taken, or nothing if they are denied.
async fn left_after(handle: &RemoteHandle, key: &str, permits: u64) -> Option<u64> {
    match handle.try_pass_with(key, permits).await {
        Ok(pass) => Some(pass.pass.grant().remaining()),
        Err(RemoteRefusal::Denied { .. }) => None,
        Err(error) => panic!("{key}: {error}"),
    }
}

#[tokio::test]
async fn classes_of_several_machines_leave_their_reserves_to_others() {
    let server = Server::start();
    let machines = [(); 2].map(|()| registry(CLASSES, &on(&server)));
    let [one, other] = machines.each_ref().map(|machine| machine.remote("a").unwrap());
    assert_eq!(one.peek("report", 5).await.unwrap().pass.grant().remaining(), 0);
    assert_eq!(left_after(&one, "report", 3).await, Some(2));
    assert_eq!(left_after(&other, "batch", 2).await, Some(0));
    assert_eq!(left_after(&one, "batch", 1).await, None);
    let large = other.try_pass_with("batch", 6).await.unwrap_err();
    assert!(large.to_string().contains("the limit of 5"), "{large}");
    assert_eq!(left_after(&other, "normal", 2).await, Some(1));
    assert_eq!(left_after(&one, "normal", 2).await, None);
    assert_eq!(left_after(&one, "pay", 3).await, Some(0));
    let counts = machines.each_ref().map(|machine| {
        let classes = machine.statistics().remove(0).classes;
        let counts = classes.into_iter().map(|class| (class.counts.permits, class.counts.denied));
        counts.collect::<Vec<_>>()
    });
    assert_eq!(counts, [[(3, 0), (0, 1), (3, 1)], [(0, 0), (2, 0), (2, 1)]]);

    let name = one.name_of("pay");
    assert!(name.starts_with("app:a:tb:{all} on redis://"), "{name}");
    let names: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut server.connection()).unwrap();
    assert_eq!(names, ["app:a:tb:{all}"]);
    one.reset("anything").await.unwrap();
    assert_eq!(left_after(&other, "batch", 5).await, Some(0));
    // Other reserves are in force at once, and what was used counts.
    let text = CLASSES.replace("reserve_percent = 50", "reserve = 4");
    let text = format!("{text}store = {{ {} }}\n", on(&server));
    let events = machines[0].reload(policies(&text)).unwrap();
    assert!(matches!(events[..], [sluicegate_policy::Event::Changed { .. }]), "{events:?}");
    assert_eq!(left_after(&one, "batch", 1).await, Some(0));
}

#[tokio::test]
async fn while_the_server_is_away_on_failure_answers_for_classes_too() {
    let refused = async |on_failure: &str| {
        let mut server = Server::start();
        let store = format!("{}, pause = \"1 h\", on_failure = {on_failure}", on(&server));
        server.kill();
        registry(CLASSES, &store).remote("a").unwrap()
    };
    let closed = refused("\"closed\"").await;
    assert!(matches!(closed.try_pass("pay").await, Err(RemoteRefusal::Failed(_))));
    let open = refused("\"open\"").await;
    for _ in 0..9 {
        assert!(open.try_pass_with("batch", 5).await.unwrap().is_fallback);
    }
    // A third of 10, of which batches leave two and others one.
    let share = refused("{ share = 3 }").await;
    assert_eq!(left_after(&share, "batch", 1).await, Some(0));
    assert_eq!(left_after(&share, "batch", 1).await, None);
    assert_eq!(left_after(&share, "normal", 1).await, Some(0));
    assert_eq!(left_after(&share, "pay", 1).await, Some(0));
    // More machines than permits: none of them leaves all that it has.
    let share = refused("{ share = 1000 }").await;
    assert_eq!(left_after(&share, "batch", 1).await, Some(0));
    assert_eq!(left_after(&share, "pay", 1).await, None);
}
