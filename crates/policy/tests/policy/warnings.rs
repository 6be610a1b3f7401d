//! Warnings are for what is valid and probably not meant.

use sluicegate_policy::Policies;

fn warnings(fields: &str) -> Vec<String> {
    let policies = Policies::from_toml("p", &format!("[limiters.a]\n{fields}\n"));
    let policies = policies.unwrap_or_else(|errors| panic!("{errors}"));
    let said = |warning: &sluicegate_policy::PolicyError| {
        assert!(warning.is_warning());
        assert!(warning.to_string().starts_with("warning: "), "{warning}");
        format!("{}: {}: {}", warning.line(), warning.message(), warning.expected())
    };
    policies.warnings().iter().map(said).collect()
}

const WINDOW: &str = "policy = \"fixed_window\"\nlimit = 5\ninterval = \"1 s\"\n";

#[test]
fn a_month_is_warned_of_where_minutes_may_be_meant() {
    let window = |interval: &str| warnings(&WINDOW.replace("1 s", interval));
    assert_eq!(
        window("1M"),
        ["4: `interval` is \"1M\": `M` is a month of 30.44 days; a minute is `m`, and \
             calendar_window has months of the calendar"]
    );
    let month = "a month here is 30.44 days; calendar_window has months of the calendar";
    assert_eq!(window("2 months"), [format!("4: `interval` is \"2 months\": {month}")]);
    assert_eq!(window("1 year"), ["4: `interval` is \"1 year\": a year here is 365.25 days"]);
    for clear in ["1m", "60 minutes", "1h 30m", "100 ms", "30 days"] {
        assert_eq!(window(clear), [""; 0], "{clear}");
    }
}

#[test]
fn a_cost_that_no_request_can_pay_is_warned_of() {
    let cost = |cost: &str| warnings(&format!("{WINDOW}cost = {cost}"));
    let none = "5: `cost` is 6: every request will be denied: it costs more than the 5 that can be granted at once";
    assert_eq!(cost("6"), [none]);
    assert_eq!(cost("5"), [""; 0]);
    let gcra = "policy = \"gcra\"\ninterval = \"1 s\"\ntolerance = \"2 s\"\ncost = ";
    assert_eq!(warnings(&format!("{gcra}3")), [""; 0]);
    assert_eq!(warnings(&format!("{gcra}4")).len(), 1);
}

const SHARES: &str = "key = { header = \"x-tenant\" }\npolicy = \"shares\"\nlimit = 100\n\
    rate = { amount = 100, interval = \"1 s\" }\n";

#[test]
fn a_cost_that_some_tenants_can_never_pay_is_warned_of() {
    let warnings = |cost: u64| {
        let assured = |limit: u64| {
            format!("assured = {{ limit = {limit}, rate = {{ amount = 1, interval = \"1 s\" }} }}")
        };
        warnings(&format!(
            "{SHARES}cost = {cost}\nshares = [{{ tenants = [\"acme\", \"globex\"], {} }}, \
             {{ tenants = 10, {}, ceiling = {{ limit = 4, rate = {{ amount = 2, interval = \"1 s\" }} }} }}]",
            assured(3),
            assured(2),
        ))
    };
    assert_eq!(warnings(2), [""; 0]);
    assert_eq!(
        warnings(3),
        [
            "6: `cost` is 3: each of 10 others will be denied every request: it costs more than the 2 that such a \
          tenant can be granted at once"
        ]
    );
    let [share, others] = warnings(4).try_into().unwrap();
    assert!(share.ends_with(
        ": each of acme and globex will never be assured a request: it costs more than the 3 of the share"
    ));
    assert!(others.contains("each of 10 others will be denied"), "{others}");
    // 74 are lent: all but the assured bursts.
    let [all] = warnings(75).try_into().unwrap();
    assert!(all.contains("every request will be denied: it costs more than the 74"), "{all}");
}

