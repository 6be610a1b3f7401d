//! Policies and logs that look random, the same for each seed: every kind of limiter with every option,
//! key expressions, filters, costs, stores with and without enough space, and keys with numbers of their
//! own.

mod logs;
mod requests;

use std::fmt::Write;
use std::sync::LazyLock;

use serde_json::Value;
use sluicegate_policy::json_schema;
use sluicegate_replay::policy::Policy;

pub(crate) use self::logs::log;

/// The limiters of a policy.
const LIMITERS: u64 = 4;

/// The factor of limits for requests that take a permit for each byte.
const BYTES: u64 = 20_000;

/// A kind of limiter, and the fields that it needs.
type Kind = (String, Vec<String>);

/// The kinds that a policy can name, by the JSON Schema of policies, but `all`. Those with a mode are by that.
static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let schema: Value = serde_json::from_str(&json_schema()).expect("it is JSON");
    let rules = schema["$defs"]["part"]["allOf"].as_array().expect("a rule for each kind");
    let text = |value: &Value| value.as_str().expect("a name").to_owned();
    let kind = |rule: &Value| {
        let given = &rule["if"]["properties"];
        let name = [&given["mode"]["const"], &given["policy"]["const"]]
            .into_iter()
            .find(|name| name.is_string());
        let needed = rule["then"]["required"].as_array().expect("the fields that it needs");
        (text(name.expect("it has a name")), needed.iter().map(text).collect())
    };
    rules.iter().map(kind).filter(|(name, _): &Kind| name != "all").collect()
});

const ZONES: [&str; 6] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "Pacific/Kiritimati",
];

/// Numbers that look random (`SplitMix64`).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % most
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    pub(crate) fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }
}

/// Kinds that have one limiter for all keys.
const COMMON: [&str; 2] = ["shares", "priorities"];

/// Returns a policy in TOML.
pub(crate) fn policy(seed: u64) -> String {
    let mut numbers = Numbers::new(seed);
    let mut text = String::new();
    for place in 0..LIMITERS {
        text += &limiter(&mut numbers, place);
    }
    text
}

/// Returns a limiter that can be built: few numbers are too far apart for one word.
fn limiter(numbers: &mut Numbers, place: u64) -> String {
    for _ in 0..50 {
        let text = any_limiter(numbers, place);
        if Policy::parse("random", &text).is_ok() {
            return text;
        }
    }
    panic!("none of 50 limiters can be built");
}

fn any_kind(numbers: &mut Numbers) -> &'static str {
    &KINDS[numbers.below(KINDS.len() as u64) as usize].0
}

fn any_kind_of_keys(numbers: &mut Numbers) -> &'static str {
    loop {
        let kind = any_kind(numbers);
        if !COMMON.contains(&kind) {
            return kind;
        }
    }
}

fn any_limiter(numbers: &mut Numbers, place: u64) -> String {
    let kind = if numbers.one_in(6) { "all" } else { any_kind(numbers) };
    let cost = requests::cost(numbers);
    let scale = if cost.contains("bytes") { BYTES } else { 1 };
    let fields = fields(numbers, kind, scale);
    let key = requests::key(numbers);
    let mut text =
        format!("[limiters.\"{place} {kind}\"]\n{key}{}{cost}", fields.join("\n") + "\n");
    text += &requests::filters(numbers);
    let is_common = COMMON.contains(&kind);
    if !is_common && numbers.one_in(4) {
        text += numbers.pick(&["wait = \"2 s\"\n", "wait = \"refuse\"\n", "shadow = true\n"]);
    }
    // A tenant without a place is refused for want of space, which is no offence, if that ends its wait: the reference knows
    // no waits of tenants.
    if kind != "shares" && numbers.one_in(3) {
        text += &penalty(numbers);
    }
    if is_common {
        return text;
    }
    let starts_full = !fields.iter().any(|field| field.starts_with("initial"));
    let is_smooth = !fields.iter().any(|field| field.contains("refill = \"interval\""));
    if kind == "token_bucket" && starts_full && is_smooth && numbers.one_in(2) {
        let size = numbers.pick(&["memory = \"1 MiB\"", "keys = 5000"]);
        let _ = writeln!(text, "store = \"table\"\n{size}");
        text += numbers.pick(&["", "when_full = \"admit\"\n"]);
        return text;
    }
    if numbers.one_in(3) {
        let _ = writeln!(text, "max_keys = {}", numbers.pick(&[5000, 1, 2, 3, 8]));
        text += numbers.pick(&[
            "",
            "when_full = \"deny\"\n",
            "when_full = \"admit\"\n",
            "when_full = { limit = 3, rate = { amount = 1, interval = \"1 s\" } }\n",
        ]);
    }
    if key.starts_with("key = \"client\"") && numbers.one_in(2) {
        for client in ["10.0.0.1", "2001:db8::2"] {
            let own = self::fields(numbers, kind, scale);
            let own = own.iter().filter(|field| !field.starts_with("policy"));
            let own: Vec<_> = own.filter(|field| !field.starts_with("mode")).cloned().collect();
            let _ = writeln!(text, "overrides.\"{client}\" = {{ {} }}", own.join(", "));
        }
    }
    text
}

