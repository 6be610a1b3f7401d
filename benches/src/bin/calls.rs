//! Asks one limiter a number of times and does nothing else: for profilers. See
//! `benches/instructions.sh`.

use clap::Parser;
use sluicegate_benches::round;
use sluicegate_benches::subject::{self, Op, Subject, Visitor};

/// Asks one limiter for a permit, again and again.
#[derive(Debug, Parser)]
struct Args {
    /// Which, by its full name
    #[arg(value_name = "LIMITER")]
    limiter: String,
    /// What to ask of it
    #[arg(value_enum)]
    op: Op,
    /// How often
    #[arg(value_name = "COUNT")]
    count: u64,
}

struct Calls {
    args: Args,
    made: u64,
}

impl Visitor for Calls {
    fn visit<S: Subject>(&mut self) {
        if S::NAME == self.args.limiter {
            let limit = S::limit(self.args.op);
            let subject = S::new(limit);
            let mut own = subject.own();
            // Past the first admission, and whatever is done only once.
            round::calls(&subject, &mut own, 1);
            match self.args.op {
                Op::Beside => round::calls_for(&subject, &mut own, limit.burst, self.args.count),
                _ => round::calls(&subject, &mut own, self.args.count),
            };
            self.made += self.args.count;
        }
    }
}

fn main() {
    let mut calls = Calls { args: Args::parse(), made: 0 };
    subject::visit_all(&mut calls);
    assert!(calls.made > 0 || calls.args.count == 0, "no limiter is called {}", calls.args.limiter);
}
