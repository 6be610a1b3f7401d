//! Hierarchies: all levels or none, under threads too; the level that a refusal names; and
//! patterns.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::{Denied, ManualClock, Quota, Rate};
use sluicegate_policy::{Hierarchy, HierarchyError, Kind, LevelOverride, LevelPolicy};

const MINUTE: Duration = Duration::from_secs(60);

fn window(limit: u64) -> Kind {
    Kind::FixedWindow(Rate::new(limit, MINUTE).unwrap())
}

/// A bucket that earns next to nothing while a test runs.
fn bucket(limit: u64) -> Kind {
    let quota = Quota::new(Rate::new(1, Rate::MAX_PERIOD).unwrap()).with_burst(limit).unwrap();
    Kind::TokenBucket { quota, initial: limit }
}

fn level(name: &str, key: &[&str], counts: &[&str], kind: Kind) -> LevelPolicy {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    LevelPolicy {
        name: name.to_owned(),
        key: owned(key),
        counts: owned(counts),
        kind,
        max_keys: None,
        overrides: Vec::new(),
    }
}

fn org_team_user(limits: [Kind; 3]) -> [LevelPolicy; 3] {
    let [org, team, user] = limits;
    [
        level("org", &["org"], &["tokens"], org),
        level("team", &["org", "team"], &["tokens"], team),
        level("user", &["org", "team", "user"], &["tokens"], user),
    ]
}

fn hierarchy(levels: &[LevelPolicy], clock: &Arc<ManualClock>) -> Hierarchy<3, 1> {
    Hierarchy::new(levels, ["org", "team", "user"], ["tokens"], Arc::clone(clock)).unwrap()
}

fn left(hierarchy: &Hierarchy<3, 1>, fields: [&str; 3]) -> Vec<u64> {
    let grants = hierarchy.request(fields).peek([0]).unwrap();
    grants.iter().map(sluicegate::Grant::remaining).collect()
}

#[test]
fn a_refusal_names_the_level_with_the_longest_wait_and_takes_nothing() {
    let clock = Arc::new(ManualClock::new());
    let per = |limit, seconds| {
        let rate = Rate::new(1, Duration::from_secs(seconds)).unwrap();
        let quota = Quota::new(rate).with_burst(limit).unwrap();
        Kind::TokenBucket { quota, initial: limit }
    };
    let tree = hierarchy(&org_team_user([per(10, 1), per(8, 5), per(8, 2)]), &clock);
    let ada = tree.request(["acme", "search", "ada"]);
    assert_eq!(ada.keys().collect::<Vec<_>>(), ["acme", "acme/search", "acme/search/ada"]);
    let _charged = ada.try_acquire([8]).unwrap();
    assert_eq!(left(&tree, ["acme", "search", "ada"]), [2, 0, 0]);

    // All three refuse: for 2, 20 and 8 seconds.
    let refused = ada.try_acquire([4]).unwrap_err();
    assert_eq!((refused.level(), refused.which()), ("team", 1));
    assert_eq!(refused.retry_after(), Some(Duration::from_secs(20)));
    // One for ever, before all others.
    let refused = ada.try_acquire([9]).unwrap_err();
    assert!(matches!(refused.denied(), Denied::TooLarge { limit: 8, .. }));
    assert_eq!((refused.level(), refused.retry_after()), ("team", None));
    // Only the widest.
    let refused = tree.request(["acme", "ads", "bob"]).try_acquire([3]).unwrap_err();
    assert_eq!((refused.level(), refused.retry_after()), ("org", Some(Duration::from_secs(1))));
    assert!(refused.to_string().starts_with("level \"org\": "), "{refused}");
    assert_eq!(left(&tree, ["acme", "ads", "bob"]), [2, 8, 8]);
    assert_eq!(left(&tree, ["acme", "search", "ada"]), [2, 0, 0]);
}

#[test]
fn an_admission_can_be_settled_by_another_thread() {
    let tree = hierarchy(&org_team_user([bucket(9), window(9), window(9)]), &Arc::default());
    let ada = tree.request(["acme", "search", "ada"]);
    let admitted = ada.try_acquire([7]).unwrap();
    std::thread::scope(|scope| _ = scope.spawn(move || _ = admitted.settle([2])).join());
    assert_eq!(left(&tree, ["acme", "search", "ada"]), [7, 7, 7]);
}

