//! Numbers that would be wrong, and are told or refused.

use serde_json::json;

use super::{Folder, json as output, sluicegate, stderr, stdout};

/// Returns a line of a client at a second of the hour.
pub(super) fn line(client: &str, second: u32) -> String {
    let (minute, second) = (second / 60, second % 60);
    format!(
        "{client} - - [17/May/2015:10:{minute:02}:{second:02} +0000] \"GET /a HTTP/1.1\" 200 1\n"
    )
}

/// Runs the command in the folder, and returns what it says on standard error and output.
pub(super) fn run(folder: &Folder, args: &[&str], code: i32) -> (String, String) {
    let run = sluicegate().current_dir(folder.0.path()).args(args).assert().code(code);
    (stderr(&run), stdout(&run))
}

const PER_MINUTE: [&str; 5] = ["suggest", "--kind", "sliding_log", "--interval", "1 minute"];

#[test]
fn lines_out_of_order_are_told_by_a_search_as_by_a_replay() {
    let folder = Folder::new();
    let backwards: String = (0..300).map(|n| line("a", 900 - 3 * n)).collect();
    folder.file("backwards.log", backwards);
    let said = "lines are more than a minute older than a line before them";
    let (errors, text) = run(&folder, &[&PER_MINUTE[..], &["backwards.log"]].concat(), 3);
    assert!(text.contains(said), "{text}{errors}");
    let (errors, text) = run(&folder, &[&PER_MINUTE[..], &["--json", "backwards.log"]].concat(), 3);
    assert!(errors.contains(said), "{errors}");
    let of =
        |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["warnings"].clone();
    let (_, replay) =
        run(&folder, &["replay", "--policy", "policy.toml", "--json", "backwards.log"], 3);
    assert_eq!(of(&text), of(&replay));
    assert!(of(&text).to_string().contains("most lines were not judged"), "{text}");
}

#[test]
fn what_is_suggested_is_what_the_printed_policy_does() {
    let folder = Folder::new();
    // Client b begins at the middle of a minute, and has 37 requests in the minute after it.
    let log: String = (0..37).map(|n| line("b", 90 + n)).collect();
    folder.file("b.log", log);
    let kinds: [&[&str]; 8] = [
        &["fixed_window", "--interval", "1 minute"],
        &["sliding_window", "--interval", "1 minute"],
        &["sliding_counter", "--interval", "1 minute"],
        &["sliding_log", "--interval", "1 minute"],
        &["calendar_window", "--interval", "hour"],
        &["token_bucket", "--interval", "10 s"],
        &["meter", "--interval", "7 s"],
        &["gcra", "--interval", "3 s"],
    ];
    for kind in kinds {
        let args = [&["suggest", "--at-least", "100", "--json", "--kind"][..], kind, &["b.log"]];
        let found: serde_json::Value =
            serde_json::from_str(&run(&folder, &args.concat(), 0).1).unwrap();
        let policy = found["policy"].as_str().unwrap();
        folder.file("found.toml", policy);
        let denied = |policy: &str| {
            let args = ["replay", "--policy", policy, "--json", "b.log"];
            let text = run(&folder, &args, 0).1;
            let replayed: serde_json::Value = serde_json::from_str(&text).unwrap();
            replayed["limiters"][0]["denied"].as_u64().unwrap()
        };
        assert_eq!(denied("found.toml"), 0, "{policy}");
        // One less denies something, and so do the defaults of what the policy says by itself.
        let limit = found["limiters"][0]["suggested"].as_u64().unwrap();
        if policy.contains("\nlimit = ") {
            let less =
                policy.replace(&format!("limit = {limit}"), &format!("limit = {}", limit - 1));
            folder.file("less.toml", less.replace("\nstart = \"first\"", ""));
            assert!(denied("less.toml") > 0, "{policy}");
        }
    }
    let text =
        run(&folder, &["suggest", "--kind", "fixed_window", "--interval", "1m", "b.log"], 0).1;
    assert!(text.contains("[limiters.per-client]\n"), "{text}");
    assert!(text.contains("\nlimit = 37\ninterval = \"1m\"\nstart = \"first\"\n"), "{text}");
    assert!(
        text.contains("sluicegate replay --policy limits.toml --html report.html b.log"),
        "{text}"
    );
}

