//! The layer behind real proxies: nginx, `HAProxy`, Caddy and Apache httpd, each in front of an axum server. Clients have
//! addresses of their own on loopback, and pretend to be others.
//!
//! `ci/setup.sh proxies` installs them.

use std::net::IpAddr;

#[path = "proxies/configured.rs"]
mod configured;

use self::configured::{apache, caddy, haproxy, nginx};
use super::*;

/// The fields that a client may use to look like another one.
const PRETENCES: [&[(&str, &str)]; 7] = [
    &[],
    &[("x-forwarded-for", "198.51.100.66")],
    &[("x-forwarded-for", "198.51.100.67"), ("x-forwarded-for", "127.0.0.1")],
    &[("x-forwarded-for", "127.0.0.1, 198.51.100.68, 127.0.0.1")],
    &[("x-forwarded-for", "junk, \"")],
    &[("forwarded", "for=198.51.100.69")],
    &[("x-real-ip", "198.51.100.70"), ("cf-connecting-ip", "198.51.100.70")],
];

/// A server that limits each client to two requests to `/`, and tells the fields that reach it at `/seen`.
async fn limited(addresses: ClientAddress) -> SocketAddr {
    let limit = RateLimitLayer::new(per_client().addresses(addresses));
    let seen = |headers: HeaderMap| async move {
        let lines = headers.iter().filter(|(name, _)| name.as_str().contains("forwarded"));
        let lines = lines.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
        lines.collect::<Vec<_>>().join("\n")
    };
    serve(hello().layer(limit).route("/seen", get(seen))).await
}

/// A client whose connections come from this address of loopback.
fn client_at(address: &str) -> Client<HttpConnector, Body> {
    let mut connector = HttpConnector::new();
    connector.set_local_address(Some(address.parse::<IpAddr>().unwrap()));
    Client::builder(TokioExecutor::new()).build(connector)
}

/// Checks that each client has one limit, whatever it pretends, whether it goes through the proxy or past
/// it.
async fn assert_keeps_clients_apart(proxy: SocketAddr, server: SocketAddr) {
    for address in ["127.0.0.2", "127.0.0.3"] {
        let client = client_at(address);
        let mut passed = 0;
        for pretence in PRETENCES {
            let answer = send(&client, proxy, Method::GET, "/", pretence).await;
            passed += u32::from(answer.status == 200);
            assert!(
                answer.status == 200 || answer.status == 429,
                "{pretence:?}: {}",
                answer.status
            );
        }
        assert_eq!(passed, 2, "{address} through the proxy");
        let past = send(&client, server, Method::GET, "/", PRETENCES[1]).await;
        assert_eq!(past.status, 429, "{address} past the proxy");
    }
    // What clients past the proxy pretend is not believed, and costs no other client anything.
    let client = client_at("127.0.0.4");
    for expected in [200, 200, 429] {
        let pretence = [("x-forwarded-for", "127.0.0.5"), ("forwarded", "for=127.0.0.5")];
        let answer = send(&client, server, Method::GET, "/", &pretence).await;
        assert_eq!(answer.status, expected);
    }
    let answer = send(&client_at("127.0.0.5"), proxy, Method::GET, "/", &[]).await;
    assert_eq!(answer.status, 200);
}

/// Returns the fields that reach the server when a client sends these.
async fn seen(proxy: SocketAddr, fields: &[(&str, &str)]) -> String {
    let answer = send(&client_at("127.0.0.2"), proxy, Method::GET, "/seen", fields).await;
    String::from_utf8(answer.body).unwrap()
}

/// The proxies connect from there, and no client does.
fn proxies() -> Trust {
    Trust::networks(["127.0.0.1"]).unwrap()
}

#[tokio::test]
async fn nginx_adds_the_client_to_x_forwarded_for() {
    let server = limited(ClientAddress::x_forwarded_for(proxies())).await;
    let fields = "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;";
    let proxy = nginx(fields, server);
    assert_keeps_clients_apart(proxy.address, server).await;
    let xff = "x-forwarded-for";
    assert_eq!(seen(proxy.address, &[]).await, "x-forwarded-for: 127.0.0.2");
    let two = seen(proxy.address, &[(xff, "1.1.1.1"), (xff, "2.2.2.2")]).await;
    assert_eq!(two, "x-forwarded-for: 1.1.1.1, 2.2.2.2, 127.0.0.2");
}