fn penalty(numbers: &mut Numbers) -> String {
    let [within, refuse_for] = [time(numbers), time(numbers)];
    requests::penalty(numbers, &within, &refuse_for)
}

/// Returns the fields of a kind, its numbers times `scale`.
fn fields(numbers: &mut Numbers, kind: &str, scale: u64) -> Vec<String> {
    let policy = match kind {
        "meter" | "min_interval" => "leaky_bucket",
        kind => kind,
    };
    let limit = |numbers: &mut Numbers| format!("limit = {}", (1 + numbers.below(40)) * scale);
    let every = |numbers: &mut Numbers| format!("interval = \"{}\"", time(numbers));
    let mut fields = vec![format!("policy = \"{policy}\"")];
    match kind {
        "token_bucket" => {
            let most = 1 + numbers.below(40);
            fields.push(format!("limit = {}", most * scale));
            fields.push(rate(numbers, scale));
            match numbers.below(4) {
                0 => fields.push("refill = \"interval\"".to_owned()),
                1 => fields.push("refill = \"smooth\"".to_owned()),
                _ => {}
            }
            if numbers.one_in(4) {
                fields.push(format!("initial = {}", numbers.below(most + 1) * scale));
            }
            if numbers.one_in(5) {
                fields.push(format!("max_debt = {}", numbers.below(most)));
            }
        }
        "meter" => {
            fields.extend(["mode = \"meter\"".to_owned(), limit(numbers), rate(numbers, scale)]);
        }
        "min_interval" => {
            fields.push("mode = \"min_interval\"".to_owned());
            let is_rate = numbers.one_in(2);
            fields.push(if is_rate { rate(numbers, 1) } else { every(numbers) });
        }
        "fixed_window" | "sliding_window" => {
            fields.extend([limit(numbers), every(numbers)]);
            match (kind, numbers.below(3)) {
                (_, 0) => {}
                ("sliding_window", _) => fields.push(slots(numbers)),
                (_, 1) => fields.push("start = \"epoch\"".to_owned()),
                _ => fields.push("start = \"first\"".to_owned()),
            }
        }
        "sliding_log" => {
            fields.extend([format!("limit = {}", 1 + numbers.below(40)), every(numbers)]);
        }
        "weighted_log" => {
            fields.extend([limit(numbers), every(numbers)]);
            if scale > 1 || numbers.one_in(2) {
                // As it is rounded up to: two less than a power of two.
                fields.push(format!("capacity = {}", numbers.pick(&[2, 6, 14, 62, 254])));
            }
        }
        "multi_window" => {
            let mut window = || format!("{{ {}, {} }}", limit(numbers), every(numbers));
            let windows: Vec<String> = (0..3).map(|_| window()).collect();
            let count = 1 + numbers.below(3) as usize;
            fields.push(format!("limits = [{}]", windows[..count].join(", ")));
            if !numbers.one_in(3) {
                fields.push(slots(numbers));
            }
        }
        "calendar_window" => {
            let unit = numbers.pick(&["minute", "minute", "hour", "day", "week", "month"]);
            fields.push(format!("limit = {}", (1 + numbers.below(60)) * scale));
            fields.push(format!("every = \"{unit}\""));
            if numbers.one_in(2) {
                fields.push(format!("zone = \"{}\"", numbers.pick(&ZONES)));
            }
        }
        "budget" => {
            fields.push(format!("amount = {}", numbers.below(90) * scale));
            if numbers.one_in(2) {
                let (saturday, sunday) = (numbers.below(90) * scale, numbers.below(90) * scale);
                fields.push(format!("on = {{ saturday = {saturday}, sunday = {sunday} }}"));
            }
            if numbers.one_in(2) {
                fields.push(format!("zone = \"{}\"", numbers.pick(&ZONES)));
            }
        }
        "all" => {
            let parts = parts(numbers, scale);
            fields.push(format!("of = [{}]", parts.join(", ")));
        }
        other => {
            let needed = KINDS.iter().find(|(name, _)| name == other).map(|(_, needed)| needed);
            fields.extend(needed.into_iter().flatten().map(|field| match field.as_str() {
                "limit" => limit(numbers),
                "rate" => rate(numbers, scale),
                "interval" => every(numbers),
                "shares" => shares(numbers),
                "classes" => classes(numbers),
                "tolerance" => format!("tolerance = \"{}\"", time(numbers)),
                field => panic!("{other} needs {field}, of which no value is known"),
            }));
        }
    }
    fields
}

