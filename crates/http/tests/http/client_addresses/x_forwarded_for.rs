//! Addresses in `X-Forwarded-For`.

use super::*;

#[test]
fn by_networks() {
    let xff = "x-forwarded-for";
    let both = "1.1.1.1, 203.0.113.9";
    check(
        &ClientAddress::x_forwarded_for(trusted()),
        &[
            // As it should be.
            (PROXY, &[(xff, CLIENT)], Ok(CLIENT)),
            (PROXY, &[(xff, "203.0.113.9, 10.0.0.3")], Ok(CLIENT)),
            (PROXY, &[(xff, "203.0.113.9,10.0.0.3 ,\t10.0.0.4")], Ok(CLIENT)),
            // The client comes past the proxy, and pretends to be another, or a proxy.
            (CLIENT, &[(xff, "1.1.1.1")], Ok(CLIENT)),
            (CLIENT, &[(xff, "10.0.0.1")], Ok(CLIENT)),
            (CLIENT, &[(xff, "127.0.0.1")], Ok(CLIENT)),
            (CLIENT, &[(xff, "junk")], Ok(CLIENT)),
            (CLIENT, &[], Ok(CLIENT)),
            // It comes through the proxy, which adds its address to what it has sent.
            (PROXY, &[(xff, both)], Ok(CLIENT)),
            (PROXY, &[(xff, "10.0.0.1, 203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(xff, "127.0.0.1, 203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(xff, "1.1.1.1, 2.2.2.2, 3.3.3.3, 203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(xff, "1.1.1.1, 203.0.113.9, 10.0.0.3")], Ok(CLIENT)),
            (PROXY, &[(xff, "junk, 203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(xff, "unknown, 203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(xff, "999.1.1.1, 203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(xff, "\u{e9}\u{e9}, 203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(xff, "\", 203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(xff, ",,,, 203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(xff, "'; DROP TABLE keys, 203.0.113.9")], Ok(CLIENT)),
            // In a line of its own.
            (PROXY, &[(xff, "1.1.1.1"), (xff, CLIENT)], Ok(CLIENT)),
            (PROXY, &[(xff, "1.1.1.1"), (xff, "2.2.2.2"), (xff, CLIENT)], Ok(CLIENT)),
            (PROXY, &[(xff, "1.1.1.1"), (xff, CLIENT), (xff, "10.0.0.3")], Ok(CLIENT)),
            (PROXY, &[(xff, "junk"), (xff, CLIENT)], Ok(CLIENT)),
            (PROXY, &[(xff, ""), (xff, CLIENT)], Ok(CLIENT)),
            // In another field.
            (PROXY, &[("forwarded", "for=1.1.1.1"), (xff, CLIENT)], Ok(CLIENT)),
            (PROXY, &[("x-real-ip", "1.1.1.1"), (xff, CLIENT)], Ok(CLIENT)),
            (PROXY, &[("x-forwarded-for-original", "1.1.1.1"), (xff, CLIENT)], Ok(CLIENT)),
            // All forms of an address.
            (PROXY, &[(xff, "203.0.113.9:4711")], Ok(CLIENT)),
            (PROXY, &[(xff, "::ffff:203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(xff, "::ffff:cb00:7109")], Ok(CLIENT)),
            (PROXY, &[(xff, "64:ff9b::cb00:7109")], Ok(CLIENT)),
            (PROXY, &[(xff, "[::ffff:203.0.113.9]:4711")], Ok(CLIENT)),
            (PROXY, &[(xff, "2001:db8::1")], Ok("2001:db8::1")),
            (PROXY, &[(xff, "[2001:DB8::1]")], Ok("2001:db8::1")),
            (PROXY, &[(xff, "[2001:db8::1]:4711")], Ok("2001:db8::1")),
            ("::ffff:10.0.0.7", &[(xff, both)], Ok(CLIENT)),
            ("fd00::1", &[(xff, both)], Ok(CLIENT)),
            ("64:ff9b::a00:7", &[(xff, both)], Ok(CLIENT)),
            (PROXY, &[(xff, "203.0.113.9, ::ffff:10.0.0.3")], Ok(CLIENT)),
            // A client that is itself in a trusted network: the first of all.
            (PROXY, &[(xff, "10.0.0.1")], Ok("10.0.0.1")),
            (PROXY, &[(xff, "10.0.0.1, 10.0.0.2")], Ok("10.0.0.1")),
            // What the proxy should have sent is not there.
            (PROXY, &[], Err(MissingField)),
            (PROXY, &[(xff, "")], Err(MissingField)),
            (PROXY, &[(xff, " , ,")], Err(MissingField)),
            (PROXY, &[("forwarded", "for=1.1.1.1")], Err(MissingField)),
            (PROXY, &[(xff, "203.0.113.9, junk")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9, junk, 10.0.0.3")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9, 010.0.0.3")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9, 0x0a.0.0.3")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9, 167772163")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9, 10.0.0")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9, 10.0.0.3:")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9, 10.0.0.3:port")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9, 10.0.0.3:123456")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9 10.0.0.3")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9, [10.0.0.3]")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9, [fd00::1")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9, [fd00::1]4711")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9, fe80::1%eth0")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9, 10.0.0.0/8")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9, \u{e9}")], Err(Malformed)),
            (PROXY, &[(xff, "203.0.113.9, unknown")], Err(Hidden)),
            ("", &[(xff, CLIENT)], Err(NoPeer)),
        ],
    );
}

#[test]
fn by_hops() {
    let xff = "x-forwarded-for";
    check(
        &ClientAddress::x_forwarded_for(Trust::hops(1).unwrap()),
        &[
            (PROXY, &[(xff, CLIENT)], Ok(CLIENT)),
            ("", &[(xff, CLIENT)], Ok(CLIENT)),
            (PROXY, &[(xff, "1.1.1.1, 203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(xff, "junk, 203.0.113.9")], Ok(CLIENT)),
            (PROXY, &[(xff, "1.1.1.1"), (xff, CLIENT)], Ok(CLIENT)),
            (PROXY, &[(xff, "1.1.1.1, 203.0.113.9,")], Ok(CLIENT)),
            (PROXY, &[(xff, "1.1.1.1, junk")], Err(Malformed)),
            (PROXY, &[], Err(MissingField)),
        ],
    );
    check(
        &ClientAddress::x_forwarded_for(Trust::hops(2).unwrap()),
        &[
            (PROXY, &[(xff, "203.0.113.9, 198.51.100.1")], Ok(CLIENT)),
            (PROXY, &[(xff, "1.1.1.1, 203.0.113.9, 198.51.100.1")], Ok(CLIENT)),
            (PROXY, &[(xff, "1.1.1.1, 203.0.113.9"), (xff, "198.51.100.1")], Ok(CLIENT)),
            // The inner proxy may hide who the outer one is.
            (PROXY, &[(xff, "1.1.1.1, 203.0.113.9, unknown")], Ok(CLIENT)),
            // The client comes past the outer proxy.
            (PROXY, &[(xff, CLIENT)], Err(TooFewHops { expected: 2, found: 1 })),
        ],
    );
}
