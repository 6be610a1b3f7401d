//! The keys, the filters and the costs of random limiters.

use std::fmt::Write;

use super::Numbers;

const FIELDS: [&str; 8] =
    ["client", "path", "method", "status", "status_class", "user", "referer", "agent"];

const MISSING: [&str; 4] =
    ["", ", missing = \"deny\"", ", missing = \"admit\"", ", missing = \"shared\""];

const TEMPLATES: [&str; 5] = [
    "\"/{page}\"",
    "\"/users/{id}\", \"/users/me\"",
    "\"/1\", \"/{page}\", \"/users/{id}\", \"/users/{id}/{*rest}\"",
    "\"/{*all}\"",
    "\"/2\", \"/users/{id}/posts/{post}\", \"/users/me/{*rest}\"",
];

/// Returns the line of a key, or nothing.
pub(super) fn key(numbers: &mut Numbers) -> String {
    match numbers.below(12) {
        0 => String::new(),
        1 => "key = \"all\"\n".to_owned(),
        2..5 => "key = \"client\"\n".to_owned(),
        5 => format!("key = \"{}\"\n", numbers.pick(&FIELDS)),
        6 | 7 => {
            let (one, other) = (numbers.below(8), 1 + numbers.below(7));
            let [one, other] = [one, (one + other) % 8].map(|field| FIELDS[field as usize]);
            format!("key = [\"{one}\", \"{other}\"]\n")
        }
        8 | 9 => format!("key = {}\n", expression(numbers)),
        _ => {
            let parts: Vec<String> =
                (0..2 + numbers.below(2)).map(|_| expression(numbers)).collect();
            format!("key = [{}]\n", parts.join(", "))
        }
    }
}

/// Returns a part of a key that is more than a field's name.
fn expression(numbers: &mut Numbers) -> String {
    match numbers.below(7) {
        0 => "{ client = {} }".to_owned(),
        1 => {
            let (ipv4, ipv6) = (1 + numbers.below(32), 1 + numbers.below(128));
            format!("{{ client = {{ ipv4 = {ipv4}, ipv6 = {ipv6} }} }}")
        }
        2 => {
            let field = numbers.pick(&["user", "referer", "agent", "status", "path"]);
            format!("{{ field = \"{field}\"{} }}", numbers.pick(&MISSING))
        }
        3 => {
            let header = numbers.pick(&["referer", "Referer", "user-agent", "User-Agent"]);
            format!("{{ header = \"{header}\"{} }}", numbers.pick(&MISSING))
        }
        4 | 5 => {
            let otherwise =
                numbers.pick(&["", ", otherwise = \"shared\"", ", otherwise = \"admit\""]);
            format!("{{ path = [{}]{otherwise} }}", numbers.pick(&TEMPLATES))
        }
        _ => format!("{{ path = {{ segments = {} }} }}", 1 + numbers.below(4)),
    }
}

/// Returns the lines of `match` and `except`, or nothing.
pub(super) fn filters(numbers: &mut Numbers) -> String {
    let mut text = String::new();
    if numbers.one_in(3) {
        let _ = writeln!(text, "match = {{ {} }}", filter(numbers));
    }
    if numbers.one_in(5) {
        let filters: Vec<String> =
            (0..=numbers.below(2)).map(|_| format!("{{ {} }}", filter(numbers))).collect();
        let _ = writeln!(text, "except = [{}]", filters.join(", "));
    }
    text
}

fn filter(numbers: &mut Numbers) -> String {
    let fields = [
        numbers.pick(&["method = \"GET\"", "method = [\"POST\", \"HEAD\"]"]),
        numbers.pick(&["path_prefix = \"/1\"", "path_prefix = [\"/2\", \"/3\", \"/users\"]"]),
        numbers.pick(&["status_class = \"2xx\"", "status_class = [\"2xx\", \"4xx\"]"]),
        numbers.pick(&["status = 200", "status = [304, 404]"]),
        numbers.pick(&[
            "path = \"/{page}\"",
            "path = [\"/users/{id}\", \"/1\"]",
            "path = \"/{*all}\"",
        ]),
        numbers.pick(&[
            "client = \"10.0.0.0/30\"",
            "client = [\"10.0.0.2\", \"2001:db8::/32\"]",
            "client = [\"::/0\", \"0.0.0.0/0\"]",
        ]),
        numbers.pick(&["agent_contains = \"AGENT\"", "agent_contains = [\"probe\", \"an \"]"]),
        numbers.pick(&[
            "header = { referer = \"7\" }",
            "header = { User-Agent = [\"agent\", \"Kube-Probe/1\"] }",
        ]),
    ];
    let one = numbers.below(8) as usize;
    let other = (one + 1 + numbers.below(7) as usize) % 8;
    if numbers.one_in(3) {
        format!("{}, {}", fields[one], fields[other])
    } else {
        fields[one].to_owned()
    }
}

/// Returns the line of a penalty.
pub(super) fn penalty(numbers: &mut Numbers, within: &str, refuse_for: &str) -> String {
    let by = match numbers.below(4) {
        0 => String::new(),
        1 => ", by = \"refusals\"".to_owned(),
        2 => format!(", by = {{ {} }}", filter(numbers)),
        _ => format!(", by = [\"refusals\", {{ {} }}]", filter(numbers)),
    };
    let longer = numbers.pick(&[
        "",
        ", longest = \"1 hour\"",
        ", longest = \"1 hour\", forgotten_after = \"7 s 3 ns\"",
    ]);
    let offences = 1 + numbers.below(4);
    format!(
        "penalty = {{ offences = {offences}, within = \"{within}\", refuse_for = \"{refuse_for}\"{by}{longer} }}\n"
    )
}

/// Returns the line of a cost, or nothing.
pub(super) fn cost(numbers: &mut Numbers) -> String {
    match numbers.below(10) {
        0 => "cost = 2\n".to_owned(),
        1 => "cost = 3\n".to_owned(),
        2 => "cost = \"bytes\"\n".to_owned(),
        3 => {
            let rules: Vec<String> = (0..=numbers.below(3))
                .map(|_| {
                    let permits = numbers.below(8);
                    format!("{{ match = {{ {} }}, permits = {permits} }}", filter(numbers))
                })
                .collect();
            format!("cost = [{}]\n", rules.join(", "))
        }
        4 => {
            let (times, per) = (1 + numbers.below(4), 1 + numbers.below(5));
            let missing = numbers.below(6);
            format!(
                "cost = {{ header = \"referer\", times = {times}, per = {per}, missing = {missing} }}\n"
            )
        }
        _ => String::new(),
    }
}
