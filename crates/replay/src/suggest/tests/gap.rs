//! A log in which abusers and honest clients are far apart: each kind's suggestion is between them.

use super::*;

/// Returns a log of 20 clients that send two requests every 20 seconds, and of three that send four a
/// second for half a minute.
fn abusers_among_honest_clients() -> String {
    let mut requests = Vec::new();
    for second in 0..300 {
        for client in 0..20 {
            if (second + 7 * client) % 20 < 2 {
                requests.push((client, second, 1));
            }
        }
        if (50..80).contains(&second) {
            for abuser in (100..103).cycle().take(12) {
                requests.push((abuser, second, 1));
            }
        }
    }
    log(&requests)
}

#[test]
fn a_suggestion_is_in_the_gap_between_honest_clients_and_abusers() {
    let text = abusers_among_honest_clients();
    let mut gaps = 0;
    for (name, fields) in KINDS {
        let policy = policy(fields);
        // As if three of 23 clients were known to be abusers.
        let found = findings(&policy, &text, &goal(Share::Keys, 869_000));
        let found = &found.limiters[0];
        let Some(limit) = found.suggested else {
            // A bucket that begins with one token has none for the second request, whatever its limit is.
            assert!(name == "slow start" && brute(&policy, &text, 1000).keys_hit > 3, "{name}");
            continue;
        };
        let mut hit: Vec<&str> = found.hit.iter().map(|key| key.key.as_str()).collect();
        hit.sort_unstable();
        assert_eq!(hit, ["c100", "c101", "c102"], "{name} of {limit}");
        let keys_hit = |limit| brute(&policy, &text, limit).keys_hit;
        assert_eq!(keys_hit(limit), 3, "{name} of {limit}");
        assert!(limit == 1 || keys_hit(limit - 1) > 3, "{name}: {limit} is not the least");
        if let Some(gap) = found.gap {
            gaps += 1;
            assert_eq!(gap.keys_hit, 3, "{name}: {gap:?}");
            assert!((gap.from..=gap.to).contains(&limit), "{name}: {limit} is not in {gap:?}");
            for inside in [gap.from, u64::midpoint(gap.from, gap.to), gap.to] {
                assert_eq!(keys_hit(inside), 3, "{name} of {inside}");
            }
            assert!(keys_hit(gap.to + 1) < 3, "{name}: {gap:?} is not all of the gap");
        }
    }
    assert!(gaps >= 10, "{gaps} kinds tell of the gap");
}
