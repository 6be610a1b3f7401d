//! Configurations: their mistakes, folders, and files that change.

use std::fs;
use std::path::Path;

use sluicegate::clock::UnixClock;
use sluicegate_serve::envoy::{EnvoyError, EnvoyLimits};

use super::served::{Served, request};

fn mistakes(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    match EnvoyLimits::open(folder.path(), None) {
        Err(EnvoyError::Mistakes { mistakes }) => mistakes
            .iter()
            .map(|mistake| {
                let file = Path::new(&mistake.file).file_name().unwrap().to_str().unwrap();
                let folder = format!("{}/", folder.path().display());
                format!("{file}: {}: {}", mistake.place, mistake.what.replace(&folder, ""))
            })
            .collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_mistake_of_every_file_is_told_with_its_place() {
    let first = "
domain: a
descriptors:
  - key: a
    rate_limit: { unit: fortnight, requests_per_unit: 1 }
  - key: ''
    rate_limit: { requests_per_unit: 1 }
  - key: b
    rate_limit: { unit: second, unlimited: true }
    descriptors:
      - key: c
        rate_limit: { unit: day }
      - key: c
  - key: d
    share_threshold: true
  - key: f
    rate_limit: { unit: second, requests_per_unit: 2147483649 }
  - key: g
    rate_limit: { unit: year, unit_multiplier: 101, requests_per_unit: 1 }
  - key: h
    rate_limit: { unit: day, unit_multiplier: 0, requests_per_unit: 1 }
  - key: i
    rate_limit: { limiter: pages, unit: day, requests_per_unit: 1 }
  - key: j
    rate_limit: { limiter: pages, unlimited: true }
  - key: e
    rate_limit: { unit: day, requests_per_unit: 1, name: n, replaces: [{ name: n }, { name: '' }] }
";
    let found = mistakes(&[
        ("1.yaml", first),
        ("2.yml", "domain: ''"),
        ("3.yaml", "domain: a"),
        ("4.txt", "?"),
    ]);
    let needs = "needs a policy whose limiter it names (`--policy FILE`)";
    let units = "must be second, minute, hour, day, week, month or year";
    let expected = [
        format!("1.yaml: descriptors[0].rate_limit.unit: is \"fortnight\": {units}"),
        "1.yaml: descriptors[1].key: is empty".to_owned(),
        format!("1.yaml: descriptors[1].rate_limit.unit: is missing: {units}"),
        "1.yaml: descriptors[2].rate_limit.unit: is of no use with `unlimited`: leave it out".to_owned(),
        "1.yaml: descriptors[2].descriptors[0].rate_limit.requests_per_unit: is missing".to_owned(),
        "1.yaml: descriptors[2].descriptors[1]: has the same key and value as descriptors[2].descriptors[0], and a descriptor has one limit: give one of them another key and have Envoy send both, or name a `limiter` of a policy that has several limits".to_owned(),
        "1.yaml: descriptors[3].share_threshold: is for a `value` with *, whose counts it makes one".to_owned(),
        "1.yaml: descriptors[4].rate_limit.requests_per_unit: is 2147483649: must be at most 2147483648".to_owned(),
        "1.yaml: descriptors[5].rate_limit.unit_multiplier: is 101: must be from 1 to 100 (100 years)".to_owned(),
        "1.yaml: descriptors[6].rate_limit.unit_multiplier: is 0: must be from 1 to 36525 (100 years)".to_owned(),
        "1.yaml: descriptors[7].rate_limit.requests_per_unit: is of no use with `limiter`: leave it out".to_owned(),
        "1.yaml: descriptors[7].rate_limit.unit: is of no use with `limiter`: leave it out".to_owned(),
        format!("1.yaml: descriptors[7].rate_limit.limiter: {needs}"),
        "1.yaml: descriptors[8].rate_limit.limiter: is of no use with `unlimited`".to_owned(),
        format!("1.yaml: descriptors[8].rate_limit.limiter: {needs}"),
        "1.yaml: descriptors[9].rate_limit.replaces[0].name: is that of the limit itself".to_owned(),
        "1.yaml: descriptors[9].rate_limit.replaces[1].name: is empty".to_owned(),
        "2.yml: domain: is empty: must be the name that Envoy sends".to_owned(),
        "3.yaml: domain: is \"a\", as in 1.yaml: a domain is one file, so put the descriptors of both into it".to_owned(),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_text_that_is_no_configuration_is_told_so() {
    let cases = [
        ("", "end of input"),
        ("domain: [", ""),
        ("descriptors: []", "missing field `domain`"),
        ("domain: a\nlimits: []", "limits"),
        ("domain: a\ndescriptors:\n  - key: k\n    rate_limits: {}", "rate_limits"),
        (
            "domain: a\ndescriptors:\n  - key: k\n    rate_limit: { unit: day, requests_per_unit: -1 }",
            "",
        ),
        (
            "domain: a\ndescriptors:\n  - key: k\n    rate_limit: { unit: day, requests_per_unit: 4294967296 }",
            "",
        ),
        ("domain: a\ndescriptors: 7", ""),
    ];
    for (text, words) in cases {
        let found = mistakes(&[("a.yaml", text)]);
        assert!(found.len() == 1 && found[0].contains(words), "{text}: {found:?}");
    }
    let deep = (0..40).fold(String::from("domain: a\n"), |text, depth| {
        let indent = "  ".repeat(depth * 2);
        format!("{text}{indent}descriptors:\n{indent}  - key: k\n")
    });
    let found = mistakes(&[("a.yaml", &deep)]);
    assert!(
        found.iter().any(|mistake| mistake.contains("32 levels") || mistake.contains("depth")),
        "{found:?}"
    );
}

#[test]
fn a_path_without_a_file_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let error = EnvoyLimits::open(folder.path(), None).unwrap_err().to_string();
    assert!(error.ends_with("there is no file whose name ends with .yaml or .yml"), "{error}");
    let error = EnvoyLimits::open(folder.path().join("none"), None).unwrap_err();
    assert!(matches!(error, EnvoyError::Io { .. }), "{error}");
}

#[test]
fn no_room_for_any_count_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.yaml");
    fs::write(&file, limit(1)).unwrap();
    let error = EnvoyLimits::with_clock(&file, None, 0, UnixClock::new()).unwrap_err();
    assert!(matches!(error, EnvoyError::Room(_)), "{error}");
}

fn limit(requests: u32) -> String {
    format!(
        "domain: d\ndescriptors:\n  - key: k\n    rate_limit: {{ unit: hour, requests_per_unit: {requests} }}\n"
    )
}

#[tokio::test]
async fn a_file_that_is_read_again_keeps_what_was_counted_and_a_bad_one_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.yaml");
    fs::write(&file, limit(10)).unwrap();
    let served = Served::start(&file, 100).await;
    let mut six = request("d", &[("k", "v")]);
    six.hits_addend = 6;
    served.ask(six.clone()).await.unwrap();
    fs::write(&file, limit(8)).unwrap();
    served.limits.reload().unwrap();
    let answer = served.ask(request("d", &[("k", "v")])).await.unwrap();
    assert_eq!(answer.statuses[0].limit_remaining, 1);
    assert_eq!(answer.statuses[0].current_limit.as_ref().unwrap().requests_per_unit, 8);

    fs::write(&file, "domain: d\ndescriptors: [").unwrap();
    assert!(matches!(served.limits.reload(), Err(EnvoyError::Mistakes { .. })));
    fs::remove_file(&file).unwrap();
    assert!(matches!(served.limits.reload(), Err(EnvoyError::Io { .. })));
    let answer = served.ask(request("d", &[("k", "v")])).await.unwrap();
    assert_eq!(answer.statuses[0].limit_remaining, 0);
}

#[tokio::test]
async fn the_files_of_a_folder_are_a_domain_each() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), limit(1)).unwrap();
    fs::write(folder.path().join("b.YML"), limit(2).replace("domain: d", "domain: e")).unwrap();
    fs::write(folder.path().join("notes.txt"), "not read").unwrap();
    let served = Served::start(folder.path(), 100).await;
    assert_eq!(served.limits.domains(), 2);
    for (domain, requests) in [("d", 1), ("e", 2)] {
        let answer = served.ask(request(domain, &[("k", "v")])).await.unwrap();
        let limit = answer.statuses[0].current_limit.clone().unwrap();
        assert_eq!(limit.requests_per_unit, requests);
    }
}
