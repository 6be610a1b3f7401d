//! Anything that a client, a proxy or a server may send. `fuzz/` runs the same checks.

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate_http::fields::MAX_ITEMS;

mod address;
mod fields;
mod forwarded;

fn one_of(texts: &[&'static str]) -> impl Strategy<Value = &'static str> + use<> + Clone {
    prop::sample::select(texts.to_vec())
}

/// Pieces that mean something to a parser, in any order, and any bytes.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "\n",
        ",",
        ", ",
        ";",
        "=",
        "\"",
        "\\",
        "\\\"",
        " ",
        "\t",
        ":",
        "[",
        "]",
        "%",
        "_",
        "-",
        "for=",
        "For=",
        "for=\"",
        "by=",
        "unknown",
        "1.1.1.1",
        "10.0.0.7",
        "80",
        "65536",
        "::1",
        "2001:db8::1",
        "::ffff:",
        "64:ff9b::",
        "fe80::1",
        "\n\0\"a\"",
        "\n\u{1}\"a\";q=1",
        ";r=",
        ";t=",
        "limit=",
        "remaining=",
        "reset=",
        "999999999999999",
        "1.5",
        "1790000000",
        "?1",
        "(",
        ")",
        "@1",
        "Mon, 05 Aug 2019 09:27:05 GMT",
        "\u{e9}",
        "{\"type\":",
        "\"status\":",
        "429",
        "\"violated-policies\":[",
        "]}",
        "{",
        "}",
    ];
    let pieces = vec(one_of(&pieces), 0..24);
    prop_oneof![
        2 => pieces.prop_map(|pieces| pieces.concat().into_bytes()),
        1 => vec(any::<u8>(), 0..60),
        4 => forwarded_line().prop_map(String::into_bytes),
        4 => named_items().prop_map(String::into_bytes),
    ]
}

/// Elements of `Forwarded` that are well-formed, with what looks like others in quotes.
fn forwarded_line() -> impl Strategy<Value = String> {
    let quoted =
        ["a", ",", ";", "\\\"", "\\\\", " ", "=", "for=1.1.1.1", "1.1.1.1", "[::1]:80", "_b"];
    let quoted = vec(one_of(&quoted), 0..4);
    let tokens = ["203.0.113.9", "1.1.1.1", "unknown", "_c", "https", "x'y", "::1"];
    let value = prop_oneof![
        quoted.prop_map(|content| format!("\"{}\"", content.concat())),
        one_of(&tokens).prop_map(str::to_owned),
    ];
    let names = ["for", "for", "For", "by", "host", "x"];
    let pair = (one_of(&names), value);
    let pair = pair.prop_map(|(name, value)| format!("{name}={value}"));
    let element = vec(pair, 0..3).prop_map(|pairs| pairs.join(";"));
    (vec(element, 1..4), one_of(&[",", ", ", " ,\t"]))
        .prop_map(|(elements, comma)| elements.join(comma))
}

/// Policies and limits of a response, of which some are not well-formed.
fn named_items() -> impl Strategy<Value = String> {
    let parameters = [
        ";q=5",
        ";q=0",
        ";q=-1",
        ";w=60",
        ";w=0",
        ";w=1.5",
        ";qu=\"content-bytes\"",
        ";qu=pages",
        ";qu=\"\"",
        ";qu=1",
        ";pk=:YQ==:",
        ";pk=::",
        ";pk=a",
        ";r=3",
        ";r=0",
        ";r=a",
        ";t=30",
        ";t=0",
        ";x",
        ";q=999999999999999",
    ];
    let names = ["\"a\"", "\"b\"", "\"a b\"", "c", "\"\"", "5", "\"\\\"\"", "(\"a\")"];
    let item = (one_of(&names), vec(one_of(&parameters), 0..6));
    let item = item.prop_map(|(name, parameters)| format!("{name}{}", parameters.concat()));
    let list = prop_oneof![9 => vec(item, 1..4), 1 => (MAX_ITEMS - 1..MAX_ITEMS + 2).prop_map(|items| vec!["\"a\";q=5;r=3".to_owned(); items])];
    let line = (one_of(&["\0", "\u{1}"]), list);
    let line = line.prop_map(|(name, items)| format!("{name}{}", items.join(", ")));
    vec(line, 1..4).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_change_the_key_of_a_client_or_are_read_otherwise_than_the_standard_says(bytes in bytes()) {
        address::check(&bytes);
    }

    #[test]
    fn no_bytes_of_a_server_exceed_the_bounds_or_change_when_they_are_written_again(bytes in bytes()) {
        fields::check(&bytes);
    }
}
