//! Headers and columns that keys, filters and costs ask for, in each format that can have them.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Folder, json, sluicegate, stdout};

/// The help for a name to which the logs have none that is near.
const SEE_FORMAT: &str = "`--format help` lists the columns of formats with names";

const POLICY: &str = r#"
[limiters.api-key]
key = { header = "x-api-key" }
policy = "fixed_window"
limit = 40
interval = "1 hour"
cost = { column = "tokens", per = 10, missing = 7 }

[limiters.plan]
key = { header = "x-api-key", missing = "shared" }
policy = "fixed_window"
limit = 3
interval = "1 hour"
match = { header = { X-Plan = ["free", "trial"] }, column = { tokens = ["5", "25"] } }
"#;

/// A request: its API key, its plan and its tokens, or `-`.
const REQUESTS: [[&str; 3]; 9] = [
    ["ada", "free", "25"],
    ["ada", "free", "100"],
    ["bob", "trial", "5"],
    ["-", "free", "25"],
    ["ada", "paid", "many"],
    ["bob", "-", "1000"],
    ["ada", "trial", "-"],
    ["eve", "free", "399.5"],
    ["eve", "free", "5"],
];

fn log(line: impl Fn(usize, [&str; 3]) -> String) -> String {
    let lines = REQUESTS.iter().enumerate().map(|(place, request)| line(place, *request) + "\n");
    lines.collect()
}

fn time(place: usize) -> String {
    format!("2025-03-01T10:00:0{place}Z")
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("policy.toml", POLICY);
    folder
}

fn report(format: &str, log: &str) -> Value {
    json(&folder().replay(&["--json", "--top", "0", "--format", format], log).success())
}

#[test]
fn columns_are_found_in_each_format() {
    let json = log(|place, [key, plan, tokens]| {
        let mut line = format!("{{\"time\":\"{}\"", time(place));
        for (name, value) in [("X-Api-Key", key), ("x-plan", plan)] {
            let _ = write!(line, ",\"{name}\":\"{value}\"");
        }
        line + &match tokens {
            "-" => "}".to_owned(),
            "many" => ",\"tokens\":true}".to_owned(),
            tokens => format!(",\"tokens\":{tokens}}}"),
        }
    });
    let expected = report("json", &json);
    let limiters = expected["limiters"].as_array().unwrap();
    // Of 25, 100, "many" and nothing: 3 + 10 + 7 + 7; of 5 and 1,000: 1, and 100 are denied; of 399.5
    // and 5: 40, and 1 is denied.
    assert_eq!(limiters[0]["allowed"], 6);
    assert_eq!(limiters[0]["denied"], 3);
    assert_eq!(limiters[0]["lacking"]["denied"], 1);
    assert_eq!(limiters[0]["lacking"]["no_cost"], 2);
    // ada and the one without a key have 25 tokens, bob and eve have 5.
    assert_eq!((&limiters[1]["keys"], &limiters[1]["allowed"]), (&4.into(), &4.into()));
    assert_eq!(limiters[1]["lacking"]["shared"], 1);

    let nested = log(|place, [key, plan, tokens]| {
        let time = time(place);
        format!(
            "{{\"ts\":\"{time}\",\"request\":{{\"headers\":{{\"X-Api-Key\":[\"{key}\"],\"X-Plan\":[\"{plan}\"]}}}},\"tokens\":\"{tokens}\"}}"
        )
    });
    let csv = "time,tokens,HTTP_X_API_KEY,x-plan\n".to_owned()
        + &log(|place, [key, plan, tokens]| format!("{},{tokens},\"{key}\",{plan}", time(place)));
    let w3c = "#Fields: date time cs(X-Api-Key) cs(X-Plan) tokens\n".to_owned()
        + &log(|place, [key, plan, tokens]| {
            format!("2025-03-01 10:00:0{place} {key} {plan} {tokens}")
        });
    let server = log(|place, [key, plan, tokens]| {
        format!("[{}] \"{key}\" \"{plan}\" {tokens}", time(place))
    });
    let apache = log(|place, [key, plan, tokens]| {
        format!("[01/Mar/2025:10:00:0{place} +0000] \"{key}\" \"{plan}\" {tokens}")
    });
    let nginx = "[$time_iso8601] \"$http_x_api_key\" \"$http_x_plan\" $tokens";
    for (format, log) in [
        ("json", &nested),
        ("csv", &csv),
        ("w3c", &w3c),
        (nginx, &server),
        ("%t \"%{X-API-Key}i\" \"%{x-plan}i\" %{tokens}n", &apache),
    ] {
        let found = report(format, log);
        if format.starts_with('%') {
            // A note of Apache has another name than the column.
            assert_eq!(found["limiters"][0]["lacking"]["no_cost"], 8, "{found}");
            continue;
        }
        assert_eq!(found["limiters"], expected["limiters"], "{format}");
    }
}

