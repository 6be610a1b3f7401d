//! Pages are rewritten where a table is wanted, and nowhere else; losses are all there.

use super::*;

/// A line of a token bucket, or of governor beside it.
fn line(limiter: &str, threads: usize, median: f64, p999: f64) -> String {
    format!(
        r#"{{"limiter":"{limiter}","op":"allow","threads":{threads},"keys":1,
        "ns_per_op":{{"min":8.0,"median":{median},"max":24.0}},"mops":100.0,
        "mops_spread":{{"min":90.0,"median":100.0,"max":120.0}},
        "latency_ns":{{"p50":10.0,"p99":30.0,"p999":{p999},"max":500.0}},
        "worst_ns":{{"median":4000.0,"max":5000.0}},"fairness_1ms":null,"admitted":7,"bound":7,
        "excess":0,"fastest_thread":1,"slowest_thread":1,"rounds":9,"quiet":8,
        "baseline":"governor"}}"#
    )
    .replace('\n', "")
}

fn measured(lines: &[String]) -> Measured {
    Measured::parse(&lines.join("\n")).expect("they are lines of contend")
}

#[test]
fn a_page_is_rewritten_between_the_comments_only() {
    let page = "Above.\n<!-- table: counted -->\nold\n<!-- end of table -->\nBelow.\n";
    let rewritten = rewrite(page, Path::new("nowhere")).expect("it needs no file");
    let between = rewritten
        .strip_prefix("Above.\n<!-- table: counted -->\n")
        .and_then(|rest| rest.strip_suffix("\n<!-- end of table -->\nBelow.\n"))
        .expect("the rest is as it was");
    assert!(between.contains("| try_acquire, admitted ") && !between.contains("old"), "{between}");
    assert_eq!(rewrite(&rewritten, Path::new("nowhere")).as_deref(), Ok(rewritten.as_str()));
}

#[test]
fn a_table_without_an_end_and_one_that_nobody_knows_are_refused() {
    let without_end = "<!-- table: counted -->\n<!-- table: counted -->\n<!-- end of table -->\n";
    assert!(rewrite(without_end, Path::new("nowhere")).is_err());
    let unknown = "<!-- table: moods -->\n<!-- end of table -->\n";
    assert!(rewrite(unknown, Path::new("nowhere")).is_err());
}

#[test]
fn a_limiter_stands_beside_the_one_that_it_is_compared_with() {
    let measured = measured(&[
        line("sluicegate/token_bucket", 1, 12.0, 90.0),
        line("governor", 1, 16.0, 120.0),
        line("governor", 2, 1.0, 1.0),
    ]);
    let table = limiters::table(&measured, "allow", 1).to_string();
    let cells: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let own =
        ["sluicegate/token_bucket", "12.0", "governor", "16.0", "0.75", "0.50 to 1.50", "1.00"];
    assert_eq!(cells[2], [&own[..], &["90 / 120", "4.00 / 4.00", ""]].concat());
    assert_eq!(cells[3], ["governor", "16.0", "", "", "", "", "", "120", "4.00", ""]);
    assert_eq!(cells.len(), 4, "one thread only");
}

#[test]
fn every_line_that_is_slower_than_its_peer_is_a_loss_and_the_worst_is_first() {
    let measured = measured(&[
        line("sluicegate/slow", 1, 20.0, 1.0),
        line("sluicegate/as_fast", 1, 16.05, 1.0),
        line("sluicegate/slowest", 1, 40.0, 1.0),
        line("sluicegate/fast", 1, 10.0, 1.0),
        line("quota", 1, 90.0, 1.0),
        line("governor", 1, 16.0, 1.0),
    ]);
    let reasons = "limiter,op,reason\nsluicegate/slow,allow,\"it divides, twice\"\n";
    let reasons = Reasons::parse(reasons).expect("it is a table");
    let table = losses::table(&measured, &reasons).to_string();
    let rows: Vec<&str> = table.lines().skip(2).collect();
    assert_eq!(rows.len(), 2, "{table}");
    assert!(rows[0].contains("sluicegate/slowest") && rows[0].contains("2.50"), "{table}");
    assert!(rows[1].contains("sluicegate/slow ") && rows[1].contains("it divides, twice"));
}

#[test]
fn a_tail_that_is_far_longer_than_the_peers_is_shown() {
    let measured = measured(&[
        line("sluicegate/steady", 1, 10.0, 190.0),
        line("sluicegate/sudden", 1, 10.0, 210.0),
        line("governor", 1, 16.0, 100.0),
    ]);
    let table = tails::table(&measured).to_string();
    assert!(table.contains("sudden") && table.contains("210 / 100"), "{table}");
    assert!(!table.contains("steady"), "{table}");
}

#[test]
fn nothing_is_measured_twice_in_one_file() {
    let twice = [line("governor", 1, 1.0, 1.0), line("governor", 1, 2.0, 1.0)].join("\n");
    let error = Measured::parse(&twice).expect_err("which of them would count?");
    assert!(error.contains("line 2") && error.contains("governor"), "{error}");
}

#[test]
fn a_store_with_a_faster_hash_is_compared_with_one_that_has_it_too() {
    let of_store = |store: &str, median| {
        line(&format!("{store}/u64/uniform"), 1, median, 1.0)
            .replace(r#""baseline":"governor""#, r#""baseline":"governor/dashmap/u64/uniform""#)
            .replace(
                r#""excess""#,
                &format!(r#""store":"{store}","key":"u64","spread":"uniform","excess""#),
            )
    };
    let measured = measured(&[
        of_store("sluicegate/keyed", 30.0),
        of_store("sluicegate/keyed_foldhash", 30.0),
        of_store("governor/dashmap", 60.0),
        of_store("governor/dashmap_foldhash", 20.0),
    ]);
    let ratios: Vec<_> = measured.lines().iter().map(|line| measured.time(line)).collect();
    assert_eq!(ratios, [Some(0.5), Some(1.5), None, None]);
}