#[test]
fn the_policy_to_paste_is_in_the_format_of_the_policy() {
    let folder = Folder::new();
    folder.file("b.log", (0..9).map(|n| line("b", n)).collect::<String>());
    folder.file("p.yaml", "limiters:\n  both:\n    policy: multi_window\n    limits: [{ limit: 2, interval: 1 s }, { limit: 3, interval: 1 h }]\n");
    let text = run(&folder, &["suggest", "--policy", "p.yaml", "--at-least", "100", "b.log"], 0).1;
    let policy = "limiters:\n  both:\n    policy: \"multi_window\"\n    limits: [{ limit: 2, interval: \"1 s\" }, { limit: 9, interval: \"1 h\" }]\n";
    assert!(text.contains(policy), "{text}");
}

#[test]
fn logs_without_a_client_are_an_error_with_the_names_that_they_have() {
    let folder = Folder::new();
    let json = "{\"time\":1431857103,\"peer\":{\"address\":\"10.0.0.1\"},\"status\":200}\n";
    folder.file("a.json", json.repeat(9));
    folder.file("typo.json", "{\"time\":1431857103,\"visitor\":\"10.0.0.1\"}\n".repeat(9));
    folder.file("a.log", "[17/May/2015:10:05:03 +0000] 10.0.0.1 200\n".repeat(9));
    folder.file("a.w3c", "#Fields: date time s-ip\n2015-05-17 10:05:03 10.0.0.1\n");
    let traefik =
        "{\"time\":1431857103,\"ClientAddr\":\"10.0.0.1:80\",\"ClientHost\":\"10.0.0.1\"}\n";
    folder.file("traefik.json", traefik.repeat(9));
    let envoy = "[2015-05-17T10:05:03.001Z] \"GET / HTTP/1.1\" 404 - 0 57 8 4 \"-\" \"curl\" \"8bd\" \"host\" \"10.0.0.4:80\"\n";
    folder.file("envoy.log", envoy.repeat(9));
    folder.file("none.log", "- [17/May/2015:10:05:03 +0000] 200\n".repeat(9));
    let iis = "#Fields: date time s-ip cs-method c-ip\n2015-05-17 10:05:03 10.0.0.1 GET -\n";
    folder.file("iis.log", iis);
    for (args, said) in [
        (
            &["--format", "json", "a.json"][..],
            "`--fields client=peer.address` may be what is meant",
        ),
        (
            &["--format", "json", "--fields", "client=vistor", "typo.json"],
            "`--fields client=visitor` may be what is meant",
        ),
        (
            &["--format", "json", "--fields", "client=nobody", "typo.json"],
            "the log has `time`, `visitor`",
        ),
        (
            &["--fields", "client=ClientHsot", "traefik.json"],
            "`--fields client=ClientHost` may be what is meant; names in the log that may be a client's: `ClientHost`, \
             `ClientAddr`",
        ),
        (&["envoy.log"], "log %DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"),
        (
            &["--format", "$remote_addr [$time_local] $status", "none.log"],
            "; the log has `status`, `time_local`\n",
        ),
        (&["iis.log"], "the log has `cs-method`, `date`, `s-ip`, `time`\n"),
        (&["--format", "[$time_local] $upstream_addr $status", "a.log"], "the log has `status`"),
        (&["--format", "w3c", "a.w3c"], "no line has a client"),
    ] {
        for command in [&["replay", "--policy", "per.toml"][..], &PER_MINUTE] {
            folder.file(
                "per.toml",
                "[limiters.a]\npolicy = \"sliding_log\"\nlimit = 1\ninterval = \"1 s\"\n",
            );
            let (errors, text) = run(&folder, &[command, args].concat(), 2);
            assert!(errors.contains(said) && text.is_empty(), "{args:?}: {errors}{text}");
        }
    }
    // A policy that does not ask for the client is replayed.
    folder.file(
        "all.toml",
        "[limiters.a]\nkey = \"all\"\npolicy = \"sliding_log\"\nlimit = 1\ninterval = \"1 s\"\n",
    );
    run(&folder, &["replay", "--policy", "all.toml", "--format", "json", "a.json"], 0);
    // Names that servers give.
    for name in ["ClientHost", "ClientIP", "clientIp", "remote_address"] {
        let line = format!("{{\"time\":1431857103,\"{name}\":\"10.0.0.1\"}}\n");
        folder.file("known.json", line);
        let found = run(
            &folder,
            &[&PER_MINUTE[..], &["--format", "json", "--json", "known.json"]].concat(),
            0,
        );
        assert!(!found.1.contains("\"key\":\"-\""), "{name}");
    }
    folder.file("gcp.json", "{\"timestamp\":1431857103,\"httpRequest\":{\"remoteIp\":\"10.0.0.1\",\"requestUrl\":\"https://host/a?b\"}}\n");
    run(&folder, &[&PER_MINUTE[..], &["--format", "json", "gcp.json"]].concat(), 0);
}