#[test]
fn true_usage_is_settled_at_all_levels_and_amounts_differ_by_level() {
    let clock = Arc::new(ManualClock::new());
    let levels = [
        level("total", &["org"], &["input", "output"], bucket(100)),
        level("output", &["org"], &["output"], window(50)),
        level("requests", &["org"], &[], window(2)),
    ];
    let tree = Hierarchy::new(&levels, ["org"], ["input", "output"], Arc::clone(&clock)).unwrap();
    let acme = tree.request(["acme"]);
    let left = || -> Vec<u64> {
        acme.peek([0, 0]).unwrap().iter().map(sluicegate::Grant::remaining).collect()
    };
    let first = acme.try_acquire([30, 40]).unwrap();
    assert_eq!(left(), [30, 10, 0]);
    let settled = first.settle([30, 45]).into_iter().map(|settled| settled.unwrap().taken_beyond());
    assert_eq!(settled.collect::<Vec<_>>(), [5, 5, 0]);
    assert_eq!(left(), [25, 5, 0]);
    let second = acme.try_acquire([20, 5]).unwrap();
    assert_eq!(acme.peek([0, 0]).unwrap_err().level(), "requests");
    // Also the request comes back.
    second.cancel();
    assert_eq!(left(), [25, 5, 0]);
    // Sums do not overflow.
    assert_eq!(acme.try_acquire([u64::MAX; 2]).unwrap_err().retry_after(), None);
}

#[test]
fn the_most_specific_pattern_counts() {
    let clock = Arc::new(ManualClock::new());
    let mut levels = org_team_user([window(1), window(2), window(3)]);
    let own =
        |pattern: &str, limit| LevelOverride { pattern: pattern.to_owned(), kind: window(limit) };
    levels[2].overrides = vec![
        own("*/*/*", 10),
        own("acme/*/ada", 30),
        own("acme/*/*", 20),
        own("acme/search/ada", 40),
        own("?corp/ads/e?e", 50),
    ];
    let tree = hierarchy(&levels, &clock);
    for (fields, limit) in [
        (["acme", "search", "ada"], 40),
        (["acme", "ads", "ada"], 30),
        (["acme", "ads", "bob"], 20),
        (["other", "ads", "bob"], 10),
        (["ccorp", "ads", "eve"], 50),
        (["ccorp", "ads", "ave"], 10),
        // A slash in a value is no border between fields.
        (["acme", "search/x", "ada"], 30),
        (["acme/search", "ada", ""], 10),
    ] {
        assert_eq!(left(&tree, fields)[2], limit, "{fields:?}");
    }
    let keys = |fields| tree.request(fields).keys().nth(2).unwrap().to_owned();
    assert_eq!(keys(["a/b", "", "100%"]), "a%2Fb//100%25");
}

#[test]
fn mistakes_of_levels_made_by_a_program_are_named() {
    let clock = || Arc::new(ManualClock::new());
    let error = |levels: &[LevelPolicy]| {
        Hierarchy::new(levels, ["org", "team", "user"], ["tokens"], clock()).unwrap_err()
    };
    assert_eq!(error(&[]), HierarchyError::NoLevel);
    let fine = || level("a", &["org"], &["tokens"], window(1));
    assert_eq!(
        error(&[fine(), fine()]).to_string(),
        "two levels are named \"a\": expected a name that no other level has"
    );
    assert_eq!(
        error(&[level("a", &["orgg"], &[], window(1))]).to_string(),
        "level \"a\" names \"orgg\", which requests do not have: expected one of `org`, `team`, `user`"
    );
    assert!(matches!(
        error(&[level("a", &["org"], &["input"], window(1))]),
        HierarchyError::Unknown { .. }
    ));
    assert!(matches!(error(&[level("a", &[], &[], window(1))]), HierarchyError::NoKey { .. }));
    let log = Kind::SlidingLog(Rate::new(1, MINUTE).unwrap());
    assert!(matches!(
        error(&[level("a", &["org"], &[], log)]),
        HierarchyError::NotSettleable { .. }
    ));
    let Kind::TokenBucket { quota, .. } = bucket(5) else { unreachable!() };
    let kind = Kind::TokenBucket { quota, initial: 4 };
    assert!(matches!(
        error(&[level("a", &["org"], &[], kind)]),
        HierarchyError::NotNewWhenFull { .. }
    ));
    for (pattern, mistake) in
        [("{a,b}", "no meaning"), ("a[b]", "no meaning"), ("a/*", "such as \"*\"")]
    {
        let own = LevelOverride { pattern: pattern.to_owned(), kind: window(1) };
        let error = error(&[LevelPolicy { overrides: vec![own], ..fine() }]).to_string();
        assert!(error.contains(mistake), "{error}");
    }
    let level = LevelPolicy { max_keys: Some(0), ..fine() };
    assert!(matches!(error(&[level]), HierarchyError::Unbuildable { .. }));
}