#[test]
fn a_cost_that_a_class_can_never_pay_and_classes_in_the_wrong_order_are_warned_of() {
    let warnings = |cost: u64, classes: &str| {
        let policy = SHARES.replace("shares", "priorities");
        warnings(&format!("{policy}cost = {cost}\nclasses = [{classes}]"))
    };
    let (pay, batch) = ("{ name = \"pay\" }", "{ name = \"batch\", reserve = 99 }");
    assert_eq!(warnings(1, &format!("{pay}, {batch}")), [""; 0]);
    assert_eq!(
        warnings(5, &format!("{pay}, {batch}")),
        [
            "6: `cost` is 5: every request of class batch will be denied: it costs more than the 1 that can be granted at \
          once"
        ]
    );
    assert_eq!(
        warnings(1, &format!("{batch}, {pay}")),
        [
            "7: class pay, the last one, leaves less than batch: keys that no class names are of the last class: expected \
          the class that leaves most there, such as batch"
        ]
    );
}

#[test]
fn a_number_of_places_in_quotes_and_a_tenant_that_is_no_address_are_warned_of() {
    let assured = "assured = { limit = 3, rate = { amount = 1, interval = \"1 s\" } }";
    let quoted = warnings(&format!("{SHARES}shares = [{{ tenants = \"50\", {assured} }}]"));
    assert_eq!(
        quoted,
        [
            "6: `shares.tenants` is \"50\": a single tenant with this name: write 50 for so many places, or [\"50\"] for \
          the tenant"
        ]
    );
    let listed = warnings(&format!("{SHARES}shares = [{{ tenants = [\"50\"], {assured} }}]"));
    assert_eq!(listed, [""; 0]);
    let clients = SHARES.replace("{ header = \"x-tenant\" }", "\"client\"");
    let other = warnings(&format!("{clients}shares = [{{ tenants = \"10.0.0.300\", {assured} }}]"));
    assert!(other[0].contains("no client has the key \"10.0.0.300\""), "{other:?}");
}

#[test]
fn requests_that_there_are_not_are_warned_of() {
    let filter = |filter: &str| warnings(&format!("{WINDOW}match = {{ {filter} }}"));
    let small = "methods are upper case; write GET";
    let get = format!("5: `match.method` is [\"HEAD\", \"get\"]: {small}");
    assert_eq!(filter("method = [\"HEAD\", \"get\"]"), [get]);
    let path = "paths begin with a slash and have no query: no request has this one";
    for prefix in ["api/", "/a?b=1"] {
        let said = format!("5: `match.path_prefix` is \"{prefix}\": {path}");
        assert_eq!(filter(&format!("path_prefix = \"{prefix}\"")), [said]);
    }
    assert_eq!(filter("method = \"GET\", path_prefix = \"/a\""), [""; 0]);
}

#[test]
fn patterns_of_other_programs_are_warned_of() {
    let filter = |filter: &str| warnings(&format!("{WINDOW}match = {{ {filter} }}"));
    let said = |meant: &str| {
        format!("wildcards and expressions are taken as they are written; write \"{meant}\"")
    };
    for (path, meant) in [
        ("/users/:id", "/users/{id}"),
        ("/api/*", "/api/{*rest}"),
        ("/api/**", "/api/{*rest}"),
        ("/a/*/b/:c", "/a/{part2}/b/{c}"),
        ("/users/<id>", "/users/{id}"),
        ("/users/$id", "/users/{id}"),
        ("/users/{id:[0-9]+}", "/users/{id}"),
        ("/api/v[12]/x", "/api/{part2}/x"),
        ("/users/.*", "/users/{part2}"),
    ] {
        let expected = format!("5: `match.path` is \"{path}\": {}", said(meant));
        assert_eq!(filter(&format!("path = \"{path}\"")), [expected]);
    }
    assert_eq!(
        filter("path = [\"/users/{id}\", \"/a:b/{*c}\", \"/c++/Rust_(language)\"]"),
        [""; 0]
    );
    assert_eq!(filter("path_prefix = \"/api/*\"").len(), 1);
}

