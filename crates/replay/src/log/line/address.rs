//! Canonical forms of addresses, so that an address has one key however it is spelled.

use sluicegate_policy::AddressPrefix;

/// Writes the canonical form of a client's address to `out`, without brackets and port. Returns false, and
/// writes nothing, if the text is no address or is in that form.
pub(super) fn write_canonical(text: &[u8], out: &mut Vec<u8>) -> bool {
    // An IPv4 address without a port has one form.
    if memchr::memchr(b':', text).is_none() {
        return false;
    }
    let from = out.len();
    let differs = AddressPrefix::WHOLE.write(text, out) && out[from..] != *text;
    if !differs {
        out.truncate(from);
    }
    differs
}

/// Returns the client of a list of addresses such as that of `X-Forwarded-For`, to which so many proxies have each added
/// one: the first of them saw the client, which may have made up the addresses before its own.
pub(in crate::log) fn client_of_list(list: &[u8], proxies: u8) -> &[u8] {
    if memchr::memchr(b',', list).is_none() {
        return list;
    }
    let seen = list.rsplit(|byte| *byte == b',').take(usize::from(proxies.max(1))).last();
    let client = seen.unwrap_or(list).trim_ascii();
    if AddressPrefix::WHOLE.write(client, &mut Vec::new()) { client } else { list }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_list_the_address_counts_that_the_first_proxy_saw() {
        for (list, proxies, client) in [
            ("192.0.2.7", 1, "192.0.2.7"),
            ("10.0.0.1, 192.0.2.7", 1, "192.0.2.7"),
            ("10.0.0.1,2001:db8::1", 0, "2001:db8::1"),
            ("1.1.1.1, 192.0.2.7, 10.0.0.1", 2, "192.0.2.7"),
            ("192.0.2.7, 10.0.0.1", 5, "192.0.2.7"),
            ("10.0.0.1, nobody", 1, "10.0.0.1, nobody"),
            (",", 1, ","),
        ] {
            assert_eq!(client_of_list(list.as_bytes(), proxies), client.as_bytes());
        }
    }

    #[test]
    fn spellings_of_one_address_become_one() {
        let canonical = |text: &str| {
            let mut out = Vec::new();
            let differs = write_canonical(text.as_bytes(), &mut out);
            assert_eq!(differs, !out.is_empty(), "{text}");
            if differs { String::from_utf8(out).unwrap() } else { text.to_owned() }
        };
        for text in ["2001:DB8::1", "2001:db8:0:0::1", "2001:0db8:0000::0001", "[2001:db8::1]"] {
            assert_eq!(canonical(text), "2001:db8::1");
        }
        assert_eq!(canonical("2001:db8::1"), "2001:db8::1");
        assert_eq!(canonical("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(canonical("::FFFF:c000:207"), "192.0.2.7");
        assert_eq!(canonical("192.0.2.7:4711"), "192.0.2.7");
        assert_eq!(canonical("[2001:DB8::1]:443"), "2001:db8::1");
        for text in ["192.0.2.7", "host:80", "::1", "fe80::1%eth0", "-", ":", "\u{fc}:"] {
            assert_eq!(canonical(text), text);
        }
    }
}
