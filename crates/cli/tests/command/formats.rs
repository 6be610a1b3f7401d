//! Formats of logs: the same requests give the same report in each, and mistakes in a format or in a
//! line say where they are.

use serde_json::Value;

use super::{Folder, LOG, json, sluicegate, stderr, stdout};

const POLICY: &str = r#"
[[limiter]]
name = "by all fields"
key = ["client", "user", "method", "path", "status", "referer", "agent"]
policy = "token_bucket"
limit = 2
rate = { amount = 1, interval = "1 hour" }

[[limiter]]
name = "by client"
key = "client"
policy = "token_bucket"
limit = 1
rate = { amount = 1, interval = "1 second" }
"#;

/// A request: client, user, second, request's method and path, status, bytes, referer, agent.
type Request = (
    &'static str,
    &'static str,
    u32,
    &'static str,
    &'static str,
    u32,
    u32,
    &'static str,
    &'static str,
);

const REQUESTS: [Request; 9] = [
    ("192.0.2.7", "-", 3, "GET", "/", 200, 10, "-", "curl/8.1"),
    ("192.0.2.7", "-", 3, "GET", "/", 200, 10, "-", "curl/8.1"),
    ("192.0.2.7", "-", 4, "GET", "/", 200, 10, "-", "curl/8.1"),
    ("2001:DB8::1", "jo", 4, "POST", "/a", 404, 0, "http://a/", "a,b;c"),
    ("2001:db8:0::1", "jo", 4, "POST", "/a", 404, 0, "http://a/", "a,b;c"),
    ("192.0.2.7", "-", 5, "GET", "/", 200, 10, "-", "curl/8.1"),
    ("2001:db8::1", "jo", 5, "POST", "/a", 404, 0, "http://a/", "a,b;c"),
    ("::ffff:192.0.2.7", "-", 6, "GET", "/", 200, 10, "-", "curl/8.1"),
    ("192.0.2.8", "-", 7, "HEAD", "/b", 503, 1, "-", "-"),
];

