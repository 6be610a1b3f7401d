//! Each program of `examples/` exits with success, and prints what its reader expects.
//!
//! All of a program's lines are compared. In an expected line, `*` stands for one word: a number
//! that depends on the time that has passed.

use std::process::Command;

fn assert_prints(program: &str, expected: &[&str]) {
    let output = Command::new(program).output().expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    let printed = String::from_utf8(output.stdout).expect("the program prints UTF-8");
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let is_same = printed.len() == expected.len()
        && printed.iter().zip(expected).all(|(line, pattern)| matches(line, pattern));
    assert!(is_same, "printed:\n{}\nexpected:\n{}", printed.join("\n"), expected.join("\n"));
}

fn matches(line: &str, pattern: &str) -> bool {
    let (words, patterns) = (line.split(' '), pattern.split(' '));
    words.clone().count() == patterns.clone().count()
        && words.zip(patterns).all(|(word, pattern)| pattern == "*" || word == pattern)
}

#[test]
fn a_pattern_matches_any_word_in_the_place_of_a_star_and_nothing_else() {
    assert!(matches("took 176 ms", "took * ms"));
    assert!(!matches("took 176 s", "took * ms"));
    assert!(!matches("took 176 ms more", "took * ms"));
}

#[test]
fn the_axum_server_answers_429_to_the_client_that_asked_too_often() {
    assert_prints(
        env!("CARGO_BIN_EXE_axum_server"),
        &[
            "ada /report: HTTP/1.1 200 OK",
            "ada /report: HTTP/1.1 200 OK",
            "ada /report: HTTP/1.1 429 Too Many Requests retry-after: *",
            "ada /search: HTTP/1.1 200 OK",
            "bob /report: HTTP/1.1 200 OK",
            "eve /report: HTTP/1.1 401 Unauthorized",
        ],
    );
}

#[test]
fn the_outgoing_client_spaces_its_requests_and_gives_up_those_that_would_be_late() {
    assert_prints(
        env!("CARGO_BIN_EXE_outgoing_client"),
        &[
            "request 1: sent at once",
            "request 2: sent at once",
            "request 3: sent after 50ms",
            "request 4: sent after 100ms",
            "request 5: sent after 150ms",
            "request 6: sent after 200ms",
            "request 7: given up (no permits before the deadline: try again in 250ms)",
            "request 8: given up (no permits before the deadline: try again in 250ms)",
            "a second later: sent after 0ns",
        ],
    );
}

#[test]
fn tenants_have_the_quotas_of_their_plans_and_a_wrong_file_is_explained() {
    assert_prints(
        env!("CARGO_BIN_EXE_tenants_toml"),
        &[
            "acme: 40 of 100, 60 left",
            "initech: 3 of 3, 0 left",
            "initech: denied, limit 3",
            "somebody: 1 of 3, 2 left",
            "TOML parse error at line 4, column 8",
            "  |",
            "4 | free = '3 / hour, burst 0'",
            "  |        ^^^^^^^^^^^^^^^^^^^",
            "burst is 0: must be from 1 to 2^32",
        ],
    );
}

#[test]
fn the_log_throttle_lets_five_of_a_message_through_and_counts_the_others() {
    assert_prints(
        env!("CARGO_BIN_EXE_log_throttle"),
        &[
            "the disk is full",
            "the disk is full",
            "the disk is full",
            "the disk is full",
            "the disk is full",
            "a client has gone",
            "-- a minute later",
            "the disk is full (195 times since, not logged)",
            "the disk is full",
            "a client has gone",
        ],
    );
}

#[test]
fn the_gateway_takes_estimates_of_all_limits_or_of_none_and_settles_them_with_what_was_used() {
    assert_prints(
        env!("CARGO_BIN_EXE_llm_gateway"),
        &[
            "2000 + 1500 tokens: admitted",
            "3000 + 1000 tokens: admitted",
            "1500 + 1000 tokens: admitted",
            "400 + 400 tokens: total, a minute: rate limited: try again in 4.8s",
            "  left: 1500, 500, 0, 13500, 5500, 15000",
            "used 2000 + 300",
            "  left: 1500, 1700, 1200, 13500, 6700, 16200",
            "400 + 400 tokens: admitted",
            "used 3100 + 1050",
            "  left: 1000, 1250, 250, 13000, 6250, 15250",
            "used 0 + 0",
            "  left: 2500, 2250, 2750, 14500, 7250, 17750",
            "2000 + 100 tokens: admitted",
            "after midnight",
            "  left: 8000, 4000, 10000, 20000, 9000, 25000",
            "used 1200 + 600",
            "input, a day: too late to give back 800",
            "total, a day: too late to give back 300",
            "  left: 8000, 3500, 10000, 20000, 8500, 25000",
        ],
    );
}

#[test]
fn two_copies_share_the_bandwidth_and_lose_no_byte() {
    assert_prints(
        env!("CARGO_BIN_EXE_bandwidth"),
        &[
            "two copies of 100000 bytes",
            "25,000 bytes at once and 175,000 at a million a second: 175 ms or a little more",
            "took * ms",
        ],
    );
}

#[test]
fn the_hot_path_exposes_the_counts_of_each_of_its_limiters() {
    assert_prints(
        env!("CARGO_BIN_EXE_hot_path_prometheus"),
        &[
            "# HELP limiter_granted Requests granted.",
            "# TYPE limiter_granted counter",
            "limiter_granted_total{limiter=\"forward\"} 10000",
            "limiter_granted_total{limiter=\"sample\"} 10",
            "# HELP limiter_denied Requests denied.",
            "# TYPE limiter_denied counter",
            "limiter_denied_total{limiter=\"forward\"} 0",
            "limiter_denied_total{limiter=\"sample\"} 9990",
            "# HELP limiter_permits Permits granted.",
            "# TYPE limiter_permits counter",
            "limiter_permits_total{limiter=\"forward\"} 80000",
            "limiter_permits_total{limiter=\"sample\"} 10",
            "# EOF",
        ],
    );
}

#[test]
fn the_program_that_came_from_governor_decides_as_it_did() {
    assert_prints(
        env!("CARGO_BIN_EXE_from_governor"),
        &[
            "granted 3 of 5",
            "wait 20ms",
            "2 at once: granted",
            "2 at once: later",
            "4 at once: never",
            "ada: granted",
            "ada: granted",
            "ada: later",
            "bob: granted",
            "page 1",
            "page 2",
            "page 3",
        ],
    );
}

#[test]
fn a_quarter_of_an_hour_passes_at_once_on_a_fake_clock() {
    assert_prints(
        env!("CARGO_BIN_EXE_fake_clock"),
        &[
            "in production: welcome",
            "ada: wrong, 2 attempts left",
            "ada: wrong, 1 attempts left",
            "ada: wrong, 0 attempts left",
            "ada: locked for 900s",
            "bob: welcome",
            "ada, a quarter of an hour later: welcome",
        ],
    );
}

#[test]
fn the_registry_keeps_the_tokens_when_its_file_is_read_again() {
    assert_prints(
        env!("CARGO_BIN_EXE_registry"),
        &[
            "search: 100 / hour, 30 left",
            "upload: 5 / hour, 5 left",
            "-- read again",
            "search: 200 / hour, burst 150, 30 left",
            "upload: no limiter",
            "login: 3 / hour, 3 left",
            "search, as its user sees it: 200 / hour, burst 150",
            "-- not read: permits is 0: must be from 1 to 2^32",
            "search: 200 / hour, burst 150, 30 left",
        ],
    );
}
