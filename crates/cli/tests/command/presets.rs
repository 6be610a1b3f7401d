//! Formats with names: the same requests give the same report in each, whether the format is named or told by the
//! first lines, and whatever is written before the lines.

mod logs;

use serde_json::Value;

use self::logs::{REQUESTS, combined, logs};
use super::{Folder, json, sluicegate, stderr, stdout};

const POLICY: &str = r#"
[[limiter]]
name = "by fields"
key = ["client", "method", "path", "status"]
policy = "token_bucket"
limit = 1
rate = { amount = 1, interval = "1 hour" }

[[limiter]]
name = "by client"
key = "client"
policy = "sliding_window"
limit = 3_000
interval = "1 minute"
cost = "bytes"
"#;

fn report(log: &str, args: &[&str]) -> (Value, String) {
    let folder = Folder::new();
    folder.file("policy.toml", POLICY);
    folder.file("a.log", log);
    let args = [args, &["--as-stamped", "--json", "a.log"]].concat();
    let replay = folder.replay(&args, "").success();
    let mut found = json(&replay);
    // Some have finer stamps.
    found.as_object_mut().unwrap().remove("stamps");
    (found, stderr(&replay))
}

#[test]
fn a_format_is_named_or_told_by_the_first_lines() {
    let (expected, _) = report(&combined(), &["--format", "combined"]);
    assert_eq!(expected["lines"], json!(REQUESTS.len()));
    assert_eq!(expected["limiters"][0]["denied"], json!(2));
    assert_eq!(expected["limiters"][1]["denied"], json!(1));
    for (name, told, log) in logs() {
        let (found, errors) = report(&log, &["--format", name]);
        assert_eq!(found, expected, "--format {name}: {errors}\n{log}");
        let (found, errors) = report(&log, &[]);
        assert_eq!(found, expected, "{name}: {errors}\n{log}");
        let wanted =
            if told.is_empty() { String::new() } else { format!("reading a.log as {told}\n") };
        assert_eq!(errors, wanted, "{name}");
    }
}

#[test]
fn the_lines_may_come_after_a_prefix() {
    let (expected, _) = report(&combined(), &["--format", "combined"]);
    let prefixes = [
        ("cri", "2016-10-06T00:17:09.669794202Z stdout F "),
        ("docker-compose", "proxy-1  | "),
        ("syslog", "<134>May 17 10:05:03 lb1 proxy[14389]: "),
        ("syslog", "<134>1 2015-05-17T10:05:03Z lb1 proxy 12 - - "),
        ("journald", "May 17 10:05:03 lb1 proxy[14389]: "),
        ("journald", "[   12.345678] lb1 proxy[14389]: "),
        ("journald", "1431857103.123456 lb1 proxy[14389]: "),
        ("journald", "Sun 2015-05-17 10:05:03 UTC lb1 proxy[14389]: "),
        ("cri syslog", "2015-05-17T10:05:03.1Z stdout F May 17 10:05:03 lb1 proxy[14389]: "),
        ("grep", "/var/log/access.log.1:"),
        ("grep", "access.log:17:"),
    ];
    // Each prefix, and each format.
    let logs = logs();
    for (at, (name, told, log)) in
        logs.iter().cycle().enumerate().take(logs.len().max(prefixes.len()))
    {
        let (prefix, before) = prefixes[at % prefixes.len()];
        let log = before.to_owned() + &log.trim_end().replace('\n', &format!("\n{before}")) + "\n";
        let (found, errors) = report(&log, &["--format", &format!("{prefix} {name}")]);
        assert_eq!(found, expected, "--format '{prefix} {name}': {errors}");
        let (found, errors) = report(&log, &[]);
        assert_eq!(found, expected, "{name} after {before}: {errors}");
        let told = if told.is_empty() { "combined" } else { told };
        assert!(
            errors.starts_with(&format!("reading a.log as {told} after the prefix of ")),
            "{errors}"
        );
    }
}

