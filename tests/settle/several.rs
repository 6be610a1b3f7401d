//! Estimates of several limiters at once.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::support::cases::cases;

type Window<'c> = FixedWindow<&'c ManualClock>;

const LIMITS: [u64; 3] = [10, 15, 20];

fn windows(clock: &ManualClock) -> All<Window<'_>> {
    let window = |limit| FixedWindow::with_clock(Rate::per_minute(limit).unwrap(), clock).unwrap();
    All::new(LIMITS.map(window)).unwrap()
}

fn left<L: Limiter>(all: &All<L>) -> Vec<i64> {
    let balance = |limiter: &L| match limiter.peek(0) {
        Ok(grant) => grant.balance(),
        Err(denied) => denied.balance().unwrap(),
    };
    all.limiters().iter().map(balance).collect()
}

#[test]
fn one_number_settles_all() {
    let clock = ManualClock::new();
    let all = windows(&clock);
    let estimate = all.try_acquire_settleable(8).unwrap();
    assert_eq!((estimate.permits(), estimate.grant().remaining()), (8, 2));
    all.try_acquire(2).unwrap();
    assert_eq!(all.try_acquire_settleable(1).unwrap_err().which(), 0);
    assert_eq!(estimate.settle(5).unwrap().given_back(), 3);
    assert_eq!(left(&all), [3, 8, 13]);
    assert_eq!(all.try_acquire_settleable(0).unwrap().settle(9).unwrap().taken_beyond(), 9);
    assert_eq!(left(&all), [-6, -1, 4]);
    // Dropped.
    all.reset();
    drop(all.try_acquire_settleable(8));
    assert_eq!(left(&all), [2, 7, 12]);
}

#[test]
fn the_answer_for_one_number_is_that_of_the_limiter_that_could_do_least() {
    let clock = ManualClock::new();
    let deep = SettleableBucket::with_clock(quota!(10 / hour), &clock);
    let shallow = SettleableBucket::with_clock(quota!(10 / hour, max_debt 2), &clock);
    let window = FixedWindow::with_clock(rate!(10 / minute), &clock).unwrap();
    let all = All::<&dyn Settle>::new([&deep as &dyn Settle, &window, &shallow]).unwrap();
    let (rest, beyond) = (all.try_acquire_settleable(4), all.try_acquire_settleable(6));
    let unpaid = beyond.unwrap().settle(13).unwrap_err();
    assert_eq!((unpaid.permits(), unpaid.settled().taken_beyond()), (5, 2));
    assert_eq!(left(&all), [-7, -7, -2]);
    // Too late for the window alone.
    clock.advance(Duration::from_secs(60));
    let settled = rest.unwrap().settle(1).unwrap();
    assert_eq!((settled.given_back(), settled.lost()), (0, 3));
    assert_eq!(window.peek(0).unwrap().balance(), 10);
}

#[test]
fn each_part_has_an_amount_of_its_own() {
    let clock = ManualClock::new();
    let all = windows(&clock);
    let mut asked = Vec::new();
    let amounts = [3, 15, 0];
    let estimates = all.try_acquire_settleable_each(|which| {
        asked.push(which);
        amounts[which]
    });
    let estimates = estimates.unwrap();
    assert_eq!(asked, [0, 1, 2]);
    assert_eq!(estimates.permits().collect::<Vec<_>>(), amounts);
    assert_eq!(estimates.grant().remaining(), 0);
    assert_eq!(left(&all), [7, 0, 20]);
    assert_eq!(all.try_acquire_settleable_each(|which| [1, 1, 1][which]).unwrap_err().which(), 1);
    // A part that the request does not concern is not in the way.
    assert!(all.try_acquire_settleable_each(|which| [1, 0, 1][which]).is_ok());
    let settled = estimates.settle_each(|which| [1, 16, 2][which]);
    let settled: Vec<_> = settled
        .into_iter()
        .map(|settled| settled.unwrap())
        .map(|settled| (settled.given_back(), settled.taken_beyond()))
        .collect();
    assert_eq!(settled, [(2, 0), (0, 1), (0, 2)]);
    assert_eq!(left(&all), [8, -1, 17]);
}

