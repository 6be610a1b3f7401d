//! Envoy itself, configured as the page on the service says. `ci/setup.sh proxies` installs it.

use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::routing::get;
use reqwest::Client;

use super::served::Served;
use crate::service::proxy::Proxy;

const PAGE: &str = include_str!("../../../../docs/serve.md");

/// Returns the block of the page that begins with this comment.
fn block(name: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("# {name}\n")).unwrap();
    rest.split("```").next().unwrap()
}

async fn upstream() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let routes = Router::new().fallback(get(|| async { "hello" }));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

#[tokio::test]
async fn envoy_asks_for_each_address_and_lets_pass_when_the_service_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("edge.yaml");
    std::fs::write(&file, block("edge.yaml")).unwrap();
    let (served, upstream) = (Served::start(&file, 100).await, upstream().await);
    let port = |address: SocketAddr| format!("port_value: {}", address.port());
    let configuration = block("envoy.yaml")
        .replace("port_value: 8001", "port_value: PORT")
        .replace("port_value: 8081", &port(served.address))
        .replace("port_value: 3000", &port(upstream))
        // A busy machine may need longer than the page's half a second, and Envoy then lets the request pass.
        .replace("timeout: 0.5s", "timeout: 60s");
    let arguments =
        ["--use-dynamic-base-id", "--concurrency", "1", "-c", "FOLDER/configuration.yaml"];
    let proxy = Proxy::start("envoy", &arguments, &configuration);
    let status = async |client: &Client| {
        let url = format!("http://{}/?1", proxy.address);
        client.get(url).send().await.unwrap().status().as_u16()
    };
    let clients = ["127.0.0.2", "127.0.0.3"].map(|address| {
        let address: IpAddr = address.parse().unwrap();
        Client::builder().local_address(address).no_proxy().build().unwrap()
    });
    for client in &clients {
        for _ in 0..60 {
            assert_eq!(status(client).await, 200);
        }
        assert_eq!(status(client).await, 429);
    }
    drop(served);
    while status(&clients[0]).await == 429 {}
    assert_eq!(status(&clients[0]).await, 200);
}
