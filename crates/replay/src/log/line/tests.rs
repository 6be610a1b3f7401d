//! Tests of lines: common and combined format, IPv6, escaped quotes, `-`, junk,
//! and errors that name what is wrong.

use super::*;

fn line(text: &str) -> Line<'_> {
    Line::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn refusal(text: &str) -> String {
    Line::parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn the_common_format_has_no_referer_and_no_agent() {
    let line = line(
        r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif?x=1 HTTP/1.0" 200 2326"#,
    );
    assert_eq!(line.client, "127.0.0.1");
    assert_eq!(line.user, "frank");
    assert_eq!(line.time, "2000-10-10T20:55:36Z".parse().unwrap());
    assert_eq!(line.method, "GET");
    assert_eq!(line.path, "/apache_pb.gif");
    assert_eq!(line.status, "200");
    assert_eq!(line.bytes, 2326);
    assert_eq!((line.referer, line.agent), ("-".into(), "-".into()));
}

#[test]
fn the_combined_format_has_both() {
    let line = line(
        r#"::1 - - [17/May/2015:10:05:03 +0000] "HEAD / HTTP/2.0" 304 - "http://a/?b" "curl/8.1""#,
    );
    assert_eq!(line.client, "::1");
    assert_eq!(line.user, "-");
    assert_eq!(line.bytes, 0);
    assert_eq!(line.referer, "http://a/?b");
    assert_eq!(line.agent, "curl/8.1");
}

#[test]
fn escaped_quotes_do_not_end_a_field() {
    let line = line(
        r#"2001:db8::7 - - [17/May/2015:10:05:03 +0000] "GET /\"q\" HTTP/1.1" 404 9 "\\" "say \"hi\" \x22""#,
    );
    assert_eq!(line.path, r#"/\"q\""#);
    assert_eq!(line.referer, r"\\");
    assert_eq!(line.agent, r#"say \"hi\" \x22"#);
}

#[test]
fn junk_bytes_are_kept_as_they_are() {
    let text =
        b"h\xf6st - - [17/May/2015:10:05:03 +0000] \"GET /\xff\xfe HTTP/1.1\" 200 1 \"-\" \"\x80\"";
    let line = Line::parse(text).unwrap();
    assert_eq!(line.client, &b"h\xf6st"[..]);
    assert_eq!(line.path, &b"/\xff\xfe"[..]);
    assert_eq!(line.agent, &b"\x80"[..]);
}

#[test]
fn a_request_that_is_not_http_has_no_method_and_no_path() {
    for request in ["-", "", r"\x16\x03\x01\x02", "quit"] {
        let text = format!(r#"10.0.0.1 - - [17/May/2015:10:05:03 +0000] "{request}" 400 0"#);
        let line = line(&text);
        assert_eq!((line.method, line.path), ("-".into(), "-".into()), "{request}");
        assert_eq!(line.field(KeyField::StatusClass), "4xx");
    }
}

#[test]
fn what_servers_write_besides_the_standard_is_understood() {
    let time = "[17/May/2015:10:05:03 +0000]";
    let spaces = format!(r#"a - Jo Doe {time} "GET /a b HTTP/1.1" 200 1"#);
    assert_eq!((line(&spaces).user, line(&spaces).path), ("Jo Doe".into(), "/a b".into()));
    let identd = format!(r#"a ident jo {time} "GET /" 200 1"#);
    assert_eq!((line(&identd).user, line(&identd).path), ("jo".into(), "/".into()));
    let more = format!(r#"a - - {time} "GET / HTTP/1.1" 200 1 "-" "x" "10.9.8.7" 0.003"#);
    assert_eq!(line(&more).agent, "x");
    let cut = format!(r#"a - - {time} "GET / HTTP/1.1" 200 1 "-" "Mozilla/5.0 (comp"#);
    assert_eq!(line(&cut).agent, "Mozilla/5.0 (comp");
    let no_status = format!(r#"a - - {time} "GET / HTTP/1.1" - -"#);
    assert_eq!(line(&no_status).field(KeyField::StatusClass), "-");
}

#[test]
fn times_before_1970_and_in_other_zones_are_times() {
    let at = |time: &str| line(&format!(r#"a - - [{time}] "GET / HTTP/1.1" 200 1"#)).time;
    assert_eq!(at("31/Dec/1969:23:59:59 +0000").as_second(), -1);
    assert_eq!(at("01/Jan/1970:05:30:00 +0530").as_second(), 0);
}

#[test]
fn what_is_wrong_is_named() {
    let format = "not in common or combined log format";
    let good_time = "17/May/2015:10:05:03 +0000";
    for bad in [
        "GET / HTTP/1.1",
        "\u{0}\u{1}",
        r#"vhost:80 1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1"#,
        r#"a - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 2000 1"#,
        r#"a - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "cut in the refe"#,
        r#"a - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 and more"#,
        r#"a - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1 200 1"#,
    ] {
        assert_eq!(refusal(bad), format, "{bad}");
    }
    assert_eq!(
        refusal(r#"a - - [32/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1"#),
        "`32/May/2015:10:05:03 +0000` is not a time such as `17/May/2015:10:05:03 +0000`"
    );
    assert_eq!(
        refusal(&format!(r#"a - - [{good_time}] "GET / HTTP/1.1" 200 99999999999999999999"#)),
        "`99999999999999999999` is too large to be a response's size"
    );
}
