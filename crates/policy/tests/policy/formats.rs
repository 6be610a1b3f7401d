//! The same policy in three formats gives the same limiters, with every kind and every field.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use sluicegate::keyed::WhenFull;
use sluicegate::penalty::PenaltyRule;
use sluicegate::{Quota, Rate};
use sluicegate_policy::{
    Cost, Format, KeyField, Kind, Lease, LevelPolicy, LimiterPolicy, LoadError, OnFailure,
    PasswordFrom, Policies, RedisStore, Room, Size,
};

const EVERY_OPTION: &str = include_str!("policies/every_option.toml");
const NAMED: &str = include_str!("policies/named.yaml");
const SAMPLE: &str = include_str!("../../../replay/sample/policy.toml");

fn limiters(format: Format, text: &str) -> Vec<LimiterPolicy> {
    let policies = Policies::from_text(format, "p", text);
    policies.unwrap_or_else(|errors| panic!("{errors}\n{text}")).into_limiters()
}

fn json(toml: &str) -> Value {
    toml::from_str(toml).unwrap()
}

/// Writes a value as YAML in blocks, with plain scalars where they mean the same.
fn yaml(value: &Value, indent: usize) -> String {
    let margin = " ".repeat(indent);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let fields = fields.iter().map(|(name, value)| {
                let name =
                    if name.contains(['.', '*']) { format!("{name:?}") } else { name.clone() };
                format!("\n{margin}{name}:{}", yaml(value, indent + 2))
            });
            fields.collect()
        }
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().map(|item| format!("\n{margin}-{}", yaml(item, indent + 2)));
            items.collect()
        }
        Value::String(text) if text.parse::<f64>().is_err() => format!(" {text}"),
        other => format!(" {other}"),
    }
}

/// Returns the levels of the hierarchy, with their overrides in the order of the patterns: a table of
/// JSON has lost theirs.
fn levels(format: Format, text: &str) -> Vec<LevelPolicy> {
    let mut levels = Policies::from_text(format, "p", text).unwrap().hierarchy().to_vec();
    for level in &mut levels {
        level.overrides.sort_by(|a, b| a.pattern.cmp(&b.pattern));
    }
    levels
}

/// Sorts limiters, since a table of JSON has lost their order.
fn sorted(mut limiters: Vec<LimiterPolicy>) -> Vec<LimiterPolicy> {
    limiters.sort_by(|a, b| a.name.cmp(&b.name));
    limiters
}

#[test]
fn every_kind_and_field_means_the_same_in_each_format() {
    for toml in [EVERY_OPTION, SAMPLE] {
        let expected = sorted(limiters(Format::Toml, toml));
        assert!(expected.len() >= 17);
        let hierarchy = levels(Format::Toml, toml);
        assert_eq!(hierarchy.len(), if toml == SAMPLE { 0 } else { 3 });
        let value = json(toml);
        let (compact, indented) = (value.to_string(), format!("{value:#}"));
        let blocks = yaml(&value, 0);
        for (format, text) in [
            (Format::Json, &compact),
            (Format::Json, &indented),
            (Format::Yaml, &indented),
            (Format::Yaml, &blocks),
            (Format::Yaml, &blocks.replace('\n', "\r\n")),
            (Format::Toml, &toml.replace('\n', "\r\n")),
            (Format::Toml, &format!("\u{feff}{toml}")),
        ] {
            assert_eq!(sorted(limiters(format, text)), expected, "{format}:\n{text}");
            assert_eq!(levels(format, text), hierarchy, "{format}:\n{text}");
        }
    }
}

