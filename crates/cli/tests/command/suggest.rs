//! `sluicegate suggest`.

use std::collections::BTreeSet;
use std::fs;

use serde_json::json;

use super::{Folder, json as output, sluicegate, stdout};

#[test]
fn the_curve_and_those_it_hits_are_told() {
    let folder = Folder::new();
    let log = folder.file(
        "suggest.log",
        "a - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1\n\
         a - - [17/May/2015:10:05:04 +0000] \"GET / HTTP/1.1\" 200 1\n\
         b - - [17/May/2015:10:05:04 +0000] \"GET / HTTP/1.1\" 200 1\n\
         a - - [17/May/2015:10:05:05 +0000] \"GET / HTTP/1.1\" 200 1\n",
    );
    let run = |args: &[&str]| {
        let fixed = ["suggest", "--kind", "sliding_log", "--interval", "1 minute"];
        sluicegate().args(fixed).args(args).arg(&log).assert().success()
    };
    let found = output(&run(&["--json", "--at-least", "50"]));
    assert_eq!(
        found,
        json!({
            "lines": 4,
            "skipped": 0,
            "of": "keys",
            "untouched_percent": 50.0,
            "limiters": [{
                "name": "per-client",
                "policy": "sliding log: 1 in any 1m",
                "keys": 2,
                "requests": 4,
                "present": null,
                "suggested": 1,
                "suggested_policy": "sliding log: 1 in any 1m",
                "may_hit": 1,
                "is_least": true,
                "overridden": 0,
                "knee": null,
                "is_by_client": true,
                "curve": [
                    { "limit": 1, "keys_hit": 1, "denied": 2, "requests_of_hit": 3 },
                    { "limit": 2, "keys_hit": 1, "denied": 1, "requests_of_hit": 3 },
                    { "limit": 3, "keys_hit": 0, "denied": 0, "requests_of_hit": 0 },
                ],
                "hit": [{
                    "key": "a",
                    "denied": 2,
                    "requests": 3,
                    "least_limit": 3,
                    "mostly": { "agent": "-", "agents": 1, "path": "/", "paths": 1 },
                    "first": "2015-05-17T10:05:03Z",
                    "last": "2015-05-17T10:05:05Z",
                }],
            }],
            "policy": "[limiters.per-client]\nkey = \"client\"\npolicy = \"sliding_log\"\nlimit = 1\ninterval = \"1 minute\"\n",
            "without": [],
            "warnings": [],
            "failures": [],
        })
    );
    let text = stdout(&run(&[]));
    assert!(text.contains("3 is the least limit that leaves at least 99 % of the keys"), "{text}");
    let text = stdout(&run(&["--of", "requests", "--at-least", "75"]));
    assert!(
        text.contains("2 is the least limit that leaves at least 75 % of the requests"),
        "{text}"
    );
    assert!(text.contains("2015-05-17 10:05:03"), "{text}");
}

#[test]
fn each_limiter_of_the_bundled_policy_is_looked_at() {
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../replay/sample/policy.toml");
    let args = ["suggest", "--sample", "--json", "--policy", policy];
    let found = output(&sluicegate().args(args).assert().success());
    let names_in = |list: &str| -> BTreeSet<String> {
        let names = found[list].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap());
        // Windows and parts of a limiter have names of their own, after that of the limiter.
        names.map(|name| name.split(": ").next().unwrap().to_owned()).collect()
    };
    let (with, without) = (names_in("limiters"), names_in("without"));
    // Two have no limit, and two have one of all keys.
    assert!(without.iter().eq(["classes", "daily-bytes", "reload", "tenants"]), "{without:?}");
    let text = fs::read_to_string(policy).unwrap();
    let named = text.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    assert_eq!(
        with.union(&without).cloned().collect::<BTreeSet<_>>(),
        named.map(str::to_owned).collect()
    );
    let limiters = found["limiters"].as_array().unwrap();
    assert!(limiters.iter().all(|limiter| limiter["suggested"].is_u64()));
    let gap = &limiters[0]["gap"];
    assert!(gap["keys_hit"].as_u64() < limiters[0]["keys"].as_u64(), "{gap}");
}

