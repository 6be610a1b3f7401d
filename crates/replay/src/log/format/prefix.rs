//! Prefixes that runtimes, daemons of logs and searches of several logs write before each line.

use memchr::memmem;
use sluicegate_policy::client_address;

/// A text before the lines of a log.
#[derive(Debug)]
pub(super) struct Prefix {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Returns the line after it.
    rest: fn(&[u8]) -> Option<&[u8]>,
}

/// All that are known, in the order in which they are tried.
pub(super) const PREFIXES: [Prefix; 5] = [
    Prefix { name: "cri", about: "Kubernetes: `2015-05-17T10:05:03.1Z stdout F `", rest: cri },
    Prefix { name: "docker-compose", about: "`web-1  | `", rest: compose },
    Prefix { name: "syslog", about: "of RFC 3164 or 5424, or with RFC 3339's time", rest: syslog },
    Prefix { name: "journald", about: "`journalctl`, with any short output", rest: journald },
    Prefix { name: "grep", about: "of several logs or with numbers: `access.log:17:`", rest: grep },
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

/// The prefixes before each line, the outer one first: none, one, or one within another, as of a daemon that writes to
/// syslog in a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Before {
    outer: Option<PrefixId>,
    inner: Option<PrefixId>,
}

impl Before {
    pub(super) fn is_none(self) -> bool {
        self.outer.is_none()
    }

    /// Returns the number of prefixes.
    pub(super) fn depth(self) -> usize {
        self.ids().count()
    }

    /// Adds a prefix within the others; `None` if there are two.
    pub(super) fn with(self, id: PrefixId) -> Option<Before> {
        match (self.outer, self.inner) {
            (None, _) => Some(Before { outer: Some(id), inner: None }),
            (_, None) => Some(Before { inner: Some(id), ..self }),
            _ => None,
        }
    }

    /// Returns the line after all of them, if the line has them.
    pub(super) fn rest(self, line: &[u8]) -> Option<&[u8]> {
        self.ids().try_fold(line, |line, id| id.rest(line))
    }

    /// Returns the line after those of them that it has.
    #[inline]
    pub(super) fn strip(self, line: &[u8]) -> &[u8] {
        self.ids().fold(line, |line, id| id.rest(line).unwrap_or(line))
    }

    /// Returns the name for messages: `cri`, or `cri and syslog`.
    pub(super) fn name(self) -> String {
        self.ids().map(PrefixId::name).collect::<Vec<_>>().join(" and ")
    }

