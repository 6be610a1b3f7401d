//! Properties of client addresses, over anything that a client may send.

use std::net::IpAddr;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate_http::client_address::*;

const PROXY: &str = "10.0.0.7";
const CLIENT: &str = "203.0.113.9";

/// Anything that a client can put into a line, which has no element of its own at the end.
fn client_bytes() -> impl Strategy<Value = Vec<u8>> {
    let signs = r#"[0-9a-f.:\[\]"\\;,=_ for]{0,40}"#.prop_map(String::into_bytes);
    prop_oneof![signs, vec(any::<u8>(), 0..40)]
}

proptest! {
    /// The guarantee: the key of a client does not depend on what it sends.
    #[test]
    fn nothing_that_a_client_sends_changes_its_key(
        lines in vec(client_bytes(), 0..4),
        same_line in any::<bool>(),
        hops in any::<bool>(),
        is_forwarded in any::<bool>(),
    ) {
        let name = if is_forwarded { "forwarded" } else { "x-forwarded-for" };
        let own = if is_forwarded { "for=\"203.0.113.9\";proto=https" } else { CLIENT };
        let mut headers = HeaderMap::new();
        let mut lines: Vec<_> =
            lines.into_iter().filter_map(|line| HeaderValue::from_bytes(&line).ok()).collect();
        // A proxy adds its element to the last line, or in a line of its own.
        let last = if same_line { lines.pop() } else { None };
        for line in lines {
            headers.append(name, line);
        }
        let mut line = last.map(|last| last.as_bytes().to_vec()).unwrap_or_default();
        if !line.is_empty() {
            line.extend_from_slice(b", ");
        }
        line.extend_from_slice(own.as_bytes());
        headers.append(name, HeaderValue::from_bytes(&line).unwrap());

        let networks = Trust::networks(["10.0.0.0/8"]).unwrap();
        let trust = if hops { Trust::hops(1).unwrap() } else { networks };
        let addresses = if is_forwarded {
            ClientAddress::forwarded(trust)
        } else {
            ClientAddress::x_forwarded_for(trust)
        };
        let found = addresses.find(Some(PROXY.parse().unwrap()), &headers);
        prop_assert_eq!(found, Ok(CLIENT.parse().unwrap()));
    }

    #[test]
    fn no_bytes_make_it_panic(
        lines in vec(client_bytes(), 0..4),
        bits in any::<(u8, u8)>(),
        peer in any::<Option<IpAddr>>(),
    ) {
        let mut headers = HeaderMap::new();
        for line in lines {
            for name in ["forwarded", "x-forwarded-for", "cf-connecting-ip"] {
                if let Ok(line) = HeaderValue::from_bytes(&line) {
                    headers.append(name, line);
                }
            }
        }
        let everything = || Trust::networks(["0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"]).unwrap();
        for trust in [everything(), Trust::hops(3).unwrap()] {
            let sources = [
                ClientAddress::forwarded(trust.clone()),
                ClientAddress::x_forwarded_for(trust.clone()),
                ClientAddress::header(HeaderName::from_static("cf-connecting-ip"), trust.clone()),
                ClientAddress::header_with_port(HeaderName::from_static("cf-connecting-ip"), trust),
            ];
            for source in sources {
                let _ = source.ipv4_prefix(bits.0).ipv6_prefix(bits.1).key(peer, &headers);
            }
        }
    }
}