#[test]
fn lines_of_something_else_are_in_no_format() {
    let cri = "2015-05-17T10:05:03.1Z stdout F ";
    for (line, prefix) in [
        (
            format!("{cri}2015-05-17 10:05:03 10.0.0.4 GET /a - 443 - 203.0.113.60 curl - 404 0 0 8"),
            "cri",
        ),
        (format!("{cri}May 17 10:05:03 lb1 app[12]: done with /a in 3/200 ms of the time"), "cri and syslog"),
        ("2015-05-17T10:05:03.123Z INFO worker-0 job/200 17 finished task in time - ok done".to_owned(), ""),
        (
            "2015-05-17T10:05:03.1+00:00 host kernel: [UFW BLOCK] IN=eth0 OUT= SRC=198.51.100.1 DST=10/200 1 GET /x a b c"
                .to_owned(),
            "syslog",
        ),
        // A host before the client, which is a name that may be of something else.
        ("a b - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"".to_owned(), ""),
    ] {
        let folder = Folder::new();
        folder.file("a.log", format!("{line}\n").repeat(40));
        let said = stderr(&folder.replay(&["a.log"], "").code(3));
        assert!(said.contains("skipped a.log:1: not in common or combined log format"), "{said}");
        let told = format!("reading a.log as lines in no known format after the prefix of {prefix}\n");
        assert_eq!(said.starts_with(&told), !prefix.is_empty(), "{said}");
        assert_eq!(said.contains("reading"), !prefix.is_empty(), "{said}");
    }
}

#[test]
fn squid_has_its_own_results() {
    let line =
        |start: &str| format!("{start} 100 GET http://h/a - HIER_DIRECT/192.0.2.1 text/html\n");
    let mut log = line("1431857103.000     21 192.0.2.7 TCP_MISS/200").repeat(4);
    log += &line("1431857103.000     21 192.0.2.7 job/200");
    log += &line("1431857103.000     21 192.0.2.7 TCP_MISS/2");
    log += &line("2015-05-17T10:05:03Z 21 192.0.2.7 TCP_MISS/200");
    let (found, errors) = report(&log, &[]);
    assert_eq!((&found["lines"], &found["skipped"]), (&json!(4), &json!(3)), "{errors}");
}

#[test]
fn lines_that_are_objects_are_in_no_format_of_texts() {
    let envelope = |open: &str, close: &str| {
        let lines = combined();
        let lines: Vec<_> =
            lines.lines().map(|line| format!("{open}{}{close}\n", json!(line))).collect();
        lines.concat()
    };
    let docker = r#", "stream": "stdout", "time": "2015-05-17T10:05:03.1Z"}"#;
    for (log, hint) in [
        (envelope(r#"{"log": "#, docker), "the lines are in the field `log` of Docker's"),
        (
            // As `journalctl -o json` writes it.
            envelope(
                r#"{"__REALTIME_TIMESTAMP":"1431857103250000","_HOSTNAME":"web","MESSAGE":"#,
                r#","SYSLOG_IDENTIFIER":"nginx","_PID":"812"}"#,
            ),
            "`journalctl -o cat > access.log`",
        ),
    ] {
        let assert = Folder::new();
        assert.file("a.log", &log);
        let said = stderr(&assert.replay(&["a.log"], "").code(2));
        assert!(said.contains(hint), "{said}");
    }
}

#[test]
fn the_policy_does_not_change_the_format_that_is_found() {
    let policy = POLICY.split("[[limiter]]").last().unwrap().replace("\ncost = \"bytes\"", "");
    for (name, told, log) in logs() {
        let folder = Folder::new();
        folder.file("policy.toml", format!("[[limiter]]{policy}"));
        folder.file("a.log", &log);
        let replay = folder.replay(&["--json", "a.log"], "").success();
        assert_eq!(json(&replay)["limiters"][0]["keys"], json!(3), "{name}");
        assert!(stderr(&replay).contains(told), "{name}: {}", stderr(&replay));
    }
}

#[test]
fn a_port_after_an_ipv6_address_without_brackets_is_no_part_of_it() {
    for (name, _, log) in logs() {
        if name != "haproxy" && name != "alb" {
            continue;
        }
        for (client, key) in [
            ("2001:db8:0:21::1", "2001:db8:0:21::/64"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("unix", "unix"),
        ] {
            let folder = Folder::new();
            folder.file("policy.toml", POLICY);
            folder.file("a.log", log.replace("192.0.2.7:", &format!("{client}:")));
            let replay = folder.replay(&["--json", "a.log"], "").success();
            let denied = &json(&replay)["limiters"][1]["top_denied"];
            assert_eq!((&denied[0]["key"], &denied[1]), (&json!(key), &Value::Null), "{name}");
        }
    }
}

#[test]
fn of_a_list_of_addresses_the_client_is_before_those_of_ones_own_proxies() {
    let (.., log) = logs().into_iter().find(|(name, ..)| *name == "envoy").unwrap();
    let keys = |args: &[&str]| report(&log, args).0["limiters"][1]["keys"].clone();
    assert_eq!((keys(&[]), keys(&["--proxies", "2"])), (json!(3), json!(1)));
}

#[test]
fn fields_of_named_formats_are_columns_of_a_policy() {
    for (name, column, denied) in
        [("ingress-nginx", "request_length", 7), ("haproxy", "Ta", 1), ("s3", "total_time", 0)]
    {
        let (.., log) = logs().into_iter().find(|(known, ..)| *known == name).unwrap();
        let folder = Folder::new();
        let policy = format!(
            "[limiters.all]\nkey = \"all\"\npolicy = \"fixed_window\"\nlimit = 800\ninterval = \"1 day\"\n\
             cost = {{ column = \"{column}\" }}\n"
        );
        folder.file("policy.toml", &policy);
        folder.file("a.log", &log);
        let replay = folder.replay(&["--json", "a.log"], "").success();
        assert_eq!(json(&replay)["limiters"][0]["denied"], json!(denied), "{name}");
        let help = sluicegate().args(["replay", "--format", "help"]).assert().success();
        assert!(stdout(&help).contains(&format!(" {column}")), "{column}");
    }
}

#[test]
fn lines_before_the_first_request_do_not_hide_the_format() {
    let (_, _, log) = logs().swap_remove(10);
    let noise = "[NOTICE] haproxy version is 2.8\n".repeat(3);
    let (found, errors) = report(&(noise + &log), &[]);
    assert_eq!((&found["lines"], &found["skipped"]), (&json!(8), &json!(3)), "{errors}");
}

#[test]
fn help_lists_each_format_with_a_line() {
    for command in ["replay", "suggest"] {
        let help = sluicegate().args([command, "--format", "help"]).assert().success();
        let help = stdout(&help);
        for (name, ..) in logs() {
            assert!(
                help.lines().any(|line| line.starts_with(&format!("  {name} "))),
                "{name}: {help}"
            );
        }
        for prefix in ["cri", "docker-compose", "syslog", "journald", "grep"] {
            assert!(help.contains(&format!("\n  {prefix} ")), "{prefix}");
        }
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }
}

#[test]
fn a_name_that_is_none_is_told_the_nearest() {
    let assert = Folder::new().replay(&["--format", "haprxy", "access.log"], "").code(2);
    assert!(stderr(&assert).contains("did you mean `haproxy`?"), "{}", stderr(&assert));
}
