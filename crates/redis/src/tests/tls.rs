//! A server by TLS, whose certificate this test makes.

use std::process::Command;
use std::sync::Arc;

use redis::TlsCertificates;
use sluicegate::quota;
use sluicegate_policy::{Policies, Registry};
use tempfile::TempDir;
use tokio::runtime::Handle;

use super::server::{Server, free_port};
use crate::{Async, KeySpace, RedisConnector, RedisLimit, RedisLimiter};

/// The variable that tells the second process of a test the URL of the server.
const URL: &str = "SLUICEGATE_TEST_URL";

/// Makes a certificate, and one that it signs, in a new folder.
fn certificates() -> TempDir {
    let folder = TempDir::new().unwrap();
    let openssl = |arguments: &str| {
        let status = Command::new("openssl")
            .args(arguments.split(' '))
            .current_dir(folder.path())
            .output()
            .unwrap_or_else(|error| panic!("cannot run openssl: {error}; run ci/setup.sh base"));
        assert!(status.status.success(), "{status:?}");
    };
    let request =
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost";
    openssl(&format!(
        "{request} -addext basicConstraints=critical,CA:TRUE -keyout ca.key -out ca.crt"
    ));
    openssl(
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
         -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout server.key -out server.csr",
    );
    openssl(
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -days 2 -copy_extensions copy -out server.crt",
    );
    folder
}

/// Starts a server by TLS, and returns its URL, and the certificate by which it is known.
fn server() -> (Server, String, Vec<u8>) {
    let folder = certificates();
    let root = std::fs::read(folder.path().join("ca.crt")).unwrap();
    let port = free_port().to_string();
    let files = ["--tls-cert-file", "server.crt", "--tls-key-file", "server.key"];
    let others = ["--tls-ca-cert-file", "ca.crt", "--tls-auth-clients", "no"];
    let options = [&["--tls-port", &port], &files[..], &others[..]].concat();
    (Server::in_folder(folder, &options), format!("rediss://localhost:{port}/"), root)
}

#[tokio::test]
async fn a_limit_is_kept_by_tls_and_a_stranger_is_not_believed() {
    let (_server, url, root) = server();
    let known = TlsCertificates { client_tls: None, root_cert: Some(root) };
    let client = redis::Client::build_with_tls(url.as_str(), known).unwrap();
    let limit = RedisLimit::token_bucket(quota!(10 / 10 days)).unwrap();
    let limiter = RedisLimiter::new(limit, KeySpace::new("app").unwrap(), Async::new(client));
    assert_eq!(limiter.try_acquire("ada", 4).await.unwrap().remaining(), 6);
    assert_eq!(limiter.peek("ada", 0).await.unwrap().remaining(), 6);
    let stranger = redis::Client::open(url).unwrap();
    assert!(stranger.get_multiplexed_async_connection().await.is_err());
}

#[test]
fn a_policy_names_a_server_by_tls_and_a_file_its_certificate() {
    let (_server, url, root) = server();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), root).unwrap();
    // The file is named by a variable of the process, so another one runs that test.
    let is_granted = |trusts: bool| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "tests::tls::second_process", "--ignored"]).env(URL, &url);
        if trusts {
            command.env("SSL_CERT_FILE", file.path());
        } else {
            command.env_remove("SSL_CERT_FILE");
        }
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("running 1 test"), "{text}");
        output.status.success()
    };
    assert!(is_granted(true));
    assert!(!is_granted(false), "the system does not trust it");
}

#[tokio::test]
#[ignore = "the second process of another test"]
async fn second_process() {
    let url = std::env::var(URL).expect("the other test starts this one");
    let text = format!(
        r#"
        [limiters.api]
        policy = "fixed_window"
        limit = 10
        interval = "36525 days"
        store = {{ redis = "{url}", time_limit = "20 s" }}
        "#
    );
    let policies = Policies::from_toml("limits.toml", &text).unwrap();
    let connector = RedisConnector::new(Handle::current());
    let registry = Registry::connected(policies, Arc::new(connector)).unwrap();
    registry.remote("api").unwrap().try_pass("ada").await.unwrap();
}