#[test]
fn an_override_for_a_network_is_valid() {
    let own =
        |key: &str| warnings(&format!("{WINDOW}overrides = {{ \"{key}\" = {{ limit = 9 }} }}"));
    for key in ["10.0.0.0/8", "2001:db8::/32", "0.0.0.0/0", "10.0.0.7"] {
        assert_eq!(own(key), [""; 0]);
    }
    for (key, said) in [
        ("10.0.0.300", "no client has the key \"10.0.0.300\""),
        ("10.0.0.0/33", "no client has the key \"10.0.0.0/33\""),
        ("2001:db8:::1", "no client has the key"),
        ("198.51.100.20/16", "\"198.51.100.20/16\" is the network 198.51.0.0/16"),
    ] {
        let [warning] = own(key).try_into().unwrap();
        assert!(warning.contains(said), "{warning}");
    }
    assert_eq!(own("printer.example"), [""; 0]);
    let by_network = "key = { client = { ipv4 = 8 } }\n";
    let own = format!("{by_network}{WINDOW}overrides = {{ \"10.0.0.0/8\" = {{ limit = 9 }} }}");
    assert_eq!(warnings(&own), [""; 0]);
}

#[test]
fn a_window_that_never_denies_is_warned_of() {
    let windows =
        |limits: &str| warnings(&format!("policy = \"multi_window\"\nlimits = [{limits}]"));
    let of =
        |limit: u64, interval: &str| format!("{{ limit = {limit}, interval = \"{interval}\" }}");
    for (one, other, idle) in [
        (of(3, "1 minute"), of(1, "1 day"), Some(3)),
        (of(10, "1 s"), of(600, "1 minute"), Some(600)),
        (of(10, "1 s"), of(599, "1 minute"), None),
        (of(10, "1 s"), of(200, "1 minute"), None),
    ] {
        let said = windows(&format!("{one}, {other}"));
        match idle {
            Some(limit) => {
                assert_eq!(said.len(), 1, "{said:?}");
                assert!(
                    said[0].contains(&format!("the window of {limit} never denies")),
                    "{said:?}"
                );
            }
            None => assert_eq!(said, [""; 0]),
        }
    }
    let parts = |parts: [(&str, u64, &str); 2]| {
        let part = |(policy, limit, interval)| {
            format!("{{ policy = \"{policy}\", limit = {limit}, interval = \"{interval}\" }}")
        };
        warnings(&format!("policy = \"all\"\nof = [{}]", parts.map(part).join(", "))).len()
    };
    assert_eq!(parts([("sliding_log", 3, "1 minute"), ("sliding_log", 1, "1 day")]), 1);
    assert_eq!(parts([("sliding_window", 600, "1 minute"), ("weighted_log", 10, "1 s")]), 0);
    assert_eq!(parts([("sliding_window", 1200, "1 minute"), ("weighted_log", 10, "1 s")]), 1);
    // At the end of one window and the beginning of the next it grants twice its limit.
    assert_eq!(parts([("sliding_log", 1, "1 minute"), ("fixed_window", 1, "1 day")]), 0);
}