/// Returns the parts of an `all`.
fn parts(numbers: &mut Numbers, scale: u64) -> Vec<String> {
    let count = 1 + numbers.below(4);
    let part = |_| {
        let kind = if numbers.one_in(9) { "all" } else { any_kind_of_keys(numbers) };
        format!("{{ {} }}", fields(numbers, kind, scale).join(", "))
    };
    (0..count).map(part).collect()
}

fn shares(numbers: &mut Numbers) -> String {
    let tenants = numbers.pick(&["[\"10.0.0.1\", \"2001:db8::2\"]", "\"/a\"", "[\"GET\"]"]);
    let others = 1 + numbers.below(4);
    if numbers.one_in(3) {
        let weight = 1 + numbers.below(3);
        return format!(
            "shares = [{{ tenants = {tenants}, weight = {weight} }}, {{ tenants = {others}, weight = 1 }}]"
        );
    }
    let mut bucket = |limit: u64, amount: u64| {
        let (limit, time) = (limit + numbers.below(3), numbers.pick(&["10 s", "1 minute", "7 s"]));
        format!("{{ limit = {limit}, rate = {{ amount = {amount}, interval = \"{time}\" }} }}")
    };
    let (own, other, ceiling) = (bucket(1, 1), bucket(1, 1), bucket(4, 20));
    let mut text = format!("shares = [{{ tenants = {tenants}, assured = {own} }}");
    if numbers.one_in(2) {
        let _ = write!(text, ", {{ tenants = {others}, assured = {other}, ceiling = {ceiling} }}");
    }
    text + "]"
}

fn classes(numbers: &mut Numbers) -> String {
    let values = numbers.pick(&["", ", values = [\"GET\", \"10.0.0.1\", \"/a\"]"]);
    let reserve = numbers.pick(&["reserve = 1", "reserve_percent = 30", "reserve = 3"]);
    format!("classes = [{{ name = \"a\"{values} }}, {{ name = \"b\", {reserve} }}]")
}

fn rate(numbers: &mut Numbers, scale: u64) -> String {
    let amount = (1 + numbers.below(20)) * scale;
    format!("rate = {{ amount = {amount}, interval = \"{}\" }}", time(numbers))
}

fn slots(numbers: &mut Numbers) -> String {
    format!("slots = {}", numbers.pick(&[1, 2, 3, 7, 10, 60, 64, 200]))
}

fn time(numbers: &mut Numbers) -> String {
    match numbers.below(6) {
        0 => "1 s".to_owned(),
        1 => numbers.pick(&["1s 1ns", "999999937 ns", "1 minute", "333333333 ns"]).to_owned(),
        2 => format!("{} ms", 50 + numbers.below(3000)),
        3 => format!("{} s", 1 + numbers.below(300)),
        4 => format!("{} ns", 100_000_000 + numbers.below(9_000_000_000)),
        _ => format!("{} s", 1 + numbers.below(10)),
    }
}