    fn ids(self) -> impl Iterator<Item = PrefixId> {
        self.outer.into_iter().chain(self.inner)
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
    after_tag(line)
}

/// Returns the message after `host nginx[77]: `, of which the host may be missing.
fn after_tag(line: &[u8]) -> Option<&[u8]> {
    let (first, rest) = word(line)?;
    if first.is_empty() || first.ends_with(b":") {
        return (!first.is_empty()).then_some(rest);
    }
    let (tag, rest) = word(rest)?;
    tag.ends_with(b":").then_some(rest)
}

/// The short outputs of `journalctl` with a time that syslog has not: since the start of the machine, since 1970, and
/// that of `short-full`, such as `Fri 2026-11-20 09:00:00 UTC`.
fn journald(line: &[u8]) -> Option<&[u8]> {
    let is_number = |text: &[u8]| {
        let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        let point = memchr::memchr(b'.', text);
        point.is_some_and(|point| digits(&text[..point]) && digits(&text[point + 1..]))
    };
    if let Some(line) = line.strip_prefix(b"[") {
        let end = memchr::memchr(b']', line)?;
        // `short-delta` has the time since the last line too: `[   12.345678 <    0.000007 >]`.
        let time = line[..end].trim_ascii_start();
        let time = time.split(|byte| *byte == b' ').next().filter(|time| is_number(time));
        return time.and_then(|_| after_tag(line[end + 1..].strip_prefix(b" ")?));
    }
    let (first, rest) = word(line)?;
    if is_number(first) {
        return after_tag(rest);
    }
    if let [b'A'..=b'Z', b'a'..=b'z', b'a'..=b'z'] = first {
        let (date, rest) = word(rest)?;
        let (time, rest) = word(rest)?;
        let (zone, rest) = word(rest)?;
        let is_one = matches!(date, [b'0'..=b'9', _, _, b'0'..=b'9', b'-', _, _, b'-', _, _])
            && matches!(time, [b'0'..=b'9', _, b':', _, _, b':', ..])
            && !zone.is_empty();
        if is_one {
            return after_tag(rest);
        }
    }
    syslog(line)
}

/// The name of a log, the number of a line, or both. A number alone is told by what follows it, as it may begin an address.
fn grep(line: &[u8]) -> Option<&[u8]> {
    let (first, _) = word(line).unwrap_or((line, b""));
    let is_address =
        |text: &[u8]| client_address(word(text).map_or(text, |(first, _)| first)).is_some();
    let (name, rest) = line.split_at(memchr::memchr(b':', first)?);
    let rest = &rest[1..];
    let is_number = |name: &[u8]| !name.is_empty() && name.iter().all(u8::is_ascii_digit);
    if is_address(line) || name.iter().any(|byte| b"[{\"=,;\t".contains(byte)) {
        return None;
    }
    if is_number(name) {
        return (is_address(rest) || rest.starts_with(b"{")).then_some(rest);
    }
    let is_file =
        [&b"/"[..], b".log", b".json"].iter().any(|part| memmem::find(name, part).is_some());
    if !is_file || is_address(rest) {
        return is_file.then_some(rest);
    }
    // Digits before a colon may be those of a time of day.
    let numbered = memchr::memchr(b':', rest).map(|end| (&rest[..end], &rest[end + 1..]));
    let is_line = |line: &[u8]| !line.first().is_some_and(u8::is_ascii_digit) || is_address(line);
    match numbered {
        Some((number, line)) if is_number(number) && is_line(line) => Some(line),
        _ => Some(rest),
    }
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
            ("journald", "[   12.345678] host nginx[77]: a b"),
            ("journald", "[39861.101829] nginx[77]: a b"),
            ("journald", "[   12.345678 <    0.000007 >] host nginx[77]: a b"),
            ("journald", "1795165200.123456 host nginx[77]: a b"),
            ("journald", "Fri 2026-11-20 09:00:00 UTC host nginx[77]: a b"),
            ("journald", "Fri 2026-11-20 09:00:00.123456 +02 host nginx: a b"),
            ("grep", "access.log:a b"),
            ("grep", "/var/log/nginx/access.log.1:17:a b"),
        ] {
            assert_eq!(rest(name, line), Some("a b"), "{line}");
        }
    }

    #[test]
    fn a_number_of_a_line_is_told_from_the_address_after_it() {
        for (line, after) in [
            ("17:192.0.2.7 a", Some("192.0.2.7 a")),
            ("17:{\"a\":1}", Some("{\"a\":1}")),
            ("access.log:17:192.0.2.7 a", Some("192.0.2.7 a")),
            ("access.log:2001:db8::1 a", Some("2001:db8::1 a")),
            ("access.log:192.0.2.7:80 a", Some("192.0.2.7:80 a")),
            ("access.log:10:05:03 a", Some("10:05:03 a")),
            ("access.log:[10/May", Some("[10/May")),
            ("2001:db8::1 a", None),
            ("17:05 a", None),
            ("192.0.2.7:80 a", None),
            ("example.org:443 192.0.2.7 a", None),
            ("[2001:db8::1]:80 a", None),
            ("host:192.0.2.7\treq:a.log:1", None),
            ("{\"a.log\":1}", None),
            ("unix: a", None),
        ] {
            assert_eq!(rest("grep", line), after, "{line}");
        }
    }

    #[test]
    fn a_prefix_may_be_within_another() {
        let id = |name| PrefixId::of_name(name).unwrap();
        let before = Before::default().with(id("cri")).unwrap().with(id("syslog")).unwrap();
        let line = b"2016-10-06T00:17:09.6Z stdout F Feb  6 12:14:14 host haproxy[1]: a b";
        assert_eq!(before.rest(line), Some(&b"a b"[..]));
        assert_eq!(before.name(), "cri and syslog");
        let line = b"2016-10-06T00:17:09.6Z stdout F a b";
        assert_eq!((before.rest(line), before.strip(line)), (None, &b"a b"[..]));
        assert_eq!(before.with(id("cri")), None);
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
            "[20.1 a b: c",
            "[2015-05-17T10:05:03.000Z] \"GET / HTTP/1.1\" 200 - 0 1",
            "[Fri Nov 20 09:00:00.123456 2026] [core:error] [pid 12] a: b",
            "1431857103.000     21 192.0.2.7 TCP_MISS/200 1000 GET http://example.org/ - HIER_DIRECT/192.0.2.1 text/html",
            "Fri 2026-11-20 09:00:00 UTC",
        ] {
            for prefix in &PREFIXES {
                assert_eq!(rest(prefix.name, line), None, "{}: {line}", prefix.name);
            }
        }
    }
}
