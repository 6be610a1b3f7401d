//! Malformed lines of each format, dates at the edges of calendars, and compressed logs that were made to
//! take memory.

use super::malformed::Then::{self, Counts, Part, Refused};
use super::malformed::{GOOD, assert_each, cut, good, noisy};

/// Returns a block of a zstd frame: of bytes as they are, or of one byte so many times.
fn block(is_last: bool, bytes: &[u8], repeated: Option<u32>) -> Vec<u8> {
    let (kind, size) =
        repeated.map_or((0, u32::try_from(bytes.len()).unwrap()), |times| (1, times));
    let header = (u32::from(is_last) | kind << 1 | size << 3).to_le_bytes();
    [&header[..3], bytes].concat()
}

/// Returns a zstd frame of these blocks. `window` is the descriptor of its window.
fn frame(window: u8, blocks: &[u8]) -> Vec<u8> {
    [b"\x28\xb5\x2f\xfd\x00", &[window][..], blocks].concat()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    frame(0x50, &block(true, text, None))
}

/// Returns a zstd frame of so many times 128 KiB of zeros.
pub(crate) fn zstd_bomb(blocks: usize, window: u8) -> Vec<u8> {
    let zeros = block(false, b"\0", Some(1 << 17)).repeat(blocks);
    frame(window, &[zeros, block(true, b"", None)].concat())
}

/// Returns a good line for each of these times.
fn at(times: &[&str]) -> Vec<u8> {
    times
        .iter()
        .flat_map(|time| GOOD.replace("17/May/2015:10:05:03 +0000", time).into_bytes())
        .collect()
}

