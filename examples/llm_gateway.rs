//! The problem: a model's provider limits the tokens that go in, those that come out, and all of
//! them, each per minute and per day; and how many come out is known only afterwards. A call
//! takes an estimate from all six limits, or nothing from any: the prompt's length, and the most that
//! the answer may have. When the answer is there, each estimate is settled with what was used: the
//! rest is there for other calls at once, although many have been admitted since. A minute is a
//! bucket, and a day ends at midnight in the provider's time zone.

use std::error::Error;
use std::time::Duration;

use sluicegate::bucket::SettleableBucket;
use sluicegate::calendar::{Budget, Calendar, CalendarWindow, Weekday};
use sluicegate::compose::All;
use sluicegate::settle::{Estimates, Settle};
use sluicegate::{Clock, Denied, Limiter, ManualClock, Quota, quota};

const ZONE: &str = "America/Los_Angeles";

/// Tokens a minute: of the prompts, of the answers, of both. An answer may be a little longer than
/// was asked for; all of them together, by `max_debt`.
const A_MINUTE: [Quota; 3] = [
    quota!(8_000 / minute, max_debt 500),
    quota!(4_000 / minute, max_debt 500),
    quota!(10_000 / minute, max_debt 1_000),
];

const NAMES: [&str; 6] = [
    "input, a minute",
    "output, a minute",
    "total, a minute",
    "input, a day",
    "output, a day",
    "total, a day",
];

/// Tokens of a call, as each of the limits counts them.
fn counted(input: u64, output: u64) -> impl Fn(usize) -> u64 {
    move |which| [input, output, input + output][which % 3]
}

struct Gateway<'c>(All<Box<dyn Settle + 'c>>);

impl<'c> Gateway<'c> {
    fn new<C: Clock + Copy + Send + Sync + 'c>(clock: C) -> Result<Gateway<'c>, Box<dyn Error>> {
        let mut limits: Vec<Box<dyn Settle + 'c>> = Vec::new();
        for quota in A_MINUTE {
            limits.push(Box::new(SettleableBucket::with_clock(quota, clock)));
        }
        for limit in [20_000, 9_000] {
            let day = CalendarWindow::with_clock(limit, Calendar::days(ZONE)?, clock)?;
            limits.push(Box::new(day));
        }
        // The bill: less on a day on which nobody looks at it.
        let total = Budget::with_clock(25_000, ZONE, clock)?.on(Weekday::Sunday, 5_000)?;
        limits.push(Box::new(total));
        Ok(Gateway(All::new(limits)?))
    }

    /// Takes the estimate from all limits, or from none. If a call is dropped, because its task was
    /// cancelled or the provider never answered, it stays charged: nobody knows what was used.
    fn admit(&self, input: u64, output: u64) -> Result<Estimates<'_>, Denied> {
        self.0.try_acquire_settleable_each(counted(input, output))
    }

    fn left(&self) -> String {
        let balances = self.0.limiters().iter().map(|limit| {
            // In debt it is negative.
            limit.peek(0).map_or(0, |grant| grant.balance()).to_string()
        });
        balances.collect::<Vec<_>>().join(", ")
    }
}

/// Settles a call with what was used.
fn finish(call: Estimates<'_>, input: u64, output: u64) {
    for (settled, name) in call.settle_each(counted(input, output)).into_iter().zip(NAMES) {
        match settled {
            Ok(settled) if settled.lost() > 0 => {
                println!("{name}: too late to give back {}", settled.lost());
            }
            Ok(_) => {}
            Err(unpaid) => println!("{name}: {} beyond its debt", unpaid.permits()),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // 1970-01-02, a Friday: two minutes before midnight in Los Angeles.
    let clock = ManualClock::at(Duration::from_secs(((24 + 8) * 60 - 2) * 60).as_nanos() as u64);
    let gateway = Gateway::new(&clock)?;
    let ask = |input, output| match gateway.admit(input, output) {
        Ok(call) => {
            println!("{input} + {output} tokens: admitted");
            Some(call)
        }
        Err(denied) => {
            println!("{input} + {output} tokens: {}: {denied}", NAMES[denied.which()]);
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
    let settle = |call: Option<Estimates<'_>>, input, output| {
        if let Some(call) = call {
            println!("used {input} + {output}");
            finish(call, input, output);
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
