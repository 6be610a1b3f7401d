//! Logs that are not in order, and lines whose time is wrong.

use std::fmt::Write;

use super::{Folder, json, sluicegate, stderr, stdout};

fn at(second: usize) -> String {
    format!("17/May/2015:{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

/// Returns one line for each of these seconds.
fn lines(seconds: impl IntoIterator<Item = usize>) -> String {
    seconds.into_iter().fold(String::new(), |mut log, second| {
        writeln!(log, "c{} - - [{} +0000] \"GET / HTTP/1.1\" 200 1", second % 7, at(second))
            .unwrap();
        log
    })
}

#[test]
fn a_line_far_ahead_is_set_aside_and_told() {
    let folder = Folder::new();
    let future = lines([5]).replace("2015", "2035");
    let good = json(&folder.replay(&["--json"], lines(0..2000)).success());
    for place in [0, 1, 700, 1999] {
        let log = lines(0..place) + &future + &lines(place..2000);
        let replay = folder.replay(&["--json"], log).success();
        let found = json(&replay);
        assert_eq!((&found["late"], &found["outliers"]), (&json!(0), &json!(1)), "{place}");
        assert_eq!(found["limiters"], good["limiters"]);
        assert!(stderr(&replay).contains("1 of 2,001 lines were set aside"), "{}", stderr(&replay));
    }
}

#[test]
fn a_pause_is_no_line_far_ahead() {
    let log = lines((0..500).chain(20_000..20_500));
    let found = json(&Folder::new().replay(&["--json"], log).success());
    assert_eq!((&found["lines"], &found["outliers"]), (&json!(1000), &json!(0)));
}

#[test]
fn files_are_merged_by_time_whatever_their_order() {
    let folder = Folder::new();
    folder.file("old", lines(0..3000));
    folder.file("new", lines(3000..6000));
    // It overlaps both.
    folder.file("both", lines((0..6000).step_by(3)));
    let forwards = json(&folder.replay(&["--json", "old", "both", "new"], "").success());
    assert_eq!((&forwards["lines"], &forwards["late"]), (&json!(8000), &json!(0)));
    for args in [["new", "both", "old"], ["both", "new", "old"], ["old", "new", "both"]] {
        let args = [&["--json"], &args[..]].concat();
        let mixed = json(&folder.replay(&args, "").success());
        assert_eq!(forwards["limiters"], mixed["limiters"]);
        assert_eq!(mixed["late"], json!(0));
    }
    let apart = |from: usize| lines(from..from + 100);
    folder.file("first", apart(0));
    folder.file("second", apart(1000));
    folder.file("third", apart(2000));
    let found = json(&folder.replay(&["--json", "second", "third", "first"], "").success());
    assert_eq!((&found["lines"], &found["late"]), (&json!(300), &json!(0)));
}

#[test]
fn more_logs_than_are_kept_open_are_merged_too() {
    let folder = Folder::new();
    let names: Vec<String> = (0..40).map(|log| format!("access.log.{log}")).collect();
    for (log, name) in names.iter().enumerate() {
        folder.file(name, lines((39 - log) * 100..(41 - log) * 100));
    }
    let args: Vec<&str> = ["--json"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let found = json(&folder.replay(&args, "").success());
    assert_eq!((&found["lines"], &found["late"]), (&json!(8000), &json!(0)));
}

#[test]
fn a_stream_in_the_wrong_order_has_a_status_of_its_own() {
    let replay = Folder::new().replay(&["--json"], lines(3000..4000) + &lines(0..2000)).code(3);
    assert_eq!(json(&replay)["misplaced"], json!(2000));
    assert!(stderr(&replay).contains("a log is not in order of time"), "{}", stderr(&replay));
}

#[test]
fn a_limiter_that_judges_no_line_is_told() {
    let folder = Folder::new();
    folder.file("policy.toml", super::POLICY.to_owned() + "match = { path_prefix = \"/none\" }\n");
    let replay = folder.replay(&["--json", "access.log"], "").success();
    assert!(
        stderr(&replay).contains("limiter \"three in all\" judged no line"),
        "{}",
        stderr(&replay)
    );
    assert_eq!(json(&replay)["warnings"].as_array().unwrap().len(), 1);
}

#[test]
fn memory_beyond_the_bound_is_refused_before_the_replay_or_ends_it() {
    let folder = Folder::new();
    let policy = "[[limiter]]\nname = \"big\"\nkey = \"client\"\npolicy = \"sliding_window\"\n\
                  limit = 10\ninterval = \"1 day\"\nslots = 65536";
    folder.file("policy.toml", policy);
    let refused = folder.replay(&["--max-memory", "100 KiB", "access.log"], "").code(2);
    assert!(stderr(&refused).contains("limiter \"big\""), "{}", stderr(&refused));
    assert_eq!(stdout(&refused), "");
    let log: String = (0..6400).map(|n| lines([n]).replacen('c', &format!("{n}c"), 1)).collect();
    let ended = folder.replay(&["--json", "--max-memory", "64 MiB"], log).code(1);
    assert!(stderr(&ended).contains("raise --max-memory"), "{}", stderr(&ended));
    assert_eq!(json(&ended)["incomplete"], json!(true));
    folder.file("policy.toml", format!("{policy}\nmax_keys = 1_000_000"));
    let warned = folder.replay(&["--json", "access.log"], "").success();
    assert!(stderr(&warned).contains("if it had `max_keys` keys"), "{}", stderr(&warned));
}

#[test]
fn tallies_of_too_many_keys_are_estimates_that_say_so() {
    let folder = Folder::new();
    let log: String = (0..5000).map(|n| lines([n]).replacen('c', &format!("{n}c"), 1)).collect();
    let often = lines([5000]).repeat(300);
    let log = log + &often;
    let text = stdout(&folder.replay(&["--tally-keys", "100"], &*log).success());
    assert!(text.contains("of about ") && text.contains("refused at least 1,"), "{text}");
    let found = json(&folder.replay(&["--json", "--tally-keys", "100"], log).success());
    let limiter = &found["limiters"][0];
    assert_eq!(limiter["tally"], json!({ "max_keys": 100, "denied_error": 0 }));
    assert_eq!(limiter["denied"], json!(298));
    assert_eq!(limiter["top_denied"][0]["denied"], json!(298));
    assert!((4800..5200).contains(&limiter["keys"].as_u64().unwrap()), "{limiter}");
}

#[test]
fn spellings_of_one_address_are_one_key() {
    let clients = [
        "2001:DB8::1",
        "2001:db8:0::1",
        "::ffff:192.0.2.1",
        "192.0.2.1",
        "192.0.2.1:4711",
        "[::ffff:192.0.2.1]:80",
    ];
    let log: String = clients.iter().map(|client| lines([0]).replace("c0", client)).collect();
    let found = json(&Folder::new().replay(&["--json"], log).success());
    assert_eq!(found["limiters"][0]["keys"], json!(2));
}

#[test]
fn a_log_without_a_command_is_answered_with_the_command() {
    let folder = Folder::new();
    let answer = sluicegate().current_dir(folder.0.path()).arg("access.log").assert().code(2);
    assert!(stderr(&answer).contains("sluicegate replay access.log"), "{}", stderr(&answer));
}

#[test]
fn brief_prints_the_limiters_and_the_warnings() {
    let report = stdout(&Folder::new().replay(&["--brief", "access.log"], "").success());
    assert!(report.contains("\nlimiters\n") && !report.contains("over time"), "{report}");
    let last = stdout(&Folder::new().replay(&["access.log"], "").success());
    assert!(last.find("over time") < last.find("\nlimiters\n"), "the summary is last: {last}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_error_is_no_panic() {
    let folder = Folder::new();
    let log = folder.file("bad.log", "bad\n".repeat(20) + &lines(0..100));
    for (log, code) in [(log.to_str().unwrap(), 0), ("no.log", 1)] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let status = std::process::Command::new(env!("CARGO_BIN_EXE_sluicegate"))
            .args(["replay", "--json", log])
            .stdout(std::process::Stdio::null())
            .stderr(full)
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(code), "{log}");
    }
}

/// Returns the times of a log whose writers are out of step by up to so many seconds.
fn jumbled(by: usize) -> Vec<usize> {
    (0..3000).map(|second| second + (second * 7919) % (by + 1)).collect()
}

#[test]
fn a_reorder_window_puts_lines_in_order_that_are_near_to_it() {
    let folder = Folder::new();
    folder.file(
        "policy.toml",
        "[limiters.a]\nkey = \"client\"\npolicy = \"fixed_window\"\nlimit = 3\ninterval = \"30 s\"\n",
    );
    let mut sorted = jumbled(200);
    sorted.sort_unstable();
    let good = json(&folder.replay(&["--json"], lines(sorted)).success());
    assert_eq!(good["late"], json!(0));
    let plain = folder.replay(&["--json"], lines(jumbled(200))).code(3);
    assert_ne!(json(&plain)["limiters"], good["limiters"]);
    let advice = "; `--reorder 5m` puts them in order";
    assert!(stderr(&plain).contains(advice), "{}", stderr(&plain));
    for args in [&["--json", "--reorder", "5m"][..], &["--json", "--sort"]] {
        let found = folder.replay(args, lines(jumbled(200))).success();
        assert_eq!(json(&found), good, "{args:?}");
        assert_eq!(stderr(&found), "");
    }
    let narrow = folder.replay(&["--json", "--reorder", "1m"], lines(jumbled(200))).success();
    assert_ne!(json(&narrow)["late"], json!(0));
}

#[test]
fn a_log_that_is_joined_in_the_wrong_order_is_sorted() {
    let folder = Folder::new();
    let good = json(&folder.replay(&["--json"], lines(0..40_000)).success());
    let wrong = lines(30_000..40_000) + &lines(0..30_000);
    let plain = folder.replay(&["--json"], wrong.clone()).code(3);
    assert!(stderr(&plain).contains("`--sort` puts them in order"), "{}", stderr(&plain));
    assert_eq!(json(&folder.replay(&["--json", "--sort"], wrong).success()), good);
    // Shuffled, lines are hours ahead of those after them.
    let shuffled = lines((0..40_000).map(|second| second * 7919 % 40_000));
    assert_eq!(json(&folder.replay(&["--json", "--sort"], shuffled).success()), good);
    // Each of several logs is sorted, and then they are merged.
    folder.file("one", lines((0..5000).rev()));
    folder.file("other", lines((5000..9000).rev()));
    let both = folder.replay(&["--json", "--sort", "other", "one"], "").success();
    assert_eq!(
        json(&both)["limiters"],
        json(&folder.replay(&["--json"], lines(0..9000)).success())["limiters"]
    );
}

#[test]
fn sorted_lines_keep_their_columns_and_what_was_skipped() {
    let folder = Folder::new();
    let line = |second: usize| {
        format!(
            "{{\"time\":\"2015-05-17T10:{:02}:{:02}.5Z\",\"client\":\"c{}\",\"org\":\"o{}\",\"n\":{}}}\n",
            second / 60 % 60,
            second % 60,
            second % 3,
            second % 2,
            second % 5
        )
    };
    folder.file(
        "policy.toml",
        "[limiters.a]\nkey = { column = \"org\" }\ncost = { column = \"n\" }\npolicy = \"sliding_window\"\n\
         limit = 7\ninterval = \"10 s\"\n",
    );
    let log =
        |seconds: &mut dyn Iterator<Item = usize>| seconds.map(line).collect::<String>() + "{}\n";
    let good = json(&folder.replay(&["--json"], log(&mut (0..900))).success());
    assert_eq!(good["skipped"], json!(1));
    assert_ne!(good["limiters"][0]["denied"], json!(0));
    let found = folder.replay(&["--json", "--sort"], log(&mut (0..900).rev())).success();
    assert_eq!(json(&found), good);
}