#[test]
fn other_fields_that_no_line_has_are_told() {
    let folder = Folder::new();
    folder.file(
        "a.json",
        "{\"time\":1431857103,\"client\":\"10.0.0.1\",\"http_code\":200}\n".repeat(3),
    );
    folder.file(
        "p.toml",
        "[limiters.a]\nmatch = { status = 404 }\npolicy = \"sliding_log\"\nlimit = 1\ninterval = \"1 s\"\n",
    );
    let (errors, _) =
        run(&folder, &["replay", "--policy", "p.toml", "--format", "json", "--json", "a.json"], 0);
    let said = "no line has a status, which the policy asks for; the log has `http_code`: `--fields status=NAME`";
    assert!(errors.contains(said), "{errors}");
}

#[test]
fn paths_of_absolute_targets_are_paths() {
    let folder = Folder::new();
    let target =
        |target: &str| format!("{{\"time\":1431857103,\"client\":\"a\",\"url\":\"{target}\"}}\n");
    let targets = [
        "https://host:443/users/7?x=1",
        "//users/8",
        "/users/%37",
        "/api/%2e%2e/users/10",
        "http://host",
        "*",
    ];
    let log = targets.map(target).concat();
    folder.file("a.json", log);
    folder.file("a.log", line("a", 1).replace("GET /a", "GET https://host/users/7?y"));
    folder.file(
        "p.toml",
        "[limiters.a]\nkey = { path = [\"/users/{id}\", \"/\"] }\npolicy = \"sliding_log\"\nlimit = 0\ninterval = \"1 s\"\n".replace("limit = 0", "limit = 1"),
    );
    let args = ["replay", "--policy", "p.toml", "--json", "--format", "json", "a.json"];
    let run = sluicegate().current_dir(folder.0.path()).args(args).assert().success();
    let found = output(&run);
    assert_eq!(found["limiters"][0]["keys"], json!(3), "{found}");
    assert_eq!(found["limiters"][0]["top_denied"][0]["key"], json!("/users/{id}"), "{found}");
    let args = ["replay", "--policy", "p.toml", "--json", "a.log", "a.log"];
    let twice = sluicegate().current_dir(folder.0.path()).args(args).assert().code(2);
    assert!(stderr(&twice).contains("`a.log` is given twice"), "{}", stderr(&twice));
}

#[test]
fn no_line_is_left_out_for_a_field_that_nobody_asks_for() {
    let folder = Folder::new();
    let json = |status: &str, bytes: &str| {
        format!("{{\"time\":1431857103,\"client\":\"a\",\"status\":{status},\"bytes\":{bytes}}}\n")
    };
    let lines = [("0", "1"), ("-1", "-1"), ("200", "\"many\""), ("\"wat\"", "3"), ("\"-\"", "0")];
    folder.file("a.json", lines.map(|(status, bytes)| json(status, bytes)).concat());
    let common = ["000 0", "-1 -1", "0 7", "- -"].map(|end| line("a", 1).replace("200 1", end));
    folder.file("a.log", common.concat());
    let policy = |more: &str| {
        let text = "[limiters.a]\npolicy = \"token_bucket\"\nlimit = 9\nrate = { amount = 1, interval = \"1 s\" }\n";
        folder.file("p.toml", format!("{text}{more}\n"));
    };
    let counts = |args: &[&str]| {
        let args = [&["replay", "--policy", "p.toml", "--json"][..], args].concat();
        let run = sluicegate().current_dir(folder.0.path()).args(args).assert().success();
        let found = output(&run);
        (found["lines"].as_u64().unwrap(), found["skipped"].as_u64().unwrap())
    };
    policy("");
    assert_eq!(counts(&["--format", "json", "a.json"]), (5, 0));
    assert_eq!(counts(&["a.log"]), (4, 0));
    policy("match = { status_class = \"2xx\" }");
    assert_eq!(counts(&["--format", "json", "a.json"]), (4, 1));
    policy("cost = \"bytes\"");
    assert_eq!(counts(&["--format", "json", "a.json"]), (4, 1));
}

#[test]
fn one_log_that_cannot_be_read_does_not_stop_the_others() {
    let folder = Folder::new();
    let (errors, text) =
        run(&folder, &["replay", "--policy", "policy.toml", "--json", "access.log", "gone.log"], 1);
    assert!(errors.contains("gone.log"), "{errors}");
    assert!(text.contains("\"lines\":6") && text.contains("\"incomplete\":true"), "{text}");
    let (errors, text) =
        run(&folder, &[&PER_MINUTE[..], &["--json", "gone.log", "access.log"]].concat(), 1);
    assert!(errors.contains("gone.log") && text.contains("\"lines\":6"), "{errors}{text}");
    let (errors, text) = run(&folder, &["replay", "gone.log", "also gone.log"], 1);
    assert_eq!((errors.lines().count(), text), (1, String::new()));
}

