//! Client addresses behind proxies: what a server sees, and which client it is. In every row, the fields
//! are what reaches the server: what the client has sent comes first, then what the proxies have added.

use std::net::IpAddr;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use sluicegate_http::client_address::UnknownClient::*;
use sluicegate_http::client_address::*;

mod behind;
mod keys;
mod x_forwarded_for;

/// A proxy in a trusted network, the client, and what the client pretends to be.
const PROXY: &str = "10.0.0.7";
const CLIENT: &str = "203.0.113.9";

type Fields<'t> = &'t [(&'static str, &'t str)];

fn headers(fields: Fields<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        headers.append(HeaderName::from_static(name), value);
    }
    headers
}

fn trusted() -> Trust {
    Trust::networks(["10.0.0.0/8", "fd00::/8", "127.0.0.1"]).unwrap()
}

fn header(trust: Trust) -> ClientAddress {
    ClientAddress::header(HeaderName::from_static("cf-connecting-ip"), trust)
}

/// Checks rows of a peer, its fields, and the client or the reason why it is not known.
#[track_caller]
fn check(addresses: &ClientAddress, rows: &[(&str, Fields<'_>, Result<&str, UnknownClient>)]) {
    for (peer, fields, expected) in rows {
        let peer = (!peer.is_empty()).then(|| peer.parse().unwrap());
        let found = addresses.find(peer, &headers(fields));
        let expected = expected.map(|address| address.parse::<IpAddr>().unwrap());
        assert_eq!(found, expected, "{peer:?} {fields:?}");
    }
}

#[test]
fn by_default_no_field_is_believed() {
    let rows: &[(&str, Fields<'_>, _)] = &[
        (CLIENT, &[], Ok(CLIENT)),
        (CLIENT, &[("x-forwarded-for", "1.1.1.1")], Ok(CLIENT)),
        (CLIENT, &[("forwarded", "for=1.1.1.1")], Ok(CLIENT)),
        (CLIENT, &[("x-real-ip", "1.1.1.1")], Ok(CLIENT)),
        (CLIENT, &[("cf-connecting-ip", "1.1.1.1")], Ok(CLIENT)),
        (CLIENT, &[("true-client-ip", "1.1.1.1")], Ok(CLIENT)),
        ("127.0.0.1", &[("x-forwarded-for", "1.1.1.1")], Ok("127.0.0.1")),
        ("::ffff:203.0.113.9", &[], Ok(CLIENT)),
        ("", &[("x-forwarded-for", "1.1.1.1")], Err(NoPeer)),
    ];
    check(&ClientAddress::default(), rows);
    check(&ClientAddress::of_peer(), rows);
}

#[test]
fn forwarded_by_networks() {
    let forwarded = "forwarded";
    check(
        &ClientAddress::forwarded(trusted()),
        &[
            (PROXY, &[(forwarded, "for=203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(forwarded, "For=\"203.0.113.9:80\";Proto=https;by=10.0.0.7")], Ok(CLIENT)),
            (PROXY, &[(forwarded, "proto=https ; FOR=203.0.113.9 ;")], Ok(CLIENT)),
            (PROXY, &[(forwarded, r#"for="[2001:db8:cafe::17]:4711""#)], Ok("2001:db8:cafe::17")),
            (PROXY, &[(forwarded, r#"for="[2001:db8::1]:_port1""#)], Ok("2001:db8::1")),
            (PROXY, &[(forwarded, "for=203.0.113.9, for=10.0.0.3;by=10.0.0.7")], Ok(CLIENT)),
            (PROXY, &[(forwarded, r#"for=203.0.113.9, for="[fd00::3]""#)], Ok(CLIENT)),
            // The client comes past the proxy.
            (CLIENT, &[(forwarded, "for=1.1.1.1")], Ok(CLIENT)),
            // It has sent a field of its own, to which the proxy has added.
            (PROXY, &[(forwarded, "for=1.1.1.1, for=203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(forwarded, "for=10.0.0.1, for=203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(forwarded, "for=1.1.1.1"), (forwarded, "for=203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(forwarded, "for=_hidden, for=203.0.113.9")], Ok(CLIENT)),
            // Quotes that never end, or contain what looks like an element.
            (PROXY, &[(forwarded, r#"for="1.1.1.1, for=203.0.113.9"#)], Ok(CLIENT)),
            (PROXY, &[(forwarded, r#"for="1.1.1.1, for="203.0.113.9""#)], Ok(CLIENT)),
            (
                PROXY,
                &[(forwarded, r#"for=1.1.1.1;x=", for=203.0.113.9;proto="https""#)],
                Ok(CLIENT),
            ),
            (PROXY, &[(forwarded, r#"for=1.1.1.1;x="\, for="203.0.113.9""#)], Ok(CLIENT)),
            (PROXY, &[(forwarded, r#"for="1.1.1.1"#), (forwarded, "for=203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(forwarded, r#"for=203.0.113.9;host="a, for=1.1.1.1""#)], Ok(CLIENT)),
            (PROXY, &[(forwarded, r#"for=203.0.113.9;host="a;for=1.1.1.1""#)], Ok(CLIENT)),
            (PROXY, &[(forwarded, r#"for=203.0.113.9;host="a\", for=1.1.1.1""#)], Ok(CLIENT)),
            (PROXY, &[(forwarded, r#"for=203.0.113.9;host="a\\";by=10.0.0.7"#)], Ok(CLIENT)),
            // Another field.
            (PROXY, &[("x-forwarded-for", "1.1.1.1"), (forwarded, "for=203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[("x-forwarded-for", "1.1.1.1")], Err(MissingField)),
            // What the proxy should have sent is not there.
            (PROXY, &[(forwarded, "by=10.0.0.7;proto=https")], Err(Malformed)),
            (PROXY, &[(forwarded, "for=1.1.1.1, proto=https")], Err(Malformed)),
            (PROXY, &[(forwarded, "for=1.1.1.1;for=203.0.113.9")], Err(Malformed)),
            (PROXY, &[(forwarded, "for")], Err(Malformed)),
            (PROXY, &[(forwarded, "for=")], Err(Malformed)),
            (PROXY, &[(forwarded, "203.0.113.9")], Err(Malformed)),
            (PROXY, &[(forwarded, r#"for="203.0.113.9"#)], Err(Malformed)),
            (PROXY, &[(forwarded, r#"for=203.0.113.9""#)], Err(Malformed)),
            (PROXY, &[(forwarded, r#"for="203.0\.113.9""#)], Err(Malformed)),
            (PROXY, &[(forwarded, "for=unknown")], Err(Hidden)),
            (PROXY, &[(forwarded, "for=\"_SEVKISEK\"")], Err(Hidden)),
            (PROXY, &[(forwarded, "for=1.1.1.1, for=_proxy")], Err(Hidden)),
        ],
    );
    check(
        &ClientAddress::forwarded(Trust::hops(2).unwrap()),
        &[
            (PROXY, &[(forwarded, "for=1.1.1.1, for=203.0.113.9, for=_proxy")], Ok(CLIENT)),
            (PROXY, &[(forwarded, "for=203.0.113.9")], Err(TooFewHops { expected: 2, found: 1 })),
        ],
    );
}

#[test]
fn one_field_with_one_address() {
    let cdn = "cf-connecting-ip";
    check(
        &header(trusted()),
        &[
            (PROXY, &[(cdn, CLIENT)], Ok(CLIENT)),
            (PROXY, &[(cdn, "2001:db8::1")], Ok("2001:db8::1")),
            (CLIENT, &[(cdn, "1.1.1.1")], Ok(CLIENT)),
            (CLIENT, &[], Ok(CLIENT)),
            (PROXY, &[(cdn, CLIENT), ("x-forwarded-for", "1.1.1.1")], Ok(CLIENT)),
            // Whether the proxy has written the first or the second, nobody knows.
            (PROXY, &[(cdn, "1.1.1.1"), (cdn, CLIENT)], Err(Malformed)),
            (PROXY, &[(cdn, "1.1.1.1, 203.0.113.9")], Err(Malformed)),
            (PROXY, &[(cdn, "")], Err(Malformed)),
            (PROXY, &[("x-forwarded-for", "1.1.1.1")], Err(MissingField)),
            ("", &[(cdn, CLIENT)], Err(NoPeer)),
        ],
    );
    let any_peer = header(Trust::hops(1).unwrap());
    check(&any_peer, &[("", &[(cdn, CLIENT)], Ok(CLIENT)), (PROXY, &[], Err(MissingField))]);
}

#[test]
fn one_field_with_one_address_and_a_port() {
    let viewer = "cloudfront-viewer-address";
    let name = HeaderName::from_static(viewer);
    check(
        &ClientAddress::header_with_port(name.clone(), trusted()),
        &[
            (PROXY, &[(viewer, "203.0.113.9:46532")], Ok(CLIENT)),
            (PROXY, &[(viewer, "2001:db8::1:9985")], Ok("2001:db8::1")),
            (PROXY, &[(viewer, "2001:db8:1:2:3:4:5:6:9985")], Ok("2001:db8:1:2:3:4:5:6")),
            (PROXY, &[(viewer, "2001:db8:1:2:3:4:5::9985")], Err(Malformed)),
            (PROXY, &[(viewer, "2001:db8:::9985")], Ok("2001:db8::")),
            (PROXY, &[(viewer, "[2001:db8::1]:9985")], Ok("2001:db8::1")),
            (PROXY, &[(viewer, "::ffff:203.0.113.9:46532")], Ok(CLIENT)),
            (PROXY, &[(viewer, CLIENT)], Err(Malformed)),
            (PROXY, &[(viewer, "[203.0.113.9]:80")], Err(Malformed)),
            (PROXY, &[(viewer, "[2001:db8::1]")], Err(Malformed)),
            (PROXY, &[(viewer, "203.0.113.9:")], Err(Malformed)),
            (PROXY, &[(viewer, ":80")], Err(Malformed)),
            (PROXY, &[(viewer, "")], Err(Malformed)),
            (PROXY, &[(viewer, "1.1.1.1:80"), (viewer, "203.0.113.9:80")], Err(Malformed)),
            (PROXY, &[("x-forwarded-for", "1.1.1.1")], Err(MissingField)),
            (CLIENT, &[(viewer, "1.1.1.1:80")], Ok(CLIENT)),
            ("", &[(viewer, "203.0.113.9:80")], Err(NoPeer)),
        ],
    );
    let any_peer = ClientAddress::header_with_port(name, Trust::hops(1).unwrap());
    check(&any_peer, &[("", &[(viewer, "203.0.113.9:80")], Ok(CLIENT))]);
}

#[test]
fn addresses_of_one_client_are_one_key() {
    let key = |addresses: &ClientAddress, peer: &str| {
        addresses.key(Some(peer.parse().unwrap()), &HeaderMap::new())
    };
    let network = |text: &str| ClientKey::Address(text.parse().unwrap());
    let default = ClientAddress::of_peer();
    assert_eq!(key(&default, "2001:db8:1:2:3:4:5:6"), network("2001:db8:1:2::"));
    assert_eq!(key(&default, "2001:db8:1:2:ffff::1"), network("2001:db8:1:2::"));
    assert_ne!(key(&default, "2001:db8:1:3::1"), network("2001:db8:1:2::"));
    // Two clients on IPv4 are two keys, whichever the form.
    for form in ["203.0.113.9", "::ffff:203.0.113.9", "64:ff9b::203.0.113.9"] {
        assert_eq!(key(&default, form), network("203.0.113.9"), "{form}");
    }
    let rows = [
        (0, "2001:db8:1:2:3:4:5:6", "::"),
        (48, "2001:db8:1:2:3:4:5:6", "2001:db8:1::"),
        (56, "2001:db8:1:2ff:3:4:5:6", "2001:db8:1:200::"),
        (128, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6"),
        (255, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6"),
        (56, "203.0.113.9", "203.0.113.9"),
    ];
    for (bits, peer, expected) in rows {
        assert_eq!(key(&ClientAddress::of_peer().ipv6_prefix(bits), peer), network(expected));
    }
    let rows = [(0, "0.0.0.0"), (24, "203.0.113.0"), (32, "203.0.113.9"), (255, "203.0.113.9")];
    for (bits, expected) in rows {
        let addresses = ClientAddress::of_peer().ipv4_prefix(bits);
        assert_eq!(key(&addresses, "203.0.113.9"), network(expected));
    }
}

#[test]
fn an_unknown_client_gets_the_answer_that_was_configured() {
    let proxy: IpAddr = PROXY.parse().unwrap();
    let key = |answer, peer| {
        let addresses = ClientAddress::x_forwarded_for(trusted()).when_unknown(answer);
        addresses.key(peer, &HeaderMap::new())
    };
    let some = Some(proxy);
    assert_eq!(key(WhenUnknown::default(), some), ClientKey::Refused(MissingField));
    assert_eq!(key(WhenUnknown::Refuse, some), ClientKey::Refused(MissingField));
    assert_eq!(key(WhenUnknown::UsePeer, some), ClientKey::Address(proxy));
    assert_eq!(key(WhenUnknown::UsePeer, None), ClientKey::Refused(NoPeer));
    assert_eq!(key(WhenUnknown::Share, some), ClientKey::Shared);
    assert_eq!(key(WhenUnknown::Admit, some), ClientKey::Unlimited);
    let mapped = Some("::ffff:10.0.0.7".parse().unwrap());
    assert_eq!(key(WhenUnknown::UsePeer, mapped), ClientKey::Address(proxy));
}

#[test]
fn networks_are_compared_in_one_form() {
    let rows = [
        ("::ffff:10.0.0.0/104", "10.1.2.3", true),
        ("::ffff:10.0.0.0/104", "11.1.2.3", false),
        ("::ffff:10.0.0.7", "10.0.0.7", true),
        ("10.0.0.7", "::ffff:10.0.0.7", true),
        ("10.0.0.7", "10.0.0.8", false),
        ("10.0.0.0/8", "64:ff9b::10.1.2.3", true),
        ("64:ff9b::10.0.0.0/104", "10.1.2.3", true),
        ("64:ff9b::10.0.0.7", "64:ff9b::10.0.0.7", true),
        ("64:ff9b::10.0.0.7", "10.0.0.8", false),
        ("0.0.0.0/1", "2001:db8::1", false),
        ("::/1", "10.0.0.7", false),
        ("10.0.0.7/8", "10.255.0.1", true),
        ("2001:db8::/32", "2001:db8:ffff::1", true),
        ("2001:db8::/128", "2001:db8::1", false),
    ];
    for (network, peer, is_trusted) in rows {
        let addresses = ClientAddress::x_forwarded_for(Trust::networks([network]).unwrap());
        let found = addresses.find(Some(peer.parse().unwrap()), &headers(&[]));
        let expected = if is_trusted { Err(MissingField) } else { Ok(peer.parse().unwrap()) };
        assert_eq!(found, expected, "{network} {peer}");
    }
}

#[test]
fn trust_that_makes_no_sense_is_an_error() {
    let message = |result: Result<Trust, TrustError>| result.unwrap_err().to_string();
    assert_eq!(
        message(Trust::networks(["10.0.0.0/33"])),
        "the trusted network is \"10.0.0.0/33\": must be an address such as \"192.0.2.7\", or a network such as \"10.0.0.0/8\""
    );
    let no_networks = [
        "",
        "/",
        "localhost",
        "10.0.0.0/",
        "/8",
        "10.0.0/8",
        "10.0.0.0/8/8",
        "10.0.0.0/+8",
        "10.0.0.0/08",
        "10.0.0.0/-1",
        "10.0.0.0/256",
        " 10.0.0.0/8",
        "10.0.0.0/8 ",
        "10.0.0.0 /8",
        "010.0.0.0/8",
        "0x0a.0.0.0/8",
        "10.0.0.0:80",
        "[fd00::]/8",
        "fd00::/129",
        "fe80::1%eth0",
        "1:2:3:4:5:6:7::8/64",
        "10.0.0.0/255.0.0.0",
    ];
    for text in no_networks {
        let found = Trust::networks(["10.0.0.0/8", text]).err();
        assert_eq!(found, Some(TrustError::Network { text: text.to_owned() }));
    }
    // With all addresses trusted, the client would be the first of a list, which it has sent itself.
    for text in ["0.0.0.0/0", "::/0", "10.0.0.7/0", "::ffff:0:0/96", "64:ff9b::/96"] {
        let found = Trust::networks(["10.0.0.0/8", text]).err();
        assert_eq!(found, Some(TrustError::EveryAddress { text: text.to_owned() }));
    }
    assert_eq!(
        message(Trust::networks(["0.0.0.0/0"])),
        "the trusted network is \"0.0.0.0/0\", which is every address, so that a client could pretend to be any other: name the networks of the proxies, or use Trust::hops"
    );
    assert_eq!(
        message(Trust::networks::<&str>([])),
        "no network is trusted: name one, or use ClientAddress::of_peer"
    );
    assert_eq!(
        message(Trust::hops(0)),
        "hops is 0: must be from 1 to 255; without a proxy, use ClientAddress::of_peer"
    );
}
