//! Inputs that are no log, or a damaged one: counted skips or a clear error, never a panic, and in
//! bounded memory.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use super::malformed_formats::zstd_bomb;
use super::{Folder, LOG, gzip, json, stderr};

/// The expected result of an input.
pub(crate) enum Then {
    /// The status, and the number of lines judged and skipped.
    Counts(i32, u64, u64),
    /// Status 1, and a part of the message; nothing is reported.
    Error(&'static str),
    /// Status 2, and a part of the message; nothing is reported.
    Refused(&'static str),
    /// Status 1, a part of the message, and at least so many lines judged.
    Part(&'static str, u64),
}

use Then::{Counts, Error, Part, Refused};

pub(crate) const GOOD: &str = "a - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1\n";

pub(crate) fn good(lines: usize) -> Vec<u8> {
    GOOD.repeat(lines).into_bytes()
}

/// Returns three good lines with another in their middle.
fn among(line: impl AsRef<[u8]>) -> Vec<u8> {
    [&good(2), line.as_ref(), b"\n", &good(1)].concat()
}

fn with(from: &str, to: &str) -> Vec<u8> {
    among(GOOD.trim_end().replacen(from, to, 1))
}

pub(crate) fn cut(mut bytes: Vec<u8>, by: usize) -> Vec<u8> {
    bytes.truncate(bytes.len() - by);
    bytes
}

fn utf16(text: &str, bytes_of: fn(u16) -> [u8; 2]) -> Vec<u8> {
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes_of).collect()
}

/// Returns a gzip of zeros, without having them in memory.
fn bomb(mebibytes: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let zeros = vec![0; 1 << 20];
    for _ in 0..mebibytes {
        encoder.write_all(&zeros).unwrap();
    }
    encoder.finish().unwrap()
}

/// Returns a long text that does not repeat, so that some of it is in each part of a gzip.
pub(crate) fn noisy(lines: usize) -> String {
    (0..lines).map(|n| GOOD.replacen('a', &format!("a{}", n * n * 7919 % 1_000_003), 1)).collect()
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn cases() -> Vec<(&'static str, Vec<u8>, Then)> {
    let corrupt = |bytes: Vec<u8>, at: usize| {
        let mut bytes = bytes;
        bytes[at] ^= 0xff;
        bytes
    };
    let one_bad = || Counts(0, 3, 1);
    vec![
        ("nothing", Vec::new(), Counts(3, 0, 0)),
        ("a line end", b"\n".to_vec(), Counts(3, 0, 0)),
        ("white space", b" \t \r\n\n\r\n".to_vec(), Counts(3, 0, 0)),
        ("no line end", good(1)[..58].to_vec(), Counts(0, 1, 0)),
        ("carriage returns", GOOD.replace('\n', "\r\n").into_bytes(), Counts(0, 1, 0)),
        ("a lone carriage return", with("\n", "\r"), Counts(0, 4, 0)),
        ("one NUL", among("\0"), one_bad()),
        ("NULs in the client", with("a -", "a\0\0b -"), Counts(0, 4, 0)),
        ("NULs before a line", with("a -", "\0\0\0a -"), Counts(0, 4, 0)),
        (
            "a hole of NULs",
            [good(2), vec![0; 500_000], b"\n".to_vec(), good(2)].concat(),
            Counts(0, 4, 1),
        ),
        ("a mebibyte of letters", among(vec![b'x'; 1 << 20]), one_bad()),
        (
            "a request of a mebibyte",
            with("GET /", &format!("GET /{}", "x".repeat(1 << 20))),
            one_bad(),
        ),
        (
            "a request as long as it may be",
            with("GET /", &format!("GET /{}", "x".repeat(65_000))),
            Counts(0, 4, 0),
        ),
        ("three long lines at the end", [good(4), vec![b'x'; 3 << 20]].concat(), Counts(0, 4, 1)),
        ("a bomb of zeros", bomb(16), Counts(3, 0, 1)),
        ("not UTF-8", among(b"\xff\xfe\xfd"), one_bad()),
        ("an agent that is not UTF-8", with("200 1", "200 1 \"-\" \"\u{e9}\""), Counts(0, 4, 0)),
        (
            "Latin-1",
            among(b"h\xf6st - - [17/May/2015:10:05:03 +0000] \"GET /\xe9 HTTP/1.1\" 200 1"),
            Counts(0, 4, 0),
        ),
        ("a byte-order mark", [b"\xef\xbb\xbf".to_vec(), good(2)].concat(), Counts(0, 2, 0)),
        ("a byte-order mark alone", b"\xef\xbb\xbf".to_vec(), Counts(3, 0, 0)),
        ("UTF-16, little end first", utf16(LOG, u16::to_le_bytes), Error("is text in UTF-16")),
        ("UTF-16, big end first", utf16(LOG, u16::to_be_bytes), Error("is text in UTF-16")),
        ("xz", b"\xfd7zXZ\0\0\x04".to_vec(), Error("compressed by xz")),
        ("bzip2", b"BZh91AY&SY".to_vec(), Error("compressed by bzip2")),
        ("lz4", b"\x04\x22\x4d\x18\x64".to_vec(), Error("compressed by lz4")),
        ("zip", b"PK\x03\x04\x14\0\0\0".to_vec(), Error("a zip archive")),
        ("half of gzip's magic", b"\x1f".to_vec(), Counts(3, 0, 1)),
        ("gzip's magic alone", b"\x1f\x8b".to_vec(), Part("unexpected end of file", 0)),
        ("gzip of nothing", gzip(""), Counts(3, 0, 0)),
        ("gzip and then gzip", gzip(LOG).repeat(2), Counts(0, 12, 0)),
        (
            "gzip without its trailer",
            cut(gzip(&noisy(20_000)), 8),
            Part("unexpected end of file", 19_000),
        ),
        (
            "gzip cut in its middle",
            {
                let gzip = gzip(&noisy(20_000));
                let half = gzip.len() / 2;
                cut(gzip, half)
            },
            Part("incomplete deflate stream", 5_000),
        ),
        (
            "gzip with a wrong checksum",
            {
                let gzip = gzip(&noisy(99));
                let at = gzip.len() - 6;
                corrupt(gzip, at)
            },
            Part("corrupt", 90),
        ),
        (
            "gzip with a damaged block",
            {
                let gzip = gzip(&noisy(20_000));
                let at = gzip.len() / 2;
                corrupt(gzip, at)
            },
            Part("error: bad.log", 0),
        ),
        (
            "gzip and then junk",
            [gzip(LOG), b"junk junk junk".to_vec()].concat(),
            Part("invalid gzip header", 6),
        ),
        ("gzip and then zeros", [gzip(LOG), vec![0; 512]].concat(), Part("invalid gzip header", 6)),
        (
            "gzip in gzip",
            {
                let mut outer = GzEncoder::new(Vec::new(), Compression::fast());
                outer.write_all(&gzip(LOG)).unwrap();
                outer.finish().unwrap()
            },
            Counts(3, 0, 1),
        ),
        ("zstd's magic alone", b"\x28\xb5\x2f\xfd".to_vec(), Part("zstd", 0)),
        ("zstd and then junk", b"\x28\xb5\x2f\xfd\x24junkjunkjunk".to_vec(), Part("zstd", 0)),
        (
            "a zstd frame to be skipped",
            b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00\x50\x2a\x4d\x18\x02\x00\x00\x00ab".to_vec(),
            Counts(3, 0, 0),
        ),
        ("a date in the far future", with("2015", "9015"), one_bad()),
        (
            "a date after the clock's end",
            GOOD.repeat(3).replace("2015", "2600").into_bytes(),
            Counts(3, 0, 3),
        ),
        (
            "a date before 1970",
            GOOD.repeat(3).replace("2015", "1969").into_bytes(),
            Counts(3, 0, 3),
        ),
        ("the year 0", with("2015", "0000"), Counts(0, 4, 0)),
        ("a day too many", with("17/May", "31/Jun"), one_bad()),
        ("an hour too many", with("10:05", "25:05"), one_bad()),
        ("a month that is none", with("May", "Mai"), one_bad()),
        ("a zone that is none", with("+0000", "UTC"), one_bad()),
        (
            "a time without digits",
            with("17/May/2015:10:05:03 +0000", "::/::/::::::::::::::::::::"),
            one_bad(),
        ),
        ("an empty time", with("17/May/2015:10:05:03 +0000", ""), one_bad()),
        ("a size beyond 64 bits", with("200 1", "200 99999999999999999999"), one_bad()),
        ("a status of four digits", with("200 1", "2000 1"), one_bad()),
        ("an open quote", with("HTTP/1.1\"", "HTTP/1.1"), one_bad()),
        ("a backslash at the end", with("200 1", "200 1 \"-\" \"x\\"), one_bad()),
        ("JSON", among("{\"remote_addr\":\"1.2.3.4\",\"status\":200}"), one_bad()),
        ("a syslog line", among("May 17 10:05:03 host nginx: a - - GET / 200"), one_bad()),
        ("a header of W3C extended format", among("#Fields: date time c-ip cs-method"), one_bad()),
        ("a virtual host first", with("a -", "vhost:80 a -"), one_bad()),
        ("a line cut by rotation", among("a - - [17/May/2015:10:05:03 +0000] \"GET /"), one_bad()),
        ("two lines in one", with("\n", " "), Counts(0, 4, 0)),
        ("escape codes", among("\x1b[31m\x1b]0;title\x07"), one_bad()),
        ("mostly junk", [good(2), b"junk\n".repeat(10)].concat(), Counts(3, 2, 10)),
    ]
}

#[test]
fn malformed_inputs_are_counted_or_refused() {
    let cases = cases();
    assert!(cases.len() >= 40);
    assert_each(cases.into_iter().map(|(name, input, then)| (name, "common", input, then)));
}

/// Replays each input in its format, and compares the result.
pub(crate) fn assert_each(
    cases: impl IntoIterator<Item = (&'static str, &'static str, Vec<u8>, Then)>,
) {
    let folder = Folder::new();
    let mut wrong = Vec::new();
    for (name, format, input, then) in cases {
        folder.file("bad.log", &input);
        let assert = folder.replay(&["--json", "--format", format, "bad.log"], "");
        let output = assert.get_output();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!errors.contains("panicked"), "{name}: {errors}");
        assert!(!errors.contains('\x1b'), "{name}: {errors}");
        let found: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        let count = |field: &str| found.as_ref().and_then(|found| found[field].as_u64());
        let (code, lines, skipped) = (output.status.code(), count("lines"), count("skipped"));
        let seen = format!("{name}: {code:?}, {lines:?}, {skipped:?}, {errors}");
        let is_as_expected = match then {
            Counts(status, judged, not) => {
                (code, lines, skipped) == (Some(status), Some(judged), Some(not))
            }
            Refused(part) => code == Some(2) && errors.contains(part) && found.is_none(),
            Error(part) => code == Some(1) && errors.contains(part) && found.is_none(),
            Part(part, least) => {
                let is_incomplete = found.is_some_and(|found| found["incomplete"] == true);
                code == Some(1) && errors.contains(part) && lines >= Some(least) && is_incomplete
            }
        };
        if !is_as_expected {
            wrong.push(seen);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_bomb_is_read_in_bounded_memory() {
    let folder = Folder::new();
    folder.file("bomb.gz", bomb(300));
    let mut long = vec![b'x'; 300 << 20];
    long.extend_from_slice(&good(3));
    folder.file("long.log", long);
    // 300 MiB of zeros each: with a window of 8 MiB it is read, and one of a gibibyte is refused.
    folder.file("bomb.zst", zstd_bomb(2400, 13 << 3));
    folder.file("window.zst", zstd_bomb(2400, 20 << 3));
    for (log, skipped) in [("bomb.gz", 1), ("long.log", 1), ("bomb.zst", 1), ("window.zst", 0)] {
        let script = format!(
            "ulimit -v 250000; exec {} replay --json {log}",
            env!("CARGO_BIN_EXE_sluicegate")
        );
        let output = std::process::Command::new("sh")
            .current_dir(folder.0.path())
            .args(["-c", &script])
            .output()
            .unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
            panic!("{log}: {}", String::from_utf8_lossy(&output.stderr));
        });
        assert_eq!(found["skipped"], skipped, "{log}");
    }
}

#[test]
fn bad_lines_are_counted_and_the_first_five_shown() {
    let folder = Folder::new();
    let time = LOG.replacen("17/May", "17/Mai", 1);
    folder.file(
        "bad.log",
        [time.as_bytes(), b"\xff\xfe\x1b[31m\n\n", &b"x\n".repeat(6), LOG.as_bytes()].concat(),
    );
    let replay = folder.replay(&["--json", "bad.log"], "").success();
    assert_eq!((&json(&replay)["lines"], &json(&replay)["skipped"]), (&json!(11), &json!(8)));
    assert_eq!(
        stderr(&replay),
        "\
skipped bad.log:1: `17/Mai/2015:10:05:03 +0000` is not a time such as `17/May/2015:10:05:03 +0000`
skipped bad.log:7: not in common or combined log format
skipped bad.log:9: not in common or combined log format
skipped bad.log:10: not in common or combined log format
skipped bad.log:11: not in common or combined log format
skipped 3 more lines
"
    );
}

#[test]
fn the_reason_why_a_time_is_wrong_is_told() {
    let folder = Folder::new();
    for (log, why) in [
        (GOOD.replace("2015", "1969"), ":1: 1969-05-17T10:05:03Z is before 1970"),
        (
            GOOD.replace("2015", "2600"),
            ":1: 2600-05-17T10:05:03Z is after the year 2554, the last that limiters can count to",
        ),
        (
            GOOD.to_owned() + &GOOD.replace("2015", "9015") + GOOD,
            ":2: 9015-05-17T10:05:03Z is more than an hour ahead of the lines around it",
        ),
    ] {
        folder.file("bad.log", log);
        let replay = folder.replay(&["bad.log"], "");
        assert!(stderr(&replay).contains(&format!("skipped bad.log{why}\n")), "{replay}");
    }
}
