//! Clusters, sentinels, users and passwords of policies.

use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluicegate_policy::{Lease, PasswordFrom, Policies, RedisStore, Registry};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Handle;

use crate::RedisConnector;
use crate::script::{RESET, SHARES};
use crate::tests::cluster::Nodes;
use crate::tests::failover::{Sentinel, pair};
use crate::tests::limits;
use crate::tests::server::{Server, free_port, wait_until};

/// Limiters of each script, each of ten permits for a key that come back after a day or more.
const POLICY: &str = r#"
limiters.smooth = { key = "user", policy = "token_bucket", limit = 10, rate = { amount = 1, interval = "1 day" } }
limiters.gcra = { key = "user", policy = "gcra", interval = "1 day", tolerance = "9 days" }
limiters.interval = { key = "user", policy = "token_bucket", limit = 10, refill = "interval", rate = { amount = 10, interval = "1 day" } }
limiters.fixed = { key = "user", policy = "fixed_window", limit = 10, interval = "36525 days" }
limiters.counter = { key = "user", policy = "sliding_counter", limit = 10, interval = "10 days" }
limiters.slots = { key = "user", policy = "sliding_window", limit = 10, interval = "1 day", slots = 24 }
limiters.log = { key = "user", policy = "sliding_log", limit = 10, interval = "1 day" }

# Of which nothing is ever lent.
[limiters.shares]
key = "user"
policy = "shares"
limit = 60
rate = { amount = 6, interval = "1 day" }
shares = [
    { tenants = ["user-0", "user-1"], assured = { limit = 10, rate = { amount = 1, interval = "1 day" } } },
    { tenants = 4, assured = { limit = 10, rate = { amount = 1, interval = "1 day" } } },
]
"#;

/// A limit of time that no machine is too busy for.
fn store(url: impl Into<String>) -> RedisStore {
    RedisStore { time_limit: Duration::from_secs(60), ..RedisStore::new(url) }
}

fn connected(store: RedisStore) -> (RedisConnector, Registry) {
    let connector = RedisConnector::new(Handle::current()).by_default(store);
    let policies = Policies::from_toml("limits.toml", POLICY).unwrap();
    let registry = Registry::connected(policies, Arc::new(connector.clone())).unwrap();
    (connector, registry)
}

/// Takes the permits of some keys of each limiter, and sees that there are no more until it is reset.
async fn use_all(registry: &Registry) {
    for name in registry.names() {
        let limiter = registry.remote(&name).unwrap();
        // Of several nodes of a cluster.
        for user in 0..6 {
            let user = format!("user-{user}");
            let mut granted = 0;
            loop {
                match limiter.try_pass(&user).await {
                    Ok(pass) => granted += u64::from(!pass.is_fallback),
                    Err(sluicegate_policy::RemoteRefusal::Denied { .. }) => break,
                    Err(error) => panic!("{name} of {user}: {error}"),
                }
            }
            assert_eq!(granted, 10, "{name} of {user}");
            limiter.reset(&user).await.unwrap();
            assert!(limiter.try_pass(&user).await.is_ok(), "{name} of {user}");
            limiter.reset(&user).await.unwrap();
        }
    }
}

async fn refused(store: RedisStore) -> String {
    connected(store).0.check().await.unwrap_err().to_string()
}

#[tokio::test]
async fn policies_are_kept_on_a_cluster_and_a_node_by_its_own_url_is_refused() {
    let nodes = Nodes::start();
    let ports = nodes.0.each_ref().map(Server::port);
    let url = format!("redis+cluster://127.0.0.1:{},127.0.0.1:{}", ports[0], ports[1]);
    let (connector, registry) = connected(store(&url));
    connector.check().await.unwrap();
    use_all(&registry).await;
    registry.probe_servers().await.unwrap();
    assert_eq!(registry.servers()[0].name, url);

    let error = refused(store(nodes.0[0].url())).await;
    let expected = format!(
        "redis://127.0.0.1:{port}/ is a node of a cluster: give it as redis+cluster://127.0.0.1:{port}",
        port = ports[0]
    );
    assert_eq!(error, expected);
    let server = Server::start();
    let error = refused(store(format!("redis+cluster://127.0.0.1:{}", server.port()))).await;
    let expected = format!("is not a cluster: give it as redis://127.0.0.1:{}/", server.port());
    assert!(error.ends_with(&expected), "{error}");
}

#[tokio::test]
async fn policies_are_kept_on_the_primary_that_sentinels_name() {
    let [primary, replica] = pair();
    let sentinel = Sentinel::start(&primary, 600_000);
    // Another sentinel is away.
    let (port, gone) = (sentinel.port(), free_port());
    let url = format!("redis+sentinel://127.0.0.1:{gone},127.0.0.1:{port}/app");
    let (connector, registry) = connected(store(&url));
    connector.check().await.unwrap();
    use_all(&registry).await;
    let error = refused(store(format!("redis://127.0.0.1:{port}/"))).await;
    let expected = format!("give it as redis+sentinel://127.0.0.1:{port}/NAME");
    assert!(error.contains(&expected), "{error}");
    drop(replica);
}