#[test]
fn a_part_gives_back_by_itself() {
    let clock = ManualClock::new();
    let all = windows(&clock);
    let mut estimates = all.try_acquire_settleable_each(|which| [4, 5, 6][which]).unwrap();
    let shown = format!("{estimates:?}");
    assert!(shown.starts_with("[Estimate { permits: 4, "), "{shown}");
    assert_eq!([0, 2, 3].map(|which| estimates.give_back(which, 2 + which as u64)), [2, 4, 0]);
    assert_eq!(estimates.give_back(0, u64::MAX), 2);
    drop(estimates);
    assert_eq!(left(&all), [10, 10, 18]);
    let all_alike = all.try_acquire_settleable_each(|_| 5).unwrap().settle(4);
    assert!(all_alike.iter().all(|settled| settled.unwrap().given_back() == 1));
}

#[test]
fn estimates_of_keys_of_several_stores_are_taken_together_or_not_at_all() {
    let clock = ManualClock::new();
    let store = |quota: Quota| {
        let clock = &clock;
        let make = move |_: &u64| Arc::new(SettleableBucket::with_clock(quota, clock));
        Keyed::<u64, _>::with(Each::with_clock(make, clock))
    };
    let (requests, tokens) = (store(quota!(2 / hour)), store(quota!(1_000 / hour)));
    let total = FixedWindow::with_clock(rate!(1_500 / hour), &clock).unwrap();
    let left = || {
        let of_key = |keyed: Grant| keyed.remaining();
        let [one, other] = [1, 2].map(|key| requests.peek(&key, 0).map(of_key).unwrap());
        let [model, all] =
            [tokens.peek(&7, 0), total.peek(0)].map(|peeked| of_key(peeked.unwrap()));
        [one, other, model, all]
    };
    let take = |user: &'static u64, permits: u64| {
        Estimates::new()
            .and(requests.try_acquire_settleable(user, 1))?
            .and(tokens.try_acquire_settleable(&7, permits))?
            .and(total.try_acquire_settleable(permits))
    };
    let first = take(&1, 900).unwrap();
    assert_eq!(first.permits().collect::<Vec<_>>(), [1, 900, 900]);
    assert_eq!((first.grant().remaining(), left()), (1, [1, 2, 100, 600]));
    // The second denies, then the third, then the first: nothing is taken of any.
    assert_eq!(take(&2, 101).unwrap_err().which(), 1);
    total.try_acquire(550).unwrap();
    assert_eq!(take(&2, 60).unwrap_err().which(), 2);
    requests.try_acquire(&2, 2).unwrap();
    assert_eq!(take(&2, 1).unwrap_err().which(), 0);
    assert_eq!(left(), [1, 0, 100, 50]);
    // Each with its own use, also beyond the estimate.
    let settled = first.settle_each(|which| [1, 400, 930][which]);
    let moved = settled.into_iter().map(Result::unwrap);
    let moved: Vec<_> = moved.map(|it| (it.given_back(), it.taken_beyond())).collect();
    assert_eq!(moved, [(0, 0), (500, 0), (0, 30)]);
    assert_eq!(left(), [1, 0, 600, 20]);
    // Dropped: it stays charged. None: nothing is settled.
    drop(take(&1, 20).unwrap());
    assert_eq!(left(), [0, 0, 580, 0]);
    assert_eq!(Estimates::new().grant().remaining(), u64::MAX);
    assert!(Estimates::default().settle(5).is_empty());
}

/// Grants to those who only look.
struct LooksFree;

impl Limiter for LooksFree {
    fn try_acquire(&self, _: u64) -> Result<Grant, Denied> {
        Err(Denied::TooLarge { limit: 0, which: 0 })
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.try_acquire(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        Unlimited.peek(permits)
    }

    fn reset(&self) {}
}

impl Settle for LooksFree {
    fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
        Err(self.try_acquire(permits).unwrap_err())
    }
}

#[test]
fn a_part_that_refuses_at_last_costs_the_others_nothing() {
    let clock = ManualClock::new();
    let bucket = SettleableBucket::with_clock(quota!(10 / second), &clock);
    let window = FixedWindow::with_clock(rate!(10 / minute), &clock).unwrap();
    let all = All::<&dyn Settle>::new([&bucket as &dyn Settle, &LooksFree, &window]).unwrap();
    assert_eq!(all.try_acquire_settleable(7).unwrap_err().which(), 1);
    let amounts = [3, 1, 10];
    assert_eq!(all.try_acquire_settleable_each(|which| amounts[which]).unwrap_err().which(), 1);
    assert_eq!((bucket.drain().permits(), window.peek(0).unwrap().remaining()), (10, 10));
}

