//! Tests of policies in the command: `check`, `explain`, the formats, and keys with numbers of their
//! own.

use serde_json::Value;

use super::{Folder, json, sluicegate, stderr, stdout};

const YAML: &str = "\
limiters:
  anonymous_api:
    policy: 'fixed_window'
    limit: 100
    interval: '60 minutes'
  authenticated_api:
    key: user
    policy: 'token_bucket'
    limit: 5000
    rate: { interval: '15 minutes', amount: 500 }
    overrides: { anna: { limit: 9000 } }
    wait: 2s
    shadow: true
";

/// Runs `sluicegate` in the folder.
fn run(folder: &Folder, args: &[&str]) -> assert_cmd::assert::Assert {
    sluicegate().current_dir(folder.0.path()).args(args).assert()
}

#[test]
fn check_says_ok_with_a_line_for_each_limiter_and_warns() {
    let folder = Folder::new();
    folder.file("policy.yaml", YAML);
    let check = run(&folder, &["check", "policy.yaml"]).success();
    assert_eq!(
        stdout(&check),
        "\
ok
  anonymous_api, by client: fixed window: 100 per 1h, starting at the first request
  authenticated_api, by user: token bucket: 5,000, then 500 per 15m; 1 key has other numbers; \
requests wait up to 2s; shadow: only counts what it would deny
"
    );
    let warning = stderr(&check);
    assert!(warning.starts_with("warning: `key` is user\n --> policy.yaml:7:10\n"), "{warning}");
    assert!(warning.contains("warning: `wait` is 2s\n  --> policy.yaml:12:11\n"), "{warning}");
}

#[test]
fn check_prints_all_mistakes_with_status_2() {
    let folder = Folder::new();
    folder.file("bad.toml", "[limiters.a]\npolicy = \"gcra\"\ninterval = 5\ntolerence = \"1 s\"\n");
    let check = run(&folder, &["check", "bad.toml"]).code(2);
    assert_eq!(stdout(&check), "");
    let said = stderr(&check);
    assert_eq!(said.matches("error: ").count(), 3, "{said}");
    assert!(said.contains("  = help: did you mean `tolerance`?"), "{said}");

    folder.file("latin.toml", b"name = \"caf\xe9\"\n");
    for command in [&["check", "latin.toml"][..], &["replay", "--policy", "latin.toml"]] {
        let said = stderr(&run(&folder, command).code(2));
        assert!(said.starts_with("error: this is not UTF-8\n --> latin.toml:1:12\n"), "{said}");
    }
    run(&folder, &["check", "none.toml"]).code(1);
    run(&folder, &["check"]).code(2);
}

#[test]
fn names_that_a_terminal_would_obey_are_shown_escaped() {
    let folder = Folder::new();
    folder.file("p.toml", "[limiters.\"a\\u001b[31m\"]\npolicy = \"budget\"\namount = 5\n");
    for command in ["check", "explain"] {
        let said = stdout(&run(&folder, &[command, "p.toml"]).success());
        assert!(said.contains("a\\u{1b}[31m, by client: ") && !said.contains('\x1b'), "{said}");
    }
}

#[test]
fn the_schema_is_json() {
    let schema: Value = json(&run(&Folder::new(), &["check", "--schema"]).success());
    assert_eq!(schema["$schema"], json!("https://json-schema.org/draft/2020-12/schema"));
    assert!(schema["$defs"]["limiter"]["properties"]["tolerance"]["description"].is_string());
}

