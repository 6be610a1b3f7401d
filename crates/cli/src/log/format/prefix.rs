//! Prefixes that runtimes and daemons of logs write before each line.

/// A text before the lines of a log.
#[derive(Debug)]
pub(super) struct Prefix {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Returns the line after it.
    rest: fn(&[u8]) -> Option<&[u8]>,
}

/// All that are known, in the order in which they are tried.
pub(super) const PREFIXES: [Prefix; 4] = [
    Prefix { name: "cri", about: "Kubernetes: `2015-05-17T10:05:03.1Z stdout F `", rest: cri },
    Prefix { name: "docker-compose", about: "`web-1  | `", rest: compose },
    Prefix { name: "syslog", about: "of RFC 3164 or 5424, or with RFC 3339's time", rest: syslog },
    Prefix { name: "journald", about: "`journalctl`, with any short output", rest: syslog },
];

/// A prefix among [`PREFIXES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrefixId(pub(super) usize);

impl PrefixId {
    pub(super) fn all() -> impl Iterator<Item = PrefixId> {
        (0..PREFIXES.len()).map(PrefixId)
    }

    pub(super) fn of_name(name: &str) -> Option<PrefixId> {
        PrefixId::all().find(|id| id.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        PREFIXES[self.0].name
    }

    /// Returns the line after the prefix, if the line has it.
    pub(super) fn rest(self, line: &[u8]) -> Option<&[u8]> {
        (PREFIXES[self.0].rest)(line)
    }
}

/// Divides at the first space.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b' ', text)?;
    Some((&text[..end], &text[end + 1..]))
}

/// Returns true for a time of RFC 3339 or the like.
fn is_iso_time(word: &[u8]) -> bool {
    matches!(word, [b'0'..=b'9', _, _, b'0'..=b'9', b'-', _, _, b'-', _, _, b'T', ..])
}

fn cri(line: &[u8]) -> Option<&[u8]> {
    let (time, line) = word(line)?;
    let (stream, line) = word(line)?;
    let (tags, line) = word(line)?;
    let is_one = is_iso_time(time)
        && matches!(stream, b"stdout" | b"stderr")
        && matches!(tags.first(), Some(b'F' | b'P'));
    is_one.then_some(line)
}

fn compose(line: &[u8]) -> Option<&[u8]> {
    let bar = memchr::memchr(b'|', line)?;
    let name = line[..bar].trim_ascii_end();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let is_one = name.len() < bar && !name.is_empty() && name.iter().all(is_name);
    let line = &line[bar + 1..];
    is_one.then(|| line.strip_prefix(b" ").unwrap_or(line))
}

fn syslog(line: &[u8]) -> Option<&[u8]> {
    let (line, is_numbered) = match line.strip_prefix(b"<") {
        None => (line, false),
        Some(line) => {
            let end = line.iter().take(4).position(|byte| *byte == b'>')?;
            (&line[end + 1..], line[..end].iter().all(u8::is_ascii_digit))
        }
    };
    if is_numbered && let Some(line) = line.strip_prefix(b"1 ") {
        return rfc_5424(line);
    }
    let line = match line.get(..16) {
        Some(stamp) if is_bsd_time(stamp) => match stamp[15] {
            b' ' => &line[16..],
            // Parts of a second.
            b'.' => word(&line[16..])?.1,
            _ => return None,
        },
        _ => word(line).filter(|(time, _)| is_iso_time(time))?.1,
    };
    // The host may be missing.
    let (first, rest) = word(line)?;
    if first.ends_with(b":") {
        return Some(rest);
    }
    let (tag, rest) = word(rest)?;
    tag.ends_with(b":").then_some(rest)
}

/// Returns true for a text that begins as `May 17 10:05:03`.
fn is_bsd_time(text: &[u8]) -> bool {
    matches!(
        text,
        [
            b'A'..=b'Z',
            b'a'..=b'z',
            b'a'..=b'z',
            b' ',
            b' ' | b'0'..=b'3',
            b'0'..=b'9',
            b' ',
            _,
            _,
            b':',
            _,
            _,
            b':',
            ..
        ]
    )
}

/// Returns the message after time, host, application, process, kind and data.
fn rfc_5424(mut line: &[u8]) -> Option<&[u8]> {
    for _ in 0..5 {
        line = word(line)?.1;
    }
    if let Some(line) = line.strip_prefix(b"- ") {
        return Some(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line));
    }
    let mut is_quoted = false;
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match byte {
            b'\\' if is_quoted => at += 1,
            b'"' => is_quoted = !is_quoted,
            b']' if !is_quoted && line.get(at + 1) == Some(&b' ') => {
                let line = &line[at + 2..];
                return Some(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line));
            }
            b'[' if at == 0 => {}
            _ if at == 0 => return None,
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest<'a>(name: &str, line: &'a str) -> Option<&'a str> {
        let prefix = PrefixId::of_name(name).unwrap();
        prefix.rest(line.as_bytes()).map(|rest| str::from_utf8(rest).unwrap())
    }

    #[test]
    fn the_line_after_a_prefix_is_found() {
        for (name, line) in [
            ("cri", "2016-10-06T00:17:09.669794202Z stdout F a b"),
            ("cri", "2016-10-06T00:17:09.669794202+02:00 stderr P a b"),
            ("docker-compose", "web-1  | a b"),
            ("docker-compose", "web_1     | a b"),
            ("syslog", "Feb  6 12:14:14 host haproxy[14389]: a b"),
            ("syslog", "<134>Feb 16 12:14:14 haproxy[14389]: a b"),
            ("syslog", "<190>May 17 10:05:03 host nginx: a b"),
            ("syslog", "2023-09-04T10:05:03.123456+02:00 host nginx: a b"),
            ("syslog", "<34>1 2003-10-11T22:14:15.003Z host su - ID47 - a b"),
            (
                "syslog",
                "<34>1 2003-10-11T22:14:15.003Z host su - ID47 [x@1 y=\"]\\\" ]\"][z@2] \u{feff}a b",
            ),
            ("journald", "May 17 10:05:03.123456 host nginx[77]: a b"),
            ("journald", "2015-05-17T10:05:03+0000 host nginx[77]: a b"),
        ] {
            assert_eq!(rest(name, line), Some("a b"), "{line}");
        }
    }

    #[test]
    fn other_lines_have_no_prefix() {
        for line in [
            "",
            "a",
            "192.0.2.7 - - [17/May/2015:10:05:03 +0000] \"GET /a|b HTTP/1.1\" 200 1",
            "{\"a\":\"b | c\"}",
            "2015-05-17T10:05:03Z 192.0.2.7 GET /",
            "2015-05-17 10:05:03 192.0.2.7 GET /",
            "<34",
            "<34>1 a b c d e f",
            "<34>1 a b c d e [x",
        ] {
            for prefix in &PREFIXES {
                assert_eq!(rest(prefix.name, line), None, "{}: {line}", prefix.name);
            }
        }
    }
}
