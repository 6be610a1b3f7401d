//! The rows of the table: proxies, and the fields of requests that reach a server behind each.

use super::super::*;
use super::OTHER;

/// A row of the table.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// The expression that the page shows.
    pub(super) code: &'static str,
    pub(super) addresses: ClientAddress,
    /// The peer that the server sees.
    pub(super) peer: &'static str,
    /// The fields of requests that a client has sent, most of them with a pretence.
    pub(super) requests: &'static [Fields<'static>],
}

macro_rules! row {
    ($name:literal, $peer:expr, |$proxies:ident| $addresses:expr, $requests:expr) => {
        Row {
            name: $name,
            code: stringify!($addresses),
            addresses: with_proxies(|$proxies| Ok($addresses)),
            peer: $peer,
            requests: &$requests,
        }
    };
}

fn with_proxies(addresses: fn(Trust) -> Result<ClientAddress, TrustError>) -> ClientAddress {
    addresses(trusted()).unwrap()
}

pub(super) const XFF: &str = "x-forwarded-for";

/// Returns the rows in the order of the page.
pub(super) fn all() -> Vec<Row> {
    [servers(), more_servers(), balancers(), delivery_networks()].into_iter().flatten().collect()
}

/// No proxy, and web servers.
fn servers() -> Vec<Row> {
    vec![
        row!(
            "nothing",
            CLIENT,
            |_proxies| ClientAddress::of_peer(),
            [&[], &[(XFF, OTHER), ("forwarded", "for=198.51.100.66"), ("x-real-ip", OTHER)]]
        ),
        row!(
            "nginx",
            PROXY,
            |proxies| ClientAddress::x_forwarded_for(proxies),
            [
                &[(XFF, CLIENT)],
                &[(XFF, "198.51.100.66, 203.0.113.9")],
                &[(XFF, "198.51.100.66, 10.0.0.1, 203.0.113.9"), ("x-real-ip", OTHER)],
            ]
        ),
        row!(
            "nginx, with a field of its own",
            PROXY,
            |proxies| ClientAddress::header(HeaderName::from_static("x-real-ip"), proxies),
            [&[("x-real-ip", CLIENT)], &[("x-real-ip", CLIENT), (XFF, OTHER)]]
        ),
        row!(
            "Apache httpd",
            PROXY,
            |proxies| ClientAddress::x_forwarded_for(proxies),
            [&[(XFF, CLIENT)], &[(XFF, "198.51.100.66, 203.0.113.9")]]
        ),
        row!(
            "HAProxy",
            PROXY,
            |proxies| ClientAddress::x_forwarded_for(proxies),
            [
                &[(XFF, CLIENT)],
                &[(XFF, OTHER), (XFF, CLIENT)],
                &[(XFF, "10.0.0.1, 10.0.0.2"), (XFF, CLIENT)]
            ]
        ),
        row!(
            "HAProxy 2.8 or later, with Forwarded",
            PROXY,
            |proxies| ClientAddress::forwarded(proxies),
            [
                &[("forwarded", "proto=http;for=203.0.113.9")],
                &[("forwarded", "for=198.51.100.66"), ("forwarded", "proto=http;for=203.0.113.9")],
                &[("forwarded", "for=\"198.51.100.66, proto=http;for=203.0.113.9"), (XFF, OTHER)],
            ]
        ),
    ]
}

/// More web servers, which have no configuration for it.
fn more_servers() -> Vec<Row> {
    vec![
        row!(
            "Caddy",
            PROXY,
            |proxies| ClientAddress::x_forwarded_for(proxies),
            [&[(XFF, CLIENT)], &[(XFF, CLIENT), ("x-real-ip", OTHER)]]
        ),
        row!(
            "Traefik",
            PROXY,
            |proxies| ClientAddress::x_forwarded_for(proxies),
            [
                &[(XFF, CLIENT), ("x-real-ip", CLIENT)],
                &[(XFF, CLIENT), ("x-real-ip", CLIENT), ("forwarded", "for=198.51.100.66")],
            ]
        ),
        row!(
            "Envoy",
            PROXY,
            |proxies| ClientAddress::x_forwarded_for(proxies),
            [
                &[(XFF, CLIENT), ("x-envoy-external-address", CLIENT)],
                &[(XFF, "198.51.100.66,203.0.113.9"), ("x-envoy-external-address", CLIENT)],
            ]
        ),
    ]
}