#[test]
fn a_share_below_one_percent_has_to_be_meant() {
    let folder = Folder::new();
    let (errors, _) =
        run(&folder, &[&PER_MINUTE[..], &["--at-least", "0.99", "access.log"]].concat(), 2);
    assert!(errors.contains("write `99` for 99 percent, or `0.99%`"), "{errors}");
    let text =
        run(&folder, &[&PER_MINUTE[..], &["--at-least", "0.99%", "access.log"]].concat(), 0).1;
    assert!(text.contains("0.99 % of the keys"), "{text}");
}

#[test]
fn variables_that_only_resemble_others_are_passed_over() {
    let folder = Folder::new();
    folder.file("a.log", "10.0.0.1 [17/May/2015:10:05:03 +0000] 1 2 3\n");
    let format = "$remote_addr [$time_local] $br $err $requester";
    run(&folder, &[&PER_MINUTE[..], &["--format", format, "a.log"]].concat(), 0);
    let typo = "$remote_adr [$time_local] $status";
    let (errors, _) = run(&folder, &[&PER_MINUTE[..], &["--format", typo, "a.log"]].concat(), 2);
    assert!(errors.contains("did you mean `remote_addr`?"), "{errors}");
}

#[test]
fn a_weighted_log_remembers_as_many_lines_as_the_limit_that_is_looked_for() {
    let folder = Folder::new();
    folder.file("a.log", (0..50).map(|n| line("a", n)).collect::<String>());
    for (capacity, pasted) in [("", ""), ("capacity = 3\n", "capacity = 50\n")] {
        folder.file(
            "p.toml",
            format!("[limiters.a]\npolicy = \"weighted_log\"\nlimit = 3\n{capacity}interval = \"1 minute\"\n"),
        );
        let text = run(&folder, &["suggest", "--policy", "p.toml", "--json", "a.log"], 0).1;
        let found: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(found["limiters"][0]["suggested"], json!(50), "{text}");
        let policy = found["policy"].as_str().unwrap();
        assert!(policy.contains(&format!("limit = 50\n{pasted}interval")), "{policy}");
    }
}

#[test]
fn the_curve_of_a_search_fits_into_80_columns() {
    let folder = Folder::new();
    let log: String = (0..60)
        .flat_map(|n| (0..n % 9).map(move |_| line(&format!("10.0.0.{}", n % 9), n)))
        .collect();
    folder.file("a.log", log);
    for columns in ["80", "100"] {
        let args = [&PER_MINUTE[..], &["--at-least", "75", "a.log"]].concat();
        let found =
            sluicegate().current_dir(folder.0.path()).env("COLUMNS", columns).args(args).assert();
        let text = stdout(&found.success());
        assert!(text.contains("it would have hit"), "{text}");
        assert!(text.contains("An address is not a person: an office of 200"), "{text}");
        let most = columns.parse().unwrap();
        // A command is not broken into lines.
        let mut lines = text.lines().filter(|line| !line.contains("sluicegate replay"));
        assert!(lines.all(|line| line.chars().count() <= most), "{text}");
        assert!(!text.contains("limits from 1 to 1 "), "{text}");
    }
}

#[test]
fn one_client_of_all_lines_may_be_a_balancer() {
    let folder = Folder::new();
    let header = "#Fields: date time c-ip cs-method X-Forwarded-For\n";
    let line = |n: u32| format!("2015-05-17 10:05:03 10.1.1.1 GET 198.51.100.{n}\n");
    let log = |lines: u32| header.to_owned() + &(0..lines).map(line).collect::<String>();
    folder.file("a.log", log(100));
    folder.file("few.log", log(99));
    folder.file("two.log", log(100) + "2015-05-17 10:05:03 10.1.1.2 GET -\n");
    let said = "all lines have the client 10.1.1.1; `--fields client=X-Forwarded-For` may be what is meant";
    for command in [
        &["replay", "--policy", "policy.toml", "--json"][..],
        &["suggest", "--policy", "policy.toml", "--json"],
    ] {
        let says = |args: &[&str]| {
            let (errors, text) = run(&folder, &[command, args].concat(), 0);
            assert_eq!(errors.contains(said), text.contains(said), "{errors}{text}");
            text.contains(said)
        };
        assert!(says(&["a.log"]));
        assert!(!says(&["few.log"]));
        assert!(!says(&["two.log"]));
        assert!(!says(&["--fields", "client=X-Forwarded-For", "a.log"]));
    }
}