#[test]
fn a_rate_is_searched_for_at_a_fixed_burst() {
    let folder = Folder::new();
    let line = |second: u32, client: &str| {
        format!("{client} - - [17/May/2015:10:05:{second:02} +0000] \"GET / HTTP/1.1\" 200 1\n")
    };
    // Client a comes in every other second. Client b comes 5 times at once, and never again.
    let log: String =
        (0..30).map(|n| line(2 * n % 60, "a")).chain((0..5).map(|_| line(59, "b"))).collect();
    let log = folder.file("suggest.log", log);
    let run = |burst: &str, args: &[&str]| {
        let fixed =
            ["suggest", "--kind", "token_bucket", "--interval", "1 minute", "--vary", "rate"];
        let burst = ["--burst", burst, "--as-stamped", "--at-least", "100"];
        sluicegate().args(fixed).args(burst).args(args).arg(&log).assert().success()
    };
    let found = output(&run("5", &["--json"]));
    assert_eq!(found["vary"], "rate");
    let limiter = &found["limiters"][0];
    assert_eq!((&limiter["interval"], &limiter["is_least"]), (&json!("1m"), &json!(true)));
    // With a burst of 5, a needs 30 requests - 5 in 58 seconds: 25.9 a minute.
    assert_eq!(limiter["suggested"], 26, "{limiter}");
    assert_eq!(output(&run("30", &["--json"]))["limiters"][0]["suggested"], 1);
    // Five at once are more than any rate grants with a burst of 4.
    assert_eq!(output(&run("4", &["--json"]))["limiters"][0]["suggested"], json!(null));
    let text = stdout(&run("5", &[]));
    assert!(
        text.contains("26 per 1m is the least rate that leaves at least 100 % of the keys"),
        "{text}"
    );
    assert!(text.contains("per 1m"), "{text}");
}