#[tokio::test]
async fn a_name_that_no_sentinel_knows_is_refused_and_that_of_a_primary_which_is_down_is_not() {
    let [mut primary, replica] = pair();
    let sentinel = Sentinel::start(&primary, 100);
    let (port, gone) = (sentinel.port(), free_port());
    let places = format!("redis+sentinel://127.0.0.1:{gone},127.0.0.1:{port}");
    let error = refused(store(format!("{places}/apq/1"))).await;
    let expected = format!(
        "{places}/apq/1 names the primary apq, which none of its sentinels knows; they know: app; give one of these as \
         {places}/NAME"
    );
    assert_eq!(error, expected);
    // There is no replica that could take over.
    drop(replica);
    primary.kill();
    wait_until("the sentinel takes the primary for down", || {
        let masters: Option<Vec<HashMap<String, String>>> = sentinel.ask(&["MASTERS"]);
        masters.is_some_and(|masters| masters[0]["flags"].contains("s_down"))
    });
    connected(store(format!("{places}/app"))).0.check().await.unwrap();
}

#[tokio::test]
async fn a_url_that_can_never_work_is_refused_and_not_taken_for_a_server_that_is_away() {
    let server = Server::start();
    let port = server.port();
    let error = refused(store(format!("redis+sentinel://127.0.0.1:{port}/app"))).await;
    let expected =
        format!("is not a sentinel: give an ordinary server as redis://127.0.0.1:{port}/");
    assert!(error.ends_with(&expected), "{error}");
    let error = refused(store(format!("{}99", server.url()))).await;
    assert!(error.starts_with(&format!("redis://127.0.0.1:{port}/99 does not let")), "{error}");
    assert!(error.contains("DB index is out of range"), "{error}");

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut sent = [0; 4_096];
            let _ = stream.read(&mut sent).await;
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            // Until the client ends, so that nothing unread resets the connection.
            tokio::spawn(async move { while let Ok(1..) = stream.read(&mut sent).await {} });
        }
    });
    let error = refused(store(format!("redis://127.0.0.1:{port}/"))).await;
    let expected = format!("redis://127.0.0.1:{port}/ does not answer in the protocol of Redis");
    assert!(error.starts_with(&expected), "{error}");
}

#[tokio::test]
async fn a_server_that_was_away_at_the_start_is_told_once_to_answer_again() {
    for is_asked in [false, true] {
        let mut server = Server::start();
        server.kill();
        let told = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&told);
        let connector = RedisConnector::new(Handle::current())
            .by_default(RedisStore { pause: Duration::from_millis(1), ..store(server.url()) })
            .on_change(move |_, change| into.lock().unwrap().push(change.to_string()));
        let policies = Policies::from_toml("limits.toml", POLICY).unwrap();
        let registry = Registry::connected(policies, Arc::new(connector.clone())).unwrap();
        let fixed = registry.remote("fixed").unwrap();
        if is_asked {
            fixed.try_pass("ada").await.unwrap_err();
        }
        server.restart();
        let checked = connector.check_later(server.url());
        tokio::time::timeout(Duration::from_secs(600), checked).await.expect("it is checked");
        for _ in 0..1_000 {
            let is_told = told.lock().unwrap().iter().any(|line| line == "answers again");
            if is_told && fixed.try_pass("ada").await.is_ok() {
                break;
            }
            let _ = fixed.try_pass("ada").await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let told = told.lock().unwrap();
        let again = told.iter().filter(|line| *line == "answers again").count();
        assert_eq!(again, 1, "{is_asked}: {told:?}");
    }
}

/// Returns the line of the documentation that makes a user, with a password.
fn documented_user(password: &str) -> String {
    let page = include_str!("../../../../../docs/serve.md");
    let line = page.lines().find(|line| line.starts_with("ACL SETUSER limits "));
    line.expect("a line that makes a user").replace("PASSWORD", password)
}

