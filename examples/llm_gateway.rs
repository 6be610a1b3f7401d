//! The problem: a model's provider limits the tokens that go in, those that come out, and all of
//! them, each per minute and per day; and how many come out is known only afterwards. A call
//! takes an estimate from all six buckets, or nothing from any: the prompt's length, and the most that
//! the answer may have. When the answer is there, each estimate is settled with what was used: the
//! rest is there for other calls at once, although many have been admitted since, and no limit is
//! ever exceeded.

use std::time::Duration;

use sluicegate::{Clock, Denied, Estimate, ManualClock, Quota, SettleableBucket, quota};

/// An answer may be a little longer than was asked for; all of them together, by `max_debt`.
const LIMITS: [(&str, Quota); 6] = [
    ("input, a minute", quota!(8_000 / minute, max_debt 500)),
    ("input, a day", quota!(1_000_000 / day, max_debt 500)),
    ("output, a minute", quota!(4_000 / minute, max_debt 500)),
    ("output, a day", quota!(300_000 / day, max_debt 500)),
    ("total, a minute", quota!(10_000 / minute, max_debt 1_000)),
    ("total, a day", quota!(1_200_000 / day, max_debt 1_000)),
];

/// Tokens of one call.
#[derive(Clone, Copy)]
struct Tokens {
    input: u64,
    output: u64,
}

impl Tokens {
    /// Returns the tokens that count for each of the limits.
    fn by_limit(self) -> [u64; 6] {
        let Tokens { input, output } = self;
        let total = input + output;
        [input, input, output, output, total, total]
    }
}

struct Gateway<C> {
    buckets: [SettleableBucket<C>; 6],
}

/// A call that was admitted. If it is dropped, because its task was cancelled or the provider
/// never answered, its estimate stays charged: nobody knows what was used.
struct Call<'a, C>(Vec<Estimate<'a, C>>);

impl<C: Clock + Copy> Gateway<C> {
    fn new(clock: C) -> Gateway<C> {
        Gateway { buckets: LIMITS.map(|(_, quota)| SettleableBucket::with_clock(quota, clock)) }
    }

    /// Takes the estimate of all limits, or of none.
    fn admit(&self, estimate: Tokens) -> Result<Call<'_, C>, (&'static str, Denied)> {
        let mut call = Call(Vec::with_capacity(LIMITS.len()));
        for ((bucket, tokens), (name, _)) in
            self.buckets.iter().zip(estimate.by_limit()).zip(LIMITS)
        {
            match bucket.try_acquire_settleable(tokens) {
                Ok(estimate) => call.0.push(estimate),
                Err(denied) => {
                    call.settle(Tokens { input: 0, output: 0 });
                    return Err((name, denied));
                }
            }
        }
        Ok(call)
    }

    fn left(&self) -> String {
        let left = |bucket: &SettleableBucket<C>| {
            bucket.peek(0).map_or(0, |grant| grant.balance()).to_string()
        };
        self.buckets.iter().map(left).collect::<Vec<_>>().join(", ")
    }
}

impl<C: Clock> Call<'_, C> {
    /// Settles with what was used.
    fn settle(self, used: Tokens) {
        for (estimate, used) in self.0.into_iter().zip(used.by_limit()) {
            if let Err(unpaid) = estimate.settle(used) {
                eprintln!("{} tokens are beyond the debt", unpaid.permits());
            }
        }
    }
}

fn main() {
    let clock = ManualClock::new();
    let gateway = Gateway::new(&clock);
    let ask = |input, output| match gateway.admit(Tokens { input, output }) {
        Ok(call) => {
            println!("{input} + {output} tokens: admitted");
            Some(call)
        }
        Err((limit, denied)) => {
            println!("{input} + {output} tokens: {limit}: {denied}");
            None
        }
    };

    // Three calls at a time: their estimates are all that there is of the total for a minute.
    let first = ask(2_000, 1_500);
    let second = ask(3_000, 1_000);
    let third = ask(1_500, 1_000);
    assert!(ask(400, 400).is_none());
    println!("  left: {}", gateway.left());

    // The first answers briefly, though others were admitted since; so there is enough for another.
    let settle = |call: Option<Call<'_, _>>, input, output| {
        if let Some(call) = call {
            call.settle(Tokens { input, output });
            println!("used {input} + {output}\n  left: {}", gateway.left());
        }
    };
    settle(first, 2_000, 300);
    let fourth = ask(400, 400);
    // The second uses more than was expected, and the third fails before anything was used.
    settle(second, 3_100, 1_050);
    settle(third, 0, 0);
    // The fourth is cancelled, and stays charged.
    drop(fourth);
    clock.advance(Duration::from_secs(1));
    println!("a second later\n  left: {}", gateway.left());
}