fn deep(open: &str, close: &str) -> String {
    format!("{}1{}", open.repeat(10_000), close.repeat(10_000))
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn cases() -> Vec<(&'static str, &'static str, Vec<u8>, Then)> {
    let json = r#"{"time":"2015-05-17T10:05:03Z","remote_addr":"a"}"#;
    let csv = "time,client\n2015-05-17T10:05:03Z,a\n";
    let w3c = "#Fields: date time c-ip\n2015-05-17 10:05:03 1.2.3.4\n";
    let text = |text: String| text.into_bytes();
    vec![
        // Times.
        (
            "a leap second",
            "common",
            at(&["30/Jun/2015:23:59:60 +0000", "01/Jul/2015:00:00:00 +0000"]),
            Counts(0, 2, 0),
        ),
        ("a second too many", "common", at(&["30/Jun/2015:23:59:61 +0000"]), Counts(3, 0, 1)),
        (
            "29 February",
            "common",
            at(&[
                "29/Feb/2000:12:00:00 +0000",
                "29/Feb/2000:12:00:00 +0000",
                "29/Feb/2000:12:00:01 +0000",
            ]),
            Counts(0, 3, 0),
        ),
        (
            "29 February of no leap year",
            "common",
            at(&["29/Feb/2015:12:00:00 +0000"]),
            Counts(3, 0, 1),
        ),
        (
            "29 February of a century",
            "common",
            at(&["29/Feb/2100:12:00:00 +0000"]),
            Counts(3, 0, 1),
        ),
        (
            "clocks that go forward",
            "common",
            at(&["29/Mar/2015:01:59:59 +0100", "29/Mar/2015:03:00:00 +0200"]),
            Counts(0, 2, 0),
        ),
        (
            "clocks that go back",
            "common",
            at(&["25/Oct/2015:02:59:59 +0200", "25/Oct/2015:02:00:00 +0100"]),
            Counts(0, 2, 0),
        ),
        (
            "the easternmost zone",
            "common",
            at(&["18/May/2015:00:05:03 +1400", "17/May/2015:10:05:04 +0000"]),
            Counts(0, 2, 0),
        ),
        (
            "the westernmost zone",
            "common",
            at(&["16/May/2015:22:05:03 -1200", "17/May/2015:10:05:04 +0000"]),
            Counts(0, 2, 0),
        ),
        ("a zone of 99 hours", "common", at(&["17/May/2015:10:05:03 +9959"]), Counts(3, 0, 1)),
        ("a zone of 60 minutes", "common", at(&["17/May/2015:10:05:03 -0060"]), Counts(3, 0, 1)),
        (
            "1 January 1970, west of Greenwich",
            "common",
            at(&["31/Dec/1969:23:00:00 -0100"]),
            Counts(0, 1, 0),
        ),
        // Line ends, and formats that are mixed.
        (
            "line ends of old Macs",
            "common",
            text(GOOD.replace('\n', "\r").repeat(3)),
            Counts(3, 0, 1),
        ),
        ("a hundred thousand line ends", "common", b"\n".repeat(100_000), Counts(3, 0, 0)),
        (
            "formats mixed",
            "common",
            text(format!("{GOOD}{json}\n{GOOD}1,a\n{GOOD}")),
            Counts(0, 3, 2),
        ),
        (
            "common lines among JSON",
            "json",
            text(format!("{json}\n{GOOD}{json}\n")),
            Counts(0, 2, 1),
        ),
        // JSON.
        (
            "arrays in arrays",
            "json",
            text(format!("{json}\n{{\"time\":1,\"x\":{}}}\n", deep("[", "]"))),
            Counts(0, 2, 0),
        ),
        (
            "objects in objects",
            "json",
            text(format!("{json}\n{}\n{json}\n", deep("{\"a\":", "}"))),
            Counts(0, 2, 1),
        ),
        (
            "arrays that do not end",
            "json",
            text(format!("{json}\n{{\"time\":1,\"x\":{}\n{json}\n", "[".repeat(10_000))),
            Counts(0, 2, 1),
        ),
        ("an object cut off", "json", text(format!("{json}\n{{\"time\":\"2015")), Counts(0, 1, 1)),
        ("two objects on a line", "json", text(format!("{json}{json}\n{json}\n")), Counts(0, 1, 1)),
        ("an array of objects", "json", text(format!("[{json},{json}]\n")), Counts(3, 0, 1)),
        (
            "a key twice",
            "json",
            b"{\"time\":1,\"time\":2,\"remote_addr\":\"a\"}\n".to_vec(),
            Counts(0, 1, 0),
        ),
        (
            "half a surrogate",
            "json",
            b"{\"time\":1,\"remote_addr\":\"\\ud800\"}\n".to_vec(),
            // No text, and so no client.
            Refused("no line has a client"),
        ),
        (
            "JSON that is not UTF-8",
            "json",
            b"{\"time\":1,\"remote_addr\":\"\xff\"}\n".to_vec(),
            Counts(3, 0, 1),
        ),
        (
            "a time beyond all clocks",
            "json",
            b"{\"time\":1e400}\n{\"time\":-1e30}\n{\"time\":99999999999999999999}\n".to_vec(),
            Counts(3, 0, 3),
        ),
        (
            "a time of another kind",
            "json",
            text(
                ["null", "[1]", "true"]
                    .map(|time| format!("{{\"time\":{time},\"remote_addr\":\"a\"}}\n"))
                    .concat(),
            ),
            // Of a list it is the first value.
            Counts(3, 1, 2),
        ),
        // Columns.
        (
            "an open quote",
            "csv",
            text(format!("{csv}1,\"a\n2015-05-17T10:05:04Z,b\n")),
            Counts(0, 2, 1),
        ),
        (
            "an open quote in the header",
            "csv",
            b"time,\"client\n1,a\n".to_vec(),
            Refused("a quoted value does not end on its line"),
        ),
        (
            "ten thousand columns",
            "csv",
            text(format!("{csv}{}\n", ",".repeat(10_000))),
            Counts(0, 1, 1),
        ),
        ("a header alone", "csv", b"time,client\n".to_vec(), Counts(3, 0, 0)),
        (
            "times without a zone",
            "csv",
            b"time,client\n2015-05-17 10:05:03,a\n2015-05-17T10:05:03.25,a\n2015-05-17T10:05:04+00:00,a\n".to_vec(),
            Counts(0, 3, 0),
        ),
        (
            "a comma before the parts of a second",
            "json",
            b"{\"time\":\"2015-05-17 10:05:03,250\",\"remote_addr\":\"a\"}\n".to_vec(),
            Counts(0, 1, 0),
        ),
        (
            "dates without a time of day",
            "csv",
            b"time,client\n2015-05-17,a\n2015-05-17T,a\n2015-05-17 10:05:03 CET,a\n".to_vec(),
            Counts(3, 0, 3),
        ),
        (
            "a byte-order mark before the header",
            "csv",
            text(format!("\u{feff}{csv}")),
            Counts(0, 1, 0),
        ),
        (
            "NULs in a column",
            "csv",
            text(format!("{csv}2015-05-17T10:05:03Z,\0\0\n")),
            Counts(0, 2, 0),
        ),
        // The extended format.
        (
            "#Fields with nothing",
            "w3c",
            b"#Fields:\n2015-05-17 10:05:03 1.2.3.4\n".to_vec(),
            Refused("the `#Fields:` line"),
        ),
        (
            "other fields later",
            "w3c",
            text(format!("{w3c}#Fields: c-ip date time\n1.2.3.4 2015-05-17 10:05:04\n")),
            Counts(0, 2, 0),
        ),
        // Compression.
        ("a zstd frame", "common", zstd(&good(3)), Counts(0, 3, 0)),
        ("two zstd frames", "common", [zstd(&good(3)), zstd(&good(2))].concat(), Counts(0, 5, 0)),
        (
            "a zstd frame cut off",
            "common",
            frame(0x50, &block(false, &good(3), None)),
            Part("zstd", 3),
        ),
        (
            "a zstd frame cut in its middle",
            "common",
            {
                let packed = ruzstd::encoding::compress_to_vec(
                    noisy(20_000).as_bytes(),
                    ruzstd::encoding::CompressionLevel::Fastest,
                );
                let half = packed.len() / 2;
                cut(packed, half)
            },
            Part("zstd", 5_000),
        ),
        ("a zstd header cut off", "common", zstd(b"")[..5].to_vec(), Part("zstd", 0)),
        (
            "a zstd frame that is good, and one cut off",
            "common",
            [zstd(&good(3)), zstd(&good(2))[..20].to_vec()].concat(),
            Part("zstd", 3),
        ),
        (
            "a zstd window of a gibibyte",
            "common",
            zstd_bomb(1, 20 << 3),
            Part("a window of 1.00 GiB, and at most 128.00 MiB", 0),
        ),
        ("the largest zstd window", "common", zstd_bomb(1, 0xff), Part("a window of", 0)),
        (
            "a zstd content of 2^63 bytes",
            "common",
            [b"\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x80".to_vec(), block(true, b"", None)].concat(),
            Part("a window of", 0),
        ),
        (
            "a second frame with a large window",
            "common",
            [zstd(&good(3)), zstd_bomb(1, 20 << 3)].concat(),
            Part("a window of 1.00 GiB", 3),
        ),
        (
            "two frames of 128 MiB",
            "common",
            [frame(17 << 3, &block(true, &good(2), None)).repeat(2)].concat(),
            Counts(0, 4, 0),
        ),
        ("a bomb of zstd", "common", zstd_bomb(256, 0x50), Counts(3, 0, 1)),
    ]
}

#[test]
fn malformed_lines_of_all_formats_are_counted_or_refused() {
    let cases = cases();
    assert!(cases.len() >= 40);
    assert_each(cases);
}