#[test]
fn a_key_without_space_is_refused_by_name_and_costs_the_other_levels_nothing() {
    let clock = Arc::new(ManualClock::new());
    let mut levels = org_team_user([window(10), window(10), window(10)]);
    levels[2].max_keys = Some(1);
    let tree = hierarchy(&levels, &clock);
    let _charged = tree.request(["acme", "search", "ada"]).try_acquire([1]).unwrap();
    let refused = tree.request(["acme", "search", "bob"]).try_acquire([1]).unwrap_err();
    assert_eq!(refused.level(), "user");
    assert!(matches!(refused.denied(), Denied::Full { .. }));
    assert_eq!(left(&tree, ["acme", "search", "ada"]), [9, 9, 9]);
}

/// Calls `call` from each of two threads.
fn from_two_threads(call: impl Fn(u64) + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let call = &call;
            scope.spawn(move || call(thread));
        }
    });
}

#[test]
fn two_threads_take_at_most_the_bound_of_each_level_and_not_less() {
    for round in 0..60 {
        let clock = Arc::new(ManualClock::new());
        let kind: fn(u64) -> Kind = if round % 2 == 0 { bucket } else { window };
        let (org, team, user) = (1_000, 700, 450);
        let tree = hierarchy(&org_team_user([kind(org), kind(team), kind(user)]), &clock);
        let users = [["acme", "search", "ada"], ["acme", "search", "bob"], ["acme", "ads", "eve"]];
        let kept: [AtomicU64; 3] = Default::default();
        from_two_threads(|thread| {
            for turn in 0..900 {
                let which = ((turn + thread) % 3) as usize;
                let request = tree.request(users[which]);
                let Ok(admitted) = request.try_acquire([1 + turn % 7]) else { continue };
                // Some give back a part, some all.
                let own = if turn % 5 == 0 { 0 } else { (turn % 7).div_ceil(2) };
                kept[which].fetch_add(own, Relaxed);
                admitted.settle([own]).into_iter().for_each(|settled| _ = settled.unwrap());
            }
        });
        let [ada, bob, eve] = kept.map(AtomicU64::into_inner);
        assert!(ada <= user && bob <= user && eve <= user, "{ada}, {bob}, {eve}");
        assert!(ada + bob <= team && ada + bob + eve <= org, "{ada}, {bob}, {eve}");
        if round % 2 == 1 {
            // A window gives back exactly: what is left is what was not used, at every level.
            for (name, [one, two]) in [("ada", [ada, ada + bob]), ("bob", [bob, ada + bob])] {
                let expected = [org - ada - bob - eve, team - two, user - one];
                assert_eq!(left(&tree, ["acme", "search", name]), expected);
            }
        }
    }
}

