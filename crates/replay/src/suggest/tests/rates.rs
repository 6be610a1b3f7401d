//! Rates of buckets against rates that are known, and against a replay of every rate.

use super::*;

/// Replays a rate. Returns keys hit and requests denied.
fn brute_rate(policy: &Policy, text: &str, rate: u64) -> Point {
    let mut policy = policy.clone();
    for rule in &mut policy.rules {
        rule.kind = Vary::Rate.with(&rule.kind, rate).unwrap();
    }
    let mut replay = Replay::new(policy);
    replay.read(&mut merged(text)).unwrap();
    let mut point = Point { limit: rate, ..Point::default() };
    for (_, tally) in replay.judges()[0].tallies().filter(|(_, tally)| tally.denied > 0) {
        point.keys_hit += 1;
        point.denied += tally.denied;
        point.requests_of_hit += tally.denied + tally.allowed;
    }
    point
}

fn of_rate(of: Share, untouched: u64) -> SuggestOptions {
    SuggestOptions { vary: Vary::Rate, ..goal(of, untouched) }
}

#[test]
fn rates_are_those_that_a_replay_of_every_rate_finds() {
    let kinds = [
        "policy = \"token_bucket\"\nlimit = 3\nrate = { amount = 7, interval = \"1 minute\" }",
        "policy = \"token_bucket\"\nlimit = 3\ninitial = 1\nrate = { amount = 7, interval = \"1 minute\" }",
        "policy = \"token_bucket\"\nlimit = 4\nrefill = \"interval\"\nrate = { amount = 3, interval = \"7 seconds\" }",
        "policy = \"leaky_bucket\"\nmode = \"meter\"\nlimit = 3\nrate = { amount = 1, interval = \"30 seconds\" }",
        "policy = \"token_bucket\"\nlimit = 6\ncost = \"bytes\"\nrate = { amount = 7, interval = \"1 minute\" }",
    ];
    let mut numbers = Numbers(99);
    let (mut found_some, mut found_none) = (0, 0);
    for kind in kinds {
        for _ in 0..6 {
            let (policy, text) = (policy(kind), random_log(&mut numbers));
            for (of, untouched) in
                [(Share::Keys, 700_000), (Share::Keys, 1_000_000), (Share::Requests, 900_000)]
            {
                let options = of_rate(of, untouched);
                let findings = findings(&policy, &text, &options);
                let found = &findings.limiters[0];
                let is_good = |point: &Point| match of {
                    Share::Keys => options.goal.is_met(found.keys, point.keys_hit),
                    Share::Requests => options.goal.is_met(found.requests, point.denied),
                };
                let all: Vec<Point> =
                    (1..=120).map(|rate| brute_rate(&policy, &text, rate)).collect();
                for point in &found.curve {
                    let same = all.iter().find(|brute| brute.limit == point.limit);
                    assert!(same.is_none_or(|brute| brute == point), "{kind}: {point:?}, {same:?}");
                }
                let least = all.iter().find(|point| is_good(point)).map(|point| point.limit);
                match found.suggested {
                    Some(rate) if found.is_least && rate <= 120 => {
                        assert_eq!(Some(rate), least, "{kind}, {options:?}, {text}");
                        found_some += 1;
                    }
                    Some(rate) if found.is_least => {
                        assert_eq!(least, None);
                        assert!(!is_good(&brute_rate(&policy, &text, rate - 1)), "{kind}");
                    }
                    Some(rate) => {
                        assert!(is_good(&brute_rate(&policy, &text, rate)), "{kind}");
                        assert!(rate == 1 || !is_good(&brute_rate(&policy, &text, rate - 1)));
                    }
                    None => {
                        assert_eq!(least, None, "{kind}, {options:?}, {text}");
                        found_none += 1;
                    }
                }
            }
        }
    }
    assert!(found_some > 20 && found_none < 60, "{found_some}, {found_none}");
}

#[test]
fn limiters_without_a_rate_say_so() {
    let window = policy("policy = \"sliding_window\"\nlimit = 5\ninterval = \"1 minute\"\n");
    let found = findings(&window, &log(&[(1, 1, 1)]), &of_rate(Share::Keys, 990_000));
    assert!(found.limiters.is_empty());
    assert!(found.without[0].why.starts_with("only token buckets and meters have a rate"));
}