#[test]
fn every_field_is_read() {
    let policies = Policies::from_toml("p", EVERY_OPTION).unwrap();
    let bucket = policies.get("bucket").unwrap();
    let rate = Rate::new(500, Duration::from_secs(900)).unwrap();
    let quota = Quota::new(rate).with_burst(20).unwrap();
    let debt = quota.with_max_debt(7).unwrap().with_refill(sluicegate::Refill::Interval);
    assert_eq!(bucket.kind, Kind::TokenBucket { quota: debt, initial: 5 });
    assert_eq!(bucket.key, [KeyField::Client, KeyField::Path]);
    assert_eq!(
        (bucket.cost.clone(), bucket.wait),
        (Cost::Permits(3), Some(Duration::from_secs(2)))
    );
    assert_eq!(
        (&*bucket.filter.path_prefix, bucket.filter.method.len()),
        (&["/a".to_owned()][..], 2)
    );
    assert_eq!(bucket.filter.status_class, ["2xx", "4xx"]);

    let table = policies.get("table").unwrap();
    assert_eq!(table.store.room, Room::Table(Size::Memory(64 << 10)));
    assert!(matches!(table.store.when_full, WhenFull::Share(_)));
    let keys = policies.get("table-of-keys").unwrap().store;
    assert_eq!((keys.room, keys.when_full), (Room::Table(Size::Keys(1000)), WhenFull::Admit));

    let gcra = policies.get("gcra").unwrap();
    assert_eq!((gcra.shadow, gcra.store.room), (true, Room::Exact { max_keys: Some(100) }));
    let meter = policies.get("meter").unwrap();
    assert_eq!((meter.wait, meter.cost.clone()), (None, Cost::Bytes));
    assert!(matches!(meter.kind, Kind::LeakyMeter(quota) if quota.max_debt() == 0));

    let hour = Duration::from_secs(3600);
    let offences = Rate::new(5, Duration::from_secs(600)).unwrap();
    let rule = PenaltyRule::new(offences, hour).unwrap();
    let offenders = policies.get("offenders").unwrap().penalty.as_ref().unwrap();
    assert_eq!(
        (offenders.rule, offenders.of_refusals, offenders.max_keys),
        (rule, true, 1_000_000)
    );
    assert!(offenders.of_answers.is_empty());
    let by_answers = policies.get("offenders-by-answers").unwrap().penalty.as_ref().unwrap();
    let doubled = rule.doubled_up_to(24 * hour, 7 * 24 * hour).unwrap();
    assert_eq!(
        (by_answers.rule, by_answers.of_refusals, by_answers.max_keys),
        (doubled, true, 5000)
    );
    assert_eq!(by_answers.of_answers[0].status, [401, 403]);
    assert_eq!(by_answers.of_answers[1].status_class, ["5xx"]);

    let redis = |name: &str| policies.get(name).unwrap().redis.clone().unwrap();
    assert_eq!(redis("shared"), RedisStore::new("redis://127.0.0.1:6379/"));
    let leased = redis("shared-with-leases");
    assert_eq!((&*leased.url, &*leased.prefix), ("rediss://ada:secret@db.example:6380/2", "app"));
    assert_eq!(leased.time_limit, Duration::from_millis(50));
    assert_eq!((leased.failures, leased.pause), (3, Duration::from_millis(500)));
    assert_eq!(leased.password, Some(PasswordFrom::File("/run/secrets/redis".into())));
    let of_environment = PasswordFrom::Env("REDIS_PASSWORD".to_owned());
    assert_eq!(redis("shared-and-open").password, Some(of_environment));
    assert_eq!(leased.on_failure, OnFailure::Share { machines: 4 });
    let (size, expiry) = (Some(40), Duration::from_secs(2));
    let lease = Lease { nodes: 8, share_percent: 50, size, expiry, max_keys: 500 };
    assert_eq!(leased.lease, Some(lease));
    assert_eq!(redis("shared-and-open").on_failure, OnFailure::Open);
    assert!(policies.get("first").unwrap().redis.is_none());

    let apart = policies.get("apart").unwrap();
    let every =
        |seconds| Kind::LeakyMinInterval(Rate::every(Duration::from_secs(seconds)).unwrap());
    assert_eq!(apart.kind_of(b"10.0.0.7"), &every(1));
    assert_eq!(apart.kind_of(b"10.0.0.8"), &every(2));
    assert_eq!(apart.kind_of(b"10.0.0.9"), &every(10));
    let budget = policies.get("budget").unwrap();
    assert!(
        matches!(&budget.kind, Kind::Budget { amounts, .. } if *amounts == [1, 2, 3, 4, 5, 6, 0])
    );
    let own = budget.kind_of(b"10.0.0.7");
    assert!(matches!(own, Kind::Budget { amounts, .. } if *amounts == [1, 2, 3, 4, 50, 6, 0]));
    assert_eq!(
        policies.get("several").unwrap().kind_of(b"staff").parts()[1],
        "budget: 1,000 a day, UTC"
    );
    let [_, model, user] = policies.hierarchy() else { panic!("it has three levels") };
    assert_eq!((&*model.name, model.max_keys), ("answers of the model", Some(1000)));
    assert_eq!(
        (&user.key[..], &user.counts[..]),
        (&["org", "user"].map(str::to_owned)[..], &["input", "output"].map(str::to_owned)[..])
    );
    let own = |pattern: &str| {
        user.overrides.iter().find(|own| own.pattern == pattern).map(|own| &own.kind)
    };
    let of = |limit, seconds| {
        Kind::WindowFromFirst(Rate::new(limit, Duration::from_secs(seconds)).unwrap())
    };
    assert_eq!((own("acme/*"), own("a*/?b*")), (Some(&of(90, 1)), Some(&of(9, 2))));

    assert!(policies.get("nobody").is_none());
    assert!(policies.warnings().is_empty(), "{:?}", policies.warnings());
}