#[test]
fn sentences_are_broken_between_words_for_a_narrow_terminal() {
    let folder = Folder::new();
    let all = sluicegate().args(["policy", "--all"]).assert().success();
    folder.file("all.toml", stdout(&all));
    for command in ["check", "explain"] {
        let print = |columns: Option<&str>| {
            let mut run = sluicegate();
            run.current_dir(folder.0.path()).env_remove("COLUMNS").args([command, "all.toml"]);
            columns.map(|columns| run.env("COLUMNS", columns));
            stdout(&run.assert().success())
        };
        let (narrow, whole) = (print(Some("80")), print(None));
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        assert!(whole.lines().any(|line| line.chars().count() > 100), "{whole}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&narrow), words(&whole));
    }
}

#[test]
fn explain_says_what_each_limiter_admits_at_worst() {
    let folder = Folder::new();
    folder.file("policy.yaml", YAML);
    let said = stdout(&run(&folder, &["explain", "policy.yaml"]).success());
    for part in [
        "For each key, admits at most 199 requests in any second, 199 in any minute, 199 in any hour.",
        "For each key, admits at most 5,000 requests in any second, 5,033 in any minute, 6,999 in any hour.",
        "For key \"anna\", admits at most 9,000 requests in any second",
        "Shadow mode: nothing is denied.",
    ] {
        assert!(said.contains(part), "{part}:\n{said}");
    }
}

#[test]
fn a_replay_takes_each_format_and_keys_with_numbers_of_their_own() {
    let folder = Folder::new();
    let limiter = |kind: &str, own: &str| {
        format!("limiters:\n  x:\n    key: client\n{kind}\n    overrides: {{ b: {{ {own} }} }}\n")
    };
    let bucket =
        "    policy: token_bucket\n    limit: 2\n    rate: { amount: 1, interval: 1 hour }";
    let window = "    policy: fixed_window\n    limit: 2\n    interval: 1 hour";
    for yaml in [
        limiter(bucket, "limit: 1"),
        limiter(window, "limit: 1"),
        limiter(&format!("{bucket}\n    max_keys: 9"), "limit: 1"),
        limiter(&format!("{bucket}\n    refill: interval"), "limit: 1"),
    ] {
        folder.file("p.yaml", &yaml);
        let args = ["replay", "--policy", "p.yaml", "--json", "access.log"];
        let replay = json(&run(&folder, &args).success());
        let limiter = &replay["limiters"][0];
        // Of four lines of a, two; of two lines of b, one.
        assert_eq!((&limiter["allowed"], &limiter["denied"]), (&json!(3), &json!(3)), "{yaml}");
        assert_eq!(
            limiter["top_denied"][1],
            json!({ "key": "b", "denied": 1, "allowed": 1, "first_seen": "2015-05-17T10:05:04Z", "last_seen": "2015-05-17T10:05:06Z" })
        );
        let shaped = json(&run(&folder, &[&args[..], &["--shape"]].concat()).success());
        assert_eq!(shaped["limiters"][0]["waits"]["delayed"], json!(3), "{yaml}");
    }
}

#[test]
fn a_replay_warns_of_limiters_that_only_count_and_of_those_that_wait() {
    let folder = Folder::new();
    let window = "policy: fixed_window, limit: 1, interval: 1 hour";
    let yaml = format!(
        "limiters:\n  waits: {{ {window}, wait: 2 s }}\n  counts: {{ {window}, shadow: true }}\n"
    );
    folder.file("p.yaml", &yaml);
    let args = ["replay", "--policy", "p.yaml", "--json", "access.log"];
    let (waits, counts) = ("limiter \"waits\" has `wait`", "limiter \"counts\" has `shadow: true`");
    let plain = run(&folder, &args).success();
    for warning in [waits, counts] {
        assert!(stderr(&plain).contains(warning), "{}", stderr(&plain));
        assert!(json(&plain)["warnings"].to_string().contains(&warning[8..13]));
    }
    let shaped = run(&folder, &[&args[..], &["--shape"]].concat()).success();
    assert!(!stderr(&shaped).contains(waits) && stderr(&shaped).contains(counts));
}

#[test]
fn a_replay_follows_a_penalty_and_tells_which_offences_have_no_place() {
    let folder = Folder::new();
    let yaml = |more: &str| {
        format!(
            "limiters:\n  a: {{ policy: fixed_window, limit: 100, interval: 1 hour, penalty: {{ offences: 1, \
             within: 1 minute, refuse_for: 10 s{more} }}, wait: 1 s }}\n"
        )
    };
    folder.file("p.yaml", yaml(", by: { status: 401 }, max_keys: 1"));
    let sent = [
        (1, 0, 401),
        (1, 9, 200),
        (2, 9, 401),
        (2, 10, 200),
        // The end of a penalty is rounded up, by two microseconds at most.
        (1, 11, 200),
    ];
    let log = sent.map(|(client, second, status)| {
        format!("192.0.2.{client} - - [22/Nov/2026:10:00:{second:02} +0000] \"GET / HTTP/1.1\" {status} 1\n")
    });
    folder.file("log", log.concat());
    let args = ["replay", "--policy", "p.yaml", "--json", "log"];
    let replay = run(&folder, &args).success();
    let limiter = json(&replay)["limiters"][0].clone();
    assert_eq!((&limiter["allowed"], &limiter["denied"]), (&json!(4), &json!(1)));
    let counts = json!({ "offences": 1, "penalties": 1, "denied": 1, "not_noted": 1 });
    assert_eq!(limiter["penalty"], counts);
    let said = stderr(&replay);
    assert!(said.contains("1 of 2 offences were not noted, as its `penalty`"), "{said}");
    assert!(!said.contains("and as offences"), "{said}");

    folder.file("p.yaml", yaml(""));
    let said = stderr(&run(&folder, &args).success());
    assert!(said.contains("are counted as denied, and as offences"), "{said}");
    assert!(!said.contains("were not noted"), "{said}");
}

#[test]
fn a_table_that_cannot_be_allocated_is_refused() {
    let folder = Folder::new();
    folder.file(
        "p.toml",
        "[limiters.x]\npolicy = \"token_bucket\"\nlimit = 5\nrate = { amount = 1, interval = \"1 s\" }\n\
         store = \"table\"\nmemory = \"100 TiB\"\n",
    );
    let args = ["replay", "--policy", "p.toml", "access.log"];
    let said = stderr(&run(&folder, &args).code(2));
    assert!(said.contains("raise --max-memory"), "{said}");
    let more = [&args[..], &["--max-memory", "1000TiB"]].concat();
    let said = stderr(&run(&folder, &more).code(2));
    assert!(said.contains("limiter \"x\" has a table of 100.00 TiB, which this machine"), "{said}");
}

#[test]
fn levels_of_a_hierarchy_are_listed_and_explained() {
    let folder = Folder::new();
    let levels = "[[hierarchy]]\nname = \"team\"\nkey = [\"org\", \"team\"]\ncounts = [\"input\", \"output\"]\n\
                  policy = \"fixed_window\"\nlimit = 50_000\ninterval = \"1 minute\"\nstart = \"epoch\"\n\
                  overrides = { \"acme/*\" = { limit = 90_000 } }\n";
    folder.file("levels.toml", levels);
    let line = "level team, by org and team: fixed window: 50,000 per 1m, aligned to the clock; counts input \
                and output; keys of 1 pattern have other numbers\n";
    let check = run(&folder, &["check", "levels.toml"]).success();
    assert_eq!(stdout(&check), format!("ok\n  {line}"));
    let explain = stdout(&run(&folder, &["explain", "levels.toml"]).success());
    for part in [
        line,
        "  For each key, admits at most 100,000 of input + output in any second, 100,000 in any minute, ",
        "  For keys like \"acme/*\", admits at most 180,000 of input + output in any second, ",
    ] {
        assert!(explain.contains(part), "{part}\n{explain}");
    }
    let suggest = run(&folder, &["suggest", "--policy", "levels.toml", "access.log"]).success();
    assert!(stdout(&suggest).contains("a level of a hierarchy, which depends on the others"));
}

#[test]
fn several_policies_are_replayed_side_by_side() {
    let folder = Folder::new();
    let of = |limit: u32| {
        format!(
            "[limiters.pages]\npolicy = \"fixed_window\"\nlimit = {limit}\ninterval = \"1 hour\"\n"
        )
    };
    folder.file("strict.toml", of(100));
    folder.file("mild.toml", of(1_000));
    let both = ["replay", "--sample", "--json", "-p", "strict.toml", "-p", "mild.toml"];
    let both = json(&run(&folder, &both).success());
    for (place, name) in ["strict", "mild"].into_iter().enumerate() {
        let alone = ["replay", "--sample", "--json", "-p", &format!("{name}.toml")];
        let alone = json(&run(&folder, &alone).success());
        let (mut here, there) = (both["limiters"][place].clone(), alone["limiters"][0].clone());
        assert_eq!(here["name"], format!("{name}: pages"));
        here["name"] = there["name"].clone();
        assert_eq!(here, there);
    }
    assert!(both["limiters"][0]["denied"].as_u64() > both["limiters"][1]["denied"].as_u64());
}

#[test]
fn policies_that_cannot_be_side_by_side_are_refused_before_anything_is_read() {
    let folder = Folder::new();
    folder.file("policy.yaml", YAML);
    let level = "[[hierarchy]]\nname = \"org\"\nkey = [\"org\"]\npolicy = \"fixed_window\"\nlimit = 5\ninterval = \"1 hour\"\n";
    folder.file("a.toml", level);
    folder.file("b.toml", level);
    for (first, second, status, why) in [
        ("policy.yaml", "policy.yaml", 2, "the same policy is given twice"),
        ("a.toml", "b.toml", 2, "both have levels"),
        ("-", "-", 2, "standard input is one policy only"),
        ("policy.yaml", "none.toml", 1, "none.toml"),
    ] {
        let refused = run(&folder, &["replay", "--sample", "-p", first, "-p", second]).failure();
        assert!(stderr(&refused).contains(why), "{}", stderr(&refused));
        assert_eq!(refused.get_output().status.code(), Some(status));
    }
}

#[test]
fn networks_have_numbers_of_their_own() {
    let folder = Folder::new();
    folder.file(
        "policy.toml",
        "[limiters.a]\nkey = \"client\"\npolicy = \"sliding_window\"\nlimit = 1\ninterval = \"1 hour\"\n\
         overrides = { \"10.0.0.0/8\" = { limit = 2 }, \"10.1.0.0/16\" = { limit = 3 }, \"10.1.0.9\" = { limit = 4 } }\n",
    );
    let clients = ["11.0.0.1", "10.2.0.1", "10.1.0.1", "10.1.0.9"];
    let line = |client: &&str| {
        format!("{client} - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1\n").repeat(5)
    };
    let log: String = clients.iter().map(line).collect();
    for args in [&["--json"][..], &["--json", "--top", "0"]] {
        let found = json(&folder.replay(args, log.clone()).success());
        let denied = found["limiters"][0]["top_denied"].as_array().unwrap();
        let denied: Vec<_> = denied.iter().map(|key| (&key["key"], &key["denied"])).collect();
        let expected =
            clients.iter().zip([4, 3, 2, 1]).map(|(client, denied)| (json!(client), json!(denied)));
        let expected: Vec<_> = expected.collect();
        assert_eq!(denied, expected.iter().map(|(key, denied)| (key, denied)).collect::<Vec<_>>());
    }
    let explained = stdout(
        &sluicegate().arg("explain").arg(folder.0.path().join("policy.toml")).assert().success(),
    );
    assert!(explained.contains("each client in \"10.0.0.0/8\""), "{explained}");
}
