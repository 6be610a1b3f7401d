//! An attacker that has used up its own limit, and everything that it can send to get another: through a
//! real proxy address, past it, and in each field that a server may believe.

use std::net::IpAddr;

use super::*;

/// A proxy that the server trusts, and a client that comes past it. (All of 127.0.0.0/8 is loopback.)
const PROXY: &str = "127.0.0.2";
const OUTSIDER: &str = "127.0.0.3";

/// The attacker and its victim, as the proxy tells them.
const ATTACKER: &str = "203.0.113.9";
const VICTIM: &str = "198.51.100.1";

fn from(address: &str, is_http2: bool) -> Client<HttpConnector, Body> {
    let mut connector = HttpConnector::new();
    connector.set_local_address(Some(address.parse::<IpAddr>().unwrap()));
    Client::builder(TokioExecutor::new()).http2_only(is_http2).build(connector)
}

async fn server(addresses: ClientAddress) -> SocketAddr {
    let store = KeyTable::<ClientKey>::with_keys(quota!(1 / day), 1_000).unwrap();
    let limit = Limit::per_client(store).addresses(addresses);
    serve(hello().layer(RateLimitLayer::new(limit))).await
}

fn trusted() -> Trust {
    Trust::networks([PROXY]).unwrap()
}

/// Sends the lines of a field and returns the status.
async fn sent(
    client: &Client<HttpConnector, Body>,
    server: SocketAddr,
    lines: &[(&str, String)],
) -> u16 {
    let lines: Vec<_> = lines.iter().map(|(name, value)| (*name, value.as_str())).collect();
    send(client, server, Method::GET, "/", &lines).await.status.as_u16()
}

/// Checks that an attacker is refused whatever it sends in a field, to which the proxy adds an element,
/// and that its victim still has its own limit.
async fn attack(
    name: &'static str,
    element: fn(&str) -> String,
    addresses: ClientAddress,
    shapes: &[&str],
) {
    for is_http2 in [false, true] {
        let server = server(addresses.clone()).await;
        let proxy = from(PROXY, is_http2);
        assert_eq!(sent(&proxy, server, &[(name, element(ATTACKER))]).await, 200);
        for shape in shapes {
            let same_line = [(name, format!("{shape}, {}", element(ATTACKER)))];
            let own_line = [(name, (*shape).to_owned()), (name, element(ATTACKER))];
            let twice = [(name, format!("{shape},{shape}")), (name, element(ATTACKER))];
            for lines in [&same_line[..], &own_line, &twice] {
                assert_eq!(sent(&proxy, server, lines).await, 429, "{lines:?}");
            }
        }
        assert_eq!(sent(&proxy, server, &[(name, element(VICTIM))]).await, 200, "{name}");
    }
}

/// Each list gets a form of the victim's address, or of the proxy's.
const LISTS: [&str; 30] = [
    "",
    ",",
    ",,,,,,,,",
    " ",
    "\t",
    "198.51.100.1",
    "198.51.100.1:80",
    "\"198.51.100.1\"",
    "[198.51.100.1]",
    "::ffff:198.51.100.1",
    "::ffff:c633:6401",
    "64:ff9b::198.51.100.1",
    "127.0.0.1",
    "127.0.0.2",
    "127.0.0.2, 127.0.0.2",
    "::1",
    "[::1]:80",
    "fe80::1%eth0",
    "2001:db8::1",
    "0.0.0.0",
    "unknown",
    "_hidden",
    "localhost",
    "198.51.100.1, 127.0.0.2",
    "198.51.100.1 198.51.100.1",
    "198.51.100.1;",
    "for=198.51.100.1",
    "0306.063.0144.01",
    "3325256705",
    "'\"\\;--\u{e9}",
];

#[tokio::test]
async fn nothing_in_x_forwarded_for_gets_an_attacker_another_limit() {
    let name = "x-forwarded-for";
    attack(name, str::to_owned, ClientAddress::x_forwarded_for(trusted()), &LISTS).await;
    let hops = Trust::hops(1).unwrap();
    attack(name, str::to_owned, ClientAddress::x_forwarded_for(hops), &LISTS).await;
}