#[test]
fn a_counter_that_would_count_old_requests_again_within_days_is_refused() {
    let counter = |limit: u64, interval: &str| {
        let fields =
            format!("policy = \"sliding_counter\"\nlimit = {limit}\ninterval = \"{interval}\"");
        Policies::from_toml("p", &format!("[limiters.a]\n{fields}\n"))
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let refused = counter(10_000_000, "1 s").unwrap_err();
    assert!(refused.contains("after 4h 33m 4s without a request"), "{refused}");
    assert!(refused.contains("`sliding_window` has no such bound"), "{refused}");
    assert_eq!(counter(1_000_000, "1 s"), Ok(()));
    assert_eq!(counter(10_000_000, "1 day"), Ok(()));
}

#[test]
fn fields_that_do_nothing_are_warned_of() {
    let full = "an exact store without `max_keys` has space for every key";
    let when_full = format!("{WINDOW}when_full = \"admit\"");
    assert_eq!(warnings(&when_full), [format!("5: `when_full` is \"admit\": {full}")]);
    assert_eq!(warnings(&format!("{when_full}\nmax_keys = 9")), [""; 0]);
    let shadow = "`wait` has no effect with `shadow: true`";
    let waits = format!("{WINDOW}wait = \"1 s\"\nshadow = true");
    assert_eq!(warnings(&waits), [format!("5: `wait` is \"1 s\": {shadow}")]);
    let equal = "{ limit = 5, interval = \"60 s\" }, { limit = 9, interval = \"1 m\" }";
    let windows = format!("policy = \"multi_window\"\nlimits = [{equal}]");
    let only = "two windows of one length: only the smaller limit counts";
    assert_eq!(warnings(&windows), [format!("3: `limits.interval` is \"1 m\": {only}")]);
}

#[test]
fn a_limiter_that_strangers_share_is_warned_of() {
    let key = |key: &str| warnings(&format!("{WINDOW}key = {key}"));
    let label = "all requests without one share one limiter; write { field = \"user\", missing = \"deny\" } \
                 with `deny`, `admit` or `shared`";
    assert_eq!(key("\"user\""), [format!("5: `key` is \"user\": {label}")]);
    for clear in [
        "{ field = \"user\", missing = \"shared\" }",
        "[\"client\", \"user\"]",
        "\"client\"",
        "{ header = \"x-user\" }",
    ] {
        assert_eq!(key(clear), [""; 0], "{clear}");
    }
    // All keys of these share one limiter.
    for (own, are) in [
        ("policy = \"shares\"\nshares = [{ tenants = 9, weight = 1 }]", "are one tenant"),
        ("policy = \"priorities\"\nclasses = [{ name = \"a\" }]", "are of one class"),
    ] {
        let rate = "limit = 20\nrate = { amount = 1, interval = \"1 s\" }";
        let said = warnings(&format!("{own}\n{rate}\nkey = \"user\""));
        assert_eq!(
            said,
            [format!("6: `key` is \"user\": {}", label.replace("share one limiter", are))]
        );
    }
}

#[test]
fn rules_that_never_count_are_warned_of() {
    let cost = |rules: &str| warnings(&format!("{WINDOW}cost = [{rules}]"));
    let label = "all requests have this cost: the rules after it have no effect";
    assert_eq!(
        cost("{ permits = 2 }, { match = { method = \"POST\" }, permits = 3 }"),
        [format!("5: `cost` is {{ permits = 2 }}: {label}")]
    );
    assert_eq!(cost("{ match = { method = \"POST\" }, permits = 3 }, { permits = 2 }"), [""; 0]);
    assert_eq!(cost("{ match = { method = \"POST\" }, permits = 6 }").len(), 1);
}

#[test]
fn leases_that_cut_most_of_a_burst_are_warned_of() {
    let lease = |lease: &str| {
        let bucket =
            "policy = \"token_bucket\"\nlimit = 1000\nrate = { amount = 1, interval = \"1 s\" }\n";
        warnings(&format!("{bucket}store = {{ redis = \"redis://a/\", lease = {lease} }}"))
    };
    assert_eq!(lease("{ nodes = 2, share = 50 }"), [""; 0]);
    let table = "{ nodes = 2, share = 90 }";
    assert_eq!(
        lease(table),
        [format!(
            "5: `store.lease` is {table}: at once a key is granted only 100 of 1000, besides what is in leases: \
             take a smaller `share`, or a smaller `size`"
        )]
    );
    assert_eq!(lease("{ nodes = 2, share = 90, size = 100 }"), [""; 0]);
}
