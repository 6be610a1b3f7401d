//! Asks one limiter a number of times and does nothing else: for profilers. See
//! `benches/instructions.sh`.

use clap::Parser;
use sluicegate_benches::round;
use sluicegate_benches::subject::{self, Op, Subject, Visitor};

/// Asks one limiter for a permit, again and again.
#[derive(Debug, Parser)]
struct Args {
    /// Full name of the limiter
    #[arg(value_name = "LIMITER")]
    limiter: String,
    /// Operation to ask for
    #[arg(value_enum)]
    op: Op,
    /// Number of calls
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
            // The first admission, and whatever else is done only once, comes before the count.
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