#[tokio::test]
async fn nothing_in_forwarded_gets_an_attacker_another_limit() {
    let element = |address: &str| format!("for={address};proto=https;by={PROXY}");
    let shapes = [
        "for=198.51.100.1",
        "for=\"198.51.100.1:80\"",
        "For=\"[::ffff:198.51.100.1]:80\";by=127.0.0.2",
        "for=\"[2001:db8::1]\"",
        "for=127.0.0.2",
        "for=unknown",
        "for=_hidden",
        "for=\"",
        "for=\"198.51.100.1",
        "for=198.51.100.1;x=\"",
        "for=198.51.100.1;x=\"\\",
        "for=198.51.100.1;x=\"\\\"",
        "for=198.51.100.1;x=\"a, b",
        "for=198.51.100.1;for=198.51.100.1",
        "\"",
        "\\",
        "\\\"",
        ";",
        "=",
        "for",
        "for=",
        "by=127.0.0.2;proto=https",
        "'\u{e9}\"",
    ];
    for trust in [trusted(), Trust::hops(1).unwrap()] {
        let shapes: Vec<_> = shapes.iter().chain(&LISTS).copied().collect();
        attack("forwarded", element, ClientAddress::forwarded(trust), &shapes).await;
    }
}

/// The CDN replaces what a client sends in its field, so there is nothing to add to. If both are there, the
/// server does not choose.
#[tokio::test]
async fn a_field_of_a_cdn_is_believed_from_the_cdn_and_once() {
    let name = "cf-connecting-ip";
    let addresses = ClientAddress::header(name.parse().unwrap(), trusted());
    for is_http2 in [false, true] {
        let server = server(addresses.clone()).await;
        let proxy = from(PROXY, is_http2);
        let own = || (name, ATTACKER.to_owned());
        assert_eq!(sent(&proxy, server, &[own()]).await, 200);
        assert_eq!(sent(&proxy, server, &[own()]).await, 429);
        for other in
            ["x-forwarded-for", "forwarded", "x-real-ip", "true-client-ip", "cf-connecting-ipv6"]
        {
            let lines = [(other, VICTIM.to_owned()), own()];
            assert_eq!(sent(&proxy, server, &lines).await, 429, "{other}");
        }
        for shape in LISTS {
            let lines = [(name, shape.to_owned()), own()];
            assert_eq!(sent(&proxy, server, &lines).await, 400, "{shape}");
            let lines = [own(), (name, shape.to_owned())];
            assert_eq!(sent(&proxy, server, &lines).await, 400, "{shape}");
        }
        assert_eq!(sent(&proxy, server, &[(name, VICTIM.to_owned())]).await, 200);
    }
}

/// A client that comes past the proxy is known by its own address, whatever it sends.
#[tokio::test]
async fn an_outsider_that_pretends_to_be_a_proxy_is_limited_as_itself() {
    let configurations = [
        ("x-forwarded-for", ClientAddress::x_forwarded_for(trusted())),
        ("forwarded", ClientAddress::forwarded(trusted())),
        ("cf-connecting-ip", ClientAddress::header("cf-connecting-ip".parse().unwrap(), trusted())),
        ("x-forwarded-for", ClientAddress::of_peer()),
    ];
    for (name, addresses) in configurations {
        let server = server(addresses).await;
        let outsider = from(OUTSIDER, false);
        assert_eq!(sent(&outsider, server, &[]).await, 200);
        for shape in LISTS {
            for value in [shape.to_owned(), format!("for={shape}"), format!("for=\"{shape}\"")] {
                let lines = [(name, value.clone()), (name, value)];
                assert_eq!(sent(&outsider, server, &lines[..1]).await, 429, "{name}: {shape}");
                assert_eq!(sent(&outsider, server, &lines).await, 429, "{name}: {shape}");
            }
        }
    }
}