#[tokio::test]
async fn nginx_writes_the_client_into_a_field_of_its_own() {
    let name = http::HeaderName::from_static("x-real-ip");
    let server = limited(ClientAddress::header(name, proxies())).await;
    let proxy = nginx("proxy_set_header X-Real-IP $remote_addr;", server);
    assert_keeps_clients_apart(proxy.address, server).await;
}

/// Without a line about the field, nginx sends what the client has sent, and nothing else.
#[tokio::test]
async fn nginx_that_is_not_configured_is_noticed() {
    let server = limited(ClientAddress::x_forwarded_for(proxies())).await;
    let proxy = nginx("", server);
    assert_eq!(status(&client_at("127.0.0.2"), proxy.address, "/").await, 500);
    let liar = seen(proxy.address, &[("x-forwarded-for", "1.1.1.1")]).await;
    assert_eq!(liar, "x-forwarded-for: 1.1.1.1");
}

/// The address that nginx takes for the client's is that of the field then.
#[tokio::test]
async fn nginx_behind_another_proxy_needs_to_know_it() {
    let name = http::HeaderName::from_static("x-real-ip");
    let server = limited(ClientAddress::header(name, proxies())).await;
    let inner = nginx(
        "set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For; real_ip_recursive on;
         proxy_set_header X-Real-IP $remote_addr;",
        server,
    );
    let outer = haproxy("option forwardfor", inner.address);
    assert_keeps_clients_apart(outer.address, server).await;
}

#[tokio::test]
async fn apache_adds_the_client_to_x_forwarded_for() {
    let server = limited(ClientAddress::x_forwarded_for(proxies())).await;
    let proxy = apache(server);
    assert_keeps_clients_apart(proxy.address, server).await;
    let lines = seen(proxy.address, &[("x-forwarded-for", "1.1.1.1")]).await;
    assert!(lines.contains("x-forwarded-for: 1.1.1.1, 127.0.0.2"), "{lines}");
}

#[tokio::test]
async fn haproxy_adds_a_line_of_x_forwarded_for() {
    let server = limited(ClientAddress::x_forwarded_for(proxies())).await;
    let proxy = haproxy("option forwardfor", server);
    assert_keeps_clients_apart(proxy.address, server).await;
    let lines = seen(proxy.address, &[("x-forwarded-for", "1.1.1.1")]).await;
    assert_eq!(lines, "x-forwarded-for: 1.1.1.1\nx-forwarded-for: 127.0.0.2");
}

/// An option of which the page warns.
#[tokio::test]
async fn haproxy_can_be_told_to_keep_what_a_client_pretends() {
    let server = limited(ClientAddress::x_forwarded_for(proxies())).await;
    let proxy = haproxy("option forwardfor if-none", server);
    let lines = seen(proxy.address, &[("x-forwarded-for", "1.1.1.1")]).await;
    assert_eq!(lines, "x-forwarded-for: 1.1.1.1");
}

#[tokio::test]
async fn caddy_replaces_x_forwarded_for() {
    let server = limited(ClientAddress::x_forwarded_for(proxies())).await;
    let proxy = caddy("", server);
    assert_keeps_clients_apart(proxy.address, server).await;
    let lines = seen(proxy.address, &[("x-forwarded-for", "1.1.1.1")]).await;
    assert!(lines.contains("x-forwarded-for: 127.0.0.2\n"), "{lines}");
}

/// Each adds the address that it sees: that of the client, and that of the proxy before it.
#[tokio::test]
async fn proxies_in_a_row_add_one_address_each() {
    for addresses in [
        ClientAddress::x_forwarded_for(proxies()),
        ClientAddress::x_forwarded_for(Trust::hops(3).unwrap()),
    ] {
        let server = limited(addresses).await;
        let inner = nginx("proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;", server);
        let middle = caddy("trusted_proxies 127.0.0.1/32", inner.address);
        let outer = haproxy("option forwardfor", middle.address);
        for address in ["127.0.0.2", "127.0.0.3"] {
            let client = client_at(address);
            let mut passed = 0;
            for pretence in PRETENCES {
                let answer = send(&client, outer.address, Method::GET, "/", pretence).await;
                passed += u32::from(answer.status == 200);
            }
            assert_eq!(passed, 2, "{address}");
        }
        let lines = seen(outer.address, &[("x-forwarded-for", "1.1.1.1")]).await;
        let chain = "x-forwarded-for: 1.1.1.1, 127.0.0.2, 127.0.0.1, 127.0.0.1";
        assert!(lines.contains(chain), "{lines}");
    }
}
