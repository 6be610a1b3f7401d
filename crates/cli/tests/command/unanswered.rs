//! Searches of `sluicegate suggest` that end without a limit, and that say why.

use serde_json::json;

use super::{Folder, json as output, sluicegate, stderr, stdout};

#[test]
fn what_cannot_be_is_a_clear_error() {
    for (args, said) in [
        (&["suggest", "-"][..], "standard input, which can be read only once"),
        (&["suggest"], "no log is given: name the files"),
        (&["suggest", "--at-least", "100.5", "x"], "from 0 to 100 percent"),
        (&["suggest", "--at-least", "nine", "x"], "from 0 to 100 percent"),
        (&["suggest", "--kind", "gcra", "x"], "--interval"),
        (&["suggest", "--kind", "budget", "--interval", "1 day", "x"], "sliding_log"),
        (
            &["suggest", "--kind", "gcra", "--interval", "often", "--sample"],
            "--kind gcra --interval 'often': `interval` is",
        ),
        (&["suggest", "--kind", "gcra", "--interval", "1 s", "--key", "hat", "--sample"], "hat"),
        (&["suggest", "--sample", "--max-memory", "1 KiB"], "--max-memory"),
        (&["suggest", "--kind", "gcra", "--interval", "1 s", "--burst", "0", "x"], "--burst <N>"),
        (
            &["suggest", "--kind", "gcra", "--interval", "1 s", "--amount", "4294967297", "x"],
            "1..=",
        ),
    ] {
        let failed = sluicegate().args(args).assert().code(2);
        assert!(stderr(&failed).contains(said), "{args:?}: {}", stderr(&failed));
    }
    let failed = sluicegate().args(["suggest", "no such log"]).assert().code(1);
    assert!(stderr(&failed).contains("no such log"), "{}", stderr(&failed));
}

#[test]
fn numbers_that_a_kind_does_not_have_are_refused() {
    for (args, said) in [
        (["--kind", "sliding_window", "--burst", "5"], "`--burst 5` is of a bucket"),
        (["--kind", "gcra", "--amount", "5"], "`--amount 5` is of a bucket"),
        (["--kind", "token_bucket", "--burst", "5"], "is for `--vary rate`"),
    ] {
        let more = ["--interval", "1 s", "--sample"];
        let failed = sluicegate().arg("suggest").args(args).args(more).assert().code(2);
        assert!(stderr(&failed).contains(said), "{}", stderr(&failed));
    }
}

#[test]
fn a_limiter_that_takes_too_much_memory_leaves_the_others_their_answers() {
    let folder = Folder::new();
    let limiter = |name: &str, policy: &str| {
        format!(
            "[limiters.{name}]\nkey = \"client\"\npolicy = \"{policy}\"\nlimit = 60_000\ninterval = \"1 hour\"\ncost = \"bytes\"\n"
        )
    };
    let policy = limiter("logs", "weighted_log") + &limiter("windows", "sliding_window");
    folder.file("limits.toml", policy);
    let line = |client: usize| {
        format!("192.0.2.{client} - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 7\n")
    };
    folder.file("a.log", (0..200).map(|number| line(number % 8)).collect::<String>());
    let args = ["suggest", "--policy", "limits.toml", "--max-memory", "2 MiB", "--json", "a.log"];
    let found = output(&sluicegate().current_dir(folder.0.path()).args(args).assert().success());
    let why = found["without"][0]["why"].as_str().unwrap();
    assert!(found["without"][0]["name"] == "logs" && why.contains("a `capacity`"), "{found}");
    assert_eq!(found["limiters"].as_array().unwrap().len(), 1, "{found}");
    assert!(found["limiters"][0]["suggested"].is_u64(), "{found}");
}

#[test]
fn a_cost_that_no_line_has_gives_no_number() {
    let folder = Folder::new();
    let limiter = "[limiters.a]\nkey = \"client\"\npolicy = \"sliding_window\"\nlimit = 1\ninterval = \"1 hour\"\n";
    folder.file("limits.toml", format!("{limiter}cost = {{ column = \"duratoin\" }}\n"));
    for (command, said) in [
        ("suggest", "no suggestion: no request has a number for its `cost`"),
        ("replay", "counts nothing that the logs have: no request has a number for its `cost`"),
    ] {
        let args = [command, "--policy", "limits.toml", "--sample"];
        let run = sluicegate().current_dir(folder.0.path()).args(args).assert().success();
        assert!(stdout(&run).contains(said), "{}", stdout(&run));
        assert!(!stdout(&run).contains("policy to paste"), "{}", stdout(&run));
    }
    let args = ["suggest", "--json", "--policy", "limits.toml", "--sample"];
    let found = output(&sluicegate().current_dir(folder.0.path()).args(args).assert().success());
    assert_eq!(
        (&found["limiters"], &found["without"][0]["name"]),
        (&json!([]), &json!("a")),
        "{found}"
    );
}

#[test]
fn a_log_that_cannot_be_read_is_named_in_the_report_and_on_the_page() {
    let folder = Folder::new();
    let gzip = super::gzip(&super::LOG.repeat(1000));
    folder.file("cut.log.gz", &gzip[..gzip.len() / 2]);
    let run = sluicegate()
        .current_dir(folder.0.path())
        .args(["suggest", "--kind", "sliding_window", "--interval", "1m", "--html", "page.html"])
        .args(["access.log", "cut.log.gz"])
        .assert()
        .code(1);
    let page = std::fs::read_to_string(folder.0.path().join("page.html")).unwrap();
    for text in [&stdout(&run), &page] {
        assert!(text.contains("not all was read: cut.log.gz: "), "{text}");
    }
}

#[test]
fn a_capacity_that_denies_whatever_the_limit_is_is_told() {
    let folder = Folder::new();
    let limiter = "[limiters.own]\nkey = \"all\"\npolicy = \"weighted_log\"\nlimit = 9\ninterval = \"1 hour\"\n";
    folder.file("limits.toml", format!("{limiter}capacity = 2\n"));
    let run = |more: &[&str]| {
        let args = ["suggest", "--policy", "limits.toml", "access.log"];
        sluicegate().current_dir(folder.0.path()).args(args).args(more).assert().success()
    };
    let warning = "limiter \"own\": its `capacity` stays at 2 requests in an interval, and denies all others \
                   whatever the limit is; leave `capacity` out, and it follows the limit";
    let found = output(&run(&["--json"]));
    let one = &found["limiters"][0]["suggested"];
    assert_eq!((one, &found["warnings"]), (&json!(null), &json!([warning])));
    folder.file("limits.toml", limiter);
    let found = output(&run(&["--json"]));
    let one = &found["limiters"][0]["suggested"];
    assert_eq!((one, &found["warnings"]), (&json!(6), &json!([])));
}
