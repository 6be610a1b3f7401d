//! The levels of a registry's file, by the names in it, and their changes.

use std::collections::BTreeMap;
use std::time::Duration;

use sluicegate_policy::{Event, HierarchyHandle, LevelAnswers, LevelRequestError};

use super::{policies, registry};

/// A level of organisations that counts tokens, and one of users that counts requests.
fn levels(org: u64, user: u64) -> String {
    format!(
        r#"
        [[hierarchy]]
        name = "org"
        key = "org"
        counts = "tokens"
        policy = "fixed_window"
        limit = {org}
        interval = "1 day"

        [[hierarchy]]
        name = "user"
        key = ["org", "user"]
        policy = "token_bucket"
        limit = {user}
        rate = {{ amount = 1, interval = "1 day" }}
        "#
    )
}

fn fields(org: &str, user: &str) -> BTreeMap<String, String> {
    [("org", org), ("user", user)].map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

fn tokens(tokens: u64) -> BTreeMap<String, u64> {
    [("tokens".to_owned(), tokens)].into()
}

fn ask(levels: &HierarchyHandle, user: &str, permits: u64) -> LevelAnswers {
    levels.try_acquire(&fields("acme", user), &tokens(permits)).unwrap()
}

/// Returns what is left at each level.
fn left(levels: &HierarchyHandle, user: &str) -> Vec<u64> {
    let answers = levels.peek(&fields("acme", user), &tokens(0)).unwrap().levels;
    let left = |answer: Result<sluicegate::Grant, sluicegate::Denied>| match answer {
        Ok(grant) => grant.remaining(),
        Err(denied) => denied.remaining().unwrap(),
    };
    answers.into_iter().map(|level| left(level.answer)).collect()
}

#[test]
fn a_request_takes_from_all_levels_or_from_none() {
    let (_clock, registry) = registry(&levels(100, 3));
    let levels = registry.hierarchy();
    let granted = ask(levels, "ada", 60);
    assert_eq!(granted.denied_by, None);
    let told: Vec<_> =
        granted.levels.iter().map(|level| (&*level.level, &level.key[..], level.permits)).collect();
    assert_eq!(told, [("org", "acme", 60), ("user", "acme/ada", 1)]);
    let denied = ask(levels, "ada", 41);
    assert_eq!(denied.denied_by, Some(0));
    assert!(denied.levels[0].answer.is_err() && denied.levels[1].answer.is_ok());
    // The look at users takes 1 from what is left: a request is 1 there, whatever it uses.
    assert_eq!(left(levels, "ada"), [40, 1]);
    levels.reset("org", &fields("acme", "ada")).unwrap();
    assert_eq!(left(levels, "ada"), [100, 1]);
}

#[test]
fn a_request_whose_names_are_not_those_of_the_levels_is_told_which_are() {
    let (_clock, registry) = registry(&levels(100, 3));
    let levels = registry.hierarchy();
    let mut lacks = fields("acme", "ada");
    lacks.remove("user");
    let mut other = fields("acme", "ada");
    other.insert("usr".to_owned(), "ada".to_owned());
    for (fields, amounts, expected) in [
        (lacks, tokens(1), "`fields.user` is missing: expected a value for each of `org`, `user`"),
        (other, tokens(1), "`fields.usr` belongs to no level: expected `org`, `user`"),
        (
            fields("acme", "ada"),
            BTreeMap::new(),
            "`amounts.tokens` is missing: expected a value for each of `tokens`",
        ),
    ] {
        assert_eq!(levels.try_acquire(&fields, &amounts).unwrap_err().to_string(), expected);
        assert_eq!(levels.peek(&fields, &amounts).unwrap_err().to_string(), expected);
    }
    let error = levels.reset("team", &fields("acme", "ada")).unwrap_err();
    assert!(matches!(error, LevelRequestError::NoSuchLevel { .. }), "{error}");
    assert_eq!(left(levels, "ada"), [100, 2]);
    let (_clock, without) =
        super::registry(&super::one("policy = \"fixed_window\"\nlimit = 1\ninterval = \"1 s\""));
    let error = without.hierarchy().peek(&fields("a", "b"), &tokens(1)).unwrap_err();
    assert_eq!(error, LevelRequestError::NoLevels);
}

#[test]
fn what_was_used_counts_when_the_levels_change() {
    let (_clock, registry) = registry(&levels(100, 3));
    let handle = registry.hierarchy().clone();
    ask(&handle, "ada", 60);
    // The same file changes nothing, and tells nobody.
    assert!(registry.reload(policies(&levels(100, 3))).unwrap().is_empty());
    assert_eq!(left(&handle, "ada"), [40, 1]);
    let events = registry.reload(policies(&levels(80, 3))).unwrap();
    let [event @ Event::Levels { levels: now }] = &events[..] else { panic!("{events:?}") };
    assert_eq!(now.len(), 2);
    assert!(event.to_string().starts_with("levels changed: \"org\" (fixed window: 80"), "{event}");
    assert_eq!(left(&handle, "ada"), [20, 1]);
    // Less than was used: nothing is left.
    registry.reload(policies(&levels(50, 5))).unwrap();
    assert_eq!(left(&handle, "ada"), [0, 3]);
    // A file with a mistake changes nothing.
    let mistaken = levels(50, 5).replace("[\"org\", \"user\"]", "[]");
    assert!(sluicegate_policy::Policies::from_toml("test.toml", &mistaken).is_err());
    let limiter = super::one("policy = \"fixed_window\"\nlimit = 1\ninterval = \"1 s\"");
    registry.reload(policies(&limiter)).unwrap();
    assert!(handle.levels().is_empty());
}

#[test]
fn no_more_is_granted_than_the_levels_have_while_they_change() {
    let (_clock, registry) = registry(&levels(1_000, 1_000_000));
    let granted: u64 = std::thread::scope(|scope| {
        let asks = [0, 1].map(|_| {
            let levels = registry.hierarchy().clone();
            scope.spawn(move || {
                let asks = (0..2_000).map(|_| ask(&levels, "ada", 1).denied_by.is_none());
                asks.map(u64::from).sum::<u64>()
            })
        });
        for limit in (0..20).map(|turn| 1_000 - turn % 2) {
            registry.reload(policies(&levels(limit, 1_000_000))).unwrap();
        }
        asks.into_iter().map(|asks| asks.join().unwrap()).sum()
    });
    assert!((999..=1_000).contains(&granted), "{granted}");
}

/// A smaller limit has no place for all that was used, which counts again in a larger one.
#[test]
fn limits_that_are_lowered_and_raised_again_grant_no_more_than_the_largest() {
    let level = |kind: &str, limit: u64| {
        format!("[[hierarchy]]\nname = \"user\"\nkey = \"user\"\n{kind}\nlimit = {limit}\n")
    };
    for kind in [
        "policy = \"fixed_window\"\ninterval = \"10 hours\"",
        "policy = \"sliding_window\"\ninterval = \"10 hours\"",
        "policy = \"sliding_counter\"\ninterval = \"10 hours\"",
        "policy = \"token_bucket\"\nrate = { amount = 1, interval = \"10 hours\" }",
    ] {
        let (clock, registry) = registry(&level(kind, 300));
        let handle = registry.hierarchy().clone();
        let ada = BTreeMap::from([("user".to_owned(), "ada".to_owned())]);
        let ask = || handle.try_acquire(&ada, &BTreeMap::new()).unwrap().denied_by.is_none();
        let mut granted = 0;
        for (limit, asks) in
            [(300, 150), (200, 10), (300, 10), (100, 10), (300, 20), (120, 5), (300, 50), (50, 5)]
        {
            registry.reload(policies(&level(kind, limit))).unwrap();
            clock.advance(Duration::from_secs(1));
            granted += (0..asks).filter(|_| ask()).count();
        }
        assert_eq!(granted, 240, "{kind}");
        registry.reload(policies(&level(kind, 300))).unwrap();
        assert_eq!((0..400).filter(|_| ask()).count(), 60, "{kind}");
    }
}

/// Levels of several limits: 10 a second, which is changed, and 100 a day.
#[test]
fn no_limit_of_a_level_forgets_what_was_used_when_another_number_changes() {
    let kinds: [fn(u64) -> String; 3] = [
        |second| {
            format!(
                "policy = \"multi_window\"\nslots = 20\nlimits = [{{ limit = {second}, interval = \"1 s\" }}, \
                 {{ limit = 100, interval = \"1 day\" }}]"
            )
        },
        |second| {
            format!(
                "policy = \"all\"\nof = [{{ policy = \"fixed_window\", limit = {second}, interval = \"1 s\" }}, \
                 {{ policy = \"fixed_window\", limit = 100, interval = \"1 day\" }}]"
            )
        },
        |second| {
            format!(
                "policy = \"all\"\nof = [{{ policy = \"fixed_window\", limit = 100, interval = \"1 day\" }}, \
                 {{ policy = \"token_bucket\", limit = {second}, rate = {{ amount = 10, interval = \"1 s\" }} }}]"
            )
        },
    ];
    for kind in kinds {
        let level =
            |second| format!("[[hierarchy]]\nname = \"user\"\nkey = \"user\"\n{}\n", kind(second));
        let (clock, registry) = registry(&level(10));
        let handle = registry.hierarchy().clone();
        let ada = BTreeMap::from([("user".to_owned(), "ada".to_owned())]);
        let grants = |seconds| {
            let mut granted = 0;
            for _ in 0..seconds {
                let ask = || handle.try_acquire(&ada, &BTreeMap::new()).unwrap();
                granted += (0..30).filter(|_| ask().denied_by.is_none()).count();
                clock.advance(Duration::from_secs(2));
            }
            granted
        };
        assert_eq!(grants(9), 90, "{}", kind(10));
        registry.reload(policies(&level(11))).unwrap();
        assert_eq!(grants(9), 10, "{}", kind(11));
    }
}
