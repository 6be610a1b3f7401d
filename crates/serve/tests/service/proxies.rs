//! nginx, Caddy and Traefik, which ask the service whether a request may pass. The configurations are those of
//! the page on the service.
//!
//! `ci/setup.sh proxies` installs them.

use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::routing::get;
use reqwest::{Client, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::proxy::Proxy;
use super::running::{POLICY, Running};

const PAGE: &str = include_str!("../../../../docs/serve.md");

/// Returns the block of the page that begins after this line, filled in.
fn configured(heading: &str, service: SocketAddr, upstream: SocketAddr) -> String {
    let (_, rest) = PAGE.split_once(heading).unwrap_or_else(|| panic!("{heading}"));
    let block = rest.split("```").nth(1).unwrap();
    let (_, block) = block.split_once('\n').unwrap();
    assert!(block.contains("127.0.0.1:8080") && block.contains("127.0.0.1:3000"), "{block}");
    block
        .replace("127.0.0.1:8080", &service.to_string())
        .replace("127.0.0.1:3000", &upstream.to_string())
}

/// A server behind the proxy.
async fn upstream() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let refused = || async { StatusCode::UNAUTHORIZED };
    let routes = Router::new().fallback(get(|| async { "hello" }).post(refused));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

/// A client whose connections come from this address of loopback.
fn client_at(address: &str) -> Client {
    let address: IpAddr = address.parse().unwrap();
    Client::builder().local_address(address).no_proxy().build().unwrap()
}

/// Two requests of each client and path to `/api/` pass, whatever it pretends; others are not limited.
async fn assert_limits_each_client(proxy: SocketAddr) {
    let url = |path: &str| format!("http://{proxy}{path}");
    for address in ["127.0.0.2", "127.0.0.3"] {
        let client = client_at(address);
        let mut statuses = Vec::new();
        for pretended in ["198.51.100.1", "198.51.100.2", "127.0.0.9, 127.0.0.8", ""] {
            let request = client.get(url("/api/x?page=1")).header("host", "shop.example");
            let request = request.header("x-forwarded-for", pretended);
            let response = request.send().await.unwrap();
            statuses.push(response.status().as_u16());
            if response.status() == StatusCode::TOO_MANY_REQUESTS {
                let wait = response.headers()["retry-after"].to_str().unwrap();
                assert!(wait.parse::<u64>().unwrap() > 0, "{wait}");
            } else {
                assert_eq!(response.text().await.unwrap(), "hello");
            }
        }
        assert_eq!(statuses, [200, 200, 429, 429], "{address}");
        for field in ["x-forwarded-uri", "x-original-uri", "x-original-url"] {
            let request = client.get(url("/api/x")).header(field, "/elsewhere");
            assert_eq!(request.send().await.unwrap().status(), 429, "{field}");
        }
        assert_eq!(client.get(url("/api/y")).send().await.unwrap().status(), 200);
        assert_eq!(client.get(url("/elsewhere")).send().await.unwrap().status(), 200);
    }
}

/// A service whose limiters have the names of the page.
async fn service() -> Running {
    Running::of(&POLICY.replace("[limiters.client]", "[limiters.per-client]")).await
}

/// Returns the block of the page for nginx, with these directives in the place that asks the service, and `beside` it.
fn nginx(service: SocketAddr, upstream: SocketAddr, inside: &str, beside: &str) -> Proxy {
    let block = configured("## nginx", service, upstream).replace("listen 8000;", "listen LISTEN;");
    let place = "location = /limits {";
    assert!(block.contains("LISTEN") && block.contains(place), "{block}");
    super::nginx::start(&block.replace(place, &format!("{beside} {place} {inside}")))
}

#[tokio::test]
async fn nginx_asks_by_auth_request() {
    let (service, upstream) = (service().await, upstream().await);
    let proxy = nginx(service.address, upstream, "", "");
    assert_limits_each_client(proxy.address).await;
    service.end().await;
}

#[tokio::test]
async fn nginx_refuses_requests_or_lets_them_pass_when_the_service_is_gone() {
    let (service, upstream) = (service().await, upstream().await);
    let (_, rest) = PAGE.split_once("To let all of these pass").unwrap();
    let beside = rest.split('`').find(|code| code.starts_with("location @open")).unwrap();
    let (_, inside) = rest.split_once("```nginx\n").unwrap();
    let (inside, _) = inside.split_once("```").unwrap();
    let closed = nginx(service.address, upstream, "", "");
    let open = nginx(service.address, upstream, inside, beside);
    // Two proxies with one service share its limits.
    let client = client_at("127.0.0.2");
    let status = async |proxy: &Proxy| {
        let request = client.get(format!("http://{}/api/x", proxy.address));
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!((status(&closed).await, status(&open).await, status(&open).await), (200, 200, 429));
    // A client that makes the service refuse the question does not pass by that.
    let url = format!("http://{}/api/x", open.address);
    let many = (0..150)
        .fold(client.get(&url), |request, number| request.header(format!("x-{number}"), "z"));
    assert_eq!(many.send().await.unwrap().status(), 500);
    let mut connection = tokio::net::TcpStream::connect(open.address).await.unwrap();
    let control = "GET /api/x HTTP/1.1\r\nhost: a\r\nx-odd: \x01\r\nconnection: close\r\n\r\n";
    connection.write_all(control.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    service.end().await;
    assert_eq!((status(&closed).await, status(&open).await), (500, 200));
    // One whose policy has another name for the limiter.
    let renamed = Running::of(POLICY).await;
    let closed = nginx(renamed.address, upstream, "", "");
    let open = nginx(renamed.address, upstream, inside, beside);
    assert_eq!((status(&closed).await, status(&open).await), (500, 200));
    renamed.end().await;
}

/// Whatever a client sends beside its log-in, its failures are counted, and those of others are not.
#[tokio::test]
async fn nginx_reports_offences_after_the_answer() {
    let (_, rest) = PAGE.split_once("# limits.toml\n").unwrap();
    let (policy, _) = rest.split_once("```").unwrap();
    let (service, upstream) = (Running::of(policy).await, upstream().await);
    let (_, rest) = PAGE.split_once("### Offences after the answer").unwrap();
    let offence = rest.split("```").nth(1).and_then(|block| block.strip_prefix("nginx\n")).unwrap();
    let block = configured("## nginx", service.address, upstream);
    let block = block.replace("listen 8000;", &format!("listen LISTEN; {offence}"));
    let block = block.replace("limiters=per-client", "limiters=per-client,log-ins");
    let block = block.replace("location / {", "location / { post_action /offence;");
    let proxy = super::nginx::start(&block);
    // As a browser sends a form, with a path as it is written here.
    let post = async |path: &str| {
        let mut connection = tokio::net::TcpStream::connect(proxy.address).await.unwrap();
        let fields = "host: shop.example\r\norigin: https://shop.example\r\nconnection: close";
        let request = format!("POST {path} HTTP/1.1\r\n{fields}\r\ncontent-length: 1\r\n\r\nx");
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        answer.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    // Each is refused by the upstream, and only log-ins are offences.
    for path in ["/other", "/other?/login"] {
        for _ in 0..3 {
            assert_eq!(post(path).await, 401, "{path}");
        }
    }
    for path in ["/login?a", "/%6cogin", "/x\",\"status\":200,\"y\":\"/../login"] {
        assert_eq!(post(path).await, 401, "{path}");
    }
    // The last one is reported after its answer.
    while post("/login").await != 429 {}
    let ask = |key| serde_json::json!({ "limiter": "log-ins", "key": key, "cost": 1 });
    assert_eq!(service.check(ask("127.0.0.1")).await["reason"], "penalized");
    let other = client_at("127.0.0.3").post(format!("http://{}/login", proxy.address));
    assert_eq!(other.send().await.unwrap().status(), 401);
    service.end().await;
}

/// The connection to the service that waits for the next request is used again.
#[tokio::test]
async fn nginx_keeps_its_connections_to_the_service() {
    let (service, upstream) = (service().await, upstream().await);
    let proxy = nginx(service.address, upstream, "", "");
    for _ in 0..20 {
        let url = format!("http://{}/elsewhere", proxy.address);
        assert_eq!(service.client.get(url).send().await.unwrap().status(), 200);
    }
    let metrics = service.get("/metrics").await.text().await.unwrap();
    let (_, number) = metrics.split_once("\nsluicegate_serve_connections_total ").unwrap();
    let connections: u32 = number.lines().next().unwrap().parse().unwrap();
    // Not 21. One that has waited for 5 seconds is given up.
    assert!(connections < 10, "{metrics}");
    service.end().await;
}

#[tokio::test]
async fn caddy_asks_by_forward_auth() {
    let (service, upstream) = (service().await, upstream().await);
    let site = configured("## Caddy", service.address, upstream);
    let site = site.replace(":80 {", "http://:PORT {\n    bind 127.0.0.1");
    let options = "admin off\n auto_https off\n storage file_system FOLDER";
    let configuration = format!("{{\n{options}\n}}\n{site}");
    let arguments = ["run", "--adapter", "caddyfile", "--config", "FOLDER/configuration.yaml"];
    let proxy = Proxy::start("caddy", &arguments, &configuration);
    assert_limits_each_client(proxy.address).await;
    service.end().await;
}

#[tokio::test]
async fn traefik_asks_by_forward_auth() {
    let (service, upstream) = (service().await, upstream().await);
    let routes = configured("## Traefik", service.address, upstream);
    let arguments =
        ["--entryPoints.web.address=LISTEN", "--providers.file.filename=FOLDER/configuration.yaml"];
    let proxy = Proxy::start("traefik", &arguments, &routes);
    // It listens before it has read its routes.
    let client = client_at("127.0.0.9");
    let url = format!("http://{}/elsewhere", proxy.address);
    while client.get(&url).send().await.unwrap().status() == StatusCode::NOT_FOUND {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_limits_each_client(proxy.address).await;
    service.end().await;
}