#[test]
fn an_all_is_settled_inside_of_others() {
    let clock = ManualClock::new();
    let inner = windows(&clock);
    let total = FixedWindow::with_clock(rate!(12 / minute), &clock).unwrap();
    let all = All::<Box<dyn Settle + '_>>::new([
        Box::new(Gate::new(&inner)) as Box<dyn Settle + '_>,
        Box::new(&total),
    ]);
    let all = all.unwrap();
    let estimate = all.try_acquire_settleable(10).unwrap();
    assert!(all.limiters()[0].try_acquire(1).is_err());
    assert_eq!(estimate.settle(4).unwrap().given_back(), 6);
    assert_eq!((left(&inner), total.peek(0).unwrap().remaining()), (vec![6, 11, 16], 8));
    assert!(all.limiters()[0].try_acquire(1).is_ok());
}

#[derive(Clone, Debug)]
enum Step {
    Take([u64; 3]),
    TakeAlike(u64),
    Settle(usize, [u64; 3]),
    Drop(usize),
    Advance(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let amounts = || [0..9_u64, 0..9, 0..9];
    prop_oneof![
        3 => amounts().prop_map(Step::Take),
        3 => (0..9_u64).prop_map(Step::TakeAlike),
        4 => (0..6_usize, amounts()).prop_map(|(which, used)| Step::Settle(which, used)),
        1 => (0..6_usize).prop_map(Step::Drop),
        1 => (0..90_u64).prop_map(Step::Advance),
    ]
}

enum Open<'a> {
    Each(Estimates<'a>),
    Alike(Box<Estimate<'a>>),
}

proptest! {
    #![proptest_config(cases(1_000))]

    /// The reference: a count for each limiter and minute.
    #[test]
    fn all_parts_settle_as_counts_do(steps in vec(step(), 1..60)) {
        let clock = ManualClock::new();
        let all = windows(&clock);
        let mut counts = [0_u64; 3];
        let mut minute = 0;
        let mut open: Vec<(Open<'_>, [u64; 3], u64)> = Vec::new();
        for step in steps {
            match step {
                Step::Take(_) | Step::TakeAlike(_) => {
                    let (taken, amounts) = match step {
                        Step::Take(amounts) => {
                            let taken = all.try_acquire_settleable_each(|which| amounts[which]);
                            (taken.map(Open::Each), amounts)
                        }
                        Step::TakeAlike(permits) => {
                            (all.try_acquire_settleable(permits).map(Box::new).map(Open::Alike), [permits; 3])
                        }
                        _ => unreachable!(),
                    };
                    let fits = |which: usize| {
                        amounts[which] == 0 || counts[which] + amounts[which] <= LIMITS[which]
                    };
                    prop_assert_eq!(taken.is_ok(), (0..3).all(fits));
                    if let Ok(taken) = taken {
                        (0..3).for_each(|which| counts[which] += amounts[which]);
                        open.push((taken, amounts, minute));
                    }
                }
                Step::Settle(which, used) if which < open.len() => {
                    let (estimate, amounts, charged) = open.remove(which);
                    let used = match estimate {
                        Open::Each(_) => used,
                        Open::Alike(_) => [used[0]; 3],
                    };
                    let expected = [0, 1, 2].map(|which| {
                        let rest = amounts[which].saturating_sub(used[which]);
                        let given_back = if charged == minute { rest } else { 0 };
                        let more = used[which].saturating_sub(amounts[which]);
                        counts[which] = counts[which] - given_back + more;
                        (given_back, rest - given_back, more)
                    });
                    let shown = |settled: Settled| {
                        (settled.given_back(), settled.lost(), settled.taken_beyond())
                    };
                    match estimate {
                        Open::Each(estimates) => {
                            let settled = estimates.settle_each(|which| used[which]);
                            let settled: Vec<_> =
                                settled.into_iter().map(|settled| shown(settled.unwrap())).collect();
                            prop_assert_eq!(settled, expected);
                        }
                        Open::Alike(estimate) => {
                            prop_assert_eq!(shown(estimate.settle(used[0]).unwrap()), expected[0]);
                        }
                    }
                }
                Step::Drop(which) if which < open.len() => drop(open.remove(which)),
                Step::Settle(..) | Step::Drop(_) => {}
                Step::Advance(seconds) => {
                    clock.advance(Duration::from_secs(seconds));
                    let now = clock.now_nanos() / 60_000_000_000;
                    if now > minute {
                        (minute, counts) = (now, [0; 3]);
                    }
                }
            }
            let expected: Vec<i64> =
                (0..3).map(|which| LIMITS[which] as i64 - counts[which] as i64).collect();
            prop_assert_eq!(left(&all), expected);
        }
    }
}