/// Balancers of clouds.
fn balancers() -> Vec<Row> {
    vec![
        row!(
            "AWS ALB",
            PROXY,
            |proxies| ClientAddress::x_forwarded_for(proxies),
            [
                &[(XFF, CLIENT)],
                &[(XFF, "198.51.100.66, 203.0.113.9")],
                // With `routing.http.xff_client_port.enabled`.
                &[(XFF, "198.51.100.66, 203.0.113.9:47110")],
            ]
        ),
        row!(
            "AWS NLB that keeps client addresses",
            CLIENT,
            |_proxies| ClientAddress::of_peer(),
            [&[], &[(XFF, OTHER)]]
        ),
        row!(
            "AWS NLB or HAProxy, with the PROXY protocol",
            CLIENT,
            |_proxies| ClientAddress::of_peer(),
            [&[], &[(XFF, OTHER)]]
        ),
        row!(
            "Google Cloud load balancer",
            "35.191.0.1",
            |_proxies| ClientAddress::x_forwarded_for(Trust::hops(2)?),
            [
                &[(XFF, "203.0.113.9,34.120.0.7")],
                &[(XFF, "198.51.100.66,203.0.113.9,34.120.0.7")],
                &[(XFF, "10.0.0.1, 198.51.100.66, 203.0.113.9, 34.120.0.7")],
            ]
        ),
        row!(
            "Azure Application Gateway",
            PROXY,
            |proxies| ClientAddress::x_forwarded_for(proxies),
            [&[(XFF, "203.0.113.9:47110")], &[(XFF, "198.51.100.66, 203.0.113.9:47110")]]
        ),
    ]
}

/// Networks that deliver content, and several proxies in a row.
fn delivery_networks() -> Vec<Row> {
    vec![
        row!(
            "Azure Front Door",
            PROXY,
            |proxies| ClientAddress::header(HeaderName::from_static("x-azure-socketip"), proxies),
            [
                &[("x-azure-socketip", CLIENT), ("x-azure-clientip", CLIENT), (XFF, CLIENT)],
                // A client can set the other two.
                &[
                    ("x-azure-socketip", CLIENT),
                    ("x-azure-clientip", OTHER),
                    (XFF, "198.51.100.66, 203.0.113.9"),
                ],
            ]
        ),
        row!(
            "Cloudflare",
            PROXY,
            |proxies| ClientAddress::header(HeaderName::from_static("cf-connecting-ip"), proxies),
            [
                &[("cf-connecting-ip", CLIENT), (XFF, CLIENT)],
                &[("cf-connecting-ip", CLIENT), (XFF, "198.51.100.66,203.0.113.9")],
                &[("cf-connecting-ip", CLIENT), ("true-client-ip", OTHER)],
            ]
        ),
        row!(
            "Fastly",
            PROXY,
            |proxies| ClientAddress::header(HeaderName::from_static("fastly-client-ip"), proxies),
            [
                &[("fastly-client-ip", CLIENT), (XFF, CLIENT)],
                // The second address is that of a shield.
                &[("fastly-client-ip", CLIENT), (XFF, "198.51.100.66, 203.0.113.9, 157.52.91.44")],
            ]
        ),
        row!(
            "CloudFront",
            PROXY,
            |proxies| ClientAddress::header_with_port(
                HeaderName::from_static("cloudfront-viewer-address"),
                proxies
            ),
            [
                &[("cloudfront-viewer-address", "203.0.113.9:46532"), (XFF, CLIENT)],
                &[
                    ("cloudfront-viewer-address", "203.0.113.9:46532"),
                    (XFF, "198.51.100.66, 203.0.113.9"),
                ],
            ]
        ),
        row!(
            "Akamai",
            PROXY,
            |proxies| ClientAddress::header(HeaderName::from_static("true-client-ip"), proxies),
            [
                &[("true-client-ip", CLIENT), (XFF, "203.0.113.9, 23.0.2.7")],
                &[("true-client-ip", CLIENT), (XFF, "198.51.100.66, 203.0.113.9, 23.0.2.7")],
            ]
        ),
        row!(
            "Fly.io",
            "172.16.0.1",
            |_proxies| ClientAddress::header(
                HeaderName::from_static("fly-client-ip"),
                Trust::hops(1)?
            ),
            [
                &[("fly-client-ip", CLIENT), (XFF, "203.0.113.9, 66.241.124.7")],
                &[("fly-client-ip", CLIENT), (XFF, "198.51.100.66, 203.0.113.9, 66.241.124.7")],
            ]
        ),
        row!(
            "several, one behind the other",
            PROXY,
            |proxies| ClientAddress::x_forwarded_for(proxies),
            [
                &[(XFF, "203.0.113.9, 10.0.0.3")],
                &[(XFF, "198.51.100.66, 203.0.113.9, 10.0.0.3")],
                &[(XFF, OTHER), (XFF, "203.0.113.9, 10.0.0.3, 10.0.0.4")],
            ]
        ),
    ]
}