#[test]
fn a_column_that_no_line_has_is_said() {
    let line = "192.0.2.7 - - [01/Mar/2025:10:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n";
    let out = stdout(&folder().replay(&["--brief"], line).success());
    let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("1 of 1 lines have no key of their own: 1 were denied"), "{said}");
    for named in ["header x-api-key", "header X-Plan", "column tokens"] {
        let warning =
            format!("no line has a value of {named}, which the policy names; {SEE_FORMAT}");
        assert!(said.contains(&warning), "{said}");
    }
}

#[test]
fn the_nearest_name_to_one_that_no_line_has_is_said() {
    let policy = "
        [limiters.api-key]
        key = { header = \"x-api-kye\" }
        policy = \"fixed_window\"
        limit = 1
        interval = \"1 hour\"
        cost = { column = \"usage.token\" }
        match = { column = { plan = \"free\", zone = \"a\" } }";
    let time = time(0);
    let json = format!(
        "{{\"ts\":\"{time}\",\"request\":{{\"headers\":{{\"X-Api-Key\":\"ada\"}}}},\"plan\":\"free\",\
         \"usage\":{{\"tokens\":3}}}}\n"
    );
    let csv = format!("time,http_x_api_key,usage.tokens,plan\n{time},ada,3,free\n");
    let w3c =
        "#Fields: date time cs(X-Api-Key) usage.tokens plan\n2025-03-01 10:00:00 ada 3 free\n";
    let nginx = "[$time_iso8601] $http_x_api_key $plan";
    let line = format!("[{time}] ada free\n");
    for (format, log, header, tokens) in [
        ("json", json.as_str(), "request.headers.X-Api-Key", Some("usage.tokens")),
        ("csv", &csv, "http_x_api_key", Some("usage.tokens")),
        ("w3c", w3c, "cs(X-Api-Key)", Some("usage.tokens")),
        (nginx, &line, "http_x_api_key", None),
    ] {
        let folder = Folder::new();
        folder.file("policy.toml", policy);
        let found = json_of(&folder, format, log);
        let said: Vec<&str> =
            found["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let help = |meant: Option<&str>| {
            meant.map_or(SEE_FORMAT.to_owned(), |meant| format!("did you mean `{meant}`?"))
        };
        for (named, meant) in [
            ("header x-api-kye", Some(header)),
            ("column usage.token", tokens),
            ("column zone", None),
        ] {
            let warning =
                format!("no line has a value of {named}, which the policy names; {}", help(meant));
            assert!(said.contains(&warning.as_str()), "{format}: {warning}: {said:?}");
        }
        assert!(!said.iter().any(|said| said.contains("column plan")), "{format}: {said:?}");
    }
}

fn json_of(folder: &Folder, format: &str, log: &str) -> Value {
    json(&folder.replay(&["--json", "--format", format], log).success())
}

#[test]
fn costs_that_were_rounded_up_are_told() {
    let line = |cost: &str| {
        format!("{{\"time\":\"{}\",\"client\":\"192.0.2.7\",\"took\":{cost}}}\n", time(0))
    };
    let policy = |more: &str| {
        format!(
            "[limiters.time]\nkey = \"client\"\npolicy = \"fixed_window\"\nlimit = 400\ninterval = \"1 hour\"\n\
             cost = {{ column = \"took\"{more} }}"
        )
    };
    let fifths = line("0.2").repeat(100);
    let mixed = line("0.2") + &line("\"0.029s\"") + &line("3");
    for (log, more, allowed, said) in [
        (
            &fifths,
            "",
            100,
            "100 of 100 costs have fractions and were rounded up; `times = 10` with ten times the limit",
        ),
        (&fifths, ", times = 10", 100, ""),
        (
            &mixed,
            ", times = 100",
            3,
            "1 of 3 costs have fractions and were rounded up; `times = 1000` with ten",
        ),
        (&mixed, ", times = 1000", 2, ""),
        // A permit for each two, or part of them.
        (&mixed, ", per = 2", 3, ""),
    ] {
        let folder = Folder::new();
        folder.file("policy.toml", policy(more));
        folder.file("a.json", log);
        let found = json(&folder.replay(&["--json", "a.json"], "").success());
        assert_eq!(found["limiters"][0]["allowed"], allowed, "{more}: {found}");
        assert!(found["limiters"][0]["lacking"]["no_cost"].as_u64().unwrap_or(0) == 0, "{found}");
        let suggest = ["suggest", "--policy", "policy.toml", "--json", "a.json"];
        let suggest = sluicegate().current_dir(folder.0.path()).args(suggest).assert().success();
        for found in [found, json(&suggest)] {
            let warnings = found["warnings"].to_string();
            assert_eq!(warnings.contains("rounded up"), !said.is_empty(), "{more}: {warnings}");
            assert!(warnings.contains(said), "{more}: {warnings}");
        }
    }
}