#[test]
fn a_storm_of_failing_requests_costs_the_levels_above_no_more_than_settlement_loses() {
    for (kind, least) in [(window as fn(u64) -> Kind, 600), (bucket, 590)] {
        let clock = Arc::new(ManualClock::new());
        // The wide level has less left, so it is charged first, and gives back what the narrow one denies.
        let levels = [
            level("org", &["org"], &["calls"], kind(1_000)),
            level("user", &["org", "user"], &["tokens"], kind(9_000)),
        ];
        let fields = ["org", "user"];
        let tree = Hierarchy::new(&levels, fields, ["calls", "tokens"], clock).unwrap();
        // A bucket that is more than three quarters full would lose what is given back.
        drop(tree.request(["acme", "bob"]).try_acquire([400, 0]).unwrap());
        let ada = tree.request(["acme", "ada"]);
        let (admitted, failed) = (AtomicU64::new(0), AtomicU64::new(0));
        from_two_threads(|_| {
            for _ in 0..40_000 {
                // There are enough for one at a time, so both race for them.
                if ada.peek([1, 5_000]).is_err() {
                    continue;
                }
                match ada.try_acquire([1, 5_000]) {
                    Ok(call) => {
                        admitted.fetch_add(1, Relaxed);
                        call.cancel();
                    }
                    Err(_) => _ = failed.fetch_add(1, Relaxed),
                }
            }
        });
        let left = tree.request(["acme", "bob"]).peek([0, 0]).unwrap()[0].remaining();
        let (admitted, failed) = (admitted.into_inner(), failed.into_inner());
        assert!(admitted > 0);
        // A window gets back everything, and a bucket all but fractions of permits.
        assert!(left >= least && left <= 600, "{left} after {admitted} admitted and {failed} not");
    }
}

/// The same in one place: counts by level, key and window.
#[derive(Default)]
struct Reference {
    used: HashMap<(usize, String, u64), u64>,
}

impl Reference {
    fn admits(&self, keys: &[String], limits: [u64; 3], minute: u64, permits: u64) -> bool {
        keys.iter().enumerate().all(|(which, key)| {
            let used = self.used.get(&(which, key.clone(), minute)).copied().unwrap_or(0);
            permits == 0 || used + permits <= limits[which]
        })
    }

    fn add(&mut self, keys: &[String], minute: u64, permits: i64) {
        for (which, key) in keys.iter().enumerate() {
            let used = self.used.entry((which, key.clone(), minute)).or_default();
            *used = used.saturating_add_signed(permits);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Ask { org: usize, team: usize, user: usize, permits: u64 },
    Settle { which: prop::sample::Index, used: u64 },
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..2_usize, 0..2_usize, 0..2_usize, 0..9_u64)
            .prop_map(|(org, team, user, permits)| Step::Ask { org, team, user, permits }),
        3 => (any::<prop::sample::Index>(), 0..12_u64)
            .prop_map(|(which, used)| Step::Settle { which, used }),
        1 => (1..100_u64).prop_map(Step::Wait),
    ]
}

proptest! {
    #[test]
    fn it_decides_as_a_slow_reference_does(steps in prop::collection::vec(step(), 1..80)) {
        let clock = Arc::new(ManualClock::new());
        let limits = [24, 16, 9];
        let tree = hierarchy(&org_team_user(limits.map(window)), &clock);
        let names = ["a", "b"];
        let requests: Vec<_> = (0..8)
            .map(|n| tree.request([names[n & 1], names[n >> 1 & 1], names[n >> 2]]))
            .collect();
        let mut reference = Reference::default();
        let mut open = Vec::new();
        let mut seconds = 0;
        for step in steps {
            let minute = seconds / 60;
            match step {
                Step::Ask { org, team, user, permits } => {
                    let request = &requests[org | team << 1 | user << 2];
                    let keys: Vec<String> = request.keys().map(str::to_owned).collect();
                    let expected = reference.admits(&keys, limits, minute, permits);
                    prop_assert_eq!(request.peek([permits]).is_ok(), expected);
                    let answer = request.try_acquire([permits]);
                    prop_assert_eq!(answer.is_ok(), expected);
                    if let Ok(admitted) = answer {
                        reference.add(&keys, minute, permits as i64);
                        open.push((admitted, keys, minute, permits));
                    }
                }
                Step::Settle { which, used } if !open.is_empty() => {
                    let (admitted, keys, then, permits) = open.swap_remove(which.index(open.len()));
                    let answers = admitted.settle([used]);
                    if used > permits {
                        reference.add(&keys, minute, (used - permits) as i64);
                    } else if then == minute {
                        reference.add(&keys, minute, used as i64 - permits as i64);
                    }
                    let back = if then == minute { permits.saturating_sub(used) } else { 0 };
                    for answer in answers {
                        prop_assert_eq!(answer.unwrap().given_back(), back);
                    }
                }
                Step::Settle { .. } => {}
                Step::Wait(time) => {
                    seconds += time;
                    clock.advance(Duration::from_secs(time));
                }
            }
        }
    }
}
