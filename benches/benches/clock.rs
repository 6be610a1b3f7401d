//! Times one reading of a clock, without a limiter.
//!
//! Names read `clock/<source>`. No limiter on the clock can be faster.

use criterion::Criterion;
use sluicegate_benches::round;
use sluicegate_benches::subject::{self, Op, Subject, Visitor};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    subject::visit_all(&mut Clocks(&mut criterion));
    criterion.final_summary();
}

struct Clocks<'a>(&'a mut Criterion);

impl Visitor for Clocks<'_> {
    /// Times one reading. In a limiter's time, this part is not the limiter's.
    fn visit<S: Subject>(&mut self) {
        if !S::NAME.starts_with("clock/") {
            return;
        }
        let clock = S::new(S::limit(Op::Allow));
        let own = &mut clock.own();
        self.0.bench_function(S::NAME, |bencher| {
            bencher.iter(|| assert!(round::call(&clock, own)));
        });
    }
}