fn lines(line: impl Fn(&Request) -> String) -> String {
    REQUESTS.iter().map(|request| line(request) + "\n").collect()
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn logs() -> Vec<(&'static str, Vec<&'static str>, String)> {
    let combined = lines(|(client, user, s, method, path, status, bytes, referer, agent)| {
        format!(
            "{client} - {user} [17/May/2015:10:05:{s:02} +0000] \"{method} {path}?q=1 HTTP/1.1\" \
             {status} {bytes} \"{referer}\" \"{agent}\""
        )
    });
    let nginx = "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \
                 \"$http_referer\" \"$http_user_agent\"";
    let directive = "log_format main '$remote_addr - ${remote_user} [$time_local] '\n  '\"$request\" \
                     $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\"';";
    vec![
        ("combined", vec!["--format", "combined"], combined.clone()),
        ("nginx", vec!["--format", nginx], combined.clone()),
        ("nginx's directive", vec!["--format", directive], combined.clone()),
        (
            "apache",
            vec!["--format", "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-agent}i\""],
            combined.clone(),
        ),
        (
            "apache's directive",
            vec![
                "--format",
                r#"LogFormat "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-agent}i\"" combined"#,
            ],
            combined.clone(),
        ),
        (
            "nginx, other fields",
            vec![
                "--format",
                "$time_local|$msec|$request_time|$request|$status|$bytes_sent|$http_x_real_ip|$remote_user|$http_referer|$http_user_agent",
                "--fields",
                "client=http_x_real_ip,time=time_local",
            ],
            lines(|(client, user, s, method, path, status, bytes, referer, agent)| {
                format!(
                    "17/May/2015:12:05:{s:02} +0200|x|0.1|{method} {path} HTTP/2.0|{status}|{bytes}|\
                     {client}|{user}|{referer}|{agent}"
                )
            }),
        ),
        (
            "apache, in parts",
            vec![
                "--format",
                "%{%Y-%m-%d %H:%M:%S %z}t %a %u %m %U %s %B %{Referer}i %{User-Agent}i",
            ],
            lines(|(client, user, s, method, path, status, bytes, referer, agent)| {
                format!(
                    "2015-05-17 10:05:{s:02} +0000 {client} {user} {method} {path} {status} {bytes} \
                     {referer} {agent}"
                )
            }),
        ),
        (
            "json",
            vec!["--format", "json", "--fields", "client=http.ip,time=ts"],
            lines(|(client, user, s, method, path, status, bytes, referer, agent)| {
                json!({
                    "ts": 1_431_857_100 + s, "http": { "ip": client, "x": [1, { "y": 2 }] }, "user": user,
                    "method": method, "path": path, "status": status, "bytes": bytes,
                    "referer": [referer], "agent": agent, "z": null,
                })
                .to_string()
            }),
        ),
        (
            "json of nginx",
            vec!["--format", "json"],
            lines(|(client, user, s, method, path, status, bytes, referer, agent)| {
                let empty = |text: &str| text.strip_prefix('-').unwrap_or(text).to_owned();
                json!({
                    "time_iso8601": format!("2015-05-17T12:05:{s:02}+02:00"), "remote_addr": client,
                    "remote_user": empty(user), "request": format!("{method} {path}?x HTTP/1.1"),
                    "status": status.to_string(), "body_bytes_sent": bytes.to_string(),
                    "http_referer": empty(referer), "http_user_agent": empty(agent),
                })
                .to_string()
            }),
        ),
        (
            "csv",
            vec!["--format", "csv", "--fields", "client=Source IP"],
            "time,Source IP,user,method,path,status,bytes,referer,agent\n".to_owned()
                + &lines(|(client, user, s, method, path, status, bytes, referer, agent)| {
                    format!(
                        "2015-05-17T10:05:{s:02}Z,{client},{user},{method},\"{path}\",{status},\
                         {bytes},{referer},\"{agent}\""
                    )
                }),
        ),
        (
            "w3c",
            vec!["--format", "w3c"],
            "#Version: 1.0\n#Fields: date time c-ip cs-username cs-method cs-uri-stem cs-uri-query \
             sc-status sc-bytes cs(Referer) cs(User-Agent)\n"
                .to_owned()
                + &lines(|(client, user, s, method, path, status, bytes, referer, agent)| {
                    format!(
                        "2015-05-17 10:05:{s:02} {client} {user} {method} {path} - {status} {bytes} \
                         {referer} \"{agent}\""
                    )
                }),
        ),
    ]
}

#[test]
fn the_same_requests_give_the_same_report_in_each_format() {
    let folder = Folder::new();
    folder.file("policy.toml", POLICY);
    let mut expected: Option<Value> = None;
    for (name, args, log) in logs() {
        let args = [&["--json", "--top", "0"], args.as_slice()].concat();
        let replay = folder.replay(&args, log);
        let report = json(&replay);
        assert_eq!(stderr(&replay), "", "{name}");
        assert_eq!(report["lines"], json!(9), "{name}");
        assert_eq!(&report, expected.get_or_insert(report.clone()), "{name}");
    }
    let limiters = &expected.unwrap()["limiters"];
    assert_eq!(limiters[0]["top_denied"][0]["denied"], json!(3));
    assert_eq!(limiters[0]["keys"], json!(3));
}

#[test]
fn stamps_finer_than_a_second_are_used_as_they_are() {
    let folder = Folder::new();
    let half = "[[limiter]]\nname = \"x\"\nkey = \"all\"\npolicy = \"leaky_bucket\"\nmode = \"min_interval\"\ninterval = \"500 ms\"\n";
    folder.file("policy.toml", half);
    let whole = "{\"time\":1431857103}\n{\"time\":1431857103}\n{\"time\":1431857104}\n";
    let fine = "{\"time\":1431857103.2}\n{\"time\":1431857103.4}\n{\"time\":1431857104}\n";
    let milliseconds =
        "{\"time\":1431857103200}\n{\"time\":1431857103400}\n{\"time\":1431857104000}\n";
    let text = "{\"time\":\"2015-05-17T10:05:03.20Z\"}\n{\"time\":\"2015-05-17T10:05:03.40Z\"}\n{\"time\":\"2015-05-17T10:05:04.00Z\"}\n";
    for (log, denied, nanos) in [
        (whole, 0, 1_000_000_000),
        (fine, 1, 100_000_000),
        (milliseconds, 1, 1_000_000),
        (text, 1, 10_000_000),
    ] {
        let report = json(&folder.replay(&["--json", "--format", "json"], log).success());
        assert_eq!(report["limiters"][0]["denied"], json!(denied), "{log}");
        assert_eq!(report["stamps"]["resolution_nanos"], json!(nanos), "{log}");
    }
    let apache = ["--json", "--format", "%{sec}t.%{usec_frac}t %h"];
    let report =
        folder.replay(&apache, "1431857103.200000 a\n1431857103.400000 a\n1431857104.000000 a\n");
    assert_eq!(json(&report)["limiters"][0]["denied"], json!(1));
    assert_eq!(json(&report)["stamps"]["resolution_nanos"], json!(1000));
}

#[test]
fn malformed_formats_are_status_2_with_their_place() {
    let cases: [(&[&str], &str, &str); 18] = [
        (&["jsn"], "1:1", "did you mean `json`?"),
        (&[""], "1:1", "must be one of those that `--format help` lists"),
        (&["$remote_adr [$time_local]"], "1:1", "did you mean `remote_addr`?"),
        (&["$remote_addr [$time_locl]"], "1:15", "did you mean `time_local`?"),
        (&["$remote_addr$time_local"], "1:13", "must follow a text"),
        (&["$remote_addr $"], "1:14", "must be `$` and a name"),
        (&["$remote_addr ${time_local"], "1:14", "must end with a `}`"),
        (&["$remote_addr $status"], "1:1", "the pattern has no time"),
        (&["log_format main;$"], "1:1", "the directive has no pattern"),
        (&["log_format main '$msec"], "1:17", "must have a closing quote"),
        (&["log_format main '$msec' x"], "1:25", "must be another string in quotes"),
        (&["%h %z %t"], "1:4", "`%z` is not a directive"),
        (&["%h %t %"], "1:7", "must be followed by a letter"),
        (&["%h %{Referer"], "1:4", "must end with a `}` and a letter"),
        (&["%h %u"], "1:1", "the pattern has no time"),
        (&["LogFormat \"%h %t"], "1:11", "must have a closing quote"),
        (&["json", "--fields", "time=ts,clint=x"], "1:9", "did you mean `client`?"),
        (
            &["$remote_addr $msec", "--fields", "client=remote_adr"],
            "1:1",
            "did you mean `remote_addr`?",
        ),
    ];
    let more: [(&[&str], &str, &str); 5] = [
        (&["json", "--fields", "time"], "1:1", "must be FIELD=NAME"),
        (&["json", "--fields", "time="], "1:1", "must be FIELD=NAME"),
        (&["json", "--fields", "time=a,time=b"], "1:8", "must be named once"),
        (&["combined", "--fields", "time=a"], "1:1", "only a pattern, json, csv, w3c and ltsv"),
        (&["%h %t \u{1b}%\u{fc}"], "1:", "is not a directive"),
    ];
    for (args, place, part) in cases.into_iter().chain(more) {
        let args = [&["replay", "--sample", "--format"], args].concat();
        let error = stderr(&sluicegate().args(&args).assert().code(2));
        assert!(error.contains("--> --f"), "{args:?}: {error}");
        assert!(error.contains(&format!(":{place}")) && error.contains(part), "{args:?}: {error}");
        assert!(!error.contains('\u{1b}'), "{error:?}");
    }
}

#[test]
fn malformed_lines_are_counted_and_shown() {
    let nginx = "$remote_addr [$time_local] \"$request\" $status $bytes_sent";
    let good = "a [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1";
    let csv = "time,client,status";
    let w3c = "#Fields: date time c-ip sc-status";
    let json_line = |text: &str| format!("{{\"time\":1,\"status\":200}}\n{text}");
    let cases: Vec<(&str, String, &str)> = vec![
        (nginx, good.replace("a [", "a {"), "no ` [` ends `remote_addr` at byte 0"),
        (nginx, good.replace('"', "'"), "no `] \"` ends `time_local` at byte 3"),
        (nginx, good.replace("1.1\"", "1.1\\\""), "ends `request`"),
        (nginx, good.replacen('a', "", 1), "`remote_addr` is empty at byte 0"),
        (nginx, good.replace("200", "20x"), "`20x` is not a status"),
        (nginx, good.replace("200 1", "200 1 x"), "`1 x` is not a number of bytes"),
        (nginx, good.replace("200 1", "200 99999999999999999999"), "too large"),
        (nginx, good.replace("May", "Mai"), "`17/Mai/2015:10:05:03 +0000` is no time"),
        ("json", json_line("x"), "not a JSON object: expected value"),
        ("json", json_line("[1]"), "not a JSON object: invalid type"),
        ("json", json_line("{\"time\":1"), "not a JSON object: EOF"),
        ("json", json_line("{\"time\":1} x"), "not a JSON object: trailing"),
        ("json", json_line("{\"status\":1}"), "has no time, which would be named `time`"),
        ("json", json_line("{\"time\":\"now\"}"), "`now` is no time"),
        ("json", json_line("{\"time\":99999999999999999999999}"), "is no time"),
        (
            "json",
            json_line("{\"time\":1,\"status\":{\"a\":1},\"bytes\":\"1x\"}"),
            "`1x` is not a number",
        ),
        ("csv", format!("{csv}\n1,a"), "the number of its values is 2, that of the columns 3"),
        ("csv", format!("{csv}\n1,a,200,b,c,d"), "that of the columns 3"),
        ("csv", format!("{csv}\n1,\"a,200"), "a quoted value does not end"),
        ("csv", format!("{csv}\n,a,200"), "has no time"),
        ("w3c", "2015-05-17 10:05:03 a 200".to_owned(), "comes before the `#Fields:` line"),
        ("w3c", format!("{w3c}\n2015-05-17 10:05:03 a"), "values is 3, that of the columns 4"),
        ("w3c", format!("{w3c}\n2015-05-17 10:65:03 a 200"), "`2015-05-17 10:65:03` is no time"),
        ("w3c", format!("{w3c}\n2015-05-17 10:05:03 \"a 200"), "a quoted value does not end"),
    ];
    let folder = Folder::new();
    folder.file(
        "policy.toml",
        "[limiters.all]\nkey = \"all\"\nmatch = { status_class = \"2xx\" }\ncost = \"bytes\"\npolicy = \"token_bucket\"\n\
         limit = 9\nrate = { amount = 1, interval = \"1 s\" }\n",
    );
    for (format, log, part) in cases {
        let replay = folder.replay(&["--json", "--format", format], log.as_str());
        assert_eq!(json(&replay)["skipped"], json!(1), "{log}");
        assert!(stderr(&replay).contains(part), "{log}: {}", stderr(&replay));
    }
}

#[test]
fn a_header_without_a_field_is_told_before_anything_is_replayed() {
    let folder = Folder::new();
    folder.file("good.csv", "time,address\n1,a\n");
    folder.file("other.csv", "time,Address,status\n1,a,200\n");
    let csv = ["--json", "--format", "csv", "--fields"];
    let wide = format!("time,{}\n1\n", "column,".repeat(100));
    folder.file("wide.csv", wide);
    let cases: [(&str, &[&str], &str); 6] = [
        (
            "client=adress",
            &["good.csv"],
            "error: good.csv: no column is named `adress` in the header: time, address; did you mean \
             `address`?",
        ),
        ("client=adress", &["other.csv"], "time, Address, status; did you mean `Address`?"),
        (
            "client=address",
            &["good.csv", "other.csv"],
            "error: other.csv: no column is named `address`",
        ),
        ("client=host", &["good.csv"], "no column is named `host` in the header: time, address\n"),
        ("time=stamp", &["good.csv"], "no column is named `stamp`"),
        ("client=host", &["wide.csv"], "column and 62 more\n"),
    ];
    for (fields, log, said) in cases {
        for command in ["replay", "suggest"] {
            let args = [&[command], &csv[..], &[fields], log].concat();
            let replay = sluicegate().current_dir(folder.0.path()).args(args).assert().code(2);
            assert!(stderr(&replay).contains(said), "{}", stderr(&replay));
            assert_eq!(stdout(&replay), "");
        }
    }
    let w3c = ["--json", "--format", "w3c"];
    let replay = folder.replay(&w3c, "#Fields: c-ip\na\n").code(2);
    assert!(
        stderr(&replay).contains("no time is in the `#Fields:` line: c-ip"),
        "{}",
        stderr(&replay)
    );
    // What was judged before such a header is reported.
    let late = "#Fields: date time c-ip\n2015-05-17 10:05:03 a\n#Fields: c-ip\na\n";
    let replay = folder.replay(&w3c, late).code(1);
    assert_eq!((&json(&replay)["lines"], &json(&replay)["incomplete"]), (&json!(1), &json!(true)));
}

#[test]
fn columns_whose_times_are_in_no_known_form_are_told_as_columns() {
    let log = "time;client\n3/30/2025 0:00:15;192.0.2.7\n";
    let told = stderr(&Folder::new().replay(&["-"], log).code(3));
    assert!(told.contains("reading standard input as csv\n"), "{told}");
    assert!(told.contains(":2: `3/30/2025 0:00:15` is no time"), "{told}");
}

#[test]
fn values_with_escapes_are_one_key_however_they_are_written() {
    let folder = Folder::new();
    let log = r#"{"time":1,"client":"a\u0062\n"}
{"time":1,"client":"ab\n"}
{"time":1,"client":"ab\u000a"}
"#;
    let report = json(&folder.replay(&["--json", "--format", "json"], log));
    assert_eq!(
        report["limiters"][0]["top_denied"],
        json!([{ "key": "ab\\n", "denied": 1, "allowed": 2, "first_seen": "1970-01-01T00:00:01Z", "last_seen": "1970-01-01T00:00:01Z" }])
    );
    let log = "client,time\n\"a\"\"b\",1\n\"a\"\"b\",1\nclient,time\n\"a\"\"b\",1\n";
    let report = json(&folder.replay(&["--json", "--format", "csv"], log));
    assert_eq!(
        report["limiters"][0]["top_denied"],
        json!([{ "key": "a\"b", "denied": 1, "allowed": 2, "first_seen": "1970-01-01T00:00:01Z", "last_seen": "1970-01-01T00:00:01Z" }])
    );
    assert_eq!(report["lines"], json!(3));
    assert_eq!(json(&folder.replay(&["--json", "--format", "common"], LOG))["lines"], json!(6));
}
