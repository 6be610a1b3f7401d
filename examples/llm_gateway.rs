//! The problem: a model's provider limits the tokens that go in, those that come out, and all of
//! them, each per minute and per day; and how many come out is known only afterwards. A call
//! takes an estimate from all six limits, or nothing from any: the prompt's length, and the most that
//! the answer may have. When the answer is there, each estimate is settled with what was used: the
//! rest is there for other calls at once, although many have been admitted since. A minute is a
//! bucket, and a day ends at midnight in the provider's time zone.

use std::error::Error;
use std::time::Duration;

use sluicegate::{
    Budget, Calendar, CalendarWindow, Clock, Denied, Estimate, ManualClock, Quota, Settle,
    SettleableBucket, Weekday, quota,
};

const ZONE: &str = "America/Los_Angeles";

/// Tokens a minute: of the prompts, of the answers, of both. An answer may be a little longer than
/// was asked for; all of them together, by `max_debt`.
const A_MINUTE: [(&str, Quota); 3] = [
    ("input, a minute", quota!(8_000 / minute, max_debt 500)),
    ("output, a minute", quota!(4_000 / minute, max_debt 500)),
    ("total, a minute", quota!(10_000 / minute, max_debt 1_000)),
];

/// Tokens of one call.
#[derive(Clone, Copy)]
struct Tokens {
    input: u64,
    output: u64,
}

impl Tokens {
    const NONE: Tokens = Tokens { input: 0, output: 0 };

    fn total(self) -> u64 {
        self.input + self.output
    }
}

/// A limit, its name, and which tokens count for it.
struct Limit<'c> {
    name: &'static str,
    limiter: Box<dyn Settle + 'c>,
    counts: fn(Tokens) -> u64,
}

struct Gateway<'c>(Vec<Limit<'c>>);

/// A call that was admitted. If it is dropped, because its task was cancelled or the provider
/// never answered, its estimate stays charged: nobody knows what was used.
struct Call<'a>(Vec<(&'a Limit<'a>, Estimate<'a>)>);

impl<'c> Gateway<'c> {
    fn new<C: Clock + Copy + Send + Sync + 'c>(clock: C) -> Result<Gateway<'c>, Box<dyn Error>> {
        let counts: [fn(Tokens) -> u64; 3] =
            [|tokens| tokens.input, |tokens| tokens.output, Tokens::total];
        let mut limits: Vec<Limit<'c>> = Vec::new();
        for ((name, quota), counts) in A_MINUTE.into_iter().zip(counts) {
            let limiter = Box::new(SettleableBucket::with_clock(quota, clock));
            limits.push(Limit { name, limiter, counts });
        }
        for ((name, limit), counts) in
            [("input, a day", 20_000), ("output, a day", 9_000)].into_iter().zip(counts)
        {
            let limiter = CalendarWindow::with_clock(limit, Calendar::days(ZONE)?, clock)?;
            limits.push(Limit { name, limiter: Box::new(limiter), counts });
        }
        // The bill: less on a day on which nobody looks at it.
        let total = Budget::with_clock(25_000, ZONE, clock)?.on(Weekday::Sunday, 5_000)?;
        let (name, counts) = ("total, a day", counts[2]);
        limits.push(Limit { name, limiter: Box::new(total), counts });
        Ok(Gateway(limits))
    }

    /// Takes the estimate from all limits, or from none.
    fn admit(&self, estimate: Tokens) -> Result<Call<'_>, (&'static str, Denied)> {
        let mut call = Call(Vec::with_capacity(self.0.len()));
        for limit in &self.0 {
            match limit.limiter.try_acquire_settleable((limit.counts)(estimate)) {
                Ok(estimate) => call.0.push((limit, estimate)),
                Err(denied) => {
                    call.settle(Tokens::NONE);
                    return Err((limit.name, denied));
                }
            }
        }
        Ok(call)
    }

    fn left(&self) -> String {
        let left = |limit: &Limit<'_>| {
            limit.limiter.peek(0).map_or(0, |grant| grant.balance()).to_string()
        };
        self.0.iter().map(left).collect::<Vec<_>>().join(", ")
    }
}

impl Call<'_> {
    /// Settles with what was used.
    fn settle(self, used: Tokens) {
        for (limit, estimate) in self.0 {
            match estimate.settle((limit.counts)(used)) {
                Ok(settled) if settled.lost() > 0 => {
                    println!("{}: too late to give back {}", limit.name, settled.lost());
                }
                Ok(_) => {}
                Err(unpaid) => println!("{}: {} beyond its debt", limit.name, unpaid.permits()),
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // 1970-01-02, a Friday: two minutes before midnight in Los Angeles.
    let clock = ManualClock::at(Duration::from_secs(((24 + 8) * 60 - 2) * 60).as_nanos() as u64);
    let gateway = Gateway::new(&clock)?;
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
    let settle = |call: Option<Call<'_>>, input, output| {
        if let Some(call) = call {
            println!("used {input} + {output}");
            call.settle(Tokens { input, output });
            println!("  left: {}", gateway.left());
        }
    };
    settle(first, 2_000, 300);
    let fourth = ask(400, 400);
    // The second uses more than was expected, and the third fails before anything was used.
    settle(second, 3_100, 1_050);
    settle(third, 0, 0);
    // The fourth is cancelled, and stays charged.
    drop(fourth);

    // A call that is answered on the next day: the rest of its estimate is of no use to the day that
    // has ended, and what it used beyond counts for the new one.
    let last = ask(2_000, 100);
    clock.advance(Duration::from_secs(150));
    println!("after midnight\n  left: {}", gateway.left());
    settle(last, 1_200, 600);
    Ok(())
}
