//! No log makes the command panic, hang, or lose a line without counting it: good logs of each format
//! with random damage, and bytes that are no log.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use indicatif::ProgressBar;
use proptest::prelude::*;
use proptest::sample::Index;
use sluicegate_replay::log::{Format, Merged, Order, Source};
use sluicegate_replay::policy::Policy;
use sluicegate_replay::replay::Replay;

const POLICY: &str = r#"
[limiters.a]
policy = "token_bucket"
limit = 2
rate = { amount = 1, interval = "1 s" }

[limiters.b]
key = ["user", "path", "agent", "status"]
policy = "sliding_window"
limit = 50_000
interval = "1 s"
cost = "bytes"
"#;

/// Formats, and good logs of them.
const LOGS: [(&str, &str); 9] = [
    (
        "common",
        "10.0.0.1 - - [17/May/2015:10:05:03 +0000] \"GET /a?b HTTP/1.1\" 200 12\n\
         2001:db8::1 - ada [17/May/2015:10:05:03 +0200] \"POST / HTTP/1.1\" 404 - \"-\" \"an \\\"agent\\\"\"\n",
    ),
    (
        "$remote_addr [$time_iso8601] \"$request\" $status $body_bytes_sent $http_user_agent",
        "10.0.0.1 [2015-05-17T10:05:03+00:00] \"GET /a HTTP/1.1\" 200 12 agent\n\
         10.0.0.2 [2015-05-17T10:05:04+00:00] \"-\" 400 0 an agent\n",
    ),
    (
        "%h %l %u %t \"%r\" %>s %b",
        "example.org - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 -\n",
    ),
    (
        "json",
        "{\"time\":\"2015-05-17T10:05:03.25Z\",\"remote_addr\":\"a\",\"status\":200,\"x\":{\"y\":[1,null]}}\n\
         {\"time\":1431857103.5,\"remote_addr\":\"\\u00e9\",\"request\":\"GET / HTTP/1.1\"}\n",
    ),
    ("csv", "time,client,status\n2015-05-17T10:05:03Z,\"a,\"\"b\",200\n1431857103,b,404\n"),
    (
        "w3c",
        "#Version: 1.0\n#Fields: date time c-ip cs-method sc-status\n\
         2015-05-17 10:05:03 1.2.3.4 GET 200\n2015-05-17 10:05:04 1.2.3.4 POST -\n",
    ),
    ("ltsv", "time:[17/May/2015:10:05:03 +0000]\thost:1.2.3.4\treq:GET / HTTP/1.1\tstatus:200\n"),
    (
        "auto",
        "<134>1 2015-05-17T10:05:03Z host proxy 12 - [x@1 y=\"\\\"]\"] 1.2.3.4:33317 [17/May/2015:10:05:03.655] in \
         app/one 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {a|} {} \"GET / HTTP/1.1\"\n",
    ),
    (
        "squid",
        "1431857103.779    180 1.2.3.4 TCP_MISS/200 411 GET http://a/ - HIER_DIRECT/1.2.3.5 text/html\n",
    ),
];

/// Pieces that readers stumble over.
const PIECES: [&[u8]; 24] = [
    b"\n",
    b"\r",
    b"\r\n",
    b"\0",
    b"\"",
    b"\\",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b";",
    b"\t",
    b" ",
    b"-",
    b"#Fields: date",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x1f\x8b",
    b"99999999999999999999",
    b"+1400",
    b"\xe2\x80\xae",
    b"\\ud800",
    b"%",
];

/// The panics of all threads, since a thread that reads a log would only end early.
static PANICS: AtomicU64 = AtomicU64::new(0);

/// One log is read at a time, so that a panic is that of its log.
static ONE: Mutex<()> = Mutex::new(());

fn count_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::SeqCst);
            usual(panic);
        }));
    });
}

/// Replays a log, and checks that every line is accounted for.
fn check(format: &str, log: &[u8]) -> Result<(), TestCaseError> {
    count_panics();
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = PANICS.load(Ordering::SeqCst);
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), log).unwrap();
    let sources = [Source::File(file.path().to_owned())];
    let format = Format::parse(format, None).unwrap();
    let mut replay = Replay::new(Policy::parse("p", POLICY).unwrap());
    let (mut counted, mut is_whole) = (0, false);
    if let Ok(mut logs) = Merged::open_as(&format, Order::OfLog, &sources, &ProgressBar::hidden()) {
        replay.read(&mut logs).unwrap();
        counted = replay.pass().lines() + replay.pass().skipped();
        is_whole = logs.failures().is_empty();
    }
    prop_assert_eq!(PANICS.load(Ordering::SeqCst), before);
    let lines = log.split(|byte| *byte == b'\n').count() as u64;
    prop_assert!(counted <= lines, "{} of {}", counted, lines);
    let is_compressed = log.starts_with(b"\x1f\x8b");
    if is_whole && !is_compressed && format_has_no_header(&format) {
        let is_line = |line: &&[u8]| !line.trim_ascii().is_empty();
        let log = log.strip_prefix(b"\xef\xbb\xbf").unwrap_or(log);
        let lines = log.split(|byte| *byte == b'\n').filter(is_line).count() as u64;
        prop_assert_eq!(counted, lines);
    }
    Ok(())
}

/// Returns true if each line that is not blank is one of the log.
fn format_has_no_header(format: &Format) -> bool {
    !format!("{format:?}").contains("Csv") && !format!("{format:?}").contains("W3c")
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => prop::sample::select(&PIECES[..]).prop_map(<[u8]>::to_vec),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
        1 => (prop::sample::select(&PIECES[..]), 1..3000_usize)
            .prop_map(|(piece, times)| piece.repeat(times)),
    ]
}

proptest! {
    #[test]
    fn damaged_logs_are_counted(
        which in 0..LOGS.len(),
        times in 1..4_usize,
        damage in prop::collection::vec((any::<Index>(), 0..40_usize, piece()), 1..6),
    ) {
        let (format, log) = LOGS[which];
        let mut log = log.repeat(times).into_bytes();
        for (place, removed, piece) in damage {
            let at = place.index(log.len() + 1);
            let end = (at + removed).min(log.len());
            log.splice(at..end, piece);
        }
        check(format, &log)?;
    }

    #[test]
    fn bytes_that_are_no_log_are_counted(
        which in 0..LOGS.len(),
        pieces in prop::collection::vec(piece(), 0..30),
    ) {
        check(LOGS[which].0, &pieces.concat())?;
    }
}
