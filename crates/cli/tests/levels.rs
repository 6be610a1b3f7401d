//! Levels of a hierarchy are replayed exactly as their definitions say: for each level, what it refused
//! and to whom.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};
use sluicegate_policy::Policies;

use crate::support::reference::levels::{Counts, Request, replay};

const POLICY: &str = include_str!("policies/levels.toml");

fn request(number: u64) -> Request {
    let noise = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let pick = |below: u64, shift: u32| (noise >> shift) % below;
    let org = ["acme", "a/b", "50%"][pick(3, 3) as usize];
    let team = ["search", "ads"][pick(2, 7) as usize];
    // Milliseconds, at most two requests in each.
    let millis = 1_740_000_000_000 + number / 2 * 311;
    Request {
        // Lines of one stamp are spread over the time to the next that there could be.
        at: i128::from(millis) * 1_000_000 + i128::from(number % 2) * 500_000,
        fields: BTreeMap::from([
            ("org", org.to_owned()),
            ("team", team.to_owned()),
            ("user", format!("u{}", pick(7, 11))),
            ("client", format!("10.0.0.{}", pick(5, 17))),
            ("all", "all".to_owned()),
        ]),
        amounts: BTreeMap::from([("input", pick(400, 23)), ("output", pick(120, 37))]),
    }
}

fn line(request: &Request) -> String {
    let millis = request.at / 1_000_000;
    let time = format!("{}.{:03}", millis / 1000, millis % 1000);
    let text = |name| &request.fields[name];
    let value = json!({
        "org": text("org"), "team": text("team"), "user": text("user"), "client": text("client"),
        "input": request.amounts["input"], "output": request.amounts["output"],
    });
    value.to_string().replacen('{', &format!("{{\"ts\":{time},"), 1) + "\n"
}

fn report(policy: &str, log: &str, args: &[&str]) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let write =
        |name: &str, text: &str| fs::write(Path::new(folder.path()).join(name), text).unwrap();
    write("policy.toml", policy);
    write("log.json", log);
    let output = Command::new(env!("CARGO_BIN_EXE_sluicegate"))
        .current_dir(folder.path())
        .args(["replay", "--policy", "policy.toml", "--format", "json", "--top", "0"])
        .args(args)
        .arg("log.json")
        .assert()
        .success();
    let out = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    (serde_json::from_str(&out).unwrap_or_default(), out)
}

fn denied(counts: &Counts) -> u64 {
    counts.values().map(|(_, denied)| denied).sum()
}

#[test]
fn levels_are_exact() {
    let requests: Vec<Request> = (0..3000).map(request).collect();
    let log: String = requests.iter().map(line).collect();
    let levels = Policies::from_toml("p", POLICY).unwrap().hierarchy().to_vec();
    let expected = replay(&levels, &requests);
    let denials: Vec<u64> = expected.iter().map(denied).collect();
    assert!(
        denials.iter().all(|denied| *denied > 20),
        "a level was not put to the test: {denials:?}"
    );

    let (found, _) = report(POLICY, &log, &["--json"]);
    assert_eq!((&found["lines"], &found["skipped"]), (&json!(3000), &json!(0)));
    let hierarchy = &found["hierarchy"];
    let all: u64 = expected.iter().map(denied).sum();
    assert_eq!((&hierarchy["denied"], &hierarchy["allowed"]), (&json!(all), &json!(3000 - all)));
    assert_eq!((&hierarchy["no_key"], &hierarchy["no_amount"]), (&json!(0), &json!(0)));
    for ((level, found), counts) in
        levels.iter().zip(hierarchy["levels"].as_array().unwrap()).zip(&expected)
    {
        assert_eq!(found["name"], level.name.as_str());
        assert_eq!(found["denied"], denied(counts), "{}", level.name);
        assert_eq!(found["keys"], counts.len(), "{}", level.name);
        assert_eq!(found["keys_hit"], counts.values().filter(|(_, denied)| *denied > 0).count());
        let refused = counts.iter().filter(|(_, (_, denied))| *denied > 0);
        let expected: BTreeMap<&str, (u64, u64)> =
            refused.map(|(key, counts)| (key.as_str(), *counts)).collect();
        let top = found["top_denied"].as_array().unwrap().iter();
        let found: BTreeMap<&str, (u64, u64)> = top
            .map(|key| {
                let count = |name: &str| key[name].as_u64().unwrap();
                (key["key"].as_str().unwrap(), (count("allowed"), count("denied")))
            })
            .collect();
        assert_eq!(found, expected, "{}", level.name);
    }
}

#[test]
fn lines_that_lack_a_value_are_told() {
    let policy = "[[hierarchy]]\nname = \"org\"\nkey = [\"org\", \"user\"]\ncounts = \"tokens\"\n\
                  policy = \"fixed_window\"\nlimit = 10\ninterval = \"1 hour\"\n";
    let log = r#"{"ts":1740000000,"org":"acme","user":"ada","tokens":6}
{"ts":1740000001,"org":"acme","user":"ada","tokens":5}
{"ts":1740000002,"org":"acme","user":"ada"}
{"ts":1740000003,"org":"acme","user":"ada","tokens":"many"}
{"ts":1740000004,"user":"ada","tokens":1}
{"ts":1740000005,"org":"acme","user":"","tokens":1}
{"ts":1740000006,"org":"acme","user":"ada","tokens":3.5}
{"ts":1740000007,"org":"acme","user":"ada","tokens":1}
"#;
    let (found, _) = report(policy, log, &["--json"]);
    let hierarchy = &found["hierarchy"];
    let counts = |name: &str| hierarchy[name].as_u64().unwrap();
    assert_eq!(["allowed", "denied", "no_key", "no_amount"].map(counts), [4, 2, 2, 2]);
    assert_eq!(hierarchy["levels"][0]["top_denied"][0]["key"], "acme/ada");
    assert_eq!(found["limiters"], json!([]));
    assert_eq!(found["warnings"].as_array().unwrap().len(), 2);

    let (_, text) = report(policy, log, &[]);
    for said in
        ["levels, which a request passes all or none of", "most denied by levels", "acme/ada"]
    {
        assert!(text.contains(said), "{said}:\n{text}");
    }
}