#[test]
fn named_limiters_work_as_they_are_written() {
    let hour = Rate::new(100, Duration::from_secs(3600)).unwrap();
    let slow = Rate::new(5, Duration::from_secs(3600)).unwrap();
    let rate = Rate::new(500, Duration::from_secs(900)).unwrap();
    let quota = Quota::new(rate).with_burst(5000).unwrap();
    let nested = format!(
        "framework:\n  rate_limiter:{}",
        &NAMED.split_once("limiters:").unwrap().1.replace("\n    ", "\n        ")
    );
    for text in [NAMED, &nested] {
        let limiters = limiters(Format::Yaml, text);
        let kinds: Vec<_> = limiters.iter().map(|one| (one.name.as_str(), &one.kind)).collect();
        assert_eq!(
            kinds,
            [
                ("anonymous_api", &Kind::WindowFromFirst(hour)),
                ("contact_form", &Kind::SlidingWindow { limit: slow, slots: 60 }),
                ("authenticated_api", &Kind::TokenBucket { quota, initial: 5000 }),
            ]
        );
        assert!(limiters.iter().all(|limiter| limiter.key == [KeyField::Client]));
    }
    let list = "limiter:\n- { name: a, policy: fixed_window, limit: 100, interval: 60 minutes }\n";
    assert_eq!(limiters(Format::Yaml, list)[0].kind, Kind::WindowFromFirst(hour));
}

#[test]
fn aliases_of_yaml_stand_for_their_values() {
    let text =
        "limiters:\n  a: &api { policy: gcra, interval: &s 1 s, tolerance: *s }\n  b: *api\n";
    let limiters = limiters(Format::Yaml, text);
    assert_eq!(limiters[0].kind, limiters[1].kind);
    let two = "a: 1\n---\nb: 2\n";
    let errors = Policies::from_yaml("p", two).unwrap_err();
    assert_eq!(errors.as_slice()[0].expected(), "expected one document");
}

#[test]
fn files_are_read_by_the_end_of_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let load = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        Policies::from_path(path)
    };
    let json = json(EVERY_OPTION).to_string();
    for (name, text) in [
        ("p.toml", EVERY_OPTION),
        ("p", EVERY_OPTION),
        ("p.json", &json),
        ("p.yml", NAMED),
        ("P.YAML", NAMED),
    ] {
        load(name, text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let Err(LoadError::Policy(errors)) = load("latin.toml", b"# caf\xe9\n[limiters]\n") else {
        panic!("it is not UTF-8");
    };
    let error = &errors.as_slice()[0];
    assert_eq!((error.message(), error.expected()), ("this is not UTF-8", "byte 0xe9 is not"));
    assert_eq!((error.line(), error.column()), (1, 6));

    let Err(LoadError::Policy(errors)) = load("large.toml", &b"# \n".repeat(400_000)) else {
        panic!("it is too large");
    };
    assert_eq!(
        errors.as_slice()[0].expected(),
        "it has at least 1048577 bytes: must be at most 1.0 MiB, unless --policy-size allows more; is it a log?"
    );
    let Err(LoadError::Policy(errors)) = load("fits.toml", &b" ".repeat(1 << 20)) else {
        panic!("it has no limiter");
    };
    assert_eq!(errors.as_slice()[0].message(), "the policy has no limiter");
    let missing = Policies::from_path(folder.path().join("no.toml"));
    assert!(matches!(missing, Err(LoadError::Io { .. })));
}

#[test]
fn of_many_mistakes_the_first_fifty_are_kept() {
    let limiters: Vec<String> = (0..60).map(|n| format!("[limiters.l{n}]\n")).collect();
    let errors = Policies::from_toml("p", &limiters.concat()).unwrap_err();
    assert_eq!((errors.as_slice().len(), errors.more()), (50, 10));
    assert!(errors.to_string().ends_with("\n\nerror: 10 more"));
}

#[test]
fn a_file_is_read_as_it_is_said_whatever_its_name_and_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.conf");
    let padding = "# padding\n".repeat(200_000);
    let yaml = "limiters: { a: { policy: gcra, key: all, interval: 1 s, tolerance: 0 s } }";
    std::fs::write(&path, format!("{yaml}\n{padding}")).unwrap();
    let file = sluicegate_policy::PolicyFile::from(&path).with_format(Format::Yaml);
    let error = Policies::from_path(file.clone()).unwrap_err().to_string();
    assert!(error.contains("must be at most 1.0 MiB, unless --policy-size"), "{error}");
    let file = file.with_max_bytes(4 << 20);
    assert_eq!(Policies::from_path(file.clone()).unwrap().limiters().len(), 1);
    let registry = sluicegate_policy::Registry::open(file.clone()).unwrap();
    std::fs::write(&path, format!("{}\n{padding}", yaml.replace("1 s", "2 s"))).unwrap();
    assert_eq!(registry.reload_path(file).unwrap().len(), 1);
}