#[tokio::test]
async fn the_user_of_the_documentation_may_do_all_that_limiters_do_and_nothing_else() {
    let server = Server::start();
    let line = documented_user("s3cret");
    server.tell(&line);
    let url = format!("redis://limits:s3cret@127.0.0.1:{}/", server.port());
    let (connector, registry) = connected(store(&url));
    connector.check().await.unwrap();
    use_all(&registry).await;
    let lease = Some(Lease { expiry: Duration::from_secs(3_600), ..Lease::of_processes(1) });
    let (connector, registry) = connected(RedisStore { lease, ..store(&url) });
    connector.check().await.unwrap();
    let smooth = registry.remote("smooth").unwrap();
    assert!(smooth.leases().is_some(), "it has leases");
    for _ in 0..8 {
        smooth.try_pass("ada").await.unwrap();
    }
    connector.shutdown().await;
    let log: Vec<redis::Value> =
        redis::cmd("ACL").arg("LOG").query(&mut server.connection()).unwrap();
    let log = format!("{log:?}");
    assert!(!log.contains("\"command\"") || log.contains("ping"), "denied: {log}");

    // Each of them is needed.
    let mut needed: Vec<_> = limits().iter().flat_map(|limit| limit.script().commands()).collect();
    needed.extend(RESET.commands().into_iter().chain(SHARES.commands()));
    needed.sort_unstable();
    needed.dedup();
    let rights = line.split(' ').filter_map(|word| word.strip_prefix('+'));
    let mut rights: Vec<_> = rights.map(str::to_uppercase).collect();
    rights.retain(|right| !["EVAL", "EVALSHA"].contains(&right.as_str()));
    rights.sort_unstable();
    assert_eq!(rights, needed);
}

#[tokio::test]
async fn missing_rights_are_named_before_a_limiter_is_served() {
    let server = Server::start();
    let full = documented_user("s3cret");
    let url = format!("redis://limits:s3cret@127.0.0.1:{}/", server.port());
    server.tell(&full);
    server.tell("ACL SETUSER limits -zadd -pexpireat");
    let error = refused(store(&url)).await;
    assert!(error.ends_with("missing are: +pexpireat +zadd"), "{error}");
    assert!(!error.contains("s3cret"), "{error}");
    for right in full.split(' ').filter_map(|word| word.strip_prefix('+')) {
        server.tell(&full);
        server.tell(&format!("ACL SETUSER limits -{right}"));
        let result = connected(store(&url)).0.check().await;
        if right == "eval" {
            // The server knows the script by now.
            assert!(result.is_ok(), "{result:?}");
            continue;
        }
        let error = result.unwrap_err().to_string();
        assert!(error.contains(&format!("+{right}")), "{right}: {error}");
    }
    server.tell(&format!("{full} resetkeys ~other:*"));
    let error = refused(store(&url)).await;
    assert!(error.contains("~sluicegate:"), "{error}");
}

#[tokio::test]
async fn a_password_is_read_from_a_file_again_for_each_connection() {
    let server = Server::with_options(&["--requirepass", "first"]);
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("password");
    fs::write(&file, "first\n").unwrap();
    let of_file = || RedisStore {
        password: Some(PasswordFrom::File(file.clone())),
        pause: Duration::from_millis(1),
        ..store(format!("redis://127.0.0.1:{}/", server.port()))
    };
    for url in ["redis://", "redis://:wrong@"] {
        let error = refused(store(format!("{url}127.0.0.1:{}/", server.port()))).await;
        assert!(error.contains("does not take the user and the password"), "{error}");
        assert!(!error.contains("wrong@"), "{error}");
    }
    let (connector, registry) = connected(of_file());
    connector.check().await.unwrap();
    let fixed = registry.remote("fixed").unwrap();
    fixed.try_pass("ada").await.unwrap();
    // The password changes, and connections end.
    let client = redis::Client::open(format!("redis://:first@127.0.0.1:{}/", server.port()));
    let mut connection = client.unwrap().get_connection().unwrap();
    redis::cmd("CONFIG").arg(&["SET", "requirepass", "second"]).exec(&mut connection).unwrap();
    fs::write(&file, "second").unwrap();
    redis::cmd("CLIENT").arg(&["KILL", "TYPE", "normal"]).exec(&mut connection).unwrap();
    let back = async {
        while fixed.try_pass("ada").await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(600), back).await.expect("it connects again");
    let none = RedisStore { password: Some(PasswordFrom::File("/no/such".into())), ..of_file() };
    let connector = RedisConnector::new(Handle::current()).by_default(none);
    let policies = Policies::from_toml("limits.toml", POLICY).unwrap();
    let error = Registry::connected(policies, Arc::new(connector)).unwrap_err().to_string();
    assert!(error.contains("the password cannot be read: /no/such"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_away_at_the_start_is_told_and_checked_when_it_answers() {
    let mut server = Server::start();
    server.kill();
    let told = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&told);
    let connector = RedisConnector::new(Handle::current())
        .by_default(store(server.url()))
        .on_change(move |_, change| into.lock().unwrap().push(change.to_string()));
    let policies = Policies::from_toml("limits.toml", POLICY).unwrap();
    let _registry = Registry::connected(policies, Arc::new(connector.clone())).unwrap();
    connector.check().await.unwrap();
    let first = told.lock().unwrap()[0].clone();
    assert!(first.starts_with("gives no answer yet: cannot reach the server: "), "{first}");
    // What is there then wants a password.
    server.restart_with(&["--requirepass", "s3cret"]);
    let checked = async {
        while told.lock().unwrap().len() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(600), checked).await.expect("it is checked again");
    let then = told.lock().unwrap()[1].clone();
    assert!(then.starts_with("does not take the user and the password"), "{then}");
}
