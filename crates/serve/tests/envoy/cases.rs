//! The cases of `cases.txt`: a configuration each, questions, and the answers to them.
//!
//! | line | meaning |
//! |---|---|
//! | `> domain x3 : key=value,key=value ; key=value+2 ; key=value~2 ; key=value@9/hour` | a question: 3 hits; descriptors, one with 2 hits of its own, one that gives back 2, one with a limit of its own |
//! | `< OVER : OK 4 5/second 1s name ; OVER 0 ...` | its answer: the code of all; of each descriptor the code, what is left (`max` for no limit), and the limit, the time until its window ends and its name, if there is one |
//! | `+ 400ms` | time goes by |

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use sluicegate_serve::envoy::protocol::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use sluicegate_serve::envoy::protocol::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::RateLimitOverride;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_response::rate_limit::Unit;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_response::{
    Code, DescriptorStatus,
};
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::{
    RateLimitRequest, RateLimitResponse,
};

use super::served::{Served, descriptor};

const CASES: &str = include_str!("cases.txt");

#[tokio::test]
async fn every_question_has_the_answer_of_its_case() {
    let mut questions = 0;
    for case in CASES.split("\n== ").map(|case| case.trim_start_matches("== ")) {
        let (name, rest) = case.split_once('\n').unwrap();
        let (yaml, lines) = rest.split_once("--\n").unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("limits.yaml"), yaml).unwrap();
        let served = Served::start(folder.path(), 1_000).await;
        let mut answer = None;
        for line in lines.lines().filter(|line| !line.is_empty()) {
            let (sign, text) = line.split_once(' ').unwrap();
            match sign {
                "+" => {
                    let millis = text.strip_suffix("ms").unwrap().parse().unwrap();
                    served.clock.advance(Duration::from_millis(millis));
                }
                ">" => {
                    questions += 1;
                    answer = Some((text, served.ask(question(text)).await.unwrap()));
                }
                "<" => {
                    let (question, answer) = answer.take().unwrap();
                    assert_eq!(shown(&answer), text, "{name}: {question}");
                }
                _ => panic!("{line}"),
            }
        }
        assert!(answer.is_none(), "{name}");
    }
    assert!(questions >= 130, "{questions}");
}

fn question(text: &str) -> RateLimitRequest {
    let (domain, descriptors) = text.split_once(" : ").unwrap();
    let (domain, hits_addend) = match domain.split_once(" x") {
        Some((domain, hits)) => (domain, hits.parse().unwrap()),
        None => (domain, 0),
    };
    let descriptors = descriptors.split(" ; ").map(of_text).collect();
    RateLimitRequest { domain: domain.to_owned(), descriptors, hits_addend }
}

fn of_text(text: &str) -> RateLimitDescriptor {
    let (text, limit) = match text.split_once('@') {
        Some((text, limit)) => (text, Some(own_limit(limit))),
        None => (text, None),
    };
    let is_negative_hits = text.contains('~');
    let (text, hits_addend) = match text.split_once(['+', '~']) {
        Some((text, hits)) => (text, Some(hits.parse().unwrap())),
        None => (text, None),
    };
    let entries: Vec<(&str, &str)> =
        text.split(',').map(|entry| entry.split_once('=').unwrap()).collect();
    RateLimitDescriptor { limit, hits_addend, is_negative_hits, ..descriptor(&entries) }
}

fn own_limit(text: &str) -> RateLimitOverride {
    let (requests, unit) = text.split_once('/').unwrap();
    let unit = Unit::from_str_name(&unit.to_uppercase()).unwrap() as i32;
    RateLimitOverride { requests_per_unit: requests.parse().unwrap(), unit }
}

fn shown(answer: &RateLimitResponse) -> String {
    let statuses: Vec<String> = answer.statuses.iter().map(shown_status).collect();
    format!("{} : {}", code(answer.overall_code), statuses.join(" ; "))
}

fn code(code: i32) -> &'static str {
    match Code::try_from(code).unwrap() {
        Code::Unknown => "UNKNOWN",
        Code::Ok => "OK",
        Code::OverLimit => "OVER",
    }
}

fn shown_status(status: &DescriptorStatus) -> String {
    let left = match status.limit_remaining {
        u32::MAX => "max".to_owned(),
        left => left.to_string(),
    };
    let mut text = format!("{} {left}", code(status.code));
    if let Some(limit) = &status.current_limit {
        let unit = Unit::try_from(limit.unit).unwrap().as_str_name().to_lowercase();
        let wait = status.duration_until_reset.unwrap();
        let wait = Duration::new(wait.seconds.try_into().unwrap(), wait.nanos.try_into().unwrap());
        let _ = write!(text, " {}/{unit} {}s", limit.requests_per_unit, wait.as_secs_f64());
        if !limit.name.is_empty() {
            let _ = write!(text, " {}", limit.name);
        }
    }
    text
}
