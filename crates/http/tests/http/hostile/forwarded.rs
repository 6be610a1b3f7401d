//! RFC 7239 read from the beginning, and only what is well-formed: a slow reference.

/// Returns the values of `for` of the last element, without quotes but with escapes, or `None` if the line
/// is not well-formed or has no element.
pub(crate) fn last_nodes(line: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(line).ok().filter(|text| text.is_ascii())?;
    let mut rest = text;
    let mut last = None;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if !rest.is_empty() && !rest.starts_with(',') {
            let (nodes, behind) = element(rest)?;
            last = Some(nodes);
            rest = behind.trim_start_matches([' ', '\t']);
        }
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind,
            None if rest.is_empty() => return last,
            None => return None,
        }
    }
}

/// Reads pairs between semicolons.
fn element(text: &str) -> Option<(Vec<String>, &str)> {
    let mut nodes = Vec::new();
    let mut rest = text;
    loop {
        if !rest.is_empty() && !rest.starts_with([';', ',', ' ', '\t']) {
            let (name, behind) = token(rest)?;
            let (value, behind) = value(behind.strip_prefix('=')?)?;
            if name.eq_ignore_ascii_case("for") {
                nodes.push(value.to_owned());
            }
            rest = behind;
        }
        match rest.strip_prefix(';') {
            Some(behind) => rest = behind,
            None => return Some((nodes, rest)),
        }
    }
}

fn token(text: &str) -> Option<(&str, &str)> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let end = text.bytes().position(|byte| !is_token(byte)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn value(text: &str) -> Option<(&str, &str)> {
    let Some(content) = text.strip_prefix('"') else { return token(text) };
    let mut is_escaped = false;
    for (at, byte) in content.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Some((&content[..at], &content[at + 1..])),
            _ => {}
        }
    }
    None
}

#[test]
fn the_reference_reads_the_examples_of_the_standard() {
    let rows: [(&str, Option<&[&str]>); 9] = [
        (r#"for="_gazonk""#, Some(&["_gazonk"])),
        (r#"For="[2001:db8:cafe::17]:4711""#, Some(&["[2001:db8:cafe::17]:4711"])),
        ("for=192.0.2.60;proto=http;by=203.0.113.43", Some(&["192.0.2.60"])),
        ("for=192.0.2.43, for=198.51.100.17", Some(&["198.51.100.17"])),
        (r#"for=192.0.2.43, for="[2001:db8:cafe::17]""#, Some(&["[2001:db8:cafe::17]"])),
        (r#"for=a;host="b,\",for=c" ,"#, Some(&["a"])),
        ("by=a;for=b;;for=c", Some(&["b", "c"])),
        ("for=[::1]", None),
        (r#"for="a"#, None),
    ];
    for (line, expected) in rows {
        let expected = expected.map(|nodes| nodes.iter().map(|node| (*node).to_owned()).collect());
        assert_eq!(last_nodes(line.as_bytes()), expected, "{line}");
    }
}