#[test]
fn lines_without_a_key_or_a_cost_are_told() {
    let folder = Folder::new();
    let policy = folder.file(
        "policy.toml",
        "[limiters.users]
        key = { field = \"user\", missing = \"deny\" }
        policy = \"sliding_log\"
        limit = 9
        interval = \"1 minute\"
        [limiters.keys]
        key = { header = \"x-api-key\", missing = \"admit\" }
        policy = \"multi_window\"
        limits = [{ limit = 5, interval = \"1 s\" }, { limit = 9, interval = \"1 minute\" }]
        [limiters.costs]
        policy = \"token_bucket\"
        limit = 9
        rate = { amount = 1, interval = \"1 s\" }
        cost = { header = \"referer\", missing = 2 }",
    );
    let log = folder.file(
        "suggest.log",
        "a - ada [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1 \"3\" \"-\"\n\
         a - - [17/May/2015:10:05:04 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n\
         b - - [17/May/2015:10:05:04 +0000] \"GET / HTTP/1.1\" 200 1 \"x\" \"-\"\n",
    );
    let run = |args: &[&str]| {
        let policy = ["suggest", "--policy", policy.to_str().unwrap()];
        sluicegate().args(policy).args(args).arg(&log).assert().success()
    };
    let found = output(&run(&["--json"]));
    let limiters = found["limiters"].as_array().unwrap();
    let lacking = |denied: u64, admitted: u64, no_cost: u64| json!({ "denied": denied, "admitted": admitted, "shared": 0, "no_address": 0, "no_cost": no_cost, "rounded": 0 });
    assert_eq!((&limiters[0]["requests"], &limiters[0]["lacking"]), (&json!(1), &lacking(2, 0, 0)));
    for part in &limiters[1..3] {
        assert_eq!((&part["requests"], &part["lacking"]), (&json!(0), &lacking(0, 3, 0)));
    }
    assert_eq!((&limiters[3]["requests"], &limiters[3]["lacking"]), (&json!(3), &lacking(0, 0, 2)));
    assert_eq!(
        found["warnings"],
        json!([
            "no line has a value of header x-api-key, which the policy names; `--format help` lists the columns of formats with names",
            "limiter \"users\": 2 of 3 lines have no key of their own: 2 were denied, as the policy says",
            "limiter \"keys\": 3 of 3 lines have no key of their own: 3 were admitted without a limit, as \
             the policy says",
            "limiter \"costs\": 2 of 3 lines have no number for their cost, and cost what `missing` says",
        ])
    );
    let text = stdout(&run(&[]));
    assert!(text.contains("2 requests without a key are left out"), "{text}");
    assert_eq!(text.matches("no request in the logs has a key").count(), 2, "{text}");
}

#[test]
fn a_penalty_is_left_out_and_a_warning_says_so() {
    let folder = Folder::new();
    let limit = |name: &str, penalty: &str| {
        format!(
            "[limiters.{name}]\nkey = \"client\"\npolicy = \"sliding_log\"\nlimit = 1\ninterval = \"1 minute\"\n{penalty}\n"
        )
    };
    let penalty = r#"penalty = { offences = 1, within = "1 minute", refuse_for = "1 hour" }"#;
    let text = format!("{}{}", limit("log-ins", penalty), limit("pages", ""));
    let policy = folder.file("policy.toml", text);
    let log: String = [3, 4, 5]
        .map(|second| {
            format!("a - - [17/May/2015:10:05:{second:02} +0000] \"GET / HTTP/1.1\" 200 1\n")
        })
        .concat();
    let log = folder.file("suggest.log", log);
    let run = |args: &[&str]| {
        let policy = ["suggest", "--policy", policy.to_str().unwrap()];
        sluicegate().args(policy).args(args).arg(&log).assert().success()
    };
    let found = output(&run(&["--json"]));
    let warning = "limiter \"log-ins\": its `penalty` is left out, so a limit may deny more than is told here; keep \
                   the penalty beside the limit that you choose, and `replay` the policy with both";
    assert_eq!(found["warnings"], json!([warning]));
    let limiters = found["limiters"].as_array().unwrap();
    assert_eq!(limiters[0]["curve"], limiters[1]["curve"], "the penalty changes no number");
    assert!(stdout(&run(&[])).contains("its `penalty` is left out"));
}

#[test]
fn among_few_keys_the_knee_is_told_and_how_to_have_it() {
    let folder = Folder::new();
    let line = |client: &str, second: usize| {
        format!(
            "{client} - - [17/May/2015:10:{:02}:{:02} +0000] \"GET / HTTP/1.1\" 200 1\n",
            second / 60,
            second % 60
        )
    };
    let mut log: Vec<(usize, String)> = Vec::new();
    for client in 0..40 {
        log.extend(
            (0..10)
                .map(|n| n * 60)
                .map(|second| (second, line(&format!("192.0.2.{client}"), second))),
        );
    }
    log.extend((0..300).map(|second| (second, line("203.0.113.66", second))));
    log.sort();
    folder.file("few.log", log.into_iter().map(|(_, line)| line).collect::<String>());
    let suggest = |share: &str| {
        let args = [
            "suggest",
            "--kind",
            "sliding_window",
            "--interval",
            "1 minute",
            "--at-least",
            share,
            "few.log",
        ];
        stdout(&sluicegate().current_dir(folder.0.path()).args(args).assert().success())
    };
    let all = suggest("99");
    assert!(all.contains("  61 is the least limit"), "{all}");
    let knee =
        "  2, the knee, would hit 1 of 41 keys, which send 42.9 % of the requests: --at-least 97";
    assert!(all.contains(knee) && all.contains("all hit the same key\n"), "{all}");
    let next =
        "sluicegate suggest --kind sliding_window --interval '1 minute' few.log --at-least 97\n";
    assert!(all.contains(next), "{all}");
    assert!(all.contains("       or else save the policy as limits.toml, and"), "{all}");
    let knee = suggest("97");
    assert!(
        knee.contains("  2 is the least limit") && !knee.contains(", the knee, would"),
        "{knee}"
    );
    assert!(knee.contains("203.0.113.66"), "{knee}");
}

#[test]
fn a_narrow_terminal_breaks_sentences_between_their_words() {
    let folder = Folder::new();
    let line = |minute: usize| {
        format!("203.0.113.7 - - [17/May/2015:10:{minute:02}:00 +0000] \"GET / HTTP/1.1\" 200 1\n")
    };
    folder.file("late.log", (0..60).rev().map(line).collect::<String>());
    folder.file(
        "reload.toml",
        "[limiters.reload]\nkey = \"client\"\npolicy = \"leaky_bucket\"\nmode = \"min_interval\"\ninterval = \"10 s\"\n",
    );
    let run = |args: &[&str]| {
        let mut run = sluicegate();
        run.current_dir(folder.0.path()).env("COLUMNS", "80").arg("suggest").args(args);
        stdout(&run.assert())
    };
    let pages = run(&["--kind", "fixed_window", "--interval", "1 hour", "late.log"]);
    let reload = run(&["--policy", "reload.toml", "late.log"]);
    for (text, words) in [(&pages, "warning: 58 of 60 lines are"), (&reload, "no suggestion: ")] {
        assert!(text.contains(words), "{text}");
        // Commands and policies are copied as they are.
        let sentences = text.lines().filter(|line| !line.contains("sluicegate"));
        let too_long = sentences.filter(|line| line.chars().count() > 80);
        assert_eq!(too_long.collect::<Vec<_>>(), [""; 0], "{text}");
    }
}

#[test]
fn the_next_command_reads_the_logs_in_the_same_way() {
    let folder = Folder::new();
    let read = ["--format", "combined", "--reorder", "5m", "--as-stamped", "access.log"];
    let suggest = [&["suggest", "--kind", "gcra", "--interval", "1 s"][..], &read].concat();
    let replay = [&["replay", "--policy", "policy.toml", "--shape"][..], &read].concat();
    for (args, next) in [
        (
            suggest,
            "sluicegate replay --policy limits.toml --html report.html --format combined --reorder 5m --as-stamped access.log",
        ),
        (
            replay,
            "sluicegate replay --html report.html --policy policy.toml --format combined --reorder 5m --shape --as-stamped access.log",
        ),
    ] {
        let said = stdout(&sluicegate().current_dir(folder.0.path()).args(args).assert().success());
        assert!(said.contains(next), "{said}");
    }
}

#[test]
fn requests_without_a_user_do_not_decide_the_limit_of_users() {
    let folder = Folder::new();
    let line = |user: &str, second: usize| {
        format!(
            "192.0.2.7 - {user} [17/May/2015:10:05:{second:02} +0000] \"GET / HTTP/1.1\" 200 1\n"
        )
    };
    let log: String = (0..50).map(|second| line("-", second)).collect();
    folder.file("a.log", log + &line("ada", 50) + &line("ada", 51) + &line("bob", 52));
    let args =
        ["suggest", "--kind", "sliding_log", "--interval", "1 hour", "--key", "user", "a.log"];
    let run =
        |more: &[&str]| sluicegate().current_dir(folder.0.path()).args(args).args(more).assert();
    let found = output(&run(&["--json"]).success());
    assert_eq!(
        (&found["limiters"][0]["suggested"], &found["limiters"][0]["keys"]),
        (&json!(2), &json!(2))
    );
    let said = stdout(&run(&[]).success());
    assert!(said.contains("50 requests without a key are left out"), "{said}");
    assert!(said.contains("key = { field = \"user\", missing = \"admit\" }"), "{said}");
}
